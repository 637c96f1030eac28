import json
import sys
from dataclasses import asdict, dataclass

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from graphmargin._files import write_atomically
from graphmargin.experiments.parquet import write_parquet


@dataclass(frozen=True)
class Found:
    name: str
    draw: int
    error: float
    bound: float | None
    note: str | None = None
    fine: bool = True

    @property
    def title(self):
        return self.name


RECORDS = [
    Found("moons", 0, 0.1, None),
    Found("xor, \N{GREEK SMALL LETTER GAMMA}", 1, 1 / 3, 5e-324, "a\nb", fine=False),
    Found("", 2**40, float("inf"), float("nan")),
]


def test_round_trip_is_equal_to_the_records(tmp_path):
    write_parquet(tmp_path / "a.parquet", RECORDS)
    rows = parquet.read_table(tmp_path / "a.parquet").to_pylist()
    np.testing.assert_equal(rows, [asdict(record) for record in RECORDS])


def test_columns_have_the_types_of_the_fields_even_if_all_are_none(tmp_path):
    write_parquet(tmp_path / "a.parquet", RECORDS[:1])
    schema = parquet.read_schema(tmp_path / "a.parquet")
    assert dict(zip(schema.names, schema.types, strict=True)) == {
        "name": pa.string(),
        "draw": pa.int64(),
        "error": pa.float64(),
        "bound": pa.float64(),
        "note": pa.string(),
        "fine": pa.bool_(),
    }
    assert [schema.field(name).nullable for name in ("error", "bound")] == [False, True]


def test_metadata_names_the_versions(tmp_path):
    write_parquet(tmp_path / "a.parquet", RECORDS)
    stored = json.loads(parquet.read_schema(tmp_path / "a.parquet").metadata[b"graphmargin"])
    assert stored["versions"]["numpy"] == np.__version__


def test_own_metadata(tmp_path):
    write_parquet(tmp_path / "a.parquet", RECORDS, {"commit": "abc"})
    metadata = parquet.read_schema(tmp_path / "a.parquet").metadata
    assert json.loads(metadata[b"graphmargin"]) == {"commit": "abc"}


def test_a_field_of_another_type_is_named(tmp_path):
    @dataclass(frozen=True)
    class Odd:
        pair: list

    with pytest.raises(TypeError, match="field `pair` must be str, int, float or bool"):
        write_parquet(tmp_path / "a.parquet", [Odd([])])


def test_no_records_have_no_columns(tmp_path):
    with pytest.raises(ValueError, match="`records` must not be empty"):
        write_parquet(tmp_path / "a.parquet", [])


def test_without_pyarrow_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'graphmargin\[cli\]'"):
        write_parquet(tmp_path / "a.parquet", RECORDS)


def test_what_fails_leaves_the_old_file_and_no_draft(tmp_path):
    write_atomically(tmp_path / "a", b"old")
    with pytest.raises(TypeError):
        write_atomically(tmp_path / "a", None)
    assert (tmp_path / "a").read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["a"]
