"""Manifold-regularized SVM (LapSVM)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from graphmargin._checks import check_integer
from graphmargin._progress import report_stage
from graphmargin._typing import ProgressCallback
from graphmargin.estimators.base import GraphClassifier
from graphmargin.estimators.choosing import Search
from graphmargin.estimators.margin_classifier import MarginClassifier
from graphmargin.labels import EncodedLabels
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import MarginMachine
from graphmargin.margin.manifold import check_gamma_u, train_manifold
from graphmargin.selection.grids import Hidden, c_grid, gamma_u_grid, grid_points, is_auto
from graphmargin.selection.rivals import manifold_trials


class ManifoldSVC(MarginClassifier, GraphClassifier):
    """Max-margin classifier whose function changes little along the edges of the k-NN graph.

    ``min_f sum_{i in l} V(f, x_i, y_i) + gamma norm(f)_K^2 + gamma_u f'Lf`` (eq. MR), V the hinge
    loss, with ``C = 1 / (2 gamma)``: manifold regularization of SVMs, also known as Laplacian SVM
    (Belkin, Niyogi, Sindhwani 2006). Several classes are one-vs-one.

    Parameters
    ----------
    kernel, degree, coef0, width
        As in `MaxMarginGraphCut`.
    C : float > 0 or "auto", default=10.0
        1 / (2 gamma), the weight of the hinge losses.
    gamma_u : float >= 0 or "auto", default=1e-3
        Weight of f'Lf, a sum over all edges; 0 is the supervised SVM, and "auto" blends values
        by the number of rows, tested on hidden labels. The max-margin graph cut
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
    choice_ : Choice
        Only if gamma_u or C was chosen: the candidates and their weights.

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

    tuned_parameters = ("gamma_u", "C")
    searched_parameters = ("gamma_u", "C")

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        coef0: float = 1.0,
        width: Any = "paper",
        C: Any = 10.0,
        gamma_u: Any = 1e-3,
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
        self._check_parameters(X, W)
        if self._is_to_choose():
            self._choose(X, labels, W)
            return self
        kernel = self._kernel(X)
        self._fit_graph(X, W)
        with report_stage(
            f"manifold-regularized SVM on {X.shape[0]:,} points", self.verbose
        ) as news:
            self.machine_ = self._train(X, labels, kernel, self.C, self.gamma_u, news)
            self._label_by_machine(X, labels)
        return self

    def _check_parameters(self, X: Any, W: Any) -> None:
        self._check_graph_input(W)
        self._check_margin(X)
        if not is_auto(self.gamma_u):
            check_gamma_u(self.gamma_u)
        check_integer("laplacian_power", self.laplacian_power, low=1)
        for name in ("normalized", "fit_intercept"):
            value = getattr(self, name)
            if type(value) not in (bool, np.bool_):
                msg = f"`{name}` must be True or False, got {value!r}"
                raise ValueError(msg)

    def _train(
        self,
        X: Any,
        labels: EncodedLabels,
        kernel: Kernel,
        C: float,
        gamma_u: float,
        progress: ProgressCallback | None,
    ) -> MarginMachine:
        return train_manifold(
            *(X, labels.codes, kernel, self.graph_),
            C=C,
            gamma_us=[gamma_u],
            normalized=self.normalized,
            power=self.laplacian_power,
            fit_intercept=self.fit_intercept,
            approximation=self.approximation,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
            progress=progress,
        )[0]

    def _search(
        self,
        X: Any,
        labels: EncodedLabels,
        W: Any,
        grid: Mapping[str, Sequence[Any]],
        hidden: Hidden,
    ) -> Search:
        kernel = self._kernel(X)
        self._fit_graph(X, W)
        values = self._grid(grid, gamma_u=gamma_u_grid(X.shape[0]), C=c_grid(X, kernel))
        candidates = grid_points(values)
        with report_stage(f"trial of {len(candidates)} candidates", self.verbose) as news:
            trials = manifold_trials(
                *(X, labels, kernel, self.graph_, candidates, hidden.folds),
                validation=hidden.validation,
                normalized=self.normalized,
                power=self.laplacian_power,
                fit_intercept=self.fit_intercept,
                n_jobs=self.n_jobs,
                random_state=self._seed(),
                progress=news,
            ).trials

        def train(candidate: dict[str, Any], news: ProgressCallback | None) -> MarginMachine:
            C, gamma_u = candidate["C"], candidate["gamma_u"]
            return self._train(X, labels, kernel, C, gamma_u, news)

        return self._blend_after(trials, train, X, labels)
