"""The rules that weigh alternatives by held-out labels: candidates of a method, and members.

docs/selection.md and docs/ensemble.md have the experiments behind both rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
from scipy.special import logsumexp, softmax

from graphmargin._typing import BoolArray, FloatArray, IntArray
from graphmargin.margin.calibration import fit_inverse_temperature, probabilities
from graphmargin.margin.class_weights import weights_of_rows
from graphmargin.search.choice import Choice
from graphmargin.search.member import Member
from graphmargin.search.trials import Trials, labels_of_other_folds

SUPERVISED_PRIOR = 0.5
"""Prior weight of supervised learning, where it is among the candidates and not alone."""
MAX_SHARE_EVIDENCE = 3.0
"""Largest evidence of class shares against a candidate, in nats: labels may not be random."""
BLENDED_WEIGHT = 0.9
"""Total weight of the candidates in the blend; the least likely ones are left out."""
LIKELIHOOD_EXPONENT = 1 / 3
"""Exponent of the likelihood of members: held-out labels of a fold are predicted by the same
classifier, and all members learn from the same labels, so that differences look larger than they
are."""
MIN_RELATIVE_WEIGHT = 0.1
"""Weight, relative to the largest, below which a member is left out and not fitted on all rows."""


def choose(
    trials: Trials,
    label_counts: IntArray,
    class_weight: tuple[float, ...] | None = None,
    member: Member | None = None,
) -> Choice:
    """Return the weights of the candidates by Bayes' rule.

    The weight of candidate m is proportional to its prior times ``exp(a_m + b_m)``.

    - Prior: one half for supervised candidates, and one half for those that use unlabeled rows,
      evenly within both.
    - ``a_m = sum_i log p_m(y_i)`` over the held-out labels. The probabilities are those of the
      candidate trained without label i, calibrated with one inverse temperature for all of them.
    - ``b_m = sum_k n_k log(s_k / (n_k / n))``, but at least -3: the class counts n_k of the labels
      should look like a sample of the classes that the candidate assigns to all rows, in shares
      s_k. Assigning all rows to one class is a frequent failure of graphs (and of SVMs) with few
      labels, and visible here even if no label can be held out.

    Parameters
    ----------
    trials : Trials
        The blend has the most likely candidates with 90 % of the weight of all, but not more than
        ``trials.max_blended``.
    label_counts : array of shape (c,)
    class_weight : tuple of c floats > 0, default=None
        Factors of the log-likelihood of the labels of each class, in units of their mean over all
        held-out labels.
    member : Member, default=None
        The member whose candidates were tried.

    Examples
    --------
    Two labels are held out. The first candidate is right about both, the second about none; the
    third is as good as the first.

    >>> sides = np.array([[[1.0], [-1.0]], [[-1.0], [1.0]], [[1.0], [-1.0]]])
    >>> trials = Trials(
    ...     params=[{"gamma_g": np.inf}, {"gamma_g": 1.0}, {"gamma_g": 0.1}],
    ...     supervised=np.array([True, False, False]),
    ...     held_out_codes=np.array([0, 1]),
    ...     fold=np.array([0, 1]),
    ...     held_out_values=sides,
    ...     scales=np.ones(3),
    ...     pair_scales=np.ones((3, 1)),
    ...     shares=np.full((3, 2), 0.5),
    ... )
    >>> choose(trials, np.array([1, 1])).weights.round(2).tolist()
    [0.67, 0.0, 0.33]
    """
    label_log_likelihood = np.array(
        [
            _log_likelihood(scores, trials.held_out_codes, len(label_counts))
            for scores in trials.candidate_scores
        ]
    )
    if class_weight is not None and len(trials.held_out_codes):
        costs = weights_of_rows(class_weight, trials.held_out_codes)
        label_log_likelihood *= costs / costs.mean()
    share_log_likelihood = _share_log_likelihood(trials.shares, label_counts)
    evidence = label_log_likelihood.sum(axis=1) + share_log_likelihood
    log_weights = _log_weights(trials.supervised, evidence)
    weights = np.exp(log_weights)
    # Candidates that differ by rounding alone keep their order, on every machine.
    order = np.argsort(-np.round(log_weights, 9), kind="stable")
    before = np.cumsum(weights[order]) - weights[order]
    smallest = weights[order[before < BLENDED_WEIGHT - 1e-9]].min()
    weights[weights < (1 - 1e-9) * smallest] = 0.0  # of equal candidates, none is left out
    weights[order[trials.max_blended :] if trials.max_blended is not None else []] = 0.0
    weights /= weights.sum()
    others = labels_of_other_folds(trials.fold, trials.held_out_rows)
    fold_weights = dict.fromkeys(others, weights)
    if len(others) > 1:
        for fold, used in others.items():
            evidence = label_log_likelihood[:, used].sum(axis=1) + share_log_likelihood
            fold_weights[fold] = np.exp(_log_weights(trials.supervised, evidence))
    return Choice(
        trials,
        label_counts,
        label_log_likelihood,
        share_log_likelihood,
        weights,
        fold_weights,
        class_weight,
        member,
    )


def weigh(parts: Sequence[Choice]) -> Choice:
    """Return the choice among members, each of which has chosen among its candidates.

    Only labels that all members held out count. The class probabilities of a fold are mixed with
    weights that come from the labels of other folds.
    """
    places = _common_places([part.trials for part in parts])
    trials, first = parts[0].trials, places[0]
    codes, fold = trials.held_out_codes[first], trials.fold[first]
    rows = None if trials.held_out_rows is None else trials.held_out_rows[first]
    calibrated = [part.calibrated_probabilities for part in parts]
    P = np.array([of_part[place] for of_part, place in zip(calibrated, places, strict=True)])
    evidence = np.log(np.maximum(P[:, np.arange(len(codes)), codes], 1e-9))
    log_prior = np.log([part.member.prior if part.member else 1.0 for part in parts])
    weights = member_weights(evidence.sum(axis=1), log_prior)
    fold_weights = {
        number: member_weights(evidence[:, used].sum(axis=1), log_prior)
        for number, used in labels_of_other_folds(fold, rows).items()
    }
    m, n_classes = len(parts), P.shape[2]
    mixture = Trials(
        params=[{"member": part.member.name} for part in parts if part.member],
        supervised=np.array([part.trials.supervised.all() for part in parts]),
        held_out_codes=codes,
        fold=fold,
        held_out_values=P,
        scales=np.ones(m),
        pair_scales=np.ones((m, n_classes)),
        shares=np.full((m, n_classes), 1 / n_classes),
        held_out_rows=rows,
        columns="masses",
    )
    return Choice(
        mixture,
        parts[0].label_counts,
        evidence,
        np.zeros(m),
        weights,
        fold_weights,
        parts[0].class_weight,
        parts=tuple(parts),
    )


def member_weights(log_likelihood: FloatArray, log_prior: FloatArray | float = 0.0) -> FloatArray:
    """Return weights of members: prior times the cube root of the likelihood, normalized.

    A member with less than a tenth of the largest weight gets 0. `python -m
    benchmarks.ensemble_rules` compares this rule with others.

    Examples
    --------
    >>> member_weights(np.array([-2.0, -4.0, -20.0])).round(2).tolist()
    [0.66, 0.34, 0.0]
    """
    weights = softmax(LIKELIHOOD_EXPONENT * np.asarray(log_likelihood) + log_prior)
    weights[weights < MIN_RELATIVE_WEIGHT * weights.max()] = 0.0
    return np.asarray(weights / weights.sum())


def _log_weights(supervised: BoolArray, evidence: FloatArray) -> FloatArray:
    """Return the logarithms of weights that are proportional to the prior times exp(evidence)."""
    log_weights = np.log(_prior(supervised)) + evidence
    return np.asarray(log_weights - logsumexp(log_weights))


def _prior(supervised: BoolArray) -> FloatArray:
    if supervised.all() or not supervised.any():
        return np.full(len(supervised), 1 / len(supervised))
    each = SUPERVISED_PRIOR / supervised.sum()
    return np.asarray(np.where(supervised, each, (1 - SUPERVISED_PRIOR) / (~supervised).sum()))


def _log_likelihood(scores: FloatArray, given: IntArray, n_classes: int) -> FloatArray:
    """Return the log-likelihood of each held-out label, at one inverse temperature for all."""
    if not len(given):
        return np.zeros(0)
    P = probabilities(scores, fit_inverse_temperature(scores, np.eye(n_classes)[given]))
    return np.log(np.maximum(P[np.arange(len(given)), given], 1e-9))


def _share_log_likelihood(shares: FloatArray, counts: IntArray) -> FloatArray:
    used = counts > 0
    label_shares = counts[used] / counts.sum()
    evidence = (counts[used] * np.log(shares[:, used] / label_shares)).sum(axis=1)
    return np.asarray(np.maximum(evidence, -MAX_SHARE_EVIDENCE))


def _common_places(trials: Sequence[Trials]) -> list[IntArray]:
    """Return, for each member, the places of the labels that all members held out.

    Members may sample different ones of many labels.
    """
    with_rows = [(part.fold, part.held_out_rows) for part in trials]
    known = [(fold, rows) for fold, rows in with_rows if rows is not None]
    if not known:  # a validation set, which is the same for all members
        return [np.arange(len(fold)) for fold, _ in with_rows]
    n_rows = max(int(rows.max(initial=0)) for _, rows in known) + 1
    keys = [fold.astype(np.int64) * n_rows + rows for fold, rows in known]
    common = reduce(np.intersect1d, keys)
    places = []
    for key in keys:
        order = np.argsort(key, kind="stable")
        places.append(order[np.searchsorted(key[order], common)])
    return places
