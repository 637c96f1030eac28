"""Semi-supervised SVM (S3VM): its margin avoids unlabeled rows."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from graphmargin._checks import check_choice
from graphmargin._typing import FloatArray
from graphmargin.estimators.base import MarginClassifier
from graphmargin.harmonic.solution import check_priors
from graphmargin.labels import EncodedLabels
from graphmargin.margin.manifold import check_gamma_u
from graphmargin.margin.training import check_approximation
from graphmargin.methods.low_density import LowDensity, label_shares
from graphmargin.search.member import Member
from graphmargin.search.parameters import check_C, read_candidates, read_kernel


class SemiSupervisedSVC(MarginClassifier):
    """Max-margin classifier whose boundary avoids dense regions of unlabeled rows.

    The paper's problem is ``min_f sum_{i in l} V(f, x_i, y_i) + gamma norm(f)_K^2 +
    gamma_u sum_{i in u} V^(f, x_i)`` (eq. S3VM) with the hinge loss V, the hat loss
    ``V^ = max(1 - abs(f(x_i)), 0)`` and ``C = 1 / (2 gamma)``. What is minimized differs from it:

    1. The losses are smooth (Chapelle, Zien, AISTATS 2005): the hinge loss is quadratic where
       ``y_i f(x_i)`` is between 0.5 and 1.5, and ``exp(-3 f(x_i)^2)`` replaces the hat loss. With
       ``gamma_u=0``, the result is the supervised SVM itself, with the hinge loss.
    2. The problem is not convex, and the result is a local minimum. It is found by L-BFGS from the
       supervised SVM, while gamma_u grows from a small value.
    3. By default, the mean of f over the unlabeled rows is fixed, see ``class_prior``.
    4. Several classes are one-vs-one, where a pair of classes has the unlabeled rows that the
       supervised SVM assigns to one of the two.

    ``gamma_u`` and ``C`` can be lists of candidates. All combinations are tried, and the four most
    credible are blended.

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
        themselves). "auto" is "none" for up to 1,000 rows. At most 1,000 unlabeled rows for each
        class are used, a sample with larger weights if there are more.
    n_jobs, random_state, verbose
        As in `HarmonicClassifier`.

    Attributes
    ----------
    classes_, transduction_, label_distributions_, confidence_, predictor_, choice_
        As in `SupervisedSVC`.
    class_prior_ : array of shape (c,) or None
        The shares that were used.

    Examples
    --------
    >>> X = [[-3.0], [-2.0], [-1.5], [1.0], [1.5], [2.0], [2.2]]
    >>> y = ["a", None, None, None, None, None, "b"]
    >>> model = SemiSupervisedSVC(kernel="linear", gamma_u=1.0, class_prior=[0.4, 0.6]).fit(X, y)
    >>> model.predict([[-0.5], [0.2]]).tolist()
    ['a', 'b']
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

    def method(self, labels: EncodedLabels) -> LowDensity:
        """Return the method with validated parameters."""
        return LowDensity(
            kernel=read_kernel(self),
            gamma_u=read_candidates("gamma_u", self.gamma_u, check_gamma_u),
            C=read_candidates("C", self.C, check_C),
            class_prior=self._class_shares(labels),
            approximation=check_approximation(self.approximation, self.kernel),
        )

    def _members(self, X: Any, labels: EncodedLabels, *, has_graph: bool) -> Member:  # noqa: ARG002
        return Member("low-density", self.method(labels))

    def _keep_details(self, details: FloatArray | None) -> None:
        self.class_prior_ = details

    def _class_shares(self, labels: EncodedLabels) -> FloatArray | None:
        """Return the class shares that fix the mean of f, or None."""
        if self.class_prior is None:
            return None
        if isinstance(self.class_prior, str):
            check_choice("class_prior", self.class_prior, ("labels",), ", None or an array")
            return label_shares(labels)
        shares = check_priors("class_prior", self.class_prior, len(labels.classes))
        return np.asarray(shares / shares.sum())
