"""What classifiers share: validation of partly labeled data, the graph, the harmonic solution."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_consistent_length, validate_data

from graphmargin._checks import check_choice
from graphmargin._progress import report_stage
from graphmargin._typing import AnyArray, FloatArray, IntArray
from graphmargin.estimators.predicting import PredictingClassifier
from graphmargin.graph.adjacency import NeighborGraph, check_graph, neighbor_graph
from graphmargin.harmonic.problem import HarmonicProblem, check_gamma_g, problem_on
from graphmargin.harmonic.solution import (
    HarmonicSolution,
    check_priors,
    normalize_class_mass,
    solve_path,
)
from graphmargin.labels import UNLABELED, EncodedLabels, encode_labels
from graphmargin.selection.choice import Choice
from graphmargin.selection.grids import is_auto
from graphmargin.selection.path import gamma_path
from graphmargin.selection.report import GraphReport, graph_report


class PartlyLabeledClassifier(PredictingClassifier):
    """Base of all classifiers: rows and labels that are validated, and what scikit-learn asks.

    A subclass names the parameters in its constructor, says which input is pairwise and sets
    `transduction_` last in `fit`.
    """

    n_jobs: int | None
    random_state: Any
    verbose: int

    def _validate(self, X: Any, y: npt.ArrayLike) -> tuple[Any, EncodedLabels]:
        """Return X as a float array or CSR matrix, and the encoded labels."""
        self._only_predicts = False
        if hasattr(self, "transduction_"):  # set last: what fails, or ends by Ctrl-C, is no fit
            del self.transduction_
        X = validate_data(
            self,
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_min_samples=2,
        )
        if y is not None:  # which `encode_labels` refuses
            check_consistent_length(X, y)
        labels = encode_labels(y)
        self.classes_: AnyArray = labels.classes
        return X, labels

    def _validate_new(self, X: Any) -> Any:
        """Return new rows in the form in which `fit` saw its own."""
        return validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False
        )

    def __sklearn_is_fitted__(self) -> bool:
        """Tell whether `fit` has come to its end, here or where the file was saved."""
        return self._only_predicts or hasattr(self, "transduction_")

    def _decode(self, codes: IntArray) -> AnyArray:
        return np.asarray(self.classes_[codes])

    def __sklearn_tags__(self) -> Tags:
        """Say that CSR input is fine, and which input is pairwise."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self._is_pairwise()
        return tags

    def _is_pairwise(self) -> bool:
        """Tell whether X holds a value for each pair of samples."""
        raise NotImplementedError


class GraphClassifier(PartlyLabeledClassifier):
    """Base of classifiers that use a graph of all points, built from them or given."""

    n_neighbors: int
    width: Any
    metric: Any
    affinity: str
    graph_: sparse.csr_array
    graph_recall_: float | None

    def _validate(self, X: Any, y: npt.ArrayLike) -> tuple[Any, EncodedLabels]:
        valid = super()._validate(X, y)
        check_choice("affinity", self.affinity, ("knn", "precomputed"))
        return valid

    def _check_graph_input(self, W: Any) -> None:
        """Refuse a graph that is not asked for, and the lack of one."""
        if (W is not None) != (self.affinity == "precomputed"):
            msg = (
                f"`W` must be given exactly for affinity='precomputed', got affinity="
                f"{self.affinity!r} and W {'missing' if W is None else 'given'}"
            )
            raise ValueError(msg)
        if W is None and self._is_pairwise():
            msg = (
                "`kernel`='precomputed' leaves no points to build a graph from; use "
                "affinity='precomputed' and pass W to fit"
            )
            raise ValueError(msg)

    def _fit_graph(self, X: Any, W: Any) -> NeighborGraph | None:
        """Build the graph, or check W and return None; set `graph_` and `graph_recall_`."""
        n = X.shape[0]
        if W is not None:
            self.graph_, self.graph_recall_ = check_graph(W, n), None
            return None
        key = repr((self.n_neighbors, self.width, self.metric))
        known: dict[str, NeighborGraph] = getattr(self, "_known_graphs", {})
        if key not in known:
            with report_stage(f"graph of {n:,} points", self.verbose) as news:
                known[key] = neighbor_graph(
                    X,
                    self.n_neighbors,
                    width=self.width,
                    metric=self.metric,
                    n_jobs=self.n_jobs,
                    random_state=self.random_state,
                    progress=news,
                )
        graph = known[key]
        self.graph_, self.graph_recall_ = graph.W, graph.recall
        return graph


