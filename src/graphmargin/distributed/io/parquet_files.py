"""Parquet files by the names that users give them, and the columns in them."""

from __future__ import annotations

import difflib
import os
import posixpath
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet
from dask.utils import natural_sort_key

from graphmargin._errors import one_line
from graphmargin.distributed.engine.storage import url_to_fs
from graphmargin.tables.column_names import check_unique, format_names
from graphmargin.tables.table_errors import TableError

ENDINGS = (".parquet", ".parq", ".pq")
"""Endings of the names of files that are read in a folder."""
_BUFFER = 1 << 20
_READERS = 16


@dataclass(frozen=True)
class File:
    """A Parquet file by its URL, what it holds, and what tells it from a later version."""

    url: str
    groups: tuple[int, ...]
    """Rows of each group of rows."""
    schema: pa.Schema
    version: tuple[str, ...]

    @property
    def n_rows(self) -> int:
        """Rows in all groups."""
        return sum(self.groups)


def find_files(data: Any) -> tuple[File, ...]:
    """Return the Parquet files that a user names, after a look at the end of each of them.

    Parameters
    ----------
    data : str, Path or a sequence of them
        See `graphmargin.distributed.io.row_ranges.open_source`.

    Raises
    ------
    TableError
        If there is no such file, one is not Parquet, or there is no row.
    """
    urls = [url for place in places_of(data) for url in _urls(place)]
    twice = next((url for url, count in Counter(urls).items() if count > 1), None)
    if twice is not None:
        msg = f"{twice} is named twice in `data`; name it once"
        raise TableError(msg)
    with ThreadPoolExecutor(_READERS) as pool:
        files = tuple(pool.map(_footer, urls))
    if not sum(file.n_rows for file in files):
        msg = f"{_shown(data)} has no rows"
        raise TableError(msg)
    return files


def check_types(files: Sequence[File], columns: Sequence[str], *, but: Sequence[str] = ()) -> None:
    """Refuse files without some of the columns, or with other types than the first file.

    Parameters
    ----------
    files : sequence of File
    columns : sequence of str
        Those that are in use.
    but : sequence of str
        Columns of `columns` that may have any type.

    Examples
    --------
    >>> first, second = pa.schema({"x": pa.int64()}), pa.schema({"x": pa.string()})
    >>> files = File("a", (1,), first, ()), File("b", (1,), second, ())
    >>> check_types(files, ["x"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    graphmargin.tables.table_errors.TableError: column 'x' is int64 in a, and string in b; write...
    """
    first = files[0]
    for file in files:
        check_columns(file.schema, columns, file.url)
        for name in columns:
            here, there = (plain_type(each.schema.field(name).type) for each in (first, file))
            if name not in but and not _is_like(here, there):
                msg = (
                    f"column {name!r} is {here} in {first.url}, and {there} in {file.url}; write "
                    "all files with one type"
                )
                raise TableError(msg)


def check_columns(schema: pa.Schema, columns: Sequence[str], where: str) -> None:
    """Refuse a table that has not all of the columns, with those that may be meant.

    Examples
    --------
    >>> schema = pa.schema({"size": pa.int64(), "color": pa.string()})
    >>> check_columns(schema, ["size", "colour"], "a.parquet")
    Traceback (most recent call last):
    graphmargin.tables.table_errors.TableError: a.parquet has no column 'colour'; did you mean 'color'? it has: 'size', 'color'
    """  # noqa: E501 - an error is one line
    absent = [name for name in columns if name not in schema.names]
    if absent:
        close = difflib.get_close_matches(str(absent[0]), schema.names, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        if f"/{absent[0]}=" in where:
            hint = "columns in the names of folders are not read, write them to the files; "
        noun = "column" if len(absent) == 1 else "columns"
        has = format_names(schema.names)
        msg = f"{where} has no {noun} {format_names(absent)}; {hint}it has: {has}"
        raise TableError(msg)


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values of a column, which may be dictionary-encoded.

    Examples
    --------
    >>> plain_type(pa.dictionary(pa.int8(), pa.string()))
    DataType(string)
    """
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """Return a schema without dictionaries."""
    return pa.schema([pa.field(field.name, plain_type(field.type)) for field in schema])


def _is_like(one: pa.DataType, other: pa.DataType) -> bool:
    return one == other or (_is_text(one) and _is_text(other))


def _is_text(kind: pa.DataType) -> bool:
    checks = pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view
    return any(check(kind) for check in checks)


def places_of(data: Any) -> list[str]:
    """Return the files, folders and patterns that a user names, as text.

    Examples
    --------
    >>> from pathlib import Path
    >>> places_of("a.parquet"), places_of(["a", Path("b")])
    (['a.parquet'], ['a', 'b'])
    """
    places = list(data) if isinstance(data, list | tuple) else [data]
    if not places:
        msg = "`data` names no file"
        raise TableError(msg)
    strange = [place for place in places if not isinstance(place, str | PathLike)]
    if strange:
        msg = (
            f"`data` must be the path or URL of Parquet files, or a list of them, got "
            f"{type(strange[0]).__name__}; write tables in memory with to_parquet (`fit` takes a "
            "Dask DataFrame, too)"
        )
        raise TableError(msg)
    return [os.fspath(place) for place in places]


def _shown(data: Any) -> str:
    places = places_of(data)
    return places[0] if len(places) == 1 else f"{places[0]}, and {len(places) - 1:,} more,"


def _urls(place: str) -> list[str]:
    """Return the files at a place, in the order of their rows."""
    system, path = url_to_fs(place)
    if system.isfile(path):
        return [_url(system, path)]
    if system.isdir(path):
        inside = (name for name in system.find(path) if name.endswith(ENDINGS))
        # Names that begin so are for other programs, such as _metadata.
        names = [name for name in inside if not _is_hidden(posixpath.relpath(name, path))]
    else:
        names = [name for name in system.glob(path) if system.isfile(name)]
    if not names:
        kind = "holds no file that ends in .parquet" if system.isdir(path) else "is not there"
        msg = f"{place} {kind}"
        raise TableError(msg)
    return [_url(system, name) for name in sorted(names, key=natural_sort_key)]


def _url(system: fsspec.AbstractFileSystem, path: str) -> str:
    name = str(system.unstrip_protocol(path))
    return name.removeprefix("file://")


def _is_hidden(path: str) -> bool:
    return any(part.startswith(("_", ".")) for part in path.split("/"))


def _footer(url: str) -> File:
    system, path = url_to_fs(url)
    try:
        with open_parquet(url) as file:
            groups = tuple(
                file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)
            )
            schema = file.schema_arrow.remove_metadata()
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        msg = f"{url}: not a Parquet file, or a damaged one: {one_line(error)}"
        raise TableError(msg) from error
    check_unique(schema.names, f"{url}: ")
    info = system.info(path)
    marks = (info.get(key) for key in ("size", "mtime", "ETag", "etag", "LastModified", "updated"))
    return File(url, groups, schema, tuple(str(mark) for mark in marks if mark is not None))


@contextmanager
def open_parquet(url: str) -> Iterator[pa.parquet.ParquetFile]:
    """Yield a Parquet file to read from, a little of it at a time."""
    system, path = url_to_fs(url)
    with system.open(path, "rb") as stream:
        yield pa.parquet.ParquetFile(stream, buffer_size=_BUFFER, pre_buffer=False)
