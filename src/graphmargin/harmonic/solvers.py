"""Functions of the solvers of harmonic systems that other packages use."""

from graphmargin.harmonic._solvers.elimination import csr_arrays, elimination_order
from graphmargin.harmonic._solvers.label_graph import Inverse, LabelGraph, VertexVisits
from graphmargin.harmonic._solvers.system import confidence_of

__all__ = [
    "Inverse",
    "LabelGraph",
    "VertexVisits",
    "confidence_of",
    "csr_arrays",
    "elimination_order",
]
