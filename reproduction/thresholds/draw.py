"""Figure 3: the threshold eps, as a function of gamma_g, on pairs of letters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from reproduction.drawing import LEGEND_SIZE, legend_below, new_figure
from reproduction.thresholds.claims import curve
from reproduction.thresholds.letters import PAIRS
from reproduction.thresholds.run import THRESHOLDS, ThresholdRecord

COLORS = {0.0: "0.72", 1e-6: "0.42", 1e-3: "black"}
"""Light gray, dark gray and black, as in the paper."""
STYLES = {0.0: "-", 1e-6: "--", 1e-3: "-"}
LABELS = {
    0.0: r"$\varepsilon = 0$",
    1e-6: r"$\varepsilon = 10^{-6}$",
    1e-3: r"$\varepsilon = 10^{-3}$",
}
TITLES = {
    "risk": "thresholded risk [%]",
    "train_error": "training error [%]",
    "test_error": "test error [%]",
    "share": r"rows with $|\ell| \geq \varepsilon$ [%]",
}


def draw_figure3(records: Sequence[ThresholdRecord]) -> Any:
    """Return Figure 3: a row for each problem, a column for each measure.

    Bands are one standard error of the mean over the draws, if there are several. Other pairs than
    those of the figure are not drawn.
    """
    figure = new_figure(7.6)
    axes = figure.subplots(len(PAIRS), len(TITLES), sharex=True, squeeze=False)
    for pair, line in zip(PAIRS, axes, strict=True):
        for (measure, title), ax in zip(TITLES.items(), line, strict=True):
            for eps in THRESHOLDS:
                means = curve(records, pair, eps, measure)
                mean, error = 100 * means.mean, 100 * np.nan_to_num(means.standard_error)
                color, x = COLORS[eps], means.gamma_g
                ax.fill_between(x, mean - error, mean + error, color=color, alpha=0.16, linewidth=0)
                ax.plot(x, mean, STYLES[eps], color=color, linewidth=1.8, label=LABELS[eps])
            ax.set_xscale("log")
            if measure in ("risk", "share"):
                ax.set_ylim(bottom=0)
            ax.grid(color="0.9", linewidth=0.6)
            ax.set_axisbelow(True)
            ax.tick_params(labelsize=9)
            if pair == PAIRS[0]:
                ax.set_title(title, fontsize=11)
            if pair == PAIRS[-1]:
                ax.set_xlabel(r"$\gamma_g$", fontsize=11)
        line[2].sharey(line[1])
        draws = len({r.draw for r in records if r.pair == pair})
        line[0].set_ylabel(f"letters {pair}\n{draws} draw{'s' * (draws > 1)}", fontsize=11)
    legend_below(figure, axes[0, 0].lines, columns=len(THRESHOLDS), size=LEGEND_SIZE + 1)
    return figure
