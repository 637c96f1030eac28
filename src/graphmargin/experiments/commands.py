"""What the commands of the experiments share."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable


def command_parser(prog: str, description: str | None, *, draws: int) -> argparse.ArgumentParser:
    """Return a parser of --draws, --jobs and --out, for more to be added."""
    parser = argparse.ArgumentParser(prog=prog, description=description)
    parser.add_argument("--draws", type=int, default=draws, metavar="N", help="(%(default)s)")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes (%(default)s)")
    parser.add_argument("--out", metavar="FILE.csv", help="keeps what is done, for a rerun")
    return parser


def answer(prog: str, work: Callable[[], str]) -> int:
    """Return 0 after the text of `work` is written, or 2 after one line on what is wrong."""
    try:
        text = work()
    except (ValueError, OSError) as wrong:
        sys.stderr.write(f"{prog}: {wrong}\n")
        return 2
    sys.stdout.write(text + "\n")
    return 0


def show(share: float | None, news: str) -> None:
    """Write a line on the progress."""
    sys.stderr.write(f"{share or 0.0:4.0%}  {news}\n")
