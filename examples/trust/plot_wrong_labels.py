"""
Find wrong labels, and repair them
==================================

People type labels, and some are wrong. In this example, a tenth of the labels of
handwritten digits are flipped. It shows how many of these ``label_errors`` finds without
knowing the truth, what they look like, and how much the error falls if you correct them.
"""

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import RocCurveDisplay

from graphmargin import HarmonicClassifier, MaxMarginGraphCut, harmonic_solution
from graphmargin.datasets import load_digits, mask_labels

X, y_true = load_digits()
given = mask_labels(y_true, fraction=0.04, random_state=0)
labeled = np.flatnonzero(given >= 0)
rng = np.random.default_rng(0)
flipped = rng.choice(labeled, len(labeled) // 10, replace=False)
given[flipped] = (given[flipped] + rng.integers(1, 10, len(flipped))) % 10
print(f"{len(X):,} images, {len(labeled)} labels, {len(flipped)} of them wrong")

# %%
# The probability that a label is wrong
# -------------------------------------
# A classifier that chooses its parameters predicts every label without it. Where it is
# nearly always right, a label that it contradicts is probably wrong. Labels are listed
# above a threshold, with the number of false alarms to expect.

model = MaxMarginGraphCut(random_state=0).fit(X, given)
label_errors = model.label_errors()
print(label_errors)

# %%
# How many are found?
# -------------------
# The flipped labels should come first. The ROC curve is on the left. The curve on the
# right counts the wrong labels among those that you check in this order.

is_wrong = np.isin(label_errors.rows, flipped)
order = label_errors.order
hits = np.cumsum(is_wrong[order])

figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.8), layout="constrained")
RocCurveDisplay.from_predictions(
    is_wrong,
    label_errors.probability,
    ax=left,
    name="label errors",
    curve_kwargs={"color": "#2a6fb0"},
)
left.set(xlabel="right labels that are accused", ylabel="wrong labels that are accused")
right.plot(np.arange(1, len(hits) + 1), hits, color="#2a6fb0", label="by probability")
right.plot([0, len(hits)], [0, len(flipped)], ":", color="0.4", label="in random order")
right.set(xlabel="labels checked", ylabel="wrong labels met")
right.legend(frameon=False, loc="center right")
right.spines[["top", "right"]].set_visible(False)
plt.show()
print(f"the first {len(flipped)}: {hits[len(flipped) - 1]} are wrong")

# %%
# The most likely errors
# ----------------------
# The first row has the flipped labels that are most likely wrong, each with the label
# that the classifier suggests. The second row has those that were *not* flipped: these
# labels of the original table are worth a second look.

figure, axes = plt.subplots(2, 8, figsize=(9, 3.4), layout="constrained")
rows = np.concatenate([order[is_wrong[order]][:8], order[~is_wrong[order]][:8]])
for ax, row in zip(axes.flat, rows, strict=True):
    ax.imshow(X[label_errors.rows[row]].reshape(8, 8), cmap="gray_r")
    ax.set_title(f"{label_errors.given_labels[row]}, or {label_errors.suggested_labels[row]}?")
    ax.set(xticks=[], yticks=[])
axes[0, 0].set_ylabel("flipped")
axes[1, 0].set_ylabel("not flipped")
plt.show()

# %%
# How much the error falls
# ------------------------
# There are four ways to continue: trust all labels; trust every label by how likely it is
# right (``c_labeled`` with a number for each row); drop the listed ones; or have a person
# check them. A single draw can mislead, so here are six on the same graph, each with other
# labels and other mistakes, for the harmonic classifier.

W = model.graph_


def errors_of(seed):
    """Return the error [%] on the unlabeled rows of each way to go on."""
    labels = mask_labels(y_true, fraction=0.04, random_state=seed)
    rows, rng = np.flatnonzero(labels >= 0), np.random.default_rng(seed)
    mistakes = rng.choice(rows, len(rows) // 10, replace=False)
    labels[mistakes] = (labels[mistakes] + rng.integers(1, 10, len(mistakes))) % 10
    audit = HarmonicClassifier(gamma_g="auto", random_state=0).fit(X, labels).label_errors()
    listed = audit.rows[audit.listed]
    trust = np.full(len(X), np.inf)
    trust[audit.rows] = 10 * (1 - audit.probability) ** 2
    dropped, checked = labels.copy(), labels.copy()
    dropped[listed], checked[listed] = -1, y_true[listed]
    ways = [(labels, np.inf), (labels, trust), (dropped, np.inf), (checked, np.inf)]
    others = np.setdiff1d(np.arange(len(X)), rows)
    solutions = [harmonic_solution(W, few, gamma_g=0.01, c_labeled=c) for few, c in ways]
    return [100 * np.mean(s.labels[others] != y_true[others]) for s in solutions]


errors = np.transpose([errors_of(seed) for seed in range(6)])
names = ["all trusted", "soft trust", "listed ones dropped", "listed ones checked"]
for name, draw_errors in zip(names, errors, strict=True):
    draws = "  ".join(f"{error:.1f}" for error in draw_errors)
    print(f"{name:20} mean error {draw_errors.mean():.1f} %   draws {draws}")

# %%
# Summary
# -------
# An audit needs no truth and no other fit, and tells where to look first. Have the listed
# labels checked if you can. An audit finds labels that contradict the others. Wrong labels
# that come in clusters, as from one careless person on one kind of image, confirm each
# other and are not found. On the command line this is ``graphmargin audit``: see
# :doc:`/command-line`. :doc:`/evidence` tells how well the ranking works on other tables.
