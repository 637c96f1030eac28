import pytest

from graphmargin import suggest_labels
from graphmargin.labeling.labeling_task import task_of
from graphmargin.labeling.suggestions import suggest_rows
from graphmargin.labeling.table_labeling import label_rows


def test_rows_are_those_of_suggest_labels(labeled_pets):
    labeled, suggestions = labeled_pets, suggest_rows(labeled_pets, 6)
    expected = suggest_labels(labeled.solution, 6)
    assert [suggestion.row - 1 for suggestion in suggestions] == expected.vertices.tolist()
    assert [suggestion.gain for suggestion in suggestions] == pytest.approx(expected.gain.tolist())
    assert [suggestion.reason for suggestion in suggestions] == list(expected.reasons)
    for suggestion in suggestions:
        assert labeled.sources[suggestion.row - 1] != "given"
        assert suggestion.cells["id"] == f"a{suggestion.row - 1:04d}"


def test_more_suggestions_than_rows_are_all_rows(mixed_table):
    labeled = label_rows(task_of(mixed_table(30)[0], "kind"))
    assert len(suggest_rows(labeled, 500)) == 27
