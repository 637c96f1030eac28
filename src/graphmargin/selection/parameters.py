"""Parameters of the classifiers: read from an estimator once and validated before any work.

A parameter is a value, "auto", or a list of candidates. Candidates for some parameters share a
graph and a kernel; they are kept together as a tuple of values, None for "auto". All others need a
graph or a kernel of their own: every combination of them is one set of parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from numbers import Real
from typing import Any

import numpy as np

from graphmargin._checks import check_choice, check_integer, check_real
from graphmargin.graph.adjacency import METRICS, Metric
from graphmargin.graph.neighbors import check_n_neighbors
from graphmargin.graph.weights import NAMED_WIDTHS, Width, check_width, kernel_width
from graphmargin.harmonic.problem import check_gamma_g, check_trust
from graphmargin.harmonic.solution import check_priors
from graphmargin.harmonic.solve import Solver, check_solver
from graphmargin.labels import EncodedLabels
from graphmargin.margin.induced import LOSS_WEIGHTS
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.manifold import check_gamma_u
from graphmargin.margin.semi_supervised import SEMI_SUPERVISED_SOLVERS, SemiSupervisedSolver
from graphmargin.margin.training import Approximation, check_approximation

Candidates = tuple[Any, ...] | None
"""Values of a parameter to try; None stands for "auto"."""
Check = Callable[[Any], Any]
"""Returns the value of a parameter as the maths takes it, or raises ValueError."""

AUTO = "auto"
CLASS_SHARES = ("class_mass_normalization", "class_prior")
"""Parameters of which a sequence of numbers is one value: a share for each class."""
ARRAY_VALUED = ("c_labeled", *CLASS_SHARES)
"""Parameters of which an array or a tuple is one value, so that candidates come in a list."""
NO_CANDIDATES = ("cv", "n_jobs", "random_state", "verbose")
"""Parameters that say how to fit, and are not chosen."""


@dataclass(frozen=True)
class GraphParameters:
    """What a k-NN graph is built from, beside the rows."""

    n_neighbors: int
    width: Width
    metric: Metric


@dataclass(frozen=True)
class KernelParameters:
    """A kernel whose width may still depend on the rows."""

    kernel: Kernel
    width: Width

    def on(self, X: Any, width: float | None = None) -> Kernel:
        """Return the kernel for some rows; a `width` that is known already is taken over."""
        if callable(self.kernel.kind) or self.kernel.kind == "precomputed":
            return self.kernel
        return replace(self.kernel, width=kernel_width(X, self.width) if width is None else width)


@dataclass(frozen=True)
class CutParameters:
    """Parameters of max-margin graph cuts on one graph with one kernel.

    `graph` is None where a graph is given or none is used. `listed` are the values, here, of those
    parameters of which several graphs or kernels are tried.
    """

    kernel: KernelParameters
    graph: GraphParameters | None
    gamma_g: Candidates
    C: Candidates
    class_mass_normalization: Candidates
    approximation: Approximation = "auto"
    eps: float = 1e-6
    loss_weights: str = "confidence"
    solver: Solver = "auto"
    c_labeled: Any = np.inf
    c_unlabeled: float = 0.0
    listed: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class HarmonicParameters:
    """Parameters of harmonic solutions on one graph; see `CutParameters`."""

    graph: GraphParameters | None
    gamma_g: Candidates
    class_mass_normalization: Candidates
    solver: Solver
    c_labeled: Any
    c_unlabeled: float
    listed: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class ManifoldParameters:
    """Parameters of manifold-regularized SVMs on one graph with one kernel."""

    kernel: KernelParameters
    graph: GraphParameters | None
    gamma_u: Candidates
    C: Candidates
    laplacian_power: int
    normalized: bool
    fit_intercept: bool
    approximation: Approximation
    listed: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class LowDensityParameters:
    """Parameters of semi-supervised SVMs with one kernel."""

    kernel: KernelParameters
    gamma_u: Candidates
    C: Candidates
    class_prior: Any
    solver: SemiSupervisedSolver
    approximation: Approximation
    listed: Mapping[str, Any] | None = None


def cut_parameters(
    model: Any, labels: EncodedLabels, *, has_graph: bool
) -> tuple[CutParameters, ...]:
    """Return the parameters of a max-margin graph cut, a set for each graph and kernel.

    `has_graph` tells whether a graph is given, so that none is built.
    """
    shared = {
        "gamma_g": _candidates(model, "gamma_g", check_gamma_g),
        "C": _candidates(model, "C", _check_cost),
        "class_mass_normalization": _candidates(
            model, "class_mass_normalization", partial(_check_normalization, labels)
        ),
    }
    _check_fixed(model, {"solver": check_solver})
    checks: dict[str, Check] = {
        **_kernel_checks(NAMED_WIDTHS),
        **_graph_checks(model, labels, has_graph=has_graph),
        "eps": _check_eps,
        "loss_weights": _one_of("loss_weights", LOSS_WEIGHTS),
        "c_labeled": partial(_check_trust, labels),
        "c_unlabeled": check_c_unlabeled,
    }
    if not has_graph and is_pairwise(model):
        msg = "`kernel`='precomputed' leaves no points to build a graph from; pass W to fit"
        raise ValueError(msg)
    return tuple(
        CutParameters(
            kernel=_kernel_of(model, values),
            graph=None if has_graph else _graph_of(values),
            approximation=model.approximation,
            eps=values["eps"],
            loss_weights=values["loss_weights"],
            solver=model.solver,
            c_labeled=values["c_labeled"],
            c_unlabeled=values["c_unlabeled"],
            listed=_listed(model, values),
            **shared,
        )
        for values in _combinations(model, checks)
    )


def supervised_parameters(model: Any) -> tuple[CutParameters, ...]:
    """Return the parameters of a supervised SVM: cuts with gamma_g = inf, and without a graph."""
    C = _candidates(model, "C", _check_cost)
    return tuple(
        CutParameters(
            kernel=_kernel_of(model, values),
            graph=None,
            gamma_g=(np.inf,),
            C=C,
            class_mass_normalization=(False,),
            approximation=model.approximation,
            listed=_listed(model, values),
        )
        for values in _combinations(model, _kernel_checks(("paper",)))
    )


def harmonic_parameters(model: Any, labels: EncodedLabels) -> tuple[HarmonicParameters, ...]:
    """Return the parameters of a harmonic classifier, a set for each graph."""
    has_graph = model.affinity == "precomputed"
    shared = {
        "gamma_g": _candidates(model, "gamma_g", check_gamma_g),
        "class_mass_normalization": _candidates(
            model, "class_mass_normalization", partial(_check_normalization, labels)
        ),
    }
    _check_fixed(model, {"solver": check_solver})
    checks: dict[str, Check] = {
        **_graph_checks(model, labels, has_graph=has_graph),
        "width": partial(_check_width, NAMED_WIDTHS),
        "c_labeled": partial(_check_trust, labels),
        "c_unlabeled": check_c_unlabeled,
    }
    return tuple(
        HarmonicParameters(
            graph=None if has_graph else _graph_of(values),
            solver=model.solver,
            c_labeled=values["c_labeled"],
            c_unlabeled=values["c_unlabeled"],
            listed=_listed(model, values),
            **shared,
        )
        for values in _combinations(model, checks)
    )


def manifold_parameters(
    model: Any, labels: EncodedLabels, *, has_graph: bool
) -> tuple[ManifoldParameters, ...]:
    """Return the parameters of a manifold-regularized SVM, a set for each graph and kernel."""
    gamma_u = _candidates(model, "gamma_u", check_gamma_u)
    C = _candidates(model, "C", _check_cost)
    checks: dict[str, Check] = {
        **_kernel_checks(NAMED_WIDTHS),
        **_graph_checks(model, labels, has_graph=has_graph),
        "laplacian_power": partial(check_integer, "laplacian_power", low=1),
        "normalized": partial(_check_bool, "normalized"),
        "fit_intercept": partial(_check_bool, "fit_intercept"),
    }
    if not has_graph and is_pairwise(model):
        msg = "`kernel`='precomputed' leaves no points to build a graph from; pass W to fit"
        raise ValueError(msg)
    return tuple(
        ManifoldParameters(
            kernel=_kernel_of(model, values),
            graph=None if has_graph else _graph_of(values),
            gamma_u=gamma_u,
            C=C,
            laplacian_power=values["laplacian_power"],
            normalized=values["normalized"],
            fit_intercept=values["fit_intercept"],
            approximation=model.approximation,
            listed=_listed(model, values),
        )
        for values in _combinations(model, checks)
    )


def low_density_parameters(model: Any, labels: EncodedLabels) -> tuple[LowDensityParameters, ...]:
    """Return the parameters of a semi-supervised SVM, a set for each kernel."""
    gamma_u = _candidates(model, "gamma_u", check_gamma_u)
    C = _candidates(model, "C", _check_cost)
    _check_fixed(model, {"solver": _one_of("solver", SEMI_SUPERVISED_SOLVERS)})
    checks: dict[str, Check] = {
        **_kernel_checks(("paper",)),
        "class_prior": partial(_check_class_prior, labels),
    }
    return tuple(
        LowDensityParameters(
            kernel=_kernel_of(model, values),
            gamma_u=gamma_u,
            C=C,
            class_prior=values["class_prior"],
            solver=model.solver,
            approximation=model.approximation,
            listed=_listed(model, values),
        )
        for values in _combinations(model, checks)
    )


def is_search(model: Any, auto: tuple[str, ...]) -> bool:
    """Tell whether parameters are to be chosen: one of `auto` is "auto", or any is a list.

    Raises
    ------
    ValueError
        If `cv` is given although there is nothing to choose.
    """
    if any(is_auto(getattr(model, name)) for name in auto):
        return True
    if any(_is_list(name, value) for name, value in model.get_params(deep=False).items()):
        return True
    if model.cv is not None:
        msg = (
            f"`cv`={model.cv!r} has no parameter to choose; give a list of candidates, such as "
            f"{auto[-1]}=[1.0, 10.0], or 'auto'"
        )
        raise ValueError(msg)
    return False


def fixed_value(candidates: Candidates) -> Any:
    """Return the one value of a parameter that is not to be chosen."""
    if candidates is None or len(candidates) != 1:
        msg = f"a fixed parameter has one value, got {candidates!r}"
        raise ValueError(msg)
    return candidates[0]


def is_auto(value: Any) -> bool:
    """Tell whether the value of a parameter is "auto"."""
    return isinstance(value, str) and value == AUTO


def is_pairwise(model: Any) -> bool:
    """Tell whether the kernel of an estimator is precomputed."""
    kernel = model.kernel
    if _is_list("kernel", kernel) and len(kernel) == 1:
        kernel = kernel[0]
    return isinstance(kernel, str) and kernel == "precomputed"


def check_c_unlabeled(c_unlabeled: Any) -> float:
    """Return c_unlabeled as a float, or raise ValueError."""
    return check_real("c_unlabeled", c_unlabeled, hint="; 0 leaves unlabeled vertices free")


def _is_list(name: str, value: Any) -> bool:
    """Tell whether a parameter holds candidates: a list, or a sequence where no value is one."""
    if name in NO_CANDIDATES:
        return False
    if isinstance(value, list):
        return not (name in CLASS_SHARES and value and all(map(_is_number, value)))
    is_sequence = isinstance(value, tuple) or (isinstance(value, np.ndarray) and value.ndim > 0)
    return is_sequence and name not in ARRAY_VALUED


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def _candidates(model: Any, name: str, check: Check) -> Candidates:
    """Return the values of a parameter that are to be tried; None for "auto"."""
    value = getattr(model, name)
    return None if is_auto(value) else _values(name, value, check)


def _values(name: str, value: Any, check: Check) -> tuple[Any, ...]:
    """Return the validated candidates of a list, or the one value of a parameter."""
    if not _is_list(name, value):
        return (check(value),)
    if len(value) == 0:
        msg = f"`{name}` must be a value or a list of candidates, got an empty list"
        raise ValueError(msg)
    for candidate in value:
        if is_auto(candidate):
            msg = f"`{name}` has 'auto' in a list of candidates; pass 'auto' alone, or values"
            raise ValueError(msg)
    return tuple(check(candidate) for candidate in value)


def _combinations(model: Any, checks: Mapping[str, Check]) -> list[dict[str, Any]]:
    """Return all combinations of the validated values of some parameters.

    Degree and coef0 make a difference for the cubic kernel only.
    """
    values = {name: _values(name, getattr(model, name), check) for name, check in checks.items()}
    kernels = values.get("kernel", ())
    if len(kernels) > 1 and any(isinstance(k, str) and k == "precomputed" for k in kernels):
        msg = "`kernel` has 'precomputed' beside others; a kernel matrix has no rows"
        raise ValueError(msg)
    combinations = [dict(zip(values, point, strict=True)) for point in product(*values.values())]
    if not kernels:
        return combinations
    return [
        point
        for point in combinations
        if point["kernel"] == "cubic"
        or all(point[name] == values[name][0] for name in ("degree", "coef0"))
    ]


def _listed(model: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of those parameters of which an estimator has a list."""
    return {name: values[name] for name in values if _is_list(name, getattr(model, name))}


