"""
Text: three labels a class sort a library's docstrings
======================================================

You have many texts and read only a few of them. Here the texts are the docstrings of
scikit-learn, and the class of a text is its module. Three labels a module are given. This
example shows how many of the other texts get the right module, which labels an induced
label comes from, and which texts to check by hand.
"""

# sphinx_gallery_thumbnail_number = 2
import importlib
import inspect
import re

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from graphmargin import MaxMarginGraphCut, SupervisedSVC
from graphmargin.datasets import mask_labels

MODULES = [
    "cluster",
    "covariance",
    "datasets",
    "decomposition",
    "ensemble",
    "feature_selection",
    "linear_model",
    "metrics",
    "neighbors",
    "preprocessing",
]

# %%
# Text without the names of the classes
# -------------------------------------
# Examples import the module that is to be predicted, and references name it. Such lines,
# dotted names and the names of the modules are removed, so that prose remains.

PATTERN = rf"^ *(>>>|\.\.\.).*|\S*sklearn\S*|\b({'|'.join(MODULES)})\b"
CLUES = re.compile(PATTERN, re.MULTILINE)
texts, names, module_of = [], [], []
for module in MODULES:
    package = importlib.import_module(f"sklearn.{module}")
    public = [name for name in package.__all__ if callable(getattr(package, name))]
    texts += [CLUES.sub(" ", inspect.getdoc(getattr(package, name))) for name in public]
    names += public
    module_of += [module] * len(public)
names, module_of = np.array(names), np.array(module_of)

words = TfidfVectorizer(
    stop_words="english",
    token_pattern="[A-Za-z]{3,}",
    sublinear_tf=True,
    min_df=2,
    max_df=0.5,
)
X = words.fit_transform(texts)
print(f"{X.shape[0]} texts, {X.shape[1]:,} words, {len(MODULES)} modules; X is {X.format}")

# %%
# Labels travel from text to similar text
# ---------------------------------------
# The sparse matrix is used as it is. ``metric="cosine"`` joins texts by the angle between
# their rows, and ``""`` is unlabeled. Four draws of labels show how much depends on
# chance:


def error(model, labels):
    hidden = labels == ""
    return np.mean(model.fit(X, labels).predict(X[hidden]) != module_of[hidden])


cut = MaxMarginGraphCut(metric="cosine", n_neighbors=10, gamma_g=0.1, C=10.0)
sizes, draws = [1, 3, 8], range(4)
models = {"supervised SVM": SupervisedSVC(C=10.0), "max-margin graph cut": cut}
labelings = [[mask_labels(module_of, per_class=n, random_state=i) for i in draws] for n in sizes]

figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
for (name, model), color in zip(models.items(), ["0.45", "#2a6fb0"], strict=True):
    errors = 100 * np.array([[error(model, few) for few in group] for group in labelings])
    ax.plot(sizes, errors.mean(axis=1), "o-", color=color, label=name)
    ax.plot(sizes, errors, ".", color=color, alpha=0.35)
ax.set(xlabel="labeled texts in each module", ylabel="error on the others [%]")
ax.set(xticks=sizes, ylim=(0, None))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()

# %%
# Why does this text have its label?
# ----------------------------------
# A walk starts at the text and moves to similar ones until it meets a label or falls into
# the sink. ``explain`` tells how often it ends at which label. The example ``DBSCAN`` is
# hard: it belongs to the module ``cluster``, and its text is about neighborhoods.

labels = mask_labels(module_of, per_class=3, random_state=0)
row = int(np.flatnonzero(names == "DBSCAN")[0])
labels[row] = ""  # it may be among the labeled ones
cut.fit(X, labels)
why = cut.harmonic_solution_.explain(row)
top = slice(6, None, -1)

figure, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
colors = np.where(why.source_labels == why.label, "#2a6fb0", "0.7")
ax.barh(names[why.sources[top]], 100 * why.shares[top], color=colors[top])
for place, label in enumerate(why.source_labels[top]):
    ax.text(100 * why.shares[top][place], place, f" {label}", va="center")
ax.set(xlabel="walks that end at this labeled text [%]")
ax.set_title(f"{names[row]} is given to {why.label}, truth: {module_of[row]}", loc="left")
ax.spines[["top", "right"]].set_visible(False)
ax.margins(x=0.3)
plt.show()

# %%
# Which texts to check by hand
# ----------------------------
# ``confidence_`` ranks the texts. Most errors are among the least certain ones.

hidden = np.flatnonzero(labels == "")
order = hidden[np.argsort(cut.confidence_[hidden])]
for title, rows in {"most certain": order[:-6:-1], "least certain": order[:5]}.items():
    print(f"{title:34}{'label':19}truth")
    for i in rows:
        print(f"  {names[i]:32}{cut.transduction_[i]:19}{module_of[i]}")
wrong = cut.transduction_ != module_of
half = len(order) // 2
print(f"error, less certain half: {wrong[order[:half]].mean():.0%}")
print(f"error, more certain half: {wrong[order[half:]].mean():.0%}")

# %%
# Summary
# -------
# TF-IDF rows need no preparation: pass the sparse matrix and ``metric="cosine"``. With
# few labels the graph finds what the texts have in common; with many, the SVM catches up.
# The default parameters of :class:`~graphmargin.MaxMarginGraphCut` test whether the graph
# helps on your texts: see :doc:`/selection`. For dense embeddings of texts, see
# :ref:`sphx_glr_gallery_data_plot_embeddings.py`; for a table with a column of text, see
# :ref:`sphx_glr_gallery_data_plot_mixed_table.py`.
