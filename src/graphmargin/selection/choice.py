"""The choice among candidates: a blend, weighted by the evidence for each of them.

With 2 to 20 labels, most candidates of a grid make the same number of errors on held-out labels,
and which of them comes first is a matter of chance. Here no single candidate is picked: the
functions of all credible ones are averaged, with weights by Bayes' rule. docs/selection.md has the
experiments behind this rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import logsumexp

from graphmargin._html import html_table
from graphmargin._typing import BoolArray, FloatArray, IntArray
from graphmargin.margin.calibration import fit_sharpness, probabilities
from graphmargin.margin.class_weights import weights_of_rows
from graphmargin.margin.machine import predicted_codes
from graphmargin.selection.trials import Trials, labels_of_other_folds

SUPERVISED_PRIOR = 0.5
"""Prior weight of supervised learning, where it is among the candidates and not alone."""
MAX_SHARE_EVIDENCE = 3.0
"""Largest evidence of class shares against a candidate, in nats: labels may not be random."""
BLENDED_WEIGHT = 0.9
"""Total weight of the candidates in the blend; the least likely ones are left out."""
MAX_WEIGHT_IF_HELPFUL = 1 / 3
"""Largest weight of supervised learning with the verdict that the graph helps."""
MIN_WEIGHT_IF_USELESS = 2 / 3
"""Smallest weight of supervised learning with the verdict that the graph does not help."""
GRAPH_HELPS, UNDECIDED = "graph helps", "undecided: both are averaged"


@dataclass(frozen=True)
class Choice:
    """The weights of the candidates, and the evidence behind them.

    Attributes
    ----------
    trials : Trials
    label_counts : array of shape (c,)
        Number of labels of each class.
    label_log_likelihood : array of shape (m, h)
        Log-likelihood of every held-out label, in nats, times the weight of its class if classes
        have weights.
    share_log_likelihood : array of shape (m,)
        Log-likelihood of the label counts if labels are drawn at random from the classes that the
        candidate predicts, relative to the best possible; at least -3.
    weights : array of shape (m,)
        Weights, which sum to one; 0 for candidates that are left out.

    Examples
    --------
    >>> from graphmargin import MaxMarginGraphCut
    >>> from graphmargin.datasets import load_digits, mask_labels
    >>> X, y = load_digits()
    >>> few = mask_labels(y[:500], per_class=5, random_state=0)
    >>> choice = MaxMarginGraphCut(random_state=0).fit(X[:500], few).choice_
    >>> choice.best_params, len(choice.blended)
    ({'gamma_g': 10.0, 'C': 10.0, 'class_mass_normalization': False}, 4)
    >>> round(choice.error, 2), choice.verdict
    (0.1, 'graph helps')
    """

    trials: Trials
    label_counts: IntArray
    label_log_likelihood: FloatArray
    share_log_likelihood: FloatArray
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
        """Number and factor of the candidates in the blend, the heaviest first.

        The blend is the sum of the candidates' functions times their factors, weight over scale.
        """
        order = np.argsort(-self.weights, kind="stable")
        factors = self.weights / self.trials.scales
        return [(int(i), float(factors[i])) for i in order if self.weights[i] > 0]

    @property
    def supervised_weight(self) -> float:
        """Weight of supervised learning in the blend."""
        return float(self.weights[self.trials.supervised].sum())

    @property
    def log_likelihood(self) -> FloatArray:
        """Log-likelihood of all held-out labels, in nats; 0 if no label could be held out."""
        return np.asarray(self.label_log_likelihood.sum(axis=1))

    @property
    def fold_weights(self) -> dict[int, FloatArray]:
        """Weights of the candidates for each fold, from labels that the fold does not hold out.

        With a single fold, such as a validation set, they are `weights`.
        """
        trials = self.trials
        others = labels_of_other_folds(trials.fold, trials.held_out_rows)
        if len(others) < 2:
            return dict.fromkeys(others, self.weights)
        weights = {}
        for fold, used in others.items():
            evidence = self.label_log_likelihood[:, used].sum(axis=1) + self.share_log_likelihood
            weights[fold] = np.exp(_log_weights(trials.supervised, evidence))
        return weights

    @cached_property
    def cross_fitted_scores(self) -> FloatArray:
        """Class scores of the blend for the held-out labels, none of which has a say in its own.

        The labels of a fold are predicted by a blend with its `fold_weights`.
        """
        scores = np.empty_like(self.trials.candidate_scores[0])
        for fold, weights in self.fold_weights.items():
            rows = self.trials.fold == fold
            scores[rows] = self.trials.scores(weights, rows)
        return scores

    @property
    def error(self) -> float:
        """Share of the held-out labels that the blend gets wrong; nan if none was held out.

        The blend of a fold has weights from the other folds (`cross_fitted_scores`), so that the
        choice itself makes it no more optimistic.
        """
        return error_rate(self.cross_fitted_scores, self.trials.held_out_codes)

    @cached_property
    def errors(self) -> FloatArray:
        """Share of the held-out labels that each candidate gets wrong."""
        trials = self.trials
        return np.array(
            [error_rate(scores, trials.held_out_codes) for scores in trials.candidate_scores]
        )

    @property
    def is_tested(self) -> bool:
        """True if some label was held out."""
        return len(self.trials.held_out_codes) > 0

    @property
    def has_both_kinds(self) -> bool:
        """True if there are candidates with and without a graph."""
        return bool(self.trials.supervised.any() and not self.trials.supervised.all())

    @property
    def graph_error(self) -> float | None:
        """Share of the held-out labels that the best candidate with a graph gets wrong.

        It is optimistic if candidates are many, and None without candidates or held-out labels.
        """
        return self._least_error(~self.trials.supervised)

    @property
    def supervised_error(self) -> float | None:
        """Share of held-out labels that the best candidate without a graph gets wrong, or None."""
        return self._least_error(self.trials.supervised)

    def _least_error(self, kind: BoolArray) -> float | None:
        return float(self.errors[kind].min()) if self.is_tested and kind.any() else None

    @property
    def verdict(self) -> str:
        """The verdict on the graph, by `supervised_weight`: up to 1/3, from 2/3 on, or between.

        It is "not compared" unless there are candidates of both kinds and held-out labels, because
        the weights then depend on priors and class shares alone.
        """
        if not self.has_both_kinds or not self.is_tested:
            return "not compared"
        if self.supervised_weight <= MAX_WEIGHT_IF_HELPFUL:
            return GRAPH_HELPS
        if self.supervised_weight >= MIN_WEIGHT_IF_USELESS:
            return "graph does not help: supervised learning chosen"
        return UNDECIDED

    @property
    def reason(self) -> str:
        """The numbers behind the verdict, as a text."""
        n_supervised = np.count_nonzero(self.trials.supervised)
        n_graph, n = len(self.weights) - n_supervised, len(self.trials.held_out_codes)
        if not n_supervised:
            return "no supervised candidate was tried"
        if not n_graph:
            return "no candidate with a graph was tried"
        weight = f"supervised learning has {self.supervised_weight:.1%} of the weight"
        if self.graph_error is None or self.supervised_error is None:
            return f"no label could be held out; {weight}"
        return (
            f"{weight}; wrong held-out labels: {round(self.graph_error * n)} of {n} with the best "
            f"of {n_graph} candidates that use the graph, {round(self.supervised_error * n)} of "
            f"{n} with the best of {n_supervised} that do not"
        )

    def __str__(self) -> str:
        """Return the verdict, and a line for each candidate of the blend."""
        lines = [
            f"weight {weight}: {params} ({wrong} held-out labels are wrong)"
            for weight, params, wrong in self._blend_rows()
        ]
        return "\n".join([self._headline, *lines])

    def _repr_html_(self) -> str:
        """Return the same content as an HTML table for notebooks."""
        header = ("weight", "parameters", "wrong held-out labels")
        return html_table(self._headline, self._blend_rows(), header=header)

    @property
    def _headline(self) -> str:
        blend = f"{len(self.blended)} of {len(self.weights)} candidates are blended"
        return f"{self.verdict} ({self.reason}); {blend}"

    def _blend_rows(self) -> list[tuple[str, str, str]]:
        """Return weight, parameters and errors of the candidates in the blend."""
        n = len(self.trials.held_out_codes)
        return [
            (
                f"{self.weights[i]:.1%}",
                ", ".join(f"{name}={value!r}" for name, value in self.trials.params[i].items()),
                f"{round(self.errors[i] * n) if n else 0} of {n}",
            )
            for i, _ in self.blended
        ]

    def results(self) -> dict[str, Any]:
        """Return a table with a row for each candidate, in the format of ``cv_results_``.

        Columns: ``params``, ``param_*``, ``split{i}_test_score`` and ``mean_test_score``
        (accuracies on held-out labels), ``log_likelihood``, ``share_log_likelihood``, ``weight``,
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
            errors = [
                error_rate(scores[rows], trials.held_out_codes[rows])
                for scores in trials.candidate_scores
            ]
            table[f"split{fold}_test_score"] = 1 - np.array(errors)
        table["mean_test_score"] = 1 - self.errors
        table["log_likelihood"] = self.log_likelihood
        table["share_log_likelihood"] = self.share_log_likelihood
        table["weight"] = self.weights
        order = np.argsort(-self.weights, kind="stable")
        table["rank_test_score"] = np.argsort(order, kind="stable") + 1
        return table


