"""Tables in Parquet files, and the row ranges that tasks read."""

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

from graphmargin._errors import InputError, one_line
from graphmargin._typing import IntArray
from graphmargin.distributed.cluster_errors import WorkDirError
from graphmargin.distributed.engine.run import Run
from graphmargin.distributed.io.parquet_files import File, decoded_schema, find_files, open_parquet
from graphmargin.tables.column_names import check_unique
from graphmargin.tables.reading import rechunk
from graphmargin.tables.table_errors import TableError

BATCH_ROWS = 1 << 16
"""Number of rows that a task reads at once."""
MAX_SHOWN = 100
"""Largest number of characters of a cell in a message."""
INPUT = "input"
"""Folder to which a Dask DataFrame is written."""
ROW_RANGES = "row_ranges"


@dataclass(frozen=True)
class RowRange:
    """Rows of a file that one task reads: a few row groups, or a part of one.

    Attributes
    ----------
    url : str
    first_group, end_group : int
        The first row group, and one past the last one.
    skip : int
        Number of rows of the first row group that belong to an earlier row range.
    n_rows : int
    first_row : int
        Number of the first row in the file, from 0.

    Examples
    --------
    >>> RowRange("a.parquet", 2, 3, skip=10, n_rows=5, first_row=1010).describe_row(4)
    'a.parquet row 1,015'
    """

    url: str
    first_group: int
    end_group: int
    skip: int
    n_rows: int
    first_row: int

    def describe_row(self, row: int) -> str:
        """Return the file of a row, and its number in that file, which counts from 1."""
        return f"{self.url} row {self.first_row + row + 1:,}"


@dataclass(frozen=True)
class Source:
    """A table in Parquet files.

    Attributes
    ----------
    files : tuple of File
        The files in the order of the rows.
    row_ranges : tuple of RowRange
        Row ranges of all rows in their order, none of which is empty.
    """

    files: tuple[File, ...]
    row_ranges: tuple[RowRange, ...]

    @property
    def schema(self) -> pa.Schema:
        """Columns and types of the first file, with dictionary-encoded columns decoded."""
        return decoded_schema(self.files[0].schema)

    @property
    def offsets(self) -> IntArray:
        """Number of the first row of each row range, followed by the number of all rows."""
        return np.cumsum([0, *(row_range.n_rows for row_range in self.row_ranges)], dtype=np.int64)

    @property
    def n_rows(self) -> int:
        """Number of rows of the table."""
        return sum(row_range.n_rows for row_range in self.row_ranges)

    @property
    def fingerprint(self) -> Any:
        """JSON values that differ for other files, and for other versions of these files."""
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
    """Return the names and types of the columns of a Dask DataFrame, as far as they are known."""
    check_unique(list(frame.columns), "the Dask DataFrame: ")
    invalid = [name for name in frame.columns if not isinstance(name, str)]
    if invalid:
        msg = f"the Dask DataFrame has a column {invalid[0]!r}; rename it, names are strings"
        raise TableError(msg)
    columns = {name: pd.Series(dtype=dtype) for name, dtype in frame.dtypes.items()}
    return pa.Schema.from_pandas(pd.DataFrame(columns), preserve_index=False)


def frame_fingerprint(frame: Any) -> str:
    """Return the token of a Dask DataFrame, which differs for other data frames."""
    return str(tokenize(frame))


def store_frame(run: Run, frame: Any, columns: Sequence[str]) -> Source:
    """Write columns of a Dask DataFrame to the folder of a run, once, and return the source.

    All stages then read the same rows, even if computing the data frame again would return them in
    another order.

    Raises
    ------
    TableError
        If the data frame does not have the types that it declares.
    InputError
        If the files cannot be written, or have changed since the run began.
    """
    folder = run.folder / INPUT
    if INPUT not in run.kept_values:
        folder.remove()
        try:
            writing = frame[list(columns)].to_parquet(folder.url, write_index=False, compute=False)
            run.cluster.client.compute(writing).result()
        except (pa.ArrowException, ValueError) as error:
            msg = f"the Dask DataFrame cannot be written as Parquet: {one_line(error)}"
            raise TableError(msg) from error
        except OSError as error:
            msg = (
                f"the Dask DataFrame cannot be written to {folder.url}: {one_line(error)}; check "
                "space and permissions there, and continue with resume=True"
            )
            raise InputError(msg) from error
    names = folder.names()
    found = run.cluster.run(f"check of {INPUT}", folder.checksum, names)
    checksums = dict(zip(names, found, strict=True))
    kept = run.checkpointed(INPUT, checksums)
    if kept != checksums:
        changed = next(k for k in {**kept, **checksums} if kept.get(k) != checksums.get(k))
        msg = (
            f"{folder.path(changed)} is missing or has changed since the run began; start a new "
            "run in another folder"
        )
        raise WorkDirError(msg)
    return open_source(folder.url)


