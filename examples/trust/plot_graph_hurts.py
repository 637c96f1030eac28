"""
When the graph hurts, and how to know
=====================================

Unlabeled rows help where classes form clusters. Not every table is like that. This example
has a real problem on which a graph that is trusted blindly doubles the error, and one on
which the same setting lowers it. It shows what distinguishes the two when the truth is not
known.
"""

import matplotlib.pyplot as plt
import numpy as np

from graphmargin import MaxMarginGraphCut
from graphmargin.datasets import load_digits, load_letter, mask_labels

# %%
# Two problems
# ------------
# *Letters*: H or K? 16 counts and moments describe an image. By these, many an H has a K as
# its neighbor, though a smooth function tells them apart. This pair was picked because the
# graph hurts: of the pairs of letters and the small tables that were tried, on most it
# changes the error by a few points, in either direction.
# *Digits*: odd or even? Here the rows are pixels, and neighbors are the same digit.

X, letters = load_letter()
h_or_k = np.flatnonzero(np.isin(letters, ["H", "K"]))[:600]
images, digits = load_digits()
problems = {
    "letters, H or K": (X[h_or_k], letters[h_or_k]),
    "digits, odd or even": (images[:600], np.where(digits[:600] % 2, "odd", "even")),
}

# %%
# Three ways to use 40 labels
# ---------------------------
# ``gamma_g=inf`` is supervised learning, ``gamma_g=0.1`` trusts the graph whatever the
# labels say, and the default holds out labels to find out. Each dot is a draw of labels.

models = {
    "supervised": MaxMarginGraphCut(n_neighbors=7, gamma_g=np.inf, C=10.0),
    "graph, blindly": MaxMarginGraphCut(n_neighbors=7, gamma_g=0.1, C=10.0),
    "default": MaxMarginGraphCut(n_neighbors=7),
}
colors = ["0.45", "#d9822b", "#2a6fb0"]
figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.6), layout="constrained")
for ax, (title, (rows, truth)) in zip(axes, problems.items(), strict=True):
    for place, model in enumerate(models.values()):
        errors = []
        for draw in range(3):
            few = mask_labels(truth, fraction=40 / len(truth), random_state=draw)
            hidden = few == ""
            wrong = model.fit(rows, few).transduction_[hidden] != truth[hidden]
            errors.append(100 * wrong.mean())
        ax.plot(np.full(3, place), errors, "o", color=colors[place], alpha=0.4)
        ax.plot(place, np.mean(errors), "_", color=colors[place], ms=34, mew=3)
    ax.set_xticks(range(3), models)
    ax.set(title=title, ylim=(0, None), xlim=(-0.6, 2.6))
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("error [%]")
plt.show()

# %%
# The report
# ----------
# You have no truth to compare with, but you have labels. ``graph_report`` tells what they
# say about the graph of the letters, and what to do:

rows, truth = problems["letters, H or K"]
few = mask_labels(truth, fraction=40 / 600, random_state=0)
print(models["graph, blindly"].fit(rows, few).graph_report())

# %%
# Line by line:
#
# *graph, components*
#   How many neighbors a row has, and whether labels reach every row.
# *edges between labeled points*
#   Labels that are neighbors should agree more often than by chance. With few such
#   edges this is a hint, no more.
# *one label held out at a time*
#   How often the other labels get it wrong along the graph. Compare this with the error
#   that you would expect of a classifier, not with zero.
# *confidence*
#   A large sink is no problem in itself: it limits how far labels are propagated.
# *class shares*
#   A class with far too many induced labels would show here.
# *verdict*
#   "Not compared", as ``gamma_g`` was fixed: no candidate without a graph was tried.
#
# The default model tests it. It holds out labels and predicts them with candidates with a
# graph and without one:

for name, (rows, truth) in problems.items():
    few = mask_labels(truth, fraction=40 / 600, random_state=0)
    report = models["default"].fit(rows, few).graph_report()
    print(f"{name}: {report.verdict}\n  {report.choice.reason}")

# %%
# Take away
# ---------
# A fixed ``gamma_g`` is an assumption about your table. Leave it at its default, print
# ``graph_report()``, and read the verdict first. With few labels it may be wrong, or
# undecided; then both are averaged. :doc:`/when-the-graph-hurts` has more tables and the
# signs to look for, :doc:`/selection` the rule, and :doc:`/evidence` what it reaches.
