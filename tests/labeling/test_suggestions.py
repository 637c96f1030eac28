import pytest

from graphmargin import suggest_labels
from graphmargin.labeling.labeling_task import label_rows, task_of
from graphmargin.labeling.suggestions import suggest_rows


def test_rows_are_those_of_suggest_labels(labeled_pets):
    labeled, found = labeled_pets, suggest_rows(labeled_pets, 6)
    expected = suggest_labels(labeled.solution, 6)
    assert [one.row - 1 for one in found] == expected.vertices.tolist()
    assert [one.gain for one in found] == pytest.approx(expected.gain.tolist())
    assert [one.reason for one in found] == list(expected.reasons)
    for one in found:
        assert labeled.sources[one.row - 1] != "given"
        assert one.cells["id"] == f"a{one.row - 1:04d}"


def test_more_than_there_are(mixed_table):
    labeled = label_rows(task_of(mixed_table(30)[0], "kind"))
    assert len(suggest_rows(labeled, 500)) == 27
