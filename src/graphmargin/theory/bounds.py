"""The bound on the risk of a max-margin graph cut, with its terms."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from graphmargin._checks import check_real
from graphmargin._typing import FloatArray
from graphmargin.harmonic.solution import HarmonicSolution
from graphmargin.theory.capacity import check_probability, inductive_error
from graphmargin.theory.stability import Stability, stability_coefficient, transductive_error


@dataclass(frozen=True)
class RiskBound:
    """A bound on the probability that sgn(f(x)) is wrong (Propositions 1 and 2).

    Attributes
    ----------
    empirical_risk : float
        Share of all points that have ``abs(l_i) >= eps`` and where f contradicts the induced label.
    threshold_term : float
        ``2 eps n_eps / n``.
    labeled_risk : float
        Mean of ``(l_i - y_i)^2`` over the labels.
    transductive_error, inductive_error : float
        Lemmas 2 and 1.
    plain_empirical_risk : float
        `empirical_risk` for eps = 0.
    beta, stability
        Stability coefficient and its kind; see `stability_coefficient`.
    vc_dimension : float
    n, n_labeled, n_eps : int
        Number of points, of labels, and of points with ``abs(l_i) < eps``.
    eps, eta, delta : float

    Examples
    --------
    >>> from graphmargin import MaxMarginGraphCut
    >>> from graphmargin.datasets import make_lattices
    >>> X, y, _, W = make_lattices()
    >>> model = MaxMarginGraphCut(kernel="linear", gamma_g=0.1, C=10.0, c_labeled=1.0)
    >>> scores = model.fit(X, y, W=W).decision_function(X)
    >>> bound = risk_bound(model.harmonic_solution_, scores, vc_dimension=3)
    >>> bound.empirical_risk, bound.n_labeled, bound.bound > 1
    (0.02, 2, True)
    """

    empirical_risk: float
    threshold_term: float
    labeled_risk: float
    transductive_error: float
    inductive_error: float
    plain_empirical_risk: float
    beta: float
    stability: Stability
    vc_dimension: float
    n: int
    n_labeled: int
    n_eps: int
    eps: float
    eta: float
    delta: float

    @property
    def bound(self) -> float:
        """The bound of Proposition 2: the sum of the first five terms."""
        return self.empirical_risk + self.threshold_term + self._common

    @property
    def plain(self) -> float:
        """The bound of Proposition 1, without threshold."""
        return self.plain_empirical_risk + self._common

    @property
    def probability(self) -> float:
        """Probability ``1 - (eta + delta)`` with which the bound holds."""
        return 1 - (self.eta + self.delta)

    @property
    def informative(self) -> bool:
        """True if the bound is below 1/2, the risk of a random guess."""
        return self.bound < 0.5

    @property
    def _common(self) -> float:
        return self.labeled_risk + self.transductive_error + self.inductive_error

    def __str__(self) -> str:
        """Return a table of the terms, and a sentence on whether the bound is informative."""
        rows = [
            ("risk on induced labels", self.empirical_risk, f"n = {self.n}"),
            (
                "threshold term",
                self.threshold_term,
                f"eps = {self.eps:g}, n_eps = {self.n_eps}",
            ),
            ("squared error at labels", self.labeled_risk, f"n_labeled = {self.n_labeled}"),
            (
                "transductive error",
                self.transductive_error,
                f"beta = {self.beta:.3g} ({self.stability}), delta = {self.delta:g}",
            ),
            (
                "inductive error",
                self.inductive_error,
                f"VC dimension = {self.vc_dimension:g}, eta = {self.eta:g}",
            ),
            ("bound on the risk", self.bound, f"with probability {self.probability:g}"),
        ]
        lines = [f"{name:<24}{value:>10.4g}   {note}" for name, value, note in rows]
        return "\n".join([*lines, self._verdict(max(rows[:-1], key=lambda row: row[1])[0])])

    def _verdict(self, largest: str) -> str:
        """Return a sentence on whether the bound is informative and, if not, on a remedy."""
        if self.informative:
            return "The bound is informative: it is below 1/2, the risk of a random guess."
        return (
            "The bound is not informative, because it is not below 1/2, the risk of a random "
            f"guess; the largest term is the {largest}, {self._remedy(largest)}."
        )

    def _remedy(self, term: str) -> str:
        if self.stability != "graph":
            return (
                f"but with stability={self.stability!r} the bound exceeds 1 for all data: use "
                "stability='graph'"
            )
        remedies = {
            "risk on induced labels": "a more flexible kernel or a larger C",
            "threshold term": "a smaller `eps`",
            "squared error at labels": "a smaller `gamma_g` or `c_unlabeled`",
            "transductive error": "a larger number of labels",
            "inductive error": "a larger number of points or a kernel of smaller VC dimension",
        }
        if self.n_labeled * self.beta > 4:  # more labels help only if beta is small
            remedies["transductive error"] = "a smaller `c_labeled` or a larger `gamma_g`"
        if math.isinf(self.vc_dimension):
            remedies["inductive error"] = "a kernel of finite VC dimension, such as the linear one,"
        return f"which {remedies[term]} would lower"


def risk_bound(
    solution: HarmonicSolution,
    scores: npt.ArrayLike,
    *,
    vc_dimension: float,
    eps: float = 1e-6,
    eta: float = 0.05,
    delta: float = 0.05,
    stability: Stability = "graph",
) -> RiskBound:
    """Return the bound on the risk of a function f that learned from graph-induced labels.

    With probability ``1 - (eta + delta)``, the risk of f is at most (Proposition 2)
    ``1/n sum_{i: abs(l_i) >= eps} [sgn(f(x_i)) != sgn(l_i)] + 2 eps n_eps / n
    + 1/n_l sum_{labels} (l_i - y_i)^2 + Delta_T(beta, n_l, delta) + Delta_I(h, n, eta)``.

    Parameters
    ----------
    solution : HarmonicSolution
        Soft solution for two classes, before class mass normalization, with the same finite trust
        ``c_labeled`` in all labels, ``c_unlabeled`` below it, and a finite gamma_g.
    scores : array of shape (n,)
        f(x_i) of the points of the graph; positive is the second class.
    vc_dimension : float > 0
        VC dimension h of the class of f, such as that of `vc_dimension`.
    eps : float in [0, 1), default=1e-6
        Smallest confidence of the induced labels that f learned from; 0 gives Proposition 1.
    eta, delta : float in (0, 1), default=0.05
        Probabilities that the inductive and the transductive part fail; their sum is below 1.
    stability : {"graph", "spectral", "lemma"}, default="graph"
        Stability coefficient, see `stability_coefficient`. With "spectral" and "lemma", those of
        the paper, the bound exceeds 1 whatever the data.

    Returns
    -------
    RiskBound

    Notes
    -----
    An informative bound takes tens of thousands of labels, and a well-connected graph with edges
    much heavier than ``c_labeled``. A large gamma_g makes the solution stable, but takes
    ``(l_i - y_i)^2`` towards 1.

    Where ``l_i = 0``, which has no sign, f counts as wrong.

    Examples
    --------
    >>> from graphmargin.harmonic import harmonic_solution
    >>> path = np.array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0.0]])
    >>> soft = harmonic_solution(path, ["a", "", "", "b"], c_labeled=1.0, c_unlabeled=0.1)
    >>> print(risk_bound(soft, [-2.0, -1.0, 1.0, 2.0], vc_dimension=2))
    risk on induced labels           0   n = 4
    threshold term                   0   eps = 1e-06, n_eps = 0
    squared error at labels     0.1631   n_labeled = 2
    transductive error           27.05   beta = 4 (graph), delta = 0.05
    inductive error              1.513   VC dimension = 2, eta = 0.05
    bound on the risk            28.72   with probability 0.9
    The bound is not informative, because it is not below 1/2, the risk of a random guess; the \
