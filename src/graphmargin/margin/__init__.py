"""Labels and a kernel to a max-margin function that labels new points too."""

from graphmargin.margin.calibration import calibration_targets, fit_sharpness, probabilities
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import MarginMachine, train_machine

__all__ = [
    "Kernel",
    "MarginMachine",
    "calibration_targets",
    "fit_sharpness",
    "probabilities",
    "train_machine",
]
