"""Calibration: a few numbers, fitted to labels, turn functions of pairs into probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import log_softmax, softmax

from graphmargin._blocks import row_slices
from graphmargin._typing import FloatArray, IntArray
from graphmargin.margin.coupling import scales_of_pairs
from graphmargin.margin.machine import MarginMachine

TYPICAL_LOG_ODDS = 2.0
"""Log-odds of the best class against the second best in the mean, the center of the prior."""
INVERSE_TEMPERATURE_SPREAD = 0.5
"""Standard deviation of the logarithm of the inverse temperature, by its prior."""
INVERSE_TEMPERATURES = np.geomspace(1e-3, 1e3, 91)
"""Inverse temperatures that `fit_calibration` tries, in units of the center of their prior."""
TYPICAL_UNIFORM_SHARE = 0.1
"""Mean of the uniform share by its prior, an exponential distribution."""
MIN_UNIFORM_SHARE = 1e-6
"""Lower bound on the uniform share, so that no class has probability zero."""
WEIGHT_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Shares of the logarithms of class weights that `fit_calibration` tries to subtract."""
GRAPH_WEIGHTS = (0.0, 0.25, 0.5, 1.0, 2.0)
"""Weights of the graph that `fit_calibration` tries; their prior is exponential with mean 1."""


@dataclass(frozen=True)
class Calibration:
    """The numbers that turn f of all pairs of classes into class probabilities.

    Attributes
    ----------
    inverse_temperature : float
        Factor of the class scores before the softmax.
    uniform_share : float
        Share of the uniform distribution that is mixed in, as by label smoothing: with this
        probability, a label is random.
    graph_weight : float
        Factor of the log-probabilities of the graph that are added to the class scores.
    pair_scales : array of shape (n_pairs,)
        Units in which f of every pair of classes is measured, see `class_scores`.
    offsets : array of shape (c,) or (1,)
        Added to the class scores times the inverse temperature. They are zero unless classes have
        weights, which shift the scores but not the probabilities.

    Examples
    --------
    >>> calibration = Calibration(inverse_temperature=1.0, uniform_share=0.1)
    >>> calibration.probabilities(np.array([0.0, 2.0])).round(2).tolist()
    [[0.5, 0.5], [0.16, 0.84]]
    """

    inverse_temperature: float
    uniform_share: float
    graph_weight: float = 0.0
    pair_scales: FloatArray = field(default_factory=lambda: np.ones(1))
    offsets: FloatArray = field(default_factory=lambda: np.zeros(1))

    def probabilities(self, scores: FloatArray) -> FloatArray:
        """Return the class probabilities of shape (n, c) of some class scores."""
        return probabilities(scores, self.inverse_temperature, self.uniform_share, self.offsets)


def calibration_targets(
    class_mass: FloatArray, codes: IntArray, counts: IntArray | None = None
) -> FloatArray:
    """Return target probabilities of the training points.

    The target of an unlabeled point is the distribution of classes at which its walk ends, given
    that it ends at a label: the sink mass measures how far away the labels are, not which one is
    right. The target of a labeled point is Platt's, (n + 1) / (n + 2) for a class of n labels.

    Parameters
    ----------
    class_mass : array of shape (n, c)
        Absorption probabilities of the points.
    codes : array of shape (n,)
        Given labels, -1 where there is none.
    counts : array of shape (c,), default=None
        Number of labels of each class if the points are a sample; None counts those of `codes`.

    Examples
    --------
    >>> calibration_targets(np.array([[0.1, 0.3], [1.0, 0.0]]), np.array([-1, 0])).round(3).tolist()
    [[0.25, 0.75], [0.667, 0.333]]
    """
    n_classes = class_mass.shape[1]
    total = class_mass.sum(axis=1, keepdims=True)
    targets = np.where(total > 0, class_mass, 1 / n_classes) / np.where(total > 0, total, 1.0)
    given = np.flatnonzero(codes >= 0)
    if counts is None:
        counts = np.bincount(codes[given], minlength=n_classes)
    rest = 1 / (counts[codes[given]] + 2)
    targets[given] = rest[:, None] / (n_classes - 1)
    targets[given, codes[given]] = 1 - rest
    return targets


