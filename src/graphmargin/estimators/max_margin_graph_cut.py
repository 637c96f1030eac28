"""The max-margin graph cut: a margin classifier on labels that the graph induces."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from graphmargin._checks import check_choice, check_real
from graphmargin._progress import report_stage
from graphmargin._typing import AnyArray, BoolArray, FloatArray, IntArray
from graphmargin.estimators.base import DiffusionClassifier, warn_of
from graphmargin.estimators.choosing import Search
from graphmargin.estimators.margin_classifier import MarginClassifier
from graphmargin.graph.adjacency import NeighborGraph, neighbor_graph
from graphmargin.harmonic.problem import HarmonicProblem, problem_on
from graphmargin.harmonic.solution import HarmonicSolution, solve_path
from graphmargin.harmonic.solve import check_solver
from graphmargin.labels import UNLABELED, EncodedLabels
from graphmargin.margin.calibration import calibration_targets, fit_calibration, probabilities
from graphmargin.margin.induced import (
    LOSS_WEIGHTS,
    InducedLabels,
    given_labels,
    induced_labels,
)
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import winner
from graphmargin.selection.choice import Choice
from graphmargin.selection.cut import sample_rows, with_priors
from graphmargin.selection.grids import Hidden, c_grid, gamma_g_grid, grid_points, prior_grid
from graphmargin.theory.bounds import RiskBound, risk_bound
from graphmargin.theory.capacity import vc_dimension as kernel_vc_dimension
from graphmargin.theory.stability import Stability

MAX_TRIED = 50_000
"""Unlabeled rows from which on candidates are tried on a graph of that many, drawn at random."""
CALIBRATION_ROWS = 2_000
"""Number of training rows, at most, whose scores are calibrated to probabilities."""


class MaxMarginGraphCut(MarginClassifier, DiffusionClassifier):
    """Max-margin classifier on all points whose label the graph is confident about.

    1. ``(L_uu + gamma_g I) l_u = W_ul l_l`` on the k-NN graph gives induced labels sgn(l_i) and
       confidences abs(l_i) (eq. reg HFS).
    2. ``min_f sum_{i: abs(l_i) >= eps} V(f, x_i, sgn(l_i)) + gamma norm(f)_K^2``, V the hinge
       loss (eq. MMGC), with ``C = 1 / (2 gamma)``.

    Labeled points always take part. ``gamma_g = inf`` is the supervised SVM on them alone.
    Several classes: one column of the harmonic system for each, confidence is the best minus the
    second best mass, and the margin classifier is one-vs-one.

    By default gamma_g and C are chosen, safely: labels are hidden in folds, and f is the mean of
    all credible candidates, supervised learning included, weighted by how well they predict the
    hidden labels (`graphmargin.selection.choose`). `graph_report` tells whether the graph helps.
    Candidates are tried on at most 50,000 unlabeled rows, unless the graph is given.

    Deviation from the paper: losses are weighted by confidence unless ``loss_weights="equal"``.

    Parameters
    ----------
    kernel : {"rbf", "linear", "cubic", "precomputed"} or callable, default="rbf"
        See `Kernel`. With "precomputed", `fit` takes the (n, n) kernel matrix and `predict` the
        (m, n) values between new and training points, and the graph is passed as W.
    degree : int, default=3
        Degree of the "cubic" kernel ``(x.z / width^2 + coef0)^degree``.
    coef0 : float >= 0, default=1.0
    width : {"paper", "self-tuning", "binary"} or positive float, default="paper"
        Width of kernel and edge weights, sqrt(K) sigma as in the paper or a number.
        "self-tuning" and "binary" concern the edges, and the kernel keeps the paper's width.
    C : "auto" or float > 0, default="auto"
        1 / (2 gamma), the weight of the hinge losses. "auto" blends three values, in units of the
        kernel's variance.
    approximation : {"auto", "none", "nystroem"}, default="auto"
        "none" trains the exact machine. "nystroem" is for many rows: kernel values to 500
        landmarks serve as features (for a linear kernel, the rows themselves), and of more than
        200,000 rows that many are learned from. "auto" is exact for up to 10,000 rows (linear:
        2,000). `machine_.report` tells what was done.
    gamma_g : "auto" or float >= 0, default="auto"
        Rate of the sink: 0 trusts the graph most, inf not at all. "auto" blends inf and four
        finite values, in units of the degrees.
    eps : float in [0, 1), default=1e-6
        Confidence from which on an induced label is learned from.
    loss_weights : {"confidence", "equal"}, default="confidence"
        "equal" is the paper's sum of hinge losses; "confidence" weights each by abs(l_i), so that
        points count the more the surer their label is.
    class_mass_normalization : "auto", bool or array of shape (c,), default="auto"
        Scale class masses to the class shares of the labels (True) or to these priors. "auto"
        concerns chosen parameters and up to three labels a class: the shares of the labels, with
        one more in each class, are then tried beside none.
    n_neighbors : int, default=5
    metric : {"euclidean", "cosine"}, default="euclidean"
        Metric of the graph.
    affinity : {"knn", "precomputed"}, default="knn"
        With "precomputed", pass the graph to `fit` as W.
    solver, c_labeled, c_unlabeled, n_jobs, random_state, verbose
        As in `HarmonicClassifier`. With soft labels (finite `c_labeled`), labeled points enter
        with the label that the solution gives them.

    Attributes
    ----------
    classes_ : array of shape (c,)
    transduction_ : array of shape (n,)
        Label of every training row. If parameters were chosen: the given label, or that of the
        margin classifier, which is what was tested. Else induced by the graph, or by the margin
        classifier where no label can be reached (confidence 0, and a warning that counts them).
    confidence_ : array of shape (n,)
        Best minus second best of the label distributions.
    label_distributions_ : array of shape (n, c)
        Rows sum to 1. If parameters were chosen: probabilities of the margin classifier,
        calibrated on labels that were hidden from it. Else those of the graph.
    choice_ : Choice
        Only if parameters were chosen: candidates, what speaks for each, their weights, and the
        estimated error (``choice_.error``).
    gamma_g_path_ : dict
        The same: confidence, leave-one-out and fold scores for each gamma_g, see `gamma_path`.
    training_mask_ : array of shape (n,)
        Rows that the margin classifier was trained on; if parameters were chosen, the heaviest
        part of the blend that uses the graph.
    graph_ : csr_array of shape (n, n)
    graph_recall_ : float or None
        Share of the true neighbors in the graph, measured on a sample; 1 is exact, None is a
        precomputed graph.
    harmonic_solution_ : HarmonicSolution
        As solved; if parameters were chosen, for the heaviest part that uses the graph.
    machine_ : MarginMachine
    n_iter_ : int

    Examples
    --------
    >>> from graphmargin.datasets import make_lattices
    >>> X, y, y_true, W = make_lattices()
    >>> supervised = MaxMarginGraphCut(kernel="linear", gamma_g=np.inf, C=10.0).fit(X, y)
    >>> cut = MaxMarginGraphCut(
    ...     kernel="linear", gamma_g=0.1, C=10.0, loss_weights="equal", affinity="precomputed"
    ... )
    >>> float(supervised.score(X, y_true)), float(cut.fit(X, y, W=W).score(X, y_true))
    (0.9, 1.0)

    Parameters that are chosen:

    >>> from graphmargin.datasets import load_digits, mask_labels
    >>> X, y = load_digits()
    >>> few = mask_labels(y[:1000], per_class=5, random_state=0)
    >>> model = MaxMarginGraphCut().fit(X[:1000], few)
    >>> model.graph_report().verdict
    'graph helps'
    >>> bool(model.score(X[1000:], y[1000:]) > 0.9)
    True
    """

    tuned_parameters = ("gamma_g", "C")
    searched_parameters = ("gamma_g", "C", "class_mass_normalization")

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        coef0: float = 1.0,
        width: Any = "paper",
        C: Any = "auto",
        approximation: Any = "auto",
        gamma_g: Any = "auto",
        eps: float = 1e-6,
        loss_weights: Any = "confidence",
        n_neighbors: int = 5,
        metric: Any = "euclidean",
        affinity: str = "knn",
        solver: Any = "auto",
        class_mass_normalization: Any = "auto",
        c_labeled: Any = np.inf,
        c_unlabeled: float = 0.0,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.width = width
        self.C = C
        self.approximation = approximation
        self.gamma_g = gamma_g
        self.eps = eps
        self.loss_weights = loss_weights
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.affinity = affinity
        self.solver = solver
        self.class_mass_normalization = class_mass_normalization
        self.c_labeled = c_labeled
        self.c_unlabeled = c_unlabeled
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: npt.ArrayLike, W: Any = None) -> MaxMarginGraphCut:
        """Induce labels on the graph of all rows and learn the max-margin function.

        Parameters
        ----------
        X : array, DataFrame or CSR matrix of shape (n, d), or a kernel matrix of shape (n, n)
        y : array-like of shape (n,)
            Labels; unlabeled is -1, None, NaN, pandas.NA or "".
        W : array or sparse matrix of shape (n, n), default=None
            The graph, for ``affinity="precomputed"``: symmetric, non-negative, finite.
        """
        X, labels = self._validate(X, y)
        self._check_parameters(X, W)
        self._kernel(X, width=1.0)  # refuses what is no kernel before the graph is built
        if self._is_to_choose():
            self._choose(X, labels, W)
            return self
        solution, graph = self._fit_harmonic(X, labels, W)
        kernel = self._kernel(X, self._shared_width(graph))
        learned = induced_labels(solution, eps=self.eps, loss_weights=self.loss_weights)
        if learned.kept_given:
            warnings.warn(
                "the soft solution induces no label of some class; the given labels are kept at "
                "the labeled points: raise `c_labeled` or lower `gamma_g`",
                UserWarning,
                stacklevel=2,
            )
        self.training_mask_: BoolArray = learned.mask
        training = np.flatnonzero(learned.mask)
        weights = learned.weights[training] if self.loss_weights == "confidence" else None
        with report_stage(
            f"max-margin classifier on {len(training):,} points", self.verbose
        ) as news:
            self.machine_ = self._train_on(
                *(X, training, learned.codes[training], kernel, self.C),
                sample_weight=weights,
                progress=news,
            )
            self._complete(X, solution, labels, learned.codes)
        return self

    def _search(
        self,
        X: Any,
        labels: EncodedLabels,
        W: Any,
        grid: Mapping[str, Sequence[Any]],
        hidden: Hidden,
    ) -> Search:
        graph = self._fit_graph(X, W)
        kernel = self._kernel(X, self._shared_width(graph))
        problem = self._problem(labels)
        values = self._grid(
            grid,
            gamma_g=gamma_g_grid(self.graph_),
            C=c_grid(X, kernel),
            class_mass_normalization=prior_grid(labels),
        )
        values["class_mass_normalization"] = self._normalizations(values, labels)
        plain = values["class_mass_normalization"][0]
        candidates = [
            candidate
            for candidate in grid_points(values)
            if np.isfinite(candidate["gamma_g"]) or candidate["class_mass_normalization"] == plain
        ]
        options = {"eps": self.eps, "loss_weights": self.loss_weights}
        found = self._try_cuts(
            *self._trial_set(X, labels, kernel, problem, candidates, hidden, W),
            solver=self.solver,
            **options,
        )
        solutions = dict(found.solutions) if found.n_rows == X.shape[0] else {}

        def solve(gamma_g: float) -> HarmonicSolution:
            if gamma_g not in solutions:
                solutions[gamma_g] = solve_path(
                    problem, [gamma_g], solver=self.solver, n_jobs=self.n_jobs
                )[0]
            return solutions[gamma_g]

        def induce(candidate: dict[str, Any]) -> InducedLabels:
            if np.isinf(candidate["gamma_g"]):
                return given_labels(labels)
            solution = solve(candidate["gamma_g"])
            priors = candidate["class_mass_normalization"]
            return induced_labels(with_priors(solution, priors), **options)

        search = self._search_of(found, X, labels, kernel, induce)

        def finish(choice: Choice) -> None:
            best = max(
                (i for i, _ in choice.blended if not choice.trials.supervised[i]),
                key=lambda i: choice.weights[i],
                default=choice.best,
            )
            candidate = choice.trials.params[best]
            self.harmonic_solution_ = solve(candidate["gamma_g"])
            warn_of(self.harmonic_solution_, deeper=1)
            self.training_mask_ = induce(candidate).mask
            self.n_iter_ = self.harmonic_solution_.iterations
            self._training_scores: FloatArray | None = None
            self._fitted_eps = self.eps
            search.finish(choice)

        return replace(search, finish=finish)

    def _trial_set(
        self,
        X: Any,
        labels: EncodedLabels,
        kernel: Kernel,
        problem: HarmonicProblem,
        candidates: list[dict[str, Any]],
        hidden: Hidden,
        W: Any,
    ) -> tuple[Any, ...]:
        """Return what candidates are tried on: all rows, or a sample of many with its own graph.

        A graph that is given cannot be sampled: few of its edges would be left.
        """
        if W is not None or (~labels.labeled).sum() <= MAX_TRIED:
            return X, labels, kernel, problem, candidates, hidden
        rows, _ = sample_rows(labels.codes, check_random_state(self._seed()), MAX_TRIED)
        codes = EncodedLabels(labels.classes, labels.codes[rows])
        graph = neighbor_graph(
            X[rows],
            self.n_neighbors,
            width=self.width,
            metric=self.metric,
            n_jobs=self.n_jobs,
            random_state=self._seed(),
        )
        trust = self.c_labeled
        if np.ndim(trust) > 0:
            trust = np.asarray(trust)[rows]
        part = problem_on(graph.W, codes, c_labeled=trust, c_unlabeled=self.c_unlabeled)
        folds = [np.flatnonzero(np.isin(rows, fold)) for fold in hidden.folds]
        return X[rows], codes, kernel, part, candidates, replace(hidden, folds=folds)

    def risk_bound(
        self,
        *,
        eta: float = 0.05,
        delta: float = 0.05,
        stability: Stability = "graph",
        vc_dimension: float | None = None,
    ) -> RiskBound:
        """Return the bound on the risk of f, term by term (Propositions 1 and 2).

        It is proved for two classes and soft labels (a finite number as `c_labeled`), and print
        tells in a sentence whether it says something: it takes many labels.

        Parameters
        ----------
        eta, delta : float in (0, 1), default=0.05
            The bound holds with probability ``1 - (eta + delta)``.
        stability : {"graph", "spectral", "lemma"}, default="graph"
            Stability coefficient: ours, or one of the two of the paper, see
            `graphmargin.theory.stability_coefficient`.
        vc_dimension : float, default=None
            Of the functions of the kernel; None is known for linear, cubic and RBF kernels (for
            the latter it is inf).

        Examples
        --------
        >>> from graphmargin.datasets import make_lattices
        >>> X, y, _, W = make_lattices()
        >>> model = MaxMarginGraphCut(
        ...     kernel="linear",
        ...     gamma_g=0.1,
        ...     C=10.0,
        ...     c_labeled=1.0,
        ...     c_unlabeled=0.01,
        ...     affinity="precomputed",
        ... )
        >>> bound = model.fit(X, y, W=W).risk_bound()
        >>> round(bound.inductive_error, 2), bound.vc_dimension, bound.informative
        (0.33, 3, False)
        """
        self._check_has_trained("risk_bound()")
        if self._training_scores is None:
            msg = (
                "`risk_bound` is for two classes, soft labels, masses as solved and parameters "
                f"that no label has chosen, got {len(self.classes_)} classes, c_labeled="
                f"{self.c_labeled!r}, class_mass_normalization={self.class_mass_normalization!r}, "
                f"gamma_g={self.gamma_g!r} and C={self.C!r}; fit two classes with numbers such as "
                "c_labeled=1.0, gamma_g=0.1 and C=10.0, and without normalization"
            )
            raise ValueError(msg)
        if vc_dimension is None:
            vc_dimension = kernel_vc_dimension(self.machine_.kernel, self.n_features_in_)
        return risk_bound(
            self.harmonic_solution_,
            self._training_scores,
            vc_dimension=vc_dimension,
            eps=self._fitted_eps,
            eta=eta,
            delta=delta,
            stability=stability,
        )

    def _check_parameters(self, X: Any, W: Any) -> None:
        self._check_graph_input(W)
        self._check_margin(X)
        check_solver(self.solver)
        check_choice("loss_weights", self.loss_weights, LOSS_WEIGHTS)
        hint = "; it is the least confidence to learn from"
        if check_real("eps", self.eps, finite=False, hint=hint) >= 1:
            msg = f"`eps` must be below 1, got {self.eps!r}; no confidence would reach it"
            raise ValueError(msg)

    def _shared_width(self, graph: NeighborGraph | None) -> float | None:
        """Return the width that the edges have found already, if the kernel has the same."""
        if graph is not None and self.metric == "euclidean" and self.width == "paper":
            return graph.weighting.width
        return None

    def _complete(
        self, X: Any, solution: HarmonicSolution, labels: EncodedLabels, codes: IntArray
    ) -> None:
        """Set the calibration of the probabilities and the transduction."""
        training, unknown = np.flatnonzero(self.training_mask_), codes == UNLABELED
        sample = training[:: -(-len(training) // CALIBRATION_ROWS)]
        targets = calibration_targets(solution.class_mass, labels.codes)[sample]
        self._calibration = fit_calibration(self.machine_.decision(X[sample]), targets)
        self._training_scores = None
        self._fitted_eps = self.eps
        as_solved = solution is self.harmonic_solution_
        if len(labels.classes) == 2 and as_solved and not solution.problem.hard.any():
            self._training_scores = self.machine_.decision(X)
        if unknown.any():
            scores = self.machine_.decision(X[unknown])
            self.label_distributions_[unknown] = probabilities(scores, *self._calibration)
            codes = codes.copy()
            codes[unknown] = winner(scores)
        self.transduction_: AnyArray = self._decode(codes)
