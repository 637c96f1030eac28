"""Harmonic solutions on graphs: induced labels, confidence, explanations and suggestions."""

from graphmargin.harmonic.leave_one_out import leave_one_out
from graphmargin.harmonic.solution import (
    HarmonicSolution,
    harmonic_path,
    harmonic_solution,
    normalize_class_mass,
)
from graphmargin.harmonic.suggestion import Suggestions, suggest_labels

__all__ = [
    "HarmonicSolution",
    "Suggestions",
    "harmonic_path",
    "harmonic_solution",
    "leave_one_out",
    "normalize_class_mass",
    "suggest_labels",
]
