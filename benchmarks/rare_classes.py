"""Rare classes: what class weights find, and what the estimates say about it.

Fits `MaxMarginGraphCut` with and without ``class_weight="balanced"`` to a table with 3 % rare rows,
with labels that were given by class (90 and 10), or drawn at random. Prints, for the rows without a
label, the number of rows that get the rare label, its recall and precision and the balanced
accuracy, each beside its estimate; then the mean confidence of these labels and the log loss.

The table is ISLP's Default, if the path of its Default.csv is given (of the package ISLP on PyPI),
else a synthetic one of as many rows.

``choice`` in place of the path compares, on six tables, the mean balanced accuracy if held-out
labels count by the weights of their classes when parameters are chosen, and if they count equally.

Five minutes, by `python -m benchmarks.rare_classes [Default.csv|choice]`.
"""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.metrics import balanced_accuracy_score
from sklearn.preprocessing import StandardScaler

from graphmargin import MaxMarginGraphCut
from graphmargin.confidence.thresholds import threshold_table
from graphmargin.labels import encode_labels
from graphmargin.margin.class_weights import class_weights
from graphmargin.methods import named_member
from graphmargin.search.data import TrainingData
from graphmargin.search.execution import Execution
from graphmargin.search.held_out import default_held_out
from graphmargin.search.search import fit, search
from graphmargin.search.weighing import choose

DRAWS = 10
CHOICE_DRAWS = 5
CHOICE_ROWS = 2500
LABELS: dict[str, tuple[int, ...] | int] = {
    "90 + 10 by class": (90, 10),
    "300 at random": 300,
    "1,000 at random": 1000,
}
HEADER = ("rows", "recall", "est.", "precision", "est.", "balanced", "est.", "conf.", "log loss")


def load_table(path: str | None) -> tuple[np.ndarray, np.ndarray]:
    """Return rows, and 1 for those of the rare class."""
    if path is None:
        rng = np.random.default_rng(0)
        rare = (rng.random(10_000) < 0.033).astype(int)
        X = rng.normal(size=(10_000, 3))
        X[:, 0] += 2.2 * rare
        X[:, 1] += 0.5 * rare
        return X, rare
    table = pd.read_csv(path)
    columns = [table["balance"], table["income"], table["student"] == "Yes"]
    X = np.column_stack(columns).astype(float)
    return StandardScaler().fit_transform(X), (table["default"] == "Yes").to_numpy().astype(int)


def draw_labels(rare: np.ndarray, n: tuple[int, ...] | int, seed: int) -> np.ndarray:
    """Return the given labels, -1 for all other rows."""
    rng = np.random.default_rng(seed)
    if isinstance(n, int):
        rows = rng.choice(len(rare), n, replace=False)
    else:
        rows = np.concatenate(
            [rng.choice(np.flatnonzero(rare == k), n[k], replace=False) for k in range(len(n))]
        )
    few = np.full(len(rare), -1)
    few[rows] = rare[rows]
    return few


def measure(model: MaxMarginGraphCut, few: np.ndarray, rare: np.ndarray) -> list[float]:
    """Return a number for each of `HEADER`."""
    hidden = few == -1
    truth, found = rare[hidden] == 1, model.transduction_[hidden] == 1
    p, estimate = model.label_distributions_[hidden, 1], model.accuracy_
    recall = found[truth].mean()
    return [
        found.sum(),
        recall,
        estimate.recall[1],
        truth[found].mean() if found.any() else np.nan,
        estimate.precision[1] if found.any() else np.nan,
        (recall + (~found)[~truth].mean()) / 2,
        estimate.balanced_accuracy,
        p[found].mean() if found.any() else np.nan,
        -np.log(np.where(truth, p, 1 - p)).mean(),
    ]


def true_and_expected(
    model: MaxMarginGraphCut, few: np.ndarray, rare: np.ndarray
) -> list[list[float]]:
    """Return rows, true and expected recall and precision of every threshold."""
    hidden = few == -1
    truth, P = rare[hidden] == 1, model.label_distributions_[hidden]
    lines = []
    for row in threshold_table(P, 1):
        found = P[:, 1] >= row.threshold
        precision = truth[found].mean() if found.any() else np.nan
        recall = found[truth].mean()
        lines.append([row.threshold, row.n_rows, recall, row.recall, precision, row.precision])
    return lines


