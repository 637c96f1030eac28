"""Manifold-regularized SVM (LapSVM)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from graphmargin._checks import check_integer
from graphmargin.estimators.base import GraphClassifier
from graphmargin.estimators.margin_classifier import MarginClassifier
from graphmargin.estimators.progress import stage
from graphmargin.margin.manifold import check_gamma_u, train_manifold


class ManifoldSVC(MarginClassifier, GraphClassifier):
    """Max-margin classifier whose function changes little along the edges of the k-NN graph.

    ``min_f sum_{i in l} V(f, x_i, y_i) + gamma norm(f)_K^2 + gamma_u f'Lf`` (eq. MR), V the hinge
    loss, with ``C = 1 / (2 gamma)``: manifold regularization of SVMs, also known as Laplacian SVM
    (Belkin, Niyogi, Sindhwani 2006). Several classes are one-vs-one.

    Parameters
    ----------
    kernel, degree, coef0, width, C
        As in `MaxMarginGraphCut`.
    gamma_u : float >= 0, default=1e-3
        Weight of f'Lf, a sum over all edges; 0 is the supervised SVM. The max-margin graph cut
        with ``gamma_g = gamma / gamma_u = 1 / (2 C gamma_u)`` weighs graph and norm alike.
    laplacian_power : int, default=1
        L^power in place of L: smooth beyond the neighbors.
    normalized : bool, default=False
        ``D^-1/2 L D^-1/2`` in place of ``L = D - W``. The penalty is then on f without its bias.
    fit_intercept : bool, default=True
        False is f without a bias, as in the paper.
    approximation : {"auto", "none", "nystroem"}, default="auto"
        "none" is exact, by a kernel matrix of all rows: time O(n^3). "nystroem" is for many rows:
        kernel values to 500 landmarks serve as features; for the linear kernel on dense rows of up
        to 2,000 columns, the rows themselves, which is exact. "auto" takes the rows where it can,
        else "none" for up to 4,000 rows. `machine_.report` tells what was done.
    n_neighbors : int, default=5
    metric : {"euclidean", "cosine"}, default="euclidean"
        Metric of the graph.
    affinity : {"knn", "precomputed"}, default="knn"
        With "precomputed", pass the graph to `fit` as W.
    n_jobs, random_state, verbose
        As in `HarmonicClassifier`.

    Attributes
    ----------
    classes_ : array of shape (c,)
    transduction_ : array of shape (n,)
        The given labels, and those of the classifier for the other rows.
    label_distributions_ : array of shape (n, c)
        Probabilities of the training rows, calibrated on the given labels.
    confidence_ : array of shape (n,)
        Best minus second best of these probabilities.
    graph_ : csr_array of shape (n, n)
    graph_recall_ : float or None
        Share of the true neighbors in the graph, measured on a sample; 1 is exact, None is a
        precomputed graph.
    machine_ : MarginMachine

    Examples
    --------
    The paper's example of a problem that linear manifold regularization cannot solve: it scales f,
    and moves its boundary nowhere.

    >>> from graphmargin.datasets import make_lattices
    >>> X, y, y_true, W = make_lattices()
    >>> model = ManifoldSVC(kernel="linear", affinity="precomputed", gamma_u=1.0)
    >>> float(model.fit(X, y, W=W).score(X, y_true))
    0.9
    >>> float(model.set_params(kernel="rbf", width=1.0).fit(X, y, W=W).score(X, y_true))
    1.0
    """

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        coef0: float = 1.0,
        width: Any = "paper",
        C: float = 10.0,
        gamma_u: float = 1e-3,
        laplacian_power: int = 1,
        normalized: bool = False,
        fit_intercept: bool = True,
        approximation: Any = "auto",
        n_neighbors: int = 5,
        metric: Any = "euclidean",
        affinity: str = "knn",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.width = width
        self.C = C
        self.gamma_u = gamma_u
        self.laplacian_power = laplacian_power
        self.normalized = normalized
        self.fit_intercept = fit_intercept
        self.approximation = approximation
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.affinity = affinity
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: npt.ArrayLike, W: Any = None) -> ManifoldSVC:
        """Learn the max-margin function of the labeled rows that is smooth along the graph.

        Parameters
        ----------
        X : array, DataFrame or CSR matrix of shape (n, d), or a kernel matrix of shape (n, n)
        y : array-like of shape (n,)
            Labels; unlabeled is -1, None, NaN, pandas.NA or "".
        W : array or sparse matrix of shape (n, n), default=None
            The graph, for ``affinity="precomputed"``: symmetric, non-negative, finite.
        """
        X, labels = self._validate(X, y)
        self._check_graph_input(W)
        self._check_margin(X)
        check_gamma_u(self.gamma_u)
        check_integer("laplacian_power", self.laplacian_power, low=1)
        for name in ("normalized", "fit_intercept"):
            value = getattr(self, name)
            if type(value) not in (bool, np.bool_):
                msg = f"`{name}` must be True or False, got {value!r}"
                raise ValueError(msg)
        kernel = self._kernel(X)
        self._fit_graph(X, W)
        with stage(f"manifold-regularized SVM on {X.shape[0]:,} points", self.verbose) as news:
            self.machine_ = train_manifold(
                X,
                labels.codes,
                kernel,
                self.graph_,
                C=self.C,
                gamma_us=[self.gamma_u],
                normalized=self.normalized,
                power=self.laplacian_power,
                fit_intercept=self.fit_intercept,
                approximation=self.approximation,
                n_jobs=self.n_jobs,
                random_state=self.random_state,
                progress=news,
            )[0]
            self._label_by_machine(X, labels)
        return self
