"""Semi-supervised SVM: a margin that unlabeled rows stay out of."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from graphmargin._checks import check_choice
from graphmargin._progress import report_stage
from graphmargin._typing import FloatArray, ProgressCallback
from graphmargin.estimators.choosing import Search
from graphmargin.estimators.margin_classifier import MarginClassifier
from graphmargin.harmonic.solution import check_priors
from graphmargin.labels import EncodedLabels
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import MarginMachine
from graphmargin.margin.manifold import check_gamma_u
from graphmargin.margin.semi_supervised import SEMI_SUPERVISED_SOLVERS, SemiSupervisedSolution
from graphmargin.margin.semi_supervised_training import train_semi_supervised
from graphmargin.selection.grids import Hidden, c_grid, grid_points, is_auto
from graphmargin.selection.rivals import semi_supervised_trials

HAT_WEIGHTS = (0.0, 0.01, 0.1, 1.0)
"""Values of gamma_u that "auto" stands for."""


class SemiSupervisedSVC(MarginClassifier):
    """Max-margin classifier whose boundary avoids dense regions of unlabeled rows.

    ``min_f sum_{i in l} V(f, x_i, y_i) + gamma norm(f)_K^2 + gamma_u sum_{i in u} V^(f, x_i)``
    (eq. S3VM) with the hinge loss V, the hat loss ``V^ = max(1 - abs(f(x_i)), 0)`` and
    ``C = 1 / (2 gamma)``. The problem is not convex: what is found is a local optimum, and if it
    is worse than the supervised SVM that the search starts from (with the same mean of f), that
    one is kept, with a warning. Several classes are one-vs-one, a pair of them with the unlabeled
    rows that the supervised SVM gives to one of the two.

    Parameters
    ----------
    kernel, degree, coef0
        As in `MaxMarginGraphCut`.
    C : float > 0 or "auto", default=10.0
        1 / (2 gamma), the weight of the hinge losses.
    width : "paper" or positive float, default="paper"
        Width of the kernel.
    gamma_u : float >= 0 or "auto", default=0.1
        Weight of the hat losses; 0 is the supervised SVM, and "auto" blends values from 0 to 1,
        tested on hidden labels.
    class_prior : "labels", None or array of shape (c,), default="labels"
        Shares of the classes among the unlabeled rows. The mean of f over these rows is held at
        ``2 p - 1``, else all of them may end on one side. Known shares are much better than
        guessed ones; "labels" are the shares among the labels, and None leaves the mean free.
    solver : {"gradient", "cccp"}, default="gradient"
        Way to a local optimum: "gradient" follows a smooth objective as gamma_u grows, "cccp"
        guesses labels and trains on them in turns.
    approximation : {"auto", "none", "nystroem"}, default="auto"
        "none" is exact, by the eigenvectors of the kernel matrix: time O(n^3). "nystroem" is for
        many rows: kernel values to 500 landmarks serve as features (for a linear kernel, the rows
        themselves). "auto" is "none" for up to 1,000 rows.
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
    class_prior_ : array of shape (c,) or None
        The shares that were used.
    solutions_ : list of SemiSupervisedSolution
        One for each pair of classes (and blended candidate): objectives, their trace, and whether
        the supervised SVM was kept.
    machine_ : MarginMachine
    choice_ : Choice
        Only if gamma_u or C was chosen: the candidates and their weights.

    Examples
    --------
    >>> X = [[-3.0], [-2.0], [-1.5], [1.0], [1.5], [2.0], [2.2]]
    >>> y = ["a", None, None, None, None, None, "b"]
    >>> model = SemiSupervisedSVC(kernel="linear", gamma_u=1.0, class_prior=[0.4, 0.6]).fit(X, y)
    >>> model.predict([[-0.5], [0.2]]).tolist()
    ['a', 'b']
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
        gamma_u: Any = 0.1,
        class_prior: Any = "labels",
        solver: Any = "gradient",
        approximation: Any = "auto",
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
        self.class_prior = class_prior
        self.solver = solver
        self.approximation = approximation
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: npt.ArrayLike) -> SemiSupervisedSVC:
        """Learn a max-margin function from the labeled and the unlabeled rows.

        Parameters
        ----------
        X : array, DataFrame or CSR matrix of shape (n, d), or a kernel matrix of shape (n, n)
        y : array-like of shape (n,)
            Labels; unlabeled is -1, None, NaN, pandas.NA or "".
        """
        X, labels = self._validate(X, y)
        self._check_parameters(X, None)
        if self._is_to_choose():
            self._choose(X, labels)
            return self
        self.class_prior_ = self._class_prior(labels)
        with report_stage(f"semi-supervised SVM on {X.shape[0]:,} points", self.verbose) as news:
            self.machine_, self.solutions_ = self._train(
                X, labels, self._kernel(X), self.C, self.gamma_u, news
            )
            self._label_by_machine(X, labels)
        self._warn(self.solutions_)
        return self

    def _check_parameters(self, X: Any, W: Any) -> None:
        if W is not None:
            msg = "`W` must be None: a semi-supervised SVM has no graph"
            raise ValueError(msg)
        self._check_margin(X)
        self._check_plain_width()
        if not is_auto(self.gamma_u):
            check_gamma_u(self.gamma_u)
        check_choice("solver", self.solver, SEMI_SUPERVISED_SOLVERS)

    def _train(
        self,
        X: Any,
        labels: EncodedLabels,
        kernel: Kernel,
        C: float,
        gamma_u: float,
        progress: ProgressCallback | None,
    ) -> tuple[MarginMachine, list[SemiSupervisedSolution]]:
        return train_semi_supervised(
            *(X, labels.codes, kernel),
            C=C,
            gamma_u=gamma_u,
            class_prior=self.class_prior_,
            solver=self.solver,
            approximation=self.approximation,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
            progress=progress,
        )

    def _search(
        self,
        X: Any,
        labels: EncodedLabels,
        W: Any,  # noqa: ARG002 - there is no graph
        grid: Mapping[str, Sequence[Any]],
        hidden: Hidden,
    ) -> Search:
        self.class_prior_ = self._class_prior(labels)
        kernel = self._kernel(X)
        values = self._grid(grid, gamma_u=HAT_WEIGHTS, C=c_grid(X, kernel))
        candidates = grid_points(values)
        with report_stage(f"trial of {len(candidates)} candidates", self.verbose) as news:
            trials = semi_supervised_trials(
                *(X, labels, kernel, candidates, hidden.folds),
                validation=hidden.validation,
                class_prior=self.class_prior_,
                solver=self.solver,
                n_jobs=self.n_jobs,
                random_state=self._seed(),
                progress=news,
            )

        self.solutions_ = []

        def train(candidate: dict[str, Any], news: ProgressCallback | None) -> MarginMachine:
            C, gamma_u = candidate["C"], candidate["gamma_u"]
            machine, solutions = self._train(X, labels, kernel, C, gamma_u, news)
            self._warn(solutions, deeper=4)
            self.solutions_ += solutions
            return machine

        return self._blend_after(trials, train, X, labels)

    def _class_prior(self, labels: EncodedLabels) -> FloatArray | None:
        """Return the shares of the classes that f is held at, if any."""
        if self.class_prior is None:
            return None
        if isinstance(self.class_prior, str):
            check_choice("class_prior", self.class_prior, ("labels",), ", None or an array")
            shares = labels.one_hot.sum(axis=0)
        else:
            shares = check_priors("class_prior", self.class_prior, len(labels.classes))
        return np.asarray(shares / shares.sum())

    def _warn(self, solutions: list[SemiSupervisedSolution], deeper: int = 0) -> None:
        """Say where the search failed."""
        kept = [solution for solution in solutions if solution.kept_supervised]
        if kept:
            reached, start = kept[0].trace[-1], kept[0].supervised_objective
            warnings.warn(
                f"semi-supervised SVM: {len(kept)} of {len(solutions)} searches ended in a local "
                f"optimum worse than the supervised start (objective {reached:.6g}, "
                f"supervised {start:.6g}), which is kept; pass a known `class_prior`, or lower "
                "`gamma_u`",
                UserWarning,
                stacklevel=3 + deeper,
            )
        if not all(solution.converged for solution in solutions):
            warnings.warn(
                "semi-supervised SVM: not converged; scale the features, or lower C or `gamma_u`",
                ConvergenceWarning,
                stacklevel=3 + deeper,
            )
