"""Tables in text files with a delimiter: CSV and TSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.csv

from graphmargin._errors import one_line
from graphmargin.tables.arrow import in_chunks
from graphmargin.tables.cells import TextKind, convert, text_kinds
from graphmargin.tables.columns import column_names
from graphmargin.tables.errors import TableError
from graphmargin.tables.streams import NOT_UTF8, opened

_HEAD = 1 << 18
# A row has to fit into a block; lists of 1,536 numbers take 30 kB.
_BLOCK = 1 << 23
_RAGGED = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")


def delimited_chunks(path: Path, n_rows: int, delimiter: str | None) -> Iterator[pa.Table]:
    r"""Yield chunks of a CSV or TSV file; a delimiter of None is found in the header.

    The file is read twice: the types of columns are those of the whole file, whatever a chunk
    looks like. A column is numbers if all its cells are (missing ones aside), else text. Files
    with semicolons may have decimal commas.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.csv"
    ...     _ = path.write_text("x,y\n1,2\n3,z\n")
    ...     [chunk.to_pylist() for chunk in delimited_chunks(path, 1, None)]
    [[{'x': 1, 'y': '2'}], [{'x': 3, 'y': 'z'}]]
    """
    with opened(path) as stream:
        head = _head(stream, path)
    delimiter = delimiter or _delimiter(head)
    names = _header(head, delimiter, path)
    kinds: list[frozenset[TextKind] | None] = [None] * len(names)
    for batch in _batches(path, names, delimiter):
        kinds = [
            _both(kind, text_kinds(cells)) for kind, cells in zip(kinds, batch.columns, strict=True)
        ]
    types = [_choose(kind, comma=delimiter == ";") for kind in kinds]
    schema = pa.schema([(name, pa.string()) for name in names])
    for chunk in in_chunks(_batches(path, names, delimiter), schema, n_rows):
        yield pa.table(
            [
                cells if kind is None else convert(cells, kind)
                for cells, kind in zip(chunk.columns, types, strict=True)
            ],
            names=names,
        )


def _head(stream: BinaryIO, path: Path) -> str:
    """Return the beginning of the file."""
    raw = stream.read(_HEAD)
    if not raw.strip(b"\xef\xbb\xbf \t\r\n"):
        msg = f"{path}: the file is empty"
        raise TableError(msg)
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):  # "Unicode text" of Excel
        msg = f"{path}: {NOT_UTF8}"
        raise TableError(msg)
    if b"\0" in raw:
        msg = f"{path}: not a text file; is the end of its name right?"
        raise TableError(msg)
    # The last character may be cut.
    return raw.decode("utf-8-sig", errors="ignore" if len(raw) == _HEAD else "strict")


def _delimiter(head: str) -> str:
    """Return the delimiter that cuts the header into most cells; a comma if none does."""
    return max(",;\t", key=lambda delimiter: len(next(_records(head, delimiter))))


def _records(head: str, delimiter: str) -> Iterator[list[str]]:
    return (row for row in csv.reader(io.StringIO(head, newline=""), delimiter=delimiter) if row)


def _header(head: str, delimiter: str, path: Path) -> list[str]:
    return column_names(next(_records(head, delimiter)), path)


def _batches(path: Path, names: list[str], delimiter: str) -> Iterator[pa.RecordBatch]:
    """Yield the rows below the header, all cells being text, empty ones null."""
    with opened(path) as stream:
        try:
            reader = pyarrow.csv.open_csv(
                stream,
                read_options=pyarrow.csv.ReadOptions(
                    use_threads=False,  # so that errors know their row
                    block_size=_BLOCK,
                    column_names=names,
                ),
                parse_options=pyarrow.csv.ParseOptions(
                    delimiter=delimiter, newlines_in_values=True
                ),
                convert_options=pyarrow.csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.string()),
                    null_values=[""],
                    strings_can_be_null=True,
                ),
            )
            header = 1
            for batch in reader:
                yield batch.slice(header)
                header = 0
        except pa.ArrowInvalid as error:
            raise _explained(error, path) from error


def _explained(error: pa.ArrowInvalid, path: Path) -> TableError:
    if ragged := _RAGGED.search(str(error)):
        row, expected, got = ragged.groups()
        return TableError(
            f"{path}: row {row} has {got} cells, the header (row 1) has {expected}; "
            "is a quote or a delimiter missing?"
        )
    if "UTF8" in str(error):
        return TableError(f"{path}: {NOT_UTF8}")
    return TableError(f"{path}: not a table: {one_line(error)}")


def _both(
    first: frozenset[TextKind] | None, second: frozenset[TextKind] | None
) -> frozenset[TextKind] | None:
    if first is None or second is None:
        return second if first is None else first
    return first & second


def _choose(kinds: frozenset[TextKind] | None, *, comma: bool) -> TextKind | None:
    order: tuple[TextKind, ...] = ("truth", "integer", "number")
    if comma:
        order += ("decimal comma",)
    return next((kind for kind in order if kinds and kind in kinds), None)
