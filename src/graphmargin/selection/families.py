"""Families of classifiers: what each assumes about unlabeled rows, and how it is tried and fitted.

A family has candidates of its own, a trial of them on held-out labels, and a blend that is fitted
on all rows. Ensembles weigh several families on the same held-out labels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from graphmargin._checks import check_choice
from graphmargin._typing import FloatArray
from graphmargin.labels import EncodedLabels
from graphmargin.margin.kernels import Kernel
from graphmargin.selection.choice import Choice
from graphmargin.selection.cut_trials import MAX_BLENDED, max_blended, try_cuts
from graphmargin.selection.cuts import blend_cuts, held_out_log_graph
from graphmargin.selection.execution import Execution
from graphmargin.selection.fitted import FittedClassifier
from graphmargin.selection.harmonic_fits import blend_harmonic, try_harmonic
from graphmargin.selection.held_out import HeldOutLabels
from graphmargin.selection.manifold_fits import blend_manifold, try_manifold
from graphmargin.selection.parameters import GraphParameters, KernelParameters, Parameters
from graphmargin.selection.s3vm_fits import blend_s3vm, try_s3vm
from graphmargin.selection.tasks import Task, TaskTrials, choose_among
from graphmargin.tables.feature_metrics import ALL_COLUMNS, FeatureMetric

N_NEIGHBORS = 5
"""Number of neighbors in the graph; fewer if there are fewer rows."""
MAX_GRAPH_ENTRIES = 2**24
"""Largest number of entries of the rows that a model keeps for a harmonic solution."""
CLUSTERS = "classes follow clusters"
DENSITY_GAP = "classes are separated by a gap in the density"
PLANE = "classes are separated by a plane"
SMOOTH = "classes change slowly along the graph"
LABELS_ALONE = "labels alone tell the classes"


@dataclass(frozen=True)
class Method:
    """The functions of a family: the trial of its candidates, and the blend of the chosen ones.

    Attributes
    ----------
    try_candidates : callable
        Function from tasks, held-out labels and execution to the trials of all candidates.
    blend : callable
        Function from trials, choice and execution to the fitted classifier.
    max_blended : callable
        Function from trials to the largest number of candidates in the blend, or None.
    held_out_log_graph : callable
        Function from trials and choice to log-probabilities of the held-out labels by the graph,
        which the blend adds to its class scores, or None.
    """

    try_candidates: Callable[[Sequence[Task], HeldOutLabels, Execution], Sequence[TaskTrials]]
    blend: Callable[[Any, Choice, Execution], FittedClassifier]
    max_blended: Callable[[Any], int | None]
    held_out_log_graph: Callable[[Any, Choice], FloatArray | None] = lambda _trials, _choice: None


def _four(_: Any) -> int:
    return MAX_BLENDED


def _all(_: Any) -> None:
    return None


CUT = Method(try_cuts, blend_cuts, max_blended, held_out_log_graph)
HARMONIC = Method(try_harmonic, blend_harmonic, _all)
LOW_DENSITY = Method(try_s3vm, blend_s3vm, _four)
MANIFOLD = Method(try_manifold, blend_manifold, _four)


@dataclass(frozen=True)
class Family:
    """A family of classifiers with the parameters of its candidates.

    Attributes
    ----------
    name : str
    assumption : str
        What it assumes about the classes, as a sentence without a period.
    method : Method
    parameters : tuple of Parameters
    waits_for_evidence : bool
        True if it is left out when no label can be held out, because nothing then shows that its
        assumption is wrong, or the class shares that semi-supervised SVMs take from a label or two.
    metric : FeatureMetric
        How much each feature counts. Rows are multiplied by its factors before anything else.
    """

    name: str
    assumption: str
    method: Method
    parameters: tuple[Parameters, ...]
    waits_for_evidence: bool = False
    metric: FeatureMetric = ALL_COLUMNS

    def with_costs(self, class_weight: tuple[float, ...] | None) -> Family:
        """Return the family with weights of the losses of each class."""
        parameters = tuple(replace(part, class_weight=class_weight) for part in self.parameters)
        return replace(self, parameters=parameters)

    def under(self, metric: FeatureMetric) -> Family:
        """Return the family under a metric, with the metric in its name unless all columns count.

        Examples
        --------
        >>> import numpy as np
        >>> from graphmargin.labels import encode_labels
        >>> harmonic = named_family("harmonic", encode_labels(np.array([0, 1, -1])))
        >>> harmonic.under(FeatureMetric("light categories", np.array([1.0, 0.2]))).name
        'harmonic (light categories)'
        """
        name = self.name if metric.feature_scale is None else f"{self.name} ({metric.name})"
        return replace(self, name=name, metric=metric)


@dataclass(frozen=True)
class TriedFamily:
    """A family with the trials of its candidates and the choice among them."""

    family: Family
    trials: Sequence[TaskTrials]
    choice: Choice

    @property
    def held_out_log_graph(self) -> FloatArray | None:
        """Log-probabilities of the held-out labels that the blend adds to its class scores."""
        return self.family.method.held_out_log_graph(self.trials, self.choice)

    def fit(self, execution: Execution) -> FittedClassifier:
        """Return the blend of the chosen candidates, fitted on all rows."""
        return self.family.method.blend(self.trials, self.choice, execution)


def try_family(
    family: Family, tasks: Sequence[Task], held_out: HeldOutLabels, execution: Execution
) -> TriedFamily:
    """Return the choice among the candidates of a family, tried on held-out labels."""
    trials = family.method.try_candidates(tasks, held_out, execution)
    return TriedFamily(family, trials, choose_among(trials, family.method.max_blended(trials)))


DEFAULT_FAMILIES = ("cut", "harmonic", "low-density", "linear-low-density", "linear-supervised")
"""The families that improve an ensemble of the others on the league (docs/league.md)."""
FAMILY_NAMES = (*DEFAULT_FAMILIES, "linear-cut", "manifold", "supervised")


def default_families(n_rows: int, n_features: int) -> tuple[str, ...]:
    """Return the names of the default families for a table of a size.

    The harmonic solution is one of them for up to 16 million entries: a model has to keep all rows
    in order to attach new ones to the graph. In larger tables, only the cut assumes clusters.

    Examples
    --------
    >>> default_families(10**6, 64)
    ('cut', 'low-density', 'linear-low-density', 'linear-supervised')
    """
    if n_rows * n_features <= MAX_GRAPH_ENTRIES:
        return DEFAULT_FAMILIES
    return tuple(name for name in DEFAULT_FAMILIES if name != "harmonic")


def named_family(name: str, labels: EncodedLabels) -> Family:
    """Return a family with the candidates of its classifier's "auto".

    Parameters
    ----------
    name : {"cut", "linear-cut", "harmonic", "low-density", "linear-low-density", "manifold", \
"supervised", "linear-supervised"}
    labels : EncodedLabels
        Labels of all rows, for the number of neighbors and the class shares.

    Examples
    --------
    >>> import numpy as np
    >>> family = named_family("cut", EncodedLabels(np.array(["a", "b"]), np.array([0, 1, -1])))
    >>> family.assumption, family.parameters[0].graph.n_neighbors
    ('classes follow clusters', 2)
    """
    check_choice("families", name, FAMILY_NAMES)
    is_linear = name.startswith("linear-")
    kind: Literal["linear", "rbf"] = "linear" if is_linear else "rbf"
    cut = cut_parameters(len(labels.codes), kind)
    supervised = Parameters(kernel=cut.kernel, C=None)
    match name.removeprefix("linear-"):
        case "cut":
            return Family(name, PLANE if is_linear else CLUSTERS, CUT, (cut,))
        case "harmonic":
            # A kernel that is not used asks nothing of the rows.
            no_kernel = KernelParameters(Kernel("precomputed"))
            parameters = replace(cut, kernel=no_kernel, C=Parameters().C)
            return Family(name, CLUSTERS, HARMONIC, (parameters,))
        case "low-density":
            counts = labels.one_hot.sum(axis=0) + 1.0
            parameters = replace(supervised, gamma_u=None, class_prior=counts / counts.sum())
            assumption = PLANE if is_linear else DENSITY_GAP
            return Family(name, assumption, LOW_DENSITY, (parameters,), waits_for_evidence=True)
        case "manifold":
            parameters = replace(supervised, graph=cut.graph, gamma_u=None)
            return Family(name, SMOOTH, MANIFOLD, (parameters,))
        case _:
            assumption = PLANE if is_linear else LABELS_ALONE
            return Family(name, assumption, CUT, (supervised,), waits_for_evidence=is_linear)


def cut_parameters(n_rows: int, kernel: Literal["linear", "rbf"] = "rbf") -> Parameters:
    """Return the parameters of `MaxMarginGraphCut()`; fewer rows than 6 have fewer neighbors.

    Examples
    --------
    >>> cut_parameters(100).graph.n_neighbors, cut_parameters(3).graph.n_neighbors
    (5, 2)
    """
    return Parameters(
        kernel=KernelParameters(Kernel(kernel), "paper"),
        graph=GraphParameters(min(N_NEIGHBORS, n_rows - 1), "paper", "euclidean"),
        gamma_g=None,
        C=None,
        class_mass_normalization=None,
    )
