"""Predictions for held-out labels, and the accuracy that they tell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

from graphmargin._html import html_table
from graphmargin._texts import format_estimate, format_interval
from graphmargin._typing import AnyArray, FloatArray, IntArray

MODEL_LABELS = 10.0
"""Number of labels that the classifier's own probabilities count for in estimates of accuracy."""
INTERVAL = 0.95
"""Probability of the intervals of estimates."""


@dataclass(frozen=True)
class HeldOutPredictions:
    """The predictions of a chosen classifier for labels that had no say in them.

    Attributes
    ----------
    codes : array of shape (h,)
        Classes of the held-out labels, each of which is there once.
    probabilities : array of shape (h, c)
        Class probabilities by a classifier that was trained without the label, and whose weights
        of candidates come from the labels of other folds. If several folds hold out a label, they
        are the mean of these classifiers.
    rows : array of shape (h,) or None
        Numbers of their rows; None for a validation set.
    uniform_share : float
        Share of the uniform distribution in the probabilities, by their calibration.
    class_shares : array of shape (c,)
        Shares of the classes among the unlabeled rows, by the probabilities of the classifier.
    confusion : array of shape (c, c)
        Shares of the classes that the classifier predicts for rows of each class, by its own
        probabilities of the unlabeled rows; rows sum to one.
    weighted_codes : array of shape (h,) or None
        Classes that the classifier predicts for the held-out labels if classes have weights; None
        if it predicts the most probable ones.

    Examples
    --------
    >>> from graphmargin import MaxMarginGraphCut
    >>> from graphmargin.datasets import load_digits, mask_labels
    >>> X, y = load_digits()
    >>> few = mask_labels(y[:500], per_class=5, random_state=0)
    >>> held_out = MaxMarginGraphCut(random_state=0).fit(X[:500], few).held_out_
    >>> held_out.probabilities.shape
    (50, 10)
    """

    codes: IntArray
    probabilities: FloatArray
    rows: IntArray | None
    uniform_share: float
    class_shares: FloatArray
    confusion: FloatArray
    weighted_codes: IntArray | None = None

    @property
    def predicted(self) -> IntArray:
        """Classes that the classifier predicts for the held-out labels."""
        if self.weighted_codes is not None:
            return self.weighted_codes
        return np.asarray(self.probabilities.argmax(axis=1))

    @property
    def label_counts(self) -> IntArray:
        """Number of held-out labels of each class."""
        return np.bincount(self.codes, minlength=len(self.class_shares))

    @property
    def weights_by_class(self) -> FloatArray:
        """Weight of the held-out labels of each class, 1 for a class without any.

        Labels are often given class by class. A label of a class that has a share s of the rows
        and a share t of the labels counts for s / t labels of rows that are drawn at random.
        """
        label_shares = np.maximum(self.label_counts, 1) / max(1, len(self.codes))
        return np.where(self.label_counts > 0, self.class_shares / label_shares, 1.0)

    @property
    def label_weights(self) -> FloatArray:
        """Weight of every held-out label, see `weights_by_class`."""
        return np.asarray(self.weights_by_class[self.codes])


def predictions_for(
    codes: IntArray,
    probabilities: FloatArray,
    rows: IntArray | None,
    *,
    uniform_share: float,
    unlabeled: FloatArray,
) -> HeldOutPredictions:
    """Return held-out predictions with the class shares and the confusion of unlabeled rows.

    Parameters
    ----------
    codes, probabilities, rows, uniform_share
        See `HeldOutPredictions`.
    unlabeled : array of shape (m, c)
        Class probabilities of the unlabeled rows.

    Examples
    --------
    >>> P = np.array([[0.9, 0.1], [0.2, 0.8]])
    >>> held_out = predictions_for(np.array([0, 1]), P, None, uniform_share=0.0, unlabeled=P)
    >>> held_out.confusion.round(2)
    array([[0.82, 0.18],
           [0.11, 0.89]])
    """
    joint = expected_confusion(unlabeled)
    return predictions_by_confusion(
        codes, probabilities, rows, uniform_share=uniform_share, joint=joint
    )


def expected_confusion(distributions: FloatArray, predicted: IntArray | None = None) -> FloatArray:
    """Return the expected number of rows of each class that get each label, by probabilities.

    Entry (j, k) is the sum of the probabilities of class j over all rows that are predicted as k,
    by default those whose largest probability is that of k. The sums of disjoint sets of rows add
    up.

    Examples
    --------
    >>> expected_confusion(np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])).round(2).tolist()
    [[1.5, 0.2], [0.5, 0.8]]
    """
    joint = np.zeros((distributions.shape[1], distributions.shape[1]))
    codes = distributions.argmax(axis=1) if predicted is None else predicted
    np.add.at(joint.T, codes, distributions)
    return joint


