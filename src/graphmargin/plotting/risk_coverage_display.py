"""Risk-coverage curve: the error that is left if only confident labels are taken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from graphmargin.plotting._matplotlib import CLASS_COLORS, LEGEND_SIZE, get_axes
from graphmargin.plotting.confidence_curves import (
    RiskCoverageCurve,
    predicted_rows,
    right_labels,
    risk_coverage_curve,
)


@dataclass(kw_only=True, eq=False, repr=False)
class RiskCoverageDisplay:
    """Risk-coverage curve: the error among the most confident rows, by their share of all rows.

    The dotted line is the error of all rows, which a confidence without information has at every
    coverage. The area under the curve (AURC) is the mean error over all coverages. Create it with
    `from_estimator` or `from_predictions`.

    Parameters
    ----------
    curve : RiskCoverageCurve
    name : str, default=None
        Name in the legend.

    Attributes
    ----------
    ax_, figure_
        Axes and figure that it was drawn into.
    line_ : Line2D
        The curve.
    error_line_ : Line2D
        The error of all rows.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from graphmargin import MaxMarginGraphCut
    >>> from graphmargin.datasets import load_digits, mask_labels
    >>> X, y = load_digits()
    >>> few = mask_labels(y[:300], per_class=3, random_state=0)
    >>> model = MaxMarginGraphCut(random_state=0).fit(X[:300], few)
    >>> display = RiskCoverageDisplay.from_estimator(model, y[:300])
    >>> display = display.plot(ax=Figure().subplots())
    >>> display.curve.area < display.curve.error
    True
    """

    curve: RiskCoverageCurve
    name: str | None = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, y_true: npt.ArrayLike, X: Any = None, *, name: str | None = None
    ) -> RiskCoverageDisplay:
        """Return the display of the labels that a fitted classifier predicts.

        Parameters
        ----------
        estimator : classifier
        y_true : array-like of shape (n,)
            The true label of every row.
        X : array-like of shape (n, d), default=None
            New rows to predict. None takes the training rows that were unlabeled.
        name : str, default=None
            Name in the legend; None takes that of the class.
        """
        curve = risk_coverage_curve(*predicted_rows(estimator, y_true, X))
        return cls(curve=curve, name=name or type(estimator).__name__)

    @classmethod
    def from_predictions(
        cls,
        y_true: npt.ArrayLike,
        y_pred: npt.ArrayLike,
        confidence: npt.ArrayLike,
        *,
        name: str | None = None,
    ) -> RiskCoverageDisplay:
        """Return the display of given predictions.

        Parameters
        ----------
        y_true, y_pred : array-like of shape (n,)
            True and predicted labels.
        confidence : array-like of shape (n,)
            Confidence of each predicted label, in [0, 1]; only its order matters.
        name : str, default=None
            Name in the legend.
        """
        right = right_labels(y_true, np.asarray(y_pred))
        return cls(curve=risk_coverage_curve(confidence, right), name=name)

    def plot(self, ax: Any = None, *, color: str = CLASS_COLORS[0]) -> RiskCoverageDisplay:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None creates new ones.
        color : str
            Color of both lines.
        """
        self.ax_, self.figure_ = get_axes(ax)
        area = f"AURC {100 * self.curve.area:.1f} %"
        (self.line_,) = self.ax_.plot(
            self.curve.coverage,
            self.curve.risk,
            color=color,
            label=f"{self.name}, {area}" if self.name else area,
        )
        self.error_line_ = self.ax_.axhline(self.curve.error, color=color, linestyle=":")
        self.ax_.set(xlabel="coverage: share of rows with a label", ylabel="error of these labels")
        highest = max(float(np.max(line.get_ydata())) for line in self.ax_.get_lines())
        self.ax_.set(xlim=(0, 1), ylim=(0, 1.08 * highest or 1.0))
        for axis in (self.ax_.xaxis, self.ax_.yaxis):
            axis.set_major_formatter(lambda share, _: f"{100 * share:.3g} %")
        self.ax_.spines[["top", "right"]].set_visible(False)
        self.ax_.legend(
            loc="upper center",
            bbox_to_anchor=(0.5, -0.16),
            ncols=2,
            frameon=False,
            fontsize=LEGEND_SIZE,
        )
        return self
