"""Semi-supervised SVM (S3VM), whose margin unlabeled rows stay out of."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from graphmargin.estimators.base import MarginClassifier
from graphmargin.selection.cut_trials import MAX_BLENDED
from graphmargin.selection.execution import Execution
from graphmargin.selection.parameters import read_parameters
from graphmargin.selection.s3vm_fits import blend_s3vm, fit_s3vm, try_s3vm
from graphmargin.selection.tasks import choose_among, make_tasks


class SemiSupervisedSVC(MarginClassifier):
    """Max-margin classifier whose boundary avoids dense regions of unlabeled rows.

    ``min_f sum_{i in l} V(f, x_i, y_i) + gamma norm(f)_K^2 + gamma_u sum_{i in u} V^(f, x_i)``
    (eq. S3VM) with the hinge loss V, the hat loss ``V^ = max(1 - abs(f(x_i)), 0)`` and
    ``C = 1 / (2 gamma)``. The problem is not convex, and the result is a local optimum. If it is
    worse than the supervised SVM at which the optimization starts (with the same mean of f), the
    latter is kept, with a warning. Several classes are one-vs-one, where a pair of classes has the
    unlabeled rows that the supervised SVM assigns to one of the two.

    A parameter can be a list of candidates: ``gamma_u``, ``C``, ``kernel``, ``degree``, ``coef0``,
    ``width`` and ``class_prior``. All combinations are tried, and the four most credible are
    blended.

    Parameters
    ----------
    kernel, degree, coef0, cv
        As in `MaxMarginGraphCut`.
    C : float > 0 or "auto", default=10.0
        1 / (2 gamma), the weight of the hinge losses.
    class_weight : None, "balanced" or dict from class to float > 0, default=None
        As in `MaxMarginGraphCut`, for the losses of labels; hat losses are of no class.
    width : "paper" or positive float, default="paper"
        Width of the kernel.
    gamma_u : float >= 0 or "auto", default=0.1
        Weight of the hat losses; 0 is the supervised SVM, and "auto" blends values from 0 to 1,
        tested on held-out labels.
    class_prior : "labels", None or array of shape (c,), default="labels"
        Shares of the classes among the unlabeled rows. They fix the mean of f over these rows to
        ``2 p - 1``, because all of them may end on one side otherwise. Known shares are better
        than guessed ones. "labels" takes the shares among the labels, with one label more in each
        class (their posterior mean), and None leaves the mean free.
    approximation : {"auto", "none", "nystroem"}, default="auto"
        "none" is exact, by the eigenvectors of the kernel matrix in time O(n^3). "nystroem" is for
        many rows: the features are kernel values to 500 landmarks (for a linear kernel, the rows
        themselves). "auto" is "none" for up to 1,000 rows.
    n_jobs, random_state, verbose
        As in `HarmonicClassifier`.

    Attributes
    ----------
    classes_, transduction_, label_distributions_, confidence_, predictor_, choice_
        As in `SupervisedSVC`.
    class_prior_ : array of shape (c,) or None
        The shares that were used.
    solutions_ : tuple of S3VMSolution
        Solutions for each pair of classes: objectives, their trace, and whether the supervised SVM
        was kept. A blend has none: its machines minimize a smooth objective.

    Examples
    --------
    >>> X = [[-3.0], [-2.0], [-1.5], [1.0], [1.5], [2.0], [2.2]]
    >>> y = ["a", None, None, None, None, None, "b"]
    >>> model = SemiSupervisedSVC(kernel="linear", gamma_u=1.0, class_prior=[0.4, 0.6]).fit(X, y)
    >>> model.predict([[-0.5], [0.2]]).tolist()
    ['a', 'b']
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
        gamma_u: Any = 0.1,
        class_prior: Any = "labels",
        approximation: Any = "auto",
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
        self.class_prior = class_prior
        self.approximation = approximation
        self.cv = cv
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
        parameters = read_parameters(self, labels)
        execution = Execution.from_estimator(self)
        held_out = self._held_out(X, y, labels, ("gamma_u", "C"), execution)
        tasks = make_tasks(X, labels, None, parameters, execution)
        if held_out is None:
            fitted = fit_s3vm(tasks[0], execution)
        else:
            trials = try_s3vm(tasks, held_out, execution)
            choice = choose_among(trials, MAX_BLENDED)
            fitted = blend_s3vm(trials, choice, execution)
        self.class_prior_ = fitted.task.parameters.class_prior
        self.solutions_ = fitted.solutions
        self._keep(fitted)
        return self
