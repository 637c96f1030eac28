"""Rare classes: what class weights find, and what the estimates say about it.

Fits `MaxMarginGraphCut` with and without ``class_weight="balanced"`` to a table with 3 % rare rows,
with labels that were given by class (90 and 10), or drawn at random. Prints, for the rows without a
label, the number of rows that get the rare label, its recall and precision and the balanced
accuracy, each beside its estimate; then the mean confidence of these labels and the log loss.

The table is ISLP's Default, if the path of its Default.csv is given (of the package ISLP on PyPI),
else a synthetic one of as many rows.

Five minutes, by `python -m benchmarks.rare_classes [Default.csv]`.
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
from sklearn.preprocessing import StandardScaler

from graphmargin import MaxMarginGraphCut
from graphmargin.selection import threshold_table

DRAWS = 10
LABELS: dict[str, tuple[int, int] | int] = {
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


def draw_labels(rare: np.ndarray, n: tuple[int, int] | int, seed: int) -> np.ndarray:
    """Return the given labels, -1 for all other rows."""
    rng = np.random.default_rng(seed)
    if isinstance(n, int):
        rows = rng.choice(len(rare), n, replace=False)
    else:
        rows = np.concatenate(
            [rng.choice(np.flatnonzero(rare == k), n[k], replace=False) for k in (0, 1)]
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


def main() -> None:
    """Print a line for each number of labels and class weight, means of the draws."""
    X, rare = load_table(sys.argv[1] if len(sys.argv) > 1 else None)
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
