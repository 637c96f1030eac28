import os
import subprocess
import sys
import zipfile
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

from graphmargin.tables import TableError, read_table
from graphmargin.tables.file_formats import FORMATS
from graphmargin.tables.reading import read_chunks
from graphmargin.tables.writing import table_writer


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
        ("bar.csv", "a|b\n1|x\n2|y\n"),
        ("tab.tsv", "a\tb\n1\tx\n2\ty\n"),
        ("TAB.TAB", "a\tb\n1\tx\n2\ty\n"),
        ("bom.csv", "\ufeffa,b\r\n1,x\r\n2,y\r\n"),
        ("excel.csv", "\ufeffsep=;\r\na;b\r\n1;x\r\n2;y\r\n"),
        ("quoted.csv", '"a","b"\n"1","x"\n2,y\n'),
        ("separator.csv", "sep=\t\na\tb\n1\tx\n2\ty\n"),
        ("mac.csv", "a,b\r1,x\r2,y\r"),
        ("blanks.csv", "\n a, b\n1,x\n\n2,y"),
        ("trailing.csv", "a,b\n1,x\n2,y\n,\n,\n\n"),
        ("lines.jsonl", '{"a": "1", "b": "x"}\n\n{"b": "y", "a": "2"}\n'),
        ("lines.ndjson", '\ufeff{"a": "1", "b": "x"}\n{"a": "2", "b": "y"}'),
    ],
)
def test_all_layouts_of_a_text_file_give_the_same_table(tmp_path, name, text):
    table = read_table(written(tmp_path, name, text))
    assert table.to_dict("list") == {"a": ["1", "2"], "b": ["x", "y"]}


@pytest.mark.parametrize("ending", [".csv.gz", ".tsv.gz", ".jsonl.gz", ".csv.zip", ".jsonl.zip"])
def test_a_damaged_archive_raises_a_table_error(tmp_path, ending):
    path = tmp_path / f"a{ending}"
    with table_writer(path) as write:
        write(pd.DataFrame({"a": ["1"], "b": ["2"]}))
    assert read_table(path).to_dict("list") == {"a": ["1"], "b": ["2"]}
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(TableError, match=f"a{ending}: the archive is damaged"):
        read_table(path)


