"""Experiments that ask how safe it is to learn from unlabeled rows; `safety` is the command.

`pairs` is another: the experiments of the paper on UCI tables.
"""

from graphmargin.experiments.cells import Record, read_records, run, run_cell
from graphmargin.experiments.methods import METHODS
from graphmargin.experiments.problems import PROBLEMS, Problem, problem
from graphmargin.experiments.summaries import summary

__all__ = [
    "METHODS",
    "PROBLEMS",
    "Problem",
    "Record",
    "problem",
    "read_records",
    "run",
    "run_cell",
    "summary",
]
