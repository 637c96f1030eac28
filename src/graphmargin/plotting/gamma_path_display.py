"""Display of scores, confidence and weight as functions of gamma_g."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from graphmargin._typing import FloatArray
from graphmargin.plotting._matplotlib import CLASS_COLORS, LEGEND_SIZE, get_axes
from graphmargin.reports.path_texts import PATH_LINES, gamma_text

STYLES = {
    "fold_score": (CLASS_COLORS[0], "-"),
    "graph_score": (CLASS_COLORS[2], "-"),
    "confidence": (CLASS_COLORS[1], "--"),
}
"""Color and style of each line."""


@dataclass(kw_only=True, eq=False, repr=False)
class GammaPathDisplay:
    """Scores, confidence and weight in the blend for each gamma_g that was a candidate.

    Values of gamma_g are equally spaced; inf, which ignores the graph, is called "supervised".
    Create it with `from_estimator`.

    Parameters
    ----------
    gamma_g : array of shape (m,)
        Values in ascending order; inf is supervised learning.
    fold_score, graph_score, confidence, weight : array of shape (m,)
        See `graphmargin.methods.harmonic.gamma_path`; nan is left out.

    Attributes
    ----------
    ax_, figure_
        Axes and figure that it was drawn into.
    lines_ : dict from str to Line2D
        Lines by the name of the parameter.
    bars_ : BarContainer
        The weights.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from graphmargin import MaxMarginGraphCut
    >>> from graphmargin.datasets import load_digits, mask_labels
    >>> X, y = load_digits()
    >>> few = mask_labels(y[:300], per_class=3, random_state=0)
    >>> model = MaxMarginGraphCut().fit(X[:300], few)
    >>> display = GammaPathDisplay.from_estimator(model).plot(ax=Figure().subplots())
    >>> [text.get_text() for text in display.ax_.get_xticklabels()]
    ['0.01', '0.1', '1', '10', 'supervised']
    """

    gamma_g: FloatArray
    fold_score: FloatArray
    graph_score: FloatArray
    confidence: FloatArray
    weight: FloatArray

    @classmethod
    def from_estimator(cls, estimator: Any) -> GammaPathDisplay:
        """Return the display of a classifier whose gamma_g was chosen.

        Parameters
        ----------
        estimator : MaxMarginGraphCut or HarmonicClassifier
            Estimator that was fitted with ``gamma_g="auto"`` or a list of values.
        """
        check_is_fitted(estimator)
        path = estimator.gamma_g_path_
        if path is None:
            msg = "`estimator` has a fixed gamma_g; fit it with gamma_g='auto' or a list of values"
            raise ValueError(msg)
        return cls(**{name: path[name] for name in ("gamma_g", *PATH_LINES, "weight")})

    def plot(self, ax: Any = None) -> GammaPathDisplay:
        """Draw weights as bars, and scores and confidence as lines.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None creates new ones.
        """
        self.ax_, self.figure_ = get_axes(ax)
        x = np.arange(len(self.gamma_g))
        self.bars_ = self.ax_.bar(
            x, self.weight, width=0.5, color="0.87", label="weight in the blend"
        )
        self.lines_ = {
            name: self.ax_.plot(
                x, getattr(self, name), style, marker="o", color=color, label=PATH_LINES[name]
            )[0]
            for name, (color, style) in STYLES.items()
        }
        self.ax_.set_xticks(x, [gamma_text(value) for value in self.gamma_g])
        self.ax_.set(xlabel=r"$\gamma_g$", ylim=(0.0, 1.05))
        self.ax_.spines[["top", "right"]].set_visible(False)
        self.ax_.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
        self.ax_.legend(
            loc="upper center",
            bbox_to_anchor=(0.5, -0.16),
            ncols=2,
            frameon=False,
            fontsize=LEGEND_SIZE,
        )
        return self
