"""The ensemble of classifiers with different assumptions about unlabeled rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy.typing as npt

from graphmargin.estimators.base import SemiSupervisedClassifier
from graphmargin.estimators.harmonic_classifier import HarmonicClassifier
from graphmargin.estimators.manifold_svc import ManifoldSVC
from graphmargin.estimators.max_margin_graph_cut import MaxMarginGraphCut
from graphmargin.estimators.semi_supervised_svc import SemiSupervisedSVC
from graphmargin.estimators.supervised_svc import SupervisedSVC
from graphmargin.labels import EncodedLabels
from graphmargin.margin.class_weights import class_weights
from graphmargin.margin.mixture_predictor import MixturePredictor
from graphmargin.selection.ensemble import fit_ensemble
from graphmargin.selection.ensemble_choice import EnsembleChoice
from graphmargin.selection.execution import Execution
from graphmargin.selection.families import (
    CLUSTERS,
    CUT,
    DENSITY_GAP,
    FAMILY_NAMES,
    HARMONIC,
    LABELS_ALONE,
    LOW_DENSITY,
    MANIFOLD,
    PLANE,
    SMOOTH,
    Family,
    Method,
    default_families,
    named_family,
)
from graphmargin.selection.parameters import is_auto, is_pairwise, read_parameters

METHODS: dict[type[SemiSupervisedClassifier], tuple[Method, str]] = {
    MaxMarginGraphCut: (CUT, CLUSTERS),
    HarmonicClassifier: (HARMONIC, CLUSTERS),
    SemiSupervisedSVC: (LOW_DENSITY, DENSITY_GAP),
    ManifoldSVC: (MANIFOLD, SMOOTH),
    SupervisedSVC: (CUT, LABELS_ALONE),
}
"""Method and assumption of each classifier that can be a family of an ensemble."""


class SemiSupervisedEnsemble(SemiSupervisedClassifier):
    """Mixture of classifiers with different assumptions, weighed by held-out labels.

    Nobody knows beforehand whether classes follow clusters, are separated by a gap in the density
    or by a plane. Each family of classifiers bets on one of these assumptions and chooses its own
    parameters. All of them are tested on the same held-out labels. The weight of a family is
    proportional to the cube root of the likelihood that it gives to these labels, and the class
    probabilities of the families are averaged with these weights. docs/league.md compares it with
    each family on 33 data sets.

    Parameters
    ----------
    families : "auto" or list, default="auto"
        Names of families ("cut", "linear-cut", "harmonic", "low-density", "linear-low-density",
        "manifold", "supervised", "linear-supervised"), or classifiers of graphmargin, whose lists
        of candidates and "auto" are tried. "auto" has the families of the best ensemble on the
        league: "cut", "low-density", "linear-low-density", "linear-supervised" and, for up to 16
        million entries, "harmonic". Where no label can be held out, "cut" and "harmonic" count
        alone.
    class_weight : None, "balanced" or dict from class to float, default=None
        Costs of errors: the label is the class with the largest product of cost and probability.
    cv : default=None
        Labels that are held out, as in `MaxMarginGraphCut`.
    n_jobs, random_state, verbose
        As in `MaxMarginGraphCut`.

    Attributes
    ----------
    classes_ : array of shape (c,)
    transduction_ : array of shape (n,)
        The given labels, and predictions for the other rows.
    label_distributions_ : array of shape (n, c)
        Class probabilities of the training rows.
    confidence_ : array of shape (n,)
        Probability of every label.
    choice_ : EnsembleChoice
        The weights of the families and the evidence behind them. Print it for a line each.
    members_ : dict from str to FittedClassifier
        The fitted families that were not left out, the heaviest first.
    predictor_ : MixturePredictor
        The data that predictions need.
    held_out_, accuracy_
        As in `MaxMarginGraphCut`.

    Examples
    --------
    >>> from graphmargin.datasets import load_digits, mask_labels
    >>> X, y = load_digits()
    >>> few = mask_labels(y[:500], per_class=5, random_state=0)
    >>> model = SemiSupervisedEnsemble(random_state=0).fit(X[:500], few)
    >>> bool(model.score(X[500:], y[500:]) > 0.85)
    True
    >>> model.choice_.names
    ('cut', 'harmonic', 'low-density', 'linear-low-density', 'linear-supervised')
    """

    predictor_: MixturePredictor
    choice_: EnsembleChoice

    def __init__(
        self,
        *,
        families: Any = "auto",
        class_weight: Any = None,
        cv: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.families = families
        self.class_weight = class_weight
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: npt.ArrayLike) -> SemiSupervisedEnsemble:
        """Try all families on the same held-out labels, and fit those that they support.

        Parameters
        ----------
        X : array, DataFrame or CSR matrix of shape (n, d)
        y : array-like of shape (n,)
            Labels; unlabeled is -1, None, NaN, pandas.NA or "".
        """
        X, labels = self._validate(X, y)
        families = self._families(X, labels)
        execution = Execution.from_estimator(self)
        held_out = self._held_out_labels(X, y, labels, execution)
        fitted = fit_ensemble(X, labels, families, held_out, execution)
        self.members_ = fitted.members
        self._keep(fitted)
        return self

    def report(self) -> str:
        """Return which assumptions the labels support, in words.

        Examples
        --------
        >>> from graphmargin.datasets import make_lattices
        >>> X, y, _, _ = make_lattices()
        >>> print(SemiSupervisedEnsemble().fit(X, y).report())
        no label could be held out, so that families count equally
        """
        return self.choice_.summary

    def _families(self, X: Any, labels: EncodedLabels) -> list[Family]:
        """Return the families with their parameters, all with the costs of the ensemble."""
        given: Sequence[Any] = (
            default_families(*X.shape) if is_auto(self.families) else self.families
        )
        if isinstance(given, str) or not len(given):
            msg = (
                f"`families` must be 'auto' or a list of names and classifiers, got "
                f"{self.families!r}; names are {', '.join(FAMILY_NAMES)}"
            )
            raise ValueError(msg)
        counts = labels.one_hot.sum(axis=0)
        costs = class_weights(self.class_weight, labels.classes, counts)
        families = []
        for entry in given:
            if isinstance(entry, str):
                family = named_family(entry, labels)
            else:
                family = self._family_of(entry, labels)
            families.append(family.with_costs(costs))
        return _with_distinct_names(families)

    def _family_of(self, model: Any, labels: EncodedLabels) -> Family:
        """Return the family of a classifier of graphmargin."""
        if type(model) not in METHODS:
            names = ", ".join(kind.__name__ for kind in METHODS)
            msg = f"`families` must have names, or classifiers of {names}, got {model!r}"
            raise ValueError(msg)
        kernel = getattr(model, "kernel", "rbf")
        if is_pairwise(kernel) or getattr(model, "affinity", "knn") == "precomputed":
            msg = f"`families` must not have a precomputed kernel or graph, got {model!r}"
            raise ValueError(msg)
        method, assumption = METHODS[type(model)]
        return Family(
            name=type(model).__name__,
            assumption=PLANE if kernel == "linear" else assumption,
            method=method,
            parameters=read_parameters(model, labels),
        )


def _with_distinct_names(families: Sequence[Family]) -> list[Family]:
    """Return families with a number behind names that occur several times."""
    names = [family.name for family in families]
    return [
        family
        if names.count(family.name) == 1
        else replace(family, name=f"{family.name}-{names[:i].count(family.name) + 1}")
        for i, family in enumerate(families)
    ]
