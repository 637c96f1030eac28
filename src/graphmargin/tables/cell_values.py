"""Cells as values that formats of files can store."""

from __future__ import annotations

import datetime
import decimal
import json
from typing import Any

import numpy as np
import pandas as pd

EXCEL_INTEGER = 10**15
"""Largest integer whose digits Excel keeps."""


def python_cells(column: pd.Series) -> list[Any]:
    """Return the cells as Python objects, None where missing."""
    values = column.astype(object)
    return list(values.where(column.notna(), None))


def json_value(cell: Any) -> Any:
    """Return a cell as a JSON value; numbers that are not finite become null."""
    if isinstance(cell, np.ndarray | np.generic):
        cell = cell.tolist()
    if isinstance(cell, list | tuple):
        return [json_value(item) for item in cell]
    if isinstance(cell, dict):
        return {str(key): json_value(value) for key, value in cell.items()}
    if isinstance(cell, decimal.Decimal):
        cell = float(cell)
    if isinstance(cell, float):
        return cell if np.isfinite(cell) else None
    if cell is None or isinstance(cell, str | int):
        return cell
    return cell.isoformat() if isinstance(cell, datetime.date | datetime.time) else str(cell)


def nested_as_json(cell: Any) -> Any:
    """Return a list, an array or a mapping as JSON text, and any other cell unchanged."""
    if isinstance(cell, list | tuple | dict | np.ndarray):
        return json.dumps(json_value(cell), ensure_ascii=False)
    return cell.item() if isinstance(cell, np.generic) else cell


def excel_value(cell: Any) -> Any:
    """Return a cell as a value that Excel can store."""
    cell = nested_as_json(cell)
    if isinstance(cell, float) and not np.isfinite(cell):
        return str(cell)
    if isinstance(cell, int) and abs(cell) > EXCEL_INTEGER:
        return str(cell)  # a number would lose its last digits
    if isinstance(cell, pd.Timestamp):
        return cell.isoformat() if cell.tz else cell.to_pydatetime()
    excel_types = bool | int | float | str | None | decimal.Decimal | datetime.date | datetime.time
    return cell if isinstance(cell, excel_types) else str(cell)
