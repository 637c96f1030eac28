"""Manifold-regularized SVM (LapSVM)."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy.typing as npt

from graphmargin._checks import check_integer
from graphmargin.estimators.base import MarginClassifier, refuse_arguments
from graphmargin.labels import EncodedLabels
from graphmargin.margin.manifold import check_gamma_u
from graphmargin.margin.training import check_approximation
from graphmargin.methods.harmonic import GraphDetails
from graphmargin.methods.manifold import Manifold
from graphmargin.search.member import Member
from graphmargin.search.parameters import (
    check_bool,
    check_C,
    one_value,
    read_candidates,
    read_graph,
    read_kernel,
)


class ManifoldSVC(MarginClassifier):
    """Max-margin classifier whose function is smooth along the edges of the k-NN graph.

    ``min_f sum_{i in l} V(f, x_i, y_i) + gamma norm(f)_K^2 + gamma_u f'Lf`` (eq. MR), V the hinge
    loss, with ``C = 1 / (2 gamma)``: manifold regularization of SVMs, also known as Laplacian SVM
    (Belkin, Niyogi, Sindhwani 2006). Several classes are one-vs-one.

    ``gamma_u`` and ``C`` can be lists of candidates. All combinations are tried, and the four most
    credible are blended.

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

    CHOSEN: ClassVar[tuple[str, ...]] = ("gamma_u", "C")

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

    def fit(self, X: Any, y: npt.ArrayLike, W: Any = None, **unsupported: Any) -> Self:
        """Learn the max-margin function of the labeled rows that is smooth along the graph.

        Parameters
        ----------
        X : array, DataFrame or CSR matrix of shape (n, d), or a kernel matrix of shape (n, n)
        y : array-like of shape (n,)
            Labels; unlabeled is -1, None, NaN, pandas.NA or "".
        W : array or sparse matrix of shape (n, n), default=None
            The graph, if it is given: symmetric, non-negative, finite. None builds the k-nearest
            neighbor graph of the rows.
        **unsupported
            Other arguments, such as `sample_weight`, are refused by name, with the reason.
        """
        refuse_arguments(self, unsupported)
        return self._fit(X, y, W)

    def method(self, labels: EncodedLabels, *, has_graph: bool = False) -> Manifold:
        """Return the method with validated parameters; `has_graph` tells whether W is given."""
        power = one_value("laplacian_power", self.laplacian_power)
        return Manifold(
            graph=read_graph(self, len(labels.codes), has_graph=has_graph),
            kernel=read_kernel(self),
            gamma_u=read_candidates("gamma_u", self.gamma_u, check_gamma_u),
            C=read_candidates("C", self.C, check_C),
            laplacian_power=check_integer("laplacian_power", power, low=1),
            normalized=check_bool("normalized", one_value("normalized", self.normalized)),
            fit_intercept=check_bool(
                "fit_intercept", one_value("fit_intercept", self.fit_intercept)
            ),
            approximation=check_approximation(self.approximation, self.kernel),
        )

    def _members(self, X: Any, labels: EncodedLabels, *, has_graph: bool) -> Member:  # noqa: ARG002
        return Member("manifold", self.method(labels, has_graph=has_graph))

    def _keep_details(self, details: GraphDetails) -> None:
        self.graph_, self.graph_recall_ = details.W, details.recall
