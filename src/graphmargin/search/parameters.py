"""Parameters of methods, validated before any work: values, "auto", and lists of candidates.

Candidates of gamma_g, C, gamma_u and class_mass_normalization share a graph and a kernel, so that a
method tries all of their combinations. Alternatives that need their own graph or kernel are members
of an ensemble.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from graphmargin._checks import check_choice, check_integer, check_real
from graphmargin._rows import subtract_center
from graphmargin._typing import FloatArray, IntArray
from graphmargin.graph.adjacency import METRICS, Metric
from graphmargin.graph.neighbors import check_n_neighbors
from graphmargin.graph.weights import Width, check_width, numeric_width
from graphmargin.harmonic.problem import check_c_unlabeled, check_trust
from graphmargin.harmonic.solution import check_priors
from graphmargin.labels import EncodedLabels
from graphmargin.margin.kernels import COEF0_HINT, Kernel
from graphmargin.margin.training import choose_center

Candidates = tuple[Any, ...] | None
"""Values of a parameter to try; None is "auto"."""
Check = Callable[[Any], Any]
"""A function that returns the validated value of a parameter, or raises ValueError."""

AUTO = "auto"
C_LIMITS = (1e-30, 1e30)
"""Range of C, whose products with losses are finite in single precision."""
MAX_LABELS_PER_CLASS = 3
"""Largest mean number of labels per class with class mass normalization as a candidate."""
VARIANCE_ROWS = 300
"""Number of rows from which the variance of a kernel's features is estimated."""
HAT_LOSS_GRID = (0.0, 0.01, 0.1, 1.0)
"""Candidates of "auto" for gamma_u, the weight of the hat losses."""
N_NEIGHBORS = 5
"""Number of neighbors in the graph; fewer if there are fewer rows."""


@dataclass(frozen=True)
class GraphParameters:
    """Parameters of a k-NN graph."""

    n_neighbors: int
    width: Width = "paper"
    metric: Metric = "euclidean"


@dataclass(frozen=True)
class WalkParameters:
    """Parameters of the walk on a graph, all but the rate of its sink.

    Attributes
    ----------
    graph : GraphParameters or None
        None if the graph is given.
    c_labeled, c_unlabeled
        As in `graphmargin.harmonic_solution`.
    """

    graph: GraphParameters | None
    c_labeled: Any = np.inf
    c_unlabeled: float = 0.0

    @property
    def key(self) -> tuple[Any, ...]:
        """A key for equal walks, as an array of trust has no hash."""
        return self.graph, np.asarray(self.c_labeled).tobytes(), self.c_unlabeled


@dataclass(frozen=True)
class KernelParameters:
    """A kernel whose width may depend on the rows."""

    kernel: Kernel = field(default_factory=lambda: Kernel("rbf"))
    width: Width = "paper"

    def kernel_for(self, X: Any, width: float | None = None) -> Kernel:
        """Return the kernel for some rows, with a `width` that is computed already if given."""
        if self.kernel.kind == "precomputed":
            return self.kernel
        width = numeric_width(X, self.width) if width is None else width
        kernel = replace(self.kernel, width=width)
        kernel.check_range(X)
        return kernel


def read_graph(model: Any, n_rows: int, *, has_graph: bool) -> GraphParameters | None:
    """Return the validated parameters of an estimator's graph, None if the graph is given."""
    width = check_width(one_value("width", model.width))
    if has_graph:
        return None
    if is_pairwise(getattr(model, "kernel", None)):
        msg = "`kernel`='precomputed' has no points to build a graph from; pass W to fit"
        raise ValueError(msg)
    check_integer("n_neighbors", one_value("n_neighbors", model.n_neighbors), low=1)
    metric = check_choice("metric", one_value("metric", model.metric), METRICS)
    return GraphParameters(check_n_neighbors(model.n_neighbors, n_points=n_rows), width, metric)


def read_walk(model: Any, labels: EncodedLabels, *, has_graph: bool) -> WalkParameters:
    """Return the validated parameters of an estimator's walk."""
    check_trust(model.c_labeled, labels.labeled)
    c_unlabeled = check_c_unlabeled(one_value("c_unlabeled", model.c_unlabeled))
    graph = read_graph(model, len(labels.codes), has_graph=has_graph)
    return WalkParameters(graph, model.c_labeled, c_unlabeled)


