"""The whole method in four panels: few labels, graph, walks with a sink, cut.

The site draws it while it is built; `python docs/figures/method.py docs/images/method.png` draws
it for the README.
"""

from __future__ import annotations

import sys

import matplotlib.pyplot as plt
import numpy as np
from moons import (
    COLORS,
    N_NEIGHBORS,
    draw_edges,
    draw_points,
    draw_walk,
    finish,
    random_walks,
    reach,
    two_moons,
)

from graphmargin import MaxMarginGraphCut
from graphmargin.plotting import CutDisplay, HarmonicDisplay

GAMMA_G = 0.01
STARTS = (-0.5, 0.8), (1.2, -0.55)
NEW = np.array([[-0.8, 0.95], [0.75, 1.15], [2.1, 0.9], [0.3, -0.55]])
"""Points that are not in the graph."""


def main() -> None:
    """Draw the figure, and save it where the command line says."""
    X, few = two_moons()
    model = MaxMarginGraphCut(gamma_g=GAMMA_G, C=10.0, n_neighbors=N_NEIGHBORS)
    model.fit(X, few)

    figure, panels = plt.subplots(2, 2, figsize=(6, 4.9), layout="constrained")
    (points, graph), (walks, cut) = panels
    draw_points(points, X, few)
    draw_points(graph, X, few)
    draw_edges(graph, X, model.graph_)
    HarmonicDisplay.from_estimator(model, X).plot(walks, size=22)
    draw_walks(walks, X, few, model.graph_)
    CutDisplay.from_estimator(model, X, margin=0.2).plot(cut, size=22)
    colors = COLORS[model.predict(NEW)]
    cut.scatter(*NEW.T, s=150, marker="*", c=colors, edgecolors="black", zorder=6)

    titles = ("1. Few labels", "2. A graph", "3. Walks and a sink", "4. A cut")
    for axes, title in zip(panels.flat, titles, strict=True):
        finish(axes, title)
        axes.set(xlim=(-1.35, 2.35), ylim=(-0.9, 1.4))
    if len(sys.argv) > 1:
        figure.savefig(sys.argv[1], dpi=150)


def draw_walks(axes, X, few, W) -> None:
    """Draw a walk that meets a label, and one that falls into the sink."""
    rng = np.random.default_rng(0)
    for place, sunk in zip(STARTS, (False, True), strict=True):
        start = int(np.argmin(np.hypot(*(X - place).T)))
        walks = random_walks(W, few, GAMMA_G, start, rng)
        farthest = max((path for path, end in walks if end == sunk), key=lambda p: reach(X, p))
        draw_walk(axes, X, farthest, sunk)


if __name__ == "__main__":
    main()
