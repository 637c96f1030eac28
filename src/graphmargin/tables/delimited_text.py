"""Reading CSV and TSV files.

Every cell is read as text, exactly as it is in the file; an empty cell without quotes is missing.
`column_parsing` parses the text.
"""

from __future__ import annotations

import codecs
import csv
import itertools
import re
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv

from graphmargin._errors import one_line
from graphmargin._typing import BoolArray, IntArray
from graphmargin.tables.file_formats import open_bytes
from graphmargin.tables.table_errors import TableError

# Larger blocks are slower, because their cells do not stay in the cache of the processor.
_BLOCK_BYTES = 1 << 21
_TOP_BYTES = 1 << 16
_N_THREADS = 2
_LONGEST_NAME = (1 << 31) - 1
LONGEST_ROW, LONGEST_HEADER = 1 << 26, 1 << 22
"""Largest lengths in bytes, so that an unclosed quote does not fill the memory."""
SEPARATORS = ",;\t|"
"""Separators of cells that are detected."""
_QUOTE = ord('"')
_LINE_FEED, _RETURN = ord("\n"), ord("\r")
_BOM = codecs.BOM_UTF8
# A mark of UTF-32 begins with that of UTF-16.
_OTHER_ENCODINGS = (
    ((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE), "UTF-32"),
    ((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE), "UTF-16"),
)
_SEPARATOR_LINE = re.compile(rb"sep=([\t -~])[\t ]*[\r\n]*", re.IGNORECASE)
_RAGGED = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")
_UNCLOSED = "has an unclosed quote, or text after a closing quote"
TOO_LONG = "is longer than {:,} bytes; is a quote or a line end missing?"
_SAVE_AS = "save the file as UTF-8 (in Excel: CSV UTF-8)"


@dataclass(frozen=True)
class TextLayout:
    r"""The layout of a text file; a result that is made from the file has the same layout.

    Attributes
    ----------
    separator : str
        Separator of cells: a comma, a semicolon, a tab or a vertical bar.
    header : tuple of str
        The header as it is in the file, including blanks and empty names.
    has_bom : bool
        Whether the file begins with a byte order mark, by which Excel recognizes UTF-8.
    has_separator_line : bool
        Whether the first line is ``sep=;`` or similar, from which Excel takes the separator.
    line_end : str
        ``"\n"`` or ``"\r\n"``.
    """

    separator: str = ","
    header: tuple[str, ...] = ()
    has_bom: bool = False
    has_separator_line: bool = False
    line_end: str = "\n"


class _UnreadableError(Exception):
    """An error at a position of a block, with the quotes before it that enclose cells."""

    def __init__(self, reason: str, position: int, quotes: Sequence[int] | IntArray) -> None:
        super().__init__(reason)
        self.position = position
        self.quotes = np.asarray(quotes, dtype=np.int64)


def read_layout(path: Path, separator: str | None = None) -> TextLayout:
    """Return the layout of a text file; a separator of None is detected."""
    with open_bytes(path) as stream:
        return _read_top(stream, path, separator)[0]


def delimited_tables(path: Path, names: list[str], separator: str | None) -> Iterator[pa.Table]:
    r"""Yield the rows of a CSV or TSV file block by block, with all columns as text.

    The separator is that of a first line ``sep=;`` if there is one, else `separator`. If that is
    None, it is the one of comma, semicolon, tab and vertical bar that splits the header into most
    cells. Empty rows at the end are left out. A blank line is a row if the file has one column, and
    is skipped otherwise.

    Raises
    ------
    TableError
        If a row has too few or too many cells, a quote is not closed, or the bytes are not UTF-8
        text. The message has the row, counted from 1 below the header, and the line.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.csv"
    ...     _ = path.write_text("x|y\n1|007\n3|z\n")
    ...     [table.to_pylist() for table in delimited_tables(path, ["x", "y"], None)]
    [[{'x': '1', 'y': '007'}, {'x': '3', 'y': 'z'}]]
    """
    with open_bytes(path) as stream:
        layout, rest, first_byte = _read_top(stream, path, separator)
        tables = _parse_blocks(stream, rest, first_byte, layout.separator, names, path)
        yield from _without_trailing_empty_rows(tables)


