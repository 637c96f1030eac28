"""The max-margin graph cut: a margin classifier on labels that the graph induces."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from graphmargin._checks import check_choice, check_real
from graphmargin._typing import AnyArray, BoolArray, IntArray
from graphmargin.estimators.base import DiffusionClassifier, known_codes
from graphmargin.estimators.margin_classifier import MarginClassifier, winner
from graphmargin.estimators.progress import stage
from graphmargin.graph.adjacency import NeighborGraph
from graphmargin.harmonic.solution import HarmonicSolution
from graphmargin.labels import UNLABELED, EncodedLabels
from graphmargin.margin.calibration import calibration_targets, fit_sharpness, probabilities
from graphmargin.theory.bounds import RiskBound, risk_bound
from graphmargin.theory.capacity import vc_dimension as kernel_vc_dimension
from graphmargin.theory.stability import Stability

CALIBRATION_ROWS = 100_000
"""Number of training rows, at most, whose scores are calibrated to probabilities."""
LEAST_WEIGHT = 1e-6
"""Of a loss that is weighted by confidence: a labeled row without any still says a little."""


class MaxMarginGraphCut(MarginClassifier, DiffusionClassifier):
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
    loss_weights : {"equal", "confidence"}, default="equal"
        "equal" is the paper's sum of hinge losses; "confidence" weights each by abs(l_i), so that
        points count the more the surer their label is.
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
        loss_weights: Any = "equal",
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
        solution, graph = self._fit_harmonic(X, labels, W)
        kernel = self._kernel(X, self._shared_width(graph))
        codes, self.training_mask_ = self._training_set(solution, labels)
        training = np.flatnonzero(self.training_mask_)
        with stage(f"max-margin classifier on {len(training):,} points", self.verbose) as news:
            weights = None
            if self.loss_weights == "confidence":
                weights = np.maximum(solution.confidence, LEAST_WEIGHT)[training]
                weights[solution.codes[training] == UNLABELED] = 1.0  # given, and not in doubt
            self.machine_ = self._train_on(
                X, training, codes[training], kernel, sample_weight=weights, progress=news
            )
            self._complete(X, solution, labels, codes)
        return self

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
        ...     kernel="linear", c_labeled=1.0, c_unlabeled=0.01, affinity="precomputed"
        ... )
        >>> bound = model.fit(X, y, W=W).risk_bound()
        >>> round(bound.inductive_error, 2), bound.vc_dimension, bound.informative
        (0.33, 3, False)
        """
        check_is_fitted(self)
        if self._training_scores is None:
            msg = (
                "`risk_bound` is for two classes, soft labels and masses as solved, got "
                f"{len(self.classes_)} classes, c_labeled={self.c_labeled!r} and "
                f"class_mass_normalization={self.class_mass_normalization!r}; fit two classes "
                "with a number such as c_labeled=1.0 and without normalization"
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
        check_choice("loss_weights", self.loss_weights, ("equal", "confidence"))
        hint = "; it is the least confidence to learn from"
        if check_real("eps", self.eps, finite=False, hint=hint) >= 1:
            msg = f"`eps` must be below 1, got {self.eps!r}; no confidence would reach it"
            raise ValueError(msg)

    def _shared_width(self, graph: NeighborGraph | None) -> float | None:
        """Return the width that the edges have found already, if the kernel has the same."""
        if graph is not None and self.metric == "euclidean" and self.width == "paper":
            return graph.weighting.width
        return None

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
        self._training_scores, self._fitted_eps = None, self.eps
        as_solved = solution is self.harmonic_solution_
        if len(labels.classes) == 2 and as_solved and not solution.problem.hard.any():
            self._training_scores = self.machine_.decision(X)
        if unknown.any():
            scores = self.machine_.decision(X[unknown])
            self.label_distributions_[unknown] = probabilities(scores, self._sharpness)
            codes = codes.copy()
            codes[unknown] = winner(scores)
        self.transduction_: AnyArray = self._decode(codes)
