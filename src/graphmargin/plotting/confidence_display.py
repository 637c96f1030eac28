"""A display of the confidence of labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from graphmargin._typing import BoolArray, FloatArray
from graphmargin.plotting._matplotlib import CLASS_COLORS, LEGEND_SIZE, get_axes


@dataclass(kw_only=True, eq=False, repr=False)
class ConfidenceDisplay:
    """Histogram of the confidence of rows that were unlabeled.

    If the true labels are known, a line shows the share that is right in each bin. Create it with
    `from_estimator`.

    Parameters
    ----------
    confidence : array of shape (m,)
        Confidence of each row, in [0, 1].
    right : array of bool of shape (m,), default=None
        Whether the label is right, if the true labels are known.

    Attributes
    ----------
    ax_, figure_
        Axes and figure that it was drawn into.
    bars_ : BarContainer
    line_ : Line2D or None
        Share of right labels, on a second axis, at the centers of the bins that are not empty.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from graphmargin import MaxMarginGraphCut
    >>> from graphmargin.datasets import load_digits, mask_labels
    >>> X, y = load_digits()
    >>> few = mask_labels(y[:300], per_class=3, random_state=0)
    >>> model = MaxMarginGraphCut(gamma_g=0.1, C=10.0).fit(X[:300], few)
    >>> display = ConfidenceDisplay.from_estimator(model, y[:300])
    >>> display = display.plot(ax=Figure().subplots(), bins=10)
    >>> int(sum(bar.get_height() for bar in display.bars_))
    270
    """

    confidence: FloatArray
    right: BoolArray | None = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, y_true: npt.ArrayLike | None = None
    ) -> ConfidenceDisplay:
        """Return the display of the rows that a fitted classifier labeled.

        Parameters
        ----------
        estimator : MaxMarginGraphCut or HarmonicClassifier
        y_true : array-like of shape (n,), default=None
            The true label of every training row.
        """
        check_is_fitted(estimator, "harmonic_solution_")
        unlabeled = ~estimator.harmonic_solution_.problem.labels.labeled
        right = None
        if y_true is not None:
            truth, predicted = np.asarray(y_true), estimator.transduction_
            if truth.shape != predicted.shape:
                msg = f"`y_true` must have shape {predicted.shape}, got {truth.shape}"
                raise ValueError(msg)
            right = (truth == predicted)[unlabeled]
        return cls(confidence=estimator.confidence_[unlabeled], right=right)

    def plot(self, ax: Any = None, *, bins: int = 20) -> ConfidenceDisplay:
        """Draw the histogram.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None creates new ones.
        bins : int, default=20
            Number of bins of equal width in [0, 1].
        """
        self.ax_, self.figure_ = get_axes(ax)
        edges = np.linspace(0, 1, bins + 1)
        middles = (edges[1:] + edges[:-1]) / 2
        counts, _ = np.histogram(self.confidence, edges)
        self.bars_ = self.ax_.bar(
            middles, counts, 0.92 / bins, color=CLASS_COLORS[0], label="predicted labels"
        )
        top = 1.05 * max(counts.max(), 1)
        self.ax_.set(xlabel="confidence", ylabel="rows", xlim=(0, 1), ylim=(0, top))
        self.ax_.spines[["top", "right"]].set_visible(False)
        handles = [self.bars_]
        self.line_ = None
        if self.right is not None:
            hits, _ = np.histogram(self.confidence[self.right], edges)
            used = counts > 0
            shares = self.ax_.twinx()
            (self.line_,) = shares.plot(
                middles[used], hits[used] / counts[used], "o-", color="0.2", label="share right"
            )
            shares.set(ylim=(0, 1.05))
            shares.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
            shares.spines["top"].set_visible(False)
            handles.append(self.line_)
        self.ax_.legend(
            handles=handles,
            loc="upper center",
            bbox_to_anchor=(0.5, -0.14),
            ncols=2,
            frameon=False,
            fontsize=LEGEND_SIZE,
        )
        return self
