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
from graphmargin.distributed.dask_tables import open_table, sample_table
from graphmargin.distributed.io.row_encoder import EncodedColumns
from graphmargin.search.execution import FitWarning, UnreachedWarning
from graphmargin.tables.reading import read_table
from graphmargin.tables.table_errors import TableError
from graphmargin.tables.table_features import fit_transform


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
        paths = {name: str(options.pop(name, folder)) for name, folder in folders.items()}
        return open_table(str(place), target, **paths, **options)

    return run


def test_a_small_table_is_its_own_sample(cluster, opened, mixed_table):
    request = opened(ignore=["note"])
    sample = sample_table(cluster, request, seed=3)
    whole = mixed_table(90)[0]
    unused = ["kind", "note"]
    assert sample.columns.tolist() == whole.columns.tolist()
    assert sample[unused].isna().all(axis=None)
    expected = fit_transform(whole, ignore=unused)[0]
    features = fit_transform(sample, ignore=unused)[0]
    assert features.columns == expected.columns
    np.testing.assert_array_equal(features.transform(whole), expected.transform(whole))


def test_a_sample_is_ordered_spread_evenly_and_determined_by_its_seed(cluster, opened, monkeypatch):
    monkeypatch.setattr(dask_tables, "MAX_SAMPLED", 30)
    monkeypatch.setattr(dask_tables, "ROWS_PER_RANGE", 20)
    request = opened()
    assert len(request.source.row_ranges) == 7
    ids = sample_table(cluster, request, seed=0)["id"].tolist()
    assert len(ids) == 30
    assert ids == sorted(set(ids))
    rows = np.array([int(name[1:]) for name in ids])
    in_ranges = np.histogram(rows, request.source.offsets)[0]
    shares = np.diff(request.source.offsets) / 3
    assert (np.abs(in_ranges - shares) < 1).all()
    assert sample_table(cluster, request, seed=0)["id"].tolist() == ids
    assert sample_table(cluster, request, seed=1)["id"].tolist() != ids


def test_cells_missing_only_outside_of_the_sample_are_encoded(cluster, opened, pets, monkeypatch):
    monkeypatch.setattr(dask_tables, "MAX_SAMPLED", 30)
    ids = sample_table(cluster, opened(), seed=0)["id"].tolist()
    for path in pets.iterdir():
        table = read_table(path).drop(columns="age")
        outside = ~table["id"].isin(ids)
        for name in ("weight", "color", "seen", "note"):
            table[name] = table[name].mask(outside)
        table.to_parquet(path, index=False)
    request = opened()
    features = fit_transform(sample_table(cluster, request, seed=0), ignore=["kind"])[0]
    used = EncodedColumns(features).columns
    assert used == ("weight", "color", "seen", "note")
    for path in pets.iterdir():
        X = EncodedColumns(features).transform(pa.parquet.read_table(path, columns=list(used)))
        assert np.isfinite(X).all()


def test_cells_of_another_type_outside_of_the_sample_are_refused(
    cluster, opened, pets, monkeypatch
):
    monkeypatch.setattr(dask_tables, "MAX_SAMPLED", 30)
    ids = sample_table(cluster, opened(), seed=0)["id"].tolist()
    for path in pets.iterdir():
        table = read_table(path)
        table["weight"] = table["weight"].astype(str).where(table["id"].isin(ids), "heavy")
        table.to_parquet(path, index=False)
    with pytest.raises(TableError, match=r"pets/(9|10).parquet: .*'weight' .*'heavy' .*row \d+"):
        dask_tables.label_table(cluster, opened(), seed=0)


def test_a_table_without_features_is_refused(cluster, opened):
    names = ["id", "weight", "age", "color", "seen", "note", "country"]
    with pytest.raises(TableError, match=r"no columns beside the target and those in `ignore`"):
        dask_tables.label_table(cluster, opened(ignore=names), seed=0)


def test_invalid_cells_and_categories_of_the_sample_are_remembered(
    cluster, opened, pets, monkeypatch
):
    for path in pets.iterdir():
        table = read_table(path)
        weight = table["weight"].astype(str)
        table["weight"] = weight.mask(table["id"].isin(["a0007", "a0050"]), "oops")
        table.to_parquet(path, index=False)
    monkeypatch.setattr(dask_tables, "run_fit", lambda *_, **__: SimpleNamespace(warnings=()))
    features = dask_tables.label_table(cluster, opened(category=["age"]), seed=0).features
    roles = {use.name: use.role for use in features.columns}
    assert (roles["weight"], roles["age"]) == ("number", "category")
    # Rows would be those of the sample.
    assert features.warnings[0].startswith(
        "column 'weight': 2 cells are not numbers and count as missing ('oops', 'oops'); correct"
    )
    with pytest.raises(TableError, match="`category`: 'kind' is the target"):
        opened(category=["kind"])


def test_warnings_that_name_parameters_are_left_to_the_summary(cluster, opened, monkeypatch):
    warnings = (FitWarning("no label", UnreachedWarning), FitWarning("gap", ConvergenceWarning))
    fitted = SimpleNamespace(warnings=warnings)
    monkeypatch.setattr(dask_tables, "run_fit", lambda *_, **__: fitted)
    assert dask_tables.label_table(cluster, opened(), seed=0).warnings == ("gap",)


def test_a_table_whose_rows_are_all_labeled_is_refused(cluster, opened, pets):
    for path in pets.iterdir():
        table = read_table(path)
        table["kind"] = np.where(np.arange(len(table)) % 2, "cat", "dog")
        table.to_parquet(path, index=False)
    with pytest.raises(TableError, match="all 90 rows of pets have a label in 'kind', so"):
        sample_table(cluster, opened(), seed=0)


def test_bad_tables_are_refused_when_they_are_opened(opened, pets, tmp_path):
    with pytest.raises(TableError, match=r"has no column 'kin'; did you mean 'kind'"):
        opened(target="kin")
    with pytest.raises(TableError, match=r"has no column 'shape'"):
        opened(ignore=["shape"])
    with pytest.raises(TableError, match=r"no.parquet does not exist"):
        opened(tmp_path / "no.parquet")
    taken = read_table(pets / "9.parquet").assign(kind_source="")
    taken.to_parquet(tmp_path / "taken.parquet")
    with pytest.raises(TableError, match=r"has a column 'kind_source'"):
        opened(tmp_path / "taken.parquet")
    other = read_table(pets / "10.parquet")
    other.assign(id=np.arange(len(other))).to_parquet(pets / "10.parquet")
    with pytest.raises(TableError, match=r"column 'id' is .*string in .*, but int64 in"):
        opened()
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "work").exists()


def test_folders_that_are_not_empty_or_within_each_other_are_refused(opened, pets, tmp_path):
    with pytest.raises(InputError, match=r"pets/out is in .*pets, where it would be read"):
        opened(out=pets / "out")
    with pytest.raises(InputError, match=r"pets/work is in .*pets, where it would be read"):
        opened(work_dir=pets / "work")
    with pytest.raises(InputError, match=r"out/work is in .*out, which must be empty"):
        opened(work_dir=tmp_path / "out" / "work")
    (tmp_path / "used").mkdir()
    pd.DataFrame({"x": [1]}).to_parquet(tmp_path / "used" / "a.parquet")
    with pytest.raises(InputError, match=r"used already has 'a.parquet'"):
        opened(out=tmp_path / "used")
    with pytest.raises(WorkDirError, match=r"used is not empty; continue with resume=True"):
        opened(work_dir=tmp_path / "used")
    assert opened(work_dir=tmp_path / "used", resume=True).resume
