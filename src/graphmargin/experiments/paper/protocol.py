"""What the paper does not say, and which reading of it comes closest to its numbers.

Features raw or standardized, products of linear and cubic kernels scaled or not, labels drawn at
random or balanced, with all their combinations; then ties, and the class that is left out of image
segmentation, which need no more machines.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np

from graphmargin.experiments.paper.cells import (
    PLAIN,
    SCALED,
    PairRecord,
    pair_cells,
    run_pairs,
    with_kernels,
)
from graphmargin.experiments.paper.methods import GC_ALL, GC_AUTO, MR_FAIR
from graphmargin.experiments.paper.published import GC, KERNELS, MR, SVM
from graphmargin.experiments.paper.settings import Settings
from graphmargin.experiments.paper.splits import FEATURES, LABELINGS, LEFT_OUT, TABLES
from graphmargin.experiments.paper.summaries import (
    PAPER_RULE,
    RULES,
    deviation,
    mean_errors,
    settings_of,
    wins,
)

QUICK_STEP = 9
"""A quick run takes every ninth pair: there are ten combinations of them."""
FEATURE_KINDS = ("raw", "standardized")
COLUMNS = {SVM: SVM, MR: MR, MR_FAIR: MR, GC: GC}
"""Methods, and the published columns that they are compared with."""
CLASSES = ("brickface", "cement", "foliage", "grass", "path", "sky", "window")
"""Of image segmentation."""


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


def protocol(settings: Settings) -> list[PairRecord]:
    """Return the records of all combinations: one draw of all pairs, or of every ninth.

    Manifold regularization without a bias is left out for plain cubic products: it is too badly
    scaled to be solved, and cubic functions have a constant term anyway.
    """
    draws = settings.draws_or(quick=1, full=1)
    plain = with_kernels(COLUMNS, ["linear"]) | with_kernels([SVM, MR_FAIR, GC], ["cubic"])
    methods = {SCALED: with_kernels(COLUMNS), PLAIN: plain}
    some_cells = partial(pair_cells, settings, draws, quick_step=QUICK_STEP)
    runs = [
        (methods[products], some_cells(labels=labels, features=features, products=products))
        for labels, features, products in product(LABELINGS, FEATURE_KINDS, methods)
    ]
    # Our own choice beside the paper's, also when labels are balanced.
    runs += [(with_kernels([GC_AUTO, GC_ALL]), some_cells(labels=labels)) for labels in LABELINGS]
    return [
        record
        for done, (some, cells) in enumerate(runs)
        for record in run_pairs(settings.part(done, len(runs)), some, cells)
    ]


def combinations(records: Iterable[PairRecord]) -> list[Reading]:
    """Return the readings of features, products and labels, for all tables, kernels and methods.

    RBF kernels have a width in any case, so that their errors count for both kinds of products.
    """
    found: list[Reading] = []
    own = list(records)
    for features, products, labels in product(FEATURE_KINDS, (SCALED, PLAIN), LABELINGS):
        some = [
            one
            for one in own
            if (one.features, one.labels) == (features, labels)
            and (one.products == products or one.kernel == "rbf")
        ]
        found += _readings(some, (features, products, labels), PAPER_RULE)
    return found


def tie_rules(records: Iterable[PairRecord]) -> list[Reading]:
    """Return the readings of all ways to treat ties, on the features and kernels of the table."""
    own = [one for one in records if is_main(one)]
    return [one for rule in RULES for one in _readings(own, (rule,), rule)]


def wins_by_rule(records: Iterable[PairRecord], one: str, other: str) -> dict[str, tuple[int, int]]:
    """Return in how many settings of the table one method has a lower error, for every rule.

    The second number is that of all settings.
    """
    own = [record for record in records if is_main(record)]
    found = {}
    for rule in RULES:
        means = mean_errors(own, rule)
        settings = settings_of(means, TABLES)
        found[rule] = wins(means, settings, one, other), len(settings)
    return found


def left_out_classes(records: Iterable[PairRecord]) -> list[Reading]:
    """Return the readings of the 15 pairs of image segmentation: any class may be left out."""
    own = [one for one in records if is_main(one) and one.table == "image"]
    return [one for name in CLASSES for one in _readings(own, (name,), PAPER_RULE, left_out=name)]


def is_main(record: PairRecord, labels: str = LABELINGS[0]) -> bool:
    """Tell whether features and kernels are those of the table, and the labels these."""
    main = (FEATURES[record.table], SCALED, labels)
    return (record.features, record.products, record.labels) == main


def closest(
    readings: Iterable[Reading],
    table: str,
    methods: Iterable[str],
    kernels: Iterable[str] = KERNELS,
) -> list[Reading]:
    """Return the readings of a table, averaged over methods and kernels, the closest first.

    Examples
    --------
    >>> one = Reading("letter", "rbf", ("raw",), "SVM", -1.0, 1.0)
    >>> other = Reading("letter", "rbf", ("standardized",), "SVM", 0.5, 0.5)
    >>> closest([one, other], "letter", ["SVM"])[0].answer
    ('standardized',)
    """
    some_methods, some_kernels = tuple(methods), tuple(kernels)
    by_answer: dict[tuple[str, ...], list[Reading]] = defaultdict(list)
    for one in readings:
        if one.table == table and one.method in some_methods and one.kernel in some_kernels:
            by_answer[one.answer].append(one)
    joined = [
        Reading(
            table,
            ", ".join(some_kernels),
            answer,
            " and ".join(some_methods),
            float(np.mean([one.signed for one in some])),
            float(np.mean([one.absolute for one in some])),
        )
        for answer, some in by_answer.items()
    ]
    return sorted(joined, key=lambda one: one.absolute)


def _readings(
    records: Iterable[PairRecord], answer: tuple[str, ...], rule: str, left_out: str = LEFT_OUT
) -> Iterator[Reading]:
    means = mean_errors(records, rule, left_out)
    present = {(setting[0], setting[2], method) for setting, method in means}
    for name, kernel, (method, column) in product(TABLES, KERNELS, COLUMNS.items()):
        if (name, kernel, method) in present:
            found = deviation(means, name, method, column=column, kernel=kernel)
            yield Reading(name, kernel, answer, method, found.signed, found.absolute)
