"""
Your own graph: the cross-references of scikit-learn
====================================================

Some data are not points in a space: papers that cite each other, pages with links, people
who know each other. If you have a graph, graphmargin needs nothing else. Here the vertices
are functions and classes of scikit-learn. An edge joins two of them if the docstring of one
mentions the other under "See Also". One vertex of each module has a label, and the graph
induces the modules of the others.
"""

import inspect
import re
from importlib import import_module

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

from graphmargin import components, harmonic_solution
from graphmargin.plotting import HarmonicDisplay

# %%
# From docstrings to a graph
# --------------------------
# A graph is a symmetric matrix of non-negative weights, here 0 and 1. Names without any
# reference are left out.

MODULES = ["cluster", "covariance", "decomposition", "ensemble", "feature_selection",
           "linear_model", "metrics", "neighbors", "preprocessing", "svm"]  # fmt: skip


def see_also(docstring):
    """Return the names under "See Also"."""
    section = re.search(r"See Also\n-+\n(.*?)(\n\n\S[^\n]*\n---|\Z)", docstring, re.DOTALL)
    entries = re.findall(r"^[\w., ]+", section[1], re.MULTILINE) if section else []
    return [name.split(".")[-1] for name in re.findall(r"[\w.]+", " ".join(entries))]


home, docstrings = {}, {}
for module in MODULES:
    members = vars(import_module(f"sklearn.{module}"))
    for name in members["__all__"]:
        home[name], docstrings[name] = module, inspect.getdoc(members[name])

references = [(a, b) for a in home for b in see_also(docstrings[a]) if b in home]
names = np.unique(references)
i, j = np.searchsorted(names, np.transpose(references))
ones = sparse.coo_array((np.ones(len(i)), (i, j)), shape=(len(names),) * 2).toarray()
W = np.clip(ones + ones.T, 0, 1) * (1 - np.eye(len(names)))
truth = np.array([home[name] for name in names])
parts = components(W).max() + 1
print(f"{len(names)} names, {int(W.sum() / 2)} edges, {parts} components")

# %%
# One label in each module
# ------------------------
# The name with most references keeps its module; all others are unlabeled.

y = np.full(len(names), "", dtype=truth.dtype)
for module in MODULES:
    y[np.argmax(W.sum(axis=1) * (truth == module))] = module
solution = harmonic_solution(W, y, gamma_g=0.01)
print(f"harmonic solution: {solution.status.split('; ')[-1]}")

hidden = (y == "") & ~solution.unreached
right = solution.labels == truth
print(f"of {hidden.sum()} names in reach, {right[hidden].mean():.0%} are right")
confident = hidden & (solution.confidence > 0.3)
print(f"of the {confident.sum()} with a confidence above 0.3, {right[confident].mean():.0%}")

# %%
# The induced labels
# ------------------
# Black rings are the given labels. Strong colors have a high confidence, pale ones a low
# one. Gray vertices are in components without a label: no walk from there meets one.


def spring_layout(W, steps=150):
    """Return a place for each vertex: edges pull, all vertices push."""
    place = np.random.default_rng(0).normal(size=(len(W), 2))
    for step in np.linspace(0.3, 0.01, steps):
        apart = place[:, None] - place
        distance = np.maximum(np.linalg.norm(apart, axis=2), 0.02)
        force = 0.03 / distance**2 - W * distance - 0.01
        move = np.einsum("ij,ijk->ik", force, apart)
        place += step * move / np.maximum(np.linalg.norm(move, axis=1, keepdims=True), 1)
    return place


place = spring_layout(W)
figure, ax = plt.subplots(figsize=(10, 6.5), layout="constrained")
HarmonicDisplay.from_solution(solution, place).plot(ax, size=30)
for vertex in np.flatnonzero(y != ""):
    ax.annotate(names[vertex], place[vertex], (4, 6), textcoords="offset points")
ax.set_title("names that refer to each other, in the color of their module")
ax.axis("off")
plt.show()

# %%
# Why does a vertex have its label?
# ---------------------------------
# :meth:`~graphmargin.HarmonicSolution.explain` tells at which labels the walks from a
# vertex end. ``lars_path`` is a linear model, but many of its walks meet
# ``sparse_encode`` first.

vertex = int(np.flatnonzero(names == "lars_path")[0])
why = solution.explain(vertex)
print(f"{names[vertex]} is called {why.label}; in truth it is {truth[vertex]}")
for source, share in list(zip(why.sources, why.shares, strict=True))[:3]:
    print(f"{share:6.0%} of its walks end at {names[source]} ({y[source]})")

# %%
# Where the graph is wrong and uncertain, one label may correct a whole neighborhood:

y[vertex] = truth[vertex]
again = harmonic_solution(W, y, gamma_g=0.01).labels == truth
print(f"with {names[vertex]} labeled, {again[hidden].mean():.0%} are right")

# %%
# An induced label can also be wrong with a high confidence. These names belong to other
# modules, but they detect outliers, and so they refer to ``EllipticEnvelope``. The graph
# follows subjects:

wrong = np.flatnonzero(hidden & ~right & (solution.confidence > 0.9))
for vertex in wrong:
    print(f"{names[vertex]}: {truth[vertex]}, called {solution.labels[vertex]}")

# %%
# Summary
# -------
# Any symmetric matrix of weights can be a graph. Look at ``status`` for components that
# no label reaches, and at ``explain`` before you believe a label. The estimator
# :class:`~graphmargin.HarmonicClassifier` with ``affinity="precomputed"`` takes W in the
# place of X. If you have points as well, :class:`~graphmargin.MaxMarginGraphCut` takes
# both, ``fit(X, y, W=W)``, and labels new points without edges.
