"""Max-margin classifiers: they learn from labels with a kernel, and label new points too."""

from graphmargin.margin.kernels import Kernel
from graphmargin.margin.training import train_machine

__all__ = ["Kernel", "train_machine"]
