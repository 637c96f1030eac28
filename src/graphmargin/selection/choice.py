"""Which candidates to trust, and how much: a blend weighted by what is known of each.

With 2 to 20 labels, most candidates of a grid make the same number of errors on labels that are
hidden from them, and the first of the ties is a matter of chance. Here no candidate is picked: the
functions of all that are credible are averaged, with weights of Bayes' rule. See docs/selection.md
for the experiments behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.special import logsumexp

from graphmargin._typing import BoolArray, FloatArray, IntArray
from graphmargin.margin.calibration import calibration_targets, fit_sharpness, probabilities
from graphmargin.margin.machine import class_scores, winner

SUPERVISED_SHARE = 0.5
"""Prior weight of supervised learning, where it is among the candidates and not alone."""
MOST_SHARE_EVIDENCE = 3.0
"""Nats, at most, that class shares tell against a candidate: labels may be drawn on purpose."""
BLENDED = 0.9
"""Weight of the candidates that are blended; the least likely ones are left out."""


@dataclass(frozen=True)
class Trials:
    """What candidates answer where the true label is known, but hidden from them.

    A candidate's function has q columns: f of every pair of classes, or class masses. Columns of
    several candidates can be averaged, and `decide` turns them into scores.

    Attributes
    ----------
    params : list of dict, length m
    supervised : array of shape (m,)
        Candidates that do not look at the unlabeled rows.
    given : array of shape (h,)
        Codes of the labels that were hidden.
    fold : array of shape (h,)
        Number of the fold in which each was hidden.
    held_out : array of shape (m, h, q)
        Columns of the candidates, trained without the label, in units of their `scales`.
    scales : array of shape (m,)
        Mean absolute value of a candidate's function, trained on all labels.
    shares : array of shape (m, c)
        Shares of the classes among the rows that this function labels, smoothed so that none is
        zero.
    decide : callable
        From columns to scores: (h,) for two classes, positive for the second, else (h, c).

    Examples
    --------
    >>> from graphmargin import MaxMarginGraphCut
    >>> from graphmargin.datasets import load_digits, mask_labels
    >>> X, y = load_digits()
    >>> few = mask_labels(y[:500], per_class=5, random_state=0)
    >>> trials = MaxMarginGraphCut(random_state=0).fit(X[:500], few).choice_.trials
    >>> trials.params[-1], trials.held_out.shape[:2]
    ({'gamma_g': 0.01, 'C': 100.0, 'class_mass_normalization': False}, (15, 50))
    """

    params: list[dict[str, Any]]
    supervised: BoolArray
    given: IntArray
    fold: IntArray
    held_out: FloatArray
    scales: FloatArray
    shares: FloatArray
    decide: Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Choice:
    """The weights of the candidates, and why.

    Attributes
    ----------
    trials : Trials
    label_counts : array of shape (c,)
        Labels of each class.
    log_likelihood : array of shape (m,)
        Of the hidden labels, in nats; 0 for all where no label could be hidden.
    share_evidence : array of shape (m,)
        Log-likelihood of the label counts if labels are drawn at random from the classes that the
        candidate sees, relative to the best possible; at least -3.
    weights : array of shape (m,)
        Sum to one; 0 for candidates that are left out.

    Examples
    --------
    >>> from graphmargin import MaxMarginGraphCut
    >>> from graphmargin.datasets import load_digits, mask_labels
    >>> X, y = load_digits()
    >>> few = mask_labels(y[:500], per_class=5, random_state=0)
    >>> choice = MaxMarginGraphCut(random_state=0).fit(X[:500], few).choice_
    >>> choice.best_params, len(choice.blended)
    ({'gamma_g': 0.1, 'C': 100.0, 'class_mass_normalization': False}, 7)
    >>> round(choice.error, 2)
    0.1
    """

    trials: Trials
    label_counts: IntArray
    log_likelihood: FloatArray
    share_evidence: FloatArray
    weights: FloatArray

    @property
    def best(self) -> int:
        """Number of the candidate with the largest weight."""
        return int(self.weights.argmax())

    @property
    def best_params(self) -> dict[str, Any]:
        """Parameters of the candidate with the largest weight."""
        return self.trials.params[self.best]

    @property
    def blended(self) -> list[tuple[int, float]]:
        """Number and factor of the candidates in the blend, the most important first.

        The factor takes a candidate's function to its part of the blend: weight over scale.
        """
        order = np.argsort(-self.weights, kind="stable")
        factors = self.weights / self.trials.scales
        return [(int(i), float(factors[i])) for i in order if self.weights[i] > 0]

    def part(self, first: int, last: int) -> Choice:
        """Return the choice among some of the candidates, with weights that sum to one."""
        kept, trials = slice(first, last), self.trials
        return Choice(
            Trials(
                trials.params[kept],
                trials.supervised[kept],
                trials.given,
                trials.fold,
                trials.held_out[kept],
                trials.scales[kept],
                trials.shares[kept],
                trials.decide,
            ),
            self.label_counts,
            self.log_likelihood[kept],
            self.share_evidence[kept],
            self.weights[kept] / self.weights[kept].sum(),
        )

    @property
    def supervised_share(self) -> float:
        """Weight of supervised learning in the blend."""
        return float(self.weights[self.trials.supervised].sum())

    @cached_property
    def scores(self) -> FloatArray:
        """Scores of the blend for the hidden labels."""
        return self.trials.decide(np.tensordot(self.weights, self.trials.held_out, axes=1))

    @property
    def error(self) -> float:
        """Share of the hidden labels that the blend gets wrong; nan if none was hidden.

        The weights have seen these labels, so that it is a little optimistic.
        """
        return error_of(self.scores, self.trials.given)

    @cached_property
    def errors(self) -> FloatArray:
        """Share of the hidden labels that each candidate gets wrong."""
        trials = self.trials
        return np.array([error_of(trials.decide(one), trials.given) for one in trials.held_out])

    def results(self) -> dict[str, Any]:
        """Return a table with a row for each candidate, in the manner of ``cv_results_``.

        Columns: ``params``, ``param_*``, ``split{i}_test_score`` and ``mean_test_score``
        (accuracies on hidden labels), ``log_likelihood``, ``share_evidence``, ``weight``,
        ``rank_test_score`` (1 is the largest weight).
        """
        trials = self.trials
        names = sorted({name for params in trials.params for name in params})
        table: dict[str, Any] = {"params": trials.params}
        for name in names:
            column = np.empty(len(trials.params), dtype=object)
            column[:] = [params.get(name) for params in trials.params]
            table[f"param_{name}"] = column
        for fold in np.unique(trials.fold):
            rows = trials.fold == fold
            errors = [error_of(trials.decide(f[rows]), trials.given[rows]) for f in trials.held_out]
            table[f"split{fold}_test_score"] = 1 - np.array(errors)
        table["mean_test_score"] = 1 - self.errors
        table["log_likelihood"] = self.log_likelihood
        table["share_evidence"] = self.share_evidence
        table["weight"] = self.weights
        order = np.argsort(-self.weights, kind="stable")
        table["rank_test_score"] = np.argsort(order, kind="stable") + 1
        return table


def choose(trials: Trials, label_counts: IntArray, most: int | None = None) -> Choice:
    """Return the weights of the candidates by Bayes' rule.

    The weight of candidate m is proportional to its prior times ``exp(a_m + b_m)``.

    - Prior: one half for supervised learning, the rest for candidates that use unlabeled rows,
      evenly within both.
    - ``a_m = sum_i log p_m(y_i)`` over the hidden labels, with probabilities from the scores of
      the candidate that has not seen label i, and one sharpness for all of them.
    - ``b_m``: labels are a sample, so their class counts n_k should look like one of the classes
      that the candidate assigns to all rows in shares s_k: ``sum_k n_k log(s_k / (n_k / n))``,
      but at least -3. A function that gives all rows to one class is a frequent failure of
      graphs (and of SVMs) with few labels, and visible here even if no label can be hidden.

    Parameters
    ----------
    trials : Trials
    label_counts : array of shape (c,)
    most : int, default=None
        Number of candidates, at most, that are blended. They are the most likely ones, with 90 %
        of the weight of all.

    Examples
    --------
    Two labels are hidden. One candidate is right about both, the other about none; a third is
    as good as the first.

    >>> sides = np.array([[[-1.0], [1.0]], [[1.0], [-1.0]], [[-1.0], [1.0]]])
    >>> trials = Trials(
    ...     params=[{"gamma_g": np.inf}, {"gamma_g": 1.0}, {"gamma_g": 0.1}],
    ...     supervised=np.array([True, False, False]),
    ...     given=np.array([0, 1]),
    ...     fold=np.array([0, 1]),
    ...     held_out=sides,
    ...     scales=np.ones(3),
    ...     shares=np.full((3, 2), 0.5),
    ...     decide=lambda columns: columns[:, 0],
    ... )
    >>> choose(trials, np.array([1, 1])).weights.round(2).tolist()
    [0.56, 0.16, 0.28]
    """
    scores = [trials.decide(one) for one in trials.held_out]
    log_likelihood = np.array(
        [_log_likelihood(one, trials.given, len(label_counts)) for one in scores]
    )
    share_evidence = _share_evidence(trials.shares, label_counts)
    log_weights = np.log(_prior(trials.supervised)) + log_likelihood + share_evidence
    weights = np.exp(log_weights - logsumexp(log_weights))
    order = np.argsort(-weights, kind="stable")
    before = np.cumsum(weights[order]) - weights[order]
    least = weights[order[before < BLENDED - 1e-9]].min()
    weights[weights < (1 - 1e-9) * least] = 0.0  # equals are not left out for their place
    weights[order[most:] if most is not None else []] = 0.0
    return Choice(trials, label_counts, log_likelihood, share_evidence, weights / weights.sum())


def join(parts: Sequence[Trials]) -> Trials:
    """Return the trials of several groups of candidates on the same hidden labels as one."""
    first = parts[0]
    return Trials(
        params=[params for part in parts for params in part.params],
        supervised=np.concatenate([part.supervised for part in parts]),
        given=first.given,
        fold=first.fold,
        held_out=np.concatenate([part.held_out for part in parts]),
        scales=np.concatenate([part.scales for part in parts]),
        shares=np.concatenate([part.shares for part in parts]),
        decide=first.decide,
    )


def pairwise_trials(
    params: Sequence[dict[str, Any]],
    supervised: Sequence[bool],
    given: IntArray,
    parts: Sequence[Sequence[FloatArray]],
    everywhere: Sequence[FloatArray],
    n_classes: int,
) -> Trials:
    """Return the trials of max-margin machines.

    Parameters
    ----------
    params, supervised, given
        See `Trials`.
    parts : sequence of sequences of arrays of shape (h_i, n_pairs)
        f at the hidden labels, fold by fold and candidate by candidate.
    everywhere : sequence of arrays of shape (s, n_pairs)
        f at some unlabeled rows, trained on all labels.
    n_classes : int
    """
    scales = np.array([np.abs(f).mean() if f.size else 1.0 for f in everywhere])
    scales[scales < np.finfo(np.float64).eps] = 1.0  # zero, as on rows that are all the same
    held_out, fold = stack_folds(parts, scales, n_classes * (n_classes - 1) // 2)
    assigned = [winner(class_scores(f, n_classes)) for f in everywhere]
    return Trials(
        params=[dict(candidate) for candidate in params],
        supervised=np.array(supervised, dtype=np.bool_),
        given=given,
        fold=fold,
        held_out=held_out,
        scales=scales,
        shares=np.array([smoothed_shares(codes, n_classes) for codes in assigned]),
        decide=partial(class_scores, n_classes=n_classes),
    )


def stack_folds(
    parts: Sequence[Sequence[FloatArray]], scales: FloatArray, n_columns: int
) -> tuple[FloatArray, IntArray]:
    """Return the columns of every fold and candidate as one array, and the fold of each row.

    Examples
    --------
    >>> held_out, fold = stack_folds([[np.ones((2, 1))], [np.ones((1, 1))]], np.array([2.0]), 1)
    >>> held_out.tolist(), fold.tolist()
    ([[[0.5], [0.5], [0.5]]], [0, 0, 1])
    """
    sizes = [part[0].shape[0] for part in parts]
    nothing = np.zeros((len(scales), 0, n_columns))
    held_out = np.concatenate([nothing, *(np.array(part) for part in parts)], axis=1)
    return held_out / scales[:, None, None], np.repeat(np.arange(len(sizes)), sizes)


def smoothed_shares(codes: IntArray, n_classes: int) -> FloatArray:
    """Return the shares of the classes among the codes of some rows, none of them zero.

    Examples
    --------
    >>> smoothed_shares(np.array([0, 0, 0, 0, 1, 1]), 2).tolist()
    [0.625, 0.375]
    """
    counts = np.bincount(codes[codes >= 0], minlength=n_classes) + 1.0
    return np.asarray(counts / counts.sum())


def error_of(scores: FloatArray, given: IntArray) -> float:
    """Return the share of wrong labels, nan for none at all."""
    if not len(given):
        return float("nan")
    return float((winner(scores) != given).mean())


def _prior(supervised: BoolArray) -> FloatArray:
    if supervised.all() or not supervised.any():
        return np.full(len(supervised), 1 / len(supervised))
    alone = SUPERVISED_SHARE / supervised.sum()
    return np.asarray(np.where(supervised, alone, (1 - SUPERVISED_SHARE) / (~supervised).sum()))


def _log_likelihood(scores: FloatArray, given: IntArray, n_classes: int) -> float:
    """Return the log-likelihood of hidden labels, calibrated by a single number."""
    if not len(given):
        return 0.0
    targets = calibration_targets(np.eye(n_classes)[given], given)
    P = probabilities(scores, fit_sharpness(scores, targets))
    return float(np.log(np.maximum(P[np.arange(len(given)), given], 1e-9)).sum())


def _share_evidence(shares: FloatArray, counts: IntArray) -> FloatArray:
    used = counts > 0
    own = counts[used] / counts.sum()
    evidence = (counts[used] * np.log(shares[:, used] / own)).sum(axis=1)
    return np.asarray(np.maximum(evidence, -MOST_SHARE_EVIDENCE))
