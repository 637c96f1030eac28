"""Hard, regularized and soft harmonic solutions as one absorbing random walk.

All of them minimize ``(l - y)' C (l - y) + l' (L + gamma_g I) l`` (eqs. HFS, reg HFS, soft HFS),
where C holds the trust in the labels, which is infinite for a hard label, and y is zero on
unlabeled vertices. With one column of y for each class, a walk that starts at vertex i

- moves to j at rate ``w_ij``,
- ends in the class of a labeled vertex j: on arrival where the label is hard, at rate ``c_j``
  where it is soft,
- ends in the sink at rate ``gamma_g``, plus ``c_unlabeled`` if i is unlabeled.

The probabilities X (a column for each class, then the sink) solve ``diag(s) X = W X + B`` on the
*free* vertices, those without a hard label: W are the edges between free vertices, B >= 0 the
rates of absorption and ``s = W 1 + B 1``. The matrix ``diag(s) - W`` is symmetric positive
definite, every row of X sums to one, and a solver needs W and B only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from graphmargin._checks import check_real
from graphmargin._typing import BoolArray, FloatArray, IntArray
from graphmargin.graph.adjacency import check_graph
from graphmargin.graph.laplacian import components
from graphmargin.labels import EncodedLabels, encode_labels

MAX_RATE = 1e290
"""Largest finite rate of absorption; solvers multiply it by a billion."""


@dataclass(frozen=True)
class HarmonicProblem:
    """A graph, labels and the trust in them: the whole problem except for gamma_g."""

    W: sparse.csr_array
    labels: EncodedLabels
    trust: FloatArray
    """c_labeled at labeled vertices, infinite for hard labels, and zero elsewhere."""
    c_unlabeled: float
    component: IntArray
    """Index of the connected component of every vertex."""

    @cached_property
    def hard(self) -> BoolArray:
        """Vertices with a hard label, which is fixed."""
        return np.isinf(self.trust)

    @cached_property
    def labels_in_component(self) -> IntArray:
        """Number of labels of positive trust in the component of every vertex."""
        counts = np.bincount(self.component[self.trust > 0], minlength=self.component.max() + 1)
        return np.asarray(counts[self.component])

    @property
    def reached(self) -> BoolArray:
        """Vertices in a component with a label."""
        return np.asarray(self.labels_in_component > 0)

    @cached_property
    def free(self) -> IntArray:
        """Vertices to solve for: reached by a label, and without a hard label."""
        return np.flatnonzero(self.reached & ~self.hard)

    @property
    def inner_edges(self) -> sparse.csr_array:
        """Edges between free vertices."""
        return sparse.csr_array(self.W[self.free][:, self.free])

    def edges_to_labels(self, at_soft: FloatArray) -> sparse.csr_array:
        """Return the edges of the free vertices to hard labels and to their own soft ones.

        The result has shape (n_free, n_l); `at_soft` has the weight of an edge to a soft label at
        the vertex, for each free vertex.
        """
        labeled = np.flatnonzero(self.labels.labeled)
        is_hard = sparse.diags_array(self.hard[labeled].astype(np.float64))
        is_own = sparse.eye_array(len(self.trust), format="csr")[self.free][:, labeled]
        edges = self.W[self.free][:, labeled] @ is_hard
        return sparse.csr_array(edges + sparse.diags_array(at_soft) @ is_own)

    @cached_property
    def label_rates(self) -> sparse.csr_array:
        """Rates of absorption of the free vertices into each label, (n_free, n_l).

        A walk meets a hard label at the weight of the edge to it, and a soft one at its own vertex,
        at the rate of the trust in it.
        """
        return self.edges_to_labels(self.trust[self.free])

    @property
    def class_rates(self) -> FloatArray:
        """Rates of absorption of the free vertices into the classes, (n_free, c)."""
        return np.asarray(self.label_rates @ self.labels.one_hot[self.labels.labeled])

    def without_labels(self, vertices: IntArray | Sequence[int]) -> HarmonicProblem:
        """Return the problem in which some vertices are unlabeled."""
        trust = self.trust.copy()
        trust[vertices] = 0.0
        return replace(self, labels=self.labels.without(vertices), trust=trust)

    def sink_rates(self, gamma_g: float) -> FloatArray:
        """Return the rates of absorption of the free vertices into the sink."""
        return gamma_g + np.where(self.labels.labeled[self.free], 0.0, self.c_unlabeled)

    def rates(self, gamma_g: float) -> FloatArray:
        """Return B: absorption into the classes and, if there is any, into the sink."""
        sink = self.sink_rates(gamma_g)
        if not sink.any():
            return self.class_rates
        return np.column_stack([self.class_rates, sink])


def harmonic_problem(
    W: Any, y: npt.ArrayLike, *, c_labeled: Any = np.inf, c_unlabeled: float = 0.0
) -> HarmonicProblem:
    """Return the problem on a given graph, after a check; see `harmonic_solution`."""
    return make_harmonic_problem(
        check_graph(W), encode_labels(y), c_labeled=c_labeled, c_unlabeled=c_unlabeled
    )


def make_harmonic_problem(
    W: sparse.csr_array, labels: EncodedLabels, *, c_labeled: Any, c_unlabeled: float
) -> HarmonicProblem:
    """Return the problem on a validated graph with encoded labels."""
    n = W.shape[0]
    if len(labels.codes) != n:
        msg = f"`y` must have one entry for each of the {n} vertices, got {len(labels.codes)}"
        raise ValueError(msg)
    return HarmonicProblem(
        W,
        labels,
        check_trust(c_labeled, labels.labeled),
        check_c_unlabeled(c_unlabeled),
        components(W),
    )


def check_gamma_g(gamma_g: Any) -> float:
    """Return gamma_g as a float, or raise ValueError."""
    hint = "; use `inf` for supervised learning only"
    return check_real("gamma_g", gamma_g, finite=False, limits=(0.0, MAX_RATE), hint=hint)


def check_c_unlabeled(c_unlabeled: Any) -> float:
    """Return c_unlabeled as a float, or raise ValueError."""
    hint = "; 0 leaves unlabeled vertices free"
    return check_real("c_unlabeled", c_unlabeled, limits=(0.0, MAX_RATE), hint=hint)


def check_trust(c_labeled: Any, labeled: BoolArray) -> FloatArray:
    """Return the trust in every label as an array, 0 elsewhere, or raise ValueError."""
    try:
        trust = np.asarray(c_labeled, dtype=np.float64)
    except (TypeError, ValueError) as error:
        msg = f"`c_labeled` must be a number or an array of numbers, got {c_labeled!r}"
        raise ValueError(msg) from error
    if trust.shape not in ((), labeled.shape):
        msg = (
            "`c_labeled` must be a number or have one entry for each of the "
            f"{len(labeled)} vertices, got shape {trust.shape}"
        )
        raise ValueError(msg)
    trust = np.where(labeled, trust, 0.0)
    if not (trust >= 0).all():
        msg = f"`c_labeled` must be >= 0, got {trust.min()}; use `inf` for hard labels"
        raise ValueError(msg)
    largest = float(trust[np.isfinite(trust)].max(initial=0.0))
    check_real("c_labeled", largest, limits=(0.0, MAX_RATE), hint="; use `inf` for hard labels")
    if not trust.any():
        msg = (
            "`c_labeled` must be > 0 at some label, got 0 at all of them; use `inf` for hard labels"
        )
        raise ValueError(msg)
    return trust
