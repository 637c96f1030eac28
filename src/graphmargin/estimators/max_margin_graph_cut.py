"""The max-margin graph cut: a max-margin classifier on labels that the graph induces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from graphmargin._checks import check_choice
from graphmargin.estimators.base import MarginClassifier, refuse_arguments
from graphmargin.harmonic.problem import check_gamma_g
from graphmargin.labels import EncodedLabels
from graphmargin.margin.induced import LOSS_WEIGHTS
from graphmargin.margin.training import check_approximation
from graphmargin.methods.cut import Cut
from graphmargin.methods.harmonic import WalkDetails
from graphmargin.search.member import Member
from graphmargin.search.parameters import (
    check_C,
    check_eps,
    one_value,
    read_candidates,
    read_class_shares,
    read_kernel,
    read_walk,
)

if TYPE_CHECKING:
    from graphmargin.reports.graph_reports import GraphReport


class MaxMarginGraphCut(MarginClassifier):
    """Max-margin classifier on all points with a confident label from the graph.

    Rows are taken as given, as in the paper: standardize columns that are measured in different
    units, or use `SemiSupervisedEnsemble`, which scales them. A warning is raised if the columns
    seem to have different units and the largest standard deviation is six times the median one.

    1. ``(L_uu + gamma_g I) l_u = W_ul l_l`` on the k-NN graph gives induced labels sgn(l_i) and
       confidences abs(l_i) (eq. reg HFS).
    2. ``min_f sum_{i: abs(l_i) >= eps} V(f, x_i, sgn(l_i)) + gamma norm(f)_K^2``, V the hinge
       loss (eq. MMGC), with ``C = 1 / (2 gamma)``.

    Labeled points always take part. ``gamma_g = inf`` is the supervised SVM on them alone. With
    several classes, the harmonic system has a column for each, the confidence is the best minus the
    second best mass, and the max-margin classifier is one-vs-one.

    By default gamma_g and C are chosen: labels are held out in folds, and f is the mean of all
    credible candidates, supervised learning included, weighted by how well they predict the
    held-out labels (`graphmargin.search.Choice`). `graph_report` tells whether the graph helps.
    Candidates are tried on at most 20,000 unlabeled rows, unless the graph is given.

    ``gamma_g``, ``C`` and ``class_mass_normalization`` can be lists of candidates. All combinations
    are tried, and the credible ones are blended. To try several graphs or kernels, pass a
    classifier with each of them to `SemiSupervisedEnsemble`.

    Deviation from the paper: losses are weighted by confidence unless ``loss_weights="equal"``.

    Parameters
    ----------
    kernel : {"rbf", "linear", "poly", "precomputed"}, default="rbf"
        See `Kernel`. With "precomputed", `fit` takes the (n, n) kernel matrix and `predict` the
        (m, n) values between new and training points, and the graph is passed as W.
    degree : int, default=3
        Degree of the "poly" kernel ``(x.z / width^2 + coef0)^degree``; 3 is the paper's cubic one.
    coef0 : float >= 0, default=1.0
    width : "paper" or positive float, default="paper"
        Width of kernel and edge weights, sqrt(K) sigma as in the paper or a number.
    C : "auto" or float > 0, default="auto"
        1 / (2 gamma), the weight of the hinge losses. "auto" blends three values, in units of the
        kernel's variance.
    class_weight : None, "balanced" or dict from class to float > 0, default=None
        Factors of the hinge losses of each class, given and induced; 1 for a class that the dict
        lacks. "balanced" is ``n / (c n_k)`` for a class with n_k of n given labels. With a larger
        weight, more rows of a rare class are found, and more other rows are taken for it. Held-out
        labels have the same weights when parameters are chosen. Probabilities are those without
        weights, so that a predicted class need not be the most probable one.
    approximation : {"auto", "none", "nystroem"}, default="auto"
        "none" trains the exact machine. "nystroem" is for many rows: the features are kernel values
        to 500 landmarks, and it learns from at most 200,000 rows, a sample if there are more. A
        linear kernel on dense rows needs no landmarks, as the rows are its features, and it learns
        from all of them. "auto" is exact for up to 10,000 rows to learn from (2,000 for a linear
        kernel on dense rows, or if at most 300 labels are given).
    gamma_g : "auto" or float >= 0, default="auto"
        Rate of the sink: 0 uses the graph most, inf does not use it. "auto" blends inf and four
        finite values, in units of the degrees.
    eps : float in [0, 1), default=1e-6
        Smallest confidence of an induced label to learn from.
    loss_weights : {"confidence", "equal"}, default="confidence"
        "equal" is the paper's sum of hinge losses; "confidence" weights each loss by abs(l_i), so
        that points with confident labels count more.
    class_mass_normalization : "auto", bool or array of shape (c,), default="auto"
        Scale class masses to the class shares of the labels (True) or to these priors. "auto" is
        for chosen parameters: with up to three labels per class, it tries the shares of the labels
        (with one more in each class) and no normalization.
    n_neighbors : int, default=5
    metric : {"euclidean", "cosine"}, default="euclidean"
        Metric of the graph.
    cv : int, "loo", splitter, iterable, or tuple (X_val, y_val), default=None
        Labels on which candidates are tested, if a parameter is "auto" or a list. An integer is the
        number of folds, "loo" holds out one label at a time, and a splitter or an iterable of
        (train, test) holds out the labels of the test rows, which remain as unlabeled rows. A tuple
        is a validation set of other rows, all of them labeled. None means five folds, or ten for up
        to 20 labels.
    c_labeled, c_unlabeled, n_jobs, random_state, verbose
        As in `HarmonicClassifier`. With soft labels (finite `c_labeled`), labeled points have the
        label that the solution induces.

    Attributes
    ----------
    classes_ : array of shape (c,)
    transduction_ : array of shape (n,)
        Label of every training row. If parameters were chosen: the given label, or the prediction
        of the max-margin classifier, which was tested on held-out labels. Else the label that the
        graph induces, or the prediction of the classifier where no label can be reached
        (with a warning that counts these rows).
    confidence_ : array of shape (n,)
        Probability of every label, by the label distributions.
    label_distributions_ : array of shape (n, c)
        Class probabilities. If parameters were chosen: those of the max-margin classifier,
        calibrated on held-out labels. Else those of the graph.
    choice_ : Choice or None
        If parameters were chosen: the candidates, the evidence for each, their weights, and the
        estimated error (``choice_.error``).
    held_out_ : HeldOutPredictions or None
        If parameters were chosen: class probabilities of the labels while they were held out.
    accuracy_ : AccuracyEstimate or None
        Estimated accuracy on the unlabeled rows, from `held_out_`, with intervals.
    gamma_g_path_ : dict or None
        If parameters were chosen: a table with a row for each gamma_g, with the mean confidence,
        the accuracy of the graph alone and of the cut on held-out labels, and the weight.
    training_mask_ : array of shape (n,)
        Rows that the max-margin classifier was trained on; if parameters were chosen, for the
        heaviest candidate that uses the graph.
    graph_, graph_recall_
        As in `HarmonicClassifier`.
    harmonic_solution_ : HarmonicSolution
        Solution before class mass normalization; if parameters were chosen, for the heaviest
        candidate that uses the graph.
    predictor_ : Predictor
        The data that predictions need; ``predictor_.part.machine.report`` is a report on training.
    n_iter_ : int

    Examples
    --------
    >>> from graphmargin.datasets import make_lattices
    >>> X, y, y_true, W = make_lattices()
    >>> supervised = MaxMarginGraphCut(kernel="linear", gamma_g=np.inf, C=10.0).fit(X, y)
    >>> cut = MaxMarginGraphCut(
    ...     kernel="linear", gamma_g=0.1, C=10.0, loss_weights="equal"
    ... )
    >>> float(supervised.score(X, y_true)), float(cut.fit(X, y, W=W).score(X, y_true))
    (0.9, 1.0)

    With chosen parameters:

    >>> from graphmargin.datasets import load_digits, mask_labels
    >>> X, y = load_digits()
    >>> few = mask_labels(y[:1000], per_class=5, random_state=0)
    >>> model = MaxMarginGraphCut().fit(X[:1000], few)
    >>> model.graph_report().verdict
    'graph helps'
    >>> bool(model.score(X[1000:], y[1000:]) > 0.9)
    True

    With lists of candidates:

    >>> model = MaxMarginGraphCut(gamma_g=[0.1, np.inf], C=[1.0, 10.0], cv=5)
    >>> choice = model.fit(X[:1000], few).choice_
    >>> len(choice.weights), choice.best_params["gamma_g"]
    (4, 0.1)
    """

    CHOSEN: ClassVar[tuple[str, ...]] = ("gamma_g", "C")

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: Any = 3,
        coef0: Any = 1.0,
        width: Any = "paper",
        C: Any = "auto",
        class_weight: Any = None,
        approximation: Any = "auto",
        gamma_g: Any = "auto",
        eps: Any = 1e-6,
        loss_weights: Any = "confidence",
        n_neighbors: Any = 5,
        metric: Any = "euclidean",
        class_mass_normalization: Any = "auto",
        c_labeled: Any = np.inf,
        c_unlabeled: Any = 0.0,
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
        self.gamma_g = gamma_g
        self.eps = eps
        self.loss_weights = loss_weights
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.class_mass_normalization = class_mass_normalization
        self.c_labeled = c_labeled
        self.c_unlabeled = c_unlabeled
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: npt.ArrayLike, W: Any = None, **unsupported: Any) -> Self:
        """Induce labels on the graph of all rows and learn the max-margin function.

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

    def method(self, labels: EncodedLabels, *, has_graph: bool = False) -> Cut:
        """Return the cut with validated parameters; `has_graph` tells whether W is given."""
        return Cut(
            walk=read_walk(self, labels, has_graph=has_graph),
            kernel=read_kernel(self),
            gamma_g=read_candidates("gamma_g", self.gamma_g, check_gamma_g),
            C=read_candidates("C", self.C, check_C),
            class_mass_normalization=read_class_shares(self.class_mass_normalization, labels),
            eps=check_eps(self.eps),
            loss_weights=check_choice(
                "loss_weights", one_value("loss_weights", self.loss_weights), LOSS_WEIGHTS
            ),
            approximation=check_approximation(self.approximation, self.kernel),
        )

    def _members(self, X: Any, labels: EncodedLabels, *, has_graph: bool) -> Member:  # noqa: ARG002
        return Member("cut", self.method(labels, has_graph=has_graph))

    def _keep_details(self, details: WalkDetails) -> None:
        self.graph_, self.graph_recall_ = details.W, details.recall
        self.harmonic_solution_ = details.solution
        self.n_iter_ = details.solution.iterations
        self.training_mask_ = details.training_mask
        self.gamma_g_path_ = details.gamma_path

    def graph_report(self) -> GraphReport:
        """Return a report on the graph, to check before its labels are trusted.

        It has the components, unreached points, agreement of labels along edges, sink mass and, if
        gamma_g was chosen, whether the graph helps. Print it for a text.
        """
        from graphmargin.reports.graph_reports import graph_report  # not used by `fit`

        check_is_fitted(self)
        return graph_report(
            self.harmonic_solution_,
            eps=self.eps,
            choice=self.choice_,
            recall=self.graph_recall_,
            n_jobs=self.n_jobs,
        )
