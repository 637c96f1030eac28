"""The lines of a journal: a header and decisions as JSON, each with a checksum of all before it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

from graphmargin._errors import InputError
from graphmargin.labels import UNLABELED
from graphmargin.studio.session import ACTIONS, MAX_CLASSES, Decision
from graphmargin.tables.row_hashes import RowHashes

FORMAT = 3
"""Version of the format; a journal of another version is refused."""
MAX_ROWS = 2**62
_FIELDS = {"label": "class", "name": "name", "into": "into", "by": "by", "suggested": "suggested"}
_SEALED = re.compile(rb'(?s)(\{.*),"check":"([0-9a-f]{16})"\}')


class JournalError(InputError):
    """A journal that cannot be used, with a sentence on the way out."""


@dataclass(frozen=True)
class JournalHeader:
    """First line of a journal: the table that the decisions are about.

    Attributes
    ----------
    table, target : str
        Name of the file, and of the column of labels.
    n_rows : int
    fingerprint : str
        Hash of all cells of the table.
    classes : tuple of str
        Classes of the labels in the table, in the order of their codes.
    """

    table: str
    target: str
    n_rows: int
    fingerprint: str
    classes: tuple[str, ...]


@dataclass(frozen=True)
class Entry:
    """A decision in a journal, the hashes of its rows, and the number of its line."""

    decision: Decision
    hashes: tuple[str, ...]
    line: int


@dataclass(frozen=True)
class JournalContent:
    """All that a journal has.

    Attributes
    ----------
    header : JournalHeader
    entries : tuple of Entry
    data : bytes
        The complete lines.
    check : str
        Checksum of the last line.
    note : str
        What was dropped; empty if nothing was.
    """

    header: JournalHeader
    entries: tuple[Entry, ...]
    data: bytes
    check: str
    note: str = ""


def header_values(header: JournalHeader) -> dict[str, Any]:
    """Return the values of the first line of a journal."""
    return {
        "format": FORMAT,
        "table": header.table,
        "target": header.target,
        "rows": header.n_rows,
        "fingerprint": header.fingerprint,
        "classes": list(header.classes),
    }


def entry_values(decision: Decision, hashes: RowHashes) -> dict[str, Any]:
    """Return the values of the line of a decision: when, what, and the hashes of the rows."""
    values: dict[str, Any] = {"at": datetime.now(UTC).isoformat(timespec="milliseconds")}
    values["action"] = decision.action
    if decision.rows:
        values["rows"] = list(decision.rows)
    for field, key in _FIELDS.items():
        if (value := getattr(decision, field)) != getattr(Decision, field):
            values[key] = value
    if decision.rows:
        values["hashes"] = [hashes.rows[row] for row in decision.rows]
    return values


def seal_line(values: Mapping[str, Any], before: str) -> tuple[bytes, str]:
    r"""Return a line and its checksum, which depends on that of the line before.

    Examples
    --------
    >>> seal_line({"action": "undo"}, "")
    (b'{"action":"undo","check":"d524b784cf9782ac"}\n', 'd524b784cf9782ac')
    """
    text = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
    content = text.encode(errors="surrogatepass")[:-1]  # the name of a file may be no UTF-8
    check = _checksum(content, before)
    return b'%b,"check":"%b"}\n' % (content, check.encode()), check


def journal_bytes(values: Sequence[Mapping[str, Any]]) -> bytes:
    """Return the content of a journal with these lines."""
    lines, check = [], ""
    for each in values:
        line, check = seal_line(each, check)
        lines.append(line)
    return b"".join(lines)


def _checksum(content: bytes, before: str) -> str:
    return blake2b(before.encode() + content, digest_size=8).hexdigest()


def parse_journal(path: Path, content: bytes) -> JournalContent:
    """Return the content of a journal; an incomplete last line is dropped, with a note.

    Every other line that is not as it was written is a `JournalError` that names it.
    """
    if not content:
        msg = f"{path} is empty, so that all of its decisions are lost; remove it to begin anew"
        raise JournalError(msg)
    data = content[: content.rfind(b"\n") + 1]
    first, *lines = data.split(b"\n")[:-1] or [b""]
    header = _read_header(path, first)
    entries, check = [], _seal_of(first, "")
    for number, line in enumerate(lines, start=2):
        sealed = _seal_of(line, check)
        values: Any = _parse(line) if sealed else None
        if not _fits(values, _ENTRY, ("at", "action")):
            raise JournalError(damage_message(path, number, "is damaged"))
        entry = _entry(values, number)
        rows = entry.decision.rows
        if len(rows) != len(entry.hashes) or max(rows, default=-1) >= header.n_rows:
            raise JournalError(damage_message(path, number, "names rows that do not exist"))
        entries.append(entry)
        check = sealed
    note = ""
    if len(data) < len(content):
        note = (
            f"the last line of {path.name} was incomplete and was dropped: its decision was never "
            "answered, unless the file was damaged later"
        )
    return JournalContent(header, tuple(entries), data, check, note)


def damage_message(path: Path, line: int, problem: str) -> str:
    """Return the message of an error about a line of a journal, with the way out."""
    return (
        f"{path}: line {line} {problem}; restore the journal from a copy, or keep its first "
        f"{line - 1} lines only, which are the decisions before it"
    )


def _read_header(path: Path, line: bytes) -> JournalHeader:
    values = _parse(line)
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        msg = f"{path} is not a journal of the studio of format {FORMAT}; move it elsewhere"
        raise JournalError(msg)
    if not _seal_of(line, "") or not _fits(values, _HEADER, tuple(_HEADER)):
        msg = f"{path}: line 1 is damaged; restore the journal from a copy, or move it elsewhere"
        raise JournalError(msg)
    names = ("table", "target", "rows", "fingerprint", "classes")
    table, target, n_rows, fingerprint, classes = (values[name] for name in names)
    return JournalHeader(table, target, n_rows, fingerprint, tuple(classes))


def _seal_of(line: bytes, before: str) -> str:
    """Return the checksum of a line, empty if it is not the right one."""
    parts = _SEALED.fullmatch(line)
    if parts is None:
        return ""
    check = parts[2].decode()
    return check if check == _checksum(parts[1], before) else ""


def _parse(line: bytes) -> Any:
    """Return the JSON of a line, None if it is none."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _entry(values: dict[str, Any], line: int) -> Entry:
    fields = {field: values[key] for field, key in _FIELDS.items() if key in values}
    decision = Decision(values["action"], tuple(values.get("rows", ())), **fields)
    return Entry(decision, tuple(values.get("hashes", ())), line)


