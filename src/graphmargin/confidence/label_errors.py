"""Label errors: given labels that are probably wrong, by a classifier that has not seen them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax, ndtri

from graphmargin._blocks import row_slices
from graphmargin._html import html_table
from graphmargin._texts import format_count
from graphmargin._typing import AnyArray, BoolArray, FloatArray, IntArray
from graphmargin.confidence.held_out_predictions import HeldOutPredictions
from graphmargin.margin.calibration import TYPICAL_UNIFORM_SHARE, typical_inverse_temperature

N_PRINTED = 5
"""Number of labels that a printed result lists."""
INVERSE_TEMPERATURE_SPREAD = 1.0
"""Standard deviation of the logarithm of the inverse temperature: wider than that of calibrations.

Wrong labels make a classifier seem less sure than it is, so that its inverse temperature is known
less well.
"""
N_INVERSE_TEMPERATURES, N_SHARES = 32, 128
"""Numbers of quantiles of both priors at which `label_error_probabilities` averages."""
MIN_PROBABILITY = 1e-6
"""Lower bound on probabilities, so that their logarithms are finite."""


@dataclass(frozen=True)
class LabelErrors:
    """The probability that each held-out label is wrong.

    Attributes
    ----------
    classes : array of shape (c,)
    rows : array of shape (h,)
        Numbers of the rows whose labels were held out, ascending.
    given : array of shape (h,)
        Codes of the given labels.
    suggested : array of shape (h,)
        Codes of the most likely classes without these labels, most of which are the given ones.
    probability : array of shape (h,)
        Probability that the given label is wrong.
    threshold : float, default=0.5
        Probability above which a label is listed.

    Examples
    --------
    >>> import numpy as np
    >>> from graphmargin.confidence import LabelErrors
    >>> given, suggested = np.array([0, 0, 1]), np.array([0, 1, 0])
    >>> probability = np.array([0.01, 0.6, 0.9])
    >>> errors = LabelErrors(np.array(["cat", "dog"]), np.arange(3), given, suggested, probability)
    >>> print(errors)
    2 of 3 held-out labels look wrong (probability above 0.5; 0.5 false alarms expected)
    row 2: given 'dog', suggested 'cat', probability 0.900
    row 1: given 'cat', suggested 'dog', probability 0.600
    >>> errors.rows[errors.listed].tolist(), round(errors.expected_false_alarms, 2)
    ([2, 1], 0.5)
    """

    classes: AnyArray
    rows: IntArray
    given: IntArray
    suggested: IntArray
    probability: FloatArray
    threshold: float = 0.5

    @property
    def given_labels(self) -> AnyArray:
        """The given labels."""
        return np.asarray(self.classes[self.given])

    @property
    def suggested_labels(self) -> AnyArray:
        """The most likely labels without the given ones."""
        return np.asarray(self.classes[self.suggested])

    @property
    def order(self) -> IntArray:
        """Labels from the most to the least likely error: ``rows[order]`` are their rows."""
        return np.argsort(-self.probability, kind="stable")

    @property
    def is_listed(self) -> BoolArray:
        """Mask of listed labels: above the threshold, and with another class that is likelier."""
        return np.asarray((self.probability > self.threshold) & (self.suggested != self.given))

    @property
    def listed(self) -> IntArray:
        """The listed labels, the most likely error first: ``rows[listed]`` are their rows."""
        return self.order[self.is_listed[self.order]]

    @property
    def expected_false_alarms(self) -> float:
        """Expected number of listed labels that are right."""
        return float((1 - self.probability[self.listed]).sum())

    @property
    def summary(self) -> str:
        """Number of listed labels, the threshold, and the expected false alarms, as a text."""
        n_listed, above = len(self.listed), f"probability above {self.threshold:g}"
        if not n_listed:
            held_out = format_count(len(self.rows), "held-out label")
            return f"none of {held_out} looks wrong ({above})"
        return (
            f"{n_listed:,} of {format_count(len(self.rows), 'held-out label')} "
            f"{'looks' if n_listed == 1 else 'look'} wrong ({above}; "
            f"{self.expected_false_alarms:.1f} false alarms expected)"
        )

    def __str__(self) -> str:
        """Return how many labels are probably wrong, and a line for each of the first five."""
        lines = [
            f"row {row}: given {given!r}, suggested {suggested!r}, probability {probability}"
            for row, given, suggested, probability in self._listed_rows()
        ]
        return "\n".join([self.summary, *lines[:N_PRINTED]])

    def _repr_html_(self) -> str:
        """Return the same content as an HTML table for notebooks, with all listed labels."""
        header = ("row", "given", "suggested", "probability")
        return html_table(self.summary, self._listed_rows(), header=header)

    def _listed_rows(self) -> list[tuple[str, str, str, str]]:
        """Return row, given label, suggested label and probability of the listed labels."""
        listed = self.listed
        columns = (
            self.rows[listed],
            self.given_labels[listed],
            self.suggested_labels[listed],
            self.probability[listed],
        )
        return [
            (str(row), str(given), str(suggested), f"{probability:.3f}")
            for row, given, suggested, probability in zip(*columns, strict=True)
        ]


def label_error_probabilities(held_out: HeldOutPredictions) -> FloatArray:
    """Return the probability that each held-out label is wrong.

    Let a share d of the labels be drawn at random from all c classes. If the class of a row is the
    given one with probability p, its label is wrong with probability

    ``(d / c) (1 - p) / ((1 - d) p + d / c)``.

    A label that is unlike its prediction can be wrong, or its row can be hard to predict: d and the
    inverse temperature of p are unknown. The result is the mean over their posterior distribution,
    given all held-out labels. The prior of d is exponential with mean 0.1, and that of the inverse
    temperature log-normal, around the value at which the log-odds of the best two classes have a
    mean of 2. The classifier is taken to know nothing of a row with probability 1 / (h + 2), as h
    labels cannot show that it always knows; so a few labels make none of them probably wrong. The
    cost is that of 4,096 numbers for each label, in blocks of labels.

    Examples
    --------
    >>> from graphmargin.confidence.held_out_predictions import predictions_for
    >>> codes = np.repeat([0, 1, 2], 30)
    >>> P = np.where(np.eye(3)[codes] == 1, 0.98, 0.01)
    >>> codes[0], codes[31] = 1, 2
    >>> held_out = predictions_for(codes, P, None, uniform_share=0.0, unlabeled=P)
    >>> label_error_probabilities(held_out)[[0, 1]].round(2).tolist()
    [0.53, 0.0]
    """
    n_classes, n = len(held_out.class_shares), len(held_out.codes)
    # d replaces the share of the uniform distribution that calibrated probabilities contain.
    uniform, ignorance = held_out.uniform_share, 1 / (n + 2)
    clean = (held_out.probabilities - uniform / n_classes) / max(1 - uniform, MIN_PROBABILITY)
    scores = np.log(np.clip(clean, MIN_PROBABILITY, 1.0))
    spread = np.exp(INVERSE_TEMPERATURE_SPREAD * ndtri(_quantile_levels(N_INVERSE_TEMPERATURES)))
    shares = np.minimum(-TYPICAL_UNIFORM_SHARE * np.log(1 - _quantile_levels(N_SHARES)), 1.0)
    P = np.empty((N_INVERSE_TEMPERATURES, n))
    for i, inverse_temperature in enumerate(typical_inverse_temperature(scores) * spread):
        informed = np.exp(
            log_softmax(inverse_temperature * scores, axis=1)[np.arange(n), held_out.codes]
        )
        P[i] = (1 - ignorance) * informed + ignorance / n_classes
    log_likelihood = np.zeros((N_INVERSE_TEMPERATURES, N_SHARES))
    blocks = list(row_slices(n, 8 * N_INVERSE_TEMPERATURES * N_SHARES))
    for block in blocks:
        log_likelihood += np.log(_label_likelihood(P[:, block], shares, n_classes)).sum(axis=2)
    # Quantiles of the priors are equally likely.
    posterior = np.exp(log_likelihood - log_likelihood.max())
    posterior *= shares / n_classes / posterior.sum()
    wrong = np.empty(n)
    for block in blocks:
        likelihood = _label_likelihood(P[:, block], shares, n_classes)
        wrong[block] = np.einsum("ij,ik,ijk->k", posterior, 1 - P[:, block], 1 / likelihood)
    return wrong


def _label_likelihood(P: FloatArray, shares: FloatArray, n_classes: int) -> FloatArray:
    """Return the likelihood of each label, by inverse temperature and share of random labels."""
    shares = shares[:, None]
    return np.asarray((1 - shares) * P[:, None] + shares / n_classes)


def _quantile_levels(count: int) -> FloatArray:
    return (np.arange(count) + 0.5) / count


def label_errors(
    held_out: HeldOutPredictions, classes: AnyArray, threshold: float = 0.5
) -> LabelErrors:
    """Return the probability that each held-out label is wrong, and the class that is likelier.

    See `label_error_probabilities`.

    Parameters
    ----------
    held_out : HeldOutPredictions
        Rows of a validation set are counted from 0.
    classes : array of shape (c,)
    threshold : float in [0, 1)
        Probability above which a label is listed.

    Examples
    --------
    >>> from graphmargin.confidence.held_out_predictions import predictions_for
    >>> codes = np.repeat([0, 1, 2], 30)
    >>> P = np.where(np.eye(3)[codes] == 1, 0.98, 0.01)
    >>> codes[0], codes[31] = 1, 2
    >>> held_out = predictions_for(codes, P, None, uniform_share=0.0, unlabeled=P)
    >>> print(label_errors(held_out, np.array(["cat", "dog", "eel"])))
    2 of 90 held-out labels look wrong (probability above 0.5; 0.9 false alarms expected)
    row 0: given 'dog', suggested 'cat', probability 0.533
    row 31: given 'eel', suggested 'dog', probability 0.533
    """
    if not 0 <= threshold < 1:
        msg = f"`threshold` must be a number from 0 to below 1, got {threshold!r}"
        raise ValueError(msg)
    rows = np.arange(len(held_out.codes)) if held_out.rows is None else held_out.rows
    order = np.argsort(rows)
    return LabelErrors(
        classes,
        rows[order],
        held_out.codes[order],
        held_out.probabilities.argmax(axis=1)[order],
        label_error_probabilities(held_out)[order],
        float(threshold),
    )
