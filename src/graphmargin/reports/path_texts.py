"""Texts on the path of gamma_g, which displays and report pages share."""

from __future__ import annotations

import math

PATH_LINES = {
    "fold_score": "accuracy, labels held out in folds",
    "graph_score": "accuracy of the graph alone, labels held out in folds",
    "confidence": "mean confidence of the graph",
}
"""Columns of the path of gamma_g that are drawn, with their descriptions."""


def gamma_text(gamma_g: float) -> str:
    """Return gamma_g as text; inf is supervised learning.

    Examples
    --------
    >>> gamma_text(0.12345), gamma_text(float("inf"))
    ('0.12', 'supervised')
    """
    return "supervised" if math.isinf(gamma_g) else f"{gamma_g:.2g}"
