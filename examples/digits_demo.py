"""Label 5,620 handwritten digits from five labels a class, in four ways, and draw the results.

Run by `make demo`. Prints a table of errors and times, and saves `out/digits_demo.png`.
"""

from __future__ import annotations

import time
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt
from sklearn.decomposition import PCA

from graphmargin import HarmonicClassifier, MaxMarginGraphCut, harmonic_path
from graphmargin.datasets import load_digits, mask_labels

LABELS_A_CLASS = 5
PICTURE = Path("out/digits_demo.png")
PAPER = {"gamma_g": 0.1, "C": 10.0, "loss_weights": "equal"}
NEW_ROWS = 1000
"""Rows that no model sees in training."""


def main() -> None:
    """Fit the four models, print the table, save the picture."""
    X, y = load_digits()
    shuffled = np.random.default_rng(0).permutation(len(y))
    new, seen = shuffled[:NEW_ROWS], shuffled[NEW_ROWS:]
    y_few = mask_labels(y[seen], per_class=LABELS_A_CLASS, random_state=0)
    hidden = y_few == -1
    print(f"{len(seen):,} digits, {np.sum(~hidden)} of them labeled; {NEW_ROWS:,} new ones")
    print(f"{'':24}{'error, unlabeled':>18}{'error, new':>12}{'seconds':>9}")

    # The first call in a fresh environment compiles the solvers; it is not timed.
    few = np.where(np.arange(200) < 100, y[seen[:200]], -1)
    for parameters in (PAPER, {}):
        MaxMarginGraphCut(**parameters).fit(X[seen[:200]], few)
    models = {
        "supervised SVM": MaxMarginGraphCut(**{**PAPER, "gamma_g": np.inf}),
        "harmonic solution": HarmonicClassifier(),
        "max-margin graph cut": MaxMarginGraphCut(**PAPER),
        "cut, chosen parameters": MaxMarginGraphCut(random_state=0),
    }
    for name, model in models.items():
        start = time.perf_counter()
        model.fit(X[seen], y_few)
        seconds = time.perf_counter() - start
        wrong = np.mean(model.transduction_[hidden] != y[seen][hidden])
        wrong_new = np.mean(model.predict(X[new]) != y[new])
        print(f"{name:24}{wrong:18.1%}{wrong_new:12.1%}{seconds:9.2f}")

    print(f"verdict: {models['cut, chosen parameters'].graph_report().verdict}")
    PICTURE.parent.mkdir(exist_ok=True)
    draw(X[seen], y[seen], y_few, models["max-margin graph cut"]).savefig(PICTURE, dpi=120)
    print(f"picture: {PICTURE}")


def draw(X: np.ndarray, y: np.ndarray, y_few: np.ndarray, model: MaxMarginGraphCut) -> plt.Figure:
    """Return a map of the labels, the path of gamma_g and the least certain digits."""
    figure = plt.figure(figsize=(13, 5.2), layout="constrained")
    left, middle, right = figure.subfigures(1, 3, width_ratios=[1.25, 1.0, 1.0])
    _map(left, X, y_few, model)
    _path(middle, y, y_few, model)
    _gallery(right, X, y, y_few, model)
    return figure


def _map(figure: mpl.figure.SubFigure, X: np.ndarray, y_few: np.ndarray, model) -> None:
    axes = figure.subplots()
    positions = PCA(2, random_state=0).fit_transform(X)
    strength = np.clip(model.confidence_ / np.quantile(model.confidence_, 0.8), 0.05, 1.0)
    order = np.argsort(strength)
    colors = plt.get_cmap("tab10")(model.transduction_)
    colors[:, 3] = strength
    axes.scatter(*positions[order].T, c=colors[order], s=7, linewidths=0)
    for digit in model.classes_:
        labeled = y_few == digit
        axes.scatter(
            *positions[labeled].T,
            marker=f"${digit}$",
            s=110,
            color=plt.get_cmap("tab10")(digit),
            edgecolors="black",
            linewidths=0.6,
        )
    axes.set(xticks=[], yticks=[], xlabel="first two principal components")
    axes.set_title(f"{np.sum(y_few >= 0)} labels (numerals) color {len(X):,} digits")


def _path(figure: mpl.figure.SubFigure, y: np.ndarray, y_few: np.ndarray, model) -> None:
    axes = figure.subplots()
    hidden = y_few == -1
    gammas = np.logspace(-4, 3, 15)
    path = harmonic_path(model.graph_, y_few, gammas)
    error = [100 * np.mean(solution.codes[hidden] != y[hidden]) for solution in path]
    confidence = [np.median(solution.confidence[hidden]) for solution in path]
    axes.semilogx(gammas, error, "o-", color="tab:blue")
    axes.axvline(model.gamma_g, color="gray", linestyle=":", label="of the cut")
    axes.set(xlabel=r"$\gamma_g$, rate of the sink", ylim=(0, None))
    axes.set_ylabel("error of the induced labels [%]", color="tab:blue")
    axes.legend(loc="upper center", frameon=False)
    twin = axes.twinx()
    twin.loglog(gammas, confidence, "s--", color="tab:orange")
    twin.set_ylabel("median confidence", color="tab:orange")
    axes.set_title("more sink: less confidence")


def _gallery(
    figure: mpl.figure.SubFigure, X: np.ndarray, y: np.ndarray, y_few: np.ndarray, model
) -> None:
    figure.suptitle("least certain: label of the cut (truth)", fontsize="large")
    hidden = np.flatnonzero(y_few == -1)
    least = hidden[np.argsort(model.confidence_[hidden])[:20]]
    for axes, row in zip(figure.subplots(5, 4).flat, least, strict=True):
        axes.imshow(X[row].reshape(8, 8), cmap="gray_r")
        right = model.transduction_[row] == y[row]
        axes.set_title(
            f"{model.transduction_[row]} ({y[row]})",
            color="tab:green" if right else "tab:red",
            fontsize="medium",
        )
        axes.axis("off")


if __name__ == "__main__":
    main()
