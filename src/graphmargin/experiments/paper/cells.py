"""Cells of the paper's UCI experiments: a pair of classes, a share of labels, and all methods."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from threadpoolctl import threadpool_limits

from graphmargin.experiments.paper.choosing import choose_of_grid
from graphmargin.experiments.paper.methods import (
    HARMONIC,
    METHODS,
    NO_KERNEL,
    Candidates,
    KernelWork,
    Method,
    PairWork,
)
from graphmargin.experiments.paper.published import KERNELS, PERCENT
from graphmargin.experiments.paper.settings import Settings
from graphmargin.experiments.paper.splits import FEATURES, TABLES, class_pairs, split_pair
from graphmargin.experiments.running import attempt, run_cells

PairCell: TypeAlias = tuple[str, str, int, int, str, str, str]
"""Table, pair, percent, draw, labels, features, products."""
KernelMethod: TypeAlias = tuple[str, str]
"""Kernel and method."""

SCALED, PLAIN = "scaled", "plain"
"""Linear and cubic kernels of x.z / (K sigma^2), or of x.z."""
KEPT = "pairs.csv"
"""File of the finished cells, of all experiments on pairs."""
FAILED: dict[str, Any] = {
    **dict.fromkeys(("first", "last", "softest", "expected", "averaged", "oracle", "validation")),
    **dict.fromkeys(("n_best", "n_candidates"), 0),
    **dict.fromkeys(("C", "strength")),
}
QUICK_STEP = 3
"""A quick run takes every third pair."""


@dataclass(frozen=True)
class PairRecord:
    """What one method did with one kernel in one cell.

    Attributes
    ----------
    table, pair, percent, draw, labels, features, products, kernel, method
        Which one it is; kernel is "none" for the harmonic solution.
    first, last, softest, expected, averaged, oracle : float or None
        Shares of wrong predictions on the test rows, by the way to treat ties, see `Chosen`; None
        is a failure.
    validation : float or None
        Share of wrong predictions on the validation rows.
    n_best : int
        Candidates with this validation error.
    n_candidates : int
        Size of the grid.
    C, strength : float or None
        Parameters of the first of the best, see `Candidates`.
    seconds : float
        Wall time of all candidates, without what methods share.
    failure : str
        What the exception said, in one line.
    """

    table: str
    pair: str
    percent: int
    draw: int
    labels: str
    features: str
    products: str
    kernel: str
    method: str
    first: float | None
    last: float | None
    softest: float | None
    expected: float | None
    averaged: float | None
    oracle: float | None
    validation: float | None
    n_best: int
    n_candidates: int
    C: float | None
    strength: float | None
    seconds: float
    failure: str = ""

    @property
    def cell(self) -> PairCell:
        """Which rows and labels."""
        return (
            *(self.table, self.pair, self.percent, self.draw),
            *(self.labels, self.features, self.products),
        )

    @property
    def part(self) -> KernelMethod:
        """Which kernel and method."""
        return self.kernel, self.method

    @property
    def title(self) -> str:
        """The cell in words."""
        return f"{self.table} {self.pair}, {self.percent} %, draw {self.draw}"


def run_pair_cell(cell: PairCell, methods: Mapping[KernelMethod, Method]) -> list[PairRecord]:
    """Return a record for every kernel and method, all of them with the same rows and labels.

    A method that fails is a record.

    Examples
    --------
    >>> from graphmargin.experiments.paper.methods import svm
    >>> cell = ("digits", "0-1", 5, 0, "random", "raw", "scaled")
    >>> run_pair_cell(cell, {("linear", "SVM"): svm})[0].first < 0.05
    True
    """
    table, pair, percent, draw, labels, features, products = cell
    split = split_pair(table, pair, percent, draw, labels, features)
    shared = PairWork(split)
    scaled = products == SCALED
    works = {
        kernel: KernelWork(shared, "linear" if kernel == NO_KERNEL else kernel, scaled=scaled)
        for kernel, _ in methods
    }

    def outcome(found: Candidates) -> dict[str, Any]:
        chosen = choose_of_grid(found.f_validation, split.y_validation, found.f_test, split.y_test)
        values = asdict(chosen)
        number = values.pop("number")
        return values | {
            "n_candidates": len(found.C),
            "C": _or_none(found.C[number]),
            "strength": _or_none(found.strength[number]),
        }

    records = []
    with threadpool_limits(limits=1):
        for (kernel, name), method in methods.items():
            values, seconds, failure = attempt(partial(method, works[kernel]), outcome)
            known = values or FAILED
            records.append(
                PairRecord(*cell, kernel, name, **known, seconds=seconds, failure=failure)
            )
    return records


def run_pairs(
    settings: Settings,
    methods: Mapping[KernelMethod, Method],
    cells: Iterable[PairCell],
) -> list[PairRecord]:
    """Return the records of the methods in all cells; finished ones are kept in a file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from graphmargin.experiments.paper.methods import svm
    >>> cells = [("digits", "0-1", 5, draw, "random", "raw", "scaled") for draw in range(2)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     records = run_pairs(Settings(Path(folder), n_jobs=1), {("rbf", "SVM"): svm}, cells)
    >>> [record.draw for record in records]
    [0, 1]
    """
    cells = list(cells)
    known = run_cells(
        *(PairRecord, cells, methods, run_pair_cell),
        n_jobs=settings.n_jobs,
        out=settings.folder / KEPT,
        progress=settings.progress,
    )
    return [known[(*cell, part)] for cell in cells for part in methods]


def pair_cells(
    settings: Settings,
    draws: int,
    *,
    labels: str = "random",
    features: str | None = None,
    products: str = SCALED,
    quick_step: int = QUICK_STEP,
) -> list[PairCell]:
    """Return the cells of all tables, pairs and shares of labels, in the order of the draws.

    A quick run has every third pair, or other `quick_step`. `features` are those of `FEATURES` by
    default.

    Examples
    --------
    >>> from pathlib import Path
    >>> len(pair_cells(Settings(Path("out")), draws=10)) == (25 + 45 + 21) * 4 * 10
    True
    """
    # All tables are seen early: the first draw of all comes before the second of any.
    return [
        (table, pair, percent, draw, labels, features or FEATURES[table], products)
        for draw, percent, table in itertools.product(range(draws), PERCENT, TABLES)
        for pair in class_pairs(table)[:: quick_step if settings.quick else 1]
    ]


def with_kernels(
    names: Iterable[str], kernels: Sequence[str] = KERNELS
) -> dict[KernelMethod, Method]:
    """Return methods with every kernel, the harmonic solution once.

    Examples
    --------
    >>> list(with_kernels(["SVM", "harmonic"], ["linear", "rbf"]))
    [('linear', 'SVM'), ('rbf', 'SVM'), ('none', 'harmonic')]
    """
    pairs = [
        (kernel, name)
        for name in names
        for kernel in ([NO_KERNEL] if name == HARMONIC else kernels)
    ]
    return {(kernel, name): METHODS[name] for kernel, name in pairs}


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
