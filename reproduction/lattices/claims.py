"""The claims on Figures 1 and 2, compared with what is computed here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from graphmargin._typing import FloatArray
from graphmargin.datasets import make_lattices
from reproduction.claims import Claim
from reproduction.lattices.run import (
    FIGURE2_GAMMA_G,
    UNDECIDED,
    FieldRecord,
    SweepRecord,
    VertexRecord,
    separations_of,
)
from reproduction.published import KERNELS

DELTA = 218.351
"""Published spread of the graph along each axis."""
UNSURE = 0.05
"""Confidences and values of f below it are yellow in the figures."""
ALIKE = (0.95, 0.9)
"""Share of points on the same side, and correlation, from which on functions count as alike."""
SMALL_ANGLE = 1e-3
"""Angle in degrees that counts as zero, as the machines are solved to six digits."""


def figure1_claims(vertices: Sequence[VertexRecord]) -> list[Claim]:
    """Return the claims on the graph and its harmonic solutions."""
    X, _, _, W = make_lattices()
    edges = W.tocoo()
    deltas = (edges.data[:, None] * (X[edges.row] - X[edges.col]) ** 2).sum(axis=0)
    confidences = {
        gamma_g: np.abs([r.ell for r in vertices if r.gamma_g == gamma_g])
        for gamma_g in sorted({r.gamma_g for r in vertices})
    }
    falling = all((next_ <= c + 1e-12).all() for c, next_ in pairwise(confidences.values()))
    right = all(r.ell * r.x1 > 0 for r in vertices)
    return [
        Claim(
            "Figure 1: both axes of the graph have the same spread Delta",
            f"{DELTA}",
            f"{deltas[0]:.3f} along x1, {deltas[1]:.3f} along x2",
            holds=bool(np.allclose(deltas, DELTA, atol=5e-4)),
        ),
        Claim(
            "Figure 1: confidence falls with gamma_g, and no induced label changes its sign",
            "three pictures",
            ", ".join(
                f"gamma_g = {gamma_g:g}: {(c < UNSURE).mean():.0%} of the vertices below {UNSURE}"
                for gamma_g, c in confidences.items()
            ),
            holds=falling and right,
        ),
    ]


def figure2_claims(fields: Sequence[FieldRecord], swept: Sequence[SweepRecord]) -> list[Claim]:
    """Return the claims on the decision functions."""
    cuts = {(s.kernel, s.gamma_g): s for s in separations_of(fields) if s.method == "GC"}
    small = [g for g in FIGURE2_GAMMA_G if all(cuts[k, g].separated for k in KERNELS)]
    right = {
        k: [200 - cuts[k, g].wrong - cuts[k, g].undecided for g in FIGURE2_GAMMA_G] for k in KERNELS
    }
    return [
        _direction_claim(fields),
        _never_claim(swept),
        Claim(
            "Figure 2: GC separates the lattices for small gamma_g, with every kernel",
            "for small gamma_g",
            f"with all kernels for gamma_g = {_listed(small)}" if small else "for none that we try",
            holds=min(FIGURE2_GAMMA_G) in small,
        ),
        Claim(
            "Figure 2: GC goes from supervised learning to all data as gamma_g decreases",
            "gradually",
            f"of 200 vertices on the right side at gamma_g = {_listed(FIGURE2_GAMMA_G)}: "
            + "; ".join(f"{k} {_listed(counts)}" for k, counts in right.items()),
            # The bisector of the two labels, which is supervised learning, is right at 180.
            holds=all(right[k][0] == 180 for k in KERNELS[:2]) and bool(small),
        ),
        _alike_claim(fields, small),
    ]


def directions(fields: Sequence[FieldRecord]) -> dict[float, float]:
    """Return the angle of the gradient of linear MR in degrees, by gamma_g."""
    angles = {}
    for gamma_g in FIGURE2_GAMMA_G:
        points, f = _function(fields, "MR", "linear", gamma_g)
        slope = np.linalg.lstsq(points, f, rcond=None)[0]
        angles[gamma_g] = math.degrees(math.atan2(slope[1], slope[0]))
    return angles


def likeness(fields: Sequence[FieldRecord], kernel: str, gamma_g: float) -> tuple[float, float]:
    """Return the share of points on the same side of MR and GC, and the correlation of the two.

    Both are over the points of the grid inside of the lattices. A point where one of the two is
    undecided is on the same side only if the other is yellow.
    """
    points, first = _function(fields, "MR", kernel, gamma_g)
    second = _function(fields, "GC", kernel, gamma_g)[1]
    x1, x2 = np.abs(points).T
    inside = (x1 >= 1) & (x1 <= 10) & (x2 <= 4.5)
    first, second = first[inside], second[inside]
    smaller = np.minimum(np.abs(first), np.abs(second))
    larger = np.maximum(np.abs(first), np.abs(second))
    same = np.where(smaller < UNDECIDED, larger < UNSURE, first * second > 0)
    return float(same.mean()), float(np.corrcoef(first, second)[0, 1])


def _direction_claim(fields: Sequence[FieldRecord]) -> Claim:
    angles = directions(fields)
    spread = max(angles.values()) - min(angles.values())
    angle = angles[max(angles)]
    return Claim(
        "Figure 2: the boundary of linear MR does not depend on gamma_u",
        "only the slope of f changes",
        f"its normal is at {angle:.2f} degrees for all six gamma_u, to {spread:.0e} degrees",
        holds=spread < SMALL_ANGLE,
    )


def _never_claim(swept: Sequence[SweepRecord]) -> Claim:
    parts = []
    for kernel in KERNELS[:2]:
        records = [r for r in swept if r.kernel == kernel]
        parts.append(
            f"{kernel}: at least {min(r.wrong for r in records)} of 200 vertices wrong without a "
            f"bias, {min(r.wrong_best_bias for r in records)} with the best one"
        )
    finite = sorted({r.gamma_u for r in swept if 0 < r.gamma_u < math.inf})
    return Claim(
        "Figure 2: linear and cubic MR do not separate the lattices, for any gamma_u",
        "for any gamma_u",
        f"{'; '.join(parts)} (gamma_u = 0, {finite[0]:g} to {finite[-1]:g}, and the limit; "
        f"{len({r.width for r in swept})} widths)",
        holds=min(r.wrong_best_bias for r in swept) > 0,
    )


def _alike_claim(fields: Sequence[FieldRecord], small: Sequence[float]) -> Claim:
    rbf = {g: likeness(fields, "rbf", g) for g in FIGURE2_GAMMA_G}
    cubic = {g: likeness(fields, "cubic", g) for g in FIGURE2_GAMMA_G}
    listed = "; ".join(f"{g:g}: {same:.0%}, {r:.2f}" for g, (same, r) in rbf.items())
    return Claim(
        "Figure 2: RBF MR and RBF GC look alike",
        "similar",
        f"same side inside the lattices, and correlation of f, by gamma_g: {listed} (cubic, where "
        f"GC separates: {_listed([f'{cubic[g][0]:.0%}, {cubic[g][1]:.2f}' for g in small], '; ')})",
        holds=bool(small) and all((np.array(rbf[g]) >= ALIKE).all() for g in small),
    )


def _function(
    fields: Sequence[FieldRecord], method: str, kernel: str, gamma_g: float
) -> tuple[FloatArray, FloatArray]:
    rows = [
        (r.x1, r.x2, r.f)
        for r in fields
        if (r.method, r.kernel, r.gamma_g) == (method, kernel, gamma_g)
    ]
    table = np.array(rows)
    return table[:, :2], table[:, 2]


def _listed(values: Sequence[object], separator: str = ", ") -> str:
    return separator.join(f"{v:g}" if isinstance(v, float) else str(v) for v in values)
