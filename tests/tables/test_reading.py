import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from graphmargin.tables import TableError, read_chunks, read_table, table_writer
from graphmargin.tables.formats import FORMATS


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("comma.csv", "a,b\n1,x\n2,y\n"),
        ("semicolon.csv", "a;b\n1;x\n2;y\n"),
        ("tab.csv", "a\tb\n1\tx\n2\ty\n"),
        ("tab.tsv", "a\tb\n1\tx\n2\ty\n"),
        ("TAB.TAB", "a\tb\n1\tx\n2\ty\n"),
        ("bom.csv", "\ufeffa,b\r\n1,x\r\n2,y\r\n"),
        ("blanks.csv", "\n a, b\n1,x\n\n2,y"),
        ("lines.jsonl", '{"a": 1, "b": "x"}\n\n{"b": "y", "a": 2}\n'),
        ("lines.ndjson", '\ufeff{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}'),
    ],
)
def test_text_files_in_all_their_spellings_are_the_same_table(tmp_path, name, text):
    expected = pd.DataFrame({"a": pd.array([1, 2], "Int64"), "b": ["x", "y"]})
    assert_frame_equal(read_table(written(tmp_path, name, text)), expected)


@pytest.mark.parametrize("name", ["a.csv.gz", "a.tsv.gz", "a.jsonl.gz"])
def test_packed_files(tmp_path, name):
    text = {"a.csv.gz": "a,b\n1,2\n", "a.tsv.gz": "a\tb\n1\t2\n"}.get(name, '{"a": 1, "b": 2}')
    path = written(tmp_path, name, gzip.compress(text.encode()))
    assert read_table(path).to_dict("list") == {"a": [1], "b": [2]}
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(TableError, match=f"{name}: the archive is damaged"):
        read_table(path)


def test_types_of_text_columns(tmp_path):
    text = (
        "whole,number,truth,code,long,words,none\n"
        "1,1e3,True,007,1234567890123456789,NA,\n"
        ",NA,,010,2,None,\n"
        "-3, .5 ,false,1,3,null,\n"
    )
    table = read_table(written(tmp_path, "a.csv", text))
    assert [str(dtype) for dtype in table.dtypes] == [
        "Int64",
        "float64",
        "boolean",
        "str",
        "str",
        "str",
        "str",
    ]
    assert table["whole"].tolist() == [1, pd.NA, -3]
    np.testing.assert_array_equal(table["number"], [1000, np.nan, 0.5])
    assert table["truth"].tolist() == [True, pd.NA, False]
    assert table["code"].tolist() == ["007", "010", "1"]
    assert table["words"].tolist() == ["NA", "None", "null"]
    assert table["none"].isna().all()


def test_decimal_commas_only_beside_semicolons(tmp_path):
    assert read_table(written(tmp_path, "a.csv", "x;y\n1,5;0.5\n2;1\n"))["x"].tolist() == [1.5, 2]
    assert read_table(written(tmp_path, "b.csv", 'x,y\n"1,5",1\n'))["x"].tolist() == ["1,5"]


def test_quotes_delimiters_and_lines_in_cells(tmp_path):
    path = written(tmp_path, "a.csv", 'a,b\n"x,\n""y""",é\n')
    assert read_table(path).to_dict("list") == {"a": ['x,\n"y"'], "b": ["é"]}


def test_a_chunk_has_the_types_of_the_whole_file(tmp_path):
    csv = written(tmp_path, "a.csv", "n,m,k\n1,1,true\n2,,true\n3,x,\n4.5,4,false\n")
    rows = [{"n": 1, "m": 1}, {"n": 2}, {"n": 3, "m": "x", "k": True}, {"n": 4.5, "m": 4}]
    lines = written(tmp_path, "a.jsonl", "\n".join(map(json.dumps, rows)))
    for path in (csv, lines):
        chunks = list(read_chunks(path, 1))
        assert len(chunks) == 4
        assert {tuple(map(str, chunk.dtypes)) for chunk in chunks} == {
            ("float64", "str", "boolean")
        }
        assert [chunk.index[0] for chunk in chunks] == [0, 1, 2, 3]
        assert_frame_equal(pd.concat(chunks), read_table(path))
    assert read_table(lines)["m"].tolist()[2] == "x"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    cells=st.lists(
        st.tuples(*[st.sampled_from(["", "1", "-2", "2.5", "007", "NA", "x", "True"])] * 2),
        min_size=1,
        max_size=8,
    ),
    n_rows=st.integers(1, 9),
)
def test_chunks_together_are_the_table(tmp_path, cells, n_rows):
    text = "a,b\n" + "".join(f'"{a}","{b}"\n' for a, b in cells)
    path = written(tmp_path, "a.csv", text)
    assert_frame_equal(pd.concat(read_chunks(path, n_rows)), read_table(path))


