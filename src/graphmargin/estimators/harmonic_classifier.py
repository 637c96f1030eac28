"""The harmonic solution as a classifier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from graphmargin._progress import report_stage
from graphmargin._typing import AnyArray, FloatArray, IntArray
from graphmargin.estimators.base import DiffusionClassifier, known_codes, warn_of
from graphmargin.estimators.choosing import ChoosingClassifier, Search
from graphmargin.graph.adjacency import NeighborGraph, in_metric
from graphmargin.graph.attachment import Attachment, attach_by_neighbors, attach_by_weights
from graphmargin.graph.neighbors import nearest_neighbors
from graphmargin.harmonic.solution import HarmonicSolution, mean_solution
from graphmargin.labels import UNLABELED, EncodedLabels
from graphmargin.selection.choice import Choice
from graphmargin.selection.grids import Hidden, gamma_g_grid, grid_points, prior_grid
from graphmargin.selection.rivals import harmonic_trials


class HarmonicClassifier(ChoosingClassifier, DiffusionClassifier):
    """Labels by random walks on the k-NN graph; new points ask their neighbors.

    Training rows get the regularized harmonic solution
    ``l_u = (L_uu + gamma_g I)^-1 W_ul l_l`` (eq. reg HFS), hard or soft. A new point x takes one
    more step of the same walk: it moves to a neighbor j with probability
    ``w(x, x_j) / (sum_j w(x, x_j) + gamma_g)`` and gets that neighbor's class masses.

    Parameters
    ----------
    gamma_g : float >= 0 or "auto", default=0.1
        Rate of the sink; 0 is the ordinary harmonic solution. A small positive value damps the
        few vertices that would otherwise label everything when labels are rare. "auto" averages
        the class masses of several values, weighted by how well they predict hidden labels.
    n_neighbors : int, default=5
        Neighbors in the graph.
    width : {"paper", "self-tuning", "binary"} or positive float, default="paper"
        Width of the edge weights, see `knn_graph`.
    metric : {"euclidean", "cosine"}, default="euclidean"
    affinity : {"knn", "precomputed"}, default="knn"
        With "precomputed", `fit` takes the graph W itself as X, and `predict` takes the weights
        between new points and training points, of shape (m, n).
    solver : {"auto", "direct", "cg", "gauss-seidel"}, default="auto"
        See `harmonic_solution`.
    class_mass_normalization : bool, array of shape (c,) or "auto", default=False
        Scale class masses to the class shares of the labels (True) or to these priors. "auto" is
        for ``gamma_g="auto"``: with up to three labels a class, it tries the shares of the labels
        (with one more in each class) and none.
    c_labeled : float > 0 or array of shape (n,), default=inf
        Trust in the labels; inf keeps them as given.
    c_unlabeled : float >= 0, default=0
        Pull of unlabeled points towards no label.
    n_jobs : int, default=None
        Threads of `fit`; None takes as many as BLAS would, -1 all cores. The result does not
        depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the approximate neighbor search (above 50,000 points).
    verbose : int, default=0
        1 shows the stages of `fit` on standard error, with a bar where they take long.

    Attributes
    ----------
    classes_ : array of shape (c,)
    transduction_ : array of shape (n,)
        Label of every training row. Rows in components without a label get that of the nearest
        row outside them (with a precomputed graph: the most frequent one), confidence 0, and a
        warning that counts them.
    confidence_ : array of shape (n,)
        Best minus second best class mass, abs(l) for two classes.
    label_distributions_ : array of shape (n, c)
        Class masses, the sink's share spread evenly; rows sum to 1.
    graph_ : csr_array of shape (n, n)
    graph_recall_ : float or None
        Share of the true neighbors in the graph, measured on a sample; 1 is exact, None is a
        precomputed graph.
    harmonic_solution_ : HarmonicSolution
        As solved; if gamma_g was chosen, for the value with the largest weight.
    choice_ : Choice
        Only if gamma_g was chosen: the candidates and their weights.
    gamma_g_path_ : dict
        The same: a row for each value.
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

    predicting = (
        *ChoosingClassifier.predicting,
        *("_points", "_weighting", "_walk", "_class_mass", "_codes", "_most_frequent"),
    )
    tuned_parameters = ("gamma_g",)
    searched_parameters = ("gamma_g", "class_mass_normalization")

    def __init__(
        self,
        *,
        gamma_g: Any = 0.1,
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
        if self._is_to_choose():
            self._choose(X, labels)
            return self
        W = X if self.affinity == "precomputed" else None
        solution, graph = self._fit_harmonic(X, labels, W)
        self._keep_points(graph)
        self._walk = [(1.0, float(self.gamma_g))]
        self._finish(solution, labels)
        return self

    def _keep_points(self, graph: NeighborGraph | None) -> None:
        """Set what attaches new points; with a precomputed graph, they come with their edges."""
        self._points = None if graph is None else graph.search
        self._weighting = None if graph is None else graph.weighting

    def _finish(self, solution: HarmonicSolution, labels: EncodedLabels) -> None:
        """Set what the solution makes of the rows."""
        self._class_mass = solution.class_mass
        self._most_frequent = int(np.bincount(labels.codes[labels.labeled]).argmax())
        self._codes = self._complete(known_codes(solution, labels))
        self.transduction_: AnyArray = self._decode(self._codes)

    def _check_parameters(self, X: Any, W: Any) -> None:  # noqa: ARG002 - checked with the graph
        if W is not None:
            msg = "`W` must be None: the graph is passed as X, with affinity='precomputed'"
            raise ValueError(msg)

    def _search(
        self,
        X: Any,
        labels: EncodedLabels,
        W: Any,  # noqa: ARG002 - here X itself is the graph, if one is given
        grid: Mapping[str, Sequence[Any]],
        hidden: Hidden,
    ) -> Search:
        self._keep_points(self._fit_graph(X, X if self.affinity == "precomputed" else None))
        auto = gamma_g_grid(self.graph_)[1:]
        values = self._grid(grid, gamma_g=auto, class_mass_normalization=prior_grid(labels))
        values["class_mass_normalization"] = self._normalizations(values, labels)
        candidates = grid_points(values)
        validation = hidden.validation
        if validation is not None:
            validation = self._attachment(validation[0]).moves, validation[1]
        with report_stage(f"trial of {len(candidates)} candidates", self.verbose) as news:
            found = harmonic_trials(
                *(self._problem(labels), candidates, hidden.folds),
                validation=validation,
                solver=self.solver,
                n_jobs=self.n_jobs,
                progress=news,
            )

        def finish(choice: Choice) -> None:
            self.choice_ = choice
            factors = np.array([factor for _, factor in choice.blended])
            shares = factors / factors.sum()
            chosen = [candidates[i] for i, _ in choice.blended]
            self.harmonic_solution_ = found.solutions[chosen[0]["gamma_g"]]
            self._walk = [(s, c["gamma_g"]) for s, c in zip(shares, chosen, strict=True)]
            solution = mean_solution([found.solution(one) for one in chosen], shares)
            warn_of(solution, deeper=1)
            self._expose(solution)
            self._finish(solution, labels)

        return Search(found.trials, finish)

    def predict(self, X: Any) -> AnyArray:
        """Return the label of new points, by the class masses of their neighbors."""
        return self._labels_of(self._attach(X))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return class probabilities of new points: the walk's, the sink's share spread evenly."""
        return self._probabilities_of(self._attach(X))

    def _predict_both(self, X: Any) -> tuple[AnyArray, FloatArray]:
        attachment = self._attach(X)
        return self._labels_of(attachment), self._probabilities_of(attachment)

    def _labels_of(self, attachment: Attachment) -> AnyArray:
        shares = attachment.moves @ self._class_mass
        # Neighbors that no label reaches still have a label to vote with.
        votes = attachment.moves @ np.eye(len(self.classes_))[self._codes]
        codes = np.where(shares.any(axis=1), shares.argmax(axis=1), votes.argmax(axis=1))
        return self._decode(np.where(votes.any(axis=1), codes, self._most_frequent))

    def _probabilities_of(self, attachment: Attachment) -> FloatArray:
        chance = np.zeros(attachment.moves.shape[0])
        for share, gamma_g in self._walk:
            chance += share * attachment.chance_to_move(gamma_g + self.c_unlabeled)
        mass = (attachment.moves @ self._class_mass) * chance[:, None]
        sink_mass = np.clip(1 - mass.sum(axis=1, keepdims=True), 0.0, 1.0)
        return np.asarray(mass + sink_mass / len(self.classes_))

    def _attach(self, X: Any) -> Attachment:
        """Return the first step of the walk from new points."""
        check_is_fitted(self)
        return self._attachment(self._validate_new(X))

    def _attachment(self, X: Any) -> Attachment:
        """Return the first step of the walk from validated points."""
        points, weighting = self._points, self._weighting
        if points is None or weighting is None:
            return attach_by_weights(X)
        neighbors = points.neighbors(self.n_neighbors, in_metric(X, self.metric))
        return attach_by_neighbors(neighbors, weighting, points.X.shape[0])

    def _complete(self, codes: IntArray) -> IntArray:
        """Give points that no label reaches the label of the nearest point that has one."""
        unknown = np.flatnonzero(codes == UNLABELED)
        if self._points is None or not len(unknown):
            return np.where(codes == UNLABELED, self._most_frequent, codes)
        known, points = np.flatnonzero(codes != UNLABELED), self._points.X
        nearest = nearest_neighbors(
            points[known],
            1,
            queries=points[unknown],
            recall=0.9,  # their confidence is 0, and a near one is as good a guess
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        )
        codes = codes.copy()
        codes[unknown] = codes[known[nearest.indices[:, 0]]]
        return codes

    def _is_pairwise(self) -> bool:
        """Tell whether X is the graph itself."""
        return self.affinity == "precomputed"
