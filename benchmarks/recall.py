"""The error of induced labels against the recall of the neighbor search.

Graphs of five tables are built with several recalls and with exact neighbors. For each draw of
labels, the error with an approximate graph is compared with that of the exact graph. Prints the
mean differences in points, with standard errors over the draws. Run by
`python -m benchmarks.recall`; about half an hour.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from benchmarks.problems import Problem, letter, mixture, sheets, unit_vectors
from benchmarks.report import plain
from graphmargin import HarmonicClassifier, MaxMarginGraphCut
from graphmargin.datasets import mask_labels
from graphmargin.graph import knn_graph

RECALLS = (0.9, 0.95, 0.97, 0.99, 0.995, 1.0)
DRAWS = {"harmonic solution": 6, "max-margin graph cut": 3}
GAMMA_G, C = 0.1, 10.0


def _first_rows(problem: Problem, n: int) -> Problem:
    return Problem(problem.X[:n], problem.y[:n], problem.y_few[:n], metric=problem.metric)


TABLES: dict[str, Callable[[], Problem]] = {
    "letter, 20,000 x 16": lambda: letter(0),
    "mixture, 100,000 x 16": lambda: mixture(0, 100_000, 16),
    "mixture, 100,000 x 64": lambda: mixture(0, 100_000),
    "unit vectors, 50,000 x 384": lambda: _first_rows(unit_vectors(0), 50_000),
    "sheets, 100,000 x 15": lambda: _first_rows(sheets(0), 100_000),
}


def errors(problem: Problem, draw: int) -> dict[str, list[float]]:
    """Return the errors on unlabeled rows of both classifiers, for every recall.

    Draws have ten labels a class, other cells and other samples.
    """
    y_few = mask_labels(problem.y, per_class=10, random_state=draw)
    hidden = y_few == -1
    result: dict[str, list[float]] = {system: [] for system in DRAWS}
    for recall in RECALLS:
        W = knn_graph(problem.X, metric=problem.metric, recall=recall, random_state=draw)
        harmonic = HarmonicClassifier(gamma_g=GAMMA_G, affinity="precomputed").fit(W, y_few)
        labels = {"harmonic solution": harmonic.transduction_}
        if draw < DRAWS["max-margin graph cut"]:
            cut = MaxMarginGraphCut(gamma_g=GAMMA_G, C=C, random_state=0)
            labels["max-margin graph cut"] = cut.fit(problem.X, y_few, W).transduction_
        for system, found in labels.items():
            result[system].append(float(np.mean(found[hidden] != problem.y[hidden])))
    return result


def difference_table(errors_of: dict[tuple[str, str], np.ndarray]) -> list[list[str]]:
    """Return mean differences to the exact graph, in points, for rows of errors by recall."""
    table = [["table", "classifier", "exact"] + [f"recall {recall}" for recall in RECALLS[:-1]]]
    for (name, system), by_draw in errors_of.items():
        differences = 100 * (by_draw[:, :-1] - by_draw[:, -1:])
        means = differences.mean(axis=0)
        spreads = differences.std(axis=0, ddof=1) / np.sqrt(len(differences))
        cells = [f"{mean:+.2f} ± {spread:.2f}" for mean, spread in zip(means, spreads, strict=True)]
        table.append([name, system, f"{by_draw[:, -1].mean():.2%}", *cells])
    return table


def main() -> None:
    """Print the differences for every table, when it is done."""
    warnings.simplefilter("ignore")  # rows that no label reaches are expected with ten labels
    for name, make in TABLES.items():
        problem = make()
        draws = [errors(problem, draw) for draw in range(max(DRAWS.values()))]
        by_system = {
            (name, system): np.array([draw[system] for draw in draws if draw[system]])
            for system in DRAWS
        }
        print(plain(difference_table(by_system)), flush=True)


if __name__ == "__main__":
    main()
