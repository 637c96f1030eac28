"""Measure whether semi-supervised learning is ever worse than supervised learning.

Every method meets every problem with 2, 10 and 100 labels, in ten draws of rows and labels.
``python -m graphmargin.experiments.safety --out FILE.csv`` runs, prints the tables, and goes on
where it was interrupted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from graphmargin.experiments.cells import DRAWS, LABELS, Record, run, run_cell
from graphmargin.experiments.methods import METHODS, Methods
from graphmargin.experiments.problems import PROBLEMS
from graphmargin.experiments.summaries import summary

__all__ = ["METHODS", "Record", "main", "run", "run_cell", "summary"]

COMMAND = "python -m graphmargin.experiments.safety"


def main(argv: Sequence[str] | None = None, methods: Methods = METHODS) -> int:
    """Return 0 after the tables are written to stdout, or 2 after one line on what is wrong.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments of the command line; by default, those of the process.
    methods : mapping, default=METHODS
        Names and factories of the classifiers.
    """
    given = _parser().parse_args(argv)
    try:
        records = run(
            given.problems,
            given.labels,
            given.draws,
            n_jobs=given.jobs,
            out=given.out,
            methods=methods,
            progress=_show,
        )
        text = summary(records)
    except (ValueError, OSError) as wrong:
        sys.stderr.write(f"{COMMAND}: {wrong}\n")
        return 2
    sys.stdout.write(text + "\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--draws", type=int, default=DRAWS, metavar="N", help="(%(default)s)")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes (%(default)s)")
    parser.add_argument("--out", metavar="FILE.csv", help="keeps what is done, for a rerun")
    parser.add_argument("--problems", nargs="+", default=PROBLEMS, metavar="NAME", help="(all)")
    parser.add_argument("--labels", nargs="+", type=int, default=LABELS, metavar="N")
    return parser


def _show(share: float | None, news: str) -> None:
    sys.stderr.write(f"{share or 0.0:4.0%}  {news}\n")


if __name__ == "__main__":
    sys.exit(main())