def choice_tables() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return rows and class codes by name; the last class is rare."""
    digits, digit_labels = load_digits(return_X_y=True)
    cells, is_benign = load_breast_cancer(return_X_y=True)
    kept = np.concatenate([np.flatnonzero(is_benign == 1), np.flatnonzero(is_benign == 0)[:40]])
    options = {"n_samples": 3000, "n_redundant": 2, "random_state": 0}
    two = make_classification(n_features=10, n_informative=4, weights=[0.93], **options)
    three = make_classification(
        n_features=20, n_informative=5, n_classes=3, weights=[0.6, 0.3, 0.1], **options
    )
    data = {
        "like Default": load_table(None),
        "digit 8": (digits, digit_labels == 8),
        "digit 1": (digits, digit_labels == 1),
        "breast cancer": (cells[kept], is_benign[kept] == 0),
        "two classes": two,
        "three classes": three,
    }
    return {
        name: (StandardScaler().fit_transform(X), y.astype(int)) for name, (X, y) in data.items()
    }


def compare_choices() -> None:
    """Print the mean balanced accuracy without weights, and of both rules of the choice."""
    names = ("no weights", "equal", "weighted")
    print(f"{'':16}" + "".join(f"{name:>12}" for name in names))
    means = []
    for name, (X, codes) in choice_tables().items():
        lines = []
        for draw in range(CHOICE_DRAWS):
            rng = np.random.default_rng(draw)
            rows = rng.permutation(len(codes))[:CHOICE_ROWS]
            few = draw_labels(codes[rows], (90, 10) if codes.max() == 1 else (60, 30, 10), draw)
            lines.append(balanced_accuracies(X[rows], codes[rows], few))
        means.append(np.mean(lines, axis=0))
        print(f"{name:16}" + "".join(f"{value:12.3f}" for value in means[-1]), flush=True)
    print(f"{'mean':16}" + "".join(f"{value:12.3f}" for value in np.mean(means, axis=0)))


def balanced_accuracies(X: np.ndarray, codes: np.ndarray, few: np.ndarray) -> list[float]:
    """Return the balanced accuracy without weights, and with both rules of the choice."""
    labels, hidden = encode_labels(few), few == -1
    held_out, cut = default_held_out(labels, 0), named_member("cut", labels)
    plain = TrainingData(X, labels, held_out, Execution())
    counts = plain.label_counts
    weights = class_weights("balanced", labels.classes, counts)
    balanced = TrainingData(X, labels, held_out, Execution(), class_weight=weights)
    weighted = search(balanced, cut)
    # Held-out labels count equally in the choice alone; probabilities keep the weights.
    equal = replace(choose(weighted.trials, counts, member=cut), class_weight=weights)
    choices = [(plain, search(plain, cut)), (balanced, equal), (balanced, weighted)]
    return [
        balanced_accuracy_score(codes[hidden], fit(data, choice).codes[hidden])
        for data, choice in choices
    ]


def main() -> None:
    """Print the table of class weights, or that of rules of the choice."""
    if sys.argv[1:] == ["choice"]:
        compare_choices()
    else:
        compare_weights(sys.argv[1] if len(sys.argv) > 1 else None)


def compare_weights(path: str | None) -> None:
    """Print a line for each number of labels and class weight, means of the draws."""
    X, rare = load_table(path)
    print(f"{'':28}" + "".join(f"{name:>10}" for name in HEADER))
    thresholds = {}
    for labels, n in LABELS.items():
        for class_weight in (None, "balanced"):
            measured, at_thresholds = [], []
            for draw in range(DRAWS):
                few = draw_labels(rare, n, draw)
                model = MaxMarginGraphCut(class_weight=class_weight, random_state=0).fit(X, few)
                measured.append(measure(model, few, rare))
                at_thresholds.append(true_and_expected(model, few, rare))
            title = f"{labels}, {class_weight}"
            values = np.nanmean(measured, axis=0)
            print(f"{title:28}" + "".join(f"{value:10.3f}" for value in values), flush=True)
            thresholds[title] = np.nanmean(at_thresholds, axis=0)
    names = ("threshold", "rows", "recall", "expected", "precision", "expected")
    print(f"\n{'':28}" + "".join(f"{name:>10}" for name in names))
    for title, lines in thresholds.items():
        for line in lines:
            print(f"{title:28}" + "".join(f"{value:10.3f}" for value in line))


if __name__ == "__main__":
    main()
