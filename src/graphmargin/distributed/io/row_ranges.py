"""Tables in Parquet files, and the row ranges that tasks read of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
from dask.base import tokenize

from graphmargin._errors import one_line
from graphmargin._typing import IntArray
from graphmargin.distributed.engine.run import Run
from graphmargin.distributed.io.parquet_files import File, find_files, open_parquet, plain_schema
from graphmargin.tables.column_names import check_unique
from graphmargin.tables.reading import rechunk
from graphmargin.tables.table_errors import TableError

BATCH = 1 << 16
"""Number of rows that are in memory at once, beside what a task makes of them."""
MAX_SHOWN = 100
"""Number of characters of a cell in a message."""
INPUT = "input"
"""Folder that a Dask DataFrame is written to."""
ROW_RANGES = "row_ranges.json"
COMPLETE = "complete.json"


@dataclass(frozen=True)
class RowRange:
    """Rows of a file that one task reads: a few groups of rows, or some rows of one.

    Attributes
    ----------
    url : str
    first_group, end_group : int
        The first group of rows, and one past the last one.
    skip : int
        Rows of the first group that belong to an earlier row range.
    n_rows : int
    first_row : int
        In the file, from 0.

    Examples
    --------
    >>> RowRange("a.parquet", 2, 3, skip=10, n_rows=5, first_row=1010).where(4)
    'a.parquet row 1,015'
    """

    url: str
    first_group: int
    end_group: int
    skip: int
    n_rows: int
    first_row: int

    def where(self, row: int) -> str:
        """Return the place of a row of the row range in words; files count from 1."""
        return f"{self.url} row {self.first_row + row + 1:,}"


@dataclass(frozen=True)
class Source:
    """A table in Parquet files.

    Attributes
    ----------
    files : tuple of File
        In the order of the rows.
    row_ranges : tuple of RowRange
        All rows, in their order; none is empty.
    """

    files: tuple[File, ...]
    row_ranges: tuple[RowRange, ...]

    @property
    def schema(self) -> pa.Schema:
        """Columns and types of the first file; dictionaries are decoded."""
        return plain_schema(self.files[0].schema)

    @property
    def offsets(self) -> IntArray:
        """Number of the first row of each row range, and of all rows at the end."""
        return np.cumsum([0, *(row_range.n_rows for row_range in self.row_ranges)], dtype=np.int64)

    @property
    def n_rows(self) -> int:
        """Number of rows of the table."""
        return sum(row_range.n_rows for row_range in self.row_ranges)

    @property
    def fingerprint(self) -> Any:
        """JSON values that tell these files from others, and from later versions."""
        return [[file.url, file.n_rows, *file.version] for file in self.files]


def is_dask_frame(data: Any) -> bool:
    """Tell whether `data` is a Dask DataFrame.

    Examples
    --------
    >>> is_dask_frame("a.parquet")
    False
    """
    return hasattr(data, "to_parquet") and hasattr(data, "dask")


def frame_schema(frame: Any) -> pa.Schema:
    """Return the names and types of a Dask DataFrame's columns, as far as they are known."""
    check_unique(list(frame.columns), "the Dask DataFrame: ")
    odd = [name for name in frame.columns if not isinstance(name, str)]
    if odd:
        msg = f"the Dask DataFrame has a column {odd[0]!r}, whose name is no text; rename it"
        raise TableError(msg)
    columns = {name: pd.Series(dtype=dtype) for name, dtype in frame.dtypes.items()}
    return pa.Schema.from_pandas(pd.DataFrame(columns), preserve_index=False)


def frame_fingerprint(frame: Any) -> str:
    """Return what tells a Dask DataFrame from others: the token of its tasks."""
    return str(tokenize(frame))


def store_frame(run: Run, frame: Any, columns: Sequence[str]) -> Source:
    """Write columns of a Dask DataFrame to the folder of a run, once, and return them as a source.

    The rows are those of a single pass, so that all stages see the same ones, even if the frame
    would not give them in the same order twice.
    """
    folder = run.folder / INPUT
    if not folder.exists(COMPLETE):
        folder.remove()
        try:
            writing = frame[list(columns)].to_parquet(folder.url, write_index=False, compute=False)
            run.cluster.client.compute(writing).result()
        except (pa.ArrowException, ValueError) as error:
            msg = f"the Dask DataFrame cannot be written as Parquet: {one_line(error)}"
            raise TableError(msg) from error
        folder.write_json(COMPLETE, {"columns": list(columns)})
    return open_source(folder.url)


