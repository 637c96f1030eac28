"""Transduction of the 20,000 letters from ten labels a class, beside scikit-learn.

`make bench` runs every system in processes of their own, in turns, with the same rows, labels and
threads, and prints the median wall time, CPU time, peak memory beyond what the process held
before the fit, and the error on the unlabeled rows. Ratios of wall times are to `graphmargin` with
the same number of neighbors, and to `graphmargin` with its default of five. Details go to
`out/letter_transduction.json`.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

LABELS_A_CLASS = 10
DEFAULT_NEIGHBORS = 5
RESULTS = Path("out/letter_transduction.json")


def _graphmargin(n_neighbors: int) -> Any:
    from graphmargin import HarmonicClassifier

    return HarmonicClassifier(n_neighbors=n_neighbors)


def _label_propagation(n_neighbors: int) -> Any:
    from sklearn.semi_supervised import LabelPropagation

    return LabelPropagation(kernel="knn", n_neighbors=n_neighbors)


def _label_spreading(n_neighbors: int) -> Any:
    from sklearn.semi_supervised import LabelSpreading

    return LabelSpreading(kernel="knn", n_neighbors=n_neighbors)


SYSTEMS: dict[str, Callable[[int], Any]] = {
    "graphmargin": _graphmargin,
    "LabelPropagation": _label_propagation,
    "LabelSpreading": _label_spreading,
}


def measure(system: str, n_neighbors: int, seed: int) -> dict[str, float]:
    """Fit one system in this process and return what it cost."""
    from graphmargin.datasets import load_letter, mask_labels

    warnings.simplefilter("ignore")  # LabelPropagation does not converge within 1,000 iterations
    X, letters = load_letter()
    y = np.unique(letters, return_inverse=True)[1]
    y_few = mask_labels(y, per_class=LABELS_A_CLASS, random_state=seed)
    hidden = y_few == -1
    model = SYSTEMS[system](n_neighbors)
    # Loading of libraries and compiled code is not part of the fit.
    small = np.random.default_rng(0).permutation(len(y))[:500]
    model.fit(X[small], np.where(np.arange(500) < 250, y[small], -1))
    before = resource.getrusage(resource.RUSAGE_SELF)
    start = time.perf_counter()
    model.fit(X, y_few)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "wall": wall,
        "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "memory": (after.ru_maxrss - before.ru_maxrss) / 1024,
        "error": float(np.mean(model.transduction_[hidden] != y[hidden])),
    }


def in_own_process(system: str, n_neighbors: int, seed: int) -> dict[str, float] | None:
    """Return the measurement of a fresh process, or None if it failed."""
    command = [sys.executable, __file__, "--worker", system, str(n_neighbors), str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        return None
    return json.loads(done.stdout)


def commit() -> str:
    """Return the commit of the working tree, or "unknown" outside a checkout."""
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "unknown"


def main() -> None:
    """Run all systems in turns and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--neighbors", type=int, nargs="+", default=[5, 7])
    parser.add_argument("--worker", nargs=3, metavar=("SYSTEM", "NEIGHBORS", "SEED"))
    arguments = parser.parse_args()
    if arguments.worker:
        system, n_neighbors, seed = arguments.worker
        print(json.dumps(measure(system, int(n_neighbors), int(seed))))
        return

    runs = [
        {"system": system, "neighbors": k, "seed": seed, "result": in_own_process(system, k, seed)}
        for seed in range(arguments.repeats)
        for k in arguments.neighbors
        for system in SYSTEMS
    ]
    report = {
        "problem": f"letter, 20,000 x 16, 26 classes, {LABELS_A_CLASS} labels a class",
        "commit": commit(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("graphmargin", "scikit-learn", "numpy")},
        "runs": runs,
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(report, indent=1))
    table(runs, arguments.neighbors)
    print(f"{report['problem']}; medians of {arguments.repeats} runs; details in {RESULTS}")


def table(runs: list[dict[str, Any]], neighbors: list[int]) -> None:
    """Print medians and ratios to graphmargin; a failure is a row too."""
    rows: dict[tuple[str, int], dict[str, float] | None] = {}
    for k in neighbors:
        for system in SYSTEMS:
            results = [
                run["result"] for run in runs if (run["system"], run["neighbors"]) == (system, k)
            ]
            rows[system, k] = None
            if None not in results:
                rows[system, k] = {
                    key: statistics.median(result[key] for result in results) for key in results[0]
                }
    print(f"{'':18}{'k':>3}{'wall s':>8}{'same k':>8}{'k = 5':>7}{'CPU s':>7}{'MB':>5}{'error':>8}")
    for (system, k), row in rows.items():
        if row is None:
            print(f"{system:18}{k:3}   failed")
            continue
        ratios = [
            f"{row['wall'] / base['wall']:.1f}x" if base else "-"
            for base in (rows["graphmargin", k], rows.get(("graphmargin", DEFAULT_NEIGHBORS)))
        ]
        print(
            f"{system:18}{k:3}{row['wall']:8.2f}{ratios[0]:>8}{ratios[1]:>7}"
            f"{row['cpu']:7.2f}{row['memory']:5.0f}{row['error']:8.1%}"
        )


if __name__ == "__main__":
    main()
