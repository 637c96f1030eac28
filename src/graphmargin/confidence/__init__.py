"""Statistics of held-out labels: accuracy, prediction sets, coverage, label errors, thresholds."""

from graphmargin.confidence.held_out_predictions import AccuracyEstimate, HeldOutPredictions
from graphmargin.confidence.label_errors import LabelErrors
from graphmargin.confidence.prediction_sets import prediction_sets

__all__ = ["AccuracyEstimate", "HeldOutPredictions", "LabelErrors", "prediction_sets"]
