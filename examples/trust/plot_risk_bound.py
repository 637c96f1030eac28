"""
The risk bound, term by term
============================

The theory of max-margin graph cuts bounds the probability that a new point gets a wrong
label. This example prints the bound of a fitted cut, shows which of its terms is large and
why, and counts how many labels the bound needs to be informative. With few labels it is
not informative, as the first section shows.
"""

import matplotlib.pyplot as plt
import numpy as np

from graphmargin import MaxMarginGraphCut
from graphmargin.datasets import load_digits, mask_labels
from graphmargin.theory import risk_bound, vc_dimension

TERMS = {
    "labeled_risk": ("squared error at labels", "#d9730d"),
    "transductive_error": ("transductive: from labels to all rows", "#2f6bdb"),
    "inductive_error": ("inductive: from rows to new ones", "#0a97a7"),
}


def soft_cut(trust=1e-6, **options):
    """Return a cut as the theory needs it: linear, two classes, soft labels."""
    options = {"gamma_g": 0.0, "n_neighbors": 10, "kernel": "linear", "C": 10.0} | options
    return MaxMarginGraphCut(c_labeled=trust, c_unlabeled=0.99 * trust, **options)


def bound_of(cut, X):
    """Return the bound of a fitted cut, from its harmonic solution and its scores."""
    h = vc_dimension("linear", X.shape[1])
    return risk_bound(cut.harmonic_solution_, cut.decision_function(X), vc_dimension=h)


def stack_terms(ax, bounds, names):
    """Draw the terms of each bound on top of each other, and the risk of a coin."""
    below = np.zeros(len(bounds))
    for term, (text, color) in TERMS.items():
        size = np.array([getattr(bound, term) for bound in bounds])
        ax.bar(names, size, 0.6, bottom=below, color=color, label=text)
        below += size
    ax.axhline(0.5, color="black", linestyle="--", label="a coin")
    ax.spines[["top", "right"]].set_visible(False)


# %%
# The terms of the bound
# ----------------------
# The bound is proved for soft labels, which pull the solution toward them without fixing
# it. ``c_labeled`` is the trust in them. It is small here, so that no label alone changes
# much.

X, y = load_digits()
X, y = X[y < 2], y[y < 2]  # zeros and ones
few = mask_labels(y, per_class=5, random_state=0)
cut = soft_cut().fit(X, few)
print(bound_of(cut, X))
unlabeled = few == -1
error = 1 - cut.score(X[unlabeled], y[unlabeled])
print(f"\nerror on the {unlabeled.sum():,} unlabeled rows: {error:.1%}")

# %%
# More labels do not suffice
# --------------------------
# The cut is right about nearly all of these images, but the bound does not show it. More
# labels lower the bound only to a limit: the inductive error depends on the number of
# images and of their pixels, and is above 1/2 by itself. (The risk on induced labels is
# too small to be seen, and left out.)

shares = [0.01, 0.1, 0.3, 0.9]
bounds = []
for share in shares:
    few = mask_labels(y, fraction=share, random_state=0)
    bounds.append(bound_of(soft_cut().fit(X, few), X))

figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
stack_terms(ax, bounds, [f"{bound.n_labeled} labels" for bound in bounds])
ax.set_title(f"terms of the bound, {len(X):,} digits of 64 pixels")
ax.legend(frameon=False)
plt.show()

# %%
# The effect of gamma_g
# ---------------------
# A larger ``gamma_g`` makes the solution stable, so that the transductive error falls.
# But it pulls the solution to zero, away from the given labels.

gammas = np.logspace(-8, -4, 5)
bounds = [bound_of(soft_cut(gamma_g=gamma_g).fit(X, few), X) for gamma_g in gammas]

figure, ax = plt.subplots(figsize=(8, 3.4), layout="constrained")
for term in ["labeled_risk", "transductive_error"]:
    text, color = TERMS[term]
    terms = [getattr(bound, term) for bound in bounds]
    ax.semilogx(gammas, terms, "o-", color=color, label=text)
ax.semilogx(gammas, [bound.bound for bound in bounds], "k:", label="bound")
ax.set(title="terms of the bound against gamma_g", xlabel=r"$\gamma_g$", ylim=0)
ax.legend(frameon=False)
plt.show()

# %%
# Where the bound is informative
# ------------------------------
# This problem is made for the bound. It has two features, two clusters that no edge
# joins, and labels in 90 % of the rows. Each label has even less weight here.


def two_clusters(n, random_state=0):
    """Return points of two distant normal distributions."""
    rng = np.random.default_rng(random_state)
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, 2)) + np.outer(y, [12, 0]), y


bounds = []
for n in [1_000, 5_000, 20_000]:
    X, y = two_clusters(n)
    few = mask_labels(y, fraction=0.9, random_state=0)
    bounds.append(bound_of(soft_cut(1e-8, width=1.0).fit(X, few), X))

figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
stack_terms(ax, bounds, [f"{bound.n_labeled:,} labels" for bound in bounds])
ax.set_title("terms of the bound, two distant clusters in the plane")
ax.legend(frameon=False)
plt.show()
print(bounds[-1])

# %%
# Summary
# -------
# The bound explains what the method depends on (labels that agree with the graph, a
# stable solution, a simple function), but it is no estimate of your error. Even where
# nothing can go wrong, it takes more than ten thousand labels to be better than a coin.
# For an estimate, hold out labels: ``choice_.error`` of a cut with chosen parameters, or
# :class:`~graphmargin.LabeledKFold`. :doc:`What can be proved </theory>` has the
# propositions, and :class:`~graphmargin.theory.RiskBound` the terms.