def test_parquet_types_do_not_depend_on_the_chunk(tmp_path):
    table = pa.table(
        {
            "whole": pa.array([1, 2, None], pa.int32()),
            "kind": pa.array(["a", "b", None]).dictionary_encode(),
            "list": pa.array([[1.0, 2.0], None, [3.0, 4.0]]),
            "fixed": pa.array([[1, 2], [3, 4], [5, 6]], pa.list_(pa.float32(), 2)),
            "exact": pa.array(["1.50", None, "2.25"]).cast(pa.decimal128(5, 2)),
        }
    )
    path = tmp_path / "a.parquet"
    pa.parquet.write_table(table, path, row_group_size=2)
    chunks = list(read_chunks(path, 1))
    assert all((chunk.dtypes == chunks[0].dtypes).all() for chunk in chunks)
    whole = read_table(path)
    assert_frame_equal(pd.concat(chunks), whole)
    assert str(whole["whole"].dtype) == "Int32"
    assert whole["kind"].tolist()[:2] == ["a", "b"]
    np.testing.assert_array_equal(np.stack(whole["fixed"]), [[1, 2], [3, 4], [5, 6]])


def test_excel_cells(tmp_path):
    book = openpyxl.Workbook()
    for row in (["n", None, 2024], [1, "x", True], [None, None, None], [2.5, 3, False]):
        book.active.append([*row, None])
    book.active.append([None])
    path = tmp_path / "a.xlsx"
    book.save(path)
    table = read_table(path)
    assert list(table.columns) == ["n", "column 2", "2024"]
    assert [str(dtype) for dtype in table.dtypes] == ["float64", "str", "boolean"]
    assert table["column 2"].tolist()[::2] == ["x", "3"]


def test_npz_arrays_are_columns_and_matrices_vectors(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, x=np.arange(3, dtype=">i4"), v=np.eye(3, 2), s=np.array(["a", "", "b"]))
    table = read_table(path)
    assert table["x"].tolist() == [0, 1, 2]
    np.testing.assert_array_equal(np.stack(table["v"]), np.eye(3, 2))
    assert table["s"].isna().tolist() == [False, True, False]
    assert_frame_equal(pd.concat(read_chunks(path, 2)), table)


def test_npz_never_unpickles(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.array([{"a": 1}], dtype=object))
    with pytest.raises(TableError, match=r"a\.npz: arrays of Python objects are not read"):
        read_table(tmp_path / "a.npz")


