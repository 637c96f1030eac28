"""The claims on the table, compared with ours."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from reproduction.claims import Claim
from reproduction.pairs.errors import (
    Means,
    below_published_claim,
    deviation,
    mean_errors,
    table_settings,
    wins,
)
from reproduction.pairs.methods import GC_ALL, GC_AUTO, GC_WIDE, MR_WITH_BIAS
from reproduction.pairs.run import PairRecord
from reproduction.pairs.splits import TABLES, class_pairs
from reproduction.published import GC, KERNELS, MR, PUBLISHED, SVM, TableSetting

TOLERANCES = {"letter": 1.5, "digits": 1.5, "image": 3.0}
"""Points by which the mean of a column may differ from the published one."""


def table_claims(records: Iterable[PairRecord]) -> list[Claim]:
    """Return what the paper says of its table, and what ours says, if it has all pairs."""
    records = list(records)
    means = mean_errors(records)
    settings = table_settings(means, TABLES)
    every_pair = {(name, pair) for name in TABLES for pair in class_pairs(name)}
    pairs = {(record.table, record.pair) for record in records}
    complete = len(settings) == len(PUBLISHED) and pairs == every_pair
    return [
        _beats(means, settings, GC, MR, complete),
        _beats(means, settings, GC, MR_WITH_BIAS, complete),
        _beats(means, settings, GC, SVM, complete),
        _beats(means, settings, GC_AUTO, SVM, complete),
        below_published_claim(means, settings, GC_WIDE, complete=complete),
        below_published_claim(means, settings, GC_ALL, complete=complete),
        _best_kernels(means, settings, complete),
        _largest_gain(means, settings, complete),
        *(_agrees(means, name, method, complete) for method in (SVM, GC) for name in TABLES),
    ]


def _beats(
    means: Means, settings: list[TableSetting], method: str, other: str, complete: bool
) -> Claim:
    """Compare two methods in all settings; the paper has columns for some of them."""
    columns = {GC_AUTO: GC, MR_WITH_BIAS: MR}
    first, second = columns.get(method, method), columns.get(other, other)
    expected = sum(errors[first] < errors[second] for errors in PUBLISHED.values())
    won = wins(means, settings, method, other)
    return Claim(
        f"{method} has a lower error than {other}",
        f"{expected} of {len(PUBLISHED)} settings",
        f"{won} of {len(settings)}",
        won >= expected if complete else None,
    )


def _best_kernels(means: Means, settings: list[TableSetting], complete: bool) -> Claim:
    """Compare the least error of linear and cubic GC with that of RBF, for each table and L."""

    def count(errors: dict[TableSetting, float]) -> tuple[int, int]:
        rows = dict.fromkeys((name, percent) for name, percent, _ in errors)
        best = [min(KERNELS, key=lambda kernel: errors[(*row, kernel)]) for row in rows]
        return sum(kernel != "rbf" for kernel in best), len(best)

    published, n_rows = count({setting: errors[GC] for setting, errors in PUBLISHED.items()})
    ours, n = count({setting: means[setting, GC].mean for setting in settings})
    return Claim(
        "The lowest error of GC is usually that of a linear or cubic kernel",
        f"{published} of {n_rows} rows",
        f"{ours} of {n}",
        2 * ours > n if complete else None,
    )


def _largest_gain(means: Means, settings: list[TableSetting], complete: bool) -> Claim:
    """Compare by how much GC improves on MR, kernel by kernel."""

    def gains(errors: dict[TableSetting, tuple[float, float]]) -> dict[str, float]:
        points = {
            kernel: [mr - gc for setting, (mr, gc) in errors.items() if setting[2] == kernel]
            for kernel in KERNELS
        }
        return {kernel: _mean_of_present(values) for kernel, values in points.items()}

    published = gains({key: (errors[MR], errors[GC]) for key, errors in PUBLISHED.items()})
    ours = gains({key: (means[key, MR].mean, means[key, GC].mean) for key in settings})
    return Claim(
        "GC improves the most over MR with linear and cubic kernels",
        _points(published),
        _points(ours),
        max(ours["linear"], ours["cubic"]) > ours["rbf"] if complete else None,
    )


def _mean_of_present(values: list[float]) -> float:
    present = [value for value in values if np.isfinite(value)]
    return float(np.mean(present)) if present else np.nan


def _points(gains: dict[str, float]) -> str:
    return ", ".join(f"{kernel} {gain:+.1f}" for kernel, gain in gains.items()) + " points"


def _agrees(means: Means, name: str, method: str, complete: bool) -> Claim:
    """Compare the mean of a column with the published one."""
    ours = deviation(means, name, method)
    published = [errors[method] for setting, errors in PUBLISHED.items() if setting[0] == name]
    tolerance = TOLERANCES[name]
    return Claim(
        f"The {method} column of {name} is met within {tolerance} points on average",
        f"{np.mean(published):.2f} %",
        f"{ours.signed:+.2f} points" if ours.n else "not run",
        abs(ours.signed) <= tolerance if complete else None,
    )
