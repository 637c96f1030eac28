"""A group of points that no label reaches."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from moons import N_NEIGHBORS, finish, two_moons

from graphmargin import harmonic_solution, knn_graph
from graphmargin.plotting import HarmonicDisplay

X, few = two_moons()
island = np.random.default_rng(0).normal((2.0, 1.1), 0.12, (25, 2))
X, few = np.vstack([X, island]), np.append(few, np.full(25, -1))
solution = harmonic_solution(knn_graph(X, N_NEIGHBORS), few, gamma_g=0.01)

figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
HarmonicDisplay.from_solution(solution, X).plot(axes)
finish(axes)
