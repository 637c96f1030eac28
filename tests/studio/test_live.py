"""The live answer: it follows labels as if it were computed from scratch."""

import numpy as np
import pytest

from graphmargin.datasets import load_digits
from graphmargin.harmonic import harmonic_solution, leave_one_out
from graphmargin.studio.live import LiveModel
from graphmargin.studio.session import Decision, decide, new_session

NAMES = [str(k) for k in range(10)]


def refresh(live, session):
    while live.refresh(session):
        pass


def answer_to(live, session):
    live.update(session)
    refresh(live, session)
    return live.update(session)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits()
    return X[:1000], y[:1000]


@pytest.fixture(scope="module")
def annotated(digits):
    """Return a live model after 25 labels of its own queue, which began without any."""
    X, y = digits
    live, session, first = LiveModel(X), new_session(NAMES, np.full(len(y), -1)), None
    for _ in range(25):
        answer = answer_to(live, session)
        first = first or answer
        row = answer.queue[0].row
        session = decide(session, Decision("label", (row,), int(y[row])))
    return live, session, first, answer_to(live, session)


def test_without_a_label_rows_that_represent_many_come_first(annotated, digits):
    _, _, first, _ = annotated
    assert "no row has a label yet; it represents about" in first.queue[0].reason
    assert len({queued.row for queued in first.queue}) == len(first.queue)
    answer = answer_to(LiveModel(digits[0]), new_session([], np.full(len(digits[0]), -1)))
    assert answer.distributions.shape == (1000, 0)
    assert len(answer.queue) > 1


def test_the_queue_finds_the_classes(annotated, digits):
    _, session, _, answer = annotated
    _, y = digits
    hidden = session.labels < 0
    assert np.mean(answer.distributions[hidden].argmax(axis=1) == y[hidden]) > 0.9


def test_the_answer_is_that_of_a_fresh_solution(annotated):
    live, session, _, answer = annotated
    system, codes = live.state.system, session.labels
    fresh = harmonic_solution(system.W, codes, gamma_g=system.gamma_g)
    mass = np.zeros((len(codes), 10))
    mass[:, fresh.classes] = fresh.class_mass
    expected = (mass + 0.002) / (mass.sum(axis=1, keepdims=True) + 0.02)
    assert np.abs(answer.distributions - expected)[codes < 0].max() < 1e-6
    left_out, graph = leave_one_out(fresh), live.state.label_graph
    assert len(live.state.changes) > 2  # labels that the inverse does not know
    ours = graph.leave_one_out(codes, 10)[np.argsort(graph.vertices)][:, fresh.classes]
    assert np.abs(ours - left_out.class_mass).max() < 1e-5
    assert answer.estimate.n_right == np.sum(left_out.codes == left_out.given)
    assert answer.estimate.interval[0] < answer.estimate.accuracy < answer.estimate.interval[1]


def test_changes_during_a_refresh_are_applied_to_its_result(digits):
    X, y = digits
    codes = np.where(np.arange(1000) < 30, y, -1)
    live = LiveModel(X)
    before = live.state.with_labels(codes, 10)
    refreshed = before.refreshed(codes < 0)
    later = codes.copy()
    later[[50, 60]], later[3] = y[[50, 60]], -1
    now = before.with_labels(later, 10).with_refreshed(refreshed, before)
    assert now.inverse is refreshed.inverse
    assert now.pool_age == len(now.changes) == 3
    session = new_session(NAMES, later)
    ours, theirs = now.answer(session), answer_to(live, session)
    assert np.abs(ours.distributions - theirs.distributions).max() < 1e-6
    assert ours.estimate.n_right == theirs.estimate.n_right
    assert ours.estimate.accuracy == pytest.approx(theirs.estimate.accuracy, abs=1e-5)


def test_a_refresh_is_of_no_use_if_the_system_was_solved_anew_meanwhile(digits):
    X, y = digits
    before = LiveModel(X).state.with_labels(np.where(np.arange(1000) < 30, y, -1), 10)
    refreshed = before.refreshed(before.solution.codes < 0)
    now = before.with_labels(np.where(np.arange(1000) < 60, y, -1), 10)
    assert now.with_refreshed(refreshed, before) is now


def test_states_are_not_changed_by_later_labels(annotated):
    before = annotated[0].state
    mass, codes = before.solution.class_mass.copy(), before.solution.codes.copy()
    row = int(np.flatnonzero(codes < 0)[0])
    after = before.with_label(row, 3).with_label(row, 4).with_label(row, -1)
    assert np.abs(after.solution.class_mass - mass).max() < 1e-6
    assert (before.solution.class_mass == mass).all()
    assert (before.solution.codes == codes).all()


def test_a_wrong_label_is_asked_about(digits):
    X, y = digits
    codes = np.where(np.arange(1000) < 300, y, -1)
    wrong = 17
    codes[wrong] = (y[wrong] + 5) % 10
    errors = answer_to(LiveModel(X), new_session(NAMES, codes)).errors
    assert errors.rows[errors.listed][0] == wrong
    assert errors.suggested_labels[errors.listed][0] == y[wrong]


def test_rows_that_are_not_open_are_not_offered(annotated):
    live, session, _, answer = annotated
    row = answer.queue[0].row
    queue = live.update(decide(session, Decision("skip", (row,)))).queue
    assert row not in {queued.row for queued in queue}


@pytest.mark.parametrize("is_direct", [True, False])
def test_a_row_is_explained_by_labels(annotated, is_direct, monkeypatch):
    live, session, _, _ = annotated
    system, codes = live.state.system, session.labels
    monkeypatch.setattr(type(system), "is_direct", is_direct)
    row = int(np.flatnonzero(codes < 0)[7])
    shares = live.state.explain(row, 3)
    fresh = harmonic_solution(system.W, codes, gamma_g=system.gamma_g).explain(row)
    assert [source for source, _ in shares] == fresh.sources[:3].tolist()
    assert [share for _, share in shares] == pytest.approx(fresh.shares[:3], abs=2e-3)
    assert live.state.explain(int(np.flatnonzero(codes >= 0)[0]), 3) == []
