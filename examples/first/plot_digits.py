"""
Handwritten digits: fifty labels for 5,000 images
=================================================

You have thousands of images and the patience to label fifty of them. This example labels
the others, shows the least certain ones, checks how well the confidence predicts errors,
and labels new images.
"""

import matplotlib.pyplot as plt
import numpy as np

from graphmargin import HarmonicClassifier, MaxMarginGraphCut, SupervisedSVC
from graphmargin.datasets import load_digits, mask_labels
from graphmargin.plotting import ConfidenceDisplay

X, y_true = load_digits()  # 5,620 images of 8 x 8 pixels
shuffled = np.random.default_rng(0).permutation(len(X))
new, seen = shuffled[:600], shuffled[600:]
y = mask_labels(y_true[seen], per_class=5, random_state=0)  # the rest is -1
hidden = y == -1
print(f"{len(seen):,} images, {np.sum(~hidden)} of them labeled; {len(new)} new ones")

# %%
# Three ways to use fifty labels
# ------------------------------
# The supervised SVM sees the fifty labels alone. The harmonic solution propagates them
# from image to similar image. The cut trains a classifier on the confident labels of the
# graph, so that new images need no graph.

models = {
    "supervised SVM": SupervisedSVC(),
    "harmonic solution": HarmonicClassifier(),
    "max-margin graph cut": MaxMarginGraphCut(gamma_g=0.1, C=10.0),
}
print(f"{'error':22}{'unlabeled':>10}{'new':>8}")
for name, model in models.items():
    model.fit(X[seen], y)
    wrong = np.mean(model.transduction_[hidden] != y_true[seen][hidden])
    wrong_new = np.mean(model.predict(X[new]) != y_true[new])
    print(f"{name:22}{wrong:10.1%}{wrong_new:8.1%}")

# %%
# The least certain images
# ------------------------
# ``confidence_`` is the probability of each label; with fixed parameters, it is that of the
# graph. The title of each of the 16 least certain images is the label of the cut; wrong
# ones are red, with the truth in brackets. Most are nines with a straight tail; the five
# labeled nines all have a curled one.

cut, truth = models["max-margin graph cut"], y_true[seen]
unlabeled = np.flatnonzero(hidden)
least = unlabeled[np.argsort(cut.confidence_[hidden])]

figure, axes = plt.subplots(2, 8, figsize=(9, 3.2))
for ax, row in zip(axes.flat, least[:16], strict=True):
    label, right = cut.transduction_[row], cut.transduction_[row] == truth[row]
    title = str(label) if right else f"{label} ({truth[row]})"
    ax.imshow(X[seen[row]].reshape(8, 8), cmap="gray_r")
    ax.set_title(title, color="#23934a" if right else "#d1293d")
    ax.axis("off")
figure.suptitle("the least certain digits")
figure.subplots_adjust(0.01, 0.01, 0.99, 0.84, 0.05, 0.25)
plt.show()

# %%
# Is the confidence reliable?
# ---------------------------
# :class:`~graphmargin.plotting.ConfidenceDisplay` counts rows by confidence. The truth is
# known here, so it also draws the share that is right. Most errors are on the left. The
# sink lowers the confidence of all rows, so compare it between rows, not with a fixed
# number.

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ConfidenceDisplay.from_estimator(cut, truth).plot(ax)
ax.set_title("accuracy grows with the confidence")
plt.show()
unsure = np.isin(unlabeled, least[:500])
wrong = cut.transduction_[hidden] != truth[hidden]
print(f"{wrong[unsure].sum()} of {wrong.sum()} errors are in the 500 least certain rows")

# %%
# One more label
# --------------
# Give the least certain image its label and fit again. In this draw of labels, that one
# answer halves the errors.

y[least[0]] = truth[least[0]]
cut.fit(X[seen], y)
error = np.mean(cut.transduction_[hidden] != truth[hidden])
error_new = np.mean(cut.predict(X[new]) != y_true[new])
print(f"with 51 labels: {error:.1%} of the unlabeled, {error_new:.1%} of the new wrong")

# %%
# Summary
# -------
# Images that look alike share a label, so fifty labels do the work of many more, and the
# confidence tells where to look. Not every label helps as much as this one;
# :func:`~graphmargin.suggest_labels` ranks rows by the errors that their labels are
# expected to save. Parameters were set by hand to save time: ``MaxMarginGraphCut()``
# chooses them (:doc:`how </selection>`).
