"""Snapshots: what is shown, from where, and how it changed over the last labels."""

import numpy as np
import pytest

from graphmargin.studio.background_fit import FitResult, FitState
from graphmargin.studio.live import LiveAnswer, QueuedRow
from graphmargin.studio.session import Decision, decide, new_session
from graphmargin.studio.snapshot import CHANGE_WINDOW, make_snapshot

NO_CLASS_BYTE = 255


def answer(predicted):
    """Return a live answer that is 80 % sure of the predicted classes, out of two."""
    distributions = np.where(np.array(predicted)[:, None] == [0, 1], 0.8, 0.2)
    return LiveAnswer(distributions, (QueuedRow(2, "a reason"),), None, None)


def label(session, row, code=0):
    return decide(session, Decision("label", (row,), code))


def test_nothing_is_predicted_without_a_label():
    now = make_snapshot(new_session(["a", "b"], np.full(2, -1)), answer([0, 1]), FitState())
    assert now.packed.tolist() == [[NO_CLASS_BYTE, NO_CLASS_BYTE, 0, 0]] * 2
    assert now.predicted.tolist() == [-1, -1]


def test_labels_are_certain_and_other_rows_have_the_confidence_of_the_answer():
    session = decide(new_session(["a", "b"], np.array([1, -1, -1])), Decision("skip", (2,)))
    now = make_snapshot(session, answer([0, 0, 1]), FitState())
    assert now.packed.tolist() == [[1, 1, 255, 0], [255, 0, 204, 0], [255, 1, 204, 2]]


def test_the_automatic_choice_is_shown_until_a_label_changes():
    session, live = new_session(["a", "b"], np.array([0, 1, -1])), answer([0, 1, 0])
    result = FitResult(session, None, answer([0, 1, 1]).distributions, None, None)
    fit = FitState("done", 1.0, result=result)
    now = make_snapshot(session, live, fit)
    assert (now.shown, now.stale_labels, now.predicted.tolist()) == ("automatic", 0, [0, 1, 1])
    now = make_snapshot(decide(session, Decision("clear", (0,))), live, fit, now)
    assert (now.version, now.shown, now.stale_labels) == (1, "live", 1)
    assert now.predicted.tolist() == [0, 1, 0]


def test_changes_are_counted_over_the_last_labels_and_forgotten_by_undo():
    session, n = new_session(["a", "b"], np.full(100, -1)), CHANGE_WINDOW
    now = make_snapshot(session, answer([0] * 100), FitState())
    for k in range(n + 5):
        session = label(session, k, k % 2)
        predicted = [1] * min(k, n) + [0] * (100 - min(k, n))
        now = make_snapshot(session, answer(predicted), FitState(), now)
    assert [count for count, _ in now.recent] == list(range(5, n + 6))
    assert f"The last {n} labels changed {n - 4}.0% of the rows" in now.advice.text
    now = make_snapshot(decide(session, Decision("undo")), now.live, FitState(), now)
    assert [count for count, _ in now.recent] == list(range(5, n + 5))
    assert "so far" in now.advice.text


@pytest.mark.parametrize(("action", "row"), [("undo", 7), ("redo", 7), ("skip", 2)])
def test_after_undo_and_redo_comes_the_row_of_the_decision(action, row):
    session = label(new_session(["a", "b"], np.full(9, -1)), 7)
    if action == "undo":
        session = decide(session, Decision("undo"))
    now = make_snapshot(session, answer([0] * 9), FitState())
    assert now.next_row(Decision(action)) == row