def _read_top(stream: BinaryIO, path: Path, separator: str | None) -> tuple[TextLayout, bytes, int]:
    """Return the layout of a file, the bytes read beyond its header, and their position."""
    lines: list[bytes] = []
    begun, n_bytes = b"", 0

    def read_line(number: int) -> bytes:
        nonlocal begun, n_bytes
        while number >= len(lines) and (more := stream.read(_TOP_BYTES)):
            n_bytes += len(more)
            if n_bytes > LONGEST_HEADER:
                msg = f"{path}: the header {TOO_LONG.format(LONGEST_HEADER)}"
                raise TableError(msg)
            *whole, begun = [*(begun + more).splitlines(keepends=True), b""]
            if whole and not whole[-1].endswith(b"\n"):  # its end was not read yet
                begun = whole.pop()
            lines.extend(whole)
        if number >= len(lines) and begun:  # the last line of the file
            lines.append(begun)
            begun = b""
        return lines[number] if number < len(lines) else b""

    for marks, encoding in _OTHER_ENCODINGS:
        if read_line(0).startswith(marks):
            msg = f"{path}: the text is {encoding}, not UTF-8; {_SAVE_AS}"
            raise TableError(msg)
    has_bom = read_line(0).startswith(_BOM)
    if has_bom:
        lines[0] = lines[0].removeprefix(_BOM)
    marker = _SEPARATOR_LINE.fullmatch(read_line(0))
    first = 0 if marker is None else 1
    while read_line(first) and not read_line(first).strip(b" \r\n"):
        first += 1
    if not read_line(first):
        msg = f"{path}: the file is empty"
        raise TableError(msg)
    if b"\0" in read_line(first):
        msg = f"{path}: this is not a text file; does its name have the right ending?"
        raise TableError(msg)
    headers = [
        _read_header(read_line, first, candidate, path)
        for candidate in (marker[1].decode() if marker else separator or SEPARATORS)
    ]
    # Every wrong separator leaves a header of one cell, or quotes that are not closed.
    separator, header, stop = max(headers, key=lambda h: (len(h[1]) > 1 and h[2] > 0, len(h[1])))
    if not stop:
        msg = f"{path}: the header (line {first + 1}) {_UNCLOSED}"
        raise TableError(msg)
    layout = TextLayout(
        separator=separator,
        header=tuple(header),
        has_bom=has_bom,
        has_separator_line=marker is not None,
        line_end="\r\n" if lines[stop - 1].endswith(b"\r\n") else "\n",
    )
    first_byte = len(_BOM) * has_bom + sum(map(len, lines[:stop]))
    return layout, b"".join([*lines[stop:], begun]), first_byte


def _read_header(
    read_line: Callable[[int], bytes], first: int, separator: str, path: Path
) -> tuple[str, list[str], int]:
    """Return the separator, the cells of the header, and the number of the line after it.

    The number is 0 if a quote is not closed; the cells are then split at every separator.
    """
    stop = first

    def texts() -> Iterator[str]:
        nonlocal stop
        while line := read_line(stop):
            stop += 1
            yield line.decode()

    previous_limit = csv.field_size_limit(_LONGEST_NAME)
    try:
        return separator, next(csv.reader(texts(), delimiter=separator, strict=True)), stop
    except csv.Error:
        return separator, read_line(first).decode().split(separator), 0
    except UnicodeDecodeError as error:
        msg = f"{path}: line {stop} is not UTF-8 text ({one_line(error)}); {_SAVE_AS}"
        raise TableError(msg) from error
    finally:
        csv.field_size_limit(previous_limit)


class _Block(NamedTuple):
    """Complete rows: their bytes, the quotes that enclose cells, their position, and an error."""

    content: bytes
    stop: int
    quotes: IntArray
    first_byte: int
    problem: _UnreadableError | None = None


