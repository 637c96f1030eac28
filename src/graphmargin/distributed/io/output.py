"""Parquet files with labels in the order of the input, and checks of the folder for them."""

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
from graphmargin.distributed.engine.handles import Labels, StoredLabels, take_rows
from graphmargin.distributed.engine.run import Run
from graphmargin.distributed.engine.storage import DRAFT, Folder
from graphmargin.distributed.io.parquet_files import list_paths
from graphmargin.distributed.io.row_ranges import RowRange, Source, read_batches
from graphmargin.tables.column_names import check_not_taken, check_unique
from graphmargin.tables.table_errors import TableError

STAGE = "writing labels"
"""Name of the stage that writes the labels of a fit."""
SUCCESS = "_SUCCESS"
"""Name of an empty file that is written after all others."""
ROW, CONFIDENCE = "row", "confidence"


@dataclass(frozen=True)
class Layout:
    """The columns of a table with labels.

    Attributes
    ----------
    passthrough : Schema
        Columns of the source that are copied, with their types. If there are none, the number of
        each row takes their place.
    label, confidence : str
        Columns of the labels and of their confidences.
    source : str or None
        Column of the sources of the labels; None is no such column.
    digits : int or None
        Number of digits to which confidences are rounded; None does not round them.
    label_index : int or None
        Index of the column of labels among those that are copied; None is after them.

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
    label_index: int | None = None

    def table(
        self, copied: pa.Table, labels: pa.Array, confidence: FloatArray, sources: pa.Array | None
    ) -> pa.Table:
        """Return the table of some rows: their copied columns and their labels."""
        confidence = confidence if self.digits is None else np.round(confidence, self.digits)
        index = copied.num_columns if self.label_index is None else self.label_index
        table = copied.add_column(index, self.label, labels)
        table = table.append_column(self.confidence, pa.array(confidence))
        return table if self.source is None else table.append_column(self.source, sources)


def id_layout(schema: pa.Schema, label: str, columns: Sequence[str]) -> Layout:
    """Return the layout of labels and confidences beside some columns, such as the id.

    Parameters
    ----------
    schema : Schema
        Columns of the source.
    label : str
        Column of the labels.
    columns : sequence of str
        Columns to copy. If there are none, the number of each row takes their place.

    Raises
    ------
    TableError
        If two columns would have the same name, see `check_names`.
    """
    check_names(label, columns)
    return Layout(pa.schema([schema.field(name) for name in columns]), label, CONFIDENCE)


def check_names(label: str, columns: Sequence[str]) -> None:
    """Refuse names that two columns of a table of `id_layout` would have.

    Examples
    --------
    >>> check_names("confidence", ["key"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    graphmargin.tables.table_errors.TableError: the table of labels: ...
    """
    if label in columns:
        msg = f"`label` and `id` are both {label!r}; pass another column as `id`, or None"
        raise TableError(msg)
    new = [label, CONFIDENCE, *([] if columns else [ROW])]
    check_unique([*columns, *new], "the table of labels: ")


def table_layout(source: Source, label: str) -> Layout:
    """Return the layout with all columns of the source, as the command `label` writes them.

    Raises
    ------
    TableError
        If the source has one of the new columns.
    """
    new = f"{label}_confidence", f"{label}_source"
    check_not_taken(new, source.schema.names, source.files[0].url)
    index = source.schema.get_field_index(label)
    return Layout(source.schema.remove(index), label, *new, digits=6, label_index=index)


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
    """Write the labels of all rows in the order of the input, one file for each row range.

    Parameters
    ----------
    run : Run
        Its folder holds the `StoredLabels` of each partition.
    classes : array
        The class of each code.
    source : Source
    layout : Layout
    n_partitions : int
    out : Folder

    Raises
    ------
    InputError
        If the stored labels of a row are missing or are there twice.
    """
    items = list(zip(source.row_ranges, source.offsets.tolist(), strict=False))
    out.remove([SUCCESS])  # of an earlier call, as files may be written again
    run.stage(STAGE, _write_labels, items, classes, layout, n_partitions, out)
    out.write_bytes(SUCCESS)


def check_empty(out: Folder) -> None:
    """Refuse a folder that is not empty, as nothing is overwritten.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Folder(folder).write_bytes("a", b"")
    ...     check_empty(Folder(folder))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    graphmargin._errors.InputError: ... already has 'a'; choose a new folder, or an empty one
    """
    names = out.names()
    if names:
        msg = f"{out.url} already has {names[0]!r}; choose a new folder, or an empty one"
        raise InputError(msg)


def check_not_within(folder: Folder, other: Folder, why: str) -> None:
    """Refuse a folder that is equal to another one, or inside of it.

    Examples
    --------
    >>> check_not_within(Folder("a/b/c"), Folder("a/b"), "which is full")
    Traceback (most recent call last):
    graphmargin._errors.InputError: a/b/c is in a/b, which is full; choose a folder outside of it
    """
    if f"{folder.url}/".startswith(f"{other.url}/"):
        msg = f"{folder.url} is in {other.url}, {why}; choose a folder outside of it"
        raise InputError(msg)


def check_not_in_input(folder: Folder, data: Any) -> None:
    """Refuse a folder inside of one that the table is read from.

    Examples
    --------
    >>> check_not_in_input(Folder.at("/cats/new"), ["/dogs", "/cats"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    graphmargin._errors.InputError: /cats/new is in /cats, where it would be read as input;...
    """
    for path in list_paths(data):
        check_not_within(folder, Folder.at(path), "where it would be read as input")


@contextmanager
def atomic_folder(out: Folder) -> Iterator[Folder]:
    """Yield a folder to write to, which is renamed to `out` at the end if it can be renamed.

    In an object store, this is `out` itself. The last file is ``_SUCCESS``. If the block fails,
    all files are removed.

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


LabeledBatch = tuple[pa.Array, FloatArray, pa.Array | None]
"""Labels, confidences and, unless they are left out, sources of some rows."""


def write_range(
    out: Folder,
    number: int,
    item: tuple[RowRange, int],
    layout: Layout,
    columns: Sequence[str],
    label_batch: Callable[[pa.Table, int], LabeledBatch],
) -> None:
    """Write the rows of a row range with labels to one file, which is complete or not there.

    Parameters
    ----------
    out : Folder
    number : int
        Number of the row range, which names the file.
    item : tuple of RowRange and int
        The row range, and the number of its first row in the whole table.
    layout : Layout
    columns : sequence of str
        Columns to read, including those that are copied.
    label_batch : callable
        ``label_batch(batch, first)`` returns the labels of a batch, where `first` is the number
        of its first row in the row range.
    """
    row_range, first_row = item
    first, writer = 0, None
    with out.writing(output_name(number)) as file:
        try:
            for batch in read_batches(row_range, columns):
                labeled = label_batch(batch, first)
                copied = _copied_columns(
                    batch, layout.passthrough, first_row + first, row_range.url
                )
                table = layout.table(copied, *labeled)
                writer = writer or pa.parquet.ParquetWriter(file, table.schema)
                writer.write_table(table)
                first += batch.num_rows
        finally:
            if writer is not None:
                writer.close()


def _copied_columns(batch: pa.Table, schema: pa.Schema, first_row: int, where: str) -> pa.Table:
    """Return the copied columns of a batch, or the numbers of its rows if there are none."""
    if not len(schema):
        return pa.table({ROW: np.arange(first_row, first_row + batch.num_rows)})
    try:
        return batch.select(schema.names).cast(schema)
    except pa.ArrowException as error:
        msg = f"{where} has columns of other types than the first file: {one_line(error)}"
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
    stored = _stored_labels(folder, number, n_partitions, first_row, row_range.n_rows)
    names = pa.array(classes.tolist())

    def label_batch(batch: pa.Table, first: int) -> LabeledBatch:
        _, codes, confidence, is_given = take_rows(stored, slice(first, first + batch.num_rows))
        labels = names.take(pa.array(codes, mask=codes < 0))  # null for no label
        if layout.source is None:
            return labels, confidence, None
        # With sources, the confidence of given labels is 1.
        confidence = np.where(is_given, 1.0, confidence)
        return labels, confidence, pa.array(np.where(is_given, "given", "predicted"))

    # If no column is copied, any column serves to count the rows.
    columns = layout.passthrough.names or [layout.label]
    write_range(out, number, item, layout, columns, label_batch)
    return {}


def _stored_labels(
    folder: Folder, number: int, n_partitions: int, first_row: int, n_rows: int
) -> Labels:
    """Return the labels of the rows of a row range, in the order of the rows."""
    stored = StoredLabels(folder)
    labels = stored.read_all(n_partitions, Labels, part=number)
    order = np.argsort(labels.rows, kind="stable")
    if not np.array_equal(labels.rows[order], np.arange(first_row, first_row + n_rows)):
        msg = (
            f"{stored.folder.url} does not have exactly one label for each of the rows "
            f"{first_row:,} to {first_row + n_rows - 1:,}; remove the folder, and continue with "
            "resume=True"
        )
        raise InputError(msg)
    return take_rows(labels, order)