def test_npz_arrays_of_different_lengths(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.zeros(3), y=np.zeros(2))
    with pytest.raises(TableError, match=r"array 'y' has the shape \(2,\)"):
        read_table(tmp_path / "a.npz")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.xls", "x", "not a known kind of table; names may end in .csv, .csv.gz, .tsv"),
        ("a.csv", "", "the file is empty"),
        ("a.csv", "\n \n", "the file is empty"),
        ("a.csv", b"a,b\n\0\1\2,3\n", "not a text file"),
        ("a.csv", "a,b\ncafé,1\n".encode("cp1252"), "not UTF-8 text; save it as UTF-8"),
        ("a.csv", "a,b\ncafe,1\n".encode("utf-16"), "not UTF-8 text; save it as UTF-8"),
        ("a.csv", "é,b\ncafe,1\n".encode("cp1252"), "not UTF-8 text; save it as UTF-8"),
        ("a.csv", "a,b\n1,2\n1,2,3\n", "row 3 has 3 cells, the header (row 1) has 2"),
        ("a.csv", "a,b\n1,2\n1\n", "row 3 has 1 cells, the header (row 1) has 2"),
        ("a.csv", "x,y,x\n1,2,3\n", "two columns are called 'x'; rename one"),
        ("a.csv", ",column 1\n1,2\n", "two columns are called 'column 1'; rename one"),
        ("a.jsonl", '{"a": 1}\n{"a": 1', "line 2 is not JSON"),
        ("a.jsonl", '{"a": 1}\n[1]\n', "line 2 is not a JSON object"),
        ("a.jsonl", '{"a": 1, "a": 2}\n', "line 1 has two values of 'a'"),
        ("a.jsonl", "\n\n", "the table has no columns"),
        ("a.jsonl", b'{"a": "\xe9"}', "not UTF-8 text"),
        ("a.parquet", "PAR1 no", "not a Parquet file, or a damaged one"),
        ("a.xlsx", "PK no", "not an Excel file (.xlsx), or a damaged one"),
        ("a.npz", "PK no", "not an npz file, or a damaged one"),
        ("a.csv.gz", "a,b\n", "the archive is damaged"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_line(tmp_path, name, content, message):
    path = written(tmp_path, name, content)
    with pytest.raises(TableError) as caught:
        read_table(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert message in text
    assert "\n" not in text


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.csv"):
        read_table(tmp_path / "none.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(TableError, match="a folder, not a file"):
        read_table(tmp_path / "folder.csv")


def test_duplicate_columns_of_parquet_and_excel(tmp_path):
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"])
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    book = openpyxl.Workbook()
    book.active.append(["x", "x"])
    book.save(tmp_path / "a.xlsx")
    for name in ("a.parquet", "a.xlsx"):
        with pytest.raises(TableError, match="two columns are called 'x'"):
            read_table(tmp_path / name)


@pytest.fixture(scope="module")
def valid(tmp_path_factory) -> Callable[[str], bytes]:
    """Return a valid file of each kind, which is made once, since archives hold the time."""
    folder = tmp_path_factory.mktemp("valid")

    @cache
    def content(ending: str) -> bytes:
        with table_writer(folder / f"valid{ending}") as write:
            write(pd.DataFrame({"x": [1, 2], "y": ["a", "b"], "z": [[1.0, 2.0], [3.0, 4.0]]}))
        return (folder / f"valid{ending}").read_bytes()

    return content


@pytest.mark.parametrize("ending", sorted(FORMATS))
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None
)
@given(data=st.data())
def test_bytes_of_any_kind_are_a_table_or_a_table_error(tmp_path, valid, ending, data):
    path = tmp_path / f"a{ending}"
    if data.draw(st.booleans(), label="damaged"):
        content = bytearray(valid(ending))
        for place, value in data.draw(
            st.lists(
                st.tuples(st.integers(0, len(content) - 1), st.integers(0, 255)),
                min_size=1,
                max_size=4,
            )
        ):
            content[place] = value
        path.write_bytes(content[: data.draw(st.integers(1, len(content)))])
    else:
        path.write_bytes(data.draw(st.binary(max_size=200)))
    names, message = _names_or_message(path)
    if message is None:
        assert len(names) == len(set(names)) > 0
    else:
        assert message.startswith(f"{path}: ")
        assert "\n" not in message


def _names_or_message(path: Path) -> tuple[list[str], str | None]:
    try:
        return list(read_table(path).columns), None
    except TableError as error:
        return [], str(error)


def test_n_rows_must_be_positive(tmp_path):
    with pytest.raises(ValueError, match="`n_rows` must be at least 1, got 0"):
        next(read_chunks(written(tmp_path, "a.csv", "x\n1\n"), 0))


def test_a_large_parquet_file_is_read_in_little_memory(tmp_path):
    path = tmp_path / "a.parquet"
    n, d = 100_000, 100
    columns = {f"x{i}": np.arange(n, dtype=float) for i in range(d)}
    pa.parquet.write_table(pa.table(columns), path, row_group_size=10_000)
    script = (
        "import resource, sys; from pathlib import Path\n"
        "from graphmargin.tables.reading import read_chunks\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "rows = sum(len(chunk) for chunk in read_chunks(Path(sys.argv[1]), 5_000))\n"
        "print(rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    rows, kilobytes = map(int, done.stdout.split())
    assert rows == n
    assert kilobytes * 1024 < n * d * 8