def _parse_blocks(
    stream: BinaryIO, rest: bytes, first_byte: int, separator: str, names: list[str], path: Path
) -> Iterator[pa.Table]:
    """Yield the rows below the header, block by block; threads parse a few blocks ahead."""
    n_rows = 0
    waiting: deque[tuple[_Block, Future[pa.Table]]] = deque()
    blocks = _blocks(stream, rest, first_byte, separator)
    with ThreadPoolExecutor(_N_THREADS) as pool:
        while True:
            for block in itertools.islice(blocks, _N_THREADS + 1 - len(waiting)):
                waiting.append((block, pool.submit(_parse_block, block, separator, names)))
            if not waiting:
                return
            block, parsed = waiting.popleft()
            try:
                table = parsed.result()
            except _UnreadableError as error:
                row, line = _locate_problem(error, block, path, len(names) == 1)
                msg = f"{path}: row {n_rows + row:,} (line {line:,}) {error}"
                raise TableError(msg) from error
            yield table
            n_rows += table.num_rows


def _blocks(stream: BinaryIO, rest: bytes, first_byte: int, separator: str) -> Iterator[_Block]:
    """Yield blocks of rows; the last one may be unreadable."""
    is_last = False
    while not is_last:
        # If a row does not fit into a block, the next block is larger.
        more = stream.read(max(_BLOCK_BYTES, min(len(rest), LONGEST_ROW + 1 - len(rest))))
        is_last = not more
        content = rest + more
        try:
            quotes = _enclosing_quotes(content, separator, is_last=is_last)
            stop = len(content) if is_last else _end_of_complete_rows(content, quotes)
        except _UnreadableError as problem:
            yield _Block(content, len(content), problem.quotes, first_byte, problem)
            return
        rest = content[stop:]
        if stop:
            yield _Block(content, stop, quotes[: np.searchsorted(quotes, stop)], first_byte)
        first_byte += stop


def _enclosing_quotes(content: bytes, separator: str, *, is_last: bool) -> IntArray:
    """Return the positions of the quotes that open and close cells; doubled quotes cancel out.

    Raises
    ------
    _UnreadableError
        If there is text after a closing quote, or a cell of the last block is not closed.
    """
    if b"\0" in content:
        reason = "has a NUL byte: this is not a text file; does its name have the right ending?"
        raise _UnreadableError(reason, content.index(b"\0"), ())
    if b'"' not in content:
        return np.empty(0, dtype=np.int64)
    codes = np.frombuffer(b"\n" + content + b"\n", dtype=np.uint8)
    quotes = np.flatnonzero(codes[1:-1] == _QUOTE)
    borders = np.zeros(256, dtype=bool)
    borders[[ord(separator), _LINE_FEED, _RETURN]] = True
    before, after = codes[:-2][quotes[::2]], codes[2:][quotes[1::2]]
    is_plain = (borders[before] | (before == _QUOTE)).all()
    if not (is_plain and (borders[after] | (after == _QUOTE)).all()):
        quotes = _enclosing_quotes_one_by_one(content, quotes, borders)
    if is_last and len(quotes) % 2:
        raise _UnreadableError(_UNCLOSED, int(quotes[-1]), quotes)
    return quotes


def _enclosing_quotes_one_by_one(content: bytes, quotes: IntArray, borders: BoolArray) -> IntArray:
    """Return the enclosing quotes of content with other quotes in its cells, as in ``5" pipe``."""
    enclosing = array("q")
    doubled = -1
    for position in _integers(quotes):
        after = content[position + 1] if position + 1 < len(content) else _LINE_FEED
        if len(enclosing) % 2 == 0:
            if position == 0 or borders[content[position - 1]]:
                enclosing.append(position)
        elif position == doubled:
            continue
        elif after == _QUOTE:
            doubled = position + 1
        elif borders[after]:
            enclosing.append(position)
        else:
            raise _UnreadableError(_UNCLOSED, enclosing[-1], enclosing)
    return np.array(enclosing, dtype=np.int64)


def _integers(values: IntArray) -> Iterator[int]:
    """Yield Python integers, not all of which are in memory at a time."""
    for start in range(0, len(values), _BLOCK_BYTES):
        yield from values[start : start + _BLOCK_BYTES].tolist()


def _end_of_complete_rows(content: bytes, quotes: IntArray) -> int:
    """Return the position after the last complete row, 0 if there is none."""
    stop = len(content)
    while (position := _last_line_end(content, stop)) >= 0:
        n_before = int(np.searchsorted(quotes, position))
        if n_before % 2 == 0:
            return position + 1
        stop = int(quotes[n_before - 1])
    if len(content) > LONGEST_ROW:
        raise _UnreadableError(TOO_LONG.format(LONGEST_ROW), 0, quotes)
    return 0


