"""Predictions for held-out labels, and what they tell: accuracy and prediction sets."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np
from scipy.special import betaincinv

from graphmargin._typing import BoolArray, FloatArray, IntArray

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
        Classes of the held-out labels.
    probabilities : array of shape (h, c)
        Class probabilities by a classifier that was trained without the label, and whose weights
        of candidates come from the labels of other folds.
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
    def label_weights(self) -> FloatArray:
        """Weight of every held-out label: how many labels it would be, had they random rows.

        Labels are often given class by class. A label of a class that has a share s of the rows
        and a share t of the labels counts for s / t labels.
        """
        shares = self.label_counts / max(1, len(self.codes))
        return np.asarray((self.class_shares / np.maximum(shares, 1e-300))[self.codes])


def predictions_for(
    codes: IntArray,
    probabilities: FloatArray,
    rows: IntArray | None,
    *,
    doubt: float,
    unlabeled: FloatArray,
    weighted_codes: IntArray | None = None,
    weighted_unlabeled: IntArray | None = None,
) -> HeldOutPredictions:
    """Return held-out predictions with the class shares and the confusion of unlabeled rows.

    Parameters
    ----------
    codes, probabilities, rows, doubt
        See `HeldOutPredictions`.
    unlabeled : array of shape (m, c)
        Class probabilities of the unlabeled rows; without any, those of the held-out labels count.
    weighted_codes, weighted_unlabeled : arrays of shape (h,) and (m,), default=None
        Predicted classes of the held-out labels and the unlabeled rows, if classes have weights.

    Examples
    --------
    >>> P = np.array([[0.9, 0.1], [0.2, 0.8]])
    >>> predictions_for(np.array([0, 1]), P, None, doubt=0.0, unlabeled=P).confusion.round(2)
    array([[0.82, 0.18],
           [0.11, 0.89]])
    """
    joint = expected_confusion(
        *((unlabeled, weighted_unlabeled) if len(unlabeled) else (probabilities, weighted_codes))
    )
    return predictions_by_confusion(
        codes, probabilities, rows, doubt=doubt, joint=joint, weighted_codes=weighted_codes
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
    doubt: float,
    joint: FloatArray,
    weighted_codes: IntArray | None = None,
) -> HeldOutPredictions:
    """Return held-out predictions with the class shares and the confusion of expected numbers.

    Parameters
    ----------
    codes, probabilities, rows, doubt, weighted_codes
        See `HeldOutPredictions`.
    joint : array of shape (c, c)
        See `expected_confusion`.

    Examples
    --------
    >>> P = np.array([[0.9, 0.1], [0.2, 0.8]])
    >>> joint = np.array([[30.0, 10.0], [0.0, 60.0]])
    >>> held_out = predictions_by_confusion(np.array([0, 1]), P, None, doubt=0.0, joint=joint)
    >>> held_out.class_shares.tolist(), held_out.confusion.tolist()
    ([0.4, 0.6], [[0.75, 0.25], [0.0, 1.0]])
    """
    mass = joint.sum(axis=1, keepdims=True)
    confusion = np.where(mass > 0, joint, np.eye(len(joint))) / np.where(mass > 0, mass, 1.0)
    shares = mass[:, 0] / mass.sum()
    return HeldOutPredictions(
        codes, probabilities, rows, float(doubt), shares, confusion, weighted_codes
    )


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
    low, high = _interval(np.array([accuracy]), np.array([n_effective]))[0]
    return AccuracyEstimate(
        n_held_out=len(held_out.codes),
        n_right=int(np.trace(counts)),
        accuracy=accuracy,
        interval=(float(low), float(high)),
        majority_accuracy=float(shares.max()),
        balanced_accuracy=float(recall.mean()),
        recall=recall,
        recall_interval=_interval(recall, n_labels),
        precision=precision,
        precision_interval=_interval(precision, counts.sum(axis=0)),
    )


def _interval(share: FloatArray, n_trials: FloatArray) -> FloatArray:
    """Return the central interval of binomial shares under Jeffreys' prior, of shape (m, 2)."""
    right, wrong = share * n_trials + 0.5, (1 - share) * n_trials + 0.5
    tail = (1 - INTERVAL) / 2
    bounds = [betaincinv(right, wrong, tail), betaincinv(right, wrong, 1 - tail)]
    return np.stack(bounds, axis=1)


