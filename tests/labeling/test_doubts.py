import numpy as np
import pytest

from graphmargin import knn_graph
from graphmargin.harmonic import harmonic_solution, label_suspicion
from graphmargin.labeling.doubts import audit_labels
from graphmargin.labeling.job import CLEAR_GAMMA_G, job_of


@pytest.fixture(scope="module")
def job(mixed_table):
    """Return a table with all labels, five of them wrong."""
    table, names = mixed_table()
    wrong = names.copy()
    wrong[[3, 40, 80, 100, 149]] = "cat", "cat", "cat", "bird", "dog"
    return job_of(table.assign(kind=wrong), "kind"), np.flatnonzero(wrong != names) + 1


def test_wrong_labels_are_found(job):
    table, wrong = job
    found = audit_labels(table)
    assert {note.row for note in found[: len(wrong)]} == set(wrong)
    scores = [note.score for note in found]
    assert scores == sorted(scores, reverse=True)
    assert min(scores) > 0.5
    assert all(note.label != note.other for note in found)


def test_scores_are_those_of_label_suspicion(job):
    table, _ = job
    W = knn_graph(table.X, table.n_neighbors)
    expected = label_suspicion(harmonic_solution(W, table.target.codes, gamma_g=CLEAR_GAMMA_G))
    by_row = dict(zip(expected.vertices + 1, expected.suspicion, strict=True))
    for note in audit_labels(table):
        assert note.score == pytest.approx(by_row[note.row])


def test_stages_are_told(job):
    told = []
    audit_labels(job[0], watch=lambda name: told.append(name) or (lambda _share, _news: None))
    assert told == ["graph of 150 rows", "a look at 150 labels"]