def open_source(data: Any, max_rows: int | None = None) -> Source:
    """Return the source of Parquet files; only the footer of each file is read.

    Parameters
    ----------
    data : str, Path or a sequence of them
        Files, folders or patterns such as ``s3://bucket/day-*.parquet``. The files of a folder,
        and of folders in it, are those whose names end in .parquet, .parq or .pq, in natural
        order (9 before 10).
    max_rows : int, default=None
        Largest number of rows of a row range; None makes each file a row range.

    Raises
    ------
    TableError
        If a path does not exist, a file is not a Parquet file, or there are no rows.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = f"{folder}/a.parquet"
    ...     pa.parquet.write_table(pa.table({"x": range(5)}), path, row_group_size=2)
    ...     source = open_source(path, max_rows=4)
    >>> source.offsets.tolist()
    [0, 4, 5]
    """
    files = find_files(data)
    largest = max_rows or max(file.n_rows for file in files)
    return _split(files, largest)


def split_rows(run: Run, source: Source, max_rows: int) -> Source:
    """Return a source with row ranges of at most `max_rows`, or those of a resumed run."""
    row_ranges = [asdict(row_range) for row_range in _split(source.files, max_rows).row_ranges]
    checkpointed = run.checkpointed(ROW_RANGES, row_ranges)
    return Source(source.files, tuple(RowRange(**row_range) for row_range in checkpointed))


def _split(files: tuple[File, ...], max_rows: int) -> Source:
    return Source(files, tuple(part for file in files for part in _row_ranges(file, max_rows)))


def read_batches(
    row_range: RowRange, columns: Sequence[str], n_rows: int = BATCH_ROWS
) -> Iterator[pa.Table]:
    """Yield the rows of a row range in tables of `n_rows`; the last one may have fewer.

    Parameters
    ----------
    row_range : RowRange
    columns : sequence of str
        Columns to read, at least one; dictionary-encoded columns are decoded.
    n_rows : int

    Raises
    ------
    TableError
        If the file has changed, or is damaged.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = f"{folder}/a.parquet"
    ...     pa.parquet.write_table(pa.table({"x": range(5)}), path)
    ...     first, second = open_source(path, max_rows=3).row_ranges
    ...     [batch["x"].to_pylist() for batch in read_batches(second, ["x"], 2)]
    [[2, 3], [4]]
    """
    n_left, n_skipped = row_range.n_rows, row_range.skip

    def batches_of_range(file: pa.parquet.ParquetFile) -> Iterator[pa.RecordBatch]:
        nonlocal n_left, n_skipped
        for group in range(row_range.first_group, row_range.end_group):
            # Arrow would read several row groups ahead into memory.
            for batch in file.iter_batches(n_rows, row_groups=[group], columns=columns):
                first = min(n_skipped, batch.num_rows)
                rows = batch.select(columns).slice(first, n_left)
                n_skipped -= first
                n_left -= rows.num_rows
                yield rows
                if not n_left:
                    return

    try:
        with open_parquet(row_range.url) as file:
            schema = pa.schema([file.schema_arrow.field(name) for name in columns])
            for chunk in rechunk(batches_of_range(file), schema, n_rows):
                yield chunk.combine_chunks().cast(decoded_schema(schema))
    except (pa.ArrowException, OSError, KeyError) as error:
        msg = f"{row_range.url} cannot be read, or has changed: {one_line(error)}"
        raise TableError(msg) from error
    if n_left:
        msg = (
            f"{row_range.url} has {n_left:,} fewer rows than when the run began; start a new run "
            "in another folder"
        )
        raise TableError(msg)


def format_cell(row_range: RowRange, column: str, row: int) -> str:
    """Return the text of a cell for a message, by the number of its row in the row range."""
    for batch in read_batches(row_range, [column]):
        if row < batch.num_rows:
            text = repr(batch.column(0)[row].as_py())
            return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."
        row -= batch.num_rows
    msg = f"the row range has no row {row}"
    raise IndexError(msg)


def _row_ranges(file: File, max_rows: int) -> Iterator[RowRange]:
    """Yield the row ranges of a file: several row groups each, or parts of a large one."""
    starts = np.cumsum([0, *file.groups]).tolist()
    group = 0
    while group < len(file.groups):
        end = group + 1
        while end < len(file.groups) and starts[end + 1] - starts[group] <= max_rows:
            end += 1
        n_rows = starts[end] - starts[group]
        n_parts = -(-n_rows // max_rows)
        edges = [i * n_rows // max(n_parts, 1) for i in range(n_parts + 1)]
        for skip, stop in itertools.pairwise(edges):
            yield RowRange(file.url, group, end, skip, stop - skip, starts[group] + skip)
        group = end
