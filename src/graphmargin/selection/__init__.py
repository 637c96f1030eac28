"""Choice of parameters by held-out labels."""

from graphmargin.selection.choice import Choice, choose
from graphmargin.selection.held_out import LabeledKFold, LabeledLeaveOneOut
from graphmargin.selection.trials import Trials

__all__ = ["Choice", "LabeledKFold", "LabeledLeaveOneOut", "Trials", "choose"]