def fit_inverse_temperature(scores: FloatArray, targets: FloatArray) -> float:
    """Return the a > 0 for which ``softmax(a * scores)`` is likeliest, given target distributions.

    Minimizes the cross-entropy of all rows minus the log-density of a prior: log a is normal with
    standard deviation 0.5 around the value at which the log-odds of the best class against the
    second best have a mean of 2. With few labels, nearly all of them right, every large a fits;
    the prior then keeps probabilities where they are on most tables (docs/evidence.md). A single
    positive factor keeps the arg max of the scores, so that probabilities and predictions agree.

    Parameters
    ----------
    scores : array of shape (n,) or (n, c)
        Class scores; a single column is the difference of two classes.
    targets : array of shape (n, c)
        Target distributions; rows sum to one.

    Examples
    --------
    >>> scores = np.repeat([-1.0, 1.0], 5000)
    >>> targets = np.repeat([[0.8, 0.2], [0.2, 0.8]], 5000, axis=0)
    >>> float(probabilities(scores, fit_inverse_temperature(scores, targets))[-1, 1].round(3))
    0.8
    """
    columns, center = class_columns(scores), typical_inverse_temperature(scores)
    columns = center * (columns - columns.max(axis=1, keepdims=True))  # exp cannot overflow
    total = float((targets * columns).sum())

    def loss(log_a: float) -> float:
        a = np.exp(log_a)
        normalizers = np.log(np.exp(a * columns).sum(axis=1))
        return float(normalizers.sum() - a * total + _inverse_temperature_penalty(a))

    limits = np.log(INVERSE_TEMPERATURES[[0, -1]])
    return float(center * np.exp(minimize_scalar(loss, bounds=limits, method="bounded").x))


def fit_calibration(
    scores: FloatArray,
    targets: FloatArray,
    log_graph: FloatArray | None = None,
    class_weight: Sequence[float] | None = None,
) -> Calibration:
    """Return the likeliest inverse temperature, uniform share and graph weight, given targets.

    ``p = (1 - d) softmax(a (scores + g log_graph) - t log w) + d / c``. The uniform share d, with
    an exponential prior of mean 0.1, allows for labels that are wrong; the inverse temperature a
    has the prior of `fit_inverse_temperature`, and the graph weight g an exponential one of mean 1.
    Class weights w shift scores towards their classes, by as much as a classifier of the weighted
    losses needs them; the share t, of those in [0, 1], takes it back.

    Parameters
    ----------
    scores, targets
        As in `fit_inverse_temperature`.
    log_graph : array of shape (n, c), default=None
        Logarithms of class probabilities by the graph alone; None fixes their weight at 0.
    class_weight : sequence of c floats > 0, default=None
        Factors of the losses by which scores were learned; None is one for all, and t = 0.

    Examples
    --------
    Nine of ten scores are right, and the tenth is not even close:

    >>> scores = np.tile([4.0, 2.0, 0.0], (100, 1))
    >>> targets = np.eye(3)[[0] * 90 + [2] * 10]
    >>> inverse_temperature = fit_inverse_temperature(scores, targets)
    >>> probabilities(scores[:1], inverse_temperature).round(2).tolist()
    [[0.83, 0.15, 0.03]]
    >>> fit_calibration(scores, targets).probabilities(scores[:1]).round(2).tolist()
    [[0.91, 0.05, 0.04]]
    """
    columns, center = class_columns(scores), typical_inverse_temperature(scores)
    n_classes, entries = columns.shape[1], targets.nonzero()  # one a row, if rows have a label
    best, least = Calibration(center, MIN_UNIFORM_SHARE), np.inf
    graph_weights = GRAPH_WEIGHTS if log_graph is not None else GRAPH_WEIGHTS[:1]
    for weight, offsets in product(graph_weights, _offsets(class_weight)):
        shifted = columns if log_graph is None else columns + weight * log_graph
        for block in row_slices(
            len(INVERSE_TEMPERATURES), 64 * columns.size
        ):  # blocks that fit a cache
            log_P = log_softmax(
                center * INVERSE_TEMPERATURES[block, None, None] * shifted + offsets, axis=2
            )
            P = np.exp(log_P[:, *entries])
            uniform_shares = _likeliest_uniform_shares(P, targets[entries], n_classes)
            Q = _mixed_with_uniform(P, uniform_shares[:, None], n_classes)
            losses = -np.log(Q) @ targets[entries] + uniform_shares / TYPICAL_UNIFORM_SHARE + weight
            losses += _inverse_temperature_penalty(INVERSE_TEMPERATURES[block])
            i = int(losses.argmin())
            if losses[i] < least:
                inverse_temperature = float(center * INVERSE_TEMPERATURES[block][i])
                best = Calibration(
                    inverse_temperature, float(uniform_shares[i]), weight, offsets=offsets
                )
                least = losses[i]
    return best


def _offsets(class_weight: Sequence[float] | None) -> list[FloatArray]:
    """Return the offsets to try: shares of minus the logarithms of the class weights."""
    if class_weight is None:
        return [np.zeros(1)]
    return [-share * np.log(class_weight) for share in WEIGHT_SHARES]


def calibrate_machine(
    machine: MarginMachine,
    X: Any,
    targets: FloatArray,
    class_weight: Sequence[float] | None = None,
) -> Calibration:
    """Return the calibration of a machine, with f of pairs in units of its mean absolute value.

    Parameters
    ----------
    machine : MarginMachine
    X : array or CSR matrix of shape (n, d)
    targets : array of shape (n, c)
        As in `fit_inverse_temperature`.
    class_weight : sequence of c floats > 0, default=None
        As in `fit_calibration`.

    Examples
    --------
    >>> from graphmargin.margin import Kernel, train_machine
    >>> X = np.array([[-4.0], [-2.0], [2.0], [4.0]])
    >>> machine = train_machine(X, np.array([0, 0, 1, 1]), Kernel("linear"), C=10.0)
    >>> calibration = calibrate_machine(machine, X, np.eye(2)[[0, 0, 1, 1]])
    >>> calibration.pair_scales.round(3).tolist(), round(calibration.inverse_temperature, 2)
    ([1.5], 1.55)
    """
    means, scores = machine.scores_in_own_units(X)
    calibration = fit_calibration(scores, targets, class_weight=class_weight)
    return replace(calibration, pair_scales=scales_of_pairs(means))


