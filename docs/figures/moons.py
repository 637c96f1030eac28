"""Two moons with a label each: what the figures have in common."""

from __future__ import annotations

import numpy as np
from matplotlib.collections import LineCollection
from sklearn.datasets import make_moons

COLORS = np.array(["#2f6bdb", "#d9730d", "#23934a"])
GRAY = "#8c959f"
N_NEIGHBORS = 6


def two_moons() -> tuple[np.ndarray, np.ndarray]:
    """Return 200 points, and the two labels that are known."""
    X, y = make_moons(200, noise=0.07, random_state=3)
    few = np.full(len(y), -1)
    few[[np.argmin(X[:, 0]), np.argmax(X[:, 0])]] = 0, 1
    return X, few


def draw_points(axes, X, few, size=22.0) -> None:
    """Draw points in gray, and the given labels in color."""
    axes.scatter(*X[few < 0].T, s=size, c="white", edgecolors=GRAY, linewidths=0.9)
    given = few >= 0
    axes.scatter(
        *X[given].T, s=3 * size, c=COLORS[few[given]], edgecolors="black", linewidths=1.4, zorder=4
    )


def draw_edges(axes, X, W) -> None:
    """Draw edges, the wider the heavier."""
    i, j = W.nonzero()
    widths = 0.2 + 0.8 * W.data / W.data.max()
    axes.add_collection(LineCollection(X[np.c_[i, j]], colors=GRAY, linewidths=widths, zorder=0))


def random_walks(
    W, few, gamma_g, start, rng, number=200, longest=25
) -> list[tuple[list[int], bool]]:
    """Return short walks: the vertices of each, and whether it fell into the sink."""
    walks = (_walk(W, few, gamma_g, [start], rng, longest) for _ in range(number))
    return [(path, sunk) for path, sunk in walks if sunk or few[path[-1]] >= 0]


def _walk(W, few, gamma_g, path, rng, longest) -> tuple[list[int], bool]:
    while few[path[-1]] < 0 and len(path) <= longest:
        edges = slice(W.indptr[path[-1]], W.indptr[path[-1] + 1])
        degree = W.data[edges].sum()
        if rng.random() < gamma_g / (degree + gamma_g):
            return path, True
        path.append(int(rng.choice(W.indices[edges], p=W.data[edges] / degree)))
    return path, False


def reach(X, path) -> float:
    """Return how far the end of a walk is from its start."""
    return float(np.hypot(*(X[path[-1]] - X[path[0]])))


def draw_walk(axes, X, path, sunk, color="black") -> None:
    """Draw a walk; a cross is where it fell into the sink."""
    axes.plot(*X[path].T, color=color, linewidth=1.6, zorder=5)
    axes.plot(*X[path[0]], "o", color=color, markersize=6, zorder=6)
    if sunk:
        axes.plot(*X[path[-1]], "X", color=color, markersize=10, markeredgecolor="white", zorder=6)


def finish(axes, title="") -> None:
    """Take away what a picture of points in the plane does not need."""
    axes.set_title(title, loc="left", fontsize=14)
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_color("0.8")
    if axes.legend_ is not None:
        axes.legend_.remove()