def test_a_zip_archive_holds_one_table(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("cats.csv", "x;y\n1;2\n")
    assert read_table(tmp_path / "a.zip").to_dict("list") == {"x": ["1"], "y": ["2"]}
    with zipfile.ZipFile(tmp_path / "a.zip", "a") as archive:
        archive.writestr("dogs.csv", "x,y\n")
    with pytest.raises(TableError, match="the archive has 2 files; it must have exactly one"):
        read_table(tmp_path / "a.zip")


def test_cells_of_text_files_are_not_converted(tmp_path):
    lines = '{"n": 1, "m": 12345678901234567890}\n{"n": 2.5, "m": null, "k": "TRUE"}\n'
    table = read_table(written(tmp_path, "a.jsonl", lines))
    assert table["n"].tolist() == [1, 2.5]
    assert table["m"].tolist() == [12345678901234567890, None]
    assert table["k"].tolist() == [None, "TRUE"]
    chunks = list(read_chunks(tmp_path / "a.jsonl", 1))
    assert [list(chunk.columns) for chunk in chunks] == [["n", "m", "k"]] * 2
    assert [chunk.index[0] for chunk in chunks] == [0, 1]


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


def test_excel_cells_keep_their_types(tmp_path):
    book = openpyxl.Workbook()
    for row in (["n", None, 2024], [1, "x", True], [None, None, None], [2.5, 3, False]):
        book.active.append([*row, None])
    book.active.append([None])
    path = tmp_path / "a.xlsx"
    book.save(path)
    table = read_table(path)
    assert list(table.columns) == ["n", "column 2", "2024"]
    assert table["n"].tolist() == [1, None, 2.5]
    assert table["column 2"].tolist() == ["x", None, 3]
    assert table["2024"].tolist() == [True, None, False]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.xls", "x", "cannot be read or written; save the workbook as .xlsx (formats: CSV .csv"),
        ("a.csv", "", "the file is empty"),
        ("a.csv", "\n \n", "the file is empty"),
        ("a.csv", b"a,b\n\0\1\2,3\n", "row 1 (line 2) has a NUL byte: this is not a text file"),
        ("a.csv", b"a\0,b\n1,3\n", "not a text file; does its name have the right ending?"),
        (
            "a.csv",
            "a,b\ncafé,1\n".encode("cp1252"),
            "row 1 (line 2) has the byte 0xe9, which is not",
        ),
        (
            "a.csv",
            "a,b\ncafe,1\n".encode("utf-16"),
            "the text is UTF-16, not UTF-8; save the file as UTF-8",
        ),
        ("a.csv", "a,b\ncafe,1\n".encode("utf-32"), "the text is UTF-32, not UTF-8; save the"),
        ("a.csv", b"\0\0\xfe\xff\0\0\0a", "the text is UTF-32, not UTF-8; save the file as"),
        ("a.csv", "é,b\ncafe,1\n".encode("cp1252"), "not UTF-8 text"),
        ("a.csv", 'a,"b\n1,2\n', "the header (line 1) has an unclosed quote"),
        ("a.csv", "x,y,x\n1,2,3\n", "two columns are named 'x'; rename one of them"),
        ("a.csv", ",column 1\n1,2\n", "two columns are named 'column 1'; rename one of them"),
        ("a.jsonl", '{"a": 1}\n{"a": 1', "line 2 is not JSON"),
        ("a.jsonl", '{"a": 1}\n1\n', "line 2 is not a JSON object"),
        ("a.jsonl", '[{"a": 1},\n{"a": 2}]\n', "line 1 begins with a JSON array; JSON lines have"),
        ("a.jsonl", '{"a": 1, "a": 2}\n', "line 1 is not JSON: the key 'a' occurs twice"),
        ("a.jsonl", '{"a": 1}\n{"a": ["x\\ud800"]}', "line 2 has half of a surrogate pair"),
        ("a.jsonl", '{"\\udc00": 1}\n', "line 1 has half of a surrogate pair"),
        ("a.jsonl", "\n\n", "the table has no columns"),
        ("a.jsonl", b'{"a": "\xe9"}', "line 1 is not JSON: 'utf-8' codec can't decode byte 0xe9"),
        ("a.parquet", "PAR1 no", "not a Parquet file, or it is damaged"),
        ("a.xlsx", "PK no", "not an Excel file (.xlsx), or it is damaged"),
        ("a.csv.gz", "a,b\n", "the archive is damaged"),
    ],
)
def test_a_bad_file_raises_an_error_of_one_line(tmp_path, name, content, message):
    path = written(tmp_path, name, content)
    with pytest.raises(TableError) as caught:
        read_table(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert message in text
    assert "\n" not in text


def test_a_missing_file_and_a_folder_raise_errors(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.csv"):
        read_table(tmp_path / "none.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(TableError, match="a folder, not a file"):
        read_table(tmp_path / "folder.csv")


def test_duplicate_columns_of_parquet_and_excel_raise_an_error(tmp_path):
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"])
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    book = openpyxl.Workbook()
    book.active.append(["x", "x"])
    book.save(tmp_path / "a.xlsx")
    for name in ("a.parquet", "a.xlsx"):
        with pytest.raises(TableError, match="two columns are named 'x'"):
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
def test_random_bytes_are_a_table_or_raise_a_table_error(tmp_path, valid, ending, data):
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


@pytest.mark.skipif(sys.platform != "linux", reason="the unit of ru_maxrss is that of Linux")
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_large_file_is_read_in_little_memory(tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    n, d = 100_000, 100
    names = [f"x{i}" for i in range(d)]
    if ending == "csv":
        path.write_text(",".join(names) + "\n" + (",".join(["0.12345"] * d) + "\n") * n)
    else:
        columns = dict.fromkeys(names, np.arange(n, dtype=float))
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
