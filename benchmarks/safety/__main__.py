"""Measure whether semi-supervised learning is ever worse than supervised learning."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.safety.problems import PROBLEMS
from benchmarks.safety.run import DRAWS, LABELS, METHODS, Method, run
from benchmarks.safety.summary import summary


def main(argv: Sequence[str] | None = None, methods: Mapping[str, Method] = METHODS) -> None:
    """Print the tables of what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.safety", description=__doc__)
    parser.add_argument("--draws", type=_positive, default=DRAWS, metavar="N", help="(%(default)s)")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes (%(default)s)")
    parser.add_argument(
        "--out", type=Path, metavar="FILE.csv", help="keeps what is done, for a rerun"
    )
    parser.add_argument(
        "--problems", nargs="+", choices=PROBLEMS, default=PROBLEMS, metavar="NAME", help="(all)"
    )
    parser.add_argument("--labels", nargs="+", type=_positive, default=LABELS, metavar="N")
    given = parser.parse_args(argv)
    try:
        records = run(
            *(given.problems, given.labels, given.draws),
            methods=methods,
            out=given.out,
            n_jobs=given.jobs,
            verbose=True,
        )
    except (ValueError, OSError) as wrong:
        parser.error(str(wrong))
    print(summary(records))


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        msg = f"must be at least 1, got {number}"
        raise argparse.ArgumentTypeError(msg)
    return number


if __name__ == "__main__":
    main()
