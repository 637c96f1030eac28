"""Reading tables from files."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from graphmargin._errors import one_line
from graphmargin.tables.column_names import column_names
from graphmargin.tables.column_parsing import DECIMAL_COMMA
from graphmargin.tables.delimited_text import (
    LONGEST_ROW,
    TOO_LONG,
    delimited_tables,
    read_layout,
)
from graphmargin.tables.file_formats import format_of, open_bytes
from graphmargin.tables.table_errors import TableError

_PARQUET_BATCH = 1 << 14
# Without a buffer, a row group, which may be the whole file, is read into memory.
_PARQUET_BUFFER = 1 << 20


def read_table(path: Path) -> pd.DataFrame:
    r"""Return the table in a file, whose format is given by the ending of its name.

    The file is CSV, TSV, Parquet, Excel (its first sheet) or JSON lines. Cells are not converted:
    all columns of a CSV or TSV file are text, so that 1.50, 007 and TRUE stay as they are, and
    empty cells are missing; columns of Excel and JSON lines are Python objects; those of Parquet
    have the types of the file. `TableFeatures` and `read_target` parse text.

    Text files are UTF-8, and may be compressed by gzip or zip. The separator of a .csv is a comma,
    a semicolon, a tab or a vertical bar. Lists of numbers are in the cells of one column.

    Parameters
    ----------
    path : Path

    Returns
    -------
    pandas.DataFrame
        With a `RangeIndex` and unique names of type str.

    Raises
    ------
    TableError
        If the content is not a table. The message has the file and, where possible, the row.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.csv"
    ...     _ = path.write_text("x;kind\n1.50;cat\n;NA\n")
    ...     read_table(path)
          x kind
    0  1.50  cat
    1   NaN   NA
    """
    return next(read_chunks(path, sys.maxsize))


def table_name(path: Path) -> str:
    """Return the name of a table in messages, which says that one sheet of an Excel file is read.

    Examples
    --------
    >>> table_name(Path("data/cats.csv")), table_name(Path("data/cats.xlsx"))
    ('cats.csv', 'cats.xlsx (first sheet)')
    """
    return f"{path.name} (first sheet)" if format_of(path) == "excel" else path.name


def read_chunks(path: Path, n_rows: int = 50_000) -> Iterator[pd.DataFrame]:
    r"""Yield the rows of `read_table` in frames of `n_rows`, for files larger than memory.

    The index continues from chunk to chunk. A table without rows is one empty frame. An Excel file
    is read into memory as a whole. JSON lines are read twice if they have more than one chunk,
    because any line may have a new key.

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
    file_format = format_of(path)
    if path.is_dir():
        msg = f"{path}: this is a folder, not a file; pass one of its files"
        raise TableError(msg)
    if path.stat().st_size == 0:
        msg = f"{path}: the file is empty"
        raise TableError(msg)
    match file_format:
        case "csv" | "tsv":
            chunks = _delimited_chunks(path, n_rows, "\t" if file_format == "tsv" else None)
        case "parquet":
            chunks = _parquet_chunks(path, n_rows)
        case "json lines":
            chunks = _json_chunks(path, n_rows)
        case "excel":
            chunks = _slices(_excel_table(path), n_rows)
    start = 0
    for chunk in chunks:
        chunk.index = pd.RangeIndex(start, start + len(chunk))
        start += len(chunk)
        yield chunk


def _slices(table: pd.DataFrame, n_rows: int) -> Iterator[pd.DataFrame]:
    for start in range(0, max(len(table), 1), n_rows):
        yield table.iloc[start : start + n_rows]


def _delimited_chunks(path: Path, n_rows: int, separator: str | None) -> Iterator[pd.DataFrame]:
    layout = read_layout(path, separator)
    names = column_names(layout.header, path)
    schema = pa.schema([(name, pa.large_string()) for name in names])
    tables = delimited_tables(path, names, separator)
    batches = (batch for table in tables for batch in table.to_batches())
    for table in rechunk(batches, schema, n_rows):
        chunk = to_frame(table)
        # Between semicolons, a comma in a number is a decimal comma.
        chunk.attrs[DECIMAL_COMMA] = layout.separator == ";"
        yield chunk


def _parquet_chunks(path: Path, n_rows: int) -> Iterator[pd.DataFrame]:
    try:
        with pa.parquet.ParquetFile(path, buffer_size=_PARQUET_BUFFER, pre_buffer=False) as file:
            names = column_names(file.schema_arrow.names, path)
            # One row group at a time, because Arrow would read several ahead into memory.
            batches = itertools.chain.from_iterable(
                file.iter_batches(min(n_rows, _PARQUET_BATCH), row_groups=[group])
                for group in range(file.num_row_groups)
            )
            for chunk in rechunk(batches, file.schema_arrow, n_rows):
                yield to_frame(chunk.rename_columns(names))
    except pa.ArrowMemoryError:  # which says nothing about the file
        raise
    except (pa.ArrowException, OSError) as error:
        # Arrow also raises OSError for damaged pages, but without the number of a system error.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        msg = f"{path}: not a Parquet file, or it is damaged: {one_line(error)}"
        raise TableError(msg) from error


