"""Formats of tables by the endings of file names, and decompression of files."""

from __future__ import annotations

import gzip
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, Literal, TypeAlias, cast

from graphmargin._errors import one_line
from graphmargin.tables.table_errors import TableError

Format: TypeAlias = Literal["csv", "tsv", "parquet", "excel", "json lines"]

_TEXT_ENDINGS: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "json lines",
    ".ndjson": "json lines",
}
FORMATS: dict[str, Format] = {
    **_TEXT_ENDINGS,
    ".parquet": "parquet",
    ".pq": "parquet",
    ".xlsx": "excel",
    **{f"{ending}.gz": kind for ending, kind in _TEXT_ENDINGS.items()},
    **{f"{ending}.zip": kind for ending, kind in _TEXT_ENDINGS.items()},
    ".zip": "csv",
}
"""Formats by the endings of file names; a plain .zip archive has a CSV file."""
FORMAT_LIST = (
    "CSV .csv, TSV .tsv or .tab, JSON lines .jsonl or .ndjson, all of them also with .gz or .zip; "
    "Parquet .parquet or .pq; Excel .xlsx"
)
"""The formats with their endings, for messages."""
_HINTS = {
    ".json": "JSON lines, which have an object in each line, end in .jsonl",
    ".xls": "save the workbook as .xlsx",
    ".xlsm": "save the workbook as .xlsx",
    ".xlsb": "save the workbook as .xlsx",
    ".ods": "save the workbook as .xlsx",
    ".txt": "if it is text with separated columns, name it .csv or .tsv",
    ".dat": "if it is text with separated columns, name it .csv or .tsv",
}


def format_of(path: Path) -> Format:
    """Return the format of a file by the ending of its name, in upper or lower case.

    Examples
    --------
    >>> format_of(Path("Results.CSV.gz"))
    'csv'
    """
    name = path.name.lower()
    for ending, file_format in FORMATS.items():
        if name.endswith(ending):
            return file_format
    ending = path.suffix.lower()
    what = f"tables that end in {ending}" if ending else "names without an ending"
    hint = f"; {_HINTS[ending]}" if ending in _HINTS else ""
    msg = f"{path}: {what} cannot be read or written{hint} (formats: {FORMAT_LIST})"
    raise TableError(msg)


@contextmanager
def open_bytes(path: Path) -> Iterator[BinaryIO]:
    """Yield the content of a file as a stream, decompressed if its name ends in .gz or .zip.

    A damaged archive raises `TableError`, also while the stream is read.
    """
    try:
        with ExitStack() as files:
            yield _open_stream(path, files)
    except (gzip.BadGzipFile, zipfile.BadZipFile, zlib.error, EOFError) as error:
        msg = f"{path}: the archive is damaged: {one_line(error)}"
        raise TableError(msg) from error


def _open_stream(path: Path, files: ExitStack) -> BinaryIO:
    """Return the stream of a file, which the stack closes."""
    match path.suffix.lower():
        case ".gz":
            return cast("BinaryIO", files.enter_context(gzip.open(path)))
        case ".zip":
            try:
                archive = files.enter_context(zipfile.ZipFile(path))
                members = [
                    member
                    for member in archive.infolist()
                    if not member.is_dir() and not member.filename.startswith("__MACOSX/")
                ]
                if len(members) == 1:
                    return cast("BinaryIO", files.enter_context(archive.open(members[0])))
            except ARCHIVE_ERRORS as error:
                msg = f"{path}: the archive is damaged or encrypted: {one_line(error)}"
                raise TableError(msg) from error
            msg = f"{path}: the archive has {len(members)} files; it must have exactly one"
            raise TableError(msg)
    return files.enter_context(path.open("rb"))


ARCHIVE_ERRORS = (
    zipfile.BadZipFile,
    ValueError,
    KeyError,
    EOFError,
    TypeError,
    AttributeError,
    IndexError,
    NotImplementedError,
    RuntimeError,
    SyntaxError,
    OverflowError,
    zlib.error,
)
"""Exceptions that zipfile and openpyxl raise on damaged content."""
