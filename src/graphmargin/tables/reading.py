"""Tables from files."""

from __future__ import annotations

import itertools
import sys
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
from numpy.lib.npyio import NpzFile

from graphmargin._errors import one_line
from graphmargin.tables.arrow import frame_of, in_chunks
from graphmargin.tables.columns import column_names
from graphmargin.tables.delimited import delimited_chunks
from graphmargin.tables.errors import TableError
from graphmargin.tables.formats import format_of
from graphmargin.tables.json_lines import json_lines_chunks
from graphmargin.tables.objects import column_of, kinds_of

if TYPE_CHECKING:
    from graphmargin._typing import AnyArray

_PARQUET_BATCH = 1 << 14
# Without it, a group of rows, which may be the whole file, is read into memory.
_PARQUET_BUFFER = 1 << 20


def read_table(path: Path) -> pd.DataFrame:
    r"""Return the table in a file, whose format is told by the end of its name.

    CSV, TSV, Parquet, Excel (the first sheet), JSON lines and npz files are read. One rule holds
    for all of them: a cell is missing if it is empty, and if its column is numbers otherwise,
    also if it is one of the usual markers (NA, NaN, None, null, ?, -); in a column of text,
    "NA" is text. Numbers with leading zeros (007) or 19 digits in a text file are codes, hence
    text. Text files are UTF-8; the delimiter of a .csv is a comma, a semicolon or a tab. Lists of
    numbers, and the rows of a 2-D array in an npz file, are arrays in the cells of one column.

    Parameters
    ----------
    path : Path

    Returns
    -------
    pandas.DataFrame
        With a `RangeIndex` and unique names of type str. Whole numbers and truth values have
        pandas' nullable types.

    Raises
    ------
    TableError
        If the content is not a table: one line that names the file and the place.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.csv"
    ...     _ = path.write_text("x;kind\n1,5;cat\n;NA\n")
    ...     read_table(path)
         x kind
    0  1.5  cat
    1  NaN   NA
    """
    return next(read_chunks(path, sys.maxsize))


def read_chunks(path: Path, n_rows: int = 50_000) -> Iterator[pd.DataFrame]:
    r"""Yield the rows of `read_table` in frames of `n_rows`, for files larger than memory.

    Every chunk has the types of the whole table, and the index goes on from chunk to chunk. A
    table without rows is one empty frame. Text files are read twice; Excel and npz files are in
    memory as a whole.

    Parameters
    ----------
    path : Path
    n_rows : int
        At least 1.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.csv"
    ...     _ = path.write_text("x\n1\n2\n3\n")
    ...     [chunk.index.tolist() for chunk in read_chunks(path, 2)]
    [[0, 1], [2]]
    """
    if n_rows < 1:
        msg = f"`n_rows` must be at least 1, got {n_rows}"
        raise ValueError(msg)
    kind = format_of(path)
    if path.is_dir():
        msg = f"{path}: a folder, not a file"
        raise TableError(msg)
    if path.stat().st_size == 0:
        msg = f"{path}: the file is empty"
        raise TableError(msg)
    match kind:
        case "csv" | "tsv":
            chunks = _frames(delimited_chunks(path, n_rows, "\t" if kind == "tsv" else None))
        case "parquet":
            chunks = _parquet_chunks(path, n_rows)
        case "json lines":
            chunks = json_lines_chunks(path, n_rows)
        case "excel":
            chunks = _slices(_excel_table(path), n_rows)
        case "npz":
            chunks = _slices(_npz_table(path), n_rows)
    start = 0
    for chunk in chunks:
        chunk.index = pd.RangeIndex(start, start + len(chunk))
        start += len(chunk)
        yield chunk


def _frames(tables: Iterator[pa.Table]) -> Iterator[pd.DataFrame]:
    return (frame_of(table) for table in tables)


def _slices(table: pd.DataFrame, n_rows: int) -> Iterator[pd.DataFrame]:
    for start in range(0, max(len(table), 1), n_rows):
        yield table.iloc[start : start + n_rows]


