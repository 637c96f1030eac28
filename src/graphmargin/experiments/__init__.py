"""Experiments: how safe it is to learn from unlabeled rows, and what the paper says.

``python -m graphmargin.experiments.safety`` runs the first, whose names are here; `paper` has what
``graphmargin reproduce`` runs.
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
