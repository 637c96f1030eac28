"""
How far may labels travel? The path of gamma_g
==============================================

One number matters more than all others: ``gamma_g``, the rate of the sink. Small values
trust the graph, and infinity is supervised learning. This example shows what changes along
its path, on a problem where the graph helps and on one where it hurts. It also shows how
``gamma_g="auto"``, the default, tells them apart from the few labels.
"""

import matplotlib.pyplot as plt
import numpy as np

from graphmargin import MaxMarginGraphCut, SupervisedSVC, harmonic_path
from graphmargin.datasets import load_digits, load_letter, mask_labels
from graphmargin.plotting import GammaPathDisplay

digits, numerals = load_digits()
letters, names = load_letter()
pair = np.isin(names, ["E", "F"])
problems = {
    "digits, 5 labels a class": (digits[:1000], numerals[:1000].astype(str), 5),
    "E or F, 10 labels a class": (letters[pair], names[pair], 10),
}

# %%
# Scores on held-out labels
# -------------------------
# ``MaxMarginGraphCut()`` holds out labels, fold by fold, and predicts them with all
# candidates. Blue is the share that is predicted right; green is the same for the graph
# alone, on the same labels. Gray bars are weights in the blend. For the digits, small
# values have most of the weight; for the letters, supervised learning has most of it.

models, labels = {}, {}
figure, axes = plt.subplots(1, 2, figsize=(9, 4.6), layout="constrained")
for ax, (title, (X, y_true, per_class)) in zip(axes, problems.items(), strict=True):
    labels[title] = y = mask_labels(y_true, per_class=per_class, random_state=0)
    models[title] = MaxMarginGraphCut(random_state=0).fit(X, y)
    GammaPathDisplay.from_estimator(models[title]).plot(ax)
    ax.set_title(title)
    ax.get_legend().remove()
    print(f"{title}: {models[title].graph_report().verdict}")
figure.suptitle("what held-out labels say about gamma_g")
handles = ax.get_legend_handles_labels()
figure.legend(*handles, loc="outside lower center", ncols=2, frameon=False)
plt.show()

# %%
# Errors on the unlabeled rows
# ----------------------------
# Here the truth is known, and the errors on the unlabeled rows can be drawn. The line is
# the harmonic solution along :func:`~graphmargin.harmonic_path`. The cut is close to the
# better of graph and supervised learning, and it has seen none of these errors.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
gammas = np.logspace(-3, 2, 11)
for ax, (title, (X, y_true, _)) in zip(axes, problems.items(), strict=True):
    y, cut = labels[title], models[title]
    hidden = y == ""
    path = harmonic_path(cut.graph_, y, gammas)
    errors = [np.mean(solution.labels[hidden] != y_true[hidden]) for solution in path]
    supervised = SupervisedSVC(C="auto").fit(X, y).predict(X)
    ax.semilogx(gammas, errors, "o-", color="#23934a", label="harmonic solution")
    for name, predicted, color in [
        ("supervised SVM", supervised, "#d9730d"),
        ("cut, auto", cut.transduction_, "#2f6bdb"),
    ]:
        ax.axhline(np.mean(predicted[hidden] != y_true[hidden]), color=color, label=name)
    ax.set(title=title, xlabel=r"$\gamma_g$", ylabel="error, unlabeled rows", ylim=0)
    ax.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
axes[0].legend(frameon=False)
figure.suptitle("true errors along the path of gamma_g")
plt.show()

# %%
# The weights of the candidates
# -----------------------------
# ``fit`` does not pick a single candidate. It blends all credible candidates, and
# ``choice_`` has their weights.

for title, cut in models.items():
    choice = cut.choice_
    print(f"{title}: {choice.error:.0%} of the held-out labels wrong")
    for candidate in np.argsort(-choice.weights)[:3]:
        chosen, weight = choice.trials.params[candidate], choice.weights[candidate]
        print(f"{weight:6.0%}  gamma_g = {chosen['gamma_g']:<6.3g}C = {chosen['C']:.3g}")

# %%
# Along the path, walks end in the sink
# -------------------------------------
# Labels often stay the same while their confidence falls. Compare confidences only for
# one ``gamma_g``.

cut = models["digits, 5 labels a class"]
y = labels["digits, 5 labels a class"]
print(f"{'gamma_g':>8}{'walks that sink':>18}{'median confidence':>20}{'same label':>12}")
path = harmonic_path(cut.graph_, y, [0.001, 0.01, 0.1, 1, 10])
for solution in path:
    same = np.mean(solution.codes == path[0].codes)
    sunk, median = solution.sink_mass.mean(), np.median(solution.confidence)
    print(f"{solution.gamma_g:8g}{sunk:18.0%}{median:20.3f}{same:12.0%}")

# %%
# Summary
# -------
# Leave ``gamma_g`` to the model unless you know that your classes are clusters. Ten
# labels can be misleading, so the blend keeps several candidates. :doc:`Choosing
# parameters </selection>` has the rule, and :doc:`Evidence </evidence>` how often it
# errs. :meth:`~graphmargin.MaxMarginGraphCut.graph_report` puts the verdict in words.
