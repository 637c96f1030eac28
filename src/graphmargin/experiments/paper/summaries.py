"""Means over pairs and draws, beside what is published."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from graphmargin._typing import FloatArray
from graphmargin.experiments.paper.cells import PairRecord
from graphmargin.experiments.paper.methods import NO_KERNEL
from graphmargin.experiments.paper.published import KERNELS, PERCENT, PUBLISHED, Setting
from graphmargin.experiments.paper.splits import LEFT_OUT

RULES = ("first", "last", "softest", "expected", "averaged", "oracle")
"""Ways to treat ties, see `Chosen`."""
PAPER_RULE = "expected"
"""The one that stands for the paper's choice of parameters, as the paper does not tell its own."""
ALL_CLASSES = "image, 7 classes"
ROWS = ("letter", "digits", "image", ALL_CLASSES)


@dataclass(frozen=True)
class MeanError:
    """Test error in percent.

    Attributes
    ----------
    mean : float
        Over pairs and draws; NaN if all of them failed.
    standard_error : float
        Of the mean over pairs, from draw to draw; NaN for one draw.
    n_draws : int
    n_failed : int
        Pairs and draws that are left out of the mean.
    """

    mean: float
    standard_error: float
    n_draws: int
    n_failed: int


Means: TypeAlias = dict[tuple[Setting, str], MeanError]
"""By table, percent and kernel, then by method; the kernel of a harmonic solution is "none"."""


def mean_errors(
    records: Iterable[PairRecord], rule: str = PAPER_RULE, left_out: str = LEFT_OUT
) -> Means:
    """Return the means of all settings and methods.

    Image segmentation is there twice: 15 pairs without one of the classes, and all 21.

    Parameters
    ----------
    records : iterable of PairRecord
    rule : {"first", "last", "softest", "expected", "averaged", "oracle"}, default="expected"
        What to do with ties, see `Chosen`.
    left_out : str, default="window"
        The class of image segmentation that is left out.
    """
    errors: dict[tuple[Setting, str], dict[int, list[float]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for record in records:
        error = getattr(record, rule)
        for name in table_names(record.table, record.pair, left_out):
            setting = (name, record.percent, record.kernel)
            own = errors[setting, record.method][record.draw]
            own.append(np.nan if error is None else 100 * error)
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


def published(setting: Setting, method: str) -> float | None:
    """Return the published error, that of all pairs of six classes for seven classes, or None.

    Examples
    --------
    >>> published(("letter", 1, "linear"), "SVM"), published(("letter", 1, "linear"), "S3VM")
    (18.9, None)
    """
    name, percent, kernel = setting
    known = PUBLISHED.get(("image" if name == ALL_CLASSES else name, percent, kernel), {})
    return known.get(method)


def settings_of(means: Means, names: Iterable[str] = ROWS) -> list[Setting]:
    """Return the settings with a kernel that have a mean, in the order of the paper."""
    present = {setting for setting, _ in means}
    ordered = [
        (name, percent, kernel) for name in names for percent in PERCENT for kernel in KERNELS
    ]
    return [setting for setting in ordered if setting in present]


def error_of(means: Means, setting: Setting, method: str) -> MeanError | None:
    """Return a method's error; the harmonic solution has the same one with every kernel."""
    name, percent, _ = setting
    return means.get((setting, method)) or means.get(((name, percent, NO_KERNEL), method))


def wins(means: Means, settings: Iterable[Setting], one: str, other: str) -> int:
    """Return the number of settings in which one method has a lower error than the other."""
    return sum(means[setting, one].mean < means[setting, other].mean for setting in settings)


@dataclass(frozen=True)
class Deviation:
    """How far means are from the published ones, in points, over the settings of a table.

    Attributes
    ----------
    signed : float
        Mean difference, ours minus published.
    absolute : float
        Mean absolute difference.
    n : int
        Settings.
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
        found.mean - known
        for setting in settings_of(means, [name])
        if kernel in (None, setting[2])
        and (found := means.get((setting, method)))
        and np.isfinite(found.mean)
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
