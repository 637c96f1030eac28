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
from graphmargin.experiments.commands import answer, command_parser, show
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

    def work() -> str:
        return summary(
            run(
                given.problems,
                given.labels,
                given.draws,
                n_jobs=given.jobs,
                out=given.out,
                methods=methods,
                progress=show,
            )
        )

    return answer(COMMAND, work)


def _parser() -> argparse.ArgumentParser:
    parser = command_parser(COMMAND, __doc__, draws=DRAWS)
    parser.add_argument("--problems", nargs="+", default=PROBLEMS, metavar="NAME", help="(all)")
    parser.add_argument("--labels", nargs="+", type=int, default=LABELS, metavar="N")
    return parser


if __name__ == "__main__":
    sys.exit(main())
