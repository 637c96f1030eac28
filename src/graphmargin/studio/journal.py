"""The journal of a session: every decision as a line of JSON, on disk before it is answered."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from graphmargin._errors import InputError
from graphmargin._files import atomic_write, check_writable, file_stem, try_lock
from graphmargin.labeling.labeling_task import LabelingTask
from graphmargin.labels import UNLABELED
from graphmargin.studio.session import (
    DECIDED,
    KEPT,
    SKIPPED,
    UNSURE,
    Decision,
    Session,
    decide,
    new_session,
)
from graphmargin.tables.row_hashes import RowHashes, hash_rows

FORMAT = 2
"""Version of the format; a journal of another version is refused."""
ENDING = ".studio.jsonl"
_FIELDS = {"label": "class", "name": "name", "into": "into", "by": "by", "suggested": "suggested"}


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
    """A decision in a journal, with the hashes of the rows that it labeled."""

    decision: Decision
    hashes: tuple[str, ...]


@dataclass(frozen=True)
class JournalContent:
    """All that a journal has; `note` says what was dropped, and is empty if nothing was."""

    header: JournalHeader
    entries: tuple[Entry, ...]
    n_bytes: int
    note: str = ""


def journal_path(table: Path) -> Path:
    """Return the path of the journal of a table, which is beside it.

    Examples
    --------
    >>> journal_path(Path("data/cats.csv")).as_posix()
    'data/cats.studio.jsonl'
    """
    return table.with_name(file_stem(table.name) + ENDING)


def read_journal(path: Path) -> JournalContent:
    """Return the content of a journal; an incomplete last line is dropped, with a note."""
    content = path.read_bytes()
    n_bytes = content.rfind(b"\n") + 1
    torn, lines = content[n_bytes:], content[:n_bytes].splitlines()
    if not lines:
        msg = f"{path} is not a journal of the studio: it has no line; remove it"
        raise JournalError(msg)
    try:
        header = _header(json.loads(lines[0]))
    except (ValueError, TypeError, KeyError) as error:
        msg = f"{path} is not a journal of the studio of format {FORMAT}; move it elsewhere"
        raise JournalError(msg) from error
    entries = []
    for number, line in enumerate(lines[1:], start=2):
        try:
            entries.append(_entry(json.loads(line)))
        except (ValueError, TypeError, KeyError) as error:
            msg = f"{path}: line {number} is damaged; remove it, or move the journal elsewhere"
            raise JournalError(msg) from error
    note = ""
    if torn:
        note = f"the last line of {path.name} was incomplete and was dropped: it was not answered"
    return JournalContent(header, tuple(entries), n_bytes, note)


def _header(line: dict[str, Any]) -> JournalHeader:
    if line["format"] != FORMAT:
        raise ValueError(line["format"])
    names = ("table", "target", "rows", "fingerprint", "classes")
    table, target, n_rows, fingerprint, classes = (line[name] for name in names)
    return JournalHeader(str(table), str(target), int(n_rows), str(fingerprint), tuple(classes))


def _entry(line: dict[str, Any]) -> Entry:
    fields = {field: line[key] for field, key in _FIELDS.items() if key in line}
    decision = Decision(str(line["action"]), tuple(line.get("rows", ())), **fields)
    return Entry(decision, tuple(line.get("hashes", ())))


def header_line(header: JournalHeader) -> bytes:
    """Return the first line of a journal."""
    return _line(
        {
            "format": FORMAT,
            "table": header.table,
            "target": header.target,
            "rows": header.n_rows,
            "fingerprint": header.fingerprint,
            "classes": list(header.classes),
        }
    )


def entry_line(decision: Decision, hashes: RowHashes) -> bytes:
    """Return the line of a decision: when, what, and the hashes of the rows."""
    line: dict[str, Any] = {"at": datetime.now(UTC).isoformat(timespec="milliseconds")}
    line["action"] = decision.action
    if decision.rows:
        line["rows"] = list(decision.rows)
    for field, key in _FIELDS.items():
        if (value := getattr(decision, field)) != getattr(Decision, field):
            line[key] = value
    if decision.rows:
        line["hashes"] = [hashes.rows[row] for row in decision.rows]
    return _line(line)


def _line(values: dict[str, Any]) -> bytes:
    return json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


class Journal:
    """A journal that is open for appending, and locked against other processes."""

    def __init__(self, path: Path) -> None:
        check_writable(path)
        self.path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        if not try_lock(self._file):
            os.close(self._file)
            msg = f"{path} is in use by another studio; end that one first"
            raise JournalError(msg)

    def append(self, line: bytes) -> None:
        """Append a line, and return when it is on disk."""
        view = memoryview(line)
        while view:
            view = view[os.write(self._file, view) :]
        os.fsync(self._file)

    def truncate(self, n_bytes: int) -> None:
        """Remove all that follows the first bytes."""
        os.ftruncate(self._file, n_bytes)
        os.fsync(self._file)

    def close(self) -> None:
        """Close the file, which ends the lock."""
        os.close(self._file)


def replay(session: Session, decisions: Iterable[Decision]) -> Session:
    """Return a session after some decisions."""
    for decision in decisions:
        session = decide(session, decision)
    return session


def decisions_for(
    content: JournalContent, hashes: RowHashes, names: Sequence[str]
) -> tuple[tuple[Decision, ...], str]:
    """Return the decisions of a journal that apply to a table that changed since, and a note.

    A decision on a row is used if a row has the same cells as then: that row number, or else the
    only row with these cells. The target does not count. Undone decisions are left out.

    Parameters
    ----------
    content : JournalContent
    hashes : RowHashes
        Hashes of the rows of the table as it is now.
    names : sequence of str
        Classes of its labels, in the order of their codes.
    """
    header = content.header
    then = np.full(header.n_rows, UNLABELED)
    old_hashes: dict[int, str] = {}
    session = replay(
        new_session(header.classes, then), (entry.decision for entry in content.entries)
    )
    for entry in content.entries:
        old_hashes.update(zip(entry.decision.rows, entry.hashes, strict=False))
    places = {row: hashes.find(row, old_hashes.get(row, "")) for row in _decided_rows(session)}
    new_names = [known.name for known in session.active if known.name not in names]
    codes = {name: code for code, name in enumerate([*names, *new_names])}
    decisions = [Decision("add_class", name=name) for name in new_names]
    groups: dict[tuple[str, int], list[int]] = {}
    for row, place in places.items():
        if place is None:
            continue
        for action, label in _row_actions(session, row):
            code = label if label == UNLABELED else codes[session.classes[label].name]
            groups.setdefault((action, code), []).append(place)
    decisions += [
        Decision(action, tuple(sorted(set(rows))), code, by="journal")
        for (action, code), rows in groups.items()
    ]
    n_used = sum(place is not None for place in places.values())
    note = (
        f"{header.table} has changed since the last session: {n_used:,} of {len(places):,} decided "
        "rows are still there with the same cells, and their labels are used"
    )
    return tuple(decisions), note


def _decided_rows(session: Session) -> list[int]:
    return [int(row) for row in np.flatnonzero(session.marks)]


def _row_actions(session: Session, row: int) -> Iterator[tuple[str, int]]:
    """Yield the actions, with the code of a class, that lead to the state of a row."""
    marks, label = int(session.marks[row]), int(session.labels[row])
    if marks & DECIDED:
        yield "clear" if label == UNLABELED else "label", label
    if marks & SKIPPED:
        yield "skip", UNLABELED
    if marks & UNSURE:
        yield "unsure", UNLABELED
    if marks & KEPT and label != UNLABELED:
        yield "keep", UNLABELED


@dataclass(frozen=True)
class OpenedJournal:
    """A journal that is open, the session after its decisions, and notes for the person."""

    journal: Journal
    session: Session
    notes: tuple[str, ...]


def first_state(task: LabelingTask, hashes: RowHashes) -> tuple[JournalHeader, Session]:
    """Return the header of the journal of a table, and the session before any decision."""
    target = task.target
    names = tuple(str(name) for name in target.classes.tolist())
    header = JournalHeader(task.name, target.name, len(task.table), hashes.fingerprint, names)
    return header, new_session(names, target.codes)


def open_journal(path: Path, task: LabelingTask, hashes: RowHashes) -> OpenedJournal:
    """Return the open journal of a table, and the session that it continues.

    A journal of a table that changed since is kept beside the new one, which begins with all
    decisions that still apply.
    """
    header, first = first_state(task, hashes)
    journal = Journal(path)
    try:
        if not path.stat().st_size:
            journal.append(header_line(header))
            return OpenedJournal(journal, first, ())
        content = _content_for(path, header.target)
        session, notes = _continue(content, header, first, hashes)
        if content.header == header:
            journal.truncate(content.n_bytes)
        else:
            kept = _unused_name(path)
            atomic_write(kept, path.read_bytes())
            decisions = (step.decision for step in session.done)
            lines = [header_line(header), *(entry_line(each, hashes) for each in decisions)]
            journal.truncate(0)
            journal.append(b"".join(lines))
            notes += (f"all decisions are kept in {kept.name}",)
    except BaseException:
        journal.close()
        raise
    return OpenedJournal(journal, session, notes)


def session_from_journal(path: Path, task: LabelingTask) -> tuple[Session, tuple[str, ...]]:
    """Return the session of a table after the decisions of a journal, which is only read."""
    hashes = hash_rows(task.table, leave_out=task.target.name)
    header, first = first_state(task, hashes)
    return _continue(_content_for(path, header.target), header, first, hashes)


def _continue(
    content: JournalContent, header: JournalHeader, first: Session, hashes: RowHashes
) -> tuple[Session, tuple[str, ...]]:
    """Return the session after the decisions of a journal, and notes on those that are lost."""
    notes = (content.note,) if content.note else ()
    if content.header == header:
        return replay(first, (entry.decision for entry in content.entries)), notes
    decisions, note = decisions_for(content, hashes, header.classes)
    return replay(first, decisions), (*notes, note)


def _content_for(path: Path, target: str) -> JournalContent:
    """Return the content of a journal; raise `JournalError` if it is about another column."""
    content = read_journal(path)
    if content.header.target != target:
        msg = (
            f"{path} has labels for the column {content.header.target!r}, not {target!r}; use "
            f"--target {content.header.target}, or move the journal elsewhere"
        )
        raise JournalError(msg)
    return content


def _unused_name(path: Path) -> Path:
    stem = path.name.removesuffix(ENDING)
    numbers = range(1, 10_000)
    names = (path.with_name(f"{stem}.studio-{number}.jsonl") for number in numbers)
    return next(name for name in names if not name.exists())
