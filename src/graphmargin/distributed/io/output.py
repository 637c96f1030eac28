"""Tables of labels in the order of the input, as Parquet files, and where they may be written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from graphmargin._errors import InputError, one_line
from graphmargin._typing import AnyArray, FloatArray
from graphmargin.distributed.engine.handles import Labels, StoredLabels, taken
from graphmargin.distributed.engine.run import Run
from graphmargin.distributed.engine.storage import DRAFT, Folder
from graphmargin.distributed.io.parquet_files import places_of
from graphmargin.distributed.io.row_ranges import RowRange, Source, read_batches
from graphmargin.labeling.findings import GIVEN, SOURCES
from graphmargin.tables.column_names import check_not_taken, check_unique
from graphmargin.tables.table_errors import TableError

STAGE = "writing labels"
"""Stage that writes the labels of a fit."""
SUCCESS = "_SUCCESS"
"""Name of an empty file that is written when all others are."""
ROW, CONFIDENCE = "row", "confidence"


@dataclass(frozen=True)
class Layout:
    """The columns of a table with labels.

    Attributes
    ----------
    passthrough : Schema
        Columns of the source that are copied, with their types; the number of the row if there are
        none.
    label : str
        Column of the labels.
    confidence : str
    source : str or None
        Column that tells where each label comes from; None is no such column.
    digits : int or None
        Number of digits of confidences; None is all.
    at : int or None
        Place of the labels among the columns that are copied; None is after them.

    Examples
    --------
    >>> layout = Layout(pa.schema({"key": pa.int64()}), "y", "confidence")
    >>> layout.table(pa.table({"key": [7]}), pa.array(["cat"]), np.array([0.5]), None).to_pylist()
    [{'key': 7, 'y': 'cat', 'confidence': 0.5}]
    """

    passthrough: pa.Schema
    label: str
    confidence: str
    source: str | None = None
    digits: int | None = None
    at: int | None = None

    def table(
        self, copied: pa.Table, labels: pa.Array, confidence: FloatArray, sources: pa.Array | None
    ) -> pa.Table:
        """Return a table of some rows."""
        confidence = confidence if self.digits is None else np.round(confidence, self.digits)
        place = copied.num_columns if self.at is None else self.at
        table = copied.add_column(place, self.label, labels)
        table = table.append_column(self.confidence, pa.array(confidence))
        return table if self.source is None else table.append_column(self.source, sources)


def ids_layout(schema: pa.Schema, label: str, columns: Sequence[str]) -> Layout:
    """Return the layout with some columns that name the rows, labels and confidences.

    Parameters
    ----------
    schema : Schema
        Columns of the source.
    label : str
        Column of the labels.
    columns : sequence of str
        Columns to copy, such as the id; the number of the row if there are none.

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
    graphmargin.tables.table_errors.TableError: the table of labels: ...
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


def output_name(number: int) -> str:
    """Return the name of the file with the rows of a row range.

    Examples
    --------
    >>> output_name(7)
    'part-000007.parquet'
    """
    return f"part-{number:06d}.parquet"


def write_labels(
    run: Run, classes: AnyArray, source: Source, layout: Layout, n_partitions: int, out: Folder
) -> None:
    """Write the labels of all rows in the order of the input, a file for each row range.

    Parameters
    ----------
    run : Run
        Its folder holds the `StoredLabels` of each partition.
    classes : array
        The label of each code.
    source : Source
    layout : Layout
    n_partitions : int
    out : Folder

    Raises
    ------
    InputError
        If not every row has exactly one of the stored labels.
    """
    items = list(zip(source.row_ranges, source.offsets.tolist(), strict=False))
    run.stage(STAGE, _write_labels, items, classes, layout, n_partitions, out)
    out.write_bytes(SUCCESS)


