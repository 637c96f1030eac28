"""Metrics of the rows of a table: how much each feature counts in distances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphmargin._typing import FloatArray
from graphmargin.tables.column_names import ColumnUse, Role

LIGHT_FACTOR = 0.1
"""Factor of the features of categories and text in the metric in which they count less.

It is not 0: rows whose other columns are equal would have no order, and finding the neighbors among
many such rows is slow. `python -m benchmarks.table_metrics` measures it and other factors.
"""
LIGHT_PRIOR = 0.7
"""Prior of families under this metric, relative to those under the metric of all columns.

With equal priors, a few misleading labels cost more where categories tell the classes.
"""
LIGHT_ROLES: dict[Role, str] = {"category": "categories", "text": "text"}
"""Roles of columns that count less in one of the metrics, and their names there."""


@dataclass(frozen=True)
class FeatureMetric:
    """A metric: the Euclidean distance of features that are multiplied by factors.

    Attributes
    ----------
    name : str
    feature_scale : array of shape (n_features,) or None
        The factor of each feature; None if all of them are 1.
    prior : float > 0
        Prior of families under this metric, relative to others.

    Examples
    --------
    >>> light = FeatureMetric("light categories", np.array([1.0, 0.2]))
    >>> light.scale(np.array([[3.0, 5.0]])).tolist()
    [[3.0, 1.0]]
    """

    name: str
    feature_scale: FloatArray | None = None
    prior: float = 1.0

    def scale(self, X: Any) -> Any:
        """Return rows whose Euclidean distances are those of the metric."""
        return X if self.feature_scale is None else X * self.feature_scale


ALL_COLUMNS = FeatureMetric("all columns")
"""The metric in which all columns count as they are scaled."""


def candidate_metrics(columns: Sequence[ColumnUse]) -> tuple[FeatureMetric, ...]:
    """Return the metrics that a table's labels can choose among, `ALL_COLUMNS` first.

    A table with categories or text, and with other columns, has a second metric, in which the
    features of categories and text are multiplied by `LIGHT_FACTOR`. How much they should count
    depends on the classes, which the features do not know of.

    Examples
    --------
    >>> size, color = ColumnUse("size", "number", 1), ColumnUse("color", "category", 2)
    >>> [metric.name for metric in candidate_metrics([size, color])]
    ['all columns', 'light categories']
    >>> candidate_metrics([size, color])[1].feature_scale.tolist()
    [1.0, 0.1, 0.1]
    >>> len(candidate_metrics([size])), len(candidate_metrics([color]))
    (1, 1)
    """
    used = [use for use in columns if use.n_features]
    light = [text for role, text in LIGHT_ROLES.items() if any(use.role == role for use in used)]
    if not light or all(use.role in LIGHT_ROLES for use in used):
        return (ALL_COLUMNS,)
    factors = [LIGHT_FACTOR if use.role in LIGHT_ROLES else 1.0 for use in used]
    feature_scale = np.repeat(factors, [use.n_features for use in used])
    name = f"light {' and '.join(light)}"
    return ALL_COLUMNS, FeatureMetric(name, feature_scale, LIGHT_PRIOR)
