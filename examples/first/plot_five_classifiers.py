"""
==================================
Five classifiers on three problems
==================================

Semi-supervised learning assumes that points of one cluster have the same class. This
example runs all five classifiers of graphmargin with 12 labels on two problems where the
assumption is right, and on one where it is wrong. Use the picture to guess what may happen
on your own data, and which classifier to try beside the cut.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles, make_moons
from sklearn.inspection import DecisionBoundaryDisplay

from graphmargin import (
    HarmonicClassifier,
    ManifoldSVC,
    MaxMarginGraphCut,
    SemiSupervisedSVC,
    SupervisedSVC,
)
from graphmargin.datasets import mask_labels

# %%
# Two problems for the graph, and one against it
# ----------------------------------------------
# Moons and circles are thin, and the graph follows them. The third problem has four
# stripes as well, but the class changes along a stripe, not from stripe to stripe: there
# are clusters, but they do not correspond to the classes.


def make_stripes(n, random_state):
    """Return points on four stripes, whose class depends on the position along a stripe."""
    noise = np.random.default_rng(random_state).normal(0, 0.03, (n, 2))
    position = np.column_stack([np.linspace(-1, 1, n), np.arange(n) % 4 / 2 - 0.75])
    X = position + noise
    return X, (X[:, 0] > 0).astype(int)


problems = {
    "moons": lambda n, seed: make_moons(n, noise=0.12, random_state=seed),
    "circles": lambda n, seed: make_circles(n, noise=0.08, factor=0.5, random_state=seed),
    "stripes": make_stripes,
}
classifiers = {
    "SupervisedSVC": SupervisedSVC(C="auto"),
    "HarmonicClassifier": HarmonicClassifier(gamma_g="auto"),
    "ManifoldSVC": ManifoldSVC(),
    "SemiSupervisedSVC": SemiSupervisedSVC(),
    "MaxMarginGraphCut": MaxMarginGraphCut(random_state=0),
}

# %%
# Regions and errors
# ------------------
# Each row is a problem, each column a classifier. Large points are labeled, small ones
# are not, and the number in the corner is the error on 1,000 new points.

SEED = 7
colors = np.array(["#2f6bdb", "#d9730d"])
figure, axes = plt.subplots(3, 5, figsize=(11, 6.9), layout="constrained")
for row, (problem, make) in zip(axes, problems.items(), strict=True):
    X, y_true = make(200, SEED)
    X_new, y_new = make(1000, 99)
    y = mask_labels(y_true, per_class=6, random_state=SEED)
    given = y >= 0
    for ax, (name, classifier) in zip(row, classifiers.items(), strict=True):
        model = classifier.fit(X, y)
        DecisionBoundaryDisplay.from_estimator(
            *(model, X), response_method="predict", grid_resolution=60, eps=0.35,
            colors=colors, levels=1, alpha=0.22, ax=ax, xlabel="", ylabel="",
        )  # fmt: skip
        ax.scatter(*X[~given].T, s=3, color="0.5")
        ax.scatter(*X[given].T, s=34, c=colors[y[given]], edgecolors="black")
        error = f"{1 - model.score(X_new, y_new):.0%}"
        box = {"facecolor": "white", "edgecolor": "none", "pad": 2.5}
        ax.text(0.97, 0.04, error, transform=ax.transAxes, ha="right", size=13, bbox=box)
        ax.set(xticks=[], yticks=[])
        axes[0, list(classifiers).index(name)].set_title(name, fontsize="medium")
    row[0].set_ylabel(problem, fontsize="large")
figure.suptitle("regions and test errors with 12 labels")
plt.show()

# %%
# Which classifier fails where
# ----------------------------
# A single draw proves little. The table has means over ten draws (``SEED`` 0 to 9):
#
# ================== ===== ======= =======
# mean error, %      moons circles stripes
# ================== ===== ======= =======
# SupervisedSVC       10.8     1.5     7.3
# HarmonicClassifier   2.5     0.7    15.8
# ManifoldSVC          9.8     1.7     8.4
# SemiSupervisedSVC    8.2     0.2     7.1
# MaxMarginGraphCut    6.4     0.4     7.4
# ================== ===== ======= =======
#
# - :class:`~graphmargin.HarmonicClassifier` trusts the graph. It is the best on the
#   moons and by far the worst on the stripes, where each label spreads over its stripe.
# - :class:`~graphmargin.SupervisedSVC` does not look at the unlabeled points. Nothing
#   can mislead it, and nothing helps it around the bend of the moons.
# - :class:`~graphmargin.ManifoldSVC` is close to it: with its default ``gamma_u``, the
#   graph counts little.
# - :class:`~graphmargin.SemiSupervisedSVC` has no graph. It looks for a boundary
#   through empty space, which is all that the circles need.
# - :class:`~graphmargin.MaxMarginGraphCut` holds out labels to test whether the graph
#   helps, and blends. It is never the best here, and never much worse: on the moons its
#   caution costs accuracy, and on the stripes it is close to the supervised SVM.
#
# Summary
# -------
# Ask first whether your clusters are your classes. If you know that they are, use the
# harmonic solution or a small ``gamma_g``; if you do not know, leave ``gamma_g="auto"``.
# :doc:`Evidence </evidence>` compares four of these classifiers on sixteen problems, and
# :doc:`When the graph hurts </when-the-graph-hurts>` tells how to notice.
