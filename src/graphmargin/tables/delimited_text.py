"""Tables in text files with a separator: CSV and TSV.

Every cell is read as text, exactly as it is in the file; an empty cell without quotes is missing.
`column_parsing` decides what the text means.
"""

from __future__ import annotations

import csv
import itertools
import re
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

# Larger blocks are slower: cells do not stay in the cache of the processor.
_BLOCK_BYTES = 1 << 21
_N_THREADS = 2
_LONGEST_NAME = (1 << 31) - 1
_LONGEST_ROW = 1 << 30  # in bytes; a quote that is not closed must not fill the memory
_SEPARATORS = ",;\t|"
_QUOTE = ord('"')
_LINE_FEED, _RETURN = ord("\n"), ord("\r")
_BOM = b"\xef\xbb\xbf"
_SEPARATOR_LINE = re.compile(rb"sep=([\t -~])[\t ]*[\r\n]*", re.IGNORECASE)
_RAGGED = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")
_UNCLOSED = "has a quote that is not closed, or text after a closing quote"
_TOO_LONG = "is longer than 1 GB; is a quote not closed?"
_SAVE_AS = "save it as UTF-8 (in Excel: CSV UTF-8)"


@dataclass(frozen=True)
class TextLayout:
    r"""The layout of a text file, which a result that is made from it keeps.

    Attributes
    ----------
    separator : str
        What separates cells: a comma, a semicolon, a tab or a vertical bar.
    header : tuple of str
        The header as it is in the file, with blanks and without names for columns that have none.
    has_bom : bool
        Whether the file begins with a byte order mark, by which Excel recognizes UTF-8.
    has_separator_line : bool
        Whether the first line tells Excel the separator, such as ``sep=;``.
    line_end : str
        ``"\n"`` or ``"\r\n"``.
    """

    separator: str = ","
    header: tuple[str, ...] = ()
    has_bom: bool = False
    has_separator_line: bool = False
    line_end: str = "\n"


class _UnreadableError(Exception):
    """A place in a block that cannot be read, with the quotes before it that enclose cells."""

    def __init__(self, reason: str, place: int, quotes: Sequence[int] | IntArray) -> None:
        super().__init__(reason)
        self.place = place
        self.quotes = np.asarray(quotes, dtype=np.int64)


def read_layout(path: Path, separator: str | None = None) -> TextLayout:
    """Return the layout of a text file; a separator of None is found in the file."""
    with open_bytes(path) as stream:
        return _read_head(stream, path, separator)[0]


