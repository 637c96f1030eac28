"""Harmonic solutions on graphs: induced labels, confidence, explanations and suggestions."""

from graphmargin.harmonic.leave_one_out import LeaveOneOut, leave_one_out
from graphmargin.harmonic.solution import (
    Explanation,
    HarmonicSolution,
    absorption_probabilities,
    harmonic_path,
    harmonic_solution,
    normalize_class_mass,
)
from graphmargin.harmonic.suggestion import Suggestions, suggest_labels
from graphmargin.harmonic.suspicion import LabelSuspicion, label_suspicion

__all__ = [
    "Explanation",
    "HarmonicSolution",
    "LabelSuspicion",
    "LeaveOneOut",
    "Suggestions",
    "absorption_probabilities",
    "harmonic_path",
    "harmonic_solution",
    "label_suspicion",
    "leave_one_out",
    "normalize_class_mass",
    "suggest_labels",
]
