"""Paired tests of cuts with soft labels against cuts with hard ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata, wilcoxon

from graphmargin._typing import FloatArray
from reproduction.claims import Claim
from reproduction.pairs.errors import PAPER_RULE, mean_errors, standard_error, table_settings
from reproduction.pairs.run import PairRecord
from reproduction.pairs.splits import TABLES
from reproduction.published import GC
from reproduction.soft_labels.run import SOFT

SIGNIFICANT = 0.05


@dataclass(frozen=True)
class PairedTest:
    """A method with soft labels minus the same with hard ones, over pairs of classes.

    Attributes
    ----------
    method : str
    group : str
        Table or share of labels, or "all".
    n_pairs : int
        Number of pairs of classes, each with a mean over draws, kernels and shares of labels.
    difference : float
        Mean of the differences in points; below zero, soft labels are better.
    standard_error : float
        Standard error of the difference, from pair to pair.
    p_value : float
        p-value of Wilcoxon's signed-rank test of the pairs' differences; 1 if all are zero.
    lower, higher : int
        Numbers of pairs in which the soft labels have the lower or the higher error.
    signed_ranks : float
        Sum of the signed ranks, below zero where the test sees lower errors.
    """

    method: str
    group: str
    n_pairs: int
    difference: float
    standard_error: float
    p_value: float
    lower: int
    higher: int
    signed_ranks: float

    @property
    def verdict(self) -> str:
        """Better or worse at a level of 5 %, if mean and ranks agree, else no clear difference."""
        agree = self.difference * self.signed_ranks > 0
        if not (self.p_value < SIGNIFICANT and agree):
            return "no clear difference"
        return "better" if self.difference < 0 else "worse"


def paired_tests(records: Iterable[PairRecord], rule: str = PAPER_RULE) -> list[PairedTest]:
    """Return the tests of all soft methods, over all pairs, by table and by share of labels."""
    errors: dict[tuple[Any, ...], float | None] = {
        (*record.setting, *record.part): getattr(record, rule) for record in records
    }
    differences: dict[tuple[str, str], dict[tuple[str, str], list[float]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for key, soft in errors.items():
        *where, method = key
        hard = errors.get((*where, GC))
        if method not in SOFT or soft is None or hard is None:
            continue
        table, pair, percent = key[:3]
        for group in ("all", table, f"{percent} %"):
            differences[method, group][table, pair].append(100 * (soft - hard))
    return [
        # What cancels is zero, and no tie is broken by rounding.
        _test(method, group, np.array([np.mean(values) for values in pairs.values()]).round(9))
        for (method, group), pairs in sorted(differences.items(), key=_order)
    ]


def soft_claims(records: Iterable[PairRecord]) -> list[Claim]:
    """Return the answers to the open question, one for each soft method."""
    records = list(records)
    means = mean_errors(records)
    settings = table_settings(means, TABLES)
    claims = []
    for test in paired_tests(records):
        if test.group != "all":
            continue
        won = sum(means[key, test.method].mean < means[key, GC].mean for key in settings)
        claims.append(
            Claim(
                f"{test.method} has a lower error than GC with hard labels",
                "an open question",
                f"{test.difference:+.2f} ± {test.standard_error:.2f} points over {test.n_pairs} "
                f"pairs, p = {test.p_value:.2g}; {won} of {len(settings)} settings",
                test.verdict == "better",
            )
        )
    return claims


def _order(item: tuple[tuple[str, str], object]) -> tuple[int, int]:
    groups = ("all", "letter", "digits", "image", "1 %", "2 %", "5 %", "10 %")
    method, group = item[0]
    return SOFT.index(method), groups.index(group)


def _test(method: str, group: str, differences: FloatArray) -> PairedTest:
    n = len(differences)
    moved = np.any(differences != 0)
    return PairedTest(
        method,
        group,
        n,
        float(differences.mean()),
        standard_error(differences),
        float(wilcoxon(differences).pvalue) if moved and n > 1 else 1.0,
        int((differences < 0).sum()),
        int((differences > 0).sum()),
        float(np.sign(differences) @ rankdata(np.abs(differences))),
    )