def predictions_by_confusion(
    codes: IntArray,
    probabilities: FloatArray,
    rows: IntArray | None,
    *,
    uniform_share: float,
    joint: FloatArray,
    weighted_codes: IntArray | None = None,
) -> HeldOutPredictions:
    """Return held-out predictions with the class shares and the confusion of expected numbers.

    Parameters
    ----------
    codes, probabilities, rows, uniform_share, weighted_codes
        See `HeldOutPredictions`. A row may be there several times.
    joint : array of shape (c, c)
        `expected_confusion` of the unlabeled rows; without any, that of the held-out labels counts.

    Examples
    --------
    >>> P = np.array([[0.9, 0.1], [0.2, 0.8]])
    >>> joint = np.array([[30.0, 10.0], [0.0, 60.0]])
    >>> codes = np.array([0, 1])
    >>> held_out = predictions_by_confusion(codes, P, None, uniform_share=0.0, joint=joint)
    >>> held_out.class_shares.tolist(), held_out.confusion.tolist()
    ([0.4, 0.6], [[0.75, 0.25], [0.0, 1.0]])
    """
    if rows is not None and len(np.unique(rows)) < len(rows):
        rows, first, places = np.unique(rows, return_index=True, return_inverse=True)
        codes, probabilities = codes[first], _means(probabilities, places)
        if weighted_codes is not None:  # the class that most folds predict
            predicted = np.eye(probabilities.shape[1])[weighted_codes]
            weighted_codes = _means(predicted, places).argmax(axis=1)
    if not joint.any():
        joint = expected_confusion(probabilities, weighted_codes)
    mass = joint.sum(axis=1, keepdims=True)
    confusion = np.where(mass > 0, joint, np.eye(len(joint))) / np.where(mass > 0, mass, 1.0)
    shares = mass[:, 0] / mass.sum()
    return HeldOutPredictions(
        codes, probabilities, rows, float(uniform_share), shares, confusion, weighted_codes
    )


def _means(values: FloatArray, places: IntArray) -> FloatArray:
    """Return the mean of the rows of `values` at each place."""
    sums = np.zeros((places.max() + 1, values.shape[1]))
    np.add.at(sums, places, values)
    return sums / np.bincount(places)[:, None]


def require_held_out(held_out: HeldOutPredictions | None, method: str) -> HeldOutPredictions:
    """Return the held-out predictions that a method needs; raise ValueError if there are none."""
    if held_out is None:
        msg = (
            f"`{method}` needs held-out labels, which a fit has if a parameter is 'auto' or a "
            "list, and some class has two labels or more"
        )
        raise ValueError(msg)
    return held_out


@dataclass(frozen=True)
class AccuracyEstimate:
    """The estimated accuracy of a classifier on the unlabeled rows, with 95 % intervals.

    Attributes
    ----------
    n_held_out : int
        Number of labels that were held out.
    n_right : int
        Number of them that were predicted right.
    accuracy : float
        It is above 0 and below 1, however few or many labels were right.
    interval : tuple of float
    majority_accuracy : float
        Share of the most frequent class, which is the accuracy of predicting it for all rows.
    balanced_accuracy : float
        Mean of the recalls of all classes.
    recall, precision : arrays of shape (c,)
        Share of the rows of a class that get its label, and of the rows with its label that are of
        the class.
    recall_interval, precision_interval : arrays of shape (c, 2)
    classes : array of shape (c,)
        Names of the classes.

    Examples
    --------
    >>> from graphmargin import MaxMarginGraphCut
    >>> from graphmargin.datasets import load_digits, mask_labels
    >>> X, y = load_digits()
    >>> few = mask_labels(y[:500], per_class=5, random_state=0)
    >>> estimate = MaxMarginGraphCut(random_state=0).fit(X[:500], few).accuracy_
    >>> estimate.text
    'about 89% (78% to 96%), 45 of 50 held-out labels right'
    """

    n_held_out: int
    n_right: int
    accuracy: float
    interval: tuple[float, float]
    majority_accuracy: float
    balanced_accuracy: float
    recall: FloatArray
    recall_interval: FloatArray
    precision: FloatArray
    precision_interval: FloatArray
    classes: AnyArray

    @property
    def text(self) -> str:
        """The accuracy with its interval and the number of held-out labels, as a text."""
        return (
            f"about {format_estimate(self.accuracy)} ({format_interval(self.interval)}), "
            f"{self.n_right:,} of {self.n_held_out:,} held-out labels right"
        )

    def __str__(self) -> str:
        """Return a line for the accuracy, and one for each class."""
        classes = [
            f"{name}: recall {recall} ({of_recall}), precision {precision} ({of_precision})"
            for name, recall, of_recall, precision, of_precision in self._rows()
        ]
        return "\n".join([f"accuracy: {self.text}", f"balanced: {self._others()}", *classes])

    def _repr_html_(self) -> str:
        """Return the same content as an HTML table for notebooks."""
        header = ("class", "recall", "interval", "precision", "interval")
        caption = f"accuracy: {self.text}; balanced: {self._others()}"
        return html_table(caption, self._rows(), header=header)

    def _others(self) -> str:
        return (
            f"{format_estimate(self.balanced_accuracy)}, most frequent class alone: "
            f"{format_estimate(self.majority_accuracy)}"
        )

    def _rows(self) -> list[tuple[str, str, str, str, str]]:
        columns = (self.recall, self.recall_interval, self.precision, self.precision_interval)
        return [
            (
                str(name),
                format_estimate(recall),
                format_interval(of_recall),
                format_estimate(precision),
                format_interval(of_precision),
            )
            for name, recall, of_recall, precision, of_precision in zip(
                self.classes.tolist(), *columns, strict=True
            )
        ]