def read_kernel(model: Any) -> KernelParameters:
    """Return the validated parameters of an estimator's kernel."""
    values = {name: one_value(name, getattr(model, name)) for name in ("kernel", "degree", "coef0")}
    degree = check_integer("degree", values["degree"], low=1)
    coef0 = check_real("coef0", values["coef0"], hint=COEF0_HINT)
    return KernelParameters(
        Kernel(values["kernel"], degree=degree, coef0=coef0),
        check_width(one_value("width", model.width)),
    )


def read_candidates(name: str, value: Any, check: Check, *, auto: bool = True) -> Candidates:
    """Return the validated candidates of a list, a single value, or None for "auto".

    Examples
    --------
    >>> read_candidates("C", [1, 10.0], check_C), read_candidates("C", "auto", check_C)
    ((1.0, 10.0), None)
    """
    if auto and is_auto(value):
        return None
    if not is_list(value):
        return (check(value),)
    if len(value) == 0:
        msg = f"`{name}` must be a value or a list of candidates, got an empty list"
        raise ValueError(msg)
    if any(map(is_auto, value)):
        msg = f"`{name}` must not have 'auto' in a list of candidates; pass 'auto', or values"
        raise ValueError(msg)
    return tuple(check(candidate) for candidate in value)


def read_class_shares(value: Any, labels: EncodedLabels) -> Candidates:
    """Return the candidates of `class_mass_normalization`: class shares, or False for none of them.

    Examples
    --------
    >>> from graphmargin.labels import encode_labels
    >>> read_class_shares([False, True], encode_labels(["a", "a", "b", None]))
    (False, (2.0, 1.0))
    """

    def check(value: Any) -> Any:
        if isinstance(value, bool | np.bool_):
            return tuple(labels.one_hot.sum(axis=0).tolist()) if value else False
        shares = check_priors("class_mass_normalization", value, len(labels.classes))
        return tuple(shares.tolist())

    if is_list_of_shares(value):
        return read_candidates("class_mass_normalization", value, check)
    return None if is_auto(value) else (check(value),)


def combinations(grids: Mapping[str, tuple[Candidates, Callable[[], Sequence[Any]]]]) -> list[Any]:
    """Return all combinations of the candidates of some parameters, the last one changing fastest.

    Each parameter has its candidates, and a function that returns those of "auto".

    Examples
    --------
    >>> combinations({"gamma_g": ((0.1,), list), "C": (None, lambda: [1.0, 10.0])})
    [{'gamma_g': 0.1, 'C': 1.0}, {'gamma_g': 0.1, 'C': 10.0}]
    """
    values = [auto() if given is None else given for given, auto in grids.values()]
    return [dict(zip(grids, point, strict=True)) for point in product(*values)]


def one_value(name: str, value: Any) -> Any:
    """Return the value of a parameter that has no candidates; raise ValueError for a list."""
    if is_list(value):
        msg = (
            f"`{name}` must be one value, got {value!r}; to try several values, pass a classifier "
            "with each of them to SemiSupervisedEnsemble(members=[...])"
        )
        raise ValueError(msg)
    return value


def check_C(value: Any) -> float:  # noqa: N802 - the parameter's name
    """Return C as a float, or raise ValueError."""
    hint = "; C = 1 / (2 gamma), or use 'auto'"
    return check_real("C", value, positive=True, limits=C_LIMITS, hint=hint)


def check_eps(eps: Any) -> float:
    """Return the smallest confidence of labels to learn from, or raise ValueError."""
    hint = "; it is the smallest confidence to learn from"
    if check_real("eps", one_value("eps", eps), finite=False, hint=hint) >= 1:
        msg = f"`eps` must be below 1, got {eps!r}; no confidence is larger"
        raise ValueError(msg)
    return float(eps)


def check_bool(name: str, value: Any) -> bool:
    """Return True or False, or raise ValueError."""
    if type(one_value(name, value)) not in (bool, np.bool_):
        msg = f"`{name}` must be True or False, got {value!r}"
        raise ValueError(msg)
    return bool(value)


