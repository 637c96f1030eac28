"""Names of classes: an accepted name is exported and read again as it was given."""

import numpy as np
import pandas as pd
import pytest

from graphmargin._errors import InputError
from graphmargin.cli import main
from graphmargin.labeling.labeling_task import read_task, relabel
from graphmargin.studio.export import Exports
from graphmargin.studio.session import Decision, label_names
from graphmargin.tables.writing import table_writer
from tests.studio.conftest import open_studio

ENDINGS = [".csv", ".parquet", ".xlsx", ".jsonl"]
MISSING = ["NA", "N/A", "#N/A", "NULL", "null", "-", "?"]
NEVER = ["", " ", "\t", "nan", "NaN", "None", "<NA>", "a\0b", "\ud800", "a\u202eb", "a\u200eb"]
NEVER += ["\u200b", "\ufeffa", "a\x1bb", "a\uffff", "x" * 201]
FRACTIONS = ["1.5", "-0.25", "1e-3", "inf"]
LITERAL = [
    "True",
    "1e200",
    "1e3",
    "007",
    "-1",
    "1.0",
    "=1+1",
    "größe ☃",
    "a|b",
    'a,"b',
    "x" * 200,
    "self",
]


def write_table(folder, ending, kind):
    """Write 24 rows in two groups; the column `kind` is new, empty or has integers."""
    table = pd.DataFrame({"x": np.repeat([0.0, 9.0], 12) + np.arange(24) / 50})
    if kind == "empty":
        table["kind"] = pd.Series([None] * 24, dtype="Int64")
    elif kind == "integers":
        table["kind"] = pd.Series([1, *[None] * 22, 2], dtype="Int64")
    path = folder / f"pets{ending}"
    with table_writer(path) as write:
        write(table)
    return path


def add_all(studio, names):
    """Add classes, and return the names that were accepted."""
    accepted = []
    for name in names:
        try:
            studio.decide(Decision("add_class", name=name))
        except InputError:
            continue
        accepted.append(name)
    return accepted


@pytest.mark.parametrize("kind", ["new", "empty", "integers"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_labels_of_accepted_names_are_exported_and_read_as_given(tmp_path, ending, kind):
    path = write_table(tmp_path, ending, kind)
    with open_studio(path) as studio:
        add_all(studio, ["1", "2"])
        accepted = add_all(studio, [*MISSING, *NEVER, *FRACTIONS, *LITERAL])
        assert accepted == LITERAL
        codes = {known.name: known.code for known in studio.snapshot.session.active}
        # Numbers alone, which are the classes that a reader could take for something else.
        given = {1: "1", 2: "1", 3: "1e3", 4: "-1", 20: "2", 21: "2", 22: "-1"}
        for row, name in given.items():
            studio.decide(Decision("label", (row,), codes[name]))
        expected = label_names(studio.snapshot.session)
        exported = Exports(studio).write("table")
    out = tmp_path / f"out{ending}"
    journal = f"{path}.studio.jsonl"
    words = ["label", path, "-t", "kind", "--journal", journal, "--out", out, "--quiet"]
    assert main([str(word) for word in words]) == 0
    for file in (exported, out):
        task = read_task(file, "kind", ignore=["kind_confidence", "kind_source"])
        read = task.target.classes[task.target.codes].astype(str)
        is_given = task.table["kind_source"].to_numpy() == "given"
        assert is_given.tolist() == [name is not None for name in expected]
        assert read[is_given].tolist() == expected[is_given].tolist()


@pytest.mark.parametrize("ending", ENDINGS)
def test_texts_for_missing_cells_are_classes_among_texts_only(tmp_path, ending):
    path = write_table(tmp_path, ending, "new")
    with open_studio(path) as studio:
        assert add_all(studio, ["cat", *MISSING, *NEVER, "1.5"]) == ["cat", *MISSING]
        with pytest.raises(InputError, match="'NA' means missing beside the number '1'"):
            studio.decide(Decision("rename_class", label=0, name="1"))
        for code, row in enumerate([*range(8), 20, 21]):
            studio.decide(Decision("label", (row,), code % 8))
        names = label_names(studio.snapshot.session)
        labeled = relabel(studio.task, names)
    with table_writer(tmp_path / f"out{ending}") as write:
        write(labeled.table)
    for task in (labeled, read_task(tmp_path / f"out{ending}", "kind")):
        classes = [*task.target.classes.tolist(), None]
        assert [classes[code] for code in task.target.codes] == names.tolist()


def test_classes_of_a_table_keep_new_names_from_changing_their_meaning(tmp_path):
    table = pd.DataFrame({"x": np.arange(8.0), "kind": ["NA", "cat", *[None] * 6]})
    table.to_csv(tmp_path / "pets.csv", index=False)
    with open_studio(tmp_path / "pets.csv") as studio:
        assert add_all(studio, ["3", "dog"]) == ["dog"]
        studio.decide(Decision("rename_class", label=0, name="none"))
        assert add_all(studio, ["3", "NA"]) == ["3"]
