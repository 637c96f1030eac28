"""The journal of a session: opened, continued, and carried over to a table that has changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from graphmargin._files import atomic_write, check_writable
from graphmargin._permissions import made_from
from graphmargin.labeling.labeling_task import LabelingTask
from graphmargin.labels import UNLABELED
from graphmargin.studio.journal_file import ENDING, Journal, TableLock, unused_name
from graphmargin.studio.journal_lines import (
    Entry,
    JournalContent,
    JournalError,
    JournalHeader,
    damage_message,
    entry_values,
    header_values,
    journal_bytes,
    parse_journal,
)
from graphmargin.studio.session import (
    DECIDED,
    KEPT,
    SKIPPED,
    UNSURE,
    Decision,
    DecisionError,
    Session,
    decide,
    new_session,
)
from graphmargin.tables.row_hashes import RowHashes, hash_rows

FIRST = ("label", "clear")
"""Actions that remove the marks of a row."""


@dataclass(frozen=True)
class OpenedJournal:
    """A journal that is open, the session after its decisions, and notes for the person."""

    journal: Journal
    lock: TableLock
    session: Session
    notes: tuple[str, ...]

    def close(self) -> None:
        """Close the journal and the table, so that another studio can open them."""
        try:
            self.journal.close()
        finally:
            self.lock.close()


def journal_path(table: Path) -> Path:
    """Return the path of the journal of a table, which is beside it.

    Examples
    --------
    >>> journal_path(Path("data/cats.2024.csv")).as_posix()
    'data/cats.2024.csv.studio.jsonl'
    """
    return table.with_name(table.name + ENDING)


def open_journal(table: Path, task: LabelingTask, hashes: RowHashes) -> OpenedJournal:
    """Return the open journal of a table, and the session that it continues.

    A journal of a table that changed since is kept beside the new one, which begins with all
    decisions that still apply.
    """
    path = journal_path(table)
    check_writable(path)
    header, first = first_state(task, hashes)
    lock = TableLock(table)
    journal, session = None, first
    notes: tuple[str, ...] = ()
    try:
        if not path.exists():
            _begin(path, table, header, session, hashes)
            journal = Journal(path)
        else:
            journal = Journal(path)
            content = _checked(path, journal.content, header.target)
            session, notes = _continue(path, content, header, first, hashes)
            if content.header != header:
                kept = unused_name(path)
                with made_from(path):
                    atomic_write(kept, content.data)
                _begin(path, table, header, session, hashes)
                old, journal = journal, Journal(path)
                old.release()
                notes += (f"all decisions are kept in {kept.name}",)
    except BaseException:
        if journal is not None:
            journal.release()
        lock.close()
        raise
    return OpenedJournal(journal, lock, session, notes)


def _begin(
    path: Path, table: Path, header: JournalHeader, session: Session, hashes: RowHashes
) -> None:
    """Write a journal with the decisions of a session in place of the old one."""
    entries = (entry_values(step.decision, hashes) for step in session.done)
    with made_from(table):
        atomic_write(path, journal_bytes([header_values(header), *entries]))


def session_from_journal(path: Path, task: LabelingTask) -> tuple[Session, tuple[str, ...]]:
    """Return the session of a table after the decisions of a journal, which is only read."""
    hashes = hash_rows(task.table, leave_out=task.target.name)
    header, first = first_state(task, hashes)
    content = _checked(path, parse_journal(path, path.read_bytes()), header.target)
    return _continue(path, content, header, first, hashes)


def first_state(task: LabelingTask, hashes: RowHashes) -> tuple[JournalHeader, Session]:
    """Return the header of the journal of a table, and the session before any decision."""
    target = task.target
    names = tuple(str(name) for name in target.classes.tolist())
    header = JournalHeader(task.name, target.name, len(task.table), hashes.fingerprint, names)
    return header, new_session(names, target.codes)


def _checked(path: Path, content: JournalContent, target: str) -> JournalContent:
    """Return the content of a journal; raise `JournalError` if it is about another column."""
    if content.header.target != target:
        msg = (
            f"{path} has labels for the column {content.header.target!r}, not {target!r}; use "
            f"--target {content.header.target}, or move the journal elsewhere"
        )
        raise JournalError(msg)
    return content


def _continue(
    path: Path,
    content: JournalContent,
    header: JournalHeader,
    first: Session,
    hashes: RowHashes,
) -> tuple[Session, tuple[str, ...]]:
    """Return the session after the decisions of a journal, and notes on those that are lost."""
    notes = (content.note,) if content.note else ()
    if content.header == header:
        for entry in content.entries:
            if entry.hashes != tuple(hashes.rows[row] for row in entry.decision.rows):
                problem = "has the hashes of other rows"
                raise JournalError(damage_message(path, entry.line, problem))
        return _replay(path, first, content.entries), notes
    decisions, note = _carry_over(path, content, hashes, header.classes)
    session = first
    for decision in decisions:
        session = decide(session, decision)
    return session, (*notes, note)


def _replay(path: Path, session: Session, entries: Sequence[Entry]) -> Session:
    """Return a session after the decisions of a journal."""
    for entry in entries:
        try:
            session = decide(session, entry.decision)
        except DecisionError as error:
            problem = f"cannot be applied ({error})"
            raise JournalError(damage_message(path, entry.line, problem)) from error
    return session


def _carry_over(
    path: Path, content: JournalContent, hashes: RowHashes, names: Sequence[str]
) -> tuple[tuple[Decision, ...], str]:
    """Return the decisions of a journal that apply to a table that changed since, and a note.

    A decision on a row is used if a row has the same cells as then: that row number, or else the
    only row with these cells. The target does not count. Undone decisions are left out.

    Parameters
    ----------
    path : Path
    content : JournalContent
    hashes : RowHashes
        Hashes of the rows of the table as it is now.
    names : sequence of str
        Classes of its labels, in the order of their codes.
    """
    old = _old_state(path, content)
    session, actions = old.session, old.actions
    places = {row: hashes.find(row, old.hashes[row]) for row in actions}
    new_names = [known.name for known in session.active if known.name not in names]
    codes = {name: code for code, name in enumerate([*names, *new_names])}
    decisions = [Decision("add_class", name=name) for name in new_names]
    groups: dict[tuple[str, int], list[int]] = {}
    for row, place in places.items():
        if place is None:
            continue
        for action, label in actions[row]:
            code = label if label == UNLABELED else codes[session.classes[label].name]
            groups.setdefault((action, code), []).append(place)
    decisions += [
        Decision(action, tuple(sorted(set(rows))), code, by="journal")
        # A label removes other marks of a row, so that they follow it.
        for (action, code), rows in sorted(groups.items(), key=lambda item: item[0][0] not in FIRST)
    ]
    decisions += [
        Decision("merge_classes", label=codes[name], into=codes[into])
        for name, into in _moved_classes(session, content.header.classes).items()
        if name in names
    ]
    n_used = sum(place is not None for place in places.values())
    note = (
        f"{content.header.table} has changed since the last session: {n_used:,} of {len(places):,} "
        "decided rows are still there with the same cells, and their labels are used"
    )
    return tuple(decisions), note


@dataclass(frozen=True)
class _OldState:
    """The session of a journal, and the actions and the hash of each row that it decided."""

    session: Session
    actions: dict[int, tuple[tuple[str, int], ...]]
    hashes: dict[int, str]


def _old_state(path: Path, content: JournalContent) -> _OldState:
    """Return the state after the decisions of a journal whose table is not there any more.

    Only rows of decisions are kept, whatever the number of rows in the header. Their labels before
    are not known; the first class stands for them, as a label that was kept has to exist.
    """
    hashes: dict[int, str] = {}
    for entry in content.entries:
        hashes.update(zip(entry.decision.rows, entry.hashes, strict=True))
    places = {row: place for place, row in enumerate(sorted(hashes))}
    entries = [
        replace(entry, decision=replace(entry.decision, rows=tuple(places[r] for r in rows)))
        for entry in content.entries
        for rows in [entry.decision.rows]
    ]
    names = content.header.classes
    session = _replay(
        path, new_session(names, np.full(len(places), 0 if names else UNLABELED)), entries
    )
    actions = {row: tuple(_row_actions(session, place)) for row, place in places.items()}
    return _OldState(session, {row: each for row, each in actions.items() if each}, hashes)


def _row_actions(session: Session, row: int) -> Iterator[tuple[str, int]]:
    """Yield the actions, with the code of a class, that lead to the state of a row."""
    marks, label = int(session.marks[row]), int(session.labels[row])
    if marks & DECIDED:
        yield "clear" if label == UNLABELED else "label", label
    if marks & SKIPPED:
        yield "skip", UNLABELED
    if marks & UNSURE:
        yield "unsure", UNLABELED
    if marks & KEPT and marks & DECIDED:
        yield "keep", UNLABELED


def _moved_classes(session: Session, names: Sequence[str]) -> dict[str, str]:
    """Return the new name of each class of a table that was renamed or merged into another."""
    into = {
        step.decision.label: step.decision.into
        for step in session.done
        if step.decision.action == "merge_classes"
    }
    active = {known.name for known in session.active}
    moved = {}
    for code, name in enumerate(names):
        last = code
        while not session.classes[last].is_active:
            last = into[last]
        if name not in active:
            moved[name] = session.classes[last].name
    return moved