def _check_fixed(model: Any, checks: Mapping[str, Check]) -> None:
    """Check parameters that are one value in any case."""
    for name, check in checks.items():
        check(getattr(model, name))


def _kernel_checks(widths: tuple[str, ...]) -> dict[str, Check]:
    return {
        "kernel": _check_kernel,
        "degree": partial(check_integer, "degree", low=1),
        "coef0": partial(check_real, "coef0", hint="; a negative one gives no kernel"),
        "width": partial(_check_width, widths),
    }


def _graph_checks(model: Any, labels: EncodedLabels, *, has_graph: bool) -> dict[str, Check]:
    """Return the checks of what a graph is built from; a given graph has no candidates."""
    if has_graph:
        for name in ("n_neighbors", "metric"):
            if _is_list(name, getattr(model, name)):
                msg = f"`{name}` must be one value where the graph is given, got a list"
                raise ValueError(msg)
        return {}
    return {
        "n_neighbors": partial(check_n_neighbors, n_points=len(labels.codes)),
        "metric": _one_of("metric", METRICS),
    }


def _kernel_of(model: Any, values: Mapping[str, Any]) -> KernelParameters:
    kernel = Kernel(values["kernel"], degree=values["degree"], coef0=values["coef0"])
    check_approximation(model.approximation, kernel.kind)
    return KernelParameters(kernel, values["width"])


