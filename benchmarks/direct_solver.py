"""Elimination without subtractions beside SuperLU, on the graph of the 20,000 letters.

Prints the median wall time of five runs in turns (order, factor and solution of 26 classes), the
largest difference of the solutions, and both solutions on a triangle that is connected with two
labels by weights of 1e-20 and 2e-20 (right: one third and two thirds). Run by
`python -m benchmarks.direct_solver`.
"""

from __future__ import annotations

import statistics
import time

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from graphmargin.datasets import load_letter, mask_labels
from graphmargin.graph import knn_graph
from graphmargin.harmonic._solvers.elimination import eliminate, elimination_order
from graphmargin.harmonic.problem import HarmonicProblem, harmonic_problem

REPEATS = 5


def _elimination(problem: HarmonicProblem) -> np.ndarray:
    W, B = problem.inner_edges, problem.rates(0.0)
    return eliminate(W, B.sum(axis=1), elimination_order(W)).solve(B)


def _superlu(problem: HarmonicProblem) -> np.ndarray:
    W, B = problem.inner_edges, problem.rates(0.0)
    matrix = sparse.diags_array(W.sum(axis=1) + B.sum(axis=1)).tocsr() - W
    options = {"SymmetricMode": True}
    factor = splu(
        matrix.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options
    )
    return factor.solve(B)


SYSTEMS = {"elimination": _elimination, "SuperLU": _superlu}


def main() -> None:
    """Time both solvers, then show the weak triangle."""
    X, y = load_letter()
    y_few = mask_labels(y, per_class=10, random_state=0)
    for k in (5, 7, 10):
        problem = harmonic_problem(knn_graph(X, k), y_few)
        times: dict[str, list[float]] = {system: [] for system in SYSTEMS}
        solutions = {system: solve(problem) for system, solve in SYSTEMS.items()}
        for _ in range(REPEATS):
            for system, solve in SYSTEMS.items():
                start = time.perf_counter()
                solve(problem)
                times[system].append(time.perf_counter() - start)
        ours, theirs = (statistics.median(times[system]) for system in SYSTEMS)
        difference = np.abs(solutions["elimination"] - solutions["SuperLU"]).max()
        print(
            f"letter, k = {k:2}: elimination {ours:.2f} s, SuperLU {theirs:.2f} s "
            f"({theirs / ours:.1f}x), difference {difference:.0e}"
        )
    W = np.zeros((5, 5))
    W[0, 1] = W[0, 2] = W[1, 2] = 1.0
    W[0, 3], W[1, 4] = 1e-20, 2e-20
    problem = harmonic_problem(W + W.T, [-1, -1, -1, 0, 1])
    for system, solve in SYSTEMS.items():
        try:
            answer = solve(problem)[0].tolist()
        except RuntimeError as error:
            answer = str(error)
        print(f"triangle on weights of 1e-20: {system} {answer}")


if __name__ == "__main__":
    main()
