"""
Coverage: answer certain rows, leave the rest to a person
=========================================================

No classifier is right about every row, but many applications allow it to abstain. This
example shows how accuracy grows when the least certain rows are left to a person, how to
find the threshold from the labels alone, and how well probabilities are calibrated.
"""

import matplotlib.pyplot as plt
import numpy as np

from graphmargin import HarmonicClassifier, MaxMarginGraphCut, leave_one_out
from graphmargin.datasets import load_letter, mask_labels

X, letters = load_letter()
seen, new = np.arange(3000), np.arange(3000, 6000)
few = mask_labels(letters[seen], per_class=10, random_state=0)
hidden = few == ""
model = HarmonicClassifier(n_neighbors=12, gamma_g=0.1).fit(X[seen], few)
right = (model.transduction_ == letters[seen])[hidden]
print(f"{len(seen):,} rows, {np.sum(~hidden)} labels of {len(model.classes_)} letters")
print(f"accuracy on the others: {right.mean():.1%}")

# %%
# Coverage against accuracy
# -------------------------
# Sort rows by confidence and answer only the most certain share of them, the coverage.
# The blue line is the truth. In practice you do not have it, but you have labels.
# :func:`~graphmargin.leave_one_out` holds out each of them in turn, and returns the
# prediction of the others with its confidence. This draws the orange line, without any
# truth.


def curve(sure, is_right):
    """Return shares of rows, the most certain first, and the accuracy on each."""
    order = np.argsort(-sure, kind="stable")
    count = np.arange(1, len(order) + 1)
    return count / len(order), np.cumsum(is_right[order]) / count


tested = leave_one_out(model.harmonic_solution_)
best = np.sort(tested.class_mass, axis=1)
estimate = curve(best[:, -1] - best[:, -2], tested.codes == tested.given)
truth = curve(model.confidence_[hidden], right)

figure, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
for name, (share, accuracy), color in [
    ("rows without a label (truth)", truth, "#2a6fb0"),
    ("held-out labels (estimate)", estimate, "#d9822b"),
]:
    ax.plot(100 * share, 100 * accuracy, color=color, label=name)
ax.set(xlabel="coverage: share of rows with an answer [%]")
ax.set(ylabel="accuracy of answers [%]")
ax.set(xlim=(0, 100), ylim=(50, 101))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="lower left")
plt.show()

# %%
# A threshold for 90 %
# --------------------
# Use the largest coverage at which the estimate reaches the accuracy that you need, and
# answer the rows that are at least as certain as that.

share, accuracy = estimate
coverage = share[accuracy >= 0.9].max()
threshold = np.quantile(best[:, -1] - best[:, -2], 1 - coverage)
answered = model.confidence_[hidden] >= threshold
print(f"threshold {threshold:.3f}: {answered.mean():.0%} of the rows get an answer")
print(f"right: {right[answered].mean():.1%} of these")
print(f"       {right[~answered].mean():.1%} of the others")

# %%
# Are the probabilities calibrated?
# ---------------------------------
# ``predict_proba`` of a :class:`~graphmargin.MaxMarginGraphCut` is calibrated on held-out
# labels. The example has two letters that look alike, and new rows. On the diagonal, 80 %
# of the rows with a probability of 80 % are right; above it, the probabilities are too
# low.

pair = np.flatnonzero(np.isin(letters, ["B", "R"]))
train, test = pair[:500], pair[500:]
few = mask_labels(letters[train], fraction=0.1, random_state=0)
cut = MaxMarginGraphCut(n_neighbors=7).fit(X[train], few)
probabilities = cut.predict_proba(X[test])
top, hit = probabilities.max(axis=1), cut.classes_[probabilities.argmax(axis=1)] == letters[test]

bins = np.array_split(np.argsort(top), 8)  # of equal size
mean_confidence = np.array([top[rows].mean() for rows in bins])
true = np.array([hit[rows].mean() for rows in bins])
spread = 2 * np.sqrt(true * (1 - true) / len(bins[0]))

figure, ax = plt.subplots(figsize=(4.4, 4.2), layout="constrained")
ax.plot([0.5, 1], [0.5, 1], ":", color="0.4")
ax.errorbar(mean_confidence, true, spread, fmt="o", color="#2a6fb0", label="two standard errors")
ax.set(xlabel="largest probability", ylabel="share that is right", aspect="equal")
ax.set(xlim=(0.48, 1.02), ylim=(0.48, 1.02))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="lower right")
plt.show()
print(f"mean probability {top.mean():.2f}, share that is right {hit.mean():.2f}")

# %%
# Which confidence, with several classes?
# ---------------------------------------
# With several classes, every pair of classes of the cut votes, and votes have few
# different values. The confidence of the graph ranks rows better. This is the accuracy on
# the most certain quarter of new letters:


def quarter(classifier):
    """Return the accuracy on the most certain quarter of the new rows."""
    p = np.sort(classifier.predict_proba(X[new]), axis=1)
    is_right = classifier.predict(X[new]) == letters[new]
    return curve(p[:, -1] - p[:, -2], is_right)[1][len(new) // 4 - 1]


few = mask_labels(letters[seen], per_class=10, random_state=0)
votes = MaxMarginGraphCut(n_neighbors=12, gamma_g=0.1, C=10.0).fit(X[seen], few)
print(f"by the graph {quarter(model):.1%}, by votes {quarter(votes):.1%}")

# %%
# Summary
# -------
# The confidence of the graph ranks rows well, so abstaining raises accuracy, and held-out
# labels estimate by how much. Leave a margin: with 260 labels, the estimate is off by a
# few points. It holds for rows like the labeled ones: if you labeled easy rows, it is too
# high (:doc:`/limits`). :class:`~graphmargin.plotting.ConfidenceDisplay` draws the
# confidence of training rows. The rows that you leave to a person are candidates for
# :ref:`sphx_glr_gallery_trust_plot_suggest.py`.