def open_source(data: Any, rows_at_most: int | None = None) -> Source:
    """Return the Parquet files that a user names, after a look at the end of each of them.

    Parameters
    ----------
    data : str, Path or a sequence of them
        Files, folders or patterns such as ``s3://bucket/day-*.parquet``. The files of a folder,
        and of folders in it, are those whose names end in .parquet, .parq or .pq, in natural
        order (9 before 10).
    rows_at_most : int, default=None
        Limit of a row range; None makes each file a row range.

    Raises
    ------
    TableError
        If there is no such file, one is not Parquet, or there is no row.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = f"{folder}/a.parquet"
    ...     pa.parquet.write_table(pa.table({"x": range(5)}), path, row_group_size=2)
    ...     source = open_source(path, rows_at_most=4)
    >>> source.offsets.tolist()
    [0, 4, 5]
    """
    files = find_files(data)
    largest = rows_at_most or max(file.n_rows for file in files)
    return _split(files, largest)


def split_rows(run: Run, source: Source, rows_at_most: int) -> Source:
    """Return a source in row ranges of so many rows at most, or those that the run began with."""
    row_ranges = [asdict(row_range) for row_range in _split(source.files, rows_at_most).row_ranges]
    checkpointed = run.checkpointed(ROW_RANGES, row_ranges)
    return Source(source.files, tuple(RowRange(**row_range) for row_range in checkpointed))


def _split(files: tuple[File, ...], rows_at_most: int) -> Source:
    return Source(files, tuple(part for file in files for part in _row_ranges(file, rows_at_most)))


def read_batches(
    row_range: RowRange, columns: Sequence[str], n_rows: int = BATCH
) -> Iterator[pa.Table]:
    """Yield the rows of a row range in tables of `n_rows`, the last one with the rest.

    Parameters
    ----------
    row_range : RowRange
    columns : sequence of str
        Those to read, at least one; dictionaries are decoded.
    n_rows : int

    Raises
    ------
    TableError
        If the file is not as it was, or is damaged.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = f"{folder}/a.parquet"
    ...     pa.parquet.write_table(pa.table({"x": range(5)}), path)
    ...     first, second = open_source(path, rows_at_most=3).row_ranges
    ...     [batch["x"].to_pylist() for batch in read_batches(second, ["x"], 2)]
    [[2, 3], [4]]
    """
    left, skip = row_range.n_rows, row_range.skip

    def wanted(file: pa.parquet.ParquetFile) -> Iterator[pa.RecordBatch]:
        nonlocal left, skip
        for group in range(row_range.first_group, row_range.end_group):
            # One group after the other: Arrow would read ahead, into memory.
            for batch in file.iter_batches(n_rows, row_groups=[group], columns=columns):
                passed = min(skip, batch.num_rows)
                rest = batch.select(columns).slice(passed, left)
                skip -= passed
                left -= rest.num_rows
                yield rest
                if not left:
                    return

    try:
        with open_parquet(row_range.url) as file:
            schema = pa.schema([file.schema_arrow.field(name) for name in columns])
            for chunk in rechunk(wanted(file), schema, n_rows):
                yield chunk.combine_chunks().cast(plain_schema(schema))
    except (pa.ArrowException, OSError, KeyError) as error:
        msg = f"{row_range.url} cannot be read, or is not as it was: {one_line(error)}"
        raise TableError(msg) from error
    if left:
        msg = f"{row_range.url} has {left:,} rows fewer than when the run began; start a new one"
        raise TableError(msg)


def show_cell(row_range: RowRange, column: str, row: int) -> str:
    """Return a cell as a message shows it, by the number of its row in the row range."""
    for batch in read_batches(row_range, [column]):
        if row < batch.num_rows:
            text = repr(batch.column(0)[row].as_py())
            return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."
        row -= batch.num_rows
    msg = f"there is no such row in the row range: {row}"
    raise IndexError(msg)


def _row_ranges(file: File, rows_at_most: int) -> Iterator[RowRange]:
    """Yield the row ranges of a file: as many groups as fit, or parts of one that is too large."""
    begins = np.cumsum([0, *file.groups]).tolist()
    group = 0
    while group < len(file.groups):
        end = group + 1
        while end < len(file.groups) and begins[end + 1] - begins[group] <= rows_at_most:
            end += 1
        n_rows = begins[end] - begins[group]
        n_partitions = -(-n_rows // rows_at_most)
        edges = [i * n_rows // max(n_partitions, 1) for i in range(n_partitions + 1)]
        for skip, stop in itertools.pairwise(edges):
            yield RowRange(file.url, group, end, skip, stop - skip, begins[group] + skip)
        group = end
