"""The supervised SVM: what all semi-supervised methods have to beat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from graphmargin._progress import report_stage
from graphmargin.estimators.choosing import Search
from graphmargin.estimators.margin_classifier import MarginClassifier
from graphmargin.labels import EncodedLabels
from graphmargin.margin.induced import given_labels
from graphmargin.selection.grids import Hidden, c_grid, grid_points


class SupervisedSVC(MarginClassifier):
    """Max-margin classifier on the labeled rows alone.

    ``min_f sum_{i in l} V(f, x_i, y_i) + gamma norm(f)_K^2``, V the hinge loss, with
    ``C = 1 / (2 gamma)``: the max-margin graph cut with ``gamma_g = inf``, without its graph.
    Kernels, their width (which all rows decide), solvers and the choice of C are those of
    `MaxMarginGraphCut`, so that a comparison shows what the unlabeled rows are worth.

    Parameters
    ----------
    kernel, degree, coef0, approximation, n_jobs, random_state, verbose
        As in `MaxMarginGraphCut`.
    C : "auto" or float > 0, default=10.0
        1 / (2 gamma); "auto" blends three values as `MaxMarginGraphCut` does.
    width : "paper" or positive float, default="paper"
        Width of the kernel.

    Attributes
    ----------
    classes_ : array of shape (c,)
    transduction_ : array of shape (n,)
        The given labels, and those of the classifier for the other rows.
    label_distributions_ : array of shape (n, c)
        Probabilities of the training rows, calibrated on the given labels.
    confidence_ : array of shape (n,)
        Best minus second best of these probabilities.
    machine_ : MarginMachine
    choice_ : Choice
        Only if C was chosen: the candidates and their weights.

    Examples
    --------
    >>> from graphmargin.datasets import make_lattices
    >>> X, y, y_true, _ = make_lattices()
    >>> float(SupervisedSVC(kernel="linear").fit(X, y).score(X, y_true))
    0.9
    """

    tuned_parameters = ("C",)
    searched_parameters = ("C",)

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        coef0: float = 1.0,
        width: Any = "paper",
        C: Any = 10.0,
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
        self.approximation = approximation
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
        self._check_parameters(X, None)
        if self._is_to_choose():
            self._choose(X, labels)
            return self
        rows = np.flatnonzero(labels.labeled)
        with report_stage(f"max-margin classifier on {len(rows):,} points", self.verbose) as news:
            self.machine_ = self._train_on(
                X, rows, labels.codes[rows], self._kernel(X), self.C, progress=news
            )
            self._label_by_machine(X, labels)
        return self

    def _check_parameters(self, X: Any, W: Any) -> None:  # noqa: ARG002 - there is no graph
        self._check_margin(X)
        self._check_plain_width()

    def _search(
        self,
        X: Any,
        labels: EncodedLabels,
        W: Any,  # noqa: ARG002 - supervised learning has no graph
        grid: Mapping[str, Sequence[Any]],
        hidden: Hidden,
    ) -> Search:
        kernel = self._kernel(X)
        values = self._grid(grid, C=c_grid(X, kernel))
        fixed: dict[str, Any] = {"gamma_g": [np.inf], "class_mass_normalization": [False]}
        found = self._try_cuts(X, labels, kernel, None, grid_points({**fixed, **values}), hidden)
        return self._search_of(found, X, labels, kernel, lambda _: given_labels(labels))
