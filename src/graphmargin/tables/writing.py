"""Tables to files."""

from __future__ import annotations

import datetime
import decimal
import gzip
import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TextIO, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from graphmargin._errors import one_line
from graphmargin._files import atomic_path, check_writable
from graphmargin.tables.column_names import column_names
from graphmargin.tables.delimited_text import TextLayout, read_layout
from graphmargin.tables.file_formats import Format, format_of
from graphmargin.tables.table_errors import TableError

Write: TypeAlias = Callable[[pd.DataFrame], None]

# Limits of Excel.
_EXCEL_ROWS = 1_048_576
_EXCEL_CHARACTERS = 32_767
_EXCEL_INTEGER = 10**15


@contextmanager
def table_writer(path: Path, *, like: Path | None = None) -> Iterator[Write]:
    r"""Yield a function that appends frames to a table, which becomes the file at the end.

    If anything fails, on the way or in the block, the old file stays and nothing else is left.
    CSV, TSV, Parquet and JSON lines are written frame by frame; Excel collects the whole table.
    Text is written as it is. Lists and arrays in cells become JSON lists in CSV, TSV and Excel. All
    frames must have the columns of the first one, and in Parquet its types.

    Parameters
    ----------
    path : Path
        The end of its name tells the format, as in `read_table`; npz files are not written.
    like : Path, optional
        File that the rows come from. If both are CSV, the new one has its separator, its header,
        its line ends and its byte order mark.

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
    ...         write(pd.DataFrame({"x": ["2.50"]}))
    ...     path.read_text()
    'x\n1.5\n2.50\n'
    """
    kind = _written_format(path)
    layout = TextLayout(separator="\t" if kind == "tsv" else ",")
    if like is not None and kind in ("csv", "tsv") and format_of(like) == kind:
        layout = read_layout(like, layout.separator if kind == "tsv" else None)
    with atomic_path(path) as draft, ExitStack() as files:
        match kind:
            case "csv" | "tsv":
                stream = _create_text(draft, path, files)
                yield _continued(path, _delimited(stream, layout, path))
            case "json lines":
                yield _continued(path, _json_lines(_create_text(draft, path, files)))
            case "parquet":
                yield _continued(path, files.enter_context(_parquet(draft, path)))
            case "excel":
                frames: list[pd.DataFrame] = []
                yield _continued(path, frames.append)
                table = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
                draft.write_bytes(_excel_bytes(table, path))
        files.close()


def check_output(path: Path, *, inputs: Sequence[Path]) -> None:
    """Raise now what would be raised after all the work if a table cannot be written.

    This is a `TableError` if the name ends in no known format, an `InputError` if `path` is a
    folder or one of `inputs`, and an `OSError` if its folder cannot be made or written to.

    Examples
    --------
    >>> check_output(Path("a.csv"), inputs=[Path("./a.csv")])
    Traceback (most recent call last):
    graphmargin._errors.InputError: a.csv is in use by this command already; choose another name
    """
    _written_format(path)
    check_writable(path, inputs=inputs)


def _written_format(path: Path) -> Format:
    kind = format_of(path)
    if kind == "npz":
        msg = f"{path}: npz files are read, not written; write Parquet"
        raise TableError(msg)
    return kind


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


def _create_text(draft: Path, path: Path, files: ExitStack) -> TextIO:
    """Return a stream for the text of a draft, compressed as the name of `path` tells."""
    raw: Any = files.enter_context(draft.open("wb"))
    match path.suffix.lower():
        case ".gz":
            raw = files.enter_context(gzip.GzipFile(path.stem, "wb", fileobj=raw))
        case ".zip":
            archive = files.enter_context(zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED))
            member = path.stem if Path(path.stem).suffix else f"{path.stem}.csv"
            raw = files.enter_context(archive.open(member, "w", force_zip64=True))
    return files.enter_context(io.TextIOWrapper(raw, encoding="utf-8", newline=""))


def _delimited(stream: TextIO, layout: TextLayout, path: Path) -> Write:
    separator, line_end = layout.separator, layout.line_end
    # Quotes also tell text without characters, and a first cell like a mark of the file, apart.
    special = rf'[{re.escape(separator)}"\r\n]|^$|^\x{{feff}}|^(?i:sep=)'
    is_first = True

    def write_rows(columns: list[pa.Array]) -> None:
        cells = [_quoted(column, special) for column in columns]
        nothing = '""' if len(columns) == 1 else ""
        rows = pc.binary_join_element_wise(
            *cells, _scalar(separator), null_handling="replace", null_replacement=nothing
        )
        stream.writelines(f"{row}{line_end}" for row in rows.to_pylist())

    def write(frame: pd.DataFrame) -> None:
        nonlocal is_first
        if is_first:
            stream.write("\ufeff" * layout.has_bom)
            stream.write(f"sep={separator}{line_end}" * layout.has_separator_line)
            names, n_known = list(frame.columns), len(layout.header)
            if layout.header and column_names(layout.header, path) == names[:n_known]:
                names = [*layout.header, *names[n_known:]]
            write_rows([pa.array([name or None], pa.large_string()) for name in names])
            is_first = False
        write_rows([_text_cells(frame.iloc[:, i]) for i in range(frame.shape[1])])

    return write


def _text_cells(column: pd.Series) -> pa.Array:
    """Return a column as text, null where missing; lists, arrays and objects are JSON."""
    if pd.api.types.is_string_dtype(column.dtype) and column.dtype != object:
        return pa.array(column, pa.large_string(), from_pandas=True)
    cells = [None if cell is None else str(_flat(cell)) for cell in _cells(column)]
    return pa.array(cells, pa.large_string())


def _quoted(cells: pa.Array, special: str) -> pa.Array:
    """Return cells with quotes around those that need them."""
    needed = pc.match_substring_regex(cells, special)
    if not pc.any(needed).as_py():
        return cells
    doubled = pc.replace_substring(cells, '"', '""')
    quote = _scalar('"')
    return pc.if_else(
        needed, pc.binary_join_element_wise(quote, doubled, quote, _scalar("")), cells
    )


def _scalar(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())


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

    columns = [map(_excel, _cells(table.iloc[:, i])) for i in range(table.shape[1])]
    rows = zip(*columns, strict=True)
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


def _flat(cell: Any) -> Any:
    """Return a list, an array or an object as JSON, and any other cell as it is."""
    if isinstance(cell, list | tuple | dict | np.ndarray):
        return json.dumps(_json(cell), ensure_ascii=False)
    return cell.item() if isinstance(cell, np.generic) else cell


def _excel(cell: Any) -> Any:
    """Return a cell as what Excel has."""
    cell = _flat(cell)
    if isinstance(cell, float) and not np.isfinite(cell):
        return str(cell)
    if isinstance(cell, int) and abs(cell) > _EXCEL_INTEGER:
        return str(cell)  # as a number it would lose its last digits
    if isinstance(cell, pd.Timestamp):
        return cell.isoformat() if cell.tz else cell.to_pydatetime()
    known = bool | int | float | str | None | decimal.Decimal | datetime.date | datetime.time
    return cell if isinstance(cell, known) else str(cell)