def set_thresholds(
    held_out: HeldOutPredictions, coverage: float, *, per_class: bool = False
) -> FloatArray:
    """Return the probability from which on each class belongs to a prediction set.

    A set of all classes k with ``p_k >= t_k`` contains the true class with probability `coverage`,
    if labels are a random draw, within each class at least. The nonconformity of a held-out label
    is ``1 - p`` of its class (cross-conformal: the classifier has not seen it), and t_k is one
    minus its quantile of level `coverage`, where the new row itself counts as one more label that
    conforms least.

    Parameters
    ----------
    held_out : HeldOutPredictions
    coverage : float in (0, 1)
    per_class : bool, default=False
        Whether the coverage holds for the rows of every class (Mondrian), from the labels of this
        class alone, or for all rows, where labels have the weights of `label_weights`.

    Returns
    -------
    array of shape (c,)
        ``-inf`` for classes that belong to all sets, as labels are too few to leave them out.

    Examples
    --------
    >>> P = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.1, 0.9], [0.2, 0.8], [0.4, 0.6]])
    >>> held_out = predictions_for(np.array([0, 0, 0, 1, 1, 1]), P, None, doubt=0.0, unlabeled=P)
    >>> set_thresholds(held_out, 0.7).round(2).tolist()
    [0.7, 0.7]
    >>> set_thresholds(held_out, 0.7, per_class=True).round(2).tolist()
    [0.7, 0.6]
    >>> set_thresholds(held_out, 0.95).tolist()
    [-inf, -inf]
    """
    if not isinstance(coverage, Real) or not 0 < coverage < 1:
        msg = f"`coverage` must be a number between 0 and 1, got {coverage!r}"
        raise ValueError(msg)
    own = held_out.probabilities[np.arange(len(held_out.codes)), held_out.codes]
    weights, n_classes = held_out.label_weights, len(held_out.class_shares)
    label_shares = held_out.label_counts / max(1, len(held_out.codes))
    thresholds = np.full(n_classes, -np.inf)
    for k in range(n_classes):
        used = held_out.codes == k if per_class else np.ones(len(own), dtype=np.bool_)
        of_labels = np.ones(int(used.sum())) if per_class else weights[used]
        of_row = 1.0
        if not per_class and label_shares[k] > 0:
            of_row = held_out.class_shares[k] / label_shares[k]
        thresholds[k] = _lower_quantile(own[used], of_labels, of_row, coverage)
    return thresholds


def _lower_quantile(
    values: FloatArray, weights: FloatArray, new_weight: float, coverage: float
) -> float:
    """Return the largest t such that values >= t have the share `coverage` of all weights.

    The new row's own weight counts as that of a value below all others.
    """
    order = np.argsort(-values, kind="stable")
    reached = np.cumsum(weights[order]) / (weights.sum() + new_weight)
    enough = np.flatnonzero(reached >= coverage - 1e-12)
    return float(values[order[enough[0]]]) if len(enough) else -np.inf


def highest_coverage(held_out: HeldOutPredictions, *, per_class: bool = False) -> float:
    """Return the largest coverage that the labels can promise without sets of all classes.

    It is n / (n + 1) for n labels, or for the smallest class if the coverage holds for each.

    Examples
    --------
    >>> P = np.full((4, 2), 0.5)
    >>> held_out = predictions_for(np.array([0, 0, 0, 1]), P, None, doubt=0.0, unlabeled=P)
    >>> highest_coverage(held_out), highest_coverage(held_out, per_class=True)
    (0.8, 0.5)
    """
    n = int(held_out.label_counts.min()) if per_class else len(held_out.codes)
    return n / (n + 1)


def require_held_out(held_out: HeldOutPredictions | None, method: str) -> HeldOutPredictions:
    """Return the held-out predictions that a method needs; raise ValueError if there are none."""
    if held_out is None:
        msg = (
            f"`{method}` needs held-out labels, which a fit has if a parameter is 'auto' or a "
            "list, and some class has two labels or more"
        )
        raise ValueError(msg)
    return held_out


def coverage_warning(
    held_out: HeldOutPredictions, coverage: float, *, per_class: bool = False
) -> str:
    """Return a sentence if labels are too few for a coverage, and empty text if they suffice.

    Examples
    --------
    >>> P = np.full((4, 2), 0.5)
    >>> held_out = predictions_for(np.array([0, 0, 0, 1]), P, None, doubt=0.0, unlabeled=P)
    >>> coverage_warning(held_out, 0.6), coverage_warning(held_out, 0.9)[:46]
    ('', '4 labels can promise a coverage of at most 0.8')
    >>> coverage_warning(held_out, 0.7)[:58]  # the second class has half of the rows, but one label
    'Some classes have too few labels for a coverage of 0.7 and'
    """
    highest = highest_coverage(held_out, per_class=per_class)
    if coverage > highest and not per_class:
        return (
            f"{len(held_out.codes)} labels can promise a coverage of at most {highest:.3g}, so "
            f"that with {coverage:g} all classes belong to every set; label more rows, or choose "
            "a lower coverage."
        )
    if np.isneginf(set_thresholds(held_out, coverage, per_class=per_class)).any():
        return (
            f"Some classes have too few labels for a coverage of {coverage:g} and belong to every "
            "set; label more rows."
        )
    return ""


def prediction_sets(distributions: FloatArray, thresholds: FloatArray) -> BoolArray:
    """Return which classes belong to the prediction set of every row, see `set_thresholds`.

    Examples
    --------
    >>> prediction_sets(np.array([[0.9, 0.1], [0.5, 0.5]]), np.array([0.4, 0.4])).tolist()
    [[True, False], [True, True]]
    """
    return np.asarray(distributions >= thresholds)
