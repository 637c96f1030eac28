"""Scores that find flipped labels, at several gamma_g: the evidence for `label_suspicion`.

Labels a share of the rows, flips 5 % and 10 % of these labels, and prints how well scores rank the
flipped ones first: the area under the ROC curve in percent, as the mean of both shares, of two
draws (one where all rows are labeled) and, for two classes, of six pairs. Columns:

- 0 to 1: `label_suspicion` for four gamma_g; all that follow have gamma_g = 0.01;
- 1 - own: one minus the share of the given class in the class mass; gap: mass of the best other
  class minus that of the given one; no sink: their ratio without the sink;
- soft: `label_suspicion` with weight 1 of all labels; 2nd look: with weight 1 - suspicion;
- SVC: without a graph, from out-of-fold decision values of an SVM with C = 1 and 10.

About two minutes, by `python -m benchmarks.label_suspicion`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from graphmargin.datasets import load_digits, load_letter, load_segmentation, mask_labels
from graphmargin.graph import knn_graph
from graphmargin.harmonic import harmonic_solution, label_suspicion, leave_one_out

GAMMAS = (0.0, 0.01, 0.1, 1.0)
GAMMA = 0.01
CS = (1.0, 10.0)
LABELED = (0.05, 0.1, 0.2, 1.0)
FLIPPED = (0.05, 0.1)
PAIRS = 6
DRAWS = 2


def problems() -> Iterator[tuple[str, list[tuple[np.ndarray, np.ndarray]]]]:
    """Yield a name and tables of rows and class codes: pairs of classes, then all classes."""
    patches, shows = load_segmentation()
    segmentation = StandardScaler().fit_transform(patches), shows
    for name, (X, y), n_rows in (
        ("digits", load_digits(), 3000),
        ("letter", load_letter(), 6000),
        ("segmentation", segmentation, None),
    ):
        classes = np.unique(y)
        pairs = list(pairwise(classes) if name == "letter" else combinations(classes, 2))
        chosen = np.random.default_rng(0).permutation(len(pairs))[:PAIRS]
        rows = [np.isin(y, pairs[i]) for i in chosen]
        yield f"{name}, pairs", [(X[keep], _codes(y[keep])) for keep in rows]
        yield f"{name}, all", [(X[:n_rows], _codes(y[:n_rows]))]


def main() -> None:
    """Print a line for each problem and share of labels, then the means of all lines."""
    lines: list[dict[str, float]] = []
    for name, tables in problems():
        graphs = [knn_graph(X) for X, _ in tables]
        for labeled in LABELED:
            results = [
                areas(X, W, *flip_labels(y, labeled, flipped, seed))
                for (X, y), W in zip(tables, graphs, strict=True)
                for flipped in FLIPPED
                for seed in range(DRAWS if labeled < 1 else 1)
            ]
            line = {column: np.mean([area[column] for area in results]) for column in results[0]}
            if not lines:
                print(" " * 26 + "".join(f"{column:>9}" for column in line))
            lines.append(line)
            _print_line(f"{name}, {labeled:.0%}", line)
    _print_line("mean", {column: np.mean([line[column] for line in lines]) for column in lines[0]})


def flip_labels(
    y: np.ndarray, labeled: float, flipped: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return codes with few labels (-1: none), and which of the labels are wrong."""
    rng = np.random.default_rng(seed)
    few = mask_labels(y, fraction=labeled, random_state=seed)
    rows = np.flatnonzero(few >= 0)
    wrong = np.zeros(len(rows), dtype=bool)
    wrong[rng.permutation(len(rows))[: max(1, round(flipped * len(rows)))]] = True
    n_classes = y.max() + 1
    few[rows[wrong]] += rng.integers(1, n_classes, wrong.sum())
    return np.where(few >= 0, few % n_classes, few), wrong


def areas(X: np.ndarray, W: np.ndarray, few: np.ndarray, wrong: np.ndarray) -> dict[str, float]:
    """Return the area under the ROC curve of every score."""
    scores = {
        f"{gamma_g:g}": label_suspicion(harmonic_solution(W, few, gamma_g=gamma_g)).suspicion
        for gamma_g in GAMMAS
    }
    scores |= other_scores(W, few)
    scores["soft"] = _soft_suspicion(W, few, np.where(few >= 0, 1.0, 0.0))
    trust = np.zeros(len(few))
    trust[few >= 0] = 1 - scores[f"{GAMMA:g}"]
    scores["2nd look"] = _soft_suspicion(W, few, trust)
    for C in CS:
        scores[f"SVC {C:g}"] = svc_suspicion(X[few >= 0], few[few >= 0], C)
    return {column: float(roc_auc_score(wrong, score)) for column, score in scores.items()}


def other_scores(W: np.ndarray, few: np.ndarray) -> dict[str, np.ndarray]:
    """Return the scores that were not chosen, from the same leave-one-out masses."""
    left_out = leave_one_out(harmonic_solution(W, few, gamma_g=GAMMA))
    given_mass, other_mass = given_and_best_other(left_out.class_mass, left_out.given, empty=0.0)
    total = left_out.class_mass.sum(axis=1)
    return {
        "1 - own": np.where(total > 0, 1 - given_mass / np.where(total > 0, total, 1), 0.5),
        "gap": other_mass - given_mass,
        "no sink": np.where(
            total > 0, other_mass / np.where(total > 0, given_mass + other_mass, 1), 0.5
        ),
    }


def given_and_best_other(
    values: np.ndarray, given: np.ndarray, *, empty: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the value of the given class and the largest of the others in every row."""
    rows = np.arange(len(given))
    given_values, others = values[rows, given], values.copy()
    others[rows, given] = empty
    return given_values, others.max(axis=1)


def svc_suspicion(X: np.ndarray, given: np.ndarray, C: float) -> np.ndarray:
    """Return by how much machines that were trained without a label prefer another one."""
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    values = cross_val_predict(SVC(C=C), X, given, cv=folds, method="decision_function")
    if values.ndim == 1:
        values = np.column_stack([-values, values])
    given_values, other_values = given_and_best_other(values, _codes(given), empty=-np.inf)
    return other_values - given_values


def _soft_suspicion(W: np.ndarray, few: np.ndarray, trust: np.ndarray) -> np.ndarray:
    solution = harmonic_solution(W, few, gamma_g=GAMMA, c_labeled=trust)
    return label_suspicion(solution).suspicion


def _codes(y: np.ndarray) -> np.ndarray:
    return np.unique(y, return_inverse=True)[1]


def _print_line(name: str, line: dict[str, float]) -> None:
    print(f"{name:26}" + "".join(f"{100 * area:9.1f}" for area in line.values()), flush=True)


if __name__ == "__main__":
    main()
