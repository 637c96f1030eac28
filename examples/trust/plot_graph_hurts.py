"""
When the graph hurts, and how to know
=====================================

Unlabeled rows help if classes form clusters, which is not so in every table. This example
has a real problem on which a fixed trust in the graph doubles the error, and one on which
the same setting lowers it. It shows how to distinguish the two if the truth is not known.
"""

import matplotlib.pyplot as plt
import numpy as np

from graphmargin import MaxMarginGraphCut
from graphmargin.datasets import load_digits, load_letter, mask_labels

# %%
# Two problems
# ------------
# *Letters*: the classes are H and K. 16 counts and moments describe an image. Many rows
# of H have a row of K as a neighbor, although a smooth function separates the two. We
# picked this pair because the graph hurts. On most of the pairs of letters and small
# tables that we tried, the graph changes the error by a few points, in either direction.
#
# *Digits*: the classes are odd and even. The rows are pixels, and neighbors are mostly
# the same digit.

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
# In practice you do not know the truth, but you have labels. ``graph_report`` says what
# they show about the graph of the letters, and what to do:

rows, truth = problems["letters, H or K"]
few = mask_labels(truth, fraction=40 / 600, random_state=0)
print(models["graph, blindly"].fit(rows, few).graph_report())

# %%
# These are its lines:
#
# *graph, components*
#   They say how many neighbors a row has, and whether labels reach every row.
# *edges between labeled points*
#   Labels that are neighbors should agree more often than by chance. With few such
#   edges this is weak evidence.
# *one label held out at a time*
#   The graph predicts each label from the others. Compare its errors with those that you
#   would expect of a classifier, not with zero.
# *confidence*
#   A large share in the sink is not an error: the sink keeps labels from traveling far.
# *class shares*
#   This line would show a class that absorbs the other one.
# *verdict*
#   It is "not compared" because ``gamma_g`` was fixed, so no label was held out.
#
# The default model tests whether the graph helps. It holds out labels and predicts them
# with candidates with a graph and without one:

for name, (rows, truth) in problems.items():
    few = mask_labels(truth, fraction=40 / 600, random_state=0)
    report = models["default"].fit(rows, few).graph_report()
    print(f"{name}: {report.verdict}\n  {report.choice.reason}")

# %%
# Summary
# -------
# A fixed ``gamma_g`` is an assumption about your table. Leave it at its default, print
# ``graph_report()``, and read the verdict first. With few labels it may be wrong, or
# undecided; then both are averaged. :doc:`/when-the-graph-hurts` has more tables and the
# signs to look for, :doc:`/selection` the rule, and :doc:`/evidence` what it reaches.
