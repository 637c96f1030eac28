"""The max-margin graph cut: a max-margin classifier on labels that the graph induces."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from graphmargin.estimators.base import MarginClassifier
from graphmargin.reports.graph_reports import GraphReport, graph_report
from graphmargin.selection.choice import Choice
from graphmargin.selection.cut_trials import max_blended, try_cuts
from graphmargin.selection.cuts import blend_cuts, fit_cut
from graphmargin.selection.execution import Execution
from graphmargin.selection.parameters import read_parameters
from graphmargin.selection.tasks import choose_among, make_tasks
from graphmargin.theory.bounds import RiskBound, risk_bound
from graphmargin.theory.capacity import vc_dimension as kernel_vc_dimension
from graphmargin.theory.stability import Stability


class MaxMarginGraphCut(MarginClassifier):
    """Max-margin classifier on all points with a confident label from the graph.

    1. ``(L_uu + gamma_g I) l_u = W_ul l_l`` on the k-NN graph gives induced labels sgn(l_i) and
       confidences abs(l_i) (eq. reg HFS).
    2. ``min_f sum_{i: abs(l_i) >= eps} V(f, x_i, sgn(l_i)) + gamma norm(f)_K^2``, V the hinge
       loss (eq. MMGC), with ``C = 1 / (2 gamma)``.

    Labeled points always take part. ``gamma_g = inf`` is the supervised SVM on them alone. With
    several classes, the harmonic system has a column for each, the confidence is the best minus the
    second best mass, and the max-margin classifier is one-vs-one.

    By default gamma_g and C are chosen: labels are held out in folds, and f is the mean of all
    credible candidates, supervised learning included, weighted by how well they predict the
    held-out labels (`graphmargin.selection.choose`). `graph_report` tells whether the graph helps.
    Candidates are tried on at most 20,000 unlabeled rows, unless the graph is given.

    A parameter can be a list of candidates: ``gamma_g``, ``C``, ``class_mass_normalization``,
    ``kernel``, ``degree``, ``coef0``, ``width``, ``n_neighbors``, ``metric``, ``eps``,
    ``loss_weights``, ``c_labeled`` and ``c_unlabeled``. All combinations are tried, and the
    credible ones are blended, each with its graph and kernel.

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
        lacks. "balanced" is ``n / (c n_k)`` for a class with n_k of n given labels. A larger weight
        finds more rows of a rare class, and more that are not of it. Held-out labels count by the
        same weights when parameters are chosen. Probabilities remain those of the labels as they
        are, so that a predicted class need not be the most probable one.
    approximation : {"auto", "none", "nystroem"}, default="auto"
        "none" trains the exact machine. "nystroem" is for many rows: the features are kernel values
        to 500 landmarks (for a linear kernel, the rows themselves), and of more than 200,000 rows
        a sample of that size is used. "auto" is exact for up to 10,000 rows (2,000 if the kernel is
        linear or at most 300 labels are given).
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
    parameters_ : Parameters
        Validated parameters; if they were chosen, those of the heaviest candidate that uses the
        graph.
    training_mask_ : array of shape (n,)
        Rows that the max-margin classifier was trained on; if parameters were chosen, for the
        heaviest candidate that uses the graph.
    graph_, graph_recall_
        As in `HarmonicClassifier`.
    harmonic_solution_ : HarmonicSolution
        Solution before class mass normalization; if parameters were chosen, for the heaviest
        candidate that uses the graph.
    predictor_ : MarginPredictor
        The data that predictions need; ``predictor_.machines[0].report`` is the report on training.
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

    >>> model = MaxMarginGraphCut(gamma_g=[0.1, np.inf], C=10.0, kernel=["linear", "rbf"], cv=5)
    >>> choice = model.fit(X[:1000], few).choice_
    >>> len(choice.weights), choice.best_params["kernel"]
    (4, 'linear')
    """

    choice_: Choice | None

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

    def fit(self, X: Any, y: npt.ArrayLike, W: Any = None) -> MaxMarginGraphCut:
        """Induce labels on the graph of all rows and learn the max-margin function.

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
        held_out = self._held_out(X, y, labels, ("gamma_g", "C"), execution)
        tasks = make_tasks(X, labels, W, parameters, execution)
        if held_out is None:
            fitted = fit_cut(tasks[0], execution)
        else:
            trials = try_cuts(tasks, held_out, execution)
            choice = choose_among(trials, max_blended(trials))
            fitted = blend_cuts(trials, choice, execution)
        self.parameters_ = fitted.task.parameters
        self.graph_, self.graph_recall_ = fitted.task.W, fitted.task.recall
        self.harmonic_solution_ = fitted.solution
        self.n_iter_ = fitted.solution.iterations
        self.training_mask_ = fitted.training_mask
        self.gamma_g_path_ = fitted.gamma_path
        self._training_scores = fitted.training_scores
        self._keep(fitted)
        return self

    def graph_report(self) -> GraphReport:
        """Return a report on the graph, to check before its labels are trusted.

        It has the components, unreached points, agreement of labels along edges, sink mass and, if
        gamma_g was chosen, whether the graph helps. Print it for a text.
        """
        check_is_fitted(self)
        return graph_report(
            self.harmonic_solution_,
            eps=self.parameters_.eps,
            choice=self.choice_,
            recall=self.graph_recall_,
            n_jobs=self.n_jobs,
        )

    def risk_bound(
        self,
        *,
        eta: float = 0.05,
        delta: float = 0.05,
        stability: Stability = "graph",
        vc_dimension: float | None = None,
    ) -> RiskBound:
        """Return the bound on the risk of f, term by term (Propositions 1 and 2).

        It holds for two classes and soft labels (a finite `c_labeled`). An informative bound takes
        many labels; the printed bound says whether it is informative.

        Parameters
        ----------
        eta, delta : float in (0, 1), default=0.05
            The bound holds with probability ``1 - (eta + delta)``.
        stability : {"graph", "spectral", "lemma"}, default="graph"
            Stability coefficient: ours, or one of the two in the paper, see
            `graphmargin.theory.stability_coefficient`.
        vc_dimension : float, default=None
            VC dimension of the functions of the kernel; None computes it for linear, poly and RBF
            kernels (inf for the latter).

        Examples
        --------
        >>> from graphmargin.datasets import make_lattices
        >>> X, y, _, W = make_lattices()
        >>> model = MaxMarginGraphCut(
        ...     kernel="linear",
        ...     gamma_g=0.1,
        ...     C=10.0,
        ...     c_labeled=1.0,
        ...     c_unlabeled=0.01,
        ... )
        >>> bound = model.fit(X, y, W=W).risk_bound()
        >>> round(bound.inductive_error, 2), bound.vc_dimension, bound.informative
        (0.33, 3, False)
        """
        check_is_fitted(self)
        if self._training_scores is None:
            msg = (
                "`risk_bound` needs two classes, soft labels, fixed parameters and no class mass "
                f"normalization, got {len(self.classes_)} classes, c_labeled="
                f"{self.c_labeled!r}, class_mass_normalization={self.class_mass_normalization!r}, "
                f"gamma_g={self.gamma_g!r} and C={self.C!r}; fit two classes with, for example, "
                "c_labeled=1.0, gamma_g=0.1, C=10.0 and class_mass_normalization=False"
            )
            raise ValueError(msg)
        if vc_dimension is None:
            vc_dimension = kernel_vc_dimension(
                self.predictor_.machines[0].kernel, self.n_features_in_
            )
        return risk_bound(
            self.harmonic_solution_,
            self._training_scores,
            vc_dimension=vc_dimension,
            eps=self.parameters_.eps,
            eta=eta,
            delta=delta,
            stability=stability,
        )