largest term is the transductive error, which a smaller `c_labeled` or a larger `gamma_g` would \
lower.
    """
    problem = solution.problem
    codes, labeled = problem.labels.codes, problem.labels.labeled
    if len(solution.classes) != 2:
        msg = (
            f"`solution` must have two classes, got {len(solution.classes)}; bound each pair of "
            "classes separately"
        )
        raise ValueError(msg)
    trust = np.unique(problem.trust[labeled])
    if len(trust) > 1:
        msg = (
            f"`c_labeled` must be the same at all labels, got {trust[0]} to {trust[-1]}; solve "
            "with one number"
        )
        raise ValueError(msg)
    if check_real("eps", eps, finite=False) >= 1:
        msg = f"`eps` must be below 1, got {eps!r}; no confidence is larger"
        raise ValueError(msg)
    check_probability("eta", eta)
    check_probability("delta", delta)
    if eta + delta >= 1:
        msg = f"`eta` + `delta` must be below 1, got {eta + delta}; lower one of them"
        raise ValueError(msg)
    f = _check_scores(scores, len(codes))
    n, n_labeled, ell = len(codes), int(labeled.sum()), solution.ell
    beta = stability_coefficient(
        problem.W,
        n_labeled,
        gamma_g=solution.gamma_g,
        c_labeled=float(trust[0]),
        c_unlabeled=problem.c_unlabeled,
        stability=stability,
    )
    wrong, uncertain = (f > 0) != solution.codes, np.abs(ell) < eps
    n_eps = int(uncertain.sum())
    return RiskBound(
        empirical_risk=float((wrong & ~uncertain).mean()),
        threshold_term=2 * eps * n_eps / n,
        labeled_risk=float(np.square(ell - (2 * codes - 1))[labeled].mean()),
        transductive_error=transductive_error(beta, n_labeled, delta),
        inductive_error=inductive_error(vc_dimension, n, eta),
        plain_empirical_risk=float(wrong.mean()),
        beta=beta,
        stability=stability,
        vc_dimension=vc_dimension,
        n=n,
        n_labeled=n_labeled,
        n_eps=n_eps,
        eps=eps,
        eta=eta,
        delta=delta,
    )


def _check_scores(scores: Any, n: int) -> FloatArray:
    f: FloatArray = np.asarray(scores, dtype=np.float64)
    if f.shape != (n,) or not np.isfinite(f).all():
        finite = "" if np.isfinite(f).all() else " with NaN or infinity"
        msg = (
            f"`scores` must hold {n} finite numbers, f(x) of each vertex, got shape "
            f"{f.shape}{finite}"
        )
        raise ValueError(msg)
    return f