def delimited_tables(path: Path, names: list[str], separator: str | None) -> Iterator[pa.Table]:
    r"""Yield the rows of a CSV or TSV file block by block, all columns being text.

    The separator is that of a first line ``sep=;`` if there is one, else `separator`, or if that
    is None the one of comma, semicolon, tab and vertical bar that cuts the header into most cells.
    Rows of empty cells at the end are left out. Blank lines are rows in a file of one column, and
    nothing in others.

    Raises
    ------
    TableError
        If a row has too few or too many cells, a quote is not closed, or the bytes are not UTF-8
        text; it names the row, which is counted from 1 below the header, and the line.

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
        layout, rest, first_byte = _read_head(stream, path, separator)
        tables = _tables(stream, rest, first_byte, layout.separator, names, path)
        yield from _without_empty_end(tables)


def _read_head(
    stream: BinaryIO, path: Path, separator: str | None
) -> tuple[TextLayout, bytes, int]:
    """Return the layout of a file, the bytes that were read beyond its header, and their place."""
    lines: list[bytes] = []

    def read_line(number: int) -> bytes:
        while number >= len(lines) and (more := stream.readline()):
            lines.extend(more.splitlines(keepends=True))
        return lines[number] if number < len(lines) else b""

    if read_line(0).startswith((b"\xff\xfe", b"\xfe\xff")):
        msg = f"{path}: UTF-16, not UTF-8 text; {_SAVE_AS}"
        raise TableError(msg)
    has_bom = read_line(0).startswith(_BOM)
    if has_bom:
        lines[0] = lines[0].removeprefix(_BOM)
    told = _SEPARATOR_LINE.fullmatch(read_line(0))
    first = 0 if told is None else 1
    while read_line(first) and not read_line(first).strip(b" \r\n"):
        first += 1
    if not read_line(first):
        msg = f"{path}: the file is empty"
        raise TableError(msg)
    if b"\0" in read_line(first):
        msg = f"{path}: not a text file; is the end of its name right?"
        raise TableError(msg)
    headers = [
        _read_header(read_line, first, candidate, path)
        for candidate in (told[1].decode() if told else separator or _SEPARATORS)
    ]
    # A header of one cell is what any other separator makes of it, also of quotes that are open.
    found, header, stop = max(headers, key=lambda h: (len(h[1]) > 1 and h[2] > 0, len(h[1])))
    if not stop:
        msg = f"{path}: the header (line {first + 1}) {_UNCLOSED}"
        raise TableError(msg)
    layout = TextLayout(
        separator=found,
        header=tuple(header),
        has_bom=has_bom,
        has_separator_line=told is not None,
        line_end="\r\n" if lines[stop - 1].endswith(b"\r\n") else "\n",
    )
    first_byte = len(_BOM) * has_bom + sum(map(len, lines[:stop]))
    return layout, b"".join(lines[stop:]), first_byte


def _read_header(
    read_line: Callable[[int], bytes], first: int, separator: str, path: Path
) -> tuple[str, list[str], int]:
    """Return the separator, the cells of the header, and the number of the line after it.

    This is 0, and the cells are mere pieces, if quotes are not closed.
    """
    stop = first

    def texts() -> Iterator[str]:
        nonlocal stop
        while line := read_line(stop):
            stop += 1
            yield line.decode()

    usual = csv.field_size_limit(_LONGEST_NAME)
    try:
        return separator, next(csv.reader(texts(), delimiter=separator, strict=True)), stop
    except csv.Error:
        return separator, read_line(first).decode().split(separator), 0
    except UnicodeDecodeError as error:
        msg = f"{path}: not UTF-8 text, {one_line(error)} of line {stop}; {_SAVE_AS}"
        raise TableError(msg) from error
    finally:
        csv.field_size_limit(usual)


class _Block(NamedTuple):
    """Whole rows: their bytes, the quotes that enclose cells, their place, and what is wrong."""

    content: bytes
    stop: int
    quotes: IntArray
    first_byte: int
    problem: _UnreadableError | None = None


def _tables(
    stream: BinaryIO, rest: bytes, first_byte: int, separator: str, names: list[str], path: Path
) -> Iterator[pa.Table]:
    """Yield the rows below the header, block by block; some blocks are parsed ahead in threads."""
    n_rows = 0
    waiting: deque[tuple[_Block, Future[pa.Table]]] = deque()
    blocks = _blocks(stream, rest, first_byte, separator)
    with ThreadPoolExecutor(_N_THREADS) as pool:
        while True:
            for block in itertools.islice(blocks, _N_THREADS + 1 - len(waiting)):
                waiting.append((block, pool.submit(_parse, block, separator, names)))
            if not waiting:
                return
            block, parsed = waiting.popleft()
            try:
                table = parsed.result()
            except _UnreadableError as error:
                row, line = _place_of(error, block, path, len(names) == 1)
                msg = f"{path}: row {n_rows + row:,} (line {line:,}) {error}"
                raise TableError(msg) from error
            yield table
            n_rows += table.num_rows


def _blocks(stream: BinaryIO, rest: bytes, first_byte: int, separator: str) -> Iterator[_Block]:
    """Yield blocks of rows; the last one may be one that cannot be read."""
    is_last = False
    while not is_last:
        # A row that does not fit into a block makes the next one larger.
        more = stream.read(max(_BLOCK_BYTES, len(rest)))
        is_last = not more
        content = rest + more
        try:
            quotes = _enclosing_quotes(content, separator, is_last=is_last)
            stop = len(content) if is_last else _end_of_rows(content, quotes)
        except _UnreadableError as problem:
            yield _Block(content, len(content), problem.quotes, first_byte, problem)
            return
        rest = content[stop:]
        if stop:
            yield _Block(content, stop, quotes[: np.searchsorted(quotes, stop)], first_byte)
        first_byte += stop


def _enclosing_quotes(content: bytes, separator: str, *, is_last: bool) -> IntArray:
    """Return the places of the quotes that open and close cells, in turns; doubled ones cancel.

    Raises
    ------
    _UnreadableError
        If there is text after a closing quote, or a cell of the last block is not closed.
    """
    if b"\0" in content:
        reason = "has the byte NUL: this is not a text file; is the end of its name right?"
        raise _UnreadableError(reason, content.index(b"\0"), ())
    if b'"' not in content:
        return np.empty(0, dtype=np.int64)
    codes = np.frombuffer(b"\n" + content + b"\n", dtype=np.uint8)
    quotes = np.flatnonzero(codes == _QUOTE) - 1
    borders = np.zeros(256, dtype=bool)
    borders[[ord(separator), _LINE_FEED, _RETURN]] = True
    before, after = codes[quotes[::2]], codes[quotes[1::2] + 2]
    is_plain = (borders[before] | (before == _QUOTE)).all()
    if not (is_plain and (borders[after] | (after == _QUOTE)).all()):
        quotes = _enclosing_quotes_one_by_one(content, quotes.tolist(), borders)
    if is_last and len(quotes) % 2:
        raise _UnreadableError(_UNCLOSED, int(quotes[-1]), quotes)
    return quotes


def _enclosing_quotes_one_by_one(content: bytes, quotes: list[int], borders: BoolArray) -> IntArray:
    """Return the same for content in which quotes are also letters, such as ``5" pipe``."""
    enclosing: list[int] = []
    doubled = -1
    for place in quotes:
        after = content[place + 1] if place + 1 < len(content) else _LINE_FEED
        if len(enclosing) % 2 == 0:
            if place == 0 or borders[content[place - 1]]:
                enclosing.append(place)
        elif place == doubled:
            continue
        elif after == _QUOTE:
            doubled = place + 1
        elif borders[after]:
            enclosing.append(place)
        else:
            raise _UnreadableError(_UNCLOSED, enclosing[-1], enclosing)
    return np.array(enclosing, dtype=np.int64)