def _json_chunks(path: Path, n_rows: int) -> Iterator[pd.DataFrame]:
    """Yield chunks of a file with an object in each line; keys that a line lacks are missing."""
    rows = _json_objects(path)
    chunk = list(itertools.islice(rows, n_rows))
    later = list(itertools.islice(rows, n_rows))
    every = _json_objects(path) if later else chunk
    keys = list(dict.fromkeys(itertools.chain.from_iterable(every)))
    names = column_names(keys, path)
    while chunk:
        columns = [[row.get(key) for row in chunk] for key in keys]
        yield _object_frame(names, columns)
        chunk, later = later, list(itertools.islice(rows, n_rows))


def _json_objects(path: Path) -> Iterator[dict[str, object]]:
    with open_bytes(path) as stream:
        for i, line in enumerate(iter(lambda: stream.readline(LONGEST_ROW + 1), b""), start=1):
            if len(line) > LONGEST_ROW:
                msg = f"{path}: line {i:,} {TOO_LONG.format(LONGEST_ROW)}"
                raise TableError(msg)
            if line.isspace():
                continue
            if line.lstrip(b"\xef\xbb\xbf \t").startswith(b"["):
                msg = (
                    f"{path}: line {i} begins with a JSON array; JSON lines have an object in each "
                    'line, such as {"x": 1.5}'
                )
                raise TableError(msg)
            try:
                row = json.loads(line.decode("utf-8-sig"), object_pairs_hook=_unique_keys)
            except (ValueError, RecursionError) as error:  # also of bytes that are not UTF-8
                msg = f"{path}: line {i} is not JSON: {one_line(error)}"
                raise TableError(msg) from error
            if not isinstance(row, dict):
                msg = f'{path}: line {i} is not a JSON object such as {{"x": 1.5}}'
                raise TableError(msg)
            if b"\\u" in line and not _is_text(row):
                msg = f"{path}: line {i} has half of a surrogate pair, such as \\ud800; remove it"
                raise TableError(msg)
            yield row


def _is_text(row: dict[str, object]) -> bool:
    """Return whether the text of a row can be encoded; JSON may have half of a surrogate pair."""
    try:
        json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    row = dict(pairs)
    if len(row) < len(pairs):
        names = [key for key, _ in pairs]
        msg = f"the key {next(key for key in names if names.count(key) > 1)!r} occurs twice"
        raise ValueError(msg)
    return row


def _object_frame(names: Sequence[str], columns: Sequence[Sequence[object]]) -> pd.DataFrame:
    """Return a frame of unconverted Python objects."""
    cells = (pd.Series(column, dtype=object) for column in columns)
    return pd.DataFrame(dict(zip(names, cells, strict=True)))


def _excel_table(path: Path) -> pd.DataFrame:
    from graphmargin.tables.excel_reading import read_sheet

    rows = read_sheet(path)
    while rows and all(cell is None for cell in rows[-1]):
        rows.pop()
    if not rows:
        msg = f"{path}: the first sheet is empty"
        raise TableError(msg)
    width = max(i + 1 for row in rows for i, cell in enumerate(row) if cell is not None)
    header, *body = ((*row, *[None] * width)[:width] for row in rows)
    columns = list(zip(*body, strict=True)) if body else [()] * width
    return _object_frame(column_names(header, path), columns)


def rechunk(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, n_rows: int
) -> Iterator[pa.Table]:
    """Yield the rows of batches in tables of `n_rows`; the last one has the rest, or no rows.

    Examples
    --------
    >>> batch = pa.record_batch({"x": [1, 2, 3]})
    >>> [chunk.num_rows for chunk in rechunk([batch, batch], batch.schema, 4)]
    [4, 2]
    """
    held: list[pa.RecordBatch] = []
    n_held = 0
    is_first = True
    for batch in batches:
        rest = batch
        while n_held + rest.num_rows >= n_rows:
            cut = n_rows - n_held
            yield pa.Table.from_batches([*held, rest.slice(0, cut)], schema)
            held, n_held, rest = [], 0, rest.slice(cut)
            is_first = False
        held.append(rest)
        n_held += rest.num_rows
    if n_held or is_first:
        yield pa.Table.from_batches(held, schema)


def to_frame(table: pa.Table) -> pd.DataFrame:
    """Return a frame whose types depend on the schema only, and not on the cells.

    Integers and booleans may be missing, dictionaries are decoded, lists become arrays, decimal
    numbers stay exact, and maps stay maps.

    Examples
    --------
    >>> to_frame(pa.table({"x": [1, None]})).dtypes.tolist()
    [Int64Dtype()]
    """
    plain = pa.schema(
        [
            field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
            for field in table.schema
        ]
    )
    return table.cast(plain).to_pandas(types_mapper=_pandas_type, ignore_metadata=True)


def _pandas_type(dtype: pa.DataType) -> pd.api.extensions.ExtensionDtype | None:
    # By default, pandas turns integers into floats and booleans into objects if a cell is missing.
    if pa.types.is_boolean(dtype):
        return pd.BooleanDtype()
    if pa.types.is_integer(dtype):
        return pd.api.types.pandas_dtype(str(dtype).replace("uint", "UInt").replace("int", "Int"))
    is_exact = pa.types.is_decimal(dtype) or pa.types.is_map(dtype)
    return pd.ArrowDtype(dtype) if is_exact else None
