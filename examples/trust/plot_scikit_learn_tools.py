"""
With scikit-learn: pipelines, cross-validation, grids
=====================================================

Classifiers of graphmargin are scikit-learn estimators. One thing differs: most rows have no
label, and scikit-learn's splitters treat "unlabeled" as a class. This example shows what to
pass in their place, and whether a score from a few held-out labels finds good parameters.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline

from graphmargin import LabeledKFold, MaxMarginGraphCut, SemiSupervisedEnsemble
from graphmargin.datasets import load_digits, mask_labels

X, y_true = load_digits()
rows = np.flatnonzero(np.isin(y_true, [3, 5, 8, 9]))[:400]
X, y_true = X[rows], y_true[rows]
few = mask_labels(y_true, per_class=8, random_state=0)  # the rest is -1
unlabeled = few == -1
print(f"{len(X)} rows, {np.sum(~unlabeled)} labels")

# %%
# A pipeline
# ----------
# Steps before the classifier see the unlabeled rows as well. In semi-supervised learning
# this is not a leak, and it gives better principal components.

cut = MaxMarginGraphCut(gamma_g=0.1, C=10.0)
pipeline = make_pipeline(PCA(20, random_state=0), cut).fit(X, few)
print(f"error on unlabeled rows: {1 - pipeline.score(X[unlabeled], y_true[unlabeled]):.1%}")

# %%
# Cross-validation
# ----------------
# :class:`~graphmargin.LabeledKFold` tests on labeled rows only, and leaves all unlabeled
# rows in every training part.

cv = LabeledKFold(4, random_state=0)
scores = cross_validate(pipeline, X, few, cv=cv)["test_score"]
print(f"accuracy on held-out labels: {scores.mean():.1%} (folds {scores.tolist()})")

# %%
# A grid search with few labels
# -----------------------------
# ``GridSearchCV`` takes the same splitter. Here the truth is known, so its score can be
# compared with the error on all unlabeled rows, by ``clone`` and ``set_params``.

values = [3, 10, 30, 80]
name = "maxmargingraphcut__n_neighbors"
grid = GridSearchCV(pipeline, {name: values}, cv=cv).fit(X, few)

truth = []
for value in values:
    model = clone(pipeline).set_params(**{name: value}).fit(X, few)
    truth.append(100 - 100 * model.score(X[unlabeled], y_true[unlabeled]))

folds = [100 - 100 * grid.cv_results_[f"split{i}_test_score"] for i in range(4)]
mean, spread = np.mean(folds, axis=0), np.std(folds, axis=0, ddof=1) / 2
figure, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
ax.fill_between(values, mean - spread, mean + spread, color="#d9822b", alpha=0.2, lw=0)
ax.plot(values, mean, "o-", color="#d9822b", label="cross-validation, one standard error")
ax.plot(values, truth, "o-", color="#2a6fb0", label="truth, unlabeled rows")
ax.set(xlabel="n_neighbors", ylabel="error [%]", xscale="log")
ax.set_xticks(values, values)
ax.minorticks_off()
ax.set_ylim(0, None)
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="upper left")
plt.show()
print("chosen:", grid.best_params_)

# %%
# Blend or pick
# -------------
# With a few dozen labels, the best score is partly luck. A
# :class:`~graphmargin.SemiSupervisedEnsemble` takes classifiers with different graphs as
# members. It tries all of them on labels that ``cv`` holds out, keeps the rows of these
# labels in the graph, and averages the members, weighted by the likelihood of the held-out
# labels. Here the mean is about as good as the best score: over six draws of the labels it
# is better twice, worse twice and equal twice.

members = [MaxMarginGraphCut(n_neighbors=value, gamma_g=0.1, C=10.0) for value in values]
ensemble = SemiSupervisedEnsemble(members=members, cv=cv)
blend = make_pipeline(PCA(20, random_state=0), ensemble).fit(X, few)
for value, weight in zip(values, blend[-1].choice_.weights, strict=True):
    print(f"weight {weight:.2f}: {value} neighbors")
print(f"error of the mean: {1 - blend.score(X[unlabeled], y_true[unlabeled]):.1%}")

# %%
# Summary
# -------
# Pipelines, ``clone``, ``set_params``, ``cross_validate`` and ``GridSearchCV`` work as
# usual if ``cv`` is a :class:`~graphmargin.LabeledKFold` or
# :class:`~graphmargin.LabeledLeaveOneOut`. To choose parameters, prefer the default of
# :class:`~graphmargin.MaxMarginGraphCut`, lists of candidates, or members of an ensemble:
# :doc:`/selection` tells why. If you come from ``LabelPropagation`` or
# ``SelfTrainingClassifier``, see :doc:`/migration`.
