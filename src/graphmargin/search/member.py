"""Members of a search: a method, a view of the rows and a prior; and their fits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from scipy import sparse

from graphmargin._checks import check_real
from graphmargin._rows import MAGNITUDES
from graphmargin._typing import FloatArray, IntArray, ProgressCallback
from graphmargin.labels import EncodedLabels

if TYPE_CHECKING:  # these modules need members
    from graphmargin.search.choice import Choice
    from graphmargin.search.data import TrainingData
    from graphmargin.search.execution import FitWarning
    from graphmargin.search.predictor import Part
    from graphmargin.search.trials import Trials

Candidate = dict[str, Any]
"""Values of parameters, by name."""

CLUSTERS = "classes follow clusters"
DENSITY_GAP = "classes are separated by a gap in the density"
PLANE = "classes are separated by a plane"
SMOOTH = "classes change slowly along the graph"
LABELS_ALONE = "labels alone tell the classes"


class Method(ABC):
    """A way to learn from a few labels: its parameters, candidates, their trials, and the fit.

    A method is a frozen dataclass of its parameters. Values to try are tuples, and None stands for
    "auto". CONTRIBUTING.md shows how to add one.

    Examples
    --------
    >>> from graphmargin.methods import Supervised
    >>> method = Supervised.auto(None, "rbf")
    >>> isinstance(method, Method), method.assumption
    (True, 'labels alone tell the classes')
    """

    @property
    def needs_held_out(self) -> bool:
        """True if an ensemble leaves the method out when no label can be held out.

        Nothing then shows that its assumption is wrong.
        """
        return False

    def on_given_graph(self) -> Self:
        """Return the method with the graph that is given to `fit`; it may not use any."""
        return self

    @classmethod
    def auto(cls, labels: EncodedLabels, kernel: Literal["rbf", "linear"]) -> Self:  # noqa: ARG003
        """Return the method by its name in `graphmargin.methods.METHODS`: all is chosen.

        By default, this is the method without arguments. `kernel` is for methods that have a field
        of this name.
        """
        return cls()

    @property
    @abstractmethod
    def assumption(self) -> str:
        """Assumption of the method about the classes, as a sentence without a period."""

    @abstractmethod
    def candidates(self, data: TrainingData) -> list[Candidate]:
        """Return the candidates to try; a single one if all parameters are fixed."""

    @abstractmethod
    def try_(
        self, data: TrainingData, candidates: list[Candidate], progress: ProgressCallback | None
    ) -> Trials:
        """Return the predictions of all candidates for the held-out labels."""

    @abstractmethod
    def fit(self, data: TrainingData, choice: Choice) -> FittedMember:
        """Return the blend of the chosen candidates, fitted on all rows."""


@dataclass(frozen=True, eq=False)
class View:
    """The rows as a method sees them: as given, or with features multiplied by factors.

    Members under the same view share graphs, kernels and harmonic solutions.

    Attributes
    ----------
    name : str
    factors : array of shape (d,) or None
        The factor of each feature; None if rows are seen as given.

    Examples
    --------
    >>> import numpy as np
    >>> View("light colors", np.array([1.0, 0.2])).of(np.array([[3.0, 5.0]])).tolist()
    [[3.0, 1.0]]
    """

    name: str = "as given"
    factors: FloatArray | None = None

    def __post_init__(self) -> None:
        """Check the factors."""
        if self.factors is None:
            return
        factors = np.asarray(self.factors)
        if factors.ndim != 1 or factors.dtype.kind not in "fiu" or not np.isfinite(factors).all():
            msg = (
                f"`factors` of the view {self.name!r} must be a finite number for each feature, "
                f"got {self.factors!r}"
            )
            raise ValueError(msg)

    def of(self, X: Any) -> Any:
        """Return some rows as the method sees them; products that would overflow are cut."""
        if self.factors is None:
            return X
        if X.shape[1] != len(self.factors):
            msg = (
                f"`factors` of the view {self.name!r} must have one for each of the "
                f"{X.shape[1]} features, got {len(self.factors)}"
            )
            raise ValueError(msg)
        is_single = X.dtype == np.float32 and np.abs(self.factors).max() <= np.finfo("f4").max
        factors = np.asarray(self.factors, dtype=np.float32 if is_single else np.float64)
        with np.errstate(over="ignore", under="ignore"):
            rows = X.multiply(factors).tocsr() if sparse.issparse(X) else X * factors
        # A number may be huge in units of those that the factors come from.
        numbers = rows.data if sparse.issparse(rows) else rows
        limit = MAGNITUDES[rows.dtype.name][1]
        np.clip(numbers, -limit, limit, out=numbers)
        return rows


AS_GIVEN = View()


@dataclass(frozen=True)
class Member:
    """An alternative of a search, which held-out labels weigh beside others.

    Attributes
    ----------
    name : str
    method : Method
    view : View
        What the method sees of the rows.
    prior : float > 0
        Weight before any label is seen, relative to other members.

    Examples
    --------
    >>> from graphmargin.methods import Supervised
    >>> from graphmargin.search.parameters import KernelParameters
    >>> Member("supervised", Supervised(KernelParameters()), prior=0.5).method.assumption
    'labels alone tell the classes'
    """

    name: str
    method: Method
    view: View = AS_GIVEN
    prior: float = 1.0

    def __post_init__(self) -> None:
        """Check the prior."""
        check_real("prior", self.prior, positive=True, hint="; leave out a member of no weight")


@dataclass(frozen=True)
class FittedMember:
    """A fitted method: the part of the predictor, and labels of the training rows.

    Attributes
    ----------
    part : Part
    codes : array of shape (n,)
        Class of every training row.
    label_distributions : array of shape (n, c)
    confidence : array of shape (n,)
        Probability that the label is right; for harmonic solutions, abs(l).
    warnings : tuple of FitWarning
    details : object
        What else the method has to say, such as `graphmargin.methods.harmonic.GraphDetails`.

    Examples
    --------
    >>> from graphmargin.harmonic.walk_part import WalkPart
    >>> from graphmargin.labels import encode_labels
    >>> from graphmargin.search.data import TrainingData
    >>> from graphmargin.search.execution import Execution
    >>> weights = np.array([[0.0, 1.0], [1.0, 0.0], [3.0, 1.0]])
    >>> walk = WalkPart(np.eye(2), ((1.0, 1.0),), None, np.array([0, 1]), 0)
    >>> data = TrainingData(weights, encode_labels(["b", "a", None]), None, Execution())
    >>> FittedMember.from_part(walk, data).codes.tolist()
    [1, 0, 0]
    """

    part: Part
    codes: IntArray
    label_distributions: FloatArray
    confidence: FloatArray
    warnings: tuple[FitWarning, ...] = ()
    details: Any = None

    @classmethod
    def from_part(cls, part: Part, data: TrainingData) -> FittedMember:
        """Return the member of a part: given labels are kept, and the part predicts the others."""
        predicted, distributions = part.label(data.X)
        codes = np.where(data.labels.labeled, data.labels.codes, predicted)
        return cls(part, codes, distributions, distributions[np.arange(len(codes)), codes])