class DiffusionClassifier(GraphClassifier):
    """Base of classifiers that start with the harmonic solution on the graph."""

    gamma_g: Any
    c_labeled: Any
    c_unlabeled: float
    class_mass_normalization: Any
    solver: Any
    harmonic_solution_: HarmonicSolution
    choice_: Choice

    def _validate(self, X: Any, y: npt.ArrayLike) -> tuple[Any, EncodedLabels]:
        valid = super()._validate(X, y)
        if not is_auto(self.gamma_g):
            check_gamma_g(self.gamma_g)
        return valid

    def _fit_harmonic(
        self, X: Any, labels: EncodedLabels, W: sparse.csr_array | None
    ) -> tuple[HarmonicSolution, NeighborGraph | None]:
        """Build the graph (or check W), solve, and set what these classifiers expose.

        `harmonic_solution_` is the solution as solved; the one that is returned has its class
        masses normalized where that is asked for. The graph of points is None where W is given.
        """
        priors = self._priors(labels)
        graph = self._fit_graph(X, W)
        problem = self._problem(labels)
        with report_stage(
            f"harmonic solution of {len(labels.classes)} classes", self.verbose
        ) as news:
            solution = solve_path(
                problem, [self.gamma_g], solver=self.solver, n_jobs=self.n_jobs, progress=news
            )[0]
        self.harmonic_solution_ = solution
        if priors is not None:
            solution = normalize_class_mass(solution, priors)
        warn_of(solution)
        self._expose(solution)
        return solution, graph

    def _expose(self, solution: HarmonicSolution) -> None:
        """Set what these classifiers tell of their solution."""
        self.confidence_: FloatArray = solution.confidence
        self.label_distributions_: FloatArray = solution.label_distributions
        self.n_iter_ = solution.iterations

    @property
    def gamma_g_path_(self) -> dict[str, FloatArray]:
        """What changes with gamma_g, a row for each candidate value: see `gamma_path`."""
        if not hasattr(self, "choice_"):
            msg = "`gamma_g_path_` is known once gamma_g was chosen: fit with gamma_g='auto'"
            raise AttributeError(msg)
        return gamma_path(
            *(self.harmonic_solution_.problem, self.choice_),
            eps=getattr(self, "eps", 0.0),
            solver=self.solver,
            n_jobs=self.n_jobs,
        )

    def graph_report(self) -> GraphReport:
        """Return what to know before trusting the graph; print it for a text.

        Components, points without labels, agreement of labels along edges, sink mass, and, where
        gamma_g was chosen, whether the graph helps or supervised learning was chosen.
        """
        self._check_has_trained("graph_report()")
        return graph_report(
            self.harmonic_solution_,
            eps=getattr(self, "eps", 0.0),
            choice=getattr(self, "choice_", None),
            recall=self.graph_recall_,
        )

    def _problem(self, labels: EncodedLabels) -> HarmonicProblem:
        """Return the harmonic problem on the graph."""
        return problem_on(
            self.graph_, labels, c_labeled=self.c_labeled, c_unlabeled=self.c_unlabeled
        )

    def _priors(self, labels: EncodedLabels) -> FloatArray | None:
        """Return the class priors to normalize to, if any; "auto" has none for one gamma_g."""
        asked = self.class_mass_normalization
        if is_auto(asked):
            return None
        if isinstance(asked, bool | np.bool_):
            return labels.one_hot.sum(axis=0) if asked else None
        return check_priors("class_mass_normalization", asked, len(labels.classes))

    def _normalizations(self, values: Mapping[str, Any], labels: EncodedLabels) -> list[Any]:
        """Return the class priors of a grid as tuples, False for none."""
        counts = tuple(labels.one_hot.sum(axis=0).tolist())
        found = []
        for asked in values["class_mass_normalization"]:
            if isinstance(asked, bool | np.bool_):
                found.append(counts if asked else False)
            else:
                priors = check_priors("class_mass_normalization", asked, len(counts))
                found.append(tuple(priors.tolist()))
        return found


def known_codes(solution: HarmonicSolution, labels: EncodedLabels) -> IntArray:
    """Return the induced classes; where the solution has none, the given ones, else -1."""
    return np.where(solution.codes == UNLABELED, labels.codes, solution.codes)


def warn_unless_converged(solution: HarmonicSolution, deeper: int = 0) -> None:
    """Say so if the harmonic solution is not what it should be."""
    if not solution.converged:
        warnings.warn(
            f"harmonic solution: {solution.status}; try solver='direct', or a larger gamma_g",
            ConvergenceWarning,
            stacklevel=5 + deeper,
        )


def warn_of(solution: HarmonicSolution, deeper: int = 0) -> None:
    """Say what a user should know: non-convergence, and points that no label reaches.

    The warning is for the caller of the method that calls the caller, or `deeper`.
    """
    warn_unless_converged(solution, deeper)
    unreached = int(solution.unreached.sum())
    if unreached and np.isfinite(solution.gamma_g):
        warnings.warn(
            f"{unreached} of {len(solution.codes)} points are in components of the graph without "
            "a label: the graph says nothing of them; label one point in each component, or raise "
            "`n_neighbors`",
            UserWarning,
            stacklevel=4 + deeper,
        )
