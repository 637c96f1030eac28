"""Figures 1 and 2 of the paper: harmonic solutions and decision functions on two lattices.

What the paper leaves open is chosen as follows.

- *Kernels.* Those of width 1, which is the width of the edge weights ``exp(-d^2 / 2)``: ``x.z``,
  ``(x.z + 1)^3`` and ``exp(-d^2 / 2)``. `separations` repeats the fits with width 2 and with the
  width sqrt(K) sigma of the paper's UCI experiments.
- *Bias.* Manifold regularization (MR) has none, as in the paper's Section "MR fails". `sweep`
  tells what every bias would do.
- *Values of gamma_g.* Three in Figure 1; six in Figure 2, from supervised learning down to where
  the cut (GC) separates the lattices.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphmargin._progress import report_stage
from graphmargin._typing import FloatArray, IntArray
from graphmargin.datasets import make_lattices
from graphmargin.estimators import ManifoldSVC, MaxMarginGraphCut
from graphmargin.graph.laplacian import laplacian
from graphmargin.graph.weights import paper_width
from graphmargin.harmonic import harmonic_path
from reproduction.options import RunOptions
from reproduction.published import GC, KERNEL_NAMES, KERNELS, MR
from reproduction.records import Tables

GAMMA = 0.1
EPS = 0.01
WIDTH = 1.0
METHODS = (MR, GC)
FIGURE1_GAMMA_G = (0.0, 0.1, 1.0)
FIGURE2_GAMMA_G = (100.0, 10.0, 1.0, 0.3, 0.1, 0.01)
GAMMA_U = (0.0, *(10.0 ** (power / 2) for power in range(-12, 13)), math.inf)
"""Weights of f'Lf for which MR is swept."""
SPACING = 0.5
"""Spacing of the grid of Figure 2, which has all vertices among its points."""
EXTENT = (11.0, 5.5)
"""The grid covers -11..11 and -5.5..5.5."""
UNDECIDED = 1e-4
"""Values of f closer to zero say nothing: machines are solved to about as many digits, and far from
all points an RBF f is zero."""


@dataclass(frozen=True)
class VertexRecord:
    """The regularized harmonic solution at one vertex (Figure 1).

    Attributes
    ----------
    gamma_g, x1, x2 : float
    label : {"-1", "+1", ""}
        Given label, "" for none.
    ell : float
    """

    gamma_g: float
    x1: float
    x2: float
    label: str
    ell: float


@dataclass(frozen=True)
class FieldRecord:
    """A decision function at one point (Figure 2).

    Attributes
    ----------
    method : {"MR", "GC"}
    kernel : {"linear", "cubic", "rbf"}
    gamma_g : float
        ``gamma / gamma_u`` for MR.
    x1, x2, f : float
    """

    method: str
    kernel: str
    gamma_g: float
    x1: float
    x2: float
    f: float


@dataclass(frozen=True)
class SeparationRecord:
    """Number of the 200 vertices that a decision function has on the wrong side, or on none.

    Attributes
    ----------
    width : float
        Width of the kernel.
    method, kernel, gamma_g
        As in `FieldRecord`.
    wrong : int
        Number of vertices on the wrong side.
    undecided : int
        Number of vertices where f is zero up to the precision of its solver.
    """

    width: float
    method: str
    kernel: str
    gamma_g: float
    wrong: int
    undecided: int

    @property
    def separated(self) -> bool:
        """True if all vertices are on the right side."""
        return self.wrong + self.undecided == 0


@dataclass(frozen=True)
class SweepRecord:
    """Manifold regularization with a polynomial kernel and one gamma_u, without rounding trouble.

    Attributes
    ----------
    width : float
        Width of the kernel.
    kernel : {"linear", "cubic"}
    gamma_u : float
        0 is the supervised SVM, inf the limit.
    wrong : int
        Number of vertices on the wrong side of ``h(x) = 0``.
    wrong_best_bias : int
        The same of ``h(x) + b = 0``, for the b that is best for the true classes.
    """

    width: float
    kernel: str
    gamma_u: float
    wrong: int
    wrong_best_bias: int


