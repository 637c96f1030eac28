"""Parquet files at paths, folders and patterns, and checks of their columns."""

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
"""Endings of the names of the files that are read in a folder."""
_BUFFER_BYTES = 1 << 20
_READERS = 16


@dataclass(frozen=True)
class File:
    """A Parquet file by its URL, its row groups and columns, and its version."""

    url: str
    groups: tuple[int, ...]
    """Number of rows of each row group."""
    schema: pa.Schema
    version: tuple[str, ...]
    """Size and time or tag, by which a changed file is noticed."""

    @property
    def n_rows(self) -> int:
        """Number of rows in all row groups."""
        return sum(self.groups)


def find_files(data: Any) -> tuple[File, ...]:
    """Return the Parquet files of a user's paths; only the footer of each file is read.

    Parameters
    ----------
    data : str, Path or a sequence of them
        See `graphmargin.distributed.io.row_ranges.open_source`.

    Raises
    ------
    TableError
        If a path does not exist, a file is not a Parquet file, or there are no rows.
    """
    paths = list_paths(data)
    urls = [url for path in paths for url in _find_urls(path)]
    duplicate = next((url for url, count in Counter(urls).items() if count > 1), None)
    if duplicate is not None:
        msg = f"`data` has the file {duplicate} twice; pass each file once"
        raise TableError(msg)
    with ThreadPoolExecutor(_READERS) as pool:
        files = tuple(pool.map(_read_footer, urls))
    if not sum(file.n_rows for file in files):
        others = f" and {len(paths) - 1:,} more paths" if len(paths) > 1 else ""
        msg = f"there are no rows in {paths[0]}{others}"
        raise TableError(msg)
    return files


def check_types(
    files: Sequence[File], columns: Sequence[str], *, any_type: Sequence[str] = ()
) -> None:
    """Refuse files that lack a column, or have another type of it than the first file.

    Parameters
    ----------
    files : sequence of File
    columns : sequence of str
        Columns that are needed.
    any_type : sequence of str
        Those of `columns` whose type may differ from file to file.

    Examples
    --------
    >>> first, second = pa.schema({"x": pa.int64()}), pa.schema({"x": pa.string()})
    >>> files = File("a", (1,), first, ()), File("b", (1,), second, ())
    >>> check_types(files, ["x"])
    Traceback (most recent call last):
    graphmargin.tables.table_errors.TableError: column 'x' is int64 in a, but string in b; write all files with the same type
    """  # noqa: E501 - an error is one line
    first = files[0]
    for file in files:
        check_columns(file.schema, columns, file.url)
        for name in columns:
            expected, kind = (value_type(each.schema.field(name).type) for each in (first, file))
            is_same = expected == kind or (_is_text(expected) and _is_text(kind))
            if name not in any_type and not is_same:
                msg = (
                    f"column {name!r} is {expected} in {first.url}, but {kind} in {file.url}; "
                    "write all files with the same type"
                )
                raise TableError(msg)


def check_columns(schema: pa.Schema, columns: Sequence[str], where: str) -> None:
    """Refuse a table that lacks some of the columns, and suggest the name that may be meant.

    Examples
    --------
    >>> schema = pa.schema({"size": pa.int64(), "color": pa.string()})
    >>> check_columns(schema, ["size", "colour"], "a.parquet")
    Traceback (most recent call last):
    graphmargin.tables.table_errors.TableError: a.parquet has no column 'colour'; did you mean 'color'? it has: 'size', 'color'
    """  # noqa: E501 - an error is one line
    missing = [name for name in columns if name not in schema.names]
    if missing:
        close = difflib.get_close_matches(str(missing[0]), schema.names, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        if f"/{missing[0]}=" in where:
            hint = "columns in the names of folders are not read, write them to the files; "
        noun = "column" if len(missing) == 1 else "columns"
        has = format_names(schema.names)
        msg = f"{where} has no {noun} {format_names(missing)}; {hint}it has: {has}"
        raise TableError(msg)


def value_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values of a column, which may be dictionary-encoded.

    Examples
    --------
    >>> value_type(pa.dictionary(pa.int8(), pa.string()))
    DataType(string)
    """
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def decoded_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema of a table whose dictionary-encoded columns are decoded."""
    return pa.schema([pa.field(field.name, value_type(field.type)) for field in schema])


def _is_text(kind: pa.DataType) -> bool:
    checks = pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view
    return any(check(kind) for check in checks)


def list_paths(data: Any) -> list[str]:
    """Return the paths, URLs and patterns of `data` as a list of strings.

    Examples
    --------
    >>> from pathlib import Path
    >>> list_paths("a.parquet"), list_paths(["a", Path("b")])
    (['a.parquet'], ['a', 'b'])
    """
    paths = list(data) if isinstance(data, list | tuple) else [data]
    if not paths:
        msg = "`data` is an empty list; pass at least one path"
        raise TableError(msg)
    invalid = [path for path in paths if not isinstance(path, str | PathLike)]
    if invalid:
        msg = (
            "`data` must be the path or URL of Parquet files, or a list of them, got "
            f"{type(invalid[0]).__name__}; write tables in memory with to_parquet (`fit` takes a "
            "Dask DataFrame, too)"
        )
        raise TableError(msg)
    return [os.fspath(path) for path in paths]


def _find_urls(place: str) -> list[str]:
    """Return the URLs of the files of a path, folder or pattern, in natural order."""
    system, path = url_to_fs(place)
    if system.isfile(path):
        return [_url(system, path)]
    if system.isdir(path):
        inside = (name for name in system.find(path) if name.endswith(ENDINGS))
        # Hidden files, such as _metadata, are for other programs.
        names = [name for name in inside if not _is_hidden(posixpath.relpath(name, path))]
    else:
        names = [name for name in system.glob(path) if system.isfile(name)]
    if not names:
        why = "has no file that ends in .parquet" if system.isdir(path) else "does not exist"
        msg = f"{place} {why}"
        raise TableError(msg)
    return [_url(system, name) for name in sorted(names, key=natural_sort_key)]


def _url(system: fsspec.AbstractFileSystem, path: str) -> str:
    name = str(system.unstrip_protocol(path))
    return name.removeprefix("file://")


def _is_hidden(path: str) -> bool:
    return any(part.startswith(("_", ".")) for part in path.split("/"))


def _read_footer(url: str) -> File:
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
        msg = f"{url} is not a Parquet file, or is damaged: {one_line(error)}"
        raise TableError(msg) from error
    check_unique(schema.names, f"{url}: ")
    info = system.info(path)
    version = [
        info.get(key) for key in ("size", "mtime", "ETag", "etag", "LastModified", "updated")
    ]
    return File(url, groups, schema, tuple(str(value) for value in version if value is not None))


@contextmanager
def open_parquet(url: str) -> Iterator[pa.parquet.ParquetFile]:
    """Yield an open Parquet file that reads ahead as little as possible."""
    system, path = url_to_fs(url)
    with system.open(path, "rb") as stream:
        yield pa.parquet.ParquetFile(stream, buffer_size=_BUFFER_BYTES, pre_buffer=False)
