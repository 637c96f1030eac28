import datetime
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from graphmargin.tables import TableError, read_table
from graphmargin.tables.column_parsing import parse_dates, parse_numbers, parse_vectors
from graphmargin.tables.file_formats import FORMATS
from graphmargin.tables.reading import read_chunks, to_frame
from graphmargin.tables.writing import table_writer


def mixed() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "whole": pd.array([1, None, 10**15], "Int64"),
            "number": [0.1, np.nan, 1e-300],
            "truth": pd.array([True, None, False], "boolean"),
            "text": ["a", None, '=1+1,"é"\n'],
            "code": ["007", "1", "2"],
            "date": pd.to_datetime(["2024-05-01 10:00:00", None, "2024-05-02 11:30:00"]),
            "vector": [np.array([0.1, 2.0]), None, np.array([3.0, 1e-9])],
        }
    )


def written(path: Path, *frames: pd.DataFrame) -> Path:
    return written_from(path, frames)


def written_from(path: Path, frames: Iterable[pd.DataFrame]) -> Path:
    with table_writer(path) as write:
        for frame in frames:
            write(frame)
    return path


@pytest.mark.parametrize("ending", sorted(FORMATS))
def test_what_is_written_is_read_again(tmp_path, ending):
    table = mixed()
    again = read_table(written(tmp_path / f"a{ending}", table, table))
    expected = pd.concat([table, table], ignore_index=True)
    for name in ("whole", "number"):
        np.testing.assert_array_equal(*(parse_numbers(t[name])[0] for t in (again, expected)))
    truth = parse_numbers(again["truth"], "boolean")[0]
    np.testing.assert_array_equal(truth, [1, np.nan, 0] * 2)
    for name in ("text", "code"):
        assert again[name].fillna("-").tolist() == expected[name].fillna("-").tolist()
    vectors = (parse_vectors(t["vector"])[0] for t in (again, expected))
    np.testing.assert_array_equal(*vectors)
    assert parse_dates(again["date"], None)[0].tolist() == expected["date"].tolist()


@pytest.mark.parametrize("ending", sorted(FORMATS))
def test_a_frame_without_rows_is_written(tmp_path, ending):
    path = written(tmp_path / f"a{ending}", mixed().iloc[:0])
    if "json" in ending:
        assert path.stat().st_size < 150  # no line, hence no names
    else:
        (chunk,) = read_chunks(path, 10)
        assert list(chunk.columns) == list(mixed().columns)
        assert len(chunk) == 0


def test_text_that_looks_like_a_formula_is_text_in_excel(tmp_path):
    path = written(tmp_path / "a.xlsx", pd.DataFrame({"x": ["=1+1"]}))
    cell = openpyxl.load_workbook(path).active["A2"]
    assert (cell.data_type, cell.value) == ("s", "=1+1")


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".jsonl", ".xlsx"])
def test_integers_keep_all_their_digits(tmp_path, ending):
    path = written(tmp_path / f"a{ending}", pd.DataFrame({"x": [2**53 + 1, 2**53 + 2]}))
    assert [int(x) for x in read_table(path)["x"]] == [2**53 + 1, 2**53 + 2]


def test_excel_has_dates_without_time_zones(tmp_path):
    days = pd.to_datetime(["2024-05-01 10:00"]).tz_localize("UTC")
    path = written(tmp_path / "a.xlsx", pd.DataFrame({"x": days, "y": [np.inf]}))
    assert read_table(path).loc[0].tolist() == ["2024-05-01T10:00:00+00:00", "inf"]


def test_numbers_that_are_not_finite_are_null_in_json(tmp_path):
    frame = pd.DataFrame({"x": [np.inf, 1.5], "d": [datetime.date(2024, 5, 1), None]})
    path = written(tmp_path / "a.jsonl", frame)
    assert path.read_text() == '{"x": null, "d": "2024-05-01"}\n{"x": 1.5, "d": null}\n'


@pytest.mark.parametrize("ending", sorted(FORMATS))
def test_all_frames_have_the_columns_of_the_first(tmp_path, ending):
    with pytest.raises(TableError, match=r"the columns are \['x'\], but \['y'\] in a later chunk"):
        written(tmp_path / f"a{ending}", pd.DataFrame({"x": [1]}), pd.DataFrame({"y": [1]}))
    assert list(tmp_path.iterdir()) == []


def test_parquet_keeps_the_types_of_the_first_frame(tmp_path):
    first = pd.DataFrame({"x": [1.5]})
    path = written(tmp_path / "a.parquet", first, pd.DataFrame({"x": [2]}))
    assert read_table(path)["x"].tolist() == [1.5, 2.0]
    with pytest.raises(TableError, match=r"a\.parquet: Parquet needs one type.*'?word'?"):
        written(path, first, pd.DataFrame({"x": ["word"]}))
    assert read_table(path)["x"].tolist() == [1.5, 2.0]


@pytest.mark.parametrize("ending", sorted(FORMATS))
def test_a_failure_in_the_block_keeps_the_old_file(tmp_path, ending):
    path = written(tmp_path / f"a{ending}", mixed())
    before = path.read_bytes()

    def frames():
        yield mixed()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        written_from(path, frames())
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


FULL = """
import errno, resource, signal, sys
from pathlib import Path
import numpy as np, pandas as pd
from graphmargin.tables.writing import table_writer

frame = pd.DataFrame({"x": np.random.default_rng(0).normal(size=20_000)})
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
for path in map(Path, sys.argv[1:]):
    try:
        with table_writer(path) as write:
            for _ in range(3):
                write(frame)
    except OSError as error:
        print(path.name, errno.errorcode.get(error.errno))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not limit the size of files")
def test_a_full_disk_keeps_the_old_file_and_leaves_nothing(tmp_path):
    names = ["a.csv", "a.csv.gz", "a.csv.zip", "a.jsonl", "a.parquet", "a.xlsx"]
    files = [written(tmp_path / name, pd.DataFrame({"x": [1.5]})) for name in names]
    before = [path.read_bytes() for path in files]
    done = subprocess.run(
        [sys.executable, "-c", FULL, *map(str, files)],
        capture_output=True,
        text=True,
        check=True,
        # openpyxl keeps sheets in files, which are as limited.
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert done.stdout.splitlines() == [f"{name} EFBIG" for name in names], done.stderr
    assert [path.read_bytes() for path in files] == before
    assert sorted(tmp_path.iterdir()) == sorted(files)


def test_an_output_of_unknown_format_raises_an_error(tmp_path):
    with pytest.raises(TableError, match=r"that end in \.doc cannot be read or written"):
        written(tmp_path / "out.doc", pd.DataFrame({"x": [1]}))


def test_maps_stay_maps_in_parquet_and_are_json_in_text(tmp_path):
    kind = pa.map_(pa.string(), pa.int64())
    table = pa.table({"counts": pa.array([[("cat", 2), ("dog", 1)], None], kind)})
    path = written(tmp_path / "a.parquet", to_frame(table))
    assert pa.parquet.read_table(path)["counts"].to_pylist() == table["counts"].to_pylist()
    assert pa.parquet.read_schema(path).field("counts").type == kind
    text = written(tmp_path / "a.csv", to_frame(table)).read_text()
    assert text == 'counts\n"[[""cat"", 2], [""dog"", 1]]"\n""\n'


def test_columns_may_have_the_names_of_arguments(tmp_path):
    frame = pd.DataFrame({"self": pd.Series([[1.5], None], dtype=object), "index": [1, 2]})
    text = written(tmp_path / "a.csv", frame).read_text()
    assert text == "self,index\n[1.5],1\n,2\n"
