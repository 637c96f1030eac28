"""What classifiers with parameters to be chosen share: "auto", and grids."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from graphmargin._checks import check_real
from graphmargin.estimators.base import PartlyLabeledClassifier
from graphmargin.harmonic.problem import check_gamma_g
from graphmargin.labels import EncodedLabels
from graphmargin.margin.manifold import check_gamma_u
from graphmargin.selection.choice import Choice, Trials, choose
from graphmargin.selection.grids import Hidden, default_folds, is_auto, label_counts

CHECKS: dict[str, Callable[[Any], float]] = {
    "C": partial(check_real, "C", positive=True, hint="; C = 1 / (2 gamma)"),
    "gamma_g": check_gamma_g,
    "gamma_u": check_gamma_u,
}
"""Of values in grids."""


@dataclass(frozen=True)
class Search:
    """Candidates that have been tried, and how to go on once they have weights."""

    trials: Trials
    finish: Callable[[Choice], None]
    """Fits the blend of the candidates."""
    most: int | None = None
    """Number of candidates that are blended, at most."""


class ChoosingClassifier(PartlyLabeledClassifier):
    """Base of classifiers that can choose the values of some parameters.

    A subclass names them in `tuned_parameters`, in `searched_parameters` all those whose
    candidates share work, and tries candidates in `_search`.

    Attributes
    ----------
    choice_ : Choice
        Set if parameters were chosen: candidates, what speaks for each, and their weights.
    """

    tuned_parameters: ClassVar[tuple[str, ...]]
    searched_parameters: ClassVar[tuple[str, ...]]
    choice_: Choice

    def _validate(self, X: Any, y: Any) -> tuple[Any, EncodedLabels]:
        if hasattr(self, "choice_"):
            del self.choice_
        return super()._validate(X, y)

    def _is_to_choose(self) -> bool:
        """Tell whether the main parameters leave something to choose."""
        return any(is_auto(getattr(self, name)) for name in self.tuned_parameters)

    def _grid(self, grid: Mapping[str, Sequence[Any]], **auto: Sequence[Any]) -> dict[str, Any]:
        """Return the values to try: those of a grid, the parameter, or what "auto" stands for."""
        found: dict[str, Any] = {}
        for name, values in auto.items():
            own = getattr(self, name)
            found[name] = list(grid.get(name, values if is_auto(own) else [own]))
            for value in found[name]:
                if name in CHECKS:
                    CHECKS[name](value)
        return found

    def _choose(self, X: Any, labels: EncodedLabels, W: Any = None) -> None:
        """Fit the blend of the default candidates, by the default folds."""
        hidden = default_folds(labels.codes, self._seed())
        search = self._search(X, labels, W, {}, hidden)
        search.finish(choose(search.trials, label_counts(labels), search.most))

    def _check_parameters(self, X: Any, W: Any) -> None:
        """Refuse parameters that make no sense for the rows X and the graph W."""
        raise NotImplementedError

    def _search(
        self,
        X: Any,
        labels: EncodedLabels,
        W: Any,
        grid: Mapping[str, Sequence[Any]],
        hidden: Hidden,
    ) -> Search:
        """Try all candidates on validated rows."""
        raise NotImplementedError

    def _seed(self) -> Any:
        """Return the seed of folds and samples: the same for every fit unless one is given."""
        return 0 if self.random_state is None else self.random_state
