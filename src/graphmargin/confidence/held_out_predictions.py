"""Predictions for held-out labels, and the accuracy that they tell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

from graphmargin._typing import FloatArray, IntArray

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
    doubt : float
        Share of labels that carry no information, by the calibration of the probabilities.
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
    doubt: float
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
    doubt: float,
    unlabeled: FloatArray,
) -> HeldOutPredictions:
    """Return held-out predictions with the class shares and the confusion of unlabeled rows.

    Parameters
    ----------
    codes, probabilities, rows, doubt
        See `HeldOutPredictions`.
    unlabeled : array of shape (m, c)
        Class probabilities of the unlabeled rows.

    Examples
    --------
    >>> P = np.array([[0.9, 0.1], [0.2, 0.8]])
    >>> predictions_for(np.array([0, 1]), P, None, doubt=0.0, unlabeled=P).confusion.round(2)
    array([[0.82, 0.18],
           [0.11, 0.89]])
    """
    joint = expected_confusion(unlabeled)
    return predictions_by_confusion(codes, probabilities, rows, doubt=doubt, joint=joint)


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
    doubt: float,
    joint: FloatArray,
    weighted_codes: IntArray | None = None,
) -> HeldOutPredictions:
    """Return held-out predictions with the class shares and the confusion of expected numbers.

    Parameters
    ----------
    codes, probabilities, rows, doubt, weighted_codes
        See `HeldOutPredictions`. A row may be there several times.
    joint : array of shape (c, c)
        `expected_confusion` of the unlabeled rows; without any, that of the held-out labels counts.

    Examples
    --------
    >>> P = np.array([[0.9, 0.1], [0.2, 0.8]])
    >>> joint = np.array([[30.0, 10.0], [0.0, 60.0]])
    >>> held_out = predictions_by_confusion(np.array([0, 1]), P, None, doubt=0.0, joint=joint)
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
        codes, probabilities, rows, float(doubt), shares, confusion, weighted_codes
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
    interval : tuple of float
    majority_accuracy : float
        Share of the most frequent class, which is the accuracy of predicting it for all rows.
    balanced_accuracy : float
        Mean of the recalls of all classes.
    recall, precision : arrays of shape (c,)
        Share of the rows of a class that get its label, and of the rows with its label that are of
        the class.
    recall_interval, precision_interval : arrays of shape (c, 2)

    Examples
    --------
    >>> from graphmargin import MaxMarginGraphCut
    >>> from graphmargin.datasets import load_digits, mask_labels
    >>> X, y = load_digits()
    >>> few = mask_labels(y[:500], per_class=5, random_state=0)
    >>> estimate = MaxMarginGraphCut(random_state=0).fit(X[:500], few).accuracy_
    >>> round(estimate.accuracy, 2), [round(bound, 2) for bound in estimate.interval]
    (0.9, [0.79, 0.96])
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


def estimate_accuracy(held_out: HeldOutPredictions) -> AccuracyEstimate:
    """Return the estimated accuracy on unlabeled rows, from held-out labels and probabilities.

    With C_jk the number of held-out labels of class j that are predicted as k, s_j the share of
    class j among the rows and Q_jk the confusion by the classifier's own probabilities, the share
    of rows of class j that are predicted as k is

    ``M_jk = s_j (C_jk + 10 s_j Q_jk) / (n_j + 10 s_j)``:

    probabilities count for ten labels, so that they decide where labels are few, and labels where
    they are many. Weighting classes by their shares makes labels that were given class by class
    count for the rows of their class. Intervals are those of a binomial share with Jeffreys' prior
    and as many trials as there are held-out labels (by their weights, Kish's effective number).
    They take labels for a random draw within each class: labels that were suggested for being
    uncertain make the estimate pessimistic.

    Examples
    --------
    >>> P = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    >>> held_out = predictions_for(np.array([0, 1, 1]), P, None, doubt=0.0, unlabeled=P)
    >>> estimate = estimate_accuracy(held_out)
    >>> estimate.n_right, round(estimate.accuracy, 2)
    (2, 0.76)
    """
    n_classes, shares = len(held_out.class_shares), held_out.class_shares
    counts = np.zeros((n_classes, n_classes))
    np.add.at(counts, (held_out.codes, held_out.predicted), 1.0)
    n_labels, of_model = counts.sum(axis=1), MODEL_LABELS * shares
    total = np.maximum(n_labels + of_model, 1e-300)
    conditional = (counts + of_model[:, None] * held_out.confusion) / total[:, None]
    joint = shares[:, None] * conditional
    recall, predicted_shares = np.diag(conditional), joint.sum(axis=0)
    precision = np.where(
        predicted_shares > 0, np.diag(joint) / np.maximum(predicted_shares, 1e-300), 1.0
    )
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
