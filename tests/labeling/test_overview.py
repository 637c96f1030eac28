from graphmargin.labeling.job import job_of
from graphmargin.labeling.overview import overview


def test_columns_and_labels(tmp_path, mixed_table):
    table, _ = mixed_table()
    table.to_parquet(tmp_path / "pets.parquet")
    found = overview(tmp_path / "pets.parquet", "kind")
    assert found.columns == job_of(table, "kind").columns
    assert found.n_rows == 150
    assert sum(found.label_counts.values()) == 15
    assert found.n_unlabeled == 135
    without_target = overview(tmp_path / "pets.parquet")
    assert without_target.label_counts == {}
    assert without_target.n_unlabeled == 150
