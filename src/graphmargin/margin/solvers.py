"""Functions of the solvers of max-margin problems that other packages use."""

from graphmargin.margin._solvers.feature_maps import explicit_features, stratified_sample
from graphmargin.margin._solvers.feature_training import feature_precision
from graphmargin.margin._solvers.kernel_training import train_on_kernel
from graphmargin.margin._solvers.shortlists import MAX_ALL_PAIRS

__all__ = [
    "MAX_ALL_PAIRS",
    "explicit_features",
    "feature_precision",
    "stratified_sample",
    "train_on_kernel",
]
