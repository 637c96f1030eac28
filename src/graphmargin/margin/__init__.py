"""Max-margin classifiers: they learn from labels with a kernel, and label new points too."""

from graphmargin.margin._solvers.kernel_training import train_on_kernel
from graphmargin.margin.calibration import (
    Calibration,
    calibrate_pairs,
    calibration_targets,
    fit_calibration,
    fit_sharpness,
    probabilities,
)
from graphmargin.margin.coupling import class_scores, coupled_log_probabilities
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import MarginMachine, TrainingReport
from graphmargin.margin.manifold import train_manifold
from graphmargin.margin.training import train_machine

__all__ = [
    "Calibration",
    "Kernel",
    "MarginMachine",
    "TrainingReport",
    "calibrate_pairs",
    "calibration_targets",
    "class_scores",
    "coupled_log_probabilities",
    "fit_calibration",
    "fit_sharpness",
    "probabilities",
    "train_machine",
    "train_manifold",
    "train_on_kernel",
]
