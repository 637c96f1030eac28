"""Tables to files."""

from __future__ import annotations

import datetime
import decimal
import gzip
import io
import json
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from graphmargin._errors import one_line
from graphmargin._files import check_writable, replacing
from graphmargin.tables.errors import TableError
from graphmargin.tables.formats import format_of, is_compressed

if TYPE_CHECKING:
    from graphmargin._typing import AnyArray

Write: TypeAlias = Callable[[pd.DataFrame], None]

# Limits of Excel.
_EXCEL_ROWS = 1_048_576
_EXCEL_CHARACTERS = 32_767
_EXCEL_INTEGER = 10**15


@contextmanager
def table_writer(path: Path) -> Iterator[Write]:
    r"""Yield a function that appends frames to a table, which becomes the file at the end.

    If anything fails, on the way or in the block, the old file stays and nothing else is left.
    CSV, TSV, Parquet and JSON lines are written frame by frame; Excel and npz collect the whole
    table. Lists and arrays in cells become JSON lists in CSV, TSV and Excel. All frames must
    have the columns of the first one, and in Parquet its types.

    Parameters
    ----------
    path : Path
        The end of its name tells the format, as in `read_table`.

    Raises
    ------
    TableError
        If the format cannot hold a frame, or a frame does not continue the first one.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.csv"
    ...     with table_writer(path) as write:
    ...         write(pd.DataFrame({"x": [1.5]}))
    ...         write(pd.DataFrame({"x": [2.5]}))
    ...     path.read_text()
    'x\n1.5\n2.5\n'
    """
    kind = format_of(path)
    with replacing(path) as draft:
        match kind:
            case "csv" | "tsv":
                with _text(draft, packed=is_compressed(path)) as stream:
                    delimiter = "\t" if kind == "tsv" else ","
                    yield _continued(path, _delimited(stream, delimiter))
            case "json lines":
                with _text(draft, packed=is_compressed(path)) as stream:
                    yield _continued(path, _json_lines(stream))
            case "parquet":
                with _parquet(draft, path) as write:
                    yield _continued(path, write)
            case "excel" | "npz":
                frames: list[pd.DataFrame] = []
                yield _continued(path, frames.append)
                table = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
                packed = _excel_bytes if kind == "excel" else _npz_bytes
                draft.write_bytes(packed(table, path))


def check_output(path: Path, *, inputs: Sequence[Path]) -> None:
    """Raise now what would be raised after all the work if `path` cannot be written.

    Parameters
    ----------
    path : Path
        Of a table that is to be written; nothing is written yet.
    inputs : sequence of Path
        Files that must not be touched.

    Raises
    ------
    InputError
        If the name ends in no known format, or `path` is a folder or one of `inputs`.
    OSError
        If its folder cannot be made or written to.

    Examples
    --------
    >>> check_output(Path("a.csv"), inputs=[Path("./a.csv")])
    Traceback (most recent call last):
    graphmargin._errors.InputError: a.csv is in use by this command already; choose another name
    """
    format_of(path)
    check_writable(path, inputs=inputs)


def _continued(path: Path, write: Write) -> Write:
    """Return `write` with a check that all frames have the columns of the first one."""
    names: list[str] | None = None

    def checked(frame: pd.DataFrame) -> None:
        nonlocal names
        if names is None:
            names = list(frame.columns)
        elif list(frame.columns) != names:
            msg = f"{path}: the columns are {names}, those of a later chunk {list(frame.columns)}"
            raise TableError(msg)
        write(frame)

    return checked


@contextmanager
def _text(draft: Path, *, packed: bool) -> Iterator[TextIO]:
    opener: Callable[..., Any] = gzip.open if packed else open
    with opener(draft, "wt", encoding="utf-8", newline="") as stream:
        yield stream


def _delimited(stream: TextIO, delimiter: str) -> Write:
    header = True

    def write(frame: pd.DataFrame) -> None:
        nonlocal header
        _flat(frame).to_csv(stream, sep=delimiter, header=header, index=False, lineterminator="\n")
        header = False

    return write


def _json_lines(stream: TextIO) -> Write:
    def write(frame: pd.DataFrame) -> None:
        names = list(frame.columns)
        columns = [[_json(cell) for cell in _cells(frame[name])] for name in names]
        for row in zip(*columns, strict=True):
            json.dump(dict(zip(names, row, strict=True)), stream, ensure_ascii=False)
            stream.write("\n")

    return write


@contextmanager
def _parquet(draft: Path, path: Path) -> Iterator[Write]:
    writer: pa.parquet.ParquetWriter | None = None

    def write(frame: pd.DataFrame) -> None:
        nonlocal writer
        try:
            schema = None if writer is None else writer.schema
            table = pa.Table.from_pandas(frame, schema=schema, preserve_index=False)
        except (pa.ArrowException, OverflowError) as error:
            why = "cannot be written as Parquet" if writer is None else "a later chunk does not fit"
            msg = f"{path}: {why}: {one_line(error)}"
            raise TableError(msg) from error
        if writer is None:
            writer = pa.parquet.ParquetWriter(draft, table.schema)
        writer.write_table(table)

    try:
        yield write
        if writer is None:
            write(pd.DataFrame())
    finally:
        if writer is not None:
            writer.close()


