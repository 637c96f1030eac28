"""The harmonic solution as a classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from graphmargin._typing import AnyArray, FloatArray
from graphmargin.estimators.base import GraphClassifier, known_codes
from graphmargin.graph.adjacency import in_metric
from graphmargin.graph.neighbors import nearest_neighbors
from graphmargin.labels import UNLABELED


class HarmonicClassifier(GraphClassifier):
    """Labels by random walks on the k-NN graph; new points ask their neighbors.

    Training rows get the regularized harmonic solution
    ``l_u = (L_uu + gamma_g I)^-1 W_ul l_l`` (eq. reg HFS), hard or soft. A new point x takes one
    more step of the same walk: it moves to a neighbor j with probability
    ``w(x, x_j) / (sum_j w(x, x_j) + gamma_g)`` and gets that neighbor's class masses.

    Parameters
    ----------
    gamma_g : float >= 0, default=0.01
        Rate of the sink; 0 is the ordinary harmonic solution. A small positive value damps the
        few vertices that would otherwise label everything when labels are rare.
    n_neighbors : int, default=5
        Neighbors in the graph.
    width : {"paper", "self-tuning", "binary"} or positive float, default="paper"
        Width of the edge weights, see `knn_graph`.
    metric : {"euclidean", "cosine"}, default="euclidean"
    affinity : {"knn", "precomputed"}, default="knn"
        With "precomputed", `fit` takes the graph W itself as X, and `predict` takes the weights
        between new points and training points, of shape (m, n).
    solver : {"auto", "direct", "cg", "jacobi", "amg"}, default="auto"
        See `harmonic_solution`.
    class_mass_normalization : bool or array of shape (c,), default=False
        Scale class masses to the class shares of the labels (True) or to these priors.
    c_labeled : float > 0 or array of shape (n,), default=inf
        Trust in the labels; inf keeps them as given.
    c_unlabeled : float >= 0, default=0
        Pull of unlabeled points towards no label.
    n_jobs : int, default=None
        Threads of the neighbor search; None leaves BLAS and OpenMP as they are.
    random_state : int, RandomState or None, default=None
        Seed of the approximate neighbor search (above 50,000 points).
    verbose : int, default=0
        1 shows the stages of `fit` on standard error.

    Attributes
    ----------
    classes_ : array of shape (c,)
    transduction_ : array of shape (n,)
        Label of every training row. Rows in components without a label get the most frequent
        label, with confidence 0 and a warning that counts them.
    confidence_ : array of shape (n,)
        Best minus second best class mass, abs(l) for two classes.
    label_distributions_ : array of shape (n, c)
        Class masses, the sink's share spread evenly; rows sum to 1.
    graph_ : csr_array of shape (n, n)
    harmonic_solution_ : HarmonicSolution
    n_iter_ : int

    Examples
    --------
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = ["low", None, None, "high", None, None]
    >>> model = HarmonicClassifier(n_neighbors=3).fit(X, y)
    >>> model.transduction_.tolist()
    ['low', 'low', 'low', 'high', 'high', 'high']
    >>> model.predict([[0.15], [1.15]]).tolist()
    ['low', 'high']
    """

    def __init__(
        self,
        *,
        gamma_g: float = 0.01,
        n_neighbors: int = 5,
        width: Any = "paper",
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
        self.gamma_g = gamma_g
        self.n_neighbors = n_neighbors
        self.width = width
        self.metric = metric
        self.affinity = affinity
        self.solver = solver
        self.class_mass_normalization = class_mass_normalization
        self.c_labeled = c_labeled
        self.c_unlabeled = c_unlabeled
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: npt.ArrayLike) -> HarmonicClassifier:
        """Label all rows of X from the labeled ones.

        Parameters
        ----------
        X : array, DataFrame or CSR matrix of shape (n, d), or the graph of shape (n, n)
        y : array-like of shape (n,)
            Labels; unlabeled is -1, None, NaN, pandas.NA or "".
        """
        X, labels = self._validate(X, y)
        precomputed = self.affinity == "precomputed"
        solution = self._fit_harmonic(X, labels, X if precomputed else None)
        if not precomputed:
            self._points = in_metric(X, self.metric)
        self._fallback = int(np.bincount(labels.codes[labels.labeled]).argmax())
        codes = known_codes(solution, labels)
        self.transduction_: AnyArray = self._decode(
            np.where(codes == UNLABELED, self._fallback, codes)
        )
        return self

    def predict(self, X: Any) -> AnyArray:
        """Return the label of new points; the most frequent one where no label is in reach."""
        shares, _ = self._step(X)
        return self._decode(np.where(shares.any(axis=1), shares.argmax(axis=1), self._fallback))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return class probabilities of new points: the walk's, the sink's share spread evenly."""
        shares, moving = self._step(X)
        mass = shares * moving[:, None]
        return np.asarray(mass + (1 - mass.sum(axis=1, keepdims=True)) / len(self.classes_))

    def _step(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """Return the mean class masses of each point's neighbors and the chance to get there."""
        check_is_fitted(self)
        X = self._validate_new(X)
        mass = self.harmonic_solution_.class_mass
        sink = self.gamma_g + self.c_unlabeled
        if self.affinity == "precomputed":
            total = np.asarray(X.sum(axis=1)).ravel()
            with np.errstate(divide="ignore", invalid="ignore"):
                shares = np.where(total[:, None] > 0, np.asarray(X @ mass) / total[:, None], 0.0)
            log_total = np.log(np.maximum(total, np.finfo(float).tiny))
        else:
            neighbors = nearest_neighbors(
                self._points,
                min(self.n_neighbors, self._points.shape[0]),
                queries=in_metric(X, self.metric),
                n_jobs=self.n_jobs,
                random_state=self.random_state,
            )
            log_weights = self._weighting.log_weights(neighbors)
            top = log_weights.max(axis=1, keepdims=True)
            # Far points: relative weights still tell which neighbor is nearest.
            weights = np.exp(log_weights - top)
            total = weights.sum(axis=1)
            shares = np.einsum("qk,qkc->qc", weights / total[:, None], mass[neighbors.indices])
            log_total = top[:, 0] + np.log(total)
        with np.errstate(over="ignore"):
            moving = 1 / (1 + sink * np.exp(-log_total))
        return shares, moving