def _parquet_chunks(path: Path, n_rows: int) -> Iterator[pd.DataFrame]:
    try:
        with pa.parquet.ParquetFile(path, buffer_size=_PARQUET_BUFFER, pre_buffer=False) as file:
            names = column_names(file.schema_arrow.names, path)
            # One group of rows after the other: Arrow would read ahead, into memory.
            batches = itertools.chain.from_iterable(
                file.iter_batches(min(n_rows, _PARQUET_BATCH), row_groups=[group])
                for group in range(file.num_row_groups)
            )
            for chunk in in_chunks(batches, file.schema_arrow, n_rows):
                yield frame_of(chunk.rename_columns(names))
    except (pa.ArrowException, OSError) as error:
        # Arrow also raises a plain OSError for damaged pages; one of the system has a number.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        msg = f"{path}: not a Parquet file, or a damaged one: {one_line(error)}"
        raise TableError(msg) from error


def _excel_table(path: Path) -> pd.DataFrame:
    import openpyxl

    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        try:
            rows = list(book.worksheets[0].iter_rows(values_only=True)) if book.worksheets else []
        finally:
            book.close()
    except _ARCHIVE_ERRORS as error:
        msg = f"{path}: not an Excel file (.xlsx), or a damaged one: {one_line(error)}"
        raise TableError(msg) from error
    while rows and all(cell is None for cell in rows[-1]):
        rows.pop()
    if not rows:
        msg = f"{path}: the first sheet is empty"
        raise TableError(msg)
    width = max(len(row) - _n_trailing_empty(row) for row in rows)
    header, *body = ((*row, *[None] * width)[:width] for row in rows)
    columns = zip(*body, strict=True) if body else [()] * width
    return pd.DataFrame(
        {
            name: column_of(cells, kinds_of(cells))
            for name, cells in zip(column_names(header, path), columns, strict=True)
        }
    )


def _n_trailing_empty(row: tuple[object, ...]) -> int:
    return next((i for i, cell in enumerate(reversed(row)) if cell is not None), len(row))


def _npz_table(path: Path) -> pd.DataFrame:
    try:
        # Not np.load, which takes what is no archive for a pickle; nothing is unpickled here.
        with path.open("rb") as stream, NpzFile(stream, allow_pickle=False) as file:
            arrays = {name: np.asarray(file[name]) for name in file.files}
    except _ARCHIVE_ERRORS as error:
        why = (
            "arrays of Python objects are not read"
            if "allow_pickle" in str(error)
            else f"not an npz file, or a damaged one: {one_line(error)}"
        )
        msg = f"{path}: {why}"
        raise TableError(msg) from error
    n = max((len(array) for array in arrays.values() if array.ndim), default=0)
    for name, array in arrays.items():
        if array.ndim not in (1, 2) or len(array) != n:
            msg = (
                f"{path}: array {name!r} has the shape {array.shape}; all arrays must have one or "
                f"two axes, the first of the same length (here {n})"
            )
            raise TableError(msg)
    names = column_names(arrays, path)
    return pd.DataFrame(
        {name: _npz_column(array) for name, array in zip(names, arrays.values(), strict=True)}
    )


def _npz_column(array: AnyArray) -> pd.Series:
    if array.ndim == 2:
        return pd.Series(list(array), dtype=object)
    if array.dtype.kind == "U":
        cells = pd.Series(array.astype(object), dtype="str")
        return cells.mask(cells == "")
    # Files may come from a machine with another order of bytes.
    return pd.Series(array.astype(array.dtype.newbyteorder("=")))


# What zipfile, openpyxl and numpy raise on damaged content.
_ARCHIVE_ERRORS = (
    zipfile.BadZipFile,
    ValueError,
    KeyError,
    EOFError,
    TypeError,
    AttributeError,
    IndexError,
    NotImplementedError,
    RuntimeError,
    SyntaxError,
    OverflowError,
    MemoryError,
    zlib.error,
)
