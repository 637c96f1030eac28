"""The search over members: training data, held-out labels, trials, choice, fit and predictor."""

from graphmargin.search.choice import Choice
from graphmargin.search.member import FittedMember, Member, Method, View
from graphmargin.search.predictor import Predictor
from graphmargin.search.splitters import LabeledKFold, LabeledLeaveOneOut
from graphmargin.search.trials import Trials

__all__ = [
    "Choice",
    "FittedMember",
    "LabeledKFold",
    "LabeledLeaveOneOut",
    "Member",
    "Method",
    "Predictor",
    "Trials",
    "View",
]
