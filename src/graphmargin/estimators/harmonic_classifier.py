"""The harmonic solution as a classifier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from graphmargin._checks import check_choice
from graphmargin.estimators.base import SemiSupervisedClassifier, refuse_arguments
from graphmargin.harmonic.problem import check_gamma_g
from graphmargin.labels import EncodedLabels
from graphmargin.methods.harmonic import Harmonic, WalkDetails
from graphmargin.search.member import Member
from graphmargin.search.parameters import read_candidates, read_class_shares, read_walk

if TYPE_CHECKING:
    from graphmargin.reports.graph_reports import GraphReport


class HarmonicClassifier(SemiSupervisedClassifier):
    """Classifier by random walks on the k-NN graph, the harmonic solution.

    Training rows get the regularized harmonic solution
    ``l_u = (L_uu + gamma_g I)^-1 W_ul l_l`` (eq. reg HFS), hard or soft. A new point x takes one
    more step of the same walk: it moves to a neighbor j with probability
    ``w(x, x_j) / (sum_j w(x, x_j) + gamma_g)`` and gets that neighbor's class masses.

    ``gamma_g`` and ``class_mass_normalization`` can be lists of candidates. All combinations are
    tried, and the class masses of the credible ones are averaged.

    Parameters
    ----------
    gamma_g : float >= 0 or "auto", default=0.1
        Rate of the sink; 0 is the ordinary harmonic solution. A small positive value limits the
        influence of the few vertices that would otherwise label everything when labels are rare.
        "auto" averages the class masses of several values, weighted by how well they predict
        held-out labels. Candidates are tried on at most 20,000 unlabeled rows, unless X is the
        graph.
    n_neighbors : int, default=5
        Number of neighbors in the graph.
    width : "paper" or positive float, default="paper"
        Width of the edge weights, see `knn_graph`.
    metric : {"euclidean", "cosine"}, default="euclidean"
    affinity : {"knn", "precomputed"}, default="knn"
        With "precomputed", `fit` takes the graph W itself as X, and `predict` takes the weights
        between new points and training points, of shape (m, n).
    class_mass_normalization : bool, array of shape (c,) or "auto", default=False
        Scale class masses to the class shares of the labels (True) or to these priors. "auto" is
        for ``gamma_g="auto"``: with up to three labels per class, it tries the shares of the labels
        (with one more in each class) and no normalization.
    c_labeled : float > 0 or array of shape (n,), default=inf
        Trust in the labels; inf keeps them as given.
    c_unlabeled : float >= 0, default=0
        Weight that pulls unlabeled points towards no label.
    cv
        Labels on which candidates are tested, as in `MaxMarginGraphCut`.
    n_jobs : int, default=None
        Number of threads of `fit`; None takes as many as BLAS would, -1 all cores. The result does
        not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the approximate neighbor search (above 50,000 points).
    verbose : int, default=0
        1 prints the stages of `fit` and their times on standard error.

    Attributes
    ----------
    classes_ : array of shape (c,)
    transduction_ : array of shape (n,)
        Label of every training row. Rows in components without a label get that of the nearest
        row outside them (with a precomputed graph: the most frequent one) and confidence 0, and a
        warning counts them.
    confidence_ : array of shape (n,)
        Best minus second best class mass, abs(l) for two classes.
    label_distributions_ : array of shape (n, c)
        Class masses, with the sink mass divided equally; rows sum to 1.
    graph_ : csr_array of shape (n, n)
    graph_recall_ : float or None
        Share of the true nearest neighbors in the graph, measured on a sample; 1 is exact, None is
        a precomputed graph.
    harmonic_solution_ : HarmonicSolution
        Solution before class mass normalization; if gamma_g was chosen, for the value with the
        largest weight.
    choice_ : Choice or None
        If parameters were chosen: the candidates and their weights.
    gamma_g_path_ : dict or None
        If parameters were chosen: a table with a row for each gamma_g, as in `MaxMarginGraphCut`.
    predictor_ : Predictor
        The data that predictions need.
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

    CHOSEN: ClassVar[tuple[str, ...]] = ("gamma_g",)

    def __init__(
        self,
        *,
        gamma_g: Any = 0.1,
        n_neighbors: Any = 5,
        width: Any = "paper",
        metric: Any = "euclidean",
        affinity: str = "knn",
        class_mass_normalization: Any = False,
        c_labeled: Any = np.inf,
        c_unlabeled: Any = 0.0,
        cv: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.gamma_g = gamma_g
        self.n_neighbors = n_neighbors
        self.width = width
        self.metric = metric
        self.affinity = affinity
        self.class_mass_normalization = class_mass_normalization
        self.c_labeled = c_labeled
        self.c_unlabeled = c_unlabeled
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: npt.ArrayLike, **unsupported: Any) -> Self:
        """Solve for the labels of all rows.

        Parameters
        ----------
        X : array, DataFrame or CSR matrix of shape (n, d), or the graph of shape (n, n)
        y : array-like of shape (n,)
            Labels; unlabeled is -1, None, NaN, pandas.NA or "".
        **unsupported
            Other arguments, such as `sample_weight` or W, are refused by name, with the reason.
        """
        check_choice("affinity", self.affinity, ("knn", "precomputed"))
        refuse_arguments(self, unsupported)
        return self._fit(X, y, X if self.affinity == "precomputed" else None)

    def method(self, labels: EncodedLabels, *, has_graph: bool = False) -> Harmonic:
        """Return the harmonic solution with validated parameters."""
        return Harmonic(
            walk=read_walk(self, labels, has_graph=has_graph),
            gamma_g=read_candidates("gamma_g", self.gamma_g, check_gamma_g),
            class_mass_normalization=read_class_shares(self.class_mass_normalization, labels),
        )

    def _members(self, X: Any, labels: EncodedLabels, *, has_graph: bool) -> Member:  # noqa: ARG002
        return Member("harmonic", self.method(labels, has_graph=has_graph))

    def _keep_details(self, details: WalkDetails) -> None:
        self.graph_, self.graph_recall_ = details.W, details.recall
        self.harmonic_solution_ = details.solution
        self.n_iter_ = details.solution.iterations
        self.gamma_g_path_ = details.gamma_path

    def graph_report(self) -> GraphReport:
        """Return a report on the graph, to check before its labels are trusted."""
        from graphmargin.reports.graph_reports import graph_report  # not used by `fit`

        check_is_fitted(self)
        return graph_report(
            self.harmonic_solution_,
            eps=0.0,
            choice=self.choice_,
            recall=self.graph_recall_,
            n_jobs=self.n_jobs,
        )

    def __sklearn_tags__(self) -> Tags:
        """Return the tags, which say whether X is the graph."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.affinity == "precomputed"
        return tags
