"""
Which rows to label next
========================

You can label a few more rows. This example shows the images that
:func:`~graphmargin.suggest_labels` suggests, and how the error falls when they are labeled,
round by round, beside a random choice of as many.
"""

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np

from graphmargin import harmonic_solution, knn_graph, suggest_labels
from graphmargin.datasets import load_digits, mask_labels

X, y_true = load_digits()
X, y_true = X[:2000], y_true[:2000]
W = knn_graph(X, n_neighbors=5)  # no label enters the graph, so once is enough
start = mask_labels(y_true, per_class=1, random_state=0)
print(f"{len(X):,} images, {np.sum(start >= 0)} labels")

# %%
# The suggestions
# ---------------
# A label helps most where the classes are undecided and many other rows depend on it.
# ``gain`` is the number of errors that a label is expected to save once those before it
# are given, and ``reasons`` says why in words. The suggestions are different digits,
# because further labels of the same digit would save less.

suggested = suggest_labels(harmonic_solution(W, start, gamma_g=0.1), 10)
print(suggested)

figure, axes = plt.subplots(2, 5, figsize=(8, 3.9), layout="constrained")
for ax, row, gain in zip(axes.flat, suggested.vertices, suggested.gain, strict=True):
    ax.imshow(X[row].reshape(8, 8), cmap="gray_r")
    ax.set_title(f"saves {gain:.0f} errors", fontsize="medium")
    ax.axis("off")
plt.show()

# %%
# Ten labels a round
# ------------------
# A person would now label these ten images and ask for more. Here the truth replaces the
# person. Random choice gets five attempts, because each of them depends on luck.

ROUNDS, BATCH = 5, 10


def at_random(solution, generator):
    """Return rows without a label, drawn at random."""
    unlabeled = np.flatnonzero(~solution.problem.labels.labeled)
    return generator.choice(unlabeled, BATCH, replace=False)


def errors_of(ask):
    """Return the error on the unlabeled rows before and after each round."""
    labels, errors = start.copy(), []
    for _ in range(ROUNDS + 1):
        solution = harmonic_solution(W, labels, gamma_g=0.1)
        hidden = labels == -1
        errors.append(100 * np.mean(solution.labels[hidden] != y_true[hidden]))
        asked = ask(solution)
        labels[asked] = y_true[asked]
    return errors


guided = errors_of(lambda solution: suggest_labels(solution, BATCH).vertices)
generators = [np.random.default_rng(seed) for seed in range(5)]
chance = [errors_of(lambda s, g=g: at_random(s, g)) for g in generators]

labels = 10 + BATCH * np.arange(ROUNDS + 1)
figure, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
ax.plot(labels, np.transpose(chance), color="0.8", lw=1)
ax.plot(labels, np.mean(chance, axis=0), "o-", color="0.45", label="random, mean of five")
ax.plot(labels, guided, "o-", color="#2a6fb0", label="suggested")
ax.set(xlabel="labels", ylabel="error on the others [%]", ylim=(0, None), xticks=labels)
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()

for n, ours, theirs in zip(labels, guided, np.mean(chance, axis=0), strict=True):
    print(f"{n} labels: {ours:4.1f} % suggested, {theirs:4.1f} % random")

# %%
# Summary
# -------
# Label in small batches, and ask again after each: later suggestions use the answers to
# earlier ones. Rows with the lowest confidence are a worse choice, because many of them
# stand only for themselves. On the command line this is ``graphmargin suggest``;
# :doc:`/command-line` has the measurements on three tables.
