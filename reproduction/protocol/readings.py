"""Readings of the paper, and how far from its numbers they lead."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from reproduction.pairs.errors import (
    COLUMNS,
    PAPER_RULE,
    RULES,
    deviation,
    mean_errors,
    table_settings,
    wins,
)
from reproduction.pairs.run import PLAIN, SCALED, PairRecord
from reproduction.pairs.splits import FEATURES, LABELINGS, LEFT_OUT, TABLES
from reproduction.protocol.run import FEATURE_KINDS
from reproduction.published import KERNELS

CLASSES = ("brickface", "cement", "foliage", "grass", "path", "sky", "window")
"""Classes of image segmentation."""


@dataclass(frozen=True)
class Reading:
    """A reading of the paper, and how far from its numbers it leads.

    Attributes
    ----------
    table, kernel : str
    answer : tuple of str
        Features, products and labels; or the rule for ties; or the class that is left out.
    method : str
    signed, absolute : float
        Mean difference to the published errors in points over the shares of labels, ours minus
        published, and the mean of the absolute differences.
    """

    table: str
    kernel: str
    answer: tuple[str, ...]
    method: str
    signed: float
    absolute: float


def combinations(records: Iterable[PairRecord]) -> list[Reading]:
    """Return the readings of features, products and labels, for all tables, kernels and methods.

    RBF kernels have a width in any case, so that their errors count for both kinds of products.
    """
    readings: list[Reading] = []
    records = list(records)
    for features, products, labels in product(FEATURE_KINDS, (SCALED, PLAIN), LABELINGS):
        combined = [
            record
            for record in records
            if (record.features, record.labels) == (features, labels)
            and (record.products == products or record.kernel == "rbf")
        ]
        readings += _readings(combined, (features, products, labels), PAPER_RULE)
    return readings


def tie_rules(records: Iterable[PairRecord]) -> list[Reading]:
    """Return the readings of all ways to treat ties, on the features and kernels of the table."""
    main = [record for record in records if is_main(record)]
    return [reading for rule in RULES for reading in _readings(main, (rule,), rule)]


def wins_by_rule(
    records: Iterable[PairRecord], method: str, other: str
) -> dict[str, tuple[int, int]]:
    """Return in how many settings of the table a method has a lower error, for every rule.

    The second number is that of all settings.
    """
    main = [record for record in records if is_main(record)]
    counts = {}
    for rule in RULES:
        means = mean_errors(main, rule)
        settings = table_settings(means, TABLES)
        counts[rule] = wins(means, settings, method, other), len(settings)
    return counts


def left_out_classes(records: Iterable[PairRecord]) -> list[Reading]:
    """Return the readings of the 15 pairs of image segmentation: any class may be left out."""
    image = [record for record in records if is_main(record) and record.table == "image"]
    return [
        reading
        for name in CLASSES
        for reading in _readings(image, (name,), PAPER_RULE, left_out=name)
    ]


def is_main(record: PairRecord, labels: str = LABELINGS[0]) -> bool:
    """Tell whether features and kernels are those of the table, and the labels these."""
    main = (FEATURES[record.table], SCALED, labels)
    return (record.features, record.products, record.labels) == main


def closest(
    readings: Iterable[Reading],
    table: str,
    methods: Sequence[str],
    kernels: Sequence[str] = KERNELS,
) -> list[Reading]:
    """Return the readings of a table, averaged over methods and kernels, the closest first."""
    by_answer: dict[tuple[str, ...], list[Reading]] = defaultdict(list)
    for reading in readings:
        if reading.table == table and reading.method in methods and reading.kernel in kernels:
            by_answer[reading.answer].append(reading)
    joined = [
        Reading(
            table,
            ", ".join(kernels),
            answer,
            " and ".join(methods),
            float(np.mean([reading.signed for reading in same])),
            float(np.mean([reading.absolute for reading in same])),
        )
        for answer, same in by_answer.items()
    ]
    return sorted(joined, key=lambda reading: reading.absolute)


def _readings(
    records: Iterable[PairRecord], answer: tuple[str, ...], rule: str, left_out: str = LEFT_OUT
) -> Iterator[Reading]:
    means = mean_errors(records, rule, left_out)
    present = {(setting[0], setting[2], method) for setting, method in means}
    for name, kernel, (method, column) in product(TABLES, KERNELS, COLUMNS.items()):
        if (name, kernel, method) in present:
            points = deviation(means, name, method, column=column, kernel=kernel)
            yield Reading(name, kernel, answer, method, points.signed, points.absolute)
