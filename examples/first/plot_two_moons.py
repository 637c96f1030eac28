"""
Two moons: the graph, the walk, the sink and the cut
====================================================

You have 200 points and two labels, one on each moon. A classifier that learns from
the two labels alone puts a straight boundary between them. In four pictures, this
example shows how a graph carries the labels along the moons, how a sink keeps them
from going too far, and how a max-margin cut then labels the whole plane.
"""

# sphinx_gallery_thumbnail_number = 4
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from graphmargin import (
    MaxMarginGraphCut,
    SupervisedSVC,
    harmonic_path,
    harmonic_solution,
    knn_graph,
)
from graphmargin.plotting import CutDisplay, HarmonicDisplay

BLUE, ORANGE = "#2f6bdb", "#d9730d"


def two_moons(noise, random_state, n=200):
    """Return points, their moons, and labels of the leftmost and the rightmost one."""
    X, moon = make_moons(n, noise=noise, random_state=random_state)
    y_true = np.array(["upper", "lower"])[moon]
    ends = [X[:, 0].argmin(), X[:, 0].argmax()]
    y = np.full(n, "", dtype=y_true.dtype)  # "" is unlabeled
    y[ends] = y_true[ends]
    return X, y_true, y


X, y_true, y = two_moons(noise=0.07, random_state=4)

# %%
# The graph joins neighbors
# -------------------------
# The graph joins every point with its five nearest neighbors, and edges between close
# points have large weights. Labels play no part in this. Here no edge leads from moon to
# moon.

W = knn_graph(X, n_neighbors=5)
i, j = np.nonzero(np.triu(W.toarray()))
given = y != ""

figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
ax.plot(X[[i, j], 0], X[[i, j], 1], color="0.75", linewidth=0.8, zorder=1)
ax.scatter(*X.T, s=22, color="white", edgecolors="0.4", zorder=2)
colors = np.where(y[given] == "upper", ORANGE, BLUE)
ax.scatter(*X[given].T, s=90, c=colors, edgecolors="black", zorder=3)
ax.set(title="neighbors are joined; two points have a label", aspect="equal")
ax.axis("off")
plt.show()
print(f"{len(i)} edges, {np.sum(y_true[i] != y_true[j])} of them between the moons")

# %%
# A random walk carries the labels
# --------------------------------
# Start a random walk at a point and follow it until it meets a label.
# :func:`~graphmargin.harmonic_solution` computes the probability that it meets each
# class. The more probable class is the label of the point, and the difference of the two
# probabilities is its confidence: strong colors have a high confidence, pale ones a low
# one. On the left, no walk leaves its moon. On the right are noisier moons with a bridge
# of two edges: labels cross it, and the pale points show where.

noisy = two_moons(noise=0.1, random_state=0)

figure, axes = plt.subplots(1, 2, figsize=(10, 3), layout="constrained")
for ax, (points, truth, few) in zip(axes, [(X, y_true, y), noisy], strict=True):
    solution = harmonic_solution(knn_graph(points), few)
    HarmonicDisplay.from_solution(solution, points).plot(ax)
    right = np.mean(solution.labels == truth)
    ax.set(title=f"{right:.0%} of the labels are right", aspect="equal")
    ax.axis("off")
axes[0].get_legend().remove()
plt.show()

# %%
# The sink ends walks that are long
# ---------------------------------
# With a positive ``gamma_g``, the walk may fall into a sink at every step. Points that
# are many steps away from all labels have a low confidence. ``gamma_g`` thus says how far
# labels may travel: 0 trusts the graph most, infinity not at all.

figure, axes = plt.subplots(1, 3, figsize=(10, 2.4), layout="constrained")
for ax, solution in zip(axes, harmonic_path(W, y, [0.0, 0.01, 0.1]), strict=True):
    HarmonicDisplay.from_solution(solution, X).plot(ax, size=14)
    sunk = solution.sink_mass.mean()
    ax.set(title=f"gamma_g = {solution.gamma_g:g}: {sunk:.0%} sink", aspect="equal")
    ax.axis("off")
    ax.get_legend().remove()
plt.show()

# %%
# The cut labels new points
# -------------------------
# :class:`~graphmargin.MaxMarginGraphCut` trains a max-margin classifier on the points
# with sufficient confidence; here that is all of them. At the top is the supervised SVM,
# which has only the two labels.

X_new, new, _ = two_moons(noise=0.07, random_state=1, n=2000)
models = {
    "supervised SVM": SupervisedSVC(),
    "max-margin graph cut": MaxMarginGraphCut(gamma_g=0.01, C=10.0),
}
figure, axes = plt.subplots(2, 1, figsize=(7, 6), sharex=True, layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    error = 1 - model.fit(X, y).score(X_new, new)
    ax.set(title=f"{name}: {error:.0%} of new points wrong", xticks=[], yticks=[])
display = CutDisplay.from_estimator(model, X).plot(axes[1])
grid = np.stack(np.meshgrid(display.x1, display.x2), axis=-1)
upper = models["supervised SVM"].predict(grid.reshape(-1, 2)) == "upper"
upper = upper.reshape(grid.shape[:2])
axes[0].contourf(*grid.T, upper.T, levels=1, colors=[BLUE, ORANGE], alpha=0.22)
axes[0].contour(*grid.T, upper.T, levels=[0.5], colors="black", linewidths=1.2)
axes[0].scatter(*X.T, s=22, color="white", edgecolors="0.5")
axes[0].scatter(*X[given].T, s=80, c=colors, edgecolors="black")
axes[1].get_legend().remove()
plt.show()

# %%
# Summary
# -------
# The graph says which points belong together, the few labels say what the groups are
# called, and the cut turns both into a classifier. :doc:`How it works </how-it-works>`
# explains the method. Parameters were set by hand here. With ``gamma_g="auto"``, the
# default, held-out labels choose them, which takes a few more labels (:doc:`how that
# works </selection>`). Where the graph is wrong, the labels that it induces are wrong
# too: :doc:`five classifiers on three problems </gallery/first/plot_five_classifiers>` has such a
# problem.
