"""
Confidence: labels to keep, and rows to leave to a person
=========================================================

No classifier is right about every row, but many applications allow it to abstain. The
confidence of a label is the probability that it is right. This example checks whether
confidence can be believed, estimates accuracy from the labels alone, abstains where
confidence is low, and predicts sets of classes with a given coverage.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibrationDisplay

from graphmargin import MaxMarginGraphCut
from graphmargin.confidence.coverage import coverage_curve
from graphmargin.datasets import load_letter, mask_labels

X, letters = load_letter()
seen, new = np.arange(3000), np.arange(3000, 4000)
few = mask_labels(letters[seen], per_class=10, random_state=0)
hidden = few == ""
model = MaxMarginGraphCut(random_state=0).fit(X[seen], few)
right = (model.transduction_ == letters[seen])[hidden]
print(f"{len(seen):,} rows, {np.sum(~hidden)} labels of {len(model.classes_)} letters")

# %%
# How many labels are right?
# --------------------------
# The fit holds out every label once to choose its parameters. ``accuracy_`` tells how
# often the classifier gets them right, with an interval of 95 %. It needs no true labels;
# here they are known, so we can compare.

estimate = model.accuracy_
low, high = estimate.interval
print(f"estimated accuracy {estimate.accuracy:.1%}, interval {low:.1%} to {high:.1%}")
print(f"true accuracy {right.mean():.1%}")
worst = np.argsort(estimate.recall)[:3]
print("lowest recall:", ", ".join(f"{model.classes_[k]} {estimate.recall[k]:.0%}" for k in worst))

# %%
# Is the confidence right?
# ------------------------
# A reliability diagram has the confidence on one axis, and the share of labels that are
# right on the other. On the diagonal, 80 % of the labels with a confidence of 80 % are
# right; below it, the classifier is too sure. Here most points are a little above the
# diagonal: confidence is fitted to held-out labels, which were predicted from fewer labels
# than the classifier has in the end. The confidence of a label is the probability of the
# event that it is right, so that scikit-learn's display of binary probabilities draws it.

confidence = model.confidence_[hidden]
figure, ax = plt.subplots(figsize=(4.8, 4.6), layout="constrained")
CalibrationDisplay.from_predictions(right, confidence, n_bins=15, name="letters", ax=ax)
ax.set(xlabel="mean confidence", ylabel="share of labels that are right")
plt.show()

# %%
# What is gained by abstaining?
# -----------------------------
# Sort rows by confidence, and keep the labels of the most confident share of them, the
# coverage. ``coverage_curve`` estimates the accuracy of the labels that are kept from
# held-out labels, with intervals of 95 %; the report of ``graphmargin label`` draws it. A
# confidence without any information would have the accuracy of all rows at every coverage.

curve = coverage_curve(model.held_out_, model.label_distributions_[hidden])
true_accuracy = [right[confidence >= threshold].mean() for threshold in curve.thresholds]
figure, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
ax.fill_between(curve.shares, *curve.interval.T, color="#2f6bdb", alpha=0.2, lw=0)
ax.plot(curve.shares, curve.accuracy, color="#2f6bdb", label="estimated from held-out labels")
ax.plot(curve.shares, true_accuracy, color="#d9730d", label="true")
ax.axhline(right.mean(), color="0.5", linestyle=":", label="true, all rows")
ax.set(xlabel="coverage, the share of rows that are kept", ylabel="accuracy of their labels")
ax.legend(frameon=False)
plt.show()

# %%
# Keep the labels that are probably right
# ---------------------------------------
# As confidence is a probability, a threshold needs no search, and the mean confidence of
# the labels that are kept estimates how many of them are right.

for threshold in (0.5, 0.8, 0.9):
    kept = confidence >= threshold
    print(
        f"confidence >= {threshold}: {kept.mean():.0%} of the rows, "
        f"expected right {confidence[kept].mean():.1%}, right {right[kept].mean():.1%}"
    )

# %%
# Sets of classes
# ---------------
# Where one label is too uncertain, a few of them may do. ``predict_set`` returns a column
# for each class, and a row's set contains its true class with the probability that you
# ask for. The rows here are new to the classifier.

for coverage in (0.8, 0.9, 0.95):
    sets = model.predict_set(X[new], coverage)
    truth = np.searchsorted(model.classes_, letters[new])
    covered = sets[np.arange(len(new)), truth].mean()
    print(f"coverage {coverage:.0%}: {covered:.1%} of the sets have the true letter")
    print(f"    {sets.sum(axis=1).mean():.1f} letters in the mean")

# %%
# Sets are small where the classifier is sure, and large where it is not.

sizes = model.predict_set(X[new], 0.9).sum(axis=1)
figure, ax = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
counts = np.bincount(sizes)
ax.bar(np.arange(len(counts)), counts, color="#2f6bdb")
ax.set(xlabel="letters in the set, coverage 90 %", ylabel="rows")
ax.spines[["top", "right"]].set_visible(False)
plt.show()

unsure = new[np.argmax(sizes)]
names = model.classes_[model.predict_set(X[[unsure]], 0.9)[0]]
print(f"the largest set: {' '.join(names)}; the letter is {letters[unsure]}")

# %%
# Summary
# -------
# All of this assumes that labels are a random draw from the rows, at least within each
# class. If only easy rows have a label, accuracy, confidence and coverage are too high
# (:doc:`/limits`). The rows that you leave to a person are candidates for
# :ref:`sphx_glr_gallery_trust_plot_suggest.py`.
