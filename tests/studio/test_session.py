"""Decisions: what they change, that they can be undone without end, and which are refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmargin.studio.session import (
    KEPT,
    SKIPPED,
    UNSURE,
    Decision,
    DecisionError,
    decide,
    label_names,
    new_session,
)


@pytest.fixture
def session():
    return new_session(["cat", "dog"], np.array([0, 1, -1, -1, -1]))


def after(session, *decisions):
    for decision in decisions:
        session = decide(session, decision)
    return session


def label(*rows, to=0, by="key"):
    return Decision("label", rows, to, by=by)


def test_labels_may_be_given_changed_and_cleared(session):
    session = after(session, label(2, 3), label(0, to=1), Decision("clear", (1,)))
    assert label_names(session).tolist() == ["dog", None, "cat", "cat", None]


def test_skipped_and_unsure_are_remembered_until_there_is_a_label(session):
    session = after(session, Decision("skip", (2,)), Decision("unsure", (3,)))
    assert session.marks[2] == SKIPPED
    assert session.marks[3] == UNSURE
    session = after(session, Decision("unsure", (2,)), label(3))
    assert session.marks[2] == UNSURE
    assert not session.marks[3] & UNSURE


def test_a_kept_label_is_asked_again_if_it_changes(session):
    session = after(session, Decision("keep", (0,)))
    assert session.marks[0] & KEPT
    assert not after(session, label(0, to=1)).marks[0] & KEPT


def test_classes_are_added_renamed_and_merged(session):
    session = after(session, Decision("add_class", name="  eel  "), label(2, to=2))
    session = after(session, Decision("rename_class", label=2, name="fish"))
    session = after(session, Decision("merge_classes", label=1, into=2))
    assert [known.name for known in session.active] == ["cat", "fish"]
    assert label_names(session).tolist() == ["cat", "fish", "fish", None, None]


def test_undo_and_redo_say_what_they_do(session):
    session = after(session, label(2), label(3, 4, to=1))
    assert session.can_undo == "label 2 rows as 'dog'"
    session = after(session, Decision("undo"))
    assert session.can_undo == "label row 3 as 'cat'"
    assert session.can_redo == "label 2 rows as 'dog'"
    session = after(session, label(4))
    assert session.can_redo is None


ROWS = st.lists(st.integers(0, 4), min_size=1, max_size=3).map(tuple)
DECISIONS = st.lists(
    st.one_of(
        st.builds(label, st.integers(0, 4), to=st.integers(0, 2)),
        st.builds(Decision, st.sampled_from(["clear", "skip", "unsure", "keep"]), ROWS),
        st.builds(lambda k: Decision("add_class", name=f"new {k}"), st.integers(0, 3)),
        st.builds(
            lambda a, b: Decision("merge_classes", label=a, into=b),
            st.integers(0, 3),
            st.integers(0, 3),
        ),
        st.sampled_from([Decision("undo"), Decision("redo")]),
    ),
    max_size=12,
)


@given(DECISIONS)
def test_undoing_all_gives_the_first_state_and_redoing_all_the_last(decisions):
    first = session = new_session(["cat", "dog"], np.array([0, 1, -1, -1, -1]))
    for decision in decisions:
        try:
            session = decide(session, decision)
        except DecisionError:
            continue
    last = session
    while session.done:
        session = decide(session, Decision("undo"))
    assert (session.classes, session.labels.tolist()) == (first.classes, first.labels.tolist())
    assert not session.marks.any()
    for _ in last.done:
        session = decide(session, Decision("redo"))
    assert session.classes == last.classes
    assert session.labels.tolist() == last.labels.tolist()
    assert session.marks.tolist() == last.marks.tolist()


@pytest.mark.parametrize(
    ("decision", "text"),
    [
        (Decision("undo"), "nothing to undo"),
        (Decision("redo"), "nothing to do again"),
        (label(5), "there is no row 6; the table has 5 rows"),
        (label(-1), "there is no row 0"),
        (label(), "no rows to label"),
        (label(2, to=9), "no class with the code 9"),
        (label(2, to=-1), "no class with the code -1"),
        (label(2, by="magic"), "`by` must be one of key"),
        (Decision("keep", (2,)), "row 3 has no label"),
        (Decision("add_class", name=" "), "1 to 200 characters"),
        (Decision("add_class", name="cat"), "there is a class 'cat' already"),
        (Decision("rename_class", label=0, name="dog"), "there is a class 'dog' already"),
        (Decision("merge_classes", label=1, into=1), "into itself"),
        (Decision("dance"), "no action 'dance'"),
    ],
)
def test_wrong_decisions_are_refused_with_a_way_out(session, decision, text):
    with pytest.raises(DecisionError, match=text):
        decide(session, decision)