def run_figure1(_: RunOptions) -> Tables:
    """Return the records of Figure 1."""
    return {"figure1": harmonic_solutions()}


def run_figure2(options: RunOptions) -> Tables:
    """Return the records of Figure 2, and those of other strengths and other widths."""
    with report_stage("decision functions on the lattices", options.verbose):
        return {
            "figure2": decision_fields(),
            "figure2-sweep": sweep(),
            "figure2-widths": separations(other_widths()[-1:] if options.quick else other_widths()),
        }


def harmonic_solutions() -> list[VertexRecord]:
    """Return the harmonic solutions at all vertices, for three values of gamma_g.

    Solves ``(L_uu + gamma_g I) l_u = W_ul l_l`` (eq. reg HFS); takes milliseconds.
    """
    X, y, _, W = make_lattices()
    labels = [{-1: "", 0: "-1", 1: "+1"}[code] for code in y.tolist()]
    return [
        VertexRecord(solution.gamma_g, x1, x2, label, ell)
        for solution in harmonic_path(W, y, FIGURE1_GAMMA_G)
        for (x1, x2), label, ell in zip(X.tolist(), labels, solution.ell.tolist(), strict=True)
    ]


def decision_fields() -> list[FieldRecord]:
    """Return MR and GC with three kernels and six values of gamma_g on a grid of points.

    The parameters are the paper's: gamma = 0.1, which is C = 5, eps = 0.01 and
    gamma_g = gamma / gamma_u. Takes about a second.
    """
    grid = grid_points()
    return [
        FieldRecord(method, kernel, gamma_g, x1, x2, f)
        for method, kernel, gamma_g in itertools.product(METHODS, KERNELS, FIGURE2_GAMMA_G)
        for (x1, x2), f in zip(
            grid.tolist(), decision_function(method, kernel, gamma_g, grid).tolist(), strict=True
        )
    ]


def separations_of(records: Sequence[FieldRecord], width: float = WIDTH) -> list[SeparationRecord]:
    """Return how many vertices every function of Figure 2 gets wrong."""
    X, _, y_true, _ = make_lattices()
    signs = {(x1, x2): 2 * c - 1 for (x1, x2), c in zip(X.tolist(), y_true.tolist(), strict=True)}
    margins: dict[tuple[str, str, float], list[float]] = {}
    for r in records:
        if (r.x1, r.x2) in signs:
            key = r.method, r.kernel, r.gamma_g
            margins.setdefault(key, []).append(signs[r.x1, r.x2] * r.f)
    return [_separation(width, *key, np.array(values)) for key, values in margins.items()]


def separations(widths: Sequence[float]) -> list[SeparationRecord]:
    """Return how many vertices MR and GC get wrong with kernels of other widths."""
    X, y_true = make_lattices().X, make_lattices().y_true
    cases = itertools.product(widths, METHODS, KERNELS, FIGURE2_GAMMA_G)
    return [
        _separation(
            *(width, method, kernel, gamma_g),
            (2 * y_true - 1) * decision_function(method, kernel, gamma_g, X, width=width),
        )
        for width, method, kernel, gamma_g in cases
    ]


def other_widths() -> tuple[float, float]:
    """Return widths of the kernels beside 1: 2, and sqrt(K) sigma as in the UCI experiments.

    Examples
    --------
    >>> [round(width, 2) for width in other_widths()]
    [2.0, 6.42]
    """
    return 2.0, paper_width(make_lattices().X)


