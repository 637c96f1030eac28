"""Graph and labels to the harmonic solution: induced labels, confidence, explanations."""

from graphmargin.harmonic.leave_one_out import LeaveOneOut, leave_one_out
from graphmargin.harmonic.solution import (
    Explanation,
    HarmonicSolution,
    absorption_probabilities,
    harmonic_path,
    harmonic_solution,
    normalize_class_mass,
)

__all__ = [
    "Explanation",
    "HarmonicSolution",
    "LeaveOneOut",
    "absorption_probabilities",
    "harmonic_path",
    "harmonic_solution",
    "leave_one_out",
    "normalize_class_mass",
]