def estimate_accuracy(
    held_out: HeldOutPredictions, classes: AnyArray | None = None, *, n_guesses: float = 1.0
) -> AccuracyEstimate:
    """Return the estimated accuracy on unlabeled rows, from held-out labels and probabilities.

    With C_jk the number of held-out labels of class j that are predicted as k, s_j the share of
    class j among the rows, Q_jk the confusion by the classifier's own probabilities and U_jk that
    of a guess that is right in half of the cases, the share of rows of class j that are predicted
    as k is the mean of a Dirichlet distribution,

    ``M_jk = s_j (C_jk + 10 s_j Q_jk + U_jk / c) / (n_j + 10 s_j + 1 / c)``:

    probabilities count for ten labels, so that they decide where labels are few, and labels where
    they are many. The guess counts for one label, spread over the c classes. It keeps estimates
    from 0 and 1, which no finite number of labels can show. Weighting classes by their shares makes
    labels that were given class by class count for the rows of their class. Intervals are those of
    a binomial share with Jeffreys' prior and as many trials as there are held-out labels (by their
    weights, Kish's effective number). They take labels for a random draw within each class: labels
    that were suggested for being uncertain make the estimate pessimistic.

    Parameters
    ----------
    held_out : HeldOutPredictions
    classes : array of shape (c,), default=None
        Names of the classes; None numbers them from 0.
    n_guesses : float, default=1
        Number of labels that the guess counts for; for a part of the rows, it is their share.

    Examples
    --------
    >>> P = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    >>> held_out = predictions_for(np.array([0, 1, 1]), P, None, uniform_share=0.0, unlabeled=P)
    >>> estimate = estimate_accuracy(held_out)
    >>> print(estimate)
    accuracy: about 74% (19% to 98%), 2 of 3 held-out labels right
    balanced: 72%, most frequent class alone: 57%
    0: recall 87% (10% to 99.8%), precision 73% (15% to 98%)
    1: recall 57% (8% to 96%), precision 77% (7% to 99.5%)
    """
    n_classes, shares = len(held_out.class_shares), held_out.class_shares
    counts = np.zeros((n_classes, n_classes))
    np.add.at(counts, (held_out.codes, held_out.predicted), 1.0)
    guess = np.full((n_classes, n_classes), 0.5 / max(n_classes - 1, 1))
    np.fill_diagonal(guess, 0.5)
    n_labels, of_model, of_guess = counts.sum(axis=1), MODEL_LABELS * shares, n_guesses / n_classes
    evidence = counts + of_model[:, None] * held_out.confusion + of_guess * guess
    conditional = evidence / evidence.sum(axis=1, keepdims=True)
    joint = shares[:, None] * conditional
    recall, predicted_shares = np.diag(conditional), joint.sum(axis=0)
    # A class without rows has no precision; nothing is known about that of its labels.
    precision = np.where(shares > 0, np.diag(joint) / np.maximum(predicted_shares, 1e-300), 0.5)
    weights = held_out.label_weights
    n_effective = weights.sum() ** 2 / max((weights**2).sum(), 1e-300)
    accuracy = float(np.clip(np.trace(joint), 0.0, 1.0))
    low, high = binomial_interval(np.array([accuracy]), np.array([n_effective]))[0]
    return AccuracyEstimate(
        n_held_out=len(held_out.codes),
        n_right=int(np.trace(counts)),
        accuracy=accuracy,
        interval=(float(low), float(high)),
        majority_accuracy=float(shares.max()),
        balanced_accuracy=float(recall.mean()),
        recall=recall,
        recall_interval=binomial_interval(recall, n_labels),
        precision=precision,
        precision_interval=binomial_interval(precision, counts.sum(axis=0)),
        classes=np.arange(n_classes) if classes is None else classes,
    )


def binomial_interval(share: FloatArray, n_trials: FloatArray | IntArray) -> FloatArray:
    """Return the central 95 % interval of binomial shares under Jeffreys' prior, of shape (m, 2).

    It is extended to the share itself, which is outside if it is 0 or 1.

    Examples
    --------
    >>> binomial_interval(np.array([0.75, 1.0]), np.array([4, 4])).round(2).tolist()
    [[0.28, 0.97], [0.56, 1.0]]
    """
    right, wrong = share * n_trials + 0.5, (1 - share) * n_trials + 0.5
    tail = (1 - INTERVAL) / 2
    low, high = betaincinv(right, wrong, tail), betaincinv(right, wrong, 1 - tail)
    return np.stack([np.minimum(low, share), np.maximum(high, share)], axis=1)
