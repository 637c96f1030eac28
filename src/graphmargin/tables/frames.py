"""Data frames of pandas, polars and Arrow, which become frames of pandas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from graphmargin.tables.column_names import check_unique
from graphmargin.tables.table_errors import packages_of_tables

if TYPE_CHECKING:
    import pandas as pd


def as_pandas(X: Any, names: Sequence[str] | None = None) -> pd.DataFrame:
    """Return a frame as one of pandas, whose columns have unique names that are texts.

    An array becomes a frame with the given `names` of its columns.

    Raises
    ------
    TableError
        If two columns have the same name.

    Examples
    --------
    >>> import pyarrow as pa
    >>> as_pandas(pa.table({"size": [1.5, None]})).columns.tolist()
    ['size']
    """
    with packages_of_tables("data frames"):
        import pandas as pd
        import pyarrow as pa  # noqa: F401 - parses cells of text

        if hasattr(X, "to_pandas"):
            table = X.to_pandas()
        else:
            table = X if isinstance(X, pd.DataFrame) else pd.DataFrame(X, columns=names)
    texts = [str(name) for name in table.columns]
    check_unique(texts)
    return table.set_axis(texts, axis=1)
