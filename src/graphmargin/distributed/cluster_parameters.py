"""Parameters of a fit on a cluster, which are validated first and kept with its results."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from graphmargin._checks import check_choice, check_integer
from graphmargin.graph.adjacency import METRICS
from graphmargin.harmonic.problem import check_gamma_g
from graphmargin.margin.class_weights import ClassWeight
from graphmargin.margin.induced import LOSS_WEIGHTS
from graphmargin.methods.cut import Cut
from graphmargin.search.parameters import (
    AUTO,
    Candidates,
    GraphParameters,
    WalkParameters,
    check_C,
    check_eps,
    fixed_value,
    read_candidates,
    read_kernel,
)

KERNELS = ("rbf", "linear", "poly")


def read_cluster_parameters(model: Any) -> Cut:
    """Return the cut with the validated parameters of an estimator for clusters.

    Class masses are not normalized on a cluster.

    Raises
    ------
    ValueError
        If a value is not valid, is a list of candidates, or is for one machine only.

    Examples
    --------
    >>> from graphmargin.distributed import DistributedGraphCut
    >>> read_cluster_parameters(DistributedGraphCut(C=[1.0, 10.0]))
    Traceback (most recent call last):
    ValueError: `C` must be 'auto' or one value on a cluster, got [1.0, 10.0]; ...
    """
    for name, value in model.get_params(deep=False).items():
        if _is_list(value):
            valid = "'auto' or one value" if name in ("gamma_g", "C") else "one value"
            msg = (
                f"`{name}` must be {valid} on a cluster, got {value!r}; lists of candidates are "
                "for MaxMarginGraphCut on one machine"
            )
            raise ValueError(msg)
    check_choice("kernel", model.kernel, KERNELS)
    check_integer("random_state", model.random_state, low=0)
    kernel = read_kernel(model)
    graph = GraphParameters(
        check_integer("n_neighbors", model.n_neighbors, low=1),
        kernel.width,
        check_choice("metric", model.metric, METRICS),
    )
    return Cut(
        walk=WalkParameters(graph),
        kernel=kernel,
        gamma_g=read_candidates("gamma_g", model.gamma_g, check_gamma_g),
        C=read_candidates("C", model.C, check_C),
        class_mass_normalization=(False,),
        eps=check_eps(model.eps),
        loss_weights=check_choice("loss_weights", model.loss_weights, LOSS_WEIGHTS),
    )


def graph_parameters(parameters: Cut) -> GraphParameters:
    """Return the parameters of the graph, which a cluster always builds."""
    return cast("GraphParameters", parameters.walk.graph)


def settings_of(parameters: Cut, class_weight: ClassWeight, seed: int) -> dict[str, Any]:
    """Return the parameters as JSON values, by which a resumed run is recognized."""
    kernel, graph = parameters.kernel, graph_parameters(parameters)
    return {
        "kernel": kernel.kernel.kind,
        "degree": kernel.kernel.degree,
        "coef0": kernel.kernel.coef0,
        "width": kernel.width,
        "C": _value(parameters.C),
        "class_weight": _json_weights(class_weight),
        "gamma_g": _value(parameters.gamma_g),
        "eps": parameters.eps,
        "loss_weights": parameters.loss_weights,
        "n_neighbors": graph.n_neighbors,
        "metric": graph.metric,
        "random_state": seed,
    }


def _is_list(value: Any) -> bool:
    """Tell whether a value is a list of candidates, as no parameter takes a sequence."""
    return isinstance(value, list | tuple | np.ndarray)


def _json_weights(class_weight: ClassWeight) -> Any:
    if class_weight is None or isinstance(class_weight, str):
        return class_weight
    return [[str(name), weight] for name, weight in class_weight.items()]


def _value(candidates: Candidates) -> Any:
    return AUTO if candidates is None else fixed_value(candidates)
