"""The neighbor search beside other programs, and beside that of another checkout.

`python -m benchmarks.neighbor_search` compares exact searches on letter and digits with those of
scikit-learn and SciPy. It prints the median wall time of five runs in turns, and the share of rows
whose k-th distance is the same as ours.

`python -m benchmarks.neighbor_search ../other-checkout` compares approximate searches at the same
measured recall. Both checkouts are asked for several recalls, in turns, in processes of their own
with one thread. The recall that was reached is measured on 1,000 rows, and CPU seconds are
interpolated between the runs.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from sklearn.neighbors import NearestNeighbors

from benchmarks.measure import ROOT, THREAD_POOLS
from benchmarks.problems import mixture, unit_vectors
from benchmarks.report import plain
from graphmargin.datasets import load_digits, load_letter
from graphmargin.graph._search.neighbors import nearest_neighbors

N_NEIGHBORS = 5
REPEATS = 5
ASKED = (0.9, 0.94, 0.96, 0.98, 0.99)
COMPARED = (0.95, 0.99)
N_QUERIES = 1000


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


def _normal(n: int, d: int, dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, d)).astype(dtype)


def _decaying_spectrum(n: int, d: int) -> np.ndarray:
    """Return unit vectors around 300 centers, with a spectrum like that of text embeddings."""
    random, scales = np.random.default_rng(0), np.arange(1, d + 1) ** -0.6
    X = random.normal(size=(n, d)) + random.normal(size=(300, d))[random.integers(300, size=n)]
    X *= scales
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)


def _copies(n: int, d: int, n_copies: int) -> np.ndarray:
    return np.repeat(_normal(n // n_copies, d), n_copies, axis=0)


def _separate_clusters(n: int, d: int, n_clusters: int) -> np.ndarray:
    random = np.random.default_rng(0)
    centers = 100 * random.normal(size=(n_clusters, d))
    return centers[random.integers(n_clusters, size=n)] + random.normal(size=(n, d))


TABLES: dict[str, Callable[[], np.ndarray]] = {
    "mixture, 1e5 x 64": lambda: mixture(0, 100_000).X,
    "unit vectors, 1e5 x 384": lambda: unit_vectors(0).X[:100_000],
    "mixture, 1e6 x 64": lambda: mixture(0, 1_000_000).X,
    "mixture, 1e5 x 16": lambda: mixture(0, 100_000, 16).X,
    "decaying spectrum, 1e5 x 256": lambda: _decaying_spectrum(100_000, 256),
    "normal, 1e5 x 2": lambda: _normal(100_000, 2, np.float64),
    "normal, 1e5 x 8": lambda: _normal(100_000, 8, np.float64),
    "normal, 3e4 x 100": lambda: _normal(30_000, 100),
    "copies, 1e5 x 16": lambda: _copies(100_000, 16, 4),
    "separate clusters, 1e5 x 32": lambda: _separate_clusters(100_000, 32, 500),
    "letter, 2e4 x 16": lambda: load_letter()[0],
    "normal, 3e3 x 20": lambda: _normal(3_000, 20),
}


def compare_exact() -> None:
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


def kth_distances(X: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the distance of the k-th neighbor of some rows, by comparison with all rows."""
    kth = np.empty(len(rows))
    offset = X.mean(axis=0)
    centered = X - offset
    norms = np.einsum("nd,nd->n", centered, centered)
    for i, row in enumerate(rows):
        squared = norms - 2 * (centered @ centered[row])
        squared[row] = np.inf
        near = np.argpartition(squared, 2 * N_NEIGHBORS)[: 2 * N_NEIGHBORS]
        gaps = X[near].astype(np.float64) - X[row].astype(np.float64)
        kth[i] = np.sort(np.sqrt(np.square(gaps).sum(axis=1)))[N_NEIGHBORS - 1]
    return kth


def measure_searches(table: Path, asked: list[float]) -> list[dict[str, float]]:
    """Return CPU seconds and measured recall of a search for each recall that is asked for."""
    arrays = np.load(table)
    X, rows, kth = arrays["X"], arrays["rows"], arrays["kth"]
    for recall in (0.5, 0.95):  # loads the compiled code
        nearest_neighbors(X[:20_000], N_NEIGHBORS, recall=recall, random_state=0)
    results = []
    for recall in asked:
        start = time.process_time()
        neighbors = nearest_neighbors(X, N_NEIGHBORS, recall=recall, random_state=0)
        seconds = time.process_time() - start
        found = neighbors.distances[rows] <= kth[:, None] * (1 + 1e-6)
        results.append(
            {"cpu": seconds, "recall": float(found.mean()), "reported": float(neighbors.recall)}
        )
    return results


def seconds_at(results: list[dict[str, float]], recall: float) -> float:
    """Return the CPU seconds at a measured recall, linear in the logarithm of the misses."""
    by_recall = sorted(results, key=lambda result: result["recall"])
    misses = [-np.log(max(1 - result["recall"], 1e-6)) for result in by_recall]
    return float(np.interp(-np.log(1 - recall), misses, [result["cpu"] for result in by_recall]))


def compare_checkouts(other: Path, names: list[str], repeats: int) -> list[list[str]]:
    """Return the table of CPU seconds in this checkout and in another one, at equal recall."""
    table = [["table", "recall", "other, CPU s", "here, CPU s", "other / here"]]
    settings = {f"{pool}_NUM_THREADS": "1" for pool in THREAD_POOLS}
    for name in names:
        X = TABLES[name]()
        rows = np.sort(np.random.default_rng(1).choice(len(X), N_QUERIES, replace=False))
        sides: dict[Path, list[dict[str, float]]] = {other: [], ROOT: []}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "table.npz"
            np.savez(path, X=X, rows=rows, kth=kth_distances(X, rows))
            for _ in range(repeats):
                for root in sides:
                    paths = os.pathsep.join([str(root / "src"), str(ROOT)])
                    command = [sys.executable, "-m", "benchmarks.neighbor_search", "--table", path]
                    done = subprocess.run(
                        command,
                        env=os.environ | settings | {"PYTHONPATH": paths},
                        cwd=ROOT,
                        check=True,
                        stdout=subprocess.PIPE,
                        text=True,
                    )
                    sides[root] += json.loads(done.stdout)
        for recall in COMPARED:
            before, after = (seconds_at(sides[root], recall) for root in (other, ROOT))
            ratio = f"{before / after:.2f}"
            table.append([name, f"{recall:.2f}", f"{before:.2f}", f"{after:.2f}", ratio])
        sys.stderr.write(f"{name}: {table[-2:]}\n")
    return table


def main() -> None:
    """Compare exact searches, or approximate ones with another checkout."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.neighbor_search", description=__doc__
    )
    parser.add_argument("other", type=Path, nargs="?", help="root of another checkout")
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=TABLES)
    parser.add_argument("--repeats", type=int, default=1, help="runs of each side (1)")
    parser.add_argument("--table", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.table:
        print(json.dumps(measure_searches(given.table, list(ASKED))))
    elif given.other:
        print(plain(compare_checkouts(given.other.resolve(), given.tables, given.repeats)))
    else:
        compare_exact()


if __name__ == "__main__":
    main()
