"""Candidates that use the graph against those that do not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphmargin._typing import BoolArray
from graphmargin.selection.choice import Choice

HELPS = 1 / 3
"""Weight of supervised learning up to which the graph is said to help."""
DOES_NOT_HELP = 2 / 3
"""Weight of supervised learning from which on it is said to be chosen."""


@dataclass(frozen=True)
class Comparison:
    """How candidates that use the graph did against supervised learning.

    Attributes
    ----------
    supervised_share : float
        Weight of supervised learning in the blend.
    n_hidden : int
        Labels that were hidden to test the candidates.
    n_graph, n_supervised : int
        Candidates of both kinds.
    graph_error, supervised_error : float or None
        Share of the hidden labels that the best candidate of each kind gets wrong, which is
        optimistic where candidates are many; None if there is no candidate or no hidden label.
    """

    supervised_share: float
    n_hidden: int
    n_graph: int
    n_supervised: int
    graph_error: float | None
    supervised_error: float | None

    @property
    def verdict(self) -> str:
        """Whether the graph helps, by `supervised_share`: up to 1/3, from 2/3 on, or between.

        "not compared" unless there are candidates of both kinds and hidden labels: else the
        weights are those of priors and class shares.
        """
        if not (self.n_graph and self.n_supervised and self.n_hidden):
            return "not compared"
        if self.supervised_share <= HELPS:
            return "graph helps"
        if self.supervised_share >= DOES_NOT_HELP:
            return "graph does not help: supervised learning chosen"
        return "undecided: both are averaged"

    def __str__(self) -> str:
        """Return the numbers behind the verdict."""
        if not self.n_supervised:
            return "no supervised candidate was tried"
        if not self.n_graph:
            return "no candidate with a graph was tried"
        weight = f"supervised learning has {self.supervised_share:.1%} of the weight"
        if self.graph_error is None or self.supervised_error is None:
            return f"with one label a class nothing can be tested; {weight}"
        graph, supervised = (
            f"{round(error * self.n_hidden)} of {self.n_hidden}"
            for error in (self.graph_error, self.supervised_error)
        )
        return (
            f"{weight}; hidden labels wrong: {graph} with the best of {self.n_graph} with a graph, "
            f"{supervised} with the best of {self.n_supervised} without"
        )


def compare(choice: Choice) -> Comparison:
    """Return how candidates with a graph did against those without.

    Examples
    --------
    >>> from graphmargin.selection.choice import Trials, choose
    >>> trials = Trials(
    ...     params=[{"gamma_g": np.inf}, {"gamma_g": 0.1}],
    ...     supervised=np.array([True, False]),
    ...     given=np.array([0, 1, 0, 1]),
    ...     fold=np.array([0, 0, 1, 1]),
    ...     held_out=np.array([[[1.0], [-1], [-1], [1]], [[-1.0], [1], [-1], [1]]]),
    ...     scales=np.ones(2),
    ...     shares=np.full((2, 2), 0.5),
    ...     decide=lambda columns: columns[:, 0],
    ... )
    >>> found = compare(choose(trials, np.array([2, 2])))
    >>> found.verdict, found.graph_error, found.supervised_error
    ('graph helps', 0.0, 0.5)
    """
    supervised = choice.trials.supervised
    n_hidden = len(choice.trials.given)
    errors = choice.errors if n_hidden else np.zeros(0)

    def best(kind: BoolArray) -> float | None:
        return float(errors[kind].min()) if n_hidden and kind.any() else None

    return Comparison(
        supervised_share=choice.supervised_share,
        n_hidden=n_hidden,
        n_graph=int(np.count_nonzero(~supervised)),
        n_supervised=int(np.count_nonzero(supervised)),
        graph_error=best(~supervised),
        supervised_error=best(supervised),
    )
