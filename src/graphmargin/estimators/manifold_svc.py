"""Manifold-regularized SVM (LapSVM)."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from graphmargin.estimators.base import MarginClassifier
from graphmargin.selection.cut_trials import MAX_BLENDED
from graphmargin.selection.execution import Execution
from graphmargin.selection.manifold_fits import blend_manifold, fit_manifold, try_manifold
from graphmargin.selection.parameters import read_parameters
from graphmargin.selection.tasks import choose_among, make_tasks


class ManifoldSVC(MarginClassifier):
    """Max-margin classifier whose function is smooth along the edges of the k-NN graph.

    ``min_f sum_{i in l} V(f, x_i, y_i) + gamma norm(f)_K^2 + gamma_u f'Lf`` (eq. MR), V the hinge
    loss, with ``C = 1 / (2 gamma)``: manifold regularization of SVMs, also known as Laplacian SVM
    (Belkin, Niyogi, Sindhwani 2006). Several classes are one-vs-one.

    A parameter can be a list of candidates: ``gamma_u``, ``C``, ``kernel``, ``degree``, ``coef0``,
    ``width``, ``n_neighbors``, ``metric``, ``laplacian_power``, ``normalized`` and
    ``fit_intercept``. All combinations are tried, and the four most credible are blended.

    Parameters
    ----------
    kernel, degree, coef0, width, class_weight, n_neighbors, metric, cv
        As in `MaxMarginGraphCut`.
    C : float > 0 or "auto", default=10.0
        1 / (2 gamma), the weight of the hinge losses.
    gamma_u : float >= 0 or "auto", default=1e-3
        Weight of f'Lf, a sum over all edges; 0 is the supervised SVM, and "auto" blends values in
        units of the inverse number of rows, tested on held-out labels. The max-margin graph cut
        with ``gamma_g = gamma / gamma_u = 1 / (2 C gamma_u)`` weights graph and norm alike.
    laplacian_power : int, default=1
        L^power in place of L, which makes f smooth beyond direct neighbors.
    normalized : bool, default=False
        ``D^-1/2 L D^-1/2`` in place of ``L = D - W``. The penalty is then on f without its bias.
    fit_intercept : bool, default=True
        False is f without a bias, as in the paper.
    approximation : {"auto", "none", "nystroem"}, default="auto"
        "none" is exact, by a kernel matrix of all rows in time O(n^3). "nystroem" is for many rows:
        the features are kernel values to 500 landmarks; for the linear kernel on dense rows of up
        to 2,000 columns they are the rows themselves, which is exact. "auto" uses the rows where
        possible, else "none" for up to 4,000 rows.
    n_jobs, random_state, verbose
        As in `HarmonicClassifier`.

    Attributes
    ----------
    classes_, transduction_, label_distributions_, confidence_, predictor_, choice_
        As in `SupervisedSVC`.
    graph_, graph_recall_
        As in `HarmonicClassifier`.

    Examples
    --------
    The paper's example of a problem that linear manifold regularization cannot solve: it scales f,
    but does not move its boundary.

    >>> from graphmargin.datasets import make_lattices
    >>> X, y, y_true, W = make_lattices()
    >>> model = ManifoldSVC(kernel="linear", gamma_u=1.0)
    >>> float(model.fit(X, y, W=W).score(X, y_true))
    0.9
    >>> float(model.set_params(kernel="rbf", width=1.0).fit(X, y, W=W).score(X, y_true))
    1.0
    """

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: Any = 3,
        coef0: Any = 1.0,
        width: Any = "paper",
        C: Any = 10.0,
        class_weight: Any = None,
        gamma_u: Any = 1e-3,
        laplacian_power: Any = 1,
        normalized: Any = False,
        fit_intercept: Any = True,
        approximation: Any = "auto",
        n_neighbors: Any = 5,
        metric: Any = "euclidean",
        cv: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.width = width
        self.C = C
        self.class_weight = class_weight
        self.gamma_u = gamma_u
        self.laplacian_power = laplacian_power
        self.normalized = normalized
        self.fit_intercept = fit_intercept
        self.approximation = approximation
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.cv = cv
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
            The graph, if it is given: symmetric, non-negative, finite. None builds the k-nearest
            neighbor graph of the rows.
        """
        X, labels = self._validate(X, y)
        parameters = read_parameters(self, labels, has_graph=W is not None)
        execution = Execution.from_estimator(self)
        held_out = self._held_out(X, y, labels, ("gamma_u", "C"), execution)
        tasks = make_tasks(X, labels, W, parameters, execution)
        if held_out is None:
            fitted = fit_manifold(tasks[0], execution)
        else:
            trials = try_manifold(tasks, held_out, execution)
            choice = choose_among(trials, MAX_BLENDED)
            fitted = blend_manifold(trials, choice, execution)
        self.graph_, self.graph_recall_ = fitted.task.W, fitted.task.recall
        self._keep(fitted)
        return self
