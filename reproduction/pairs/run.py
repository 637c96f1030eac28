"""All methods on draws of pairs of classes, with few labels."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, ClassVar, TypeAlias

import numpy as np
from threadpoolctl import threadpool_limits

from reproduction.options import RunOptions
from reproduction.pairs.choice import choose_of_grid
from reproduction.pairs.methods import (
    HARMONIC,
    METHODS,
    NO_KERNEL,
    Candidates,
    KernelWork,
    Method,
    PairWork,
)
from reproduction.pairs.splits import FEATURES, TABLES, class_pairs, split_pair
from reproduction.published import KERNELS, PERCENT
from reproduction.records import Record
from reproduction.runner import run_settings, time_fit

PairSetting: TypeAlias = tuple[str, str, int, int, str, str, str]
"""Table, pair, percent, draw, labels, features, products."""
KernelMethod: TypeAlias = tuple[str, str]
"""Kernel and method."""

SCALED, PLAIN = "scaled", "plain"
"""Linear and cubic kernels of x.z / (K sigma^2), or of x.z."""
FINISHED = "pairs"
"""Name of the file of finished settings, which all experiments on pairs share."""
FAILED: dict[str, Any] = {
    **dict.fromkeys(("first", "last", "softest", "expected", "averaged", "oracle", "validation")),
    **dict.fromkeys(("n_best", "n_candidates"), 0),
    **dict.fromkeys(("C", "strength")),
}
QUICK_STEP = 3
"""A quick run takes every third pair."""


@dataclass(frozen=True)
class PairRecord(Record):
    """The errors of one method with one kernel on one draw of a pair.

    Attributes
    ----------
    table, pair, percent, draw, labels, features, products, kernel, method
        Which one it is; kernel is "none" for the harmonic solution.
    first, last, softest, expected, averaged, oracle : float or None
        Shares of wrong predictions on the test rows, by the way to treat ties, see `GridChoice`;
        None is a failure.
    validation : float or None
        Share of wrong predictions on the validation rows.
    n_best : int
        Number of candidates with this validation error.
    n_candidates : int
        Size of the grid.
    C, strength : float or None
        Parameters of the first of the best, see `Candidates`.
    seconds : float
        Wall time of all candidates, without what methods share.
    failure : str
        Text of the exception in one line.
    """

    setting_fields: ClassVar = (
        *("table", "pair", "percent", "draw"),
        *("labels", "features", "products"),
    )
    part_fields: ClassVar = ("kernel", "method")

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


def run_pair_setting(
    setting: PairSetting, methods: Mapping[KernelMethod, Method]
) -> list[PairRecord]:
    """Return a record for every kernel and method, all of them with the same rows and labels.

    A method that fails is a record.
    """
    table, pair, percent, draw, labels, features, products = setting
    split = split_pair(table, pair, percent, draw, labels, features)
    shared = PairWork(split)
    scaled = products == SCALED
    works = {
        kernel: KernelWork(shared, "linear" if kernel == NO_KERNEL else kernel, scaled=scaled)
        for kernel, _ in methods
    }

    def outcome(grid: Candidates) -> dict[str, Any]:
        choice = choose_of_grid(
            grid.f_validation, split.y_validation, grid.f_test, split.y_test, grid.units
        )
        values = asdict(choice)
        number = values.pop("number")
        return values | {
            "n_candidates": len(grid.C),
            "C": _or_none(grid.C[number]),
            "strength": _or_none(grid.strength[number]),
        }

    records = []
    with threadpool_limits(limits=1):
        for (kernel, name), method in methods.items():
            values, seconds, failure = time_fit(partial(method, works[kernel]), outcome)
            results = values or FAILED
            records.append(
                PairRecord(*setting, kernel, name, **results, seconds=seconds, failure=failure)
            )
    return records


def run_pairs(
    options: RunOptions,
    methods: Mapping[KernelMethod, Method],
    settings: Sequence[PairSetting],
    stage: str,
) -> list[PairRecord]:
    """Return the records of the methods in all settings; finished ones are kept in a file."""
    return run_settings(
        *(PairRecord, settings, methods, run_pair_setting),
        out=options.finished(FINISHED),
        n_jobs=options.n_jobs,
        stage=stage,
        verbose=options.verbose,
    )


def pair_settings(
    options: RunOptions,
    draws: int,
    *,
    labels: str = "random",
    features: str | None = None,
    products: str = SCALED,
    quick_step: int = QUICK_STEP,
) -> list[PairSetting]:
    """Return the settings of all tables, pairs and shares of labels, in the order of the draws.

    A quick run has every third pair, or another `quick_step`. `features` are those of `FEATURES` by
    default.

    Examples
    --------
    >>> from pathlib import Path
    >>> len(pair_settings(RunOptions(Path("out")), draws=10)) == (25 + 45 + 21) * 4 * 10
    True
    """
    # All tables are seen early: the first draw of all comes before the second of any.
    return [
        (table, pair, percent, draw, labels, features or FEATURES[table], products)
        for draw, percent, table in itertools.product(range(draws), PERCENT, TABLES)
        for pair in class_pairs(table)[:: quick_step if options.quick else 1]
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
