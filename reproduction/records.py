"""Records of results, and the CSV files that keep them."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, TypeAlias, TypeVar, get_type_hints

from graphmargin._errors import InputError
from graphmargin._files import atomic_write

Tables: TypeAlias = Mapping[str, Sequence[Any]]
"""Records, which are dataclass instances of strings and numbers, by the name of their file."""


@dataclass(frozen=True)
class Record:
    """A row of results: what one part, such as a method, did in one setting.

    Subclasses are dataclasses of strings and numbers. They name the fields that tell which rows and
    labels were used (the setting), and those that tell which of several parts of this setting the
    record is about.
    """

    setting_fields: ClassVar[tuple[str, ...]]
    part_fields: ClassVar[tuple[str, ...]]

    @property
    def setting(self) -> tuple[Any, ...]:
        """The rows and labels that were used."""
        return tuple(getattr(self, name) for name in self.setting_fields)

    @property
    def part(self) -> tuple[Any, ...]:
        """The part of the setting that the record is about, such as a method."""
        return tuple(getattr(self, name) for name in self.part_fields)


class NotARecordsFileError(InputError):
    """A file in which records are to be kept has other content, or is of another version."""


R = TypeVar("R", bound=Record)


def write_csv(path: Path, records: Sequence[Any]) -> None:
    r"""Write dataclass instances, all of the same class and at least one, as a CSV file.

    Examples
    --------
    >>> import tempfile
    >>> from reproduction.claims import Claim
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_csv(Path(folder) / "a.csv", [Claim("GC wins", "36", "30", None)])
    ...     (Path(folder) / "a.csv").read_text()
    'claim,published,ours,holds\nGC wins,36,30,\n'
    """
    rows = [_columns(type(records[0])), *(astuple(record) for record in records)]
    atomic_write(path, _lines(rows).encode())


def append_csv(path: Path, records: Sequence[Any]) -> None:
    """Append records to a file that `open_csv` has prepared."""
    _append(path, [astuple(record) for record in records])


def open_csv(path: Path, kind: type[R]) -> list[R]:
    """Return the records that a file has, and prepare it for more lines; create it if need be."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    records = read_csv(path, kind)
    text = _finished_lines(path)
    os.truncate(path, len(text.encode()))
    if not text:
        _append(path, [_columns(kind)])
    return records


def read_csv(path: Path, kind: type[R]) -> list[R]:
    """Return the records in a CSV file, without a last line that was not finished."""
    try:
        text = _finished_lines(path)
    except UnicodeDecodeError as wrong:
        msg = f"{path} must be a file of records, but it is not text; name another file"
        raise NotARecordsFileError(msg) from wrong
    rows = csv.DictReader(io.StringIO(text))
    columns = _columns(kind)
    if text and rows.fieldnames != columns:
        msg = (
            f"{path} must be a file of records, with the columns {','.join(columns)}, got "
            f"{text.splitlines()[0]!r}; name another file"
        )
        raise NotARecordsFileError(msg)
    hints = get_type_hints(kind)
    parsers = {name: _PARSERS[hints[name]] for name in columns}
    try:
        return [kind(**{name: parsers[name](row[name]) for name in columns}) for row in rows]
    except (TypeError, ValueError) as wrong:
        msg = (
            f"{path} must be a file of records, but its line {rows.line_num} cannot be read "
            f"({wrong}); correct it, or name another file"
        )
        raise NotARecordsFileError(msg) from wrong


_PARSERS: dict[Any, Callable[[str], Any]] = {
    str: str,
    int: int,
    float: float,
    float | None: lambda text: float(text) if text else None,
}


def _columns(kind: type[Any]) -> list[str]:
    return [field.name for field in fields(kind)]


def _finished_lines(path: Path) -> str:
    text = path.read_bytes().decode()
    return text[: text.rfind("\n") + 1]


def _append(path: Path, rows: Iterable[Sequence[Any]]) -> None:
    with path.open("a", encoding="utf-8", newline="") as file:
        file.write(_lines(rows))


def _lines(rows: Iterable[Sequence[Any]]) -> str:
    lines = io.StringIO()
    csv.writer(lines, lineterminator="\n").writerows(rows)
    return lines.getvalue()
