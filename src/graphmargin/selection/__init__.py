"""Choice of parameters: folds of held-out labels, trials of candidates, and their weights."""

from graphmargin.selection.choice import Choice, choose
from graphmargin.selection.graph_reports import GraphReport, graph_report
from graphmargin.selection.held_out import LabeledKFold, LabeledLeaveOneOut
from graphmargin.selection.label_errors import LabelErrors
from graphmargin.selection.trials import Trials

__all__ = [
    "Choice",
    "GraphReport",
    "LabelErrors",
    "LabeledKFold",
    "LabeledLeaveOneOut",
    "Trials",
    "choose",
    "graph_report",
]
