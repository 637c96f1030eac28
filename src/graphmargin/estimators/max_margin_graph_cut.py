"""The max-margin graph cut: a margin classifier on labels that the graph induces."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from graphmargin._checks import check_choice, check_real
from graphmargin._typing import AnyArray, BoolArray, FloatArray, IntArray
from graphmargin.estimators.base import GraphClassifier, known_codes
from graphmargin.estimators.progress import stage
from graphmargin.graph.adjacency import NeighborGraph
from graphmargin.graph.weights import kernel_width
from graphmargin.harmonic.solution import HarmonicSolution
from graphmargin.labels import UNLABELED, EncodedLabels
from graphmargin.margin.calibration import calibration_targets, fit_sharpness, probabilities
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import MarginMachine
from graphmargin.margin.training import APPROXIMATIONS, train_machine

CALIBRATION_ROWS = 100_000
"""Number of training rows, at most, whose scores are calibrated to probabilities."""


class MaxMarginGraphCut(GraphClassifier):
    """Max-margin classifier on all points whose label the graph is confident about.

    1. ``(L_uu + gamma_g I) l_u = W_ul l_l`` on the k-NN graph gives induced labels sgn(l_i) and
       confidences abs(l_i) (eq. reg HFS).
    2. ``min_f sum_{i: abs(l_i) >= eps} V(f, x_i, sgn(l_i)) + gamma norm(f)_K^2``, V the hinge
       loss (eq. MMGC), with ``C = 1 / (2 gamma)``.

    Labeled points always take part. ``gamma_g = inf`` is the supervised SVM on them alone.
    Several classes: one column of the harmonic system for each, confidence is the best minus the
    second best mass, and the margin classifier is one-vs-one.

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
    C : float > 0, default=10.0
        1 / (2 gamma), the weight of the hinge losses.
    approximation : {"auto", "none", "nystroem"}, default="auto"
        "none" trains the exact machine. "nystroem" is for many rows: kernel values to 500
        landmarks serve as features (for a linear kernel, the rows themselves), and of more than
        200,000 rows that many are learned from. "auto" is exact for up to 10,000 rows (linear:
        2,000). `machine_.report` tells what was done.
    gamma_g : float >= 0, default=0.1
        Rate of the sink: 0 trusts the graph most, inf not at all.
    eps : float in [0, 1), default=1e-6
        Confidence from which on an induced label is learned from.
    n_neighbors : int, default=5
    metric : {"euclidean", "cosine"}, default="euclidean"
        Metric of the graph.
    affinity : {"knn", "precomputed"}, default="knn"
        With "precomputed", pass the graph to `fit` as W.
    solver, class_mass_normalization, c_labeled, c_unlabeled, n_jobs, random_state, verbose
        As in `HarmonicClassifier`. With soft labels (finite `c_labeled`), labeled points enter
        with the label that the solution gives them.

    Attributes
    ----------
    classes_ : array of shape (c,)
    transduction_ : array of shape (n,)
        Label of every training row: induced by the graph, or by the margin classifier where no
        label can be reached (confidence 0, and a warning that counts such rows).
    confidence_ : array of shape (n,)
    label_distributions_ : array of shape (n, c)
        Rows sum to 1.
    training_mask_ : array of shape (n,)
        Rows that the margin classifier was trained on.
    graph_ : csr_array of shape (n, n)
    graph_recall_ : float or None
        Share of the true neighbors in the graph, measured on a sample; 1 is exact, None is a
        precomputed graph.
    harmonic_solution_ : HarmonicSolution
    machine_ : MarginMachine
    n_iter_ : int

    Examples
    --------
    >>> from graphmargin.datasets import make_lattices
    >>> X, y, y_true, W = make_lattices()
    >>> supervised = MaxMarginGraphCut(kernel="linear", gamma_g=np.inf).fit(X, y)
    >>> cut = MaxMarginGraphCut(kernel="linear", affinity="precomputed").fit(X, y, W=W)
    >>> float(supervised.score(X, y_true)), float(cut.score(X, y_true))
    (0.9, 1.0)
    """

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        coef0: float = 1.0,
        width: Any = "paper",
        C: float = 10.0,
        approximation: Any = "auto",
        gamma_g: float = 0.1,
        eps: float = 1e-6,
        n_neighbors: int = 5,
        metric: Any = "euclidean",
        affinity: str = "knn",
        solver: Any = "auto",
        class_mass_normalization: Any = False,
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
        kernel = Kernel(self.kernel, degree=self.degree, coef0=self.coef0)
        solution, graph = self._fit_harmonic(X, labels, W)
        if not self._is_pairwise() and not callable(self.kernel):
            kernel = replace(kernel, width=self._kernel_width(X, graph))
        codes, self.training_mask_ = self._training_set(solution, labels)
        training = np.flatnonzero(self.training_mask_)
        with stage(f"max-margin classifier on {len(training):,} points", self.verbose) as news:
            rows = X[training]
            if kernel.kind == "precomputed":
                rows = rows[:, training]
            machine = train_machine(
                rows,
                codes[training],
                kernel,
                C=self.C,
                approximation=self.approximation,
                n_jobs=self.n_jobs,
                random_state=self.random_state,
                progress=news,
            )
            if kernel.kind == "precomputed":
                machine = replace(machine, vectors=training[machine.vectors])
            self.machine_: MarginMachine = machine
            self._complete(X, solution, labels, codes)
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """Return f(x): (m,) for two classes, positive for the second, else a score a class."""
        check_is_fitted(self)
        return self.machine_.decision(self._validate_new(X))

    def predict(self, X: Any) -> AnyArray:
        """Return the label of every row."""
        return self._decode(_winner(self.decision_function(X)))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return class probabilities, calibrated on the graph's confidences in training."""
        return probabilities(self.decision_function(X), self._sharpness)

    def _check_parameters(self, X: Any, W: Any) -> None:
        check_choice("approximation", self.approximation, APPROXIMATIONS)
        check_real("C", self.C, positive=True, hint="; C = 1 / (2 gamma)")
        hint = "; it is the least confidence to learn from"
        if check_real("eps", self.eps, finite=False, hint=hint) >= 1:
            msg = f"`eps` must be below 1, got {self.eps!r}; no confidence would reach it"
            raise ValueError(msg)
        if (W is not None) != (self.affinity == "precomputed"):
            msg = (
                f"`W` must be given exactly for affinity='precomputed', got affinity="
                f"{self.affinity!r} and W {'missing' if W is None else 'given'}"
            )
            raise ValueError(msg)
        if not self._is_pairwise():
            return
        if self.affinity != "precomputed":
            msg = (
                "`kernel`='precomputed' leaves no points to build a graph from; use "
                "affinity='precomputed' and pass W to fit"
            )
            raise ValueError(msg)
        if X.shape[0] != X.shape[1]:
            msg = f"`X` must be a square kernel matrix for kernel='precomputed', got {X.shape}"
            raise ValueError(msg)
        if abs(X - X.T).max() > 1e-6 * abs(X).max():
            msg = "`X` must be a symmetric kernel matrix for kernel='precomputed'"
            raise ValueError(msg)

    def _kernel_width(self, X: Any, graph: NeighborGraph | None) -> float:
        """Return the width of the kernel, which the edges may have as well."""
        if graph is not None and self.metric == "euclidean" and self.width == "paper":
            return graph.weighting.width
        return kernel_width(X, self.width)

    def _training_set(
        self, solution: HarmonicSolution, labels: EncodedLabels
    ) -> tuple[IntArray, BoolArray]:
        """Return the class codes to learn, and the points that take part."""
        labeled = labels.labeled
        mask = (solution.confidence >= self.eps) & (solution.codes != UNLABELED) | labeled
        codes = known_codes(solution, labels)
        if len(np.unique(codes[mask])) < len(labels.classes):
            warnings.warn(
                "the soft solution induces no label of some class; the given labels are kept at "
                "the labeled points: raise `c_labeled` or lower `gamma_g`",
                UserWarning,
                stacklevel=3,
            )
            codes = np.where(labeled, labels.codes, codes)
        return codes, mask

    def _complete(
        self, X: Any, solution: HarmonicSolution, labels: EncodedLabels, codes: IntArray
    ) -> None:
        """Set the sharpness of the probabilities and the transduction."""
        training, unknown = np.flatnonzero(self.training_mask_), codes == UNLABELED
        sample = training[:: -(-len(training) // CALIBRATION_ROWS)]
        targets = calibration_targets(solution.class_mass, labels.codes)[sample]
        self._sharpness = fit_sharpness(self.machine_.decision(X[sample]), targets)
        if unknown.any():
            scores = self.machine_.decision(X[unknown])
            self.label_distributions_[unknown] = probabilities(scores, self._sharpness)
            codes = codes.copy()
            codes[unknown] = _winner(scores)
        self.transduction_: AnyArray = self._decode(codes)

    def _is_pairwise(self) -> bool:
        """Tell whether X is a kernel matrix."""
        return not callable(self.kernel) and self.kernel == "precomputed"


def _winner(scores: FloatArray) -> IntArray:
    """Return the class code with the largest score."""
    if scores.ndim == 1:
        return (scores > 0).astype(np.int64)
    return np.asarray(scores.argmax(axis=1))
