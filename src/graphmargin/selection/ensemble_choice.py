"""The weights of families of classifiers, by held-out labels and by what the graph supports.

`python -m benchmarks.ensemble_rules` compares this rule with others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from scipy.special import softmax

from graphmargin._html import html_table
from graphmargin._typing import FloatArray, IntArray
from graphmargin.selection.choice import Choice, error_rate
from graphmargin.selection.families import (
    CLUSTERS,
    CUT,
    HARMONIC,
    LABELS_ALONE,
    PLANE,
    TriedFamily,
)
from graphmargin.selection.tasks import blend_members, normalize_to_priors
from graphmargin.selection.trials import labels_of_other_folds

TEMPER = 1 / 3
"""Factor of the evidence: held-out labels of a fold are predicted by the same classifier, and the
blends of all families come from the same labels, so that differences look larger than they are."""
AGREEMENT_LIMITS = (0.85, 0.95)
"""Agreement along the edges from which on, and up to which, the prior of clusters grows."""
CLUSTER_EVIDENCE = 1.0
"""Largest logarithm of the prior of families that assume clusters, relative to other families."""
MIN_RELATIVE_WEIGHT = 0.1
"""Weight, relative to the largest, below which a family is left out and not fitted on all rows."""


@dataclass(frozen=True)
class EnsembleChoice:
    """The weights of the families of an ensemble, and the evidence behind them.

    Attributes
    ----------
    names, assumptions : tuple of str
        Names of the families, and what each assumes about the classes.
    metrics : tuple of str
        Name of the metric of each family; that of arrays is always "all columns".
    choices : tuple of Choice
        The choice of each family among its own candidates.
    weights : array of shape (m,)
        Weights of the families, which sum to one; 0 for those that are left out.
    log_prior : array of shape (m,)
        Logarithms of the priors of the families, see `cluster_log_prior`, with those of their
        metrics. Both are 0 unless there is a reason for another prior.
    label_log_likelihood : array of shape (m, h)
        Log-likelihood of every held-out label by the blend of each family, in nats.
    held_out_probabilities : array of shape (h, c)
        Class probabilities of the held-out labels, with weights of families from other folds.
    held_out_codes, held_out_fold : arrays of shape (h,)
    held_out_rows : array of shape (h,) or None
        Numbers of their rows; None for a validation set.

    Examples
    --------
    >>> from graphmargin import SemiSupervisedEnsemble
    >>> from graphmargin.datasets import load_digits, mask_labels
    >>> X, y = load_digits()
    >>> few = mask_labels(y[:300], per_class=5, random_state=0)
    >>> choice = SemiSupervisedEnsemble(random_state=0).fit(X[:300], few).choice_
    >>> choice.names
    ('cut', 'harmonic', 'low-density', 'linear-low-density', 'linear-supervised')
    >>> round(float(choice.weights.sum()), 9)
    1.0
    """

    names: tuple[str, ...]
    assumptions: tuple[str, ...]
    metrics: tuple[str, ...]
    choices: tuple[Choice, ...]
    weights: FloatArray
    log_prior: FloatArray
    label_log_likelihood: FloatArray
    held_out_probabilities: FloatArray
    held_out_codes: IntArray
    held_out_fold: IntArray
    held_out_rows: IntArray | None

    @property
    def is_tested(self) -> bool:
        """True if some label was held out."""
        return len(self.held_out_codes) > 0

    @property
    def error(self) -> float:
        """Share of the held-out labels that the ensemble gets wrong; nan if none was held out."""
        return error_rate(self.held_out_probabilities, self.held_out_codes)

    @property
    def assumption_weights(self) -> dict[str, float]:
        """Weight of each assumption, the heaviest first.

        Candidates of a family that do not learn from unlabeled rows assume nothing about them; a
        plane is an assumption about the classes all the same.
        """
        weights: dict[str, float] = {}
        for assumption, choice, weight in zip(
            self.assumptions, self.choices, self.weights, strict=True
        ):
            supervised = 0.0 if assumption == PLANE else weight * choice.supervised_weight
            weights[assumption] = weights.get(assumption, 0.0) + weight - supervised
            weights[LABELS_ALONE] = weights.get(LABELS_ALONE, 0.0) + supervised
        return dict(sorted(weights.items(), key=lambda item: -item[1]))

    @property
    def metric_weights(self) -> dict[str, float]:
        """Weight of each metric, the heaviest first; of equal ones, that of the first family."""
        weights = dict.fromkeys(self.metrics, 0.0)
        for metric, weight in zip(self.metrics, self.weights.tolist(), strict=True):
            weights[metric] += weight
        return dict(sorted(weights.items(), key=lambda item: -item[1]))

    @property
    def heaviest_metric(self) -> str:
        """Name of the metric with the largest weight."""
        return next(iter(self.metric_weights))

    @property
    def summary(self) -> str:
        """The assumptions that the labels support, in words."""
        parts = [f"{text}: {weight:.0%}" for text, weight in self.assumption_weights.items()]
        if not self.is_tested:
            return "no label could be held out, so that families count equally"
        return "; ".join(part for part in parts if not part.endswith(" 0%"))

    def __str__(self) -> str:
        """Return the summary, and a line for each family."""
        lines = [
            f"{name}: weight {weight}, {wrong} held-out labels are wrong, parameters {params}"
            for name, weight, wrong, params in self._rows()
        ]
        return "\n".join([self.summary, *lines])

    def _repr_html_(self) -> str:
        """Return the same content as an HTML table for notebooks."""
        header = ("family", "weight", "wrong held-out labels", "parameters")
        return html_table(self.summary, self._rows(), header=header)

    def _rows(self) -> list[tuple[str, str, str, str]]:
        """Return name, weight, errors and heaviest parameters of all families."""
        n = len(self.held_out_codes)
        return [
            (
                name,
                f"{weight:.0%}",
                f"{round(choice.error * n) if n else 0} of {n}",
                ", ".join(f"{key}={value!r}" for key, value in choice.best_params.items()),
            )
            for name, weight, choice in zip(self.names, self.weights, self.choices, strict=True)
        ]


def weigh(tried: Sequence[TriedFamily], of_families: Sequence[FloatArray]) -> EnsembleChoice:
    """Return the weights of families from the labels that all of them held out.

    `of_families` has the class probabilities of the held-out labels by each family.
    """
    choices = tuple(part.choice for part in tried)
    places = _common_places(choices)
    trials, first = choices[0].trials, places[0]
    codes, fold = trials.held_out_codes[first], trials.fold[first]
    rows = None if trials.held_out_rows is None else trials.held_out_rows[first]
    probabilities = np.array([P[place] for P, place in zip(of_families, places, strict=True)])
    evidence = np.log(np.maximum(probabilities[:, np.arange(len(codes)), codes], 1e-9))
    follows_clusters = np.array([part.family.assumption == CLUSTERS for part in tried])
    log_likelihood = evidence.sum(axis=1)
    bonus = cluster_log_prior(_edge_agreement(tried, log_likelihood))
    log_prior = np.where(follows_clusters & ~follows_clusters.all(), bonus, 0.0)
    log_prior += np.log([part.family.metric.prior for part in tried])
    weights = family_weights(log_likelihood, log_prior)
    mixture = np.zeros_like(probabilities[0])
    for number, used in labels_of_other_folds(fold, rows).items():
        others = family_weights(evidence[:, used].sum(axis=1), log_prior)
        mixture[fold == number] = np.tensordot(others, probabilities[:, fold == number], axes=1)
    return EnsembleChoice(
        names=tuple(part.family.name for part in tried),
        assumptions=tuple(part.family.assumption for part in tried),
        metrics=tuple(part.family.metric.name for part in tried),
        choices=choices,
        weights=weights,
        log_prior=log_prior,
        label_log_likelihood=evidence,
        held_out_probabilities=mixture,
        held_out_codes=codes,
        held_out_fold=fold,
        held_out_rows=rows,
    )


def family_weights(log_likelihood: FloatArray, log_prior: FloatArray | float = 0.0) -> FloatArray:
    """Return weights of families: prior times the cube root of the likelihood, normalized.

    A family with less than a tenth of the largest weight gets 0.

    Examples
    --------
    >>> family_weights(np.array([-2.0, -4.0, -20.0])).round(2).tolist()
    [0.66, 0.34, 0.0]
    """
    weights = softmax(TEMPER * np.asarray(log_likelihood) + log_prior)
    weights[weights < MIN_RELATIVE_WEIGHT * weights.max()] = 0.0
    return np.asarray(weights / weights.sum())


def cluster_log_prior(agreement: float) -> float:
    """Return the logarithm of the prior of families that assume clusters, relative to others.

    Where labels that the graph induces hardly ever differ along its edges, classes follow clusters
    more often than not. The largest prior counts as much as a likelihood of the held-out labels
    that is 20 times as large.

    Parameters
    ----------
    agreement : float
        Share of the edges whose ends get the same label, corrected for chance.

    Examples
    --------
    >>> [round(cluster_log_prior(agreement), 2) for agreement in (0.8, 0.9, 1.0)]
    [0.0, 0.5, 1.0]
    """
    low, high = AGREEMENT_LIMITS
    return CLUSTER_EVIDENCE * min(max((agreement - low) / (high - low), 0.0), 1.0)


def edge_agreement(W: Any, codes: IntArray) -> float:
    """Return the share of edges whose ends have the same label, corrected for chance (kappa).

    Edges of vertices without a label do not count. It is 0 if there is one label only.

    Examples
    --------
    >>> from scipy import sparse
    >>> W = sparse.csr_array(np.ones((4, 4)) - np.eye(4))
    >>> round(edge_agreement(W, np.array([0, 0, 1, 1])), 2)
    -0.33
    """
    edges = W.tocoo()
    first, second = codes[edges.row], codes[edges.col]
    counts = (first >= 0) & (second >= 0)
    labels = codes[codes >= 0]
    if not counts.any():
        return 0.0
    shares = np.bincount(labels) / len(labels)
    by_chance = float((shares**2).sum())
    same = float((first == second)[counts].mean())
    return (same - by_chance) / (1 - by_chance) if by_chance < 1 else 0.0


def _edge_agreement(tried: Sequence[TriedFamily], log_likelihood: FloatArray) -> float:
    """Return the agreement of the harmonic solution that the labels support best, 0 without any."""
    ranked = [
        tried[i]
        for i in np.argsort(-log_likelihood, kind="stable")
        if tried[i].family.parameters[0].graph is not None
    ]
    with_graph = [
        part for method in (HARMONIC, CUT) for part in ranked if part.family.method == method
    ]
    members = [m for part in with_graph for m in blend_members(part.trials, part.choice)]
    for member in members:
        solution = member.trials.solutions.get(float(member.candidate["gamma_g"]))
        if solution is not None:
            priors = member.candidate["class_mass_normalization"]
            normalized = normalize_to_priors(solution, priors)
            return edge_agreement(solution.problem.W, normalized.codes)
    return 0.0


def _common_places(choices: Sequence[Choice]) -> list[IntArray]:
    """Return, for each family, the places of the labels that all families held out.

    Of many labels, families may sample different ones.
    """
    held_out = [(choice.trials.fold, choice.trials.held_out_rows) for choice in choices]
    known = [(fold, rows) for fold, rows in held_out if rows is not None]
    if not known:  # a validation set, which is the same for all families
        return [np.arange(len(fold)) for fold, _ in held_out]
    n_rows = max(int(rows.max(initial=0)) for _, rows in known) + 1
    keys = [fold.astype(np.int64) * n_rows + rows for fold, rows in known]
    common = reduce(np.intersect1d, keys)
    places = []
    for key in keys:
        order = np.argsort(key, kind="stable")
        places.append(order[np.searchsorted(key[order], common)])
    return places
