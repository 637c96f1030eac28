"""The time of a grid whose machines share a kernel matrix and start at each other.

The grid of the paper's cut, fit by fit, beside scikit-learn's SVC on the same induced labels. Both
sides are given the graph, solve for all gamma_g at once and decide for the test rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from graphmargin._progress import report_stage
from graphmargin._typing import FloatArray
from graphmargin.harmonic import harmonic_path
from graphmargin.margin.induced import induced_labels
from reproduction.options import RunOptions
from reproduction.pairs.methods import EPS, GAMMA_G, KernelWork, PairWork, cut
from reproduction.pairs.splits import TABLES, class_pairs, split_pair
from reproduction.published import KERNELS

PERCENT = 5
REPEATS = 5
"""Number of runs, of which the fastest counts."""


@dataclass(frozen=True)
class SpeedRecord:
    """The time of one grid, ours and that of machines which are fit one by one.

    Attributes
    ----------
    table, pair, kernel : str
    n_rows : int
        Training rows.
    n_fits : int
        Candidates of the grid.
    seconds, naive_seconds : float
        Wall time of all candidates on one thread, the least of five.
    agreement : float
        Share of equal decisions on the test rows, over all candidates.
    """

    table: str
    pair: str
    kernel: str
    n_rows: int
    n_fits: int
    seconds: float
    naive_seconds: float
    agreement: float

    @property
    def ratio(self) -> float:
        """The ratio of the time that the machines take one by one."""
        return self.naive_seconds / self.seconds


def run_speed(options: RunOptions) -> list[SpeedRecord]:
    """Return the times for pairs of every table, three or one, with 5 % of labels."""
    records = []
    with report_stage("times of the grids", options.verbose):
        for table in TABLES:
            pairs = class_pairs(table)
            for pair in pairs[:1] if options.quick else pairs[:: len(pairs) // 3 + 1]:
                work = PairWork(split_pair(table, pair, PERCENT, draw=0))
                records += [_measure(table, pair, work, kernel) for kernel in KERNELS]
    return records


def _measure(table: str, pair: str, work: PairWork, kernel: str) -> SpeedRecord:
    _ = work.W  # both sides are given the graph
    with threadpool_limits(limits=1):
        ours, seconds = fastest(lambda: cut(KernelWork(work, kernel)).f_test)
        naive, naive_seconds = fastest(lambda: _one_by_one(KernelWork(work, kernel)))
    return SpeedRecord(
        *(table, pair, kernel, len(work.split.X), len(ours), seconds, naive_seconds),
        agreement=float(((ours > 0) == (naive > 0)).mean()),
    )


def fastest(fit: Callable[[], FloatArray]) -> tuple[FloatArray, float]:
    """Return the result of a function, and the seconds of the fastest of several runs."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        result = fit()
        times.append(time.perf_counter() - start)
    return result, min(times)


def _one_by_one(work: KernelWork) -> FloatArray:
    """Return the decisions on test rows of cuts that SVC fits, each on its own."""
    pair, split = work.pair, work.pair.split
    X, X_test = (rows / work.kernel.width for rows in (split.X, split.X_test))
    decisions = []
    for solution in harmonic_path(pair.W, split.y, GAMMA_G, n_jobs=1):
        induced = induced_labels(solution, eps=EPS, loss_weights="equal")
        for C in pair.Cs:
            machine = SVC(
                C=C,
                kernel=work.kernel.kind,
                gamma=0.5 if work.kernel.kind == "rbf" else 1.0,
                degree=3,
                coef0=1.0,
            )
            machine.fit(X[induced.mask], induced.codes[induced.mask])
            decisions.append(machine.decision_function(X_test))
    return np.array(decisions)
