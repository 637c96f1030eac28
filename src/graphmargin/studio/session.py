"""The state of a labeling session: classes, labels, marks, and decisions that can be undone."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from graphmargin._errors import InputError
from graphmargin._typing import AnyArray, BoolArray, IntArray
from graphmargin.labels import UNLABELED

UNSURE, SKIPPED, KEPT, DECIDED = 1, 2, 4, 8
"""Marks of a row: unsure, skipped, label confirmed, label given or cleared by a decision."""
ALL_MARKS = UNSURE | SKIPPED | KEPT | DECIDED
MAX_CLASSES = 250
"""Largest number of classes, whose codes and "no class" fit a byte of the page."""
MAX_NAME = 200
"""Largest number of characters of the name of a class."""
SOURCES = ("", "key", "button", "lasso", "filter", "question", "journal")
"""Ways in which a person gives a label."""

# Control characters, halves of surrogate pairs, marks of direction, and what is not a character.
_FORBIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\ud800-\udfff\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff]"
)
_INTEGER = re.compile("-?[0-9]{1,18}")


class DecisionError(InputError):
    """A decision that cannot be applied, with a sentence on the way out."""


@dataclass(frozen=True)
class StudioClass:
    """A class; its code never changes, and one that was merged into another is not active."""

    code: int
    name: str
    is_active: bool = True


@dataclass(frozen=True)
class Decision:
    """A decision of a person: an action on rows or on classes, both counted from 0."""

    action: str
    rows: tuple[int, ...] = ()
    label: int = UNLABELED
    name: str = ""
    into: int = UNLABELED
    by: str = ""
    suggested: int = UNLABELED


@dataclass(frozen=True)
class Step:
    """A decision that was applied, and what it replaced."""

    decision: Decision
    text: str
    rows: IntArray
    labels: AnyArray
    marks: AnyArray
    classes: tuple[StudioClass, ...]


@dataclass(frozen=True)
class Session:
    """The classes, and the labels and marks of all rows of a table.

    Attributes
    ----------
    classes : tuple of StudioClass
        All classes, in the order of their codes, with those that are not active.
    labels : int16 array of shape (n,)
        Code of the class of each row, -1 without a label.
    marks : uint8 array of shape (n,)
    done, undone : tuple of Step
        Decisions that can be undone and done again, the latest one last.

    Examples
    --------
    >>> session = new_session(["cat", "dog"], np.array([0, -1, -1]))
    >>> session = decide(session, Decision("label", rows=(2,), label=1))
    >>> session.labels.tolist(), session.can_undo
    ([0, -1, 1], "label row 3 as 'dog'")
    >>> session = decide(session, Decision("undo"))
    >>> session.labels.tolist(), session.can_redo
    ([0, -1, -1], "label row 3 as 'dog'")
    """

    classes: tuple[StudioClass, ...]
    labels: AnyArray
    marks: AnyArray
    done: tuple[Step, ...] = ()
    undone: tuple[Step, ...] = ()

    @property
    def active(self) -> tuple[StudioClass, ...]:
        """Classes that were not merged into another."""
        return tuple(known for known in self.classes if known.is_active)

    @property
    def n_labels(self) -> int:
        """Number of rows with a label."""
        return int((self.labels != UNLABELED).sum())

    @property
    def is_open(self) -> BoolArray:
        """Mask of the rows that may be suggested: without a label, neither skipped nor unsure."""
        return np.asarray((self.labels == UNLABELED) & (self.marks & (UNSURE | SKIPPED) == 0))

    @property
    def can_undo(self) -> str | None:
        """The decision that `undo` takes back, in words; None if there is none."""
        return self.done[-1].text if self.done else None

    @property
    def can_redo(self) -> str | None:
        """The decision that `redo` does again, in words; None if there is none."""
        return self.undone[-1].text if self.undone else None


def new_session(names: Sequence[str], codes: IntArray) -> Session:
    """Return the session of a table with given labels: codes into the names, -1 without a label."""
    if len(names) > MAX_CLASSES:
        msg = f"the table has {len(names)} classes, and the studio has room for {MAX_CLASSES}"
        raise DecisionError(msg)
    classes = tuple(StudioClass(code, name) for code, name in enumerate(names))
    return Session(classes, codes.astype(np.int16), np.zeros(len(codes), dtype=np.uint8))


def decide(session: Session, decision: Decision) -> Session:
    """Return the session after a decision; raise `DecisionError` if it cannot be applied.

    Actions are "label", "clear", "skip", "unsure" and "keep" (rows), "add_class", "rename_class"
    and "merge_classes", and "undo" and "redo".
    """
    if decision.action == "undo":
        return _undo(session)
    if decision.action == "redo":
        if not session.undone:
            msg = "there is nothing to do again"
            raise DecisionError(msg)
        after = _apply(session, session.undone[-1].decision)
        return replace(after, undone=session.undone[:-1])
    return _apply(session, decision)


def _apply(session: Session, decision: Decision) -> Session:
    change = _ACTIONS.get(decision.action)
    if change is None:
        msg = f"there is no action {decision.action!r}; use one of {', '.join(_ACTIONS)}"
        raise DecisionError(msg)
    return change(session, decision)


def _undo(session: Session) -> Session:
    if not session.done:
        msg = "there is nothing to undo"
        raise DecisionError(msg)
    step = session.done[-1]
    labels, marks = session.labels.copy(), session.marks.copy()
    labels[step.rows], marks[step.rows] = step.labels, step.marks
    undone = (*session.undone, step)
    return Session(step.classes, labels, marks, session.done[:-1], undone)


def _step(
    session: Session,
    decision: Decision,
    text: str,
    rows: IntArray,
    *,
    label: int | None = None,
    marks: Callable[[AnyArray], AnyArray | int] = lambda marks: marks,
    classes: tuple[StudioClass, ...] | None = None,
) -> Session:
    """Return the session with other labels and marks of some rows, and a step to undo it."""
    step = Step(decision, text, rows, session.labels[rows], session.marks[rows], session.classes)
    new_labels, new_marks = session.labels.copy(), session.marks.copy()
    if label is not None:
        new_labels[rows] = label
    new_marks[rows] = marks(new_marks[rows])
    classes = session.classes if classes is None else classes
    return Session(classes, new_labels, new_marks, (*session.done, step))


def _label(session: Session, decision: Decision) -> Session:
    rows = _rows(session, decision)
    known = active_class(session, decision.label)
    if decision.by not in SOURCES:
        msg = f"`by` must be one of {', '.join(SOURCES[1:])}, got {decision.by!r}"
        raise DecisionError(msg)
    text = f"label {_name_rows(rows)} as {known.name!r}"
    return _step(session, decision, text, rows, label=known.code, marks=lambda _: DECIDED)


def _clear(session: Session, decision: Decision) -> Session:
    rows = _rows(session, decision)
    text = f"clear {_name_rows(rows)}"
    return _step(session, decision, text, rows, label=UNLABELED, marks=lambda _: DECIDED)


def _skip(session: Session, decision: Decision) -> Session:
    rows = _rows(session, decision)
    text = f"skip {_name_rows(rows)}"
    return _step(
        session, decision, text, rows, marks=lambda marks: marks & (ALL_MARKS - UNSURE) | SKIPPED
    )


def _unsure(session: Session, decision: Decision) -> Session:
    rows = _rows(session, decision)
    text = f"mark {_name_rows(rows)} as unsure"
    return _step(
        session, decision, text, rows, marks=lambda marks: marks & (ALL_MARKS - SKIPPED) | UNSURE
    )


def _keep(session: Session, decision: Decision) -> Session:
    rows = _rows(session, decision)
    without_label = rows[session.labels[rows] == UNLABELED]
    if len(without_label):
        msg = f"{row_name(without_label[0])} has no label that could be kept; give it one"
        raise DecisionError(msg)
    text = f"keep the label of {_name_rows(rows)}"
    return _step(session, decision, text, rows, marks=lambda marks: marks | KEPT)


def _add_class(session: Session, decision: Decision) -> Session:
    name = _new_name(session, decision.name)
    if len(session.classes) >= MAX_CLASSES:
        msg = f"there are {MAX_CLASSES} classes already; rename or merge some"
        raise DecisionError(msg)
    added = StudioClass(len(session.classes), name)
    none = np.zeros(0, dtype=np.int64)
    classes = (*session.classes, added)
    return _step(session, decision, f"add class {name!r}", none, classes=classes)


def _rename_class(session: Session, decision: Decision) -> Session:
    old, name = active_class(session, decision.label), _new_name(session, decision.name)
    none = np.zeros(0, dtype=np.int64)
    classes = _replaced(session.classes, replace(old, name=name))
    return _step(session, decision, f"rename {old.name!r} to {name!r}", none, classes=classes)


def _merge_classes(session: Session, decision: Decision) -> Session:
    old, into = active_class(session, decision.label), active_class(session, decision.into)
    if old == into:
        msg = f"class {old.name!r} cannot be merged into itself; choose another one"
        raise DecisionError(msg)
    rows = np.flatnonzero(session.labels == old.code)
    classes = _replaced(session.classes, replace(old, is_active=False))
    text = f"merge {old.name!r} into {into.name!r}"
    return _step(session, decision, text, rows, label=into.code, classes=classes)


_ACTIONS: dict[str, Callable[[Session, Decision], Session]] = {
    "label": _label,
    "clear": _clear,
    "skip": _skip,
    "unsure": _unsure,
    "keep": _keep,
    "add_class": _add_class,
    "rename_class": _rename_class,
    "merge_classes": _merge_classes,
}


ACTIONS = (*_ACTIONS, "undo", "redo")
"""Names of all actions."""


def _replaced(classes: tuple[StudioClass, ...], new: StudioClass) -> tuple[StudioClass, ...]:
    return (*classes[: new.code], new, *classes[new.code + 1 :])


def label_names(session: Session) -> AnyArray:
    """Return the name of the class of each row, None without a label."""
    names = np.array([*(known.name for known in session.classes), None], dtype=object)
    return np.asarray(names[session.labels])  # the last name is that of label -1


def active_class(session: Session, code: Any) -> StudioClass:
    """Return the class with a code; raise `DecisionError` if it does not exist or was merged."""
    known = {each.code: each for each in session.active}
    if code not in known:
        msg = f"there is no class with the code {code!r}; classes are {sorted(known)}"
        raise DecisionError(msg)
    return known[code]


def clean_name(name: str) -> str:
    """Return the name of a class with single blanks; raise `DecisionError` if none can have it.

    Names have no characters that a file format cannot hold, and none that hide or reorder others.
    """
    name = " ".join(name.split())
    if not name or len(name) > MAX_NAME:
        msg = f"the name of a class must have 1 to {MAX_NAME} characters, got {len(name)}"
        raise DecisionError(msg)
    if found := _FORBIDDEN.search(name):
        msg = f"the name of a class has the character U+{ord(found[0]):04X}; leave it out"
        raise DecisionError(msg)
    if not any(char.isprintable() for char in name):
        msg = "the name of a class must have a visible character"
        raise DecisionError(msg)
    return name


def _new_name(session: Session, name: str) -> str:
    """Return the clean name of a class, if no other class has it."""
    name = clean_name(name)
    if any(known.name == name for known in session.active):
        msg = f"there is a class {name!r} already; choose another name, or merge classes"
        raise DecisionError(msg)
    return name


def _rows(session: Session, decision: Decision) -> IntArray:
    """Return the rows of a decision, ascending; raise `DecisionError` if there is no such row."""
    if not decision.rows:
        msg = f"there are no rows to {decision.action}; choose at least one"
        raise DecisionError(msg)
    return np.unique(check_rows(decision.rows, len(session.labels)))


def check_rows(rows: Sequence[int], n_rows: int) -> IntArray:
    """Return rows, counted from 0, as an array; raise `DecisionError` if there is no such row."""
    for row in rows:
        if not 0 <= row < n_rows:
            msg = f"there is no {row_name(row)}; the table has {n_rows:,} rows"
            raise DecisionError(msg)
    return np.array(rows, dtype=np.int64)


def read_integer(name: str, text: str) -> int:
    """Return the integer of a request; raise `DecisionError` if the text is none.

    Examples
    --------
    >>> read_integer("since", "12")
    12
    """
    if not _INTEGER.fullmatch(text):
        msg = f"`{name}` must be an integer of up to 18 digits, got {text[:40]!r}"
        raise DecisionError(msg)
    return int(text)


def row_name(row: int) -> str:
    """Return how texts name a row: they count from 1.

    Examples
    --------
    >>> row_name(1233)
    'row 1,234'
    """
    return f"row {row + 1:,}"


def _name_rows(rows: IntArray) -> str:
    return row_name(rows[0]) if len(rows) == 1 else f"{len(rows):,} rows"
