"""The way out: labels in the order of the input, as Parquet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from graphmargin._errors import InputError, one_line
from graphmargin._typing import AnyArray, FloatArray, IntArray
from graphmargin.distributed.files import places_of
from graphmargin.distributed.ingest import Table
from graphmargin.distributed.run import Run, file_name
from graphmargin.distributed.source import Piece, Source, batches_of
from graphmargin.distributed.storage import DRAFT, Folder
from graphmargin.labeling.findings import GIVEN, SOURCES
from graphmargin.tables.column_names import check_not_taken, check_unique
from graphmargin.tables.errors import TableError

LABELS = "labels"
"""Folder of the packs to write: one for each part, cut by piece.

`rows` int64 sorted, `codes` int32 (-1: no label), `confidence` float64, and, for a layout with
sources, `source` int8, a place in `SOURCES`.
"""
STAGE = "writing labels"
SUCCESS = "_SUCCESS"
"""Empty file that is written when all others are."""
ROW, CONFIDENCE = "row", "confidence"


@dataclass(frozen=True)
class Layout:
    """The columns of a table with labels.

    Attributes
    ----------
    kept : Schema
        Columns of the source that stay, with their types; the number of the row if there are none.
    label : str
        Column of the labels.
    confidence : str
    source : str or None
        Where each label comes from; None is no such column.
    digits : int or None
        Of confidences; None is all.
    at : int or None
        Place of the labels among the columns that stay; None is after them.

    Examples
    --------
    >>> layout = Layout(pa.schema({"key": pa.int64()}), "y", "confidence")
    >>> layout.table(pa.table({"key": [7]}), pa.array(["cat"]), np.array([0.5]), None).to_pylist()
    [{'key': 7, 'y': 'cat', 'confidence': 0.5}]
    """

    kept: pa.Schema
    label: str
    confidence: str
    source: str | None = None
    digits: int | None = None
    at: int | None = None

    def table(
        self, kept: pa.Table, labels: pa.Array, confidence: FloatArray, sources: pa.Array | None
    ) -> pa.Table:
        """Return some rows."""
        sure = confidence if self.digits is None else np.round(confidence, self.digits)
        place = kept.num_columns if self.at is None else self.at
        table = kept.add_column(place, self.label, labels)
        table = table.append_column(self.confidence, pa.array(sure))
        return table if self.source is None else table.append_column(self.source, sources)


def ids_layout(schema: pa.Schema, label: str, columns: Sequence[str]) -> Layout:
    """Return the layout with some columns that name the rows, labels and confidences.

    Parameters
    ----------
    schema : Schema
        Of the source.
    label : str
        Column of the labels.
    columns : sequence of str
        Such as the id; none is the number of the row.

    Raises
    ------
    TableError
        If names collide, see `check_names`.
    """
    check_names(label, columns)
    return Layout(pa.schema([schema.field(name) for name in columns]), label, CONFIDENCE)


def check_names(label: str, columns: Sequence[str]) -> None:
    """Refuse names that would be there twice in a table of `ids_layout`.

    Examples
    --------
    >>> check_names("confidence", ["key"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    graphmargin.tables.errors.TableError: the table of labels: ...
    """
    if label in columns:
        msg = f"`label` and `id` are both {label!r}; labels do not name rows"
        raise TableError(msg)
    new = [label, CONFIDENCE, *([] if columns else [ROW])]
    check_unique([*columns, *new], "the table of labels: ")


def table_layout(source: Source, label: str) -> Layout:
    """Return the layout with all columns of the source, as the command `label` writes it.

    Raises
    ------
    TableError
        If the source has one of the new columns.
    """
    new = f"{label}_confidence", f"{label}_source"
    check_not_taken(new, source.schema.names, source.files[0].url)
    place = source.schema.get_field_index(label)
    return Layout(source.schema.remove(place), label, *new, digits=6, at=place)


def part_name(number: int) -> str:
    """Return the file of a piece's rows.

    Examples
    --------
    >>> part_name(7)
    'part-000007.parquet'
    """
    return f"part-{number:06d}.parquet"


def write_labels(
    run: Run, table: Table, source: Source, layout: Layout, n_parts: int, out: Folder
) -> None:
    """Write the labels of all rows in the order of the input, a file for each piece.

    Parameters
    ----------
    run : Run
        Its folder holds the labels, see `LABELS`.
    table : Table
    source : Source
    layout : Layout
    n_parts : int
        Packs of labels.
    out : Folder

    Raises
    ------
    InputError
        If not every row has exactly one label in the packs.
    """
    items = list(zip(source.pieces, table.offsets.tolist(), strict=False))
    run.stage(STAGE, _write_piece, items, table.classes, layout, n_parts, out)
    out.write_bytes(SUCCESS)


def check_new(out: Folder) -> None:
    """Refuse a folder that holds anything: nothing is overwritten.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Folder(folder).write_bytes("a", b"")
    ...     check_new(Folder(folder))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    graphmargin._errors.InputError: ... holds 'a' already; choose a new folder, or an empty one
    """
    found = out.names()
    if found:
        msg = f"{out.url} holds {found[0]!r} already; choose a new folder, or an empty one"
        raise InputError(msg)


def check_apart(folder: Folder, other: Folder, why: str) -> None:
    """Refuse a folder that is another one, or in it.

    Examples
    --------
    >>> check_apart(Folder("a/b/c"), Folder("a/b"), "which is full")
    Traceback (most recent call last):
    graphmargin._errors.InputError: a/b/c is in a/b, which is full; choose a folder outside of it
    """
    if f"{folder.url}/".startswith(f"{other.url}/"):
        msg = f"{folder.url} is in {other.url}, {why}; choose a folder outside of it"
        raise InputError(msg)


def check_outside(folder: Folder, data: Any) -> None:
    """Refuse a folder in one of those that a table is read from.

    Examples
    --------
    >>> check_outside(Folder.at("/cats/new"), ["/dogs", "/cats"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    graphmargin._errors.InputError: /cats/new is in /cats, where it would be read the next time;...
    """
    for place in places_of(data):
        check_apart(folder, Folder.at(place), "where it would be read the next time")


@contextmanager
def all_or_nothing(out: Folder) -> Iterator[Folder]:
    """Yield a folder to write to that becomes `out`, or `out` itself where nothing is renamed.

    The last file is ``_SUCCESS``. If anything fails, nothing is left.

    Parameters
    ----------
    out : Folder
        New or empty, see `check_new`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with all_or_nothing(Folder(folder) / "out") as draft:
    ...         draft.write_bytes("a.parquet", b"")
    ...     Folder(folder).names(), (Folder(folder) / "out").names()
    (['out'], ['_SUCCESS', 'a.parquet'])
    """
    folder = Folder(f"{out.url}.{uuid4().hex}{DRAFT}") if out.is_local else out
    try:
        yield folder
        folder.write_bytes(SUCCESS)
        if folder != out:
            Path(folder.url).rename(out.url)
    except BaseException:
        folder.remove()
        raise


@contextmanager
def parquet_writer(out: Folder, name: str) -> Iterator[Any]:
    """Yield a function that appends tables to a Parquet file, which is there when all are.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with parquet_writer(Folder(folder), "a.parquet") as write:
    ...         write(pa.table({"x": [1, 2]}))
    ...         write(pa.table({"x": [3]}))
    ...     pa.parquet.read_table(f"{folder}/a.parquet")["x"].to_pylist()
    [1, 2, 3]
    """
    with out.writing(name) as file:
        writer: pa.parquet.ParquetWriter | None = None

        def write(table: pa.Table) -> None:
            nonlocal writer
            if writer is None:
                writer = pa.parquet.ParquetWriter(file, table.schema)
            writer.write_table(table)

        try:
            yield write
        finally:
            if writer is not None:
                writer.close()


def kept_of(batch: pa.Table, schema: pa.Schema, first_row: int, where: str) -> pa.Table:
    """Return the columns of a batch that stay, or the numbers of its rows if none does.

    Parameters
    ----------
    batch : Table
    schema : Schema
        The columns, and the types that they have in the first file.
    first_row : int
        Number of the first row in the whole table.
    where : str
        The file, for messages.

    Examples
    --------
    >>> batch = pa.table({"x": [1, 2], "key": ["a", "b"]})
    >>> kept_of(batch, pa.schema({"key": pa.string()}), 0, "a.parquet")["key"].to_pylist()
    ['a', 'b']
    >>> kept_of(batch, pa.schema([]), 40, "a.parquet")["row"].to_pylist()
    [40, 41]
    """
    if not len(schema):
        return pa.table({ROW: np.arange(first_row, first_row + batch.num_rows)})
    try:
        return batch.select(schema.names).cast(schema)
    except pa.ArrowException as error:
        msg = f"{where} does not fit the columns of the first file: {one_line(error)}"
        raise TableError(msg) from error


def _write_piece(
    folder: Folder,
    number: int,
    item: tuple[Piece, int],
    classes: AnyArray,
    layout: Layout,
    n_parts: int,
    out: Folder,
) -> dict[str, Any]:
    piece, first_row = item
    keys = ["codes", "confidence", *([] if layout.source is None else ["source"])]
    found = _in_order(folder / LABELS, number, n_parts, first_row, piece.n_rows, keys)
    names = pa.array(classes.tolist())
    start = 0
    with parquet_writer(out, part_name(number)) as write:
        # Without a column to keep, any will do to count the rows.
        for batch in batches_of(piece, layout.kept.names or [layout.label]):
            kept = kept_of(batch, layout.kept, first_row + start, piece.url)
            rows = slice(start, start + batch.num_rows)
            labels = _taken(names, found["codes"][rows])
            sure, sources = found["confidence"][rows], None
            if layout.source is not None:
                source = found["source"][rows]
                sources = pa.array(SOURCES).take(pa.array(source))
                # Nobody doubts what was given, where it can be told from the rest.
                sure = np.where(source == SOURCES.index(GIVEN), 1.0, sure)
            write(layout.table(kept, labels, sure, sources))
            start = rows.stop
    return {}


def _taken(classes: pa.Array, codes: IntArray) -> pa.Array:
    """Return the class of each code, null where it is -1."""
    return classes.take(pa.array(codes, mask=codes < 0))


def _in_order(
    folder: Folder, number: int, n_parts: int, first_row: int, n_rows: int, keys: Sequence[str]
) -> dict[str, AnyArray]:
    """Return the labels of a piece's rows, in their order, from the packs of all parts."""
    packs = [folder.read(file_name(i), ["rows", *keys], part=number) for i in range(n_parts)]
    places = np.concatenate([pack["rows"] for pack in packs]) - first_row
    if not np.array_equal(np.sort(places), np.arange(n_rows)):
        msg = (
            f"{folder.url} does not hold one label for each of the rows {first_row:,} to "
            f"{first_row + n_rows - 1:,}; remove the folder and go on with resume=True"
        )
        raise InputError(msg)
    found = {}
    for key in keys:
        values = np.concatenate([pack[key] for pack in packs])
        found[key] = np.empty_like(values)
        found[key][places] = values
    return found
