import numpy as np
import pandas as pd

from graphmargin.labeling.labeling_task import task_of
from graphmargin.labeling.row_preview import preview_rows, row_notes


def test_missing_cells_are_empty():
    table = pd.DataFrame(
        {
            "size": [1.0, np.nan, 5.0, 5.2],
            "legs": pd.array([4, None, 2, 2], dtype="Int64"),
            "color": ["red", None, "blue", "red"],
            "day": pd.to_datetime(
                ["2024-05-01", None, "2024-05-03", "2024-05-03 10:30"], format="ISO8601"
            ),
            "kind": ["cat", None, "dog", None],
        }
    )
    full, empty, other = preview_rows(task_of(table, "kind"), [0, 1, 3])
    assert full == {"color": "red", "day": "2024-05-01", "size": "1", "legs": "4"}
    assert empty == dict.fromkeys(full, "")
    assert other["day"] == "2024-05-03 10:30:00"


def test_notes_have_the_whole_text_of_cells_that_are_shortened():
    words, address = "a word and another one, " * 5, "https://example.org/" + "x" * 60
    table = pd.DataFrame(
        {"note": [words, "b c", address, "b c"], "kind": ["cat", None, "dog", None]}
    )
    notes = row_notes(task_of(table, "kind"), range(4), *[["cat"] * 4] * 2, [0.5] * 4)
    assert [note.texts.get("note") for note in notes] == [words.strip(), None, address, None]
    shown = [note.cells["note"] for note in notes]
    assert shown[0] == "a word and another one, a word and another one, a word ..."
    assert shown[1:] == ["b c", address[:56] + " ...", "b c"]


def test_rows_without_readable_columns_have_no_cells():
    vectors = [np.array([place, 1.0]) for place in (1.0, 1.1, 5.0)]
    table = pd.DataFrame({"vector": vectors, "kind": ["cat", None, "dog"]})
    assert preview_rows(task_of(table, "kind"), [0, 2]) == [{}, {}]
