"""Points with two labels, and their graph."""

from __future__ import annotations

import matplotlib.pyplot as plt
from moons import N_NEIGHBORS, draw_edges, draw_points, finish, two_moons

from graphmargin import knn_graph

X, few = two_moons()
figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
draw_edges(axes, X, knn_graph(X, N_NEIGHBORS))
draw_points(axes, X, few)
finish(axes)
