"""
Embeddings: cosine in place of Euclidean distance
=================================================

A network has turned your texts, images or molecules into vectors. The direction of such an
embedding often says *what* a thing is, and its length says something else. This example
shows how a graph by Euclidean distance treats embeddings, what ``metric="cosine"`` changes,
and how many dimensions are needed.

No network ships with scikit-learn, so the vectors come from a latent semantic analysis of
its docstrings. Vectors of any network are used in the same way: an array with a row for
each item.
"""

import importlib
import inspect

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

from graphmargin import HarmonicClassifier, MaxMarginGraphCut, knn_graph
from graphmargin.datasets import mask_labels

MODULES = ["cluster", "datasets", "ensemble", "linear_model", "metrics", "preprocessing"]

texts, y_true = [], []
for module in MODULES:
    package = importlib.import_module(f"sklearn.{module}")
    functions = [getattr(package, name) for name in package.__all__]
    functions = [function for function in functions if callable(function)]
    texts += [inspect.getdoc(function).replace(module, " ") for function in functions]
    y_true += [module] * len(functions)
y_true = np.array(y_true)

counts = CountVectorizer(stop_words="english", min_df=2).fit_transform(texts)
logs = counts.astype(np.float32).log1p()
E = TruncatedSVD(100, random_state=0).fit_transform(logs)  # the embedding
print(f"{E.shape[0]} texts as {E.dtype} vectors of {E.shape[1]} dimensions")

# %%
# The length of a vector
# ----------------------
# Long texts have long vectors. By Euclidean distance, the neighbor of a text is one of a
# similar length; by angle, it is one with similar words. The better graph for labels has
# the larger share of edges that join two texts of the same module.


def agreement(metric):
    """Return the share of the edges whose ends have the same class."""
    i, j = knn_graph(E, n_neighbors=10, metric=metric).nonzero()
    return np.mean(y_true[i] == y_true[j])


words = np.asarray(counts.sum(axis=1)).ravel()
lengths = np.linalg.norm(E, axis=1)
metrics = {"euclidean": "#d9822b", "cosine": "#2a6fb0"}

figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.6), layout="constrained")
left.plot(words, lengths, ".", color="0.4", alpha=0.6)
left.set(xlabel="words in the text", ylabel="length of its vector")
left.set_title("the length tells how much is said")
shares = [100 * agreement(metric) for metric in metrics]
right.bar(list(metrics), shares, color=metrics.values(), width=0.55)
chance = 100 * np.mean(y_true[:, None] == y_true)
right.axhline(chance, color="black", linestyle=":")
right.text(0.5, chance, "by chance", ha="center", va="bottom")
right.set(ylabel="edges within a class [%]", ylim=(0, 100))
right.set_title("the angle tells about what")
for ax in (left, right):
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# How many dimensions?
# --------------------
# The first dimensions hold what most texts have in common. More dimensions improve the
# angles and worsen the distances, because every dimension adds its share of the length.

sizes, draws = [5, 10, 20, 50, 100], range(5)
figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
for metric, color in metrics.items():
    model, errors = HarmonicClassifier(metric=metric, n_neighbors=10), []
    for size in sizes:
        for draw in draws:
            labels = mask_labels(y_true, per_class=3, random_state=draw)
            model.fit(E[:, :size], labels)
            hidden = labels == ""
            errors.append(100 * np.mean(model.transduction_[hidden] != y_true[hidden]))
    errors = np.reshape(errors, (len(sizes), -1))
    ax.semilogx(sizes, errors.mean(axis=1), "o-", color=color, label=metric)
    ax.semilogx(sizes, errors, ".", color=color, alpha=0.35)
ax.set(xlabel="dimensions of the embedding", ylabel="error, 3 labels a class [%]")
ax.set_xticks(sizes, sizes)
ax.minorticks_off()
ax.set(ylim=(0, None))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()

# %%
# Labels for new vectors
# ----------------------
# ``metric`` is that of the graph. The kernel of the classifier uses rows as they are.
# Give it rows of unit length, so that it compares angles as well. Single precision stays
# single precision: an embedding is not copied to twice its size.

U = normalize(E)
new = np.arange(len(U)) % 5 == 0
cut = MaxMarginGraphCut(metric="cosine", n_neighbors=10, gamma_g=0.1, C=10.0)
cut.fit(U[~new], mask_labels(y_true[~new], per_class=3, random_state=0))
print(f"rows of {U.dtype}; {new.sum()} new texts")
print(f"error on them: {np.mean(cut.predict(U[new]) != y_true[new]):.1%}")

# %%
# Summary
# -------
# For embeddings, use ``metric="cosine"``, and rows of unit length for a
# :class:`~graphmargin.MaxMarginGraphCut`. If you do not know which metric is right, let
# held-out labels decide: a classifier with each metric is a member of an ensemble, as one
# for each number of neighbors is in
# :ref:`sphx_glr_gallery_trust_plot_scikit_learn_tools.py`. On the command line, a column
# with lists of numbers is an embedding: :doc:`/command-line`.
