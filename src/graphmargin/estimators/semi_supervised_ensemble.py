"""The ensemble of classifiers with different assumptions about unlabeled rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sklearn.utils.validation import check_is_fitted

from graphmargin.estimators.base import SemiSupervisedClassifier
from graphmargin.labels import EncodedLabels
from graphmargin.methods import default_members, member_names, named_member
from graphmargin.search.member import Member, Method
from graphmargin.search.parameters import is_auto, is_list, is_pairwise

OF_ENSEMBLE = ("class_weight", "cv", "n_jobs", "random_state", "verbose")
"""Parameters that an ensemble has for all of its members."""


class SemiSupervisedEnsemble(SemiSupervisedClassifier):
    """Mixture of classifiers with different assumptions, weighed by held-out labels.

    Nobody knows beforehand whether classes follow clusters, are separated by a gap in the density
    or by a plane. Each member bets on one of these assumptions and chooses its own parameters. All
    of them are tested on the same held-out labels. The weight of a member is proportional to the
    cube root of the likelihood that it gives to these labels, and the class probabilities of the
    members are averaged with these weights. docs/league.md compares it with each member on 33 data
    sets.

    Parameters
    ----------
    members : "auto" or list, default="auto"
        Names of methods ("cut", "linear-cut", "harmonic", "low-density", "linear-low-density",
        "manifold", "linear-manifold", "supervised", "linear-supervised"), classifiers of
        graphmargin, whose lists of candidates and "auto" are tried, or a
        `graphmargin.search.Method` or `graphmargin.search.Member` of your own. "auto" has the
        members of the best ensemble on the league: "cut", "low-density", "linear-low-density",
        "linear-supervised" and, for up to 16 million entries, "harmonic". Where no label can be
        held out, "cut" and "harmonic" count alone.
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
    choice_ : Choice
        The weights of the members and the evidence behind them. Print it for a line each.
    predictor_ : Predictor
        The data that predictions need, with a part for each member that was not left out.
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

    def __init__(
        self,
        *,
        members: Any = "auto",
        class_weight: Any = None,
        cv: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.members = members
        self.class_weight = class_weight
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def report(self) -> str:
        """Return which assumptions the labels support, in words.

        Examples
        --------
        >>> from graphmargin.datasets import make_lattices
        >>> X, y, _, _ = make_lattices()
        >>> print(SemiSupervisedEnsemble().fit(X, y).report())
        no label could be held out, so that members count equally
        """
        check_is_fitted(self)
        return "" if self.choice_ is None else self.choice_.summary

    def _members(
        self,
        X: Any,
        labels: EncodedLabels,
        *,
        has_graph: bool,  # noqa: ARG002
    ) -> list[Member]:
        given = default_members(*X.shape) if is_auto(self.members) else self.members
        if not is_list(given) or not len(given):
            msg = (
                f"`members` must be 'auto' or a list of names and classifiers, got "
                f"{self.members!r}; names are {', '.join(member_names())}"
            )
            raise ValueError(msg)
        return _with_distinct_names([_member(entry, labels) for entry in given])

    def _has_choice(self) -> bool:
        return True  # the members


def _member(entry: Any, labels: EncodedLabels) -> Member:
    """Return a member from its name, a classifier, a method or a member."""
    if isinstance(entry, Member):
        return entry
    if isinstance(entry, str):
        return named_member(entry, labels)
    if isinstance(entry, Method):
        return Member(type(entry).__name__, entry)
    if not isinstance(entry, SemiSupervisedClassifier) or not hasattr(entry, "method"):
        msg = (
            "`members` must have names, classifiers of graphmargin, or objects of "
            f"graphmargin.search.Method, got {entry!r}"
        )
        raise ValueError(msg)
    defaults = type(entry)().get_params(deep=False)
    given = entry.get_params(deep=False)
    for name in OF_ENSEMBLE:
        if name in given and given[name] is not defaults[name]:
            msg = f"`{name}`={given[name]!r} of a member is not used; pass it to the ensemble"
            raise ValueError(msg)
    if is_pairwise(given.get("kernel")) or given.get("affinity") == "precomputed":
        msg = f"`members` must not have a precomputed kernel or graph, got {entry!r}"
        raise ValueError(msg)
    return Member(type(entry).__name__, entry.method(labels))


def _with_distinct_names(members: Sequence[Member]) -> list[Member]:
    """Return members with a number behind names that occur several times."""
    names = [member.name for member in members]
    return [
        member
        if names.count(member.name) == 1
        else replace(member, name=f"{member.name}-{names[:i].count(member.name) + 1}")
        for i, member in enumerate(members)
    ]
