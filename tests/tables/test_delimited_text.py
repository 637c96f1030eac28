"""Text files with a separator: any text that is written is read again, anything else is refused."""

import csv
import gzip
import io
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from graphmargin.tables import TableError, delimited_text, read_table
from graphmargin.tables.reading import read_chunks
from graphmargin.tables.writing import table_writer

settings.register_profile("files", suppress_health_check=[HealthCheck.function_scoped_fixture])
on_files = settings(settings.get_profile("files"), deadline=None, max_examples=100)

letters = st.sampled_from(
    [*'",;|\t\r\n =aé\ufeff', "TRUE", "NA", "007", "1.50", "sep=;", '5" pipe']
)
texts = st.lists(letters, max_size=4).map("".join)
tables = st.integers(1, 3).flatmap(
    lambda width: st.lists(
        st.lists(st.none() | texts, min_size=width, max_size=width), min_size=1, max_size=8
    )
)


def written(folder: Path, content: str | bytes, name: str = "a.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def small_blocks(monkeypatch, n_bytes: int = 16) -> None:
    monkeypatch.setattr(delimited_text, "_BLOCK_BYTES", n_bytes)


@on_files
@given(
    rows=tables,
    separator=st.sampled_from(",;|\t"),
    line_end=st.sampled_from(["\n", "\r\n"]),
    mark=st.sampled_from(["", "\ufeff"]),
    ending=st.sampled_from(["csv", "csv.gz", "csv.zip", "tsv"]),
    n_rows=st.integers(1, 9),
)
@example([["", None], [None, None], ["", ""]], ";", "\n", "", "csv", 1)
@example([["a\rb"], [None], [""]], ",", "\r\n", "\ufeff", "csv", 1)
def test_text_is_the_same_after_writing_and_reading(
    tmp_path, monkeypatch, rows, separator, line_end, mark, ending, n_rows
):
    small_blocks(monkeypatch)
    names = [f"x{i}" for i in range(len(rows[0]))]
    # The file that the rows come from tells the separator, the line ends and the mark.
    header = separator.join(names)
    like = written(tmp_path, f"{mark}sep={separator}{line_end}{header}{line_end}", "like.csv")
    table = pd.DataFrame(rows, columns=names, dtype="str")
    path = tmp_path / f"a.{ending}"
    with table_writer(path, like=like) as write:
        write(table)
    n_kept = len(rows)
    while len(names) > 1 and n_kept and all(cell is None for cell in rows[n_kept - 1]):
        n_kept -= 1
    expected = table[:n_kept]
    if len(names) == 1:  # an empty line at the end would be no row
        expected = expected.fillna("")
    again = read_table(path)
    np.testing.assert_equal(again.to_dict("list"), expected.to_dict("list"))
    if n_kept:
        assert_frame_equal(pd.concat(read_chunks(path, n_rows)), again)


@on_files
@given(text=st.text(alphabet='"",,\n\r;x1', max_size=40), n_bytes=st.integers(1, 30))
@example('"1""\n2",3\n', 4)
@example('x"1,"2\n"', 2)
def test_tables_are_those_of_the_csv_module_for_all_sizes_of_blocks(
    tmp_path, monkeypatch, text, n_bytes
):
    def outcome() -> object:
        try:
            return read_table(written(tmp_path, "a,b\n" + text)).fillna("").to_numpy().tolist()
        except TableError as error:
            return str(error)

    whole = outcome()
    small_blocks(monkeypatch, n_bytes)
    in_blocks = outcome()
    monkeypatch.undo()
    # Of two bad rows, a block may show the first one alone.
    assert in_blocks == whole or (isinstance(in_blocks, str) and isinstance(whole, str))
    try:
        lines = io.StringIO(text, newline="")
        rows = [row for row in csv.reader(lines, strict=True) if row]
    except csv.Error:
        assert isinstance(whole, str)
        return
    if any(len(row) != 2 for row in rows):
        assert "cells, but the header has 2" in whole
    else:
        assert isinstance(whole, list)
        assert whole == rows[: len(whole)]
        assert all(row == ["", ""] for row in rows[len(whole) :])


@pytest.mark.parametrize("n_bytes", [16, 1 << 20])
@pytest.mark.parametrize(
    ("row", "text", "message"),
    [
        (20, '20,"note', "row 20 (line 21) has an unclosed quote"),
        (20, '20,"note" or', "row 20 (line 21) has an unclosed quote, or text after"),
        (20, '20,"a\nb",3', "row 20 (line 21) has 3 cells, but the header has 2"),
        (
            7,
            "7",
            "row 7 (line 8) has 1 cells, but the header has 2; is a quote or separator missing?",
        ),
        (
            30,
            "30,caf\udce9",
            "row 30 (line 31) has the byte 0xe9, which is not UTF-8; save the file",
        ),
        (1, "1,\0", "row 1 (line 2) has a NUL byte: this is not a text file"),
    ],
)
def test_the_message_has_the_bad_row(tmp_path, monkeypatch, row, text, message, n_bytes):
    small_blocks(monkeypatch, n_bytes)
    rows = [f"{i},x" for i in range(1, 31)]
    rows[row - 1] = text
    content = "\n".join(["a,b", *rows, ""]).encode(errors="surrogateescape")
    with pytest.raises(TableError) as caught:
        read_table(written(tmp_path, content))
    assert message in str(caught.value)


def test_an_unclosed_quote_raises_although_a_later_quote_closes_it(tmp_path):
    rows = [f"{i},x" for i in range(1, 31)]
    rows[19], rows[24] = '20,"note', '25,"fine"'
    with pytest.raises(TableError, match=r"row 20 \(line 21\) has an unclosed quote"):
        read_table(written(tmp_path, "\n".join(["a,b", *rows])))


@pytest.mark.parametrize(
    ("name", "start", "part", "message"),
    [
        ("a.csv.gz", b"a,b\n1,", b"0", r"row 1 \(line 2\) is longer than 67,108,864 bytes; is a"),
        ("a.csv.gz", b'a,b\n1,"', b"x\n", r"row 1 \(line 2\) is longer than 67,108,864 bytes"),
        ("a.csv.gz", b'a,b\n1,"', b'"', r"row 1 \(line 2\) is longer than 67,108,864 bytes"),
        ("a.csv.gz", b"a,b", b"0", "the header is longer than 4,194,304 bytes"),
        ("a.csv.gz", b'a,"b', b"x\n", "the header is longer than 4,194,304 bytes"),
        ("a.jsonl.gz", b'{"a": 1}\n{"a": "', b"0", "line 2 is longer than 67,108,864 bytes"),
    ],
    ids=["row", "quote", "quotes", "header", "quote in the header", "line"],
)
def test_a_row_without_an_end_is_refused_in_little_memory(tmp_path, name, start, part, message):
    path = tmp_path / name
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(start)
        for _ in range(160):
            file.write(part * ((1 << 20) // len(part)))
    script = (
        "import resource, sys; from pathlib import Path\n"
        "from graphmargin.tables import TableError\n"
        "from graphmargin.tables.reading import read_chunks\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try:\n"
        "    list(read_chunks(Path(sys.argv[1])))\n"
        "except TableError as error:\n"
        "    print(error)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True
    )
    error, kilobytes = done.stdout.splitlines()
    assert re.search(message, error)
    if sys.platform == "linux":  # whose unit of ru_maxrss is known
        assert int(kilobytes) < 1_200_000


def test_files_with_returns_as_line_ends_are_read_block_by_block(tmp_path, monkeypatch):
    small_blocks(monkeypatch)
    monkeypatch.setattr(delimited_text, "LONGEST_ROW", 100)
    rows = [f"{i},x" for i in range(200)]
    table = read_table(written(tmp_path, "\r".join(["a,b", *rows])))
    assert table["a"].tolist() == [str(i) for i in range(200)]


def test_lines_in_cells_count_as_lines_of_the_file(tmp_path):
    with pytest.raises(TableError, match=r"row 2 \(line 5\) has 1 cells"):
        read_table(written(tmp_path, 'a,b\n"1\n2\n3",4\n5\n'))


def test_quotes_inside_of_cells_are_characters(tmp_path):
    path = written(tmp_path, 'a,b\n5" pipe,"x,\n""y"""\n7" pipe, "z"\n')
    assert read_table(path).to_dict("list") == {
        "a": ['5" pipe', '7" pipe'],
        "b": ['x,\n"y"', ' "z"'],
    }


def test_blank_lines_are_rows_of_one_column(tmp_path):
    assert read_table(written(tmp_path, 'x\n1\n\n3\n""\n\n'))["x"].fillna("-").tolist() == [
        "1",
        "-",
        "3",
        "",
    ]


@pytest.mark.parametrize("text", ["a,b", "a,b\n", "a,b\r\n\r\n", "a,b\n,\n"])
def test_a_header_without_rows_is_an_empty_table(tmp_path, text):
    (chunk,) = read_chunks(written(tmp_path, text), 3)
    assert chunk.shape == (0, 2)


def test_long_headers_and_long_cells_are_read(tmp_path):
    names = ["x" * 200_000, *(f"{i:0500d}" for i in range(3_000))]
    cell = "x,\n" * 1_200_000
    head = ",".join(names)
    rest = "," * (len(names) - 1)
    table = read_table(written(tmp_path, f'{head}\n"{cell}"{rest}\n1{rest}\n'))
    assert list(table.columns) == names
    assert table.iloc[0, 0] == cell


def test_the_layout_of_the_source_is_kept(tmp_path):
    source = written(tmp_path, '\ufeffsep=;\r\n a ;;"x;y"\r\n1.50;TRUE;NA\r\n007;;a\r\n')
    with table_writer(tmp_path / "b.csv", like=source) as write:
        write(read_table(source).assign(new=["c\rd", "e"]))
    assert (tmp_path / "b.csv").read_bytes().decode() == (
        '\ufeffsep=;\r\n a ;;"x;y";new\r\n1.50;TRUE;NA;"c\rd"\r\n007;;a;e\r\n'
    )
    with table_writer(tmp_path / "b.tsv", like=source) as write:
        write(read_table(source))
    assert (tmp_path / "b.tsv").read_text().splitlines()[1] == "1.50\tTRUE\tNA"
