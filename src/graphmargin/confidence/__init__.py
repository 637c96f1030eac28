"""Evidence of held-out labels: accuracy, prediction sets, coverage, label errors, thresholds."""

from graphmargin.confidence.held_out_predictions import (
    AccuracyEstimate,
    HeldOutPredictions,
    estimate_accuracy,
)
from graphmargin.confidence.label_errors import LabelErrors, label_error_probabilities
from graphmargin.confidence.prediction_sets import (
    highest_coverage,
    prediction_sets,
    set_thresholds,
)
from graphmargin.confidence.thresholds import ThresholdRow, threshold_table

__all__ = [
    "AccuracyEstimate",
    "HeldOutPredictions",
    "LabelErrors",
    "ThresholdRow",
    "estimate_accuracy",
    "highest_coverage",
    "label_error_probabilities",
    "prediction_sets",
    "set_thresholds",
    "threshold_table",
]