def _excel_bytes(table: pd.DataFrame, path: Path) -> bytes:
    import openpyxl
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.utils.exceptions import IllegalCharacterError

    if len(table) >= _EXCEL_ROWS:
        msg = f"{path}: Excel holds {_EXCEL_ROWS - 1:,} rows, not {len(table):,}; write Parquet"
        raise TableError(msg)
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("table")

    def cell_of(value: object) -> WriteOnlyCell:
        if isinstance(value, str) and len(value) > _EXCEL_CHARACTERS:
            msg = f"{path}: Excel holds {_EXCEL_CHARACTERS:,} characters a cell; write Parquet"
            raise TableError(msg)
        cell = WriteOnlyCell(sheet, value=value)
        if isinstance(value, str):
            cell.data_type = "s"  # text that begins with = is no formula
        return cell

    flat = _flat(table)
    rows = zip(*([_excel(cell) for cell in _cells(flat[name])] for name in flat), strict=True)
    try:
        for row in (list(table.columns), *rows):
            sheet.append([cell_of(value) for value in row])
    except IllegalCharacterError as error:
        msg = f"{path}: Excel cannot hold the characters of {str(error)[:60]!r}; write Parquet"
        raise TableError(msg) from error
    finally:
        sheet.close()
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def _npz_bytes(table: pd.DataFrame, path: Path) -> bytes:
    content = io.BytesIO()
    # Not np.savez, whose own arguments are no names for columns.
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in table.columns:
            try:
                array = _npz_array(table[name])
            except (ValueError, TypeError) as error:
                msg = f"{path}: column {name!r} cannot be an array of an npz file: {error}"
                raise TableError(msg) from error
            with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, array, allow_pickle=False)
    return content.getvalue()


def _npz_array(column: pd.Series) -> AnyArray:
    """Return a column as an array without Python objects; missing numbers are NaN, text is ""."""
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        naive = column if column.dt.tz is None else column.dt.tz_convert(None)
        return np.asarray(naive.to_numpy())
    if pd.api.types.is_bool_dtype(column.dtype) and not column.isna().any():
        return np.asarray(column.to_numpy(dtype=bool))
    if pd.api.types.is_numeric_dtype(column.dtype):
        # numpy has no decimal numbers.
        if column.isna().any() or isinstance(column.dtype, pd.ArrowDtype):
            return np.asarray(column.to_numpy(dtype=float, na_value=np.nan))
        return np.asarray(column.to_numpy(dtype=getattr(column.dtype, "numpy_dtype", None)))
    present = column[column.notna()]
    if len(present) and all(isinstance(cell, list | tuple | np.ndarray) for cell in present):
        rows = np.full((len(column), len(present.iloc[0])), np.nan)
        rows[column.notna().to_numpy()] = np.stack(present.to_list())
        return rows
    return np.array(["" if cell is None else str(cell) for cell in _cells(column)], dtype=str)


def _flat(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with lists, arrays and objects in cells as JSON."""
    return pd.DataFrame({name: _flat_column(frame[name]) for name in frame}, index=frame.index)


def _flat_column(column: pd.Series) -> pd.Series:
    is_nested = column.dtype == object or isinstance(column.dtype, pd.ArrowDtype)
    return column.map(_flat_cell) if is_nested else column


def _flat_cell(cell: Any) -> Any:
    return json.dumps(_json(cell)) if isinstance(cell, list | tuple | dict | np.ndarray) else cell


def _cells(column: pd.Series) -> list[Any]:
    """Return the cells as Python objects; missing ones are None."""
    values = column.astype(object)
    return list(values.where(column.notna(), None))


def _json(cell: Any) -> Any:
    """Return a cell as what JSON has; what is not finite is null."""
    if isinstance(cell, np.ndarray | np.generic):
        cell = cell.tolist()
    if isinstance(cell, list | tuple):
        return [_json(item) for item in cell]
    if isinstance(cell, dict):
        return {str(key): _json(value) for key, value in cell.items()}
    if isinstance(cell, decimal.Decimal):
        cell = float(cell)
    if isinstance(cell, float):
        return cell if np.isfinite(cell) else None
    if cell is None or isinstance(cell, str | int):
        return cell
    return cell.isoformat() if isinstance(cell, datetime.date | datetime.time) else str(cell)


def _excel(cell: Any) -> Any:
    """Return a cell as what Excel has."""
    if isinstance(cell, np.generic):
        cell = cell.item()
    if isinstance(cell, float) and not np.isfinite(cell):
        return str(cell)
    if isinstance(cell, int) and abs(cell) > _EXCEL_INTEGER:
        return str(cell)  # as a number it would lose its last digits
    if isinstance(cell, pd.Timestamp):
        return cell.isoformat() if cell.tz else cell.to_pydatetime()
    known = bool | int | float | str | None | decimal.Decimal | datetime.date | datetime.time
    return cell if isinstance(cell, known) else str(cell)