def sweep() -> list[SweepRecord]:
    r"""Return how linear and cubic MR separate the lattices, for any gamma_u and any bias.

    The reflection :math:`x \to -x` swaps the two labels, so the unique h is odd, and proportional
    to :math:`\phi(x)^\top (I + \frac{\gamma_u}{\gamma} \Phi^\top L \Phi)^{-1} \phi(x_+)` with the
    odd monomials :math:`\phi` of the kernel and the label :math:`x_+` of the second class. These
    are two or six, which avoids the rounding that kernel matrices suffer from large gamma_u, and
    even the limit of infinite gamma_u is a linear system.

    A bias that is not penalized leaves h as it is. It is 0, or anything in an interval around it
    where both hinge losses are positive; the records have the best of all real numbers.
    """
    X, y, y_true, W = make_lattices()
    L = laplacian(W)
    records = []
    for width, kernel in itertools.product((WIDTH, *other_widths()), KERNELS[:2]):
        Phi = _odd_monomials(X / width, kernel)
        form = Phi.T @ (L @ Phi)
        label = Phi[y == 1][0]
        for gamma_u in GAMMA_U:
            metric = form if math.isinf(gamma_u) else np.eye(len(form)) + gamma_u / GAMMA * form
            h = Phi @ np.linalg.solve(metric, label)
            wrong = int(((h > 0) != y_true).sum())
            records.append(SweepRecord(width, kernel, gamma_u, wrong, fewest_wrong(h, y_true)))
    return records


def fewest_wrong(h: FloatArray, y: IntArray) -> int:
    """Return on how many points ``h + b > 0`` differs from y, for the best b.

    Examples
    --------
    >>> fewest_wrong(np.array([1.0, 2.0, 3.0]), np.array([0, 1, 0]))
    1
    """
    order = np.argsort(h, kind="stable")
    ones, zeros = np.cumsum(y[order]), np.cumsum(1 - y[order])
    # The first k points in this order are called 0. A b in between needs distinct values.
    between = np.append(np.diff(h[order]) > 0, True)
    errors = ones + zeros[-1] - zeros
    return int(min(zeros[-1], errors[between].min()))


def decision_function(
    method: str, kernel: str, gamma_g: float, points: FloatArray, *, width: float = WIDTH
) -> FloatArray:
    """Return f at some points, learned from the lattices by MR (without bias) or GC.

    Examples
    --------
    >>> f = decision_function("GC", "linear", 0.01, np.array([[-1.0, -4.5], [1.0, 4.5]]))
    >>> (f > 0).tolist()
    [False, True]
    """
    X, y, _, W = make_lattices()
    shared: dict[str, Any] = {
        "kernel": KERNEL_NAMES[kernel],
        "width": width,
        "C": 1 / (2 * GAMMA),
        "n_jobs": 1,
    }
    model: Any = ManifoldSVC(gamma_u=GAMMA / gamma_g, fit_intercept=False, **shared)
    if method == GC:
        model = MaxMarginGraphCut(
            gamma_g=gamma_g,
            eps=EPS,
            loss_weights="equal",
            class_mass_normalization=False,
            **shared,
        )
    return np.asarray(model.fit(X, y, W=W).decision_function(points))


def grid_points() -> FloatArray:
    """Return the points of Figure 2, sorted by x1, then x2.

    Examples
    --------
    >>> grid_points()[[0, -1]].tolist()
    [[-11.0, -5.5], [11.0, 5.5]]
    """
    axes = [np.arange(-end, end + SPACING / 2, SPACING) for end in EXTENT]
    return np.array(list(itertools.product(*axes)))


def _separation(
    width: float, method: str, kernel: str, gamma_g: float, margins: FloatArray
) -> SeparationRecord:
    wrong, undecided = (margins <= -UNDECIDED).sum(), (np.abs(margins) < UNDECIDED).sum()
    return SeparationRecord(width, method, kernel, gamma_g, int(wrong), int(undecided))


def _odd_monomials(X: FloatArray, kernel: str) -> FloatArray:
    """Return features whose products are the odd part of x.z or (x.z + 1)^3: t, or 3 t + t^3."""
    x1, x2 = X.T
    if kernel == "linear":
        return X
    root = math.sqrt(3)
    return np.column_stack(
        [root * x1, root * x2, x1**3, root * x1**2 * x2, root * x1 * x2**2, x2**3]
    )
