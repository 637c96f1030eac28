"""Choice of parameters by held-out labels, and what these tell: accuracy, and prediction sets."""

from graphmargin.selection.choice import Choice, choose
from graphmargin.selection.graph_reports import GraphReport, graph_report
from graphmargin.selection.held_out import LabeledKFold, LabeledLeaveOneOut
from graphmargin.selection.held_out_predictions import (
    AccuracyEstimate,
    HeldOutPredictions,
    estimate_accuracy,
)
from graphmargin.selection.label_errors import LabelErrors, label_error_probabilities
from graphmargin.selection.prediction_sets import (
    highest_coverage,
    prediction_sets,
    set_thresholds,
)
from graphmargin.selection.thresholds import ThresholdRow, threshold_table
from graphmargin.selection.trials import Trials

__all__ = [
    "AccuracyEstimate",
    "Choice",
    "GraphReport",
    "HeldOutPredictions",
    "LabelErrors",
    "LabeledKFold",
    "LabeledLeaveOneOut",
    "ThresholdRow",
    "Trials",
    "choose",
    "estimate_accuracy",
    "graph_report",
    "highest_coverage",
    "label_error_probabilities",
    "prediction_sets",
    "set_thresholds",
    "threshold_table",
]
