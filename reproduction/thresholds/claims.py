"""The claims on the threshold eps and on the bounds, compared with what is computed here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graphmargin._typing import FloatArray
from reproduction.claims import Claim
from reproduction.pairs.errors import standard_error
from reproduction.thresholds.bounds import DELTA, ETA, ROUNDING, BoundRecord
from reproduction.thresholds.letters import PAIRS
from reproduction.thresholds.run import GAMMA_G, THRESHOLDS, ThresholdRecord

MEASURES = {
    "risk": "thresholded risk",
    "train_error": "training error",
    "test_error": "test error",
    "share": "share of rows",
}
"""Fields of the records, and what they are in words."""
LIKELIHOOD_TOLERANCE = 0.01
"""Difference of shares or errors that is left out of account."""


@dataclass(frozen=True)
class Curve:
    """A measure as a function of gamma_g, over the draws of a pair.

    Attributes
    ----------
    gamma_g : array of shape (g,)
    values : array of shape (draws, g)
    """

    gamma_g: FloatArray
    values: FloatArray

    @property
    def mean(self) -> FloatArray:
        """Mean over the draws."""
        return np.asarray(self.values.mean(axis=0))

    @property
    def standard_error(self) -> FloatArray:
        """Standard error of the mean; NaN for a single draw."""
        return np.array([standard_error(column) for column in self.values.T])


def curve(records: Sequence[ThresholdRecord], pair: str, eps: float, measure: str) -> Curve:
    """Return one curve of Figure 3."""
    cuts = [r for r in records if (r.pair, r.eps) == (pair, eps)]
    gammas, draws = sorted({r.gamma_g for r in cuts}), sorted({r.draw for r in cuts})
    values = {(r.draw, r.gamma_g): getattr(r, measure) for r in cuts}
    return Curve(np.array(gammas), np.array([[values[d, g] for g in gammas] for d in draws]))


def difference(
    records: Sequence[ThresholdRecord], pair: str, eps: float, measure: str
) -> tuple[float, float]:
    """Return how much a threshold changes a measure against none, and the standard error.

    This is the mean over the values of gamma_g, which are spread evenly on a log scale, paired
    over the draws. The standard error of a single draw is NaN.
    """
    with_eps, without = (curve(records, pair, e, measure).values for e in (eps, 0.0))
    paired = (with_eps - without).mean(axis=1)
    return float(paired.mean()), standard_error(paired)


def threshold_claims(records: Sequence[ThresholdRecord]) -> list[Claim]:
    """Return the claims on Figure 3, from records that have the same draws for each eps."""
    measures = ("risk", "train_error", "test_error")
    return [
        *(_lower_claim(records, m, eps) for m in measures for eps in THRESHOLDS[1:]),
        _all_pairs_claim(records),
        _share_claim(records),
        _redundant_claim(records),
    ]


def bound_claims(records: Sequence[BoundRecord]) -> list[Claim]:
    """Return the claims of the theory, with violations counted."""
    total = len(records)
    rows = sum(r.n for r in records)
    broken = sum(r.pointwise_violations for r in records)
    above = {
        "Proposition 1": sum(r.test_error > r.plain_bound for r in records),
        "Proposition 2": sum(r.test_error > r.bound for r in records),
        "with the paper's beta": sum(r.test_error > r.lemma_bound for r in records),
    }
    moved = {
        "l, paper's beta": (r.moved_ell / r.lemma_beta for r in records),
        "losses, paper's beta": (r.moved_loss / r.lemma_beta for r in records),
        "losses, our beta": (r.moved_loss / r.beta for r in records),
    }
    ratios = {name: list(values) for name, values in moved.items()}
    unstable = {name: sum(v > 1 + ROUNDING for v in values) for name, values in ratios.items()}
    least = min(r.bound for r in records)
    informative = sum(r.bound < 1 for r in records)
    return [
        Claim(
            "Lemma 1: L(f, y) <= L(f, sgn l) + (l - y)^2 at every point",
            "for any y and l",
            f"{broken} violations at {rows:,} training rows of {total} cuts",
            holds=broken == 0,
        ),
        Claim(
            "Propositions 1 and 2: the bound is above the risk",
            f"with probability {1 - ETA - DELTA:g}",
            f"violations in {total} cuts: "
            + ", ".join(f"{count} ({name})" for name, count in above.items())
            + f"; test error up to {max(r.test_error for r in records):.2f}",
            holds=max(above.values()) <= (ETA + DELTA) * total,
        ),
        Claim(
            "Lemma 2: replacing a labeled example changes the solution by at most beta",
            "for all examples",
            f"violations in {total} cuts, and the largest change in units of beta: "
            + ", ".join(
                f"{unstable[name]} and {max(values):.2f} ({name})"
                for name, values in ratios.items()
            ),
            holds=max(unstable.values()) == 0,
        ),
        Claim(
            "The bounds are not practical: with five labels they say nothing",
            "not practical for setting gamma_g",
            f"below 1 in {informative} of {total} cuts, the least is {least:.1f}; with the paper's "
            f"beta the least is {min(r.lemma_bound for r in records):.1f}",
            holds=informative == 0,
        ),
    ]


def _lower_claim(records: Sequence[ThresholdRecord], measure: str, eps: float) -> Claim:
    """Return whether a threshold lowers a measure by more than two standard errors."""
    differences = np.array([difference(records, pair, eps, measure) for pair in PAIRS])
    mean = differences[:, 0].mean()
    error = np.sqrt(np.square(differences[:, 1]).sum()) / len(PAIRS)
    each = ", ".join(f"{pair} {_points(*d)}" for pair, d in zip(PAIRS, differences, strict=True))
    return Claim(
        f"Figure 3: the threshold {eps:g} lowers the {MEASURES[measure]}",
        "often lower",
        f"{_points(mean, error)} percentage points against eps = 0, mean over gamma_g ({each})",
        holds=None if math.isnan(error) else bool(mean + 2 * error < 0),
    )


def _all_pairs_claim(records: Sequence[ThresholdRecord]) -> Claim:
    others = sorted({r.pair for r in records} - set(PAIRS))
    parts, shares = [], []
    for eps in THRESHOLDS[1:] if others else ():
        changes = np.array([difference(records, pair, eps, "test_error")[0] for pair in others])
        lower = int((changes < 0).sum())
        shares.append(lower / len(others))
        change = _points(changes.mean(), standard_error(changes))
        parts.append(f"eps = {eps:g}: in {lower} of {len(others)}, {change} points on average")
    return Claim(
        "Beyond Figure 3: thresholding lowers the test error of the other pairs of letters",
        "not shown",
        "; ".join(parts) if others else "no other pair was run",
        holds=min(shares) > 0.5 if shares else None,
    )


def _share_claim(records: Sequence[ThresholdRecord]) -> Claim:
    tables = [
        np.array([curve(records, pair, eps, "share").mean for eps in THRESHOLDS]) for pair in PAIRS
    ]
    mean = np.mean(tables, axis=0)
    rise = max(max(np.diff(t, axis=0).max(), np.diff(t, axis=1).max()) for t in tables)
    listed = "; ".join(
        f"eps = {eps:g}: {row[0]:.0%} at gamma_g = {GAMMA_G[0]:g}, {row[-1]:.0%} at {GAMMA_G[-1]:g}"
        for eps, row in zip(THRESHOLDS, mean, strict=True)
    )
    return Claim(
        "Figure 3: fewer rows are learned from as gamma_g or eps increases",
        "in the pictures",
        f"{listed}; the largest rise is of {100 * max(0.0, float(rise)):.2f} points",
        # An l that changes its sign with gamma_g crosses zero, and is below eps for a moment only.
        holds=bool(rise <= LIKELIHOOD_TOLERANCE),
    )


def _redundant_claim(records: Sequence[ThresholdRecord]) -> Claim:
    parts, ranges = [], []
    for pair in PAIRS:
        curves = [curve(records, pair, eps, "test_error") for eps in THRESHOLDS]
        best = [float(c.mean.min()) for c in curves]
        where = [c.gamma_g[int(c.mean.argmin())] for c in curves]
        ranges.append(abs(best[2] - best[1]))
        listed = ", ".join(f"{100 * b:.1f} at {g:.2g}" for b, g in zip(best, where, strict=True))
        parts.append(f"{pair} {listed}")
    return Claim(
        "Figure 3: gamma_g and eps are redundant: another gamma_g makes up for another eps > 0",
        "the same result is often achieved by different combinations",
        f"least test error [%] and its gamma_g for eps = {', '.join(f'{e:g}' for e in THRESHOLDS)}:"
        f" {'; '.join(parts)}",
        holds=max(ranges) <= LIKELIHOOD_TOLERANCE,
    )


def _points(change: float, error: float) -> str:
    """Return a change in percentage points with its standard error, where there is one."""
    text = f"{100 * change:+.2f}"
    return text if math.isnan(error) else f"{text} ± {100 * error:.2f}"
