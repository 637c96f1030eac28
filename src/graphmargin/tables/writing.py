"""Writing tables to files."""

from __future__ import annotations

import gzip
import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TextIO, TypeAlias

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from graphmargin._errors import one_line
from graphmargin._files import atomic_path
from graphmargin._permissions import made_from
from graphmargin.tables.cell_values import excel_value, json_value, nested_as_json, python_cells
from graphmargin.tables.column_names import column_names
from graphmargin.tables.delimited_text import SEPARATORS, TextLayout, read_layout
from graphmargin.tables.file_formats import format_of
from graphmargin.tables.format_limits import check_storable
from graphmargin.tables.table_errors import TableError

Write: TypeAlias = Callable[[pd.DataFrame], None]


@contextmanager
def table_writer(path: Path, *, like: Path | None = None) -> Iterator[Write]:
    r"""Yield a function that appends frames to a table; the file appears when the block ends.

    If writing or the block fails, an old file stays as it is and no new file appears.
    CSV, TSV, Parquet and JSON lines are written frame by frame; Excel collects the whole table.
    Text is written unchanged. Lists and arrays in cells become JSON lists in CSV, TSV and Excel.
    All frames must have the columns of the first one, and in Parquet its types.

    Parameters
    ----------
    path : Path
        The ending of its name is the format, as in `read_table`.
    like : Path, optional
        File from which the rows come. If both are CSV, the new one has its separator, its header,
        its line ends and its byte order mark. A new file has no more permissions than this one.

    Raises
    ------
    TableError
        If the format cannot store a frame, or a frame has other columns or types than the first.
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
    file_format = format_of(path)
    layout = TextLayout(separator="\t" if file_format == "tsv" else ",")
    if like is not None and file_format in ("csv", "tsv") and format_of(like) == file_format:
        layout = read_layout(like, layout.separator if file_format == "tsv" else None)
    inputs = () if like is None else (like,)
    with made_from(*inputs), atomic_path(path) as draft, ExitStack() as files:
        match file_format:
            case "csv" | "tsv":
                stream = _create_text(draft, path, files)
                yield _with_checks(path, _delimited_writer(stream, layout, path))
            case "json lines":
                yield _with_checks(path, _json_lines_writer(_create_text(draft, path, files)))
            case "parquet":
                yield _with_checks(path, files.enter_context(_parquet_writer(draft, path)))
            case "excel":
                frames: list[pd.DataFrame] = []
                yield _with_checks(path, frames.append)
                table = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
                check_storable(table, path)
                draft.write_bytes(_excel_bytes(table))
        files.close()


def _with_checks(path: Path, write: Write) -> Write:
    """Return `write`, preceded by checks that a frame can be stored, as a part of one table."""
    names: list[str] | None = None

    def checked(frame: pd.DataFrame) -> None:
        nonlocal names
        if names is None:
            names = list(frame.columns)
        elif list(frame.columns) != names:
            msg = f"{path}: the columns are {names}, but {list(frame.columns)} in a later chunk"
            raise TableError(msg)
        check_storable(frame, path)
        write(frame)

    return checked


def _create_text(draft: Path, path: Path, files: ExitStack) -> TextIO:
    """Return a stream for the text of a draft, compressed if `path` ends in .gz or .zip."""
    raw: Any = files.enter_context(draft.open("wb"))
    match path.suffix.lower():
        case ".gz":
            raw = files.enter_context(gzip.GzipFile(path.stem, "wb", fileobj=raw))
        case ".zip":
            archive = files.enter_context(zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED))
            member = path.stem if Path(path.stem).suffix else f"{path.stem}.csv"
            raw = files.enter_context(archive.open(member, "w", force_zip64=True))
    return files.enter_context(io.TextIOWrapper(raw, encoding="utf-8", newline=""))


def _delimited_writer(stream: TextIO, layout: TextLayout, path: Path) -> Write:
    separator, line_end = layout.separator, layout.line_end
    is_first = True

    def write_rows(columns: list[pa.Array], separators: str) -> None:
        # Quotes distinguish empty text from a missing cell, and a first cell from a file's mark.
        special = rf'[{re.escape(separators)}"\r\n]|^$|^\x{{feff}}|^(?i:sep=)'
        cells = [_quote_cells(column, special) for column in columns]
        empty_cell = '""' if len(columns) == 1 else ""
        rows = pc.binary_join_element_wise(
            *cells, _string_scalar(separator), null_handling="replace", null_replacement=empty_cell
        )
        stream.writelines(f"{row}{line_end}" for row in rows.to_pylist())

    def write(frame: pd.DataFrame) -> None:
        nonlocal is_first
        if is_first:
            stream.write("\ufeff" * layout.has_bom)
            stream.write(f"sep={separator}{line_end}" * layout.has_separator_line)
            names, n_old = list(frame.columns), len(layout.header)
            if layout.header and column_names(layout.header, path) == names[:n_old]:
                names = [*layout.header, *names[n_old:]]
            # Readers find out the separator by the header.
            header = [pa.array([name or None], pa.large_string()) for name in names]
            write_rows(header, separator + SEPARATORS)
            is_first = False
        write_rows([_text_cells(frame.iloc[:, i]) for i in range(frame.shape[1])], separator)

    return write


def _text_cells(column: pd.Series) -> pa.Array:
    """Return a column as text, null where missing; lists, arrays and mappings become JSON."""
    if pd.api.types.is_string_dtype(column.dtype) and column.dtype != object:
        return pa.array(column, pa.large_string(), from_pandas=True)
    cells = [None if cell is None else str(nested_as_json(cell)) for cell in python_cells(column)]
    return pa.array(cells, pa.large_string())


def _quote_cells(cells: pa.Array, special: str) -> pa.Array:
    """Return cells, with quotes around those that need them."""
    is_special = pc.match_substring_regex(cells, special)
    if not pc.any(is_special).as_py():
        return cells
    doubled = pc.replace_substring(cells, '"', '""')
    quote = _string_scalar('"')
    return pc.if_else(
        is_special, pc.binary_join_element_wise(quote, doubled, quote, _string_scalar("")), cells
    )


def _string_scalar(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())


def _json_lines_writer(stream: TextIO) -> Write:
    def write(frame: pd.DataFrame) -> None:
        names = list(frame.columns)
        columns = [[json_value(cell) for cell in python_cells(frame[name])] for name in names]
        for row in zip(*columns, strict=True):
            json.dump(dict(zip(names, row, strict=True)), stream, ensure_ascii=False)
            stream.write("\n")

    return write


@contextmanager
def _parquet_writer(draft: Path, path: Path) -> Iterator[Write]:
    writer: pa.parquet.ParquetWriter | None = None

    def write(frame: pd.DataFrame) -> None:
        nonlocal writer
        try:
            schema = None if writer is None else writer.schema
            table = pa.Table.from_pandas(frame, schema=schema, preserve_index=False)
            if writer is None:
                writer = pa.parquet.ParquetWriter(draft, table.schema)
        except (pa.ArrowException, OverflowError) as error:
            msg = f"{path}: Parquet needs one type for each column: {one_line(error)}"
            raise TableError(msg) from error
        writer.write_table(table)

    try:
        yield write
        if writer is None:
            write(pd.DataFrame())
    finally:
        if writer is not None:
            writer.close()


def _excel_bytes(table: pd.DataFrame) -> bytes:
    import openpyxl
    from openpyxl.cell import WriteOnlyCell

    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("table")

    def cell_of(value: object) -> WriteOnlyCell:
        cell = WriteOnlyCell(sheet, value=value)
        if isinstance(value, str):
            cell.data_type = "s"  # else text that begins with = would be a formula
        return cell

    columns = [map(excel_value, python_cells(table.iloc[:, i])) for i in range(table.shape[1])]
    for row in (list(table.columns), *zip(*columns, strict=True)):
        sheet.append([cell_of(value) for value in row])
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()
