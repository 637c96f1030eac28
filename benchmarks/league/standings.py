"""Standings of the systems at a number of labels: errors, ranks, and what differs significantly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.stats import friedmanchisquare, rankdata, studentized_range, wilcoxon

from benchmarks.league.run import Result

SIGNIFICANCE = 0.05
FAILED = 1.0
"""Error of a system that fails."""


@dataclass(frozen=True)
class Standings:
    """The results of all systems on the same draws of the same sets.

    Attributes
    ----------
    sets, systems : tuple of str
    errors : tuple of arrays of shape (systems, draws)
        Shares of wrong labels, for each set; a system that failed has 1.
    cpu : array of shape (systems,)
        Mean CPU seconds of a draw.
    labels : tuple of int
        Number of labels, for each set.
    """

    sets: tuple[str, ...]
    systems: tuple[str, ...]
    errors: tuple[np.ndarray, ...]
    cpu: np.ndarray
    labels: tuple[int, ...]

    @cached_property
    def means(self) -> np.ndarray:
        """Mean errors over the draws, of shape (sets, systems)."""
        return np.array([errors.mean(axis=1) for errors in self.errors])

    @cached_property
    def ranks(self) -> np.ndarray:
        """Ranks of the mean errors on each set, of shape (sets, systems); 1 is the smallest."""
        return np.asarray(rankdata(self.means.round(12), axis=1))

    def differences(self, system: str, other: str) -> list[np.ndarray]:
        """Return the errors of a system minus those of another one, for each set and draw."""
        first, second = self.systems.index(system), self.systems.index(other)
        return [errors[first] - errors[second] for errors in self.errors]

    def mean_differences(self, system: str, other: str) -> np.ndarray:
        """Return the means of `differences` over the draws of each set, free of rounding."""
        means = [values.mean() for values in self.differences(system, other)]
        return np.round(means, 12)


def standings(results: Sequence[Result], level: str, systems: Sequence[str]) -> Standings | None:
    """Return the standings at a number of labels, None if there are no results.

    Systems without any result at this number of labels are left out. Of each set, the draws that
    all others have count.
    """
    runs: dict[str, dict[int, dict[str, Result]]] = {}
    for result in results:
        is_wanted = result["labels"] == level and result["system"] in systems
        if is_wanted and "skipped" not in result:
            draws = runs.setdefault(result["set"], {})
            draws.setdefault(result["draw"], {})[result["system"]] = result
    present = {name for draws in runs.values() for draw in draws.values() for name in draw}
    ordered = tuple(name for name in systems if name in present)
    complete = {
        name: [draws[draw] for draw in sorted(draws) if len(draws[draw]) == len(ordered)]
        for name, draws in runs.items()
    }
    complete = {name: draws for name, draws in complete.items() if draws}
    if not complete:
        return None
    every = [draw for draws in complete.values() for draw in draws]
    return Standings(
        tuple(complete),
        ordered,
        tuple(
            np.array([[draw[name].get("error", FAILED) for draw in draws] for name in ordered])
            for draws in complete.values()
        ),
        np.array([np.mean([draw[name]["cpu"] for draw in every]) for name in ordered]),
        tuple(draws[0][ordered[0]]["n_labels"] for draws in complete.values()),
    )


def critical_difference(n_systems: int, n_sets: int) -> float:
    """Return the smallest difference of two mean ranks that is significant (Nemenyi's test).

    Examples
    --------
    >>> round(critical_difference(4, 14), 2)  # the example of Demsar (2006) has 1.25
    1.25
    """
    quantile = studentized_range.ppf(1 - SIGNIFICANCE, n_systems, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(n_systems * (n_systems + 1) / (6 * n_sets)))


def cliques(mean_ranks: np.ndarray, difference: float) -> list[tuple[int, int]]:
    """Return the first and the last of all groups of sorted mean ranks without a larger difference.

    Groups of one, and those inside of another group, are left out.

    Examples
    --------
    >>> cliques(np.array([1.0, 1.5, 2.5, 4.0]), 1.6)
    [(0, 2), (2, 3)]
    """
    groups: list[tuple[int, int]] = []
    for first, rank in enumerate(mean_ranks):
        last = int(np.searchsorted(mean_ranks, rank + difference, side="right")) - 1
        if last > first and (not groups or last > groups[-1][1]):
            groups.append((first, last))
    return groups


def friedman_p(table: Standings) -> float:
    """Return the p-value of Friedman's test that all systems are alike; nan if it has no data."""
    if len(table.systems) < 3 or len(table.sets) < 2:
        return float("nan")
    return float(friedmanchisquare(*table.ranks.T).pvalue)


def adjusted_p(table: Standings, system: str) -> dict[str, float]:
    """Return p-values of Wilcoxon's signed-rank test of a system against each other one.

    The mean errors on the sets are compared. Holm's method adjusts for the number of systems.
    """
    others = [name for name in table.systems if name != system]
    raw = np.array([_wilcoxon_p(table.mean_differences(system, other)) for other in others])
    order = np.argsort(raw, kind="stable")
    factors = np.arange(len(raw), 0, -1)
    adjusted = np.empty_like(raw)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(raw[order] * factors))
    return dict(zip(others, adjusted.tolist(), strict=True))


def _wilcoxon_p(differences: np.ndarray) -> float:
    return float(wilcoxon(differences).pvalue) if differences.any() else 1.0
