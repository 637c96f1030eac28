"""Exact nearest neighbors beside scikit-learn and SciPy, on letter and digits.

Prints the median wall time of five runs in turns, and the share of rows whose k-th distance is
the same as ours. Run by `python -m benchmarks.neighbor_search`.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np
from scipy.spatial import cKDTree
from sklearn.neighbors import NearestNeighbors

from graphmargin.datasets import load_digits, load_letter
from graphmargin.graph.neighbors import nearest_neighbors

N_NEIGHBORS = 5
REPEATS = 5


def _graphmargin(X: np.ndarray) -> np.ndarray:
    return nearest_neighbors(X, N_NEIGHBORS, recall=1.0).distances


def _brute(X: np.ndarray) -> np.ndarray:
    return NearestNeighbors(n_neighbors=N_NEIGHBORS, algorithm="brute").fit(X).kneighbors()[0]


def _kd_tree(X: np.ndarray) -> np.ndarray:
    return NearestNeighbors(n_neighbors=N_NEIGHBORS, algorithm="kd_tree").fit(X).kneighbors()[0]


def _scipy(X: np.ndarray) -> np.ndarray:
    return cKDTree(X).query(X, N_NEIGHBORS + 1, workers=-1)[0][:, 1:]


SYSTEMS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "graphmargin": _graphmargin,
    "scikit-learn, brute force": _brute,
    "scikit-learn, kd-tree": _kd_tree,
    "SciPy, cKDTree": _scipy,
}


def main() -> None:
    """Time all systems on both tables."""
    for name, load in {"letter": load_letter, "digits": load_digits}.items():
        X = load()[0]
        exact = _graphmargin(X)  # also loads the compiled code
        times: dict[str, list[float]] = {system: [] for system in SYSTEMS}
        same: dict[str, float] = {}
        for _ in range(REPEATS):
            for system, search in SYSTEMS.items():
                start = time.perf_counter()
                distances = search(X)
                times[system].append(time.perf_counter() - start)
                same[system] = np.isclose(distances[:, -1], exact[:, -1], rtol=1e-5).mean()
        base = statistics.median(times["graphmargin"])
        print(f"{name}: {X.shape[0]:,} x {X.shape[1]}, k = {N_NEIGHBORS}")
        for system, runs in times.items():
            middle = statistics.median(runs)
            print(f"  {system:26}{middle:7.2f} s{middle / base:7.1f}x{same[system]:9.1%} the same")


if __name__ == "__main__":
    main()
