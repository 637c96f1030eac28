"""Views of rows of numbers: in one unit, and standardized."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scipy import sparse

from graphmargin._scales import (
    are_equal_scales,
    have_one_unit,
    ranges_and_variances,
    standardizing_factors,
)
from graphmargin._typing import FloatArray
from graphmargin.search.member import AS_GIVEN, View

if TYPE_CHECKING:
    from graphmargin.tables.table_features import TableFeatures

STANDARDIZED, ONE_UNIT = "standardized", "one unit"
"""Names of views: every column has a variance of one, or all are measured in one unit."""


def number_views(X: Any) -> tuple[View, ...]:
    """Return the views of rows of numbers to try, the more promising one first.

    Rows are seen as given if their columns seem to have one unit, else every column is divided by
    its standard deviation (`graphmargin._scales.have_one_unit`). The other view is the
    second one. Standardized rows, sparse rows and a single column have one view.

    Examples
    --------
    >>> import numpy as np
    >>> centimeters_and_grams = np.array([[38.0, 3700.0], [49.0, 3750.0], [47.0, 5100.0]])
    >>> [view.name for view in number_views(centimeters_and_grams)]
    ['standardized', 'one unit']
    >>> [view.name for view in number_views(np.array([[1.0, -1.0], [-1.0, 1.0]]))]
    ['as given']
    """
    if sparse.issparse(X):
        return (AS_GIVEN,)
    ranges, variances = ranges_and_variances(X)
    if are_equal_scales(variances):
        return (AS_GIVEN,)
    views = View(ONE_UNIT), View(STANDARDIZED, standardizing_factors(variances))
    return views if have_one_unit(ranges, variances) else views[::-1]


def features_views(features: TableFeatures, X: FloatArray) -> tuple[View, ...]:
    """Return the views of the encoded rows of a table: as they are, and with the other scales.

    Examples
    --------
    >>> import pandas as pd
    >>> from graphmargin.tables.table_features import fit_transform
    >>> table = pd.DataFrame({"bill": [38.0, 49.0, 47.0], "mass": [3700.0, 3750.0, 5100.0]})
    >>> [view.name for view in features_views(*fit_transform(table))]
    ['as given', 'one unit']
    """
    factors = features.other_scales(X)
    if factors is None:
        return (AS_GIVEN,)
    return AS_GIVEN, View(STANDARDIZED if features.in_one_unit else ONE_UNIT, factors)
