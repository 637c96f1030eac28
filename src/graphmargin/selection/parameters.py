"""Parameters of the classifiers, read from an estimator and validated before any work.

A parameter is a value, "auto", or a list of candidates. Candidates for the parameters in
`SHARED_PARAMETERS` are tried on the same graph with the same kernel. All others need their own
graph or kernel, and every combination of them is one set of parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from numbers import Real
from typing import Any

import numpy as np

from graphmargin._checks import check_choice, check_integer, check_real
from graphmargin.graph._search.neighbors import check_n_neighbors
from graphmargin.graph.adjacency import METRICS, Metric
from graphmargin.graph.weights import Width, check_width, numeric_width
from graphmargin.harmonic.problem import check_c_unlabeled, check_gamma_g, check_trust
from graphmargin.harmonic.solution import check_priors
from graphmargin.labels import EncodedLabels
from graphmargin.margin.class_weights import check_class_weight, class_weights
from graphmargin.margin.induced import LOSS_WEIGHTS
from graphmargin.margin.kernels import COEF0_HINT, Kernel
from graphmargin.margin.manifold import check_gamma_u
from graphmargin.margin.training import APPROXIMATIONS, Approximation, check_approximation

Candidates = tuple[Any, ...] | None
"""Values of a parameter to try; None is "auto"."""
Check = Callable[[Any], Any]
"""A function that returns the validated value of a parameter, or raises ValueError."""

AUTO = "auto"
SHARED_PARAMETERS = ("gamma_g", "C", "gamma_u", "class_mass_normalization")
"""Parameters whose candidates share a graph and a kernel."""
C_LIMITS = (1e-30, 1e30)
"""Range of C, whose products with losses are finite in single precision."""
KERNEL_PARAMETERS = ("kernel", "degree", "coef0")
GRAPH_PARAMETERS = ("n_neighbors", "metric")
SINGLE_PARAMETERS = ("approximation", "class_weight")
"""Parameters without candidates: they choose an algorithm, or say what errors cost."""
CLASS_SHARE_PARAMETERS = ("class_mass_normalization", "class_prior")
"""Parameters for which a sequence of numbers is one value, a share for each class."""
EXECUTION_PARAMETERS = ("cv", "n_jobs", "random_state", "verbose")
"""Parameters of the execution of a fit, which have no candidates."""
ARRAY_PARAMETERS = ("c_labeled", *CLASS_SHARE_PARAMETERS)
"""Parameters for which an array or a tuple is one value, so that candidates come in a list."""


@dataclass(frozen=True)
class GraphParameters:
    """Parameters of a k-NN graph."""

    n_neighbors: int
    width: Width
    metric: Metric


@dataclass(frozen=True)
class KernelParameters:
    """A kernel whose width may depend on the rows."""

    kernel: Kernel = field(default_factory=lambda: Kernel("linear"))
    width: Width = 1.0

    def kernel_for(self, X: Any, width: float | None = None) -> Kernel:
        """Return the kernel for some rows, with a `width` that is computed already if given."""
        if self.kernel.kind == "precomputed":
            return self.kernel
        width = numeric_width(X, self.width) if width is None else width
        kernel = replace(self.kernel, width=width)
        kernel.check_range(X)
        return kernel


@dataclass(frozen=True)
class Parameters:
    """Parameters of a classifier for one graph and one kernel, with defaults for those it lacks.

    Attributes
    ----------
    kernel : KernelParameters
    graph : GraphParameters or None
        None if a graph is given, or none is used.
    gamma_g, C, gamma_u, class_mass_normalization : tuple or None
        Candidates; None is "auto".
    class_weight : tuple of float or None
        Weight of the losses of each class; None if all are one. Before labels are read, as given.
    list_values : mapping
        Values, in this set, of the other parameters that are lists of candidates.
    approximation, eps, loss_weights, ...
        As in the classifiers.
    """

    kernel: KernelParameters = field(default_factory=KernelParameters)
    graph: GraphParameters | None = None
    gamma_g: Candidates = (np.inf,)
    C: Candidates = (10.0,)
    class_weight: Any = None
    gamma_u: Candidates = (0.0,)
    class_mass_normalization: Candidates = (False,)
    approximation: Approximation = "auto"
    eps: float = 1e-6
    loss_weights: str = "confidence"
    c_labeled: Any = np.inf
    c_unlabeled: float = 0.0
    laplacian_power: int = 1
    normalized: bool = False
    fit_intercept: bool = True
    class_prior: Any = None
    list_values: Mapping[str, Any] = field(default_factory=dict)


def read_parameters(
    model: Any, labels: EncodedLabels | None, *, has_graph: bool = False
) -> tuple[Parameters, ...]:
    """Return the validated parameters of an estimator, one set for each graph and kernel.

    `has_graph` tells whether a graph is given, so that none is built. `labels` is None for an
    estimator that has not read its rows yet, and has no parameter that depends on them.

    Raises
    ------
    ValueError
        If a value, a candidate or a combination of them is invalid.
    """
    given = model.get_params(deep=False)
    if "metric" in given:
        _check_given_graph(given, has_graph=has_graph)
    unused = GRAPH_PARAMETERS if has_graph else ()
    values = {
        name: _check_candidates(name, given[name], check)
        for name, check in _checks(labels).items()
        if name in given and name not in unused
    }
    shared = {name: values.pop(name) for name in SHARED_PARAMETERS if name in values}
    lists = [name for name in values if _is_list(name, given[name])]
    return tuple(_parameters(point, shared, lists) for point in _combinations(values))


def has_parameters_to_choose(model: Any, auto: tuple[str, ...]) -> bool:
    """Tell whether there is a parameter to choose: one of `auto` is "auto", or any is a list.

    Raises
    ------
    ValueError
        If `cv` is given although there is nothing to choose.
    """
    given = model.get_params(deep=False)
    if any(is_auto(given[name]) for name in auto):
        return True
    if any(_is_list(name, value) for name, value in given.items()):
        return True
    if model.cv is not None:
        msg = (
            f"`cv`={model.cv!r} needs a parameter to choose, but all are fixed; pass a list of "
            f"candidates, such as {auto[-1]}=[1.0, 10.0], or 'auto'"
        )
        raise ValueError(msg)
    return False


def fixed_value(candidates: Candidates) -> Any:
    """Return the value of a fixed parameter."""
    if candidates is None or len(candidates) != 1:
        msg = f"a fixed parameter must have one value, got {candidates!r}"
        raise ValueError(msg)
    return candidates[0]


def is_auto(value: Any) -> bool:
    """Tell whether the value of a parameter is "auto"."""
    return isinstance(value, str) and value == AUTO


def is_pairwise(kernel: Any) -> bool:
    """Tell whether a kernel, or the only one of a list, is precomputed."""
    if _is_list("kernel", kernel) and len(kernel) == 1:
        kernel = kernel[0]
    return isinstance(kernel, str) and kernel == "precomputed"


def _is_list(name: str, value: Any) -> bool:
    """Tell whether a value is a list of candidates, or another sequence of them."""
    if name in EXECUTION_PARAMETERS:
        return False
    if isinstance(value, list):
        return not (name in CLASS_SHARE_PARAMETERS and value and all(map(_is_number, value)))
    is_sequence = isinstance(value, tuple) or (isinstance(value, np.ndarray) and value.ndim > 0)
    return is_sequence and name not in ARRAY_PARAMETERS


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def _check_candidates(name: str, value: Any, check: Check) -> Candidates:
    """Return the validated candidates of a list, a single value, or None for "auto"."""
    if is_auto(value) and name in SHARED_PARAMETERS:
        return None
    if name in SINGLE_PARAMETERS or not _is_list(name, value):
        return (check(value),)
    if len(value) == 0:
        msg = f"`{name}` must be a value or a list of candidates, got an empty list"
        raise ValueError(msg)
    if any(map(is_auto, value)):
        msg = f"`{name}` must not have 'auto' in a list of candidates; pass 'auto', or values"
        raise ValueError(msg)
    return tuple(check(candidate) for candidate in value)


def _combinations(values: Mapping[str, Candidates]) -> list[dict[str, Any]]:
    """Return all combinations of values; degree and coef0 vary for the polynomial kernel only."""
    kernels = values.get("kernel") or ()
    if len(kernels) > 1 and any(map(is_pairwise, kernels)):
        msg = "`kernel` must not have 'precomputed' in a list with others, which need rows"
        raise ValueError(msg)
    lists = [candidates or () for candidates in values.values()]
    points = [dict(zip(values, point, strict=True)) for point in product(*lists)]
    first = points[0]
    return [
        point
        for point in points
        if not kernels
        or point["kernel"] == "poly"
        or all(point[name] == first[name] for name in ("degree", "coef0"))
    ]


def _parameters(point: dict[str, Any], shared: Mapping[str, Any], lists: list[str]) -> Parameters:
    """Return the set of parameters for one combination of values."""
    others: dict[str, Any] = {"list_values": {name: point[name] for name in lists}}
    given = point.pop("width")
    if "kernel" in point:
        kernel = Kernel(**{"kind" if n == "kernel" else n: point.pop(n) for n in KERNEL_PARAMETERS})
        check_approximation(point.get("approximation", "auto"), kernel.kind)
        others["kernel"] = KernelParameters(kernel, given)
    else:  # a kernel that is not used asks nothing of the rows
        others["kernel"] = KernelParameters(Kernel("precomputed"))
    if "metric" in point:
        metric = point.pop("metric")
        others["graph"] = GraphParameters(point.pop("n_neighbors"), given, metric)
    return Parameters(**point, **shared, **others)


def _check_given_graph(given: Mapping[str, Any], *, has_graph: bool) -> None:
    """Raise ValueError for a kernel matrix without a graph, and for candidates of a given graph."""
    if not has_graph and is_pairwise(given.get("kernel")):
        msg = "`kernel`='precomputed' has no points to build a graph from; pass W to fit"
        raise ValueError(msg)
    for name in GRAPH_PARAMETERS:
        if has_graph and _is_list(name, given[name]):
            msg = (
                f"`{name}`={given[name]!r} has candidates for a graph, but W is given; pass either "
                "the candidates or W"
            )
            raise ValueError(msg)


def _checks(labels: EncodedLabels | None) -> dict[str, Check]:
    """Return the checks of all parameters that a classifier may have."""
    checks: dict[str, Check] = {
        "gamma_g": check_gamma_g,
        "C": partial(
            check_real,
            "C",
            positive=True,
            limits=C_LIMITS,
            hint="; C = 1 / (2 gamma), or use 'auto'",
        ),
        "class_weight": check_class_weight,
        "gamma_u": check_gamma_u,
        "approximation": partial(check_choice, "approximation", choices=APPROXIMATIONS),
        "kernel": lambda kernel: Kernel(kernel).kind,
        "degree": partial(check_integer, "degree", low=1),
        "coef0": partial(check_real, "coef0", hint=COEF0_HINT),
        "width": check_width,
        "n_neighbors": partial(check_integer, "n_neighbors", low=1),
        "metric": partial(check_choice, "metric", choices=METRICS),
        "eps": _check_eps,
        "loss_weights": partial(check_choice, "loss_weights", choices=LOSS_WEIGHTS),
    }
    if labels is not None:
        checks |= {
            "class_weight": partial(_check_class_weight, labels),
            "class_mass_normalization": partial(_check_normalization, labels),
            "n_neighbors": partial(check_n_neighbors, n_points=len(labels.codes)),
            "c_labeled": partial(_check_c_labeled, labels),
            "class_prior": partial(_check_class_prior, labels),
        }
    return checks | {
        "c_unlabeled": check_c_unlabeled,
        "laplacian_power": partial(check_integer, "laplacian_power", low=1),
        "normalized": partial(_check_bool, "normalized"),
        "fit_intercept": partial(_check_bool, "fit_intercept"),
    }


def _check_eps(eps: Any) -> float:
    hint = "; it is the smallest confidence to learn from"
    if check_real("eps", eps, finite=False, hint=hint) >= 1:
        msg = f"`eps` must be below 1, got {eps!r}; no confidence is larger"
        raise ValueError(msg)
    return float(eps)


def _check_bool(name: str, value: Any) -> bool:
    if type(value) not in (bool, np.bool_):
        msg = f"`{name}` must be True or False, got {value!r}"
        raise ValueError(msg)
    return bool(value)


def _check_c_labeled(labels: EncodedLabels, c_labeled: Any) -> Any:
    check_trust(c_labeled, labels.labeled)
    return c_labeled


def _check_class_weight(labels: EncodedLabels, value: Any) -> tuple[float, ...] | None:
    return class_weights(value, labels.classes, labels.one_hot.sum(axis=0))


def _check_normalization(labels: EncodedLabels, value: Any) -> Any:
    """Return class priors as a tuple, or False for no normalization."""
    if isinstance(value, bool | np.bool_):
        return tuple(labels.one_hot.sum(axis=0).tolist()) if value else False
    priors = check_priors("class_mass_normalization", value, len(labels.classes))
    return tuple(priors.tolist())


def _check_class_prior(labels: EncodedLabels, value: Any) -> Any:
    """Return the class shares that fix the mean of f as an array, or None.

    Shares from labels are their posterior mean if all shares are equally likely before: one label
    more in each class.
    """
    if value is None:
        return None
    if isinstance(value, str):
        check_choice("class_prior", value, ("labels",), ", None or an array")
        shares = labels.one_hot.sum(axis=0) + 1.0
    else:
        shares = check_priors("class_prior", value, len(labels.classes))
    return np.asarray(shares / shares.sum())