def _last_line_end(content: bytes, stop: int) -> int:
    """Return the position of the last line end before `stop`, -1 if there is none."""
    # A carriage return at the very end may be the first half of a line end.
    return max(content.rfind(b"\n", 0, stop), content.rfind(b"\r", 0, max(stop - 1, 0)))


def _parse_block(block: _Block, separator: str, names: list[str]) -> pa.Table:
    """Return rows as a table of text, null where a cell is empty and not quoted."""
    if block.problem is not None:
        raise block.problem
    try:
        return pyarrow.csv.read_csv(
            pa.BufferReader(memoryview(block.content)[: block.stop]),
            read_options=pyarrow.csv.ReadOptions(
                use_threads=False, block_size=block.stop, column_names=names
            ),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=separator,
                newlines_in_values=len(block.quotes) > 0,
                ignore_empty_lines=len(names) > 1,
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.large_string()),
                check_utf8=not block.content.isascii(),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid as error:
        content, quotes = block.content[: block.stop], block.quotes
        if ragged := _RAGGED.search(str(error)):
            row, expected, got = ragged.groups()
            position = int(_row_starts(content, quotes, len(names) == 1)[int(row) - 1])
            reason = (
                f"has {got} cells, but the header has {expected}; is a quote or separator missing?"
            )
            raise _UnreadableError(reason, position, quotes) from error
        try:
            content.decode()
        except UnicodeDecodeError as bad:
            byte = f"0x{content[bad.start]:02x}"
            reason = f"has the byte {byte}, which is not UTF-8; {_SAVE_AS}"
            raise _UnreadableError(reason, bad.start, quotes) from error
        reason = f"cannot be read: {one_line(error)}"
        raise _UnreadableError(reason, 0, quotes) from error


def _row_starts(content: bytes, quotes: IntArray, is_one_column: bool) -> IntArray:
    """Return the positions at which rows begin."""
    codes = np.frombuffer(content, dtype=np.uint8)
    is_end = codes == _LINE_FEED
    is_end |= (codes == _RETURN) & ~np.append(is_end[1:], False)
    ends = np.flatnonzero(is_end)
    ends = ends[np.searchsorted(quotes, ends) % 2 == 0]
    starts = np.concatenate([[0], ends + 1])
    starts = starts[starts < len(content)]
    is_blank = (codes[starts] == _LINE_FEED) | (codes[starts] == _RETURN)
    return starts if is_one_column else starts[~is_blank]


def _locate_problem(
    error: _UnreadableError, block: _Block, path: Path, is_one_column: bool
) -> tuple[int, int]:
    """Return the row of an error, counted from the start of the block, and its line in the file."""
    starts = _row_starts(block.content[: error.position + 1], error.quotes, is_one_column)
    row = int(np.searchsorted(starts, error.position, side="right"))
    with open_bytes(path) as stream:
        return max(row, 1), _line_at(stream, block.first_byte + error.position)


def _line_at(stream: BinaryIO, position: int) -> int:
    """Return the number of the line at a position of a stream, which is read block by block."""
    line, last = 1, b""
    while position > 0 and (block := stream.read(min(position, _BLOCK_BYTES))):
        position -= len(block)
        line += block.count(b"\n") + block.count(b"\r") - (last + block).count(b"\r\n")
        last = block[-1:]
    return line


def _without_trailing_empty_rows(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Yield tables without the last rows if all of their cells are missing."""
    held: list[pa.Table] = []
    for table in tables:
        n_kept = table.num_rows
        if n_kept and not any(column[n_kept - 1].is_valid for column in table.columns):
            has_cells = ~np.all([column.is_null() for column in table.columns], axis=0)
            n_kept = int(np.flatnonzero(has_cells)[-1]) + 1 if has_cells.any() else 0
        if n_kept:
            yield from held
            yield table.slice(0, n_kept)
            held = []
        if n_kept < table.num_rows:
            held.append(table.slice(n_kept))
