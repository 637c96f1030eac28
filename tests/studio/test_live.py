"""The live answer: it follows labels as if it were computed from scratch."""

import numpy as np
import pytest

from graphmargin.datasets import load_digits
from graphmargin.harmonic import harmonic_solution, leave_one_out
from graphmargin.studio.live import Live

NAMES = [str(k) for k in range(10)]
ACTIVE = np.ones(10, dtype=bool)


def settle(live, is_open):
    while (work := live.pending_work(is_open)) is not None:
        work()()


def answer_to(live, codes):
    answer = live.follow(codes, NAMES, ACTIVE, codes < 0)
    settle(live, codes < 0)
    return live.follow(codes, NAMES, ACTIVE, codes < 0) if not answer.queue else answer


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits()
    return X[:1000], y[:1000]


@pytest.fixture(scope="module")
def annotated(digits):
    """Return a live answer after 25 labels of its own queue, which began without any."""
    X, y = digits
    live, codes, first = Live(X), np.full(len(y), -1), None
    for _ in range(25):
        answer = answer_to(live, codes)
        first = first or answer
        codes = codes.copy()
        codes[answer.queue[0].row] = y[answer.queue[0].row]
    return live, codes, first, answer_to(live, codes)


def test_without_a_label_rows_that_represent_many_come_first(annotated, digits):
    _, _, first, _ = annotated
    assert "no row has a label yet; it represents about" in first.queue[0].reason
    assert len({queued.row for queued in first.queue}) == len(first.queue)
    live = Live(digits[0])
    nothing, none = np.full(len(digits[0]), -1), np.zeros(0, dtype=bool)
    settle(live, nothing < 0)
    answer = live.follow(nothing, [], none, nothing < 0)
    assert answer.distributions.shape == (1000, 0)
    assert len(answer.queue) > 1


def test_the_queue_finds_the_classes(annotated, digits):
    _, codes, _, answer = annotated
    _, y = digits
    hidden = codes < 0
    assert np.mean(answer.distributions[hidden].argmax(axis=1) == y[hidden]) > 0.9


def test_the_answer_is_that_of_a_fresh_solution(annotated):
    live, codes, _, answer = annotated
    fresh = harmonic_solution(live.system.W, codes, gamma_g=live.system.gamma_g)
    mass = np.zeros((len(codes), 10))
    mass[:, fresh.classes] = fresh.class_mass
    expected = (mass + 0.002) / (mass.sum(axis=1, keepdims=True) + 0.02)
    assert np.abs(answer.distributions - expected)[codes < 0].max() < 1e-6
    left_out = leave_one_out(fresh)
    assert answer.estimate.n_right == np.sum(left_out.codes == left_out.given)
    assert answer.estimate.interval[0] < answer.estimate.accuracy < answer.estimate.interval[1]


def test_changes_while_work_is_under_way_are_followed(digits):
    X, y = digits
    codes = np.where(np.arange(1000) < 30, y, -1)
    live = Live(X)
    live.follow(codes, NAMES, ACTIVE, codes < 0)
    work = live.pending_work(codes < 0)
    install = work()
    later = codes.copy()
    later[[50, 60]], later[3] = y[[50, 60]], -1
    live.follow(later, NAMES, ACTIVE, later < 0)
    assert install()
    other = Live(X)
    other.follow(later, NAMES, ACTIVE, later < 0)
    settle(other, later < 0)
    ours, theirs = (each.follow(later, NAMES, ACTIVE, later < 0) for each in (live, other))
    assert np.abs(ours.distributions - theirs.distributions).max() < 1e-6
    assert ours.estimate.n_right == theirs.estimate.n_right
    assert ours.estimate.accuracy == pytest.approx(theirs.estimate.accuracy, abs=1e-5)


def test_a_wrong_label_is_asked_about(digits):
    X, y = digits
    codes = np.where(np.arange(1000) < 300, y, -1)
    wrong = 17
    codes[wrong] = (y[wrong] + 5) % 10
    live = Live(X)
    live.follow(codes, NAMES, ACTIVE, codes < 0)
    settle(live, codes < 0)
    errors = live.follow(codes, NAMES, ACTIVE, codes < 0).errors
    assert errors.rows[errors.listed][0] == wrong
    assert errors.suggested_labels[errors.listed][0] == y[wrong]


def test_rows_that_are_not_open_are_not_offered(annotated):
    live, codes, _, answer = annotated
    is_open = codes < 0
    is_open[answer.queue[0].row] = False
    queue = live.follow(codes, NAMES, ACTIVE, is_open).queue
    assert answer.queue[0].row not in {queued.row for queued in queue}


@pytest.mark.parametrize("is_direct", [True, False])
def test_a_row_is_explained_by_labels(annotated, is_direct, monkeypatch):
    live, codes, _, _ = annotated
    monkeypatch.setattr(type(live.system), "is_direct", is_direct)
    row = int(np.flatnonzero(codes < 0)[7])
    shares = live.explain(row, 3)
    fresh = harmonic_solution(live.system.W, codes, gamma_g=live.system.gamma_g).explain(row)
    assert [source for source, _ in shares] == fresh.sources[:3].tolist()
    assert [share for _, share in shares] == pytest.approx(fresh.shares[:3], abs=2e-3)
    assert live.explain(int(np.flatnonzero(codes >= 0)[0]), 3) == []
