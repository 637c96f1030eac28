"""Bounds on the risk of a max-margin graph cut, and their terms."""

from graphmargin.theory.bounds import RiskBound, risk_bound
from graphmargin.theory.capacity import inductive_error, vc_dimension
from graphmargin.theory.stability import (
    laplacian_eigenvalues,
    stability_coefficient,
    transductive_error,
)

__all__ = [
    "RiskBound",
    "inductive_error",
    "laplacian_eigenvalues",
    "risk_bound",
    "stability_coefficient",
    "transductive_error",
    "vc_dimension",
]
