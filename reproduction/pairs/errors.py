"""Mean errors over pairs and draws, beside the published ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from graphmargin._typing import FloatArray
from reproduction.claims import Claim
from reproduction.pairs.methods import GC_WIDE, MR_WITH_BIAS, NO_KERNEL
from reproduction.pairs.run import PairRecord
from reproduction.pairs.splits import LEFT_OUT
from reproduction.published import (
    GC,
    KERNELS,
    MR,
    PERCENT,
    PUBLISHED,
    SVM,
    TableSetting,
)

RULES = ("first", "last", "softest", "expected", "averaged", "oracle")
"""Ways to treat ties, see `GridChoice`."""
PAPER_RULE = "expected"
"""Rule that stands for the paper's choice of parameters, as the paper does not tell its own."""
OWN_RULES = {GC_WIDE: "averaged"}
"""Methods of ours that treat ties in their own way, wherever the paper's choice is meant."""
ALL_CLASSES = "image, 7 classes"
ROWS = ("letter", "digits", "image", ALL_CLASSES)
COLUMNS = {SVM: SVM, MR: MR, MR_WITH_BIAS: MR, GC: GC}
"""Methods, and the published columns that they are compared with."""


@dataclass(frozen=True)
class MeanError:
    """Test error in percent.

    Attributes
    ----------
    mean : float
        Mean over pairs and draws; NaN if all of them failed.
    standard_error : float
        Standard error of the mean over pairs, from draw to draw; NaN for one draw.
    n_draws : int
    n_failed : int
        Number of pairs and draws that are left out of the mean.
    """

    mean: float
    standard_error: float
    n_draws: int
    n_failed: int


Means: TypeAlias = dict[tuple[TableSetting, str], MeanError]
"""Mean errors by table, percent and kernel ("none" for harmonic solutions), then by method."""


