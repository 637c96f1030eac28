"""What a wider sink does to the confidence of the same labels."""

from __future__ import annotations

import matplotlib.pyplot as plt
from moons import N_NEIGHBORS, finish, two_moons

from graphmargin import harmonic_path, knn_graph
from graphmargin.plotting import HarmonicDisplay

GAMMAS = (0.001, 0.01, 0.1)

X, few = two_moons()
path = harmonic_path(knn_graph(X, N_NEIGHBORS), few, GAMMAS)
figure, panels = plt.subplots(1, 3, figsize=(6.6, 2.2), layout="constrained")
for axes, gamma_g, solution in zip(panels, GAMMAS, path, strict=True):
    HarmonicDisplay.from_solution(solution, X).plot(axes, size=12)
    finish(axes, rf"$\gamma_g$ = {gamma_g:g}")
