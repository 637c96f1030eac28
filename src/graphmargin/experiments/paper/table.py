"""Figure 4 of the paper, its table, with more columns, and what the paper says of it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from graphmargin.experiments.paper.cells import PairRecord, pair_cells, run_pairs, with_kernels
from graphmargin.experiments.paper.claims import Claim
from graphmargin.experiments.paper.methods import GC_AUTO, HARMONIC, MR_FAIR, S3VM
from graphmargin.experiments.paper.published import GC, KERNELS, MR, PUBLISHED, SVM, Setting
from graphmargin.experiments.paper.settings import Settings
from graphmargin.experiments.paper.splits import TABLES, class_pairs
from graphmargin.experiments.paper.summaries import Means, deviation, mean_errors, settings_of, wins

COLUMNS = (SVM, MR, MR_FAIR, S3VM, HARMONIC, GC, GC_AUTO)
PAPER_ROWS = ("letter", "digits", "image")
TOLERANCES = {"letter": 1.5, "digits": 1.5, "image": 3.0}
"""Points by which the mean of a column may differ from the published one."""


def table(settings: Settings) -> list[PairRecord]:
    """Return the records of the table: 10 draws of all pairs, or one of every third."""
    draws = settings.draws_or(quick=1, full=10)
    return run_pairs(settings, with_kernels(COLUMNS), pair_cells(settings, draws))


def table_claims(records: Iterable[PairRecord]) -> list[Claim]:
    """Return what the paper says of its table, and what ours says, if it has all pairs."""
    records = list(records)
    means = mean_errors(records)
    settings = settings_of(means, PAPER_ROWS)
    every_pair = {(name, pair) for name in TABLES for pair in class_pairs(name)}
    pairs = {(record.table, record.pair) for record in records}
    complete = len(settings) == len(PUBLISHED) and pairs == every_pair
    return [
        _beats(means, settings, GC, MR, complete),
        _beats(means, settings, GC, MR_FAIR, complete),
        _beats(means, settings, GC, SVM, complete),
        _beats(means, settings, GC_AUTO, SVM, complete),
        _best_kernels(means, complete),
        _largest_gain(means, settings, complete),
        *(_agrees(means, name, method, complete) for method in (SVM, GC) for name in PAPER_ROWS),
    ]


def _beats(means: Means, settings: list[Setting], one: str, other: str, complete: bool) -> Claim:
    """Compare two methods in all settings; the paper has columns for some of them."""
    columns = {GC_AUTO: GC, MR_FAIR: MR}
    first, second = columns.get(one, one), columns.get(other, other)
    expected = sum(errors[first] < errors[second] for errors in PUBLISHED.values())
    won = wins(means, settings, one, other)
    return Claim(
        f"{one} has a lower error than {other}",
        f"{expected} of {len(PUBLISHED)} settings",
        f"{won} of {len(settings)}",
        won >= expected if complete else None,
    )


def _best_kernels(means: Means, complete: bool) -> Claim:
    """Compare the least error of linear and cubic GC with that of RBF, for each table and L."""

    def count(errors: dict[Setting, float]) -> tuple[int, int]:
        rows = dict.fromkeys((name, percent) for name, percent, _ in errors)
        best = [min(KERNELS, key=lambda kernel: errors[(*row, kernel)]) for row in rows]
        return sum(kernel != "rbf" for kernel in best), len(best)

    ours = {setting: means[setting, GC].mean for setting in settings_of(means, PAPER_ROWS)}
    known, total = count({setting: errors[GC] for setting, errors in PUBLISHED.items()})
    seen, n = count(ours)
    return Claim(
        "The lowest error of GC is usually that of a linear or cubic kernel",
        f"{known} of {total} rows",
        f"{seen} of {n}",
        2 * seen > n if complete else None,
    )


def _largest_gain(means: Means, settings: list[Setting], complete: bool) -> Claim:
    """Compare by how much GC improves on MR, kernel by kernel."""

    def gains(errors: dict[Setting, tuple[float, float]]) -> dict[str, float]:
        points = {
            kernel: [mr - gc for (_, _, own), (mr, gc) in errors.items() if own == kernel]
            for kernel in KERNELS
        }
        return {kernel: _mean_of_present(values) for kernel, values in points.items()}

    known = gains({setting: (errors[MR], errors[GC]) for setting, errors in PUBLISHED.items()})
    ours = gains({one: (means[one, MR].mean, means[one, GC].mean) for one in settings})
    return Claim(
        "GC improves the most over MR with linear and cubic kernels",
        _points(known),
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
    found = deviation(means, name, method)
    known = [errors[method] for setting, errors in PUBLISHED.items() if setting[0] == name]
    tolerance = TOLERANCES[name]
    return Claim(
        f"The {method} column of {name} is met within {tolerance} points on average",
        f"{np.mean(known):.2f} %",
        f"{found.signed:+.2f} points" if found.n else "not run",
        abs(found.signed) <= tolerance if complete else None,
    )
