"""Labels, trust, solvers and rates of the sink that several test files have in common."""

import numpy as np

SOLVERS = ("direct", "cg", "gauss-seidel")
GAMMAS = (0.0, 1e-6, 1e-3, 1.0, 1e3, 1e6)
N = 24
MIXED = np.array([np.inf, 0.5, np.inf, 3.0, 0.0, 1e3, np.inf, 0.01, *[0.0] * (N - 8)])
"""Trust in eight labels: hard, soft and none."""


def first_labels(n, given):
    """Return the codes of n vertices, of which the first ones have the given labels."""
    return np.append(given, np.full(n - len(given), -1))
