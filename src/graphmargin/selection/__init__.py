"""Choosing parameters: folds that hide labels, trials of candidates, and their weights."""

from graphmargin.selection.choice import Choice, Trials, choose
from graphmargin.selection.folds import LabeledKFold, LabeledLeaveOneOut
from graphmargin.selection.report import GraphReport, graph_report

__all__ = [
    "Choice",
    "GraphReport",
    "LabeledKFold",
    "LabeledLeaveOneOut",
    "Trials",
    "choose",
    "graph_report",
]
