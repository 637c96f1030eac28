"""Walks from one point: two end at its label, one falls into the sink."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from moons import (
    N_NEIGHBORS,
    draw_edges,
    draw_points,
    draw_walk,
    finish,
    random_walks,
    reach,
    two_moons,
)

from graphmargin import knn_graph

GAMMA_G = 0.05

X, few = two_moons()
W = knn_graph(X, N_NEIGHBORS)
start = int(np.argmin(np.hypot(*(X - (-0.6, 0.75)).T)))
rng = np.random.default_rng(1)
walks = random_walks(W, few, GAMMA_G, start, rng)
met = [path for path, sunk in walks if not sunk]
fell = [path for path, sunk in walks if sunk]
shortest = sorted(met, key=len)[:2]
farthest = max(fell, key=lambda path: reach(X, path))

figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
draw_edges(axes, X, W)
draw_points(axes, X, few)
for path in shortest:
    draw_walk(axes, X, path, sunk=False, color="#2f6bdb")
draw_walk(axes, X, farthest, sunk=True)
finish(axes)
