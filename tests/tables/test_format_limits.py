from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from graphmargin.cli import main
from graphmargin.tables import TableError, read_table
from graphmargin.tables.format_limits import check_storable


@pytest.mark.parametrize(
    ("ending", "cell", "message"),
    [
        (".csv", "a\0b", r"CSV cannot store the character '\\x00' in row 2 of column 'x'; choose"),
        (".tsv.gz", "a\0b", r"TSV cannot store the character '\\x00'"),
        (".xlsx", "a\rb", r"Excel cannot store the character '\\r' in row 2 of column 'x'"),
        (".xlsx", "\uffff", r"Excel cannot store the character '\\uffff'"),
        (".xlsx", "a" * 40_000, "row 2 of column 'x' has 40,000 characters, too many for Excel"),
        (".parquet", "\ud800", "half of a surrogate pair in row 2 of column 'x'; remove it"),
    ],
)
def test_the_place_of_a_text_that_cannot_be_stored_is_named(ending, cell, message):
    table = pd.DataFrame({"x": pd.Series(["a", cell], dtype=object)})
    with pytest.raises(TableError, match=message):
        check_storable(table, Path(f"a{ending}"))
    later = table.set_axis(pd.RangeIndex(50_000, 50_002))
    with pytest.raises(TableError, match=message.replace("row 2", "row 50002")):
        check_storable(later, Path(f"a{ending}"))
    with pytest.raises(TableError, match="the name of column 1"):
        check_storable(table.set_axis(pd.Index([cell], dtype=object), axis=1), Path(f"a{ending}"))


@pytest.mark.parametrize("shape", [(1_048_576, 1), (1, 16_385)])
def test_tables_beyond_the_size_of_a_sheet_are_refused(shape):
    with pytest.raises(TableError, match="are too many for Excel"):
        check_storable(pd.DataFrame(np.zeros(shape)).rename(columns=str), Path("a.xlsx"))


@pytest.mark.parametrize("place", ["cell", "class", "name"])
def test_commands_refuse_a_nul_before_the_work_and_model_files_keep_it(tmp_path, capsys, place):
    kinds = ["cat\0" if place == "class" else "cat", "dog", None, None]
    table = pd.DataFrame(
        {
            "x\0" if place == "name" else "x": [1.5, 3.0, 1.25, 3.5],
            "c": ["a\0b" if place == "cell" else "a", "b", "a", "b"],
            "kind": kinds,
        }
    )
    source, model = tmp_path / "n.parquet", tmp_path / "n.graphmargin"
    table.to_parquet(source)
    assert main([*f"fit {source} -t kind --model {model} -q".split()]) == 0
    for command in (f"label {source} -t kind", f"predict {model} {source}"):
        assert main([*f"{command} --out {tmp_path / 'out.csv'} -q".split()]) == 2
        assert r"cannot store the character '\\x00'" in repr(capsys.readouterr().err)
        assert main([*f"{command} --out {tmp_path / 'out.jsonl'} -q".split()]) == 0
        assert len(read_table(tmp_path / "out.jsonl")) == 4
    assert not (tmp_path / "out.csv").exists()
