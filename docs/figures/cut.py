"""The cut that is learned from all confident points, and from the surest alone."""

from __future__ import annotations

import matplotlib.pyplot as plt
from moons import N_NEIGHBORS, finish, two_moons

from graphmargin import MaxMarginGraphCut
from graphmargin.plotting import CutDisplay

X, few = two_moons()
figure, panels = plt.subplots(1, 2, figsize=(6, 2.6), layout="constrained")
for axes, eps, name in zip(panels, (1e-6, 0.3), ("$10^{-6}$", "0.3"), strict=True):
    model = MaxMarginGraphCut(gamma_g=0.01, C=10.0, eps=eps, n_neighbors=N_NEIGHBORS)
    model.fit(X, few)
    CutDisplay.from_estimator(model, X, resolution=120, margin=0.15).plot(axes, size=10)
    finish(axes, rf"$\varepsilon$ = {name}")
