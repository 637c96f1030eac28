"""Reliability diagram: how often labels of some confidence are right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from graphmargin.plotting._matplotlib import CLASS_COLORS, LEGEND_SIZE, get_axes
from graphmargin.plotting.confidence_curves import (
    ReliabilityCurve,
    predicted_rows,
    reliability_curve,
    right_labels,
)

BAR_HEIGHT = 0.18
"""Height of the bar of the largest bin, as a share of the axis."""


@dataclass(kw_only=True, eq=False, repr=False)
class ReliabilityDisplay:
    """Reliability diagram: the share of right labels by confidence, with 95 % intervals.

    Confidence is the probability of the predicted class. It is calibrated if points are on the
    diagonal; below it, the classifier is too sure. Gray bars show how many rows each bin has.
    Create it with `from_estimator` or `from_predictions`.

    Parameters
    ----------
    curve : ReliabilityCurve
    name : str, default=None
        Name in the legend.

    Attributes
    ----------
    ax_, figure_
        Axes and figure that it was drawn into.
    line_ : ErrorbarContainer
        Points and intervals.
    bars_ : BarContainer
        Bars of the numbers of rows; the highest is a bin with the most rows.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from graphmargin import MaxMarginGraphCut
    >>> from graphmargin.datasets import load_digits, mask_labels
    >>> X, y = load_digits()
    >>> few = mask_labels(y[:300], per_class=3, random_state=0)
    >>> model = MaxMarginGraphCut(random_state=0).fit(X[:300], few)
    >>> display = ReliabilityDisplay.from_estimator(model, y[:300])
    >>> display = display.plot(ax=Figure().subplots())
    >>> int(display.curve.counts.sum())
    270
    """

    curve: ReliabilityCurve
    name: str | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        y_true: npt.ArrayLike,
        X: Any = None,
        *,
        n_bins: int = 10,
        name: str | None = None,
    ) -> ReliabilityDisplay:
        """Return the display of the labels that a fitted classifier predicts.

        Parameters
        ----------
        estimator : classifier
        y_true : array-like of shape (n,)
            The true label of every row.
        X : array-like of shape (n, d), default=None
            New rows to predict. None takes the training rows that were unlabeled.
        n_bins : int, default=10
            Number of bins of equal width in [0, 1].
        name : str, default=None
            Name in the legend; None takes that of the class.
        """
        confidence, right = predicted_rows(estimator, y_true, X)
        curve = reliability_curve(confidence, right, n_bins=n_bins)
        return cls(curve=curve, name=name or type(estimator).__name__)

    @classmethod
    def from_predictions(
        cls,
        y_true: npt.ArrayLike,
        y_pred: npt.ArrayLike,
        confidence: npt.ArrayLike,
        *,
        n_bins: int = 10,
        name: str | None = None,
    ) -> ReliabilityDisplay:
        """Return the display of given predictions.

        Parameters
        ----------
        y_true, y_pred : array-like of shape (n,)
            True and predicted labels.
        confidence : array-like of shape (n,)
            Probability of each predicted label.
        n_bins : int, default=10
            Number of bins of equal width in [0, 1].
        name : str, default=None
            Name in the legend.
        """
        right = right_labels(y_true, np.asarray(y_pred))
        return cls(curve=reliability_curve(confidence, right, n_bins=n_bins), name=name)

    def plot(self, ax: Any = None, *, color: str = CLASS_COLORS[0]) -> ReliabilityDisplay:
        """Draw the diagram.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None creates new ones.
        color : str
            Color of points and intervals.
        """
        self.ax_, self.figure_ = get_axes(ax)
        curve = self.curve
        heights = BAR_HEIGHT * curve.counts / curve.counts.max()
        self.bars_ = self.ax_.bar(curve.confidence, heights, width=0.02, color="0.87", zorder=1)
        self.ax_.plot([0, 1], [0, 1], ":", color="0.4", zorder=1)
        low, high = curve.interval.T
        error = f"calibration error {100 * curve.calibration_error:.1f} %"
        self.line_ = self.ax_.errorbar(
            curve.confidence,
            curve.accuracy,
            np.maximum([curve.accuracy - low, high - curve.accuracy], 0.0),
            fmt="o-",
            color=color,
            capsize=2,
            label=f"{self.name}, {error}" if self.name else error,
            zorder=3,
        )
        self.ax_.set(xlabel="confidence", ylabel="share that is right", aspect="equal")
        self.ax_.set(xlim=(0, 1.02), ylim=(0, 1.02))
        self.ax_.spines[["top", "right"]].set_visible(False)
        self.ax_.legend(loc="upper left", frameon=False, fontsize=LEGEND_SIZE)
        return self
