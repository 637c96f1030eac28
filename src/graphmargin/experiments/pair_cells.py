"""Cells of the paper's UCI experiments: a pair, a share of labels, a kernel, and all methods."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from threadpoolctl import threadpool_limits

from graphmargin._checks import check_choice, check_integer
from graphmargin._typing import Progress
from graphmargin.experiments.pair_methods import PAIR_METHODS, PairMethods
from graphmargin.experiments.pair_splits import LABELINGS, TABLES, class_pairs, split_pair
from graphmargin.experiments.running import attempt, run_cells

PERCENT = (1, 2, 5, 10)
KERNELS = ("linear", "cubic", "rbf")

PairCell: TypeAlias = tuple[str, str, int, str, int, str]
"""Table, pair, percent, labeling, draw, kernel."""


@dataclass(frozen=True)
class PairRecord:
    """What one method did in one cell.

    Attributes
    ----------
    table, pair, percent, labels, draw, kernel, method
        Which one it is.
    test_error : float or None
        Share of wrong predictions on the test rows; None is a failure.
    seconds : float
        Wall time of choosing and fitting, or until it failed.
    failure : str
        What the exception said, in one line.
    """

    table: str
    pair: str
    percent: int
    labels: str
    draw: int
    kernel: str
    method: str
    test_error: float | None
    seconds: float
    failure: str = ""

    @property
    def cell(self) -> PairCell:
        """Which rows, labels and kernel."""
        return self.table, self.pair, self.percent, self.labels, self.draw, self.kernel

    @property
    def title(self) -> str:
        """The cell in words."""
        return f"{self.table} {self.pair}, {self.percent} %, {self.kernel}, draw {self.draw}"


def run_pair_cell(cell: PairCell, methods: PairMethods) -> list[PairRecord]:
    """Return a record for every method, all of them with the same rows and labels.

    All kernels have the same rows and labels as well. A method that fails is a record.

    Examples
    --------
    >>> from graphmargin.experiments.pair_methods import paper_svm
    >>> cell = ("digits", "0-1", 5, "random", 0, "linear")
    >>> run_pair_cell(cell, {"SVM": paper_svm})[0].test_error < 0.05
    True
    """
    table, pair, percent, labeling, draw, kernel = cell
    split = split_pair(table, pair, percent, draw, labeling)
    rows = split.X, split.y, split.X_validation, split.y_validation

    def error(model: Any) -> float:
        return float(np.mean(model.predict(split.X_test) != split.y_test))

    with threadpool_limits(limits=1):
        return [
            PairRecord(
                *(*cell, name),
                *attempt(partial(method, kernel, *rows, split.seed), error),
            )
            for name, method in methods.items()
        ]


def run_pairs(
    tables: Sequence[str] = TABLES,
    percent: Sequence[int] = PERCENT,
    kernels: Sequence[str] = KERNELS,
    draws: int = 1,
    *,
    labels: str = "random",
    n_jobs: int = 1,
    out: str | Path | None = None,
    methods: PairMethods = PAIR_METHODS,
    progress: Progress | None = None,
) -> list[PairRecord]:
    """Return the records of all pairs, ordered by table, percent, kernel, pair, draw and method.

    Parameters
    ----------
    tables : sequence of {"letter", "digits", "image"}, default=all
    percent : sequence of {1, 2, 5, 10}, default=all
        Shares of the training rows that are labeled; as many validation rows are.
    kernels : sequence of {"linear", "cubic", "rbf"}, default=all
    draws : int, default=1
        For each of which rows and labels are drawn anew.
    labels : {"random", "balanced"}, default="random"
        See `split_pair`.
    n_jobs, out, progress
        As in `run` of the other experiment.
    methods : mapping, default=PAIR_METHODS
        From names to functions as in `pair_methods`.

    Examples
    --------
    >>> from graphmargin.experiments.pair_methods import paper_svm
    >>> records = run_pairs(["image"], [1], ["linear"], methods={"SVM": paper_svm})
    >>> len(records), records[0].pair
    (15, 'brickface-cement')
    """
    _check_grid(tables, percent, kernels, draws, labels)
    # All tables are seen early: the first draw of all comes before the second of any.
    cells = [
        (table, pair, share, labels, draw, kernel)
        for draw, share, table in itertools.product(range(draws), percent, tables)
        for pair, kernel in itertools.product(class_pairs(table), kernels)
    ]
    known = run_cells(
        PairRecord, cells, methods, run_pair_cell, n_jobs=n_jobs, out=out, progress=progress
    )
    return [
        known[table, pair, share, labels, draw, kernel, method]
        for table, share, kernel in itertools.product(tables, percent, kernels)
        for pair, draw, method in itertools.product(class_pairs(table), range(draws), methods)
    ]


def _check_grid(
    tables: Sequence[str], percent: Sequence[int], kernels: Sequence[str], draws: int, labels: str
) -> None:
    for table in tables:
        check_choice("tables", table, TABLES)
    for kernel in kernels:
        check_choice("kernels", kernel, KERNELS)
    check_choice("labels", labels, LABELINGS)
    check_integer("draws", draws, low=1)
    for share in percent:
        if share not in PERCENT:
            msg = f"`percent` must be one of {', '.join(map(str, PERCENT))}, got {share!r}"
            raise ValueError(msg)
