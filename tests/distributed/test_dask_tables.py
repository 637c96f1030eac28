"""Tables of columns of any kind: what is refused before the work, and the sample for features."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from sklearn.exceptions import ConvergenceWarning

from graphmargin._errors import InputError
from graphmargin.distributed import dask_tables
from graphmargin.distributed.cluster_errors import WorkDirError
from graphmargin.distributed.dask_tables import open_table, sample_rows
from graphmargin.distributed.io.row_encoder import EncodedColumns
from graphmargin.selection.execution import FitWarning, UnreachedWarning
from graphmargin.tables.reading import read_table
from graphmargin.tables.table_errors import TableError
from graphmargin.tables.table_features import fit_features


@pytest.fixture
def pets(tmp_path, mixed_table):
    """Return a folder of two files with 90 rows in groups of 25."""
    table = mixed_table(90)[0]
    (tmp_path / "pets").mkdir()
    for name, rows in (("9.parquet", slice(0, 40)), ("10.parquet", slice(40, None))):
        table[rows].to_parquet(tmp_path / "pets" / name, index=False, row_group_size=25)
    return tmp_path / "pets"


@pytest.fixture
def opened(pets, tmp_path):
    """Return a function that opens the table."""

    def run(place=pets, target="kind", **options):
        folders = {"out": tmp_path / "out", "work_dir": tmp_path / "work"}
        found = {name: str(options.pop(name, folder)) for name, folder in folders.items()}
        return open_table(str(place), target, **found, **options)

    return run


def test_a_small_table_is_its_own_sample(cluster, opened, mixed_table):
    request = opened(ignore=["note"])
    sample = sample_rows(cluster, request, seed=3)
    whole = mixed_table(90)[0]
    unused = ["kind", "note"]
    assert sample.columns.tolist() == whole.columns.tolist()
    assert sample[unused].isna().all(axis=None)
    expected = fit_features(whole, ignore=unused)
    found = fit_features(sample, ignore=unused)
    assert found.columns == expected.columns
    np.testing.assert_array_equal(found.transform(whole), expected.transform(whole))


def test_a_sample_is_even_in_order_and_that_of_its_seed(cluster, opened, monkeypatch):
    monkeypatch.setattr(dask_tables, "MAX_SAMPLED", 30)
    monkeypatch.setattr(dask_tables, "ROWS_PER_RANGE", 20)
    request = opened()
    assert len(request.source.row_ranges) == 7
    ids = sample_rows(cluster, request, seed=0)["id"].tolist()
    assert len(ids) == 30
    assert ids == sorted(set(ids))
    rows = np.array([int(name[1:]) for name in ids])
    in_ranges = np.histogram(rows, request.source.offsets)[0]
    shares = np.diff(request.source.offsets) / 3
    assert (np.abs(in_ranges - shares) < 1).all()
    assert sample_rows(cluster, request, seed=0)["id"].tolist() == ids
    assert sample_rows(cluster, request, seed=1)["id"].tolist() != ids


def test_cells_that_are_missing_only_outside_of_the_sample(cluster, opened, pets, monkeypatch):
    monkeypatch.setattr(dask_tables, "MAX_SAMPLED", 30)
    ids = sample_rows(cluster, opened(), seed=0)["id"].tolist()
    for path in pets.iterdir():
        table = read_table(path).drop(columns="age")
        outside = ~table["id"].isin(ids)
        for name in ("weight", "color", "seen", "note"):
            table[name] = table[name].mask(outside)
        table.to_parquet(path, index=False)
    request = opened()
    features = fit_features(sample_rows(cluster, request, seed=0), ignore=["kind"])
    used = EncodedColumns(features).columns
    assert used == ("weight", "color", "seen", "note")
    for path in pets.iterdir():
        X = EncodedColumns(features).transform(pa.parquet.read_table(path, columns=list(used)))
        assert np.isfinite(X).all()


def test_cells_of_another_kind_outside_of_the_sample(cluster, opened, pets, monkeypatch):
    monkeypatch.setattr(dask_tables, "MAX_SAMPLED", 30)
    ids = sample_rows(cluster, opened(), seed=0)["id"].tolist()
    for path in pets.iterdir():
        table = read_table(path)
        table["weight"] = table["weight"].astype(str).where(table["id"].isin(ids), "heavy")
        table.to_parquet(path, index=False)
    with pytest.raises(TableError, match=r"pets/(9|10).parquet: .*'weight' .*'heavy' .*row \d+"):
        dask_tables.label_table(cluster, opened(), seed=0)


def test_no_column_is_left_for_features(cluster, opened):
    names = ["id", "weight", "age", "color", "seen", "note", "country"]
    with pytest.raises(TableError, match=r"no column can be used as a feature: 'id' \(ignored\)"):
        dask_tables.label_table(cluster, opened(ignore=names), seed=0)


def test_warnings_that_name_parameters_are_left_to_the_summary(cluster, opened, monkeypatch):
    warnings = (FitWarning("no label", UnreachedWarning), FitWarning("gap", ConvergenceWarning))
    fitted = SimpleNamespace(warnings=warnings)
    monkeypatch.setattr(dask_tables, "run_fit", lambda *_, **__: fitted)
    assert dask_tables.label_table(cluster, opened(), seed=0).warnings == ("gap",)


def test_a_table_with_all_labels_raises_an_error(cluster, opened, pets):
    for path in pets.iterdir():
        table = read_table(path)
        table["kind"] = np.where(np.arange(len(table)) % 2, "cat", "dog")
        table.to_parquet(path, index=False)
    with pytest.raises(TableError, match="all 90 rows of pets have a label in 'kind', so"):
        sample_rows(cluster, opened(), seed=0)


def test_a_table_is_refused_before_the_work(opened, pets, tmp_path):
    with pytest.raises(TableError, match=r"has no column 'kin'; did you mean 'kind'"):
        opened(target="kin")
    with pytest.raises(TableError, match=r"has no column 'shape'"):
        opened(ignore=["shape"])
    with pytest.raises(TableError, match=r"no.parquet is not there"):
        opened(tmp_path / "no.parquet")
    taken = read_table(pets / "9.parquet").assign(kind_source="")
    taken.to_parquet(tmp_path / "taken.parquet")
    with pytest.raises(TableError, match=r"has a column 'kind_source'"):
        opened(tmp_path / "taken.parquet")
    other = read_table(pets / "10.parquet")
    other.assign(id=np.arange(len(other))).to_parquet(pets / "10.parquet")
    with pytest.raises(TableError, match=r"column 'id' is .*string in .*, and int64 in"):
        opened()
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "work").exists()


def test_folders_are_refused_that_are_in_use_or_in_each_other(opened, pets, tmp_path):
    with pytest.raises(InputError, match=r"pets/out is in .*pets, where it would be read"):
        opened(out=pets / "out")
    with pytest.raises(InputError, match=r"pets/work is in .*pets, where it would be read"):
        opened(work_dir=pets / "work")
    with pytest.raises(InputError, match=r"out/work is in .*out, which must be empty"):
        opened(work_dir=tmp_path / "out" / "work")
    (tmp_path / "used").mkdir()
    pd.DataFrame({"x": [1]}).to_parquet(tmp_path / "used" / "a.parquet")
    with pytest.raises(InputError, match=r"used holds 'a.parquet' already"):
        opened(out=tmp_path / "used")
    with pytest.raises(WorkDirError, match=r"used is in use; go on with resume=True"):
        opened(work_dir=tmp_path / "used")
    assert opened(work_dir=tmp_path / "used", resume=True).resume
