"""What the experiments of the paper are about: a module of its own, as help needs no more."""

from __future__ import annotations

TITLES = {
    "figure1": "harmonic solutions on two lattices",
    "figure2": "decision functions of MR and GC",
    "figure3": "thresholds, and the bounds",
    "table": "errors on pairs of classes of UCI tables",
    "soft-labels": "whether soft labels work better",
    "protocol": "readings of what the paper leaves open",
}
"""By name, in the order of the page."""
