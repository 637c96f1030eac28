"""Bounds on the risk of a max-margin graph cut, and their terms."""

from graphmargin.theory.bounds import RiskBound, risk_bound
from graphmargin.theory.capacity import vc_dimension
from graphmargin.theory.stability import stability_coefficient

__all__ = ["RiskBound", "risk_bound", "stability_coefficient", "vc_dimension"]