# The schema of lines: what each value must be.


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_row(value: Any) -> bool:
    return type(value) is int and 0 <= value < MAX_ROWS


def _is_code(value: Any) -> bool:
    return type(value) is int and UNLABELED <= value < MAX_CLASSES


def _is_list(is_item: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(is_item, value))


_Schema = Mapping[str, Callable[[Any], bool]]
_HEADER: _Schema = {
    "format": lambda value: type(value) is int,
    "table": _is_text,
    "target": _is_text,
    "rows": _is_row,
    "fingerprint": _is_text,
    "classes": _is_list(_is_text),
    "check": _is_text,
}
_ENTRY: _Schema = {
    "at": _is_text,
    "action": lambda value: _is_text(value) and value in ACTIONS,
    "rows": _is_list(_is_row),
    "hashes": _is_list(_is_text),
    "class": _is_code,
    "name": _is_text,
    "into": _is_code,
    "by": _is_text,
    "suggested": _is_code,
    "check": _is_text,
}


def _fits(values: Any, schema: _Schema, required: tuple[str, ...]) -> bool:
    """Tell whether a line has the required values, no others than the schema, and all right."""
    if not isinstance(values, dict) or not set(required) <= set(values) <= set(schema):
        return False
    return all(schema[name](value) for name, value in values.items())