def mean_errors(
    records: Iterable[PairRecord], rule: str = PAPER_RULE, left_out: str = LEFT_OUT
) -> Means:
    """Return the means of all settings and methods.

    Image segmentation is there twice: 15 pairs without one of the classes, and all 21.

    Parameters
    ----------
    records : iterable of PairRecord
    rule : {"first", "last", "softest", "expected", "averaged", "oracle"}, default="expected"
        What to do with ties, see `GridChoice`. With "expected", methods of ours have the rule in
        `OWN_RULES`.
    left_out : str, default="window"
        The class of image segmentation that is left out.
    """
    errors: dict[tuple[TableSetting, str], dict[int, list[float]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for record in records:
        own_rule = OWN_RULES.get(record.method, rule) if rule == PAPER_RULE else rule
        error = getattr(record, own_rule)
        for name in table_names(record.table, record.pair, left_out):
            setting = (name, record.percent, record.kernel)
            percent = np.nan if error is None else 100 * error
            errors[setting, record.method][record.draw].append(percent)
    return {key: _mean(list(draws.values())) for key, draws in errors.items()}


def standard_error(values: FloatArray) -> float:
    """Return the standard error of a mean, NaN for a single value.

    Examples
    --------
    >>> standard_error(np.array([1.0, 3.0])), standard_error(np.array([1.0]))
    (1.0, nan)
    """
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan


def table_names(table: str, pair: str, left_out: str = LEFT_OUT) -> Iterator[str]:
    """Yield the rows of the table that a pair belongs to.

    Examples
    --------
    >>> list(table_names("image", "grass-sky"))
    ['image', 'image, 7 classes']
    >>> list(table_names("image", "grass-window"))
    ['image, 7 classes']
    """
    if table != "image":
        yield table
        return
    if left_out not in pair.split("-"):
        yield table
    yield ALL_CLASSES


def published(setting: TableSetting, method: str) -> float | None:
    """Return the published error, that of all pairs of six classes for seven classes, or None.

    Examples
    --------
    >>> published(("letter", 1, "linear"), "SVM"), published(("letter", 1, "linear"), "S3VM")
    (18.9, None)
    """
    name, percent, kernel = setting
    row = ("image" if name == ALL_CLASSES else name, percent, kernel)
    return PUBLISHED.get(row, {}).get(method)


def table_settings(means: Means, names: Iterable[str] = ROWS) -> list[TableSetting]:
    """Return the settings with a kernel that have a mean, in the order of the paper."""
    present = {setting for setting, _ in means}
    ordered = [
        (name, percent, kernel) for name in names for percent in PERCENT for kernel in KERNELS
    ]
    return [setting for setting in ordered if setting in present]


def error_of(means: Means, setting: TableSetting, method: str) -> MeanError | None:
    """Return a method's error; the harmonic solution has the same one with every kernel."""
    name, percent, _ = setting
    return means.get((setting, method)) or means.get(((name, percent, NO_KERNEL), method))


def wins(means: Means, settings: Iterable[TableSetting], method: str, other: str) -> int:
    """Return the number of settings in which a method has a lower error than another one."""
    return sum(means[setting, method].mean < means[setting, other].mean for setting in settings)


def below_published(
    means: Means, settings: Iterable[TableSetting], method: str, column: str = GC
) -> list[TableSetting]:
    """Return the settings in which the error of a method is below the published one of a column.

    Examples
    --------
    >>> settings = [("letter", 1, "linear"), ("letter", 1, "rbf")]
    >>> means = {(setting, "GC auto"): MeanError(15.9, 0.5, 10, 0) for setting in settings}
    >>> below_published(means, settings, "GC auto")
    [('letter', 1, 'rbf')]
    """
    return [
        setting
        for setting in settings
        if (error := error_of(means, setting, method)) is not None
        and error.mean < PUBLISHED[setting][column]
    ]


def below_published_claim(
    means: Means,
    settings: Sequence[TableSetting],
    method: str,
    *,
    labels: str = "random",
    complete: bool,
) -> Claim:
    """Return whether a method of ours is below the published errors of GC in all settings."""
    below = below_published(means, settings, method)
    return Claim(
        f"With {labels} labels, {method} has a lower error than the published GC",
        "the errors of GC in Figure 4",
        f"{len(below)} of {len(settings)} settings",
        len(below) == len(settings) if complete else None,
    )


@dataclass(frozen=True)
class Deviation:
    """Distances of means from the published ones, in points, over the settings of a table.

    Attributes
    ----------
    signed : float
        Mean difference, ours minus published.
    absolute : float
        Mean absolute difference.
    n : int
        Number of settings.
    """

    signed: float
    absolute: float
    n: int


def deviation(
    means: Means,
    name: str,
    method: str,
    *,
    column: str | None = None,
    kernel: str | None = None,
) -> Deviation:
    """Return how far a method is from a published column, that of the same name by default.

    All kernels count, or one.

    Examples
    --------
    >>> means = {(("letter", 1, "linear"), "SVM"): MeanError(18.4, 0.5, 10, 0)}
    >>> deviation(means, "letter", "SVM").signed
    -0.5
    """
    differences = [
        error.mean - known
        for setting in table_settings(means, [name])
        if kernel in (None, setting[2])
        and (error := means.get((setting, method)))
        and np.isfinite(error.mean)
        and (known := published(setting, column or method)) is not None
    ]
    values = np.array(differences or [np.nan])
    return Deviation(float(values.mean()), float(np.abs(values).mean()), len(differences))


def _mean(draws: list[list[float]]) -> MeanError:
    """Return the mean over the draws of their means over pairs."""
    n_failed = sum(int(np.isnan(draw).sum()) for draw in draws)
    present = [float(np.nanmean(draw)) for draw in draws if not np.isnan(draw).all()]
    means = np.array(present or [np.nan])
    return MeanError(float(means.mean()), standard_error(means), len(draws), n_failed)
