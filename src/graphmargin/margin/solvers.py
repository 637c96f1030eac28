"""Functions of the solvers of max-margin problems that other packages use."""

from graphmargin.margin._solvers.feature_maps import explicit_features, stratified_sample
from graphmargin.margin._solvers.feature_training import feature_precision
from graphmargin.margin._solvers.kernel_training import train_on_kernel

__all__ = ["explicit_features", "feature_precision", "stratified_sample", "train_on_kernel"]
