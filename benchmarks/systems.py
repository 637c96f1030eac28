"""Systems that label the rows of a problem: graphmargin and other libraries.

A system takes a problem and a number k of neighbors, and returns labels. All of them may use
all threads. Other libraries need no cosine metric for unit vectors, as Euclidean distances rank
them in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import linalg
from scipy.sparse import csgraph
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import SGDClassifier
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.semi_supervised import LabelPropagation, LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC, LinearSVC

from benchmarks.adapter import Outcome, Stopwatch, System
from benchmarks.default_systems import DEFAULT_SYSTEMS
from benchmarks.problems import Problem
from benchmarks.selection import SELECTION_SYSTEMS
from graphmargin import (
    HarmonicClassifier,
    ManifoldSVC,
    MaxMarginGraphCut,
    harmonic_path,
    harmonic_solution,
    knn_graph,
)
from graphmargin.graph._search.neighbors import nearest_neighbors
from graphmargin.graph.adjacency import symmetric_graph
from graphmargin.graph.weights import paper_width
from graphmargin.harmonic.problem import make_harmonic_problem
from graphmargin.harmonic.solution import solve_path
from graphmargin.labels import encode_labels
from graphmargin.margin import Kernel, train_machine
from graphmargin.margin.machine import class_scores, pairwise_values
from graphmargin.margin.manifold import train_manifold

C, EPS, GAMMA_G = 10.0, 1e-6, 0.1
"""Parameters of `MaxMarginGraphCut`, also of the machines that take the place of its own."""

GAMMAS = tuple(np.logspace(-3, 3, 13).tolist())
"""The path: thirteen values from 1e-3 to 1e3, evenly spaced in their logarithm."""

LAPLACIAN_WEIGHT = 0.1
"""gamma_I / gamma_A of LapSVM, the best of 0.01, 0.1, .., 100 on 2,000 rows of the mixture."""


GAMMA_U = LAPLACIAN_WEIGHT / (2 * C)
"""The same for `ManifoldSVC`."""
GAMMA_US = tuple(GAMMA_U * np.logspace(-3, 3, 7))
LANDMARKS = {"approximation": "nystroem", "n_landmarks": 300}


# ---- transduction


def _harmonic(problem: Problem, k: int) -> Outcome:
    model = HarmonicClassifier(n_neighbors=k, metric=problem.metric, random_state=0)
    return Outcome(model.fit(problem.X, problem.y_few).transduction_)


def _label_propagation(problem: Problem, k: int) -> Outcome:
    model = LabelPropagation(kernel="knn", n_neighbors=k, n_jobs=-1)
    return Outcome(model.fit(problem.X, problem.y_few).transduction_)


def _label_spreading(problem: Problem, k: int) -> Outcome:
    model = LabelSpreading(kernel="knn", n_neighbors=k, n_jobs=-1)
    return Outcome(model.fit(problem.X, problem.y_few).transduction_)


def _self_training_svc(problem: Problem, _k: int) -> Outcome:
    svm = SVC(C=C, gamma=0.5 / paper_width(problem.X) ** 2)
    model = SelfTrainingClassifier(CalibratedClassifierCV(svm, ensemble=False, n_jobs=-1))
    return Outcome(model.fit(problem.X, problem.y_few).predict(problem.X))


def _self_training_sgd(problem: Problem, _k: int) -> Outcome:
    linear = SGDClassifier(loss="log_loss", early_stopping=True, n_jobs=-1, random_state=0)
    model = SelfTrainingClassifier(linear)
    return Outcome(model.fit(problem.X, problem.y_few).predict(problem.X))


def _graphlearning(kernel: str) -> Callable[[Problem, int], Outcome]:
    """Return Laplace learning on the graph that the package builds with one of its kernels."""

    def run(problem: Problem, k: int) -> Outcome:
        import graphlearning  # has its own dependency group, `bench`

        labeled = np.flatnonzero(~problem.hidden)
        W = graphlearning.weightmatrix.knn(problem.X, k, kernel=kernel)
        learner = graphlearning.ssl.laplace(W)
        labels = learner.fit_predict(labeled, problem.y_few[labeled])
        if not np.isfinite(learner.prob).all():  # its default kernel divides by zero at duplicates
            msg = "class scores are not finite"
            raise FloatingPointError(msg)
        return Outcome(labels)

    return run


def _lap_svm(problem: Problem, k: int) -> Outcome:
    return Outcome(dense_lap_svm(problem.X, problem.y_few, k, LAPLACIAN_WEIGHT))


def dense_lap_svm(X: Any, y_few: Any, k: int, weight: float) -> Any:
    """Return the labels of all rows by the Laplacian SVM, with the n x n matrices of most codes.

    It is the SVM on the labeled rows with the kernel ``K - K (I + r L K)^-1 r L K`` (Sindhwani,
    Niyogi, Belkin 2005), r = `weight`, an RBF kernel K and L of the k-NN graph, both of the
    paper's width. Several classes are one-vs-one. Time O(n^3), memory O(n^2).
    """
    labeled = np.flatnonzero(y_few != -1)
    K = rbf_kernel(X, gamma=0.5 / paper_width(X) ** 2)
    system = weight * (csgraph.laplacian(knn_graph(X, k)) @ K)
    right = system[:, labeled]
    system[np.diag_indices(len(K))] += 1.0
    inner = linalg.solve(system, right, overwrite_a=True, assume_a="general")
    deformed = K[:, labeled] - K @ inner
    svm = SVC(C=C, kernel="precomputed", break_ties=True)
    return svm.fit(deformed[labeled], y_few[labeled]).predict(deformed)


# ---- training and prediction of new rows


def _cut(problem: Problem, k: int) -> Outcome:
    watch = Stopwatch()
    model = MaxMarginGraphCut(
        gamma_g=GAMMA_G,
        C=C,
        eps=EPS,
        loss_weights="equal",
        n_neighbors=k,
        metric=problem.metric,
        random_state=0,
    )
    with watch("fit"):
        model.fit(problem.X, problem.y_few)
    with watch("predict"):
        new_labels = model.predict(problem.X_new)
    return Outcome(model.transduction_, new_labels, watch.seconds)


def _cut_with(machine_of: Callable[[float], Any]) -> Callable[[Problem, int], Outcome]:
    """Return the max-margin graph cut with the machine of another library, for a width."""

    def run(problem: Problem, k: int) -> Outcome:
        watch = Stopwatch()
        graph = HarmonicClassifier(n_neighbors=k, metric=problem.metric, random_state=0)
        with watch("fit"):
            labels = graph.fit(problem.X, problem.y_few).transduction_
            rows = (graph.confidence_ >= EPS) | ~problem.hidden
            machine = machine_of(paper_width(problem.X)).fit(problem.X[rows], labels[rows])
        with watch("predict"):
            new_labels = machine.predict(problem.X_new)
        return Outcome(labels, new_labels, watch.seconds)

    return run


def _svc(width: float) -> SVC:
    return SVC(C=C, gamma=0.5 / width**2, break_ties=True, cache_size=1000)


def _linear_svc(width: float) -> LinearSVC:
    return LinearSVC(C=C / width**2, dual=False)  # as if the rows were divided by the width


# ---- paths of gamma_g, the graph being given


def _graph(problem: Problem, k: int) -> tuple[Any, Any]:
    return knn_graph(problem.X, k, metric=problem.metric, random_state=0), problem.y_few


def _path(given: tuple[Any, Any], _k: int) -> Outcome:
    return Outcome(np.stack([solution.labels for solution in harmonic_path(*given, GAMMAS)]))


def _separate(given: tuple[Any, Any], _k: int) -> Outcome:
    return Outcome(np.stack([harmonic_solution(*given, gamma_g=g).labels for g in GAMMAS]))


def _at_zero(given: tuple[Any, Any], _k: int) -> Outcome:
    return Outcome(harmonic_solution(*given, gamma_g=0.0).labels)


def _at_default(given: tuple[Any, Any], _k: int) -> Outcome:
    return Outcome(harmonic_solution(*given, gamma_g=GAMMA_G).labels)


# ---- manifold regularization


def _manifold(**options: Any) -> Callable[[Problem, int], Outcome]:
    def run(problem: Problem, k: int) -> Outcome:
        model = ManifoldSVC(n_neighbors=k, C=C, gamma_u=GAMMA_U, random_state=0, **options)
        return Outcome(model.fit(problem.X, problem.y_few).predict(problem.X))

    return run


def _manifold_path(
    kind: Any, gamma_us: Sequence[float], **options: Any
) -> Callable[[tuple[Problem, Any], int], Outcome]:
    """Return machines for several gamma_u on a given graph, and their labels in one pass."""

    def run(given: tuple[Problem, Any], _k: int) -> Outcome:
        problem, W = given
        kernel = Kernel(kind, paper_width(problem.X))
        codes = np.asarray(problem.y_few)
        machines = train_manifold(
            problem.X, codes, kernel, W, C=C, gamma_us=gamma_us, random_state=0, **options
        )
        labels = [
            class_scores(pairwise, machines[0].n_classes).argmax(axis=1)
            for pairwise in pairwise_values(machines, problem.X)
        ]
        return Outcome(np.stack(labels) if len(labels) > 1 else labels[0])

    return run


def _with_graph(problem: Problem, k: int) -> tuple[Problem, Any]:
    return problem, _graph(problem, k)[0]


# ---- the stages of the max-margin graph cut

FLOORS = {
    "k-NN search": "one pass over the rows",
    "weights, symmetrization": "one transposition of the graph",
    "components, problem": "one pass over the edges",
    "harmonic solution": "its iterations, as one product of graph and class masses each",
    "max-margin training": "one pass over the rows",
    "prediction of new rows": "one pass over the new rows",
}
"""The stages, and the work that no program can avoid in each."""


def _stages(problem: Problem, k: int) -> Outcome:
    """Call the stages of `MaxMarginGraphCut` one by one, then time the floors."""
    watch, floors = Stopwatch(), Stopwatch()
    stage = dict(
        zip(("search", "graph", "problem", "solve", "train", "predict"), FLOORS, strict=True)
    )
    X = problem.X
    with watch(stage["search"]):
        neighbors = nearest_neighbors(X, k, random_state=0)
    with watch(stage["graph"]):
        width = paper_width(X)
        W = symmetric_graph(neighbors, width)
    with watch(stage["problem"]):
        labels = encode_labels(problem.y_few)
        harmonic = make_harmonic_problem(W, labels, c_labeled=np.inf, c_unlabeled=0.0)
    with watch(stage["solve"]):
        solution = solve_path(harmonic, [GAMMA_G])[0]
    with watch(stage["train"]):
        rows = (solution.confidence >= EPS) | ~problem.hidden
        kernel = Kernel("rbf", width)
        machine = train_machine(X[rows], solution.codes[rows], kernel, C=C, random_state=0)
    with watch(stage["predict"]):
        new_labels = machine.decision(problem.X_new).argmax(axis=1)

    with floors(stage["search"]):
        np.copyto(np.empty_like(X), X)
    floors.seconds[stage["train"]] = floors.seconds[stage["search"]]
    with floors(stage["graph"]):
        W.T.tocsr()
    with floors(stage["problem"]):
        W @ np.ones(W.shape[0])
    with floors(stage["solve"]):
        for _ in range(max(solution.iterations, 1)):
            W @ solution.class_mass
    with floors(stage["predict"]):
        np.copyto(np.empty_like(problem.X_new), problem.X_new)
    return Outcome(solution.labels, new_labels, watch.seconds, floors.seconds)


SYSTEMS: dict[str, System] = {
    "graphmargin HarmonicClassifier": System(_harmonic),
    "graphmargin MaxMarginGraphCut": System(_cut),
    "scikit-learn LabelPropagation": System(_label_propagation),
    "scikit-learn LabelSpreading": System(_label_spreading),
    "scikit-learn SelfTrainingClassifier, SVC": System(_self_training_svc),
    "scikit-learn SelfTrainingClassifier, SGD": System(_self_training_sgd),
    "graphlearning Laplace": System(_graphlearning("gaussian")),
    "graphlearning Laplace, uniform weights": System(_graphlearning("uniform")),
    "LapSVM, dense": System(_lap_svm),
    "cut with scikit-learn SVC": System(_cut_with(_svc)),
    "cut with scikit-learn LinearSVC": System(_cut_with(_linear_svc)),
    "harmonic_path": System(_path, _graph),
    "harmonic_solution for each gamma_g": System(_separate, _graph),
    "harmonic_solution, gamma_g = 0": System(_at_zero, _graph),
    "harmonic_solution, gamma_g = 0.1": System(_at_default, _graph),
    "stages of MaxMarginGraphCut": System(_stages),
    "graphmargin ManifoldSVC": System(_manifold()),
    "train_manifold, 300 landmarks, one gamma_u": System(
        _manifold_path("rbf", [GAMMA_U], **LANDMARKS), _with_graph
    ),
    "train_manifold, 500 landmarks, one gamma_u": System(
        _manifold_path("rbf", [GAMMA_U], approximation="nystroem"), _with_graph
    ),
    "train_manifold, 300 landmarks, seven gamma_u": System(
        _manifold_path("rbf", GAMMA_US, **LANDMARKS), _with_graph
    ),
    "graphmargin ManifoldSVC, linear": System(_manifold(kernel="linear")),
    "train_manifold, linear, on a given graph": System(
        _manifold_path("linear", [GAMMA_U]), _with_graph
    ),
    **SELECTION_SYSTEMS,
    **DEFAULT_SYSTEMS,
}
