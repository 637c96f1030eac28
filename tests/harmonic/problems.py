"""Labels, trust, solvers and rates of the sink that several test files have in common."""

import numpy as np

from graphmargin.harmonic import folds
from graphmargin.harmonic._solvers.elimination import elimination_order

SOLVERS = ("direct", "cg")
GAMMAS = (0.0, 1e-6, 1e-3, 1.0, 1e3, 1e6)
N = 24
MIXED = np.array([np.inf, 0.5, np.inf, 3.0, 0.0, 1e3, np.inf, 0.01, *[0.0] * (N - 8)])
"""Trust in eight labels: hard, soft and none."""


def first_labels(n, given):
    """Return the codes of n vertices, of which the first ones have the given labels."""
    return np.append(given, np.full(n - len(given), -1))


def eliminate_nothing(monkeypatch):
    """Let "auto" iterate on all graphs, as if their fill were too large."""
    monkeypatch.setitem(elimination_order.__kwdefaults__, "max_flops", 1)
    monkeypatch.setattr(folds, "eliminate_unlabeled", lambda *_, **__: None)