def check_empty(out: Folder) -> None:
    """Refuse a folder that holds anything: nothing is overwritten.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Folder(folder).write_bytes("a", b"")
    ...     check_empty(Folder(folder))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    graphmargin._errors.InputError: ... holds 'a' already; choose a new folder, or an empty one
    """
    names = out.names()
    if names:
        msg = f"{out.url} holds {names[0]!r} already; choose a new folder, or an empty one"
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
def atomic_folder(out: Folder) -> Iterator[Folder]:
    """Yield a folder to write to that becomes `out`, or `out` itself where nothing is renamed.

    The last file is ``_SUCCESS``. If anything fails, nothing is left.

    Parameters
    ----------
    out : Folder
        New or empty, see `check_empty`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_folder(Folder(folder) / "out") as draft:
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


Labeled = tuple[pa.Array, FloatArray, pa.Array | None]
"""Labels, confidences and, if they are known, sources of some rows."""


def write_range(
    out: Folder,
    number: int,
    item: tuple[RowRange, int],
    layout: Layout,
    columns: Sequence[str],
    label_batch: Callable[[pa.Table, int], Labeled],
) -> None:
    """Write the rows of a row range with labels, batch by batch, to one file, or none if it fails.

    Parameters
    ----------
    out : Folder
    number : int
        Number of the row range, which names the file.
    item : tuple of RowRange and int
        The row range, and the number of its first row in the whole table.
    layout : Layout
    columns : sequence of str
        Columns to read, those that are copied among them.
    label_batch : callable
        ``label_batch(batch, first)`` labels a batch, whose first row has this number in the row
        range.
    """
    row_range, first_row = item
    first, writer = 0, None
    with out.writing(output_name(number)) as file:
        try:
            for batch in read_batches(row_range, columns):
                labeled = label_batch(batch, first)
                copied = _copied(batch, layout.passthrough, first_row + first, row_range.url)
                table = layout.table(copied, *labeled)
                writer = writer or pa.parquet.ParquetWriter(file, table.schema)
                writer.write_table(table)
                first += batch.num_rows
        finally:
            if writer is not None:
                writer.close()


def _copied(batch: pa.Table, schema: pa.Schema, first_row: int, where: str) -> pa.Table:
    """Return the columns of a batch that are copied, or the numbers of its rows if none is."""
    if not len(schema):
        return pa.table({ROW: np.arange(first_row, first_row + batch.num_rows)})
    try:
        return batch.select(schema.names).cast(schema)
    except pa.ArrowException as error:
        msg = f"{where} does not fit the columns of the first file: {one_line(error)}"
        raise TableError(msg) from error


def _write_labels(
    folder: Folder,
    number: int,
    item: tuple[RowRange, int],
    classes: AnyArray,
    layout: Layout,
    n_partitions: int,
    out: Folder,
) -> dict[str, Any]:
    """Write the labels of the rows of a row range."""
    row_range, first_row = item
    stored = _in_order(folder, number, n_partitions, first_row, row_range.n_rows)
    names = pa.array(classes.tolist())

    def label_batch(batch: pa.Table, first: int) -> Labeled:
        _, codes, confidence, source = taken(stored, slice(first, first + batch.num_rows))
        labels = names.take(pa.array(codes, mask=codes < 0))  # null where there is none
        if layout.source is None:
            return labels, confidence, None
        # Given labels are certain, where they can be told from the rest.
        confidence = np.where(source == SOURCES.index(GIVEN), 1.0, confidence)
        return labels, confidence, pa.array(SOURCES).take(pa.array(source))

    # Without a column to copy, any will do to count the rows.
    columns = layout.passthrough.names or [layout.label]
    write_range(out, number, item, layout, columns, label_batch)
    return {}


def _in_order(
    folder: Folder, number: int, n_partitions: int, first_row: int, n_rows: int
) -> Labels:
    """Return the labels of the rows of a row range, in their order, from all partitions."""
    stored = StoredLabels(folder)
    labels = stored.read_all(n_partitions, Labels, part=number)
    order = np.argsort(labels.rows, kind="stable")
    if not np.array_equal(labels.rows[order], np.arange(first_row, first_row + n_rows)):
        msg = (
            f"{stored.folder.url} does not hold one label for each of the rows {first_row:,} to "
            f"{first_row + n_rows - 1:,}; remove the folder and go on with resume=True"
        )
        raise InputError(msg)
    return taken(labels, order)
