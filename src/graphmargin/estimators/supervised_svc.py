"""The supervised SVM, the baseline of all semi-supervised methods."""

from __future__ import annotations

from typing import Any, ClassVar

from graphmargin.estimators.base import MarginClassifier
from graphmargin.labels import EncodedLabels
from graphmargin.margin.training import check_approximation
from graphmargin.methods.supervised import Supervised
from graphmargin.search.member import Member
from graphmargin.search.parameters import check_C, read_candidates, read_kernel


class SupervisedSVC(MarginClassifier):
    """Max-margin classifier on the labeled rows alone.

    ``min_f sum_{i in l} V(f, x_i, y_i) + gamma norm(f)_K^2``, V the hinge loss, with
    ``C = 1 / (2 gamma)``: the max-margin graph cut with ``gamma_g = inf``, without its graph.
    Kernels, their width (computed from all rows), solvers and the choice of C are those of
    `MaxMarginGraphCut`, so that a comparison shows the effect of the unlabeled rows.

    ``C`` can be a list of candidates.

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
    predictor_ : Predictor
        The data that predictions need; ``predictor_.part.machine.report`` is a report on training.
    choice_ : Choice or None
        If parameters were chosen: the candidates and their weights.

    Examples
    --------
    >>> from graphmargin.datasets import make_lattices
    >>> X, y, y_true, _ = make_lattices()
    >>> float(SupervisedSVC(kernel="linear").fit(X, y).score(X, y_true))
    0.9
    """

    CHOSEN: ClassVar[tuple[str, ...]] = ("C",)

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

    def method(self, labels: EncodedLabels | None = None) -> Supervised:  # noqa: ARG002
        """Return the method with validated parameters, which do not depend on labels."""
        return Supervised(
            kernel=read_kernel(self),
            C=read_candidates("C", self.C, check_C),
            approximation=check_approximation(self.approximation, self.kernel),
        )

    def _members(self, X: Any, labels: EncodedLabels, *, has_graph: bool) -> Member:  # noqa: ARG002
        return Member("supervised", self.method(labels))
