"""The supervised SVM, the baseline of all semi-supervised methods."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from graphmargin.estimators.base import MarginClassifier
from graphmargin.selection.cut_trials import max_blended, try_cuts
from graphmargin.selection.cuts import blend_cuts, fit_supervised
from graphmargin.selection.execution import Execution
from graphmargin.selection.fitted import FittedClassifier
from graphmargin.selection.parameters import read_parameters
from graphmargin.selection.tasks import choose_among, make_tasks


class SupervisedSVC(MarginClassifier):
    """Max-margin classifier on the labeled rows alone.

    ``min_f sum_{i in l} V(f, x_i, y_i) + gamma norm(f)_K^2``, V the hinge loss, with
    ``C = 1 / (2 gamma)``: the max-margin graph cut with ``gamma_g = inf``, without its graph.
    Kernels, their width (computed from all rows), solvers and the choice of C are those of
    `MaxMarginGraphCut`, so that a comparison shows the effect of the unlabeled rows.

    A parameter can be a list of candidates: ``C``, ``kernel``, ``degree``, ``coef0`` and ``width``.

    Parameters
    ----------
    kernel, degree, coef0, class_weight, approximation, cv, n_jobs, random_state, verbose
        As in `MaxMarginGraphCut`.
    C : "auto" or float > 0, default=10.0
        1 / (2 gamma); "auto" blends three values as `MaxMarginGraphCut` does.
    width : "paper" or positive float, default="paper"
        Width of the kernel.

    Attributes
    ----------
    classes_ : array of shape (c,)
    transduction_ : array of shape (n,)
        The given labels, and predictions for the other rows.
    label_distributions_ : array of shape (n, c)
        Probabilities of the training rows, calibrated on the given labels.
    confidence_ : array of shape (n,)
        Probability of every label.
    predictor_ : MarginPredictor
        The data that predictions need; ``predictor_.machines[0].report`` is the report on training.
    choice_ : Choice or None
        If parameters were chosen: the candidates and their weights.

    Examples
    --------
    >>> from graphmargin.datasets import make_lattices
    >>> X, y, y_true, _ = make_lattices()
    >>> float(SupervisedSVC(kernel="linear").fit(X, y).score(X, y_true))
    0.9
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
        self.approximation = approximation
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: npt.ArrayLike) -> SupervisedSVC:
        """Learn the max-margin function of the labeled rows.

        Parameters
        ----------
        X : array, DataFrame or CSR matrix of shape (n, d), or a kernel matrix of shape (n, n)
        y : array-like of shape (n,)
            Labels; unlabeled is -1, None, NaN, pandas.NA or "".
        """
        X, labels = self._validate(X, y)
        parameters = read_parameters(self, labels)
        execution = Execution.from_estimator(self)
        held_out = self._held_out(X, y, labels, ("C",), execution)
        tasks = make_tasks(X, labels, None, parameters, execution)
        fitted: FittedClassifier
        if held_out is None:
            fitted = fit_supervised(tasks[0], execution)
        else:
            trials = try_cuts(tasks, held_out, execution)
            choice = choose_among(trials, max_blended(trials))
            fitted = blend_cuts(trials, choice, execution)
        self._keep(fitted)
        return self