def is_auto(value: Any) -> bool:
    """Tell whether the value of a parameter is "auto"."""
    return isinstance(value, str) and value == AUTO


def is_list(value: Any) -> bool:
    """Tell whether a value is a list of candidates, or another sequence of them."""
    return isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim > 0)


def is_list_of_shares(value: Any) -> bool:
    """Tell whether a value is a list of class shares: a sequence of numbers is one of them."""
    return isinstance(value, list) and not (value and all(map(_is_number, value)))


def is_pairwise(kernel: Any) -> bool:
    """Tell whether a kernel is precomputed."""
    return isinstance(kernel, str) and kernel == "precomputed"


def fixed_value(candidates: Candidates) -> Any:
    """Return the value of a fixed parameter."""
    if candidates is None or len(candidates) != 1:
        msg = f"a fixed parameter must have one value, got {candidates!r}"
        raise ValueError(msg)
    return candidates[0]


def gamma_g_grid(W: sparse.csr_array) -> list[float]:
    """Return inf and four values of gamma_g, from strong to weak sinks, in units of the degrees.

    Examples
    --------
    >>> gamma_g_grid(sparse.csr_array(3 * np.ones((2, 2))))
    [inf, 10.0, 1.0, 0.1, 0.01]
    """
    return gamma_g_grid_of_degrees(np.asarray(W.sum(axis=1)))


def gamma_g_grid_of_degrees(degrees: FloatArray) -> list[float]:
    """Return the values of `gamma_g_grid` from the degrees of all vertices, or of a sample.

    The walk ends in the sink with probability ``gamma_g / (d_i + gamma_g)``.

    Examples
    --------
    >>> gamma_g_grid_of_degrees(np.array([30.0, 60.0]))
    [inf, 100.0, 10.0, 1.0, 0.1]
    """
    positive = degrees[degrees > 0]
    unit = _power_of_ten(np.floor(np.log10(np.median(positive)))) if len(positive) else 1.0
    return [np.inf, 10 * unit, unit, unit / 10, unit / 100]


def c_grid(X: Any, kernel: Kernel) -> list[float]:
    """Return three values of C in units of the inverse variance of the kernel's features.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> c_grid(X, Kernel("rbf"))
    [1.0, 10.0, 100.0]
    >>> c_grid(100 * X, Kernel("linear"))
    [1e-05, 0.0001, 0.001]
    """
    rows = np.arange(0, X.shape[0], -(-X.shape[0] // VARIANCE_ROWS))
    if kernel.kind == "precomputed":
        K = kernel.select_rows(X, rows)
        K = K.toarray() if sparse.issparse(K) else K
    else:
        points = subtract_center(X[rows], choose_center(X[rows], kernel))
        K = kernel(points, points)
    variance = float(np.diagonal(K).mean() - K.mean())
    rounding = 10 * np.finfo(K.dtype).eps * float(np.abs(K).mean())
    unit = _power_of_ten(np.round(-np.log10(variance) - 0.25)) if variance > rounding else 1.0
    return [unit, 10 * unit, 100 * unit]


def gamma_u_grid(n: int) -> list[float]:
    """Return 0 and four values of gamma_u, the weight of f'Lf, in units of 1 / n.

    Examples
    --------
    >>> gamma_u_grid(1000)
    [0.0, 0.0001, 0.001, 0.01, 0.1]
    """
    return [0.0, *(factor / n for factor in (0.1, 1.0, 10.0, 100.0))]


def share_grid(label_counts: IntArray) -> list[Any]:
    """Return False and, if labels are few, class shares for class mass normalization.

    The shares are the class counts of the labels, with one label more in each class.

    Examples
    --------
    >>> share_grid(np.array([2, 1]))
    [False, (3, 2)]
    """
    if label_counts.sum() > MAX_LABELS_PER_CLASS * len(label_counts):
        return [False]
    return [False, tuple((label_counts + 1).tolist())]


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def _power_of_ten(exponent: Any) -> float:
    return float(f"1e{int(exponent)}")