def _graph_of(values: Mapping[str, Any]) -> GraphParameters:
    return GraphParameters(values["n_neighbors"], values["width"], values["metric"])


def _one_of(name: str, choices: tuple[str, ...]) -> Check:
    def check(value: Any) -> Any:
        check_choice(name, value, choices)
        return value

    return check


def _check_kernel(kernel: Any) -> Any:
    return Kernel(kernel).kind


def _check_cost(C: Any) -> float:
    return check_real("C", C, positive=True, hint="; C = 1 / (2 gamma), or use 'auto'")


def _check_eps(eps: Any) -> float:
    hint = "; it is the least confidence to learn from"
    if check_real("eps", eps, finite=False, hint=hint) >= 1:
        msg = f"`eps` must be below 1, got {eps!r}; no confidence would reach it"
        raise ValueError(msg)
    return float(eps)


def _check_bool(name: str, value: Any) -> bool:
    if type(value) not in (bool, np.bool_):
        msg = f"`{name}` must be True or False, got {value!r}"
        raise ValueError(msg)
    return bool(value)


def _check_width(names: tuple[str, ...], width: Any) -> Width:
    if isinstance(width, str):
        check_choice("width", width, names, " or a positive number")
        return width  # type: ignore[return-value]  # one of the names
    return check_width(width)


def _check_trust(labels: EncodedLabels, c_labeled: Any) -> Any:
    check_trust(c_labeled, labels.labeled)
    return c_labeled


def _check_normalization(labels: EncodedLabels, value: Any) -> Any:
    """Return class priors to normalize to as a tuple, or False for none."""
    if isinstance(value, bool | np.bool_):
        return tuple(labels.one_hot.sum(axis=0).tolist()) if value else False
    priors = check_priors("class_mass_normalization", value, len(labels.classes))
    return tuple(priors.tolist())


def _check_class_prior(labels: EncodedLabels, value: Any) -> Any:
    """Return the shares of the classes that f is held at as an array, or None."""
    if value is None:
        return None
    if isinstance(value, str):
        check_choice("class_prior", value, ("labels",), ", None or an array")
        shares = labels.one_hot.sum(axis=0)
    else:
        shares = check_priors("class_prior", value, len(labels.classes))
    return np.asarray(shares / shares.sum())