def _end_of_rows(content: bytes, quotes: IntArray) -> int:
    """Return the place after the last row that is complete, 0 if none is."""
    stop = len(content)
    while (place := content.rfind(b"\n", 0, stop)) >= 0:
        n_before = int(np.searchsorted(quotes, place))
        if n_before % 2 == 0:
            return place + 1
        stop = int(quotes[n_before - 1])
    if len(content) > _LONGEST_ROW:
        raise _UnreadableError(_TOO_LONG, 0, quotes)
    return 0


def _parse(block: _Block, separator: str, names: list[str]) -> pa.Table:
    """Return rows as a table of text, null where a cell is empty and has no quotes."""
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
            place = int(_row_starts(content, quotes, len(names) == 1)[int(row) - 1])
            reason = (
                f"has {got} cells, the header has {expected}; is a quote or a separator missing?"
            )
            raise _UnreadableError(reason, place, quotes) from error
        try:
            content.decode()
        except UnicodeDecodeError as bad:
            byte = f"0x{content[bad.start]:02x}"
            reason = f"has the byte {byte}, which is not UTF-8 text; {_SAVE_AS}"
            raise _UnreadableError(reason, bad.start, quotes) from error
        reason = f"cannot be read: {one_line(error)}"
        raise _UnreadableError(reason, 0, quotes) from error


def _row_starts(content: bytes, quotes: IntArray, is_one_column: bool) -> IntArray:
    """Return the places where rows begin."""
    codes = np.frombuffer(content, dtype=np.uint8)
    is_end = codes == _LINE_FEED
    is_end |= (codes == _RETURN) & ~np.append(is_end[1:], False)
    ends = np.flatnonzero(is_end)
    ends = ends[np.searchsorted(quotes, ends) % 2 == 0]
    starts = np.concatenate([[0], ends + 1])
    starts = starts[starts < len(content)]
    is_blank = (codes[starts] == _LINE_FEED) | (codes[starts] == _RETURN)
    return starts if is_one_column else starts[~is_blank]


def _place_of(
    error: _UnreadableError, block: _Block, path: Path, is_one_column: bool
) -> tuple[int, int]:
    """Return the row, counted in the block, and the line of the file that cannot be read."""
    starts = _row_starts(block.content, error.quotes, is_one_column)
    row = int(np.searchsorted(starts, error.place, side="right"))
    with open_bytes(path) as stream:
        before = stream.read(block.first_byte + error.place)
    return max(row, 1), len(before.splitlines()) + (not before or before.endswith((b"\n", b"\r")))


def _without_empty_end(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Yield tables without the rows at the end in which all cells are missing."""
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