def choose(
    trials: Trials,
    label_counts: IntArray,
    max_blended: int | None = None,
    class_weight: Sequence[float] | None = None,
) -> Choice:
    """Return the weights of the candidates by Bayes' rule.

    The weight of candidate m is proportional to its prior times ``exp(a_m + b_m)``.

    - Prior: one half for supervised candidates, and one half for those that use unlabeled rows,
      evenly within both.
    - ``a_m = sum_i log p_m(y_i)`` over the held-out labels. The probabilities are those of the
      candidate trained without label i, calibrated with one sharpness for all of them.
    - ``b_m = sum_k n_k log(s_k / (n_k / n))``, but at least -3: the class counts n_k of the labels
      should look like a sample of the classes that the candidate assigns to all rows, in shares
      s_k. Assigning all rows to one class is a frequent failure of graphs (and of SVMs) with few
      labels, and visible here even if no label can be held out.

    Parameters
    ----------
    trials : Trials
    label_counts : array of shape (c,)
    max_blended : int, default=None
        Largest number of candidates in the blend, which has the most likely ones with 90 % of the
        weight of all.
    class_weight : sequence of c floats > 0, default=None
        Factors of the log-likelihood of the labels of each class, in units of their mean over all
        held-out labels.

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
    weights[order[max_blended:] if max_blended is not None else []] = 0.0
    return Choice(
        trials, label_counts, label_log_likelihood, share_log_likelihood, weights / weights.sum()
    )


def error_rate(scores: FloatArray, given: IntArray) -> float:
    """Return the share of wrong labels, nan if there is no label."""
    if not len(given):
        return float("nan")
    return float((predicted_codes(scores) != given).mean())


def majority_error(codes: IntArray) -> float:
    """Return the error rate of predicting the most frequent class for all labels, or nan.

    Examples
    --------
    >>> majority_error(np.array([0, 0, 1, 0]))
    0.25
    """
    return float((codes != np.bincount(codes).argmax()).mean()) if len(codes) else float("nan")


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
    """Return the log-likelihood of each held-out label, with one sharpness fitted to all."""
    if not len(given):
        return np.zeros(0)
    P = probabilities(scores, fit_sharpness(scores, np.eye(n_classes)[given]))
    return np.log(np.maximum(P[np.arange(len(given)), given], 1e-9))


def _share_log_likelihood(shares: FloatArray, counts: IntArray) -> FloatArray:
    used = counts > 0
    label_shares = counts[used] / counts.sum()
    evidence = (counts[used] * np.log(shares[:, used] / label_shares)).sum(axis=1)
    return np.asarray(np.maximum(evidence, -MAX_SHARE_EVIDENCE))
