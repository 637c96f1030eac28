"""The choice among alternatives: candidates of a method, or members of an ensemble.

With 2 to 20 labels, most candidates of a grid make the same number of errors on held-out labels,
and which of them comes first is a matter of chance. Here no single alternative is picked: all
credible ones are averaged, with weights by Bayes' rule (`weighing`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from graphmargin._html import html_table
from graphmargin._typing import BoolArray, FloatArray, IntArray
from graphmargin.harmonic.solution import spread_sink_mass
from graphmargin.margin.calibration import Calibration, fit_calibration
from graphmargin.margin.machine import predicted_codes
from graphmargin.margin.machine_part import log_graph_probabilities
from graphmargin.search.member import LABELS_ALONE, PLANE, Member
from graphmargin.search.predictor import least_costly_codes
from graphmargin.search.trials import Trials

MAX_WEIGHT_IF_HELPFUL = 1 / 3
"""Largest weight of supervised learning with the verdict that the graph helps."""
MIN_WEIGHT_IF_USELESS = 2 / 3
"""Smallest weight of supervised learning with the verdict that the graph does not help."""
GRAPH_HELPS, UNDECIDED = "graph helps", "undecided: both are averaged"


@dataclass(frozen=True)
class Choice:
    """The weights of alternatives, and the evidence behind them.

    The alternatives are the candidates of a method, or the members of an ensemble, each of which
    has a choice among its own candidates.

    Attributes
    ----------
    trials : Trials
        Predictions for the held-out labels; those of members are class probabilities.
    label_counts : array of shape (c,)
        Number of labels of each class.
    label_log_likelihood : array of shape (m, h)
        Log-likelihood of every held-out label, in nats; for candidates, times the weight of its
        class if classes have weights.
    share_log_likelihood : array of shape (m,)
        Log-likelihood of the label counts if labels are drawn at random from the classes that the
        candidate predicts, relative to the best possible; at least -3. Zero for members.
    weights : array of shape (m,)
        Weights, which sum to one; 0 for alternatives that are left out.
    fold_weights : dict from int to array of shape (m,)
        Weights for each fold, from labels that the fold does not hold out; `weights` for a single
        fold, such as a validation set.
    class_weight : tuple of float or None
        Weight of each class; None if all are one.
    member : Member or None
        The member whose candidates these are; None for a choice among members.
    parts : tuple of Choice
        The choices of all members among their candidates; empty for a choice among candidates.

    Examples
    --------
    >>> from graphmargin import MaxMarginGraphCut, SemiSupervisedEnsemble
    >>> from graphmargin.datasets import load_digits, mask_labels
    >>> X, y = load_digits()
    >>> few = mask_labels(y[:500], per_class=5, random_state=0)
    >>> choice = MaxMarginGraphCut(random_state=0).fit(X[:500], few).choice_
    >>> choice.best_params, len(choice.blended)
    ({'gamma_g': 10.0, 'C': 10.0, 'class_mass_normalization': False}, 4)
    >>> round(choice.error, 2), choice.verdict
    (0.1, 'graph helps')
    >>> choice = SemiSupervisedEnsemble(random_state=0).fit(X[:300], few[:300]).choice_
    >>> choice.names[:3], round(float(choice.weights.sum()), 9)
    (('cut', 'harmonic', 'low-density'), 1.0)
    """

    trials: Trials
    label_counts: IntArray
    label_log_likelihood: FloatArray
    share_log_likelihood: FloatArray
    weights: FloatArray
    fold_weights: dict[int, FloatArray]
    class_weight: tuple[float, ...] | None = None
    member: Member | None = None
    parts: tuple[Choice, ...] = ()

    @property
    def is_fixed(self) -> bool:
        """True if all parameters were fixed, so that nothing was tried."""
        return self.trials.is_untried

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the members."""
        return tuple(part.member.name for part in self.parts if part.member is not None)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The assumption of each member about the classes, or of the only one."""
        parts = self.parts or (self,)
        return tuple(part.member.method.assumption if part.member else "" for part in parts)

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
        """Weight of supervised learning in the blend, or in the blends of all members."""
        if self.parts:
            return float(self.weights @ [part.supervised_weight for part in self.parts])
        return float(self.weights[self.trials.supervised].sum())

    @property
    def log_likelihood(self) -> FloatArray:
        """Log-likelihood of all held-out labels, in nats; 0 if no label could be held out."""
        return np.asarray(self.label_log_likelihood.sum(axis=1))

    @cached_property
    def cross_fitted_scores(self) -> FloatArray:
        """Class scores of the held-out labels, each predicted by a blend that did not use it.

        The labels of a fold are predicted by a blend with its `fold_weights`.
        """
        scores = np.empty_like(self.trials.candidate_scores[0])
        for fold, weights in self.fold_weights.items():
            rows = self.trials.fold == fold
            scores[rows] = self.trials.scores(weights, rows)
        return scores

    @cached_property
    def log_graph(self) -> FloatArray | None:
        """Log-probabilities of the held-out labels by the graph alone, to be added to scores.

        They are those of the candidates in the blend that have some; None if there are none.
        """
        of_candidates = self.trials.graph_distributions
        used = [i for i, _ in self.blended if of_candidates and of_candidates[i] is not None]
        if not used or not self.is_tested:
            return None
        shares = self.weights[used] / self.weights[used].sum()
        return log_graph_probabilities(
            np.tensordot(shares, [of_candidates[i] for i in used], axes=1)
        )

    @cached_property
    def calibration(self) -> Calibration:
        """Calibration of the scores of the blend, fitted to its held-out labels."""
        targets = np.eye(len(self.label_counts))[self.trials.held_out_codes]
        if self.trials.columns == "masses":  # which do not depend on class weights
            return fit_calibration(self.cross_fitted_scores, targets)
        calibration = fit_calibration(
            self.cross_fitted_scores, targets, self.log_graph, self.class_weight
        )
        return replace(calibration, pair_scales=self.weights @ self.trials.pair_scales)

    @cached_property
    def calibrated_scores(self) -> FloatArray:
        """Scores of the held-out labels, with those of the graph by the weight of `calibration`."""
        if self.log_graph is None:
            return self.cross_fitted_scores
        return self.cross_fitted_scores + self.calibration.graph_weight * self.log_graph

    @property
    def calibrated_probabilities(self) -> FloatArray:
        """Calibrated class probabilities of the held-out labels, by which members are weighed."""
        if not self.is_tested:
            return np.zeros((0, len(self.label_counts)))
        return self.calibration.probabilities(self.calibrated_scores)

    @property
    def held_out_probabilities(self) -> FloatArray:
        """Class probabilities of the held-out labels, by blends that have not seen them.

        Scores of pairs of classes are calibrated. Class masses are averaged as they are, and what
        they lack to one is spread evenly.
        """
        if self.trials.columns == "pairs":
            return self.calibrated_probabilities
        trials = self.trials
        distributions = np.zeros(trials.held_out_values.shape[1:])
        for fold, weights in self.fold_weights.items():
            rows = trials.fold == fold
            mass = np.tensordot(weights, trials.held_out_values[:, rows], axes=1)
            distributions[rows] = spread_sink_mass(mass / (weights / trials.scales).sum())
        return distributions

    @property
    def uniform_share(self) -> float:
        """Share of the uniform distribution in the probabilities, by their calibration."""
        if self.parts:
            return float(self.weights @ [part.calibration.uniform_share for part in self.parts])
        return self.calibration.uniform_share if self.trials.columns == "pairs" else 0.0

    @property
    def weighted_codes(self) -> IntArray | None:
        """Predicted classes of the held-out labels if classes have weights that matter, or None."""
        if self.class_weight is None:
            return None
        if self.parts:
            return least_costly_codes(self.held_out_probabilities, np.asarray(self.class_weight))
        if self.trials.columns == "pairs" and self.calibration.offsets.any():
            return predicted_codes(self.calibrated_scores)
        return None

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
    def assumption_weights(self) -> dict[str, float]:
        """Weight of each assumption of the members, or of the only one, the heaviest first.

        Candidates of a member that do not learn from unlabeled rows assume nothing about them; a
        plane is an assumption about the classes all the same.
        """
        weights: dict[str, float] = {}
        parts, shares = (self.parts, self.weights.tolist()) if self.parts else ((self,), [1.0])
        for part, assumption, weight in zip(parts, self.assumptions, shares, strict=True):
            supervised = 0.0 if assumption == PLANE else weight * part.supervised_weight
            weights[assumption] = weights.get(assumption, 0.0) + weight - supervised
            weights[LABELS_ALONE] = weights.get(LABELS_ALONE, 0.0) + supervised
        return dict(sorted(weights.items(), key=lambda item: -item[1]))

    @property
    def summary(self) -> str:
        """The assumptions of the members that the labels support, in words."""
        if not self.is_tested:
            manner = "equally" if len(set(self.weights.tolist())) == 1 else "by their priors"
            return f"no label could be held out, so that members count {manner}"
        parts = [f"{text}: {weight:.0%}" for text, weight in self.assumption_weights.items()]
        return "; ".join(part for part in parts if not part.endswith(" 0%"))

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
        """Return the verdict or the summary, and a line for each alternative."""
        lines = [
            f"{name}: weight {weight}, {wrong} held-out labels are wrong"
            for name, weight, wrong in self._rows()
        ]
        return "\n".join([self._headline, *lines])

    def _repr_html_(self) -> str:
        """Return the same content as an HTML table for notebooks."""
        header = ("member" if self.parts else "candidate", "weight", "wrong held-out labels")
        return html_table(self._headline, self._rows(), header=header)

    @property
    def _headline(self) -> str:
        if self.parts:
            return self.summary
        blend = f"{len(self.blended)} of {len(self.weights)} candidates are blended"
        return f"{self.verdict} ({self.reason}); {blend}"

    def _rows(self) -> list[tuple[str, str, str]]:
        """Return name, weight and errors of all members, or of the candidates in the blend."""
        n = len(self.trials.held_out_codes)
        shown = range(len(self.parts)) if self.parts else [i for i, _ in self.blended]
        return [
            (
                f"{self.names[i]} ({_text(self.parts[i].best_params)})"
                if self.parts
                else _text(self.trials.params[i]),
                f"{self.weights[i]:.1%}",
                f"{round(self.errors[i] * n) if n else 0} of {n}",
            )
            for i in shown
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


def _text(params: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in params.items())