def typical_inverse_temperature(scores: FloatArray) -> float:
    """Return the inverse temperature that gives the best two classes typical mean log-odds.

    Examples
    --------
    >>> typical_inverse_temperature(np.array([[4.0, 0.0], [0.0, 4.0]]))
    0.5
    """
    columns = class_columns(scores)
    if not len(columns):
        return TYPICAL_LOG_ODDS
    second, first = np.partition(columns, (-2, -1), axis=1)[:, -2:].T
    gap, rounding = float((first - second).mean()), 64 * np.finfo(np.float64).eps
    is_known = gap > rounding * max(1.0, float(np.abs(columns).max()))
    return TYPICAL_LOG_ODDS / gap if is_known else TYPICAL_LOG_ODDS


def inverse_temperature_at_confidence(scores: FloatArray, confidence: float) -> float:
    """Return the a > 0 for which the largest entries of ``softmax(a * scores)`` have a given mean.

    Where no a in 1e-3 to 1e3 times the typical inverse temperature reaches the mean, the closest
    one is returned.

    Examples
    --------
    >>> scores = np.array([0.1, -0.3])
    >>> a = inverse_temperature_at_confidence(scores, 0.8)
    >>> float(probabilities(scores, a).max(axis=1).mean().round(6))
    0.8
    """
    center = typical_inverse_temperature(scores)

    def excess(log_a: float) -> float:
        P = probabilities(scores, center * np.exp(log_a))
        return float(P.max(axis=1).mean()) - confidence

    low, high = np.log(INVERSE_TEMPERATURES[[0, -1]])
    if excess(low) >= 0:
        log_a = low
    elif excess(high) <= 0:
        log_a = high
    else:
        log_a = brentq(excess, low, high)
    return float(center * np.exp(log_a))


def _inverse_temperature_penalty(relative: FloatArray | float) -> FloatArray:
    """Return minus the log-density of an inverse temperature, in units of its prior's center."""
    return np.asarray((np.log(relative) / INVERSE_TEMPERATURE_SPREAD) ** 2 / 2)


def _likeliest_uniform_shares(P: FloatArray, targets: FloatArray, n_classes: int) -> FloatArray:
    """Return the likeliest uniform share for each row of probabilities of the targets.

    The cross-entropy is convex in the uniform share, and its prior adds a constant slope. We take
    Newton steps, and bisect where a step leaves the bracket.
    """
    low, high = np.full(len(P), MIN_UNIFORM_SHARE), np.ones(len(P))
    uniform_shares = np.full(len(P), TYPICAL_UNIFORM_SHARE)
    for _ in range(50):
        ratio = (1 / n_classes - P) / _mixed_with_uniform(P, uniform_shares[:, None], n_classes)
        slope, curvature = 1 / TYPICAL_UNIFORM_SHARE - ratio @ targets, ratio**2 @ targets
        low = np.where(slope < 0, uniform_shares, low)
        high = np.where(slope > 0, uniform_shares, high)
        # A step of two leaves every bracket; without the bound, it overflows for even P.
        least = np.maximum(np.abs(slope) / 2, np.finfo(np.float64).tiny)
        step = uniform_shares - slope / np.maximum(curvature, least)
        step = np.where((step > low) & (step < high), step, (low + high) / 2)
        moved = np.abs(step - uniform_shares).max()
        uniform_shares = step
        if moved < 1e-7:
            break
    return uniform_shares


def probabilities(
    scores: FloatArray,
    inverse_temperature: float,
    uniform_share: float = 0.0,
    offsets: FloatArray | float = 0.0,
) -> FloatArray:
    """Return class probabilities of shape (n, c) for decision values.

    Examples
    --------
    >>> import numpy as np
    >>> probabilities(np.array([-2.0, 0.0, 2.0]), inverse_temperature=1.0).round(2).tolist()
    [[0.88, 0.12], [0.5, 0.5], [0.12, 0.88]]
    """
    P = softmax(inverse_temperature * class_columns(scores) + offsets, axis=1)
    return _mixed_with_uniform(P, uniform_share, P.shape[1])


def _mixed_with_uniform(
    P: FloatArray, uniform_share: float | FloatArray, n_classes: int
) -> FloatArray:
    return np.asarray((1 - uniform_share) * P + uniform_share / n_classes)


def class_columns(scores: FloatArray) -> FloatArray:
    """Return a column for each class: for two classes, zeros and the difference of both."""
    if scores.ndim == 1:
        return np.column_stack([np.zeros_like(scores), scores])
    return scores
