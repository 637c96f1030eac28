from graphmargin.labeling.column_overview import overview
from graphmargin.labeling.labeling_task import task_of


def test_columns_and_labels(tmp_path, mixed_table):
    table, _ = mixed_table()
    table.to_parquet(tmp_path / "pets.parquet")
    found = overview(tmp_path / "pets.parquet", "kind")
    assert found.columns == task_of(table, "kind").columns
    assert found.n_rows == 150
    assert sum(found.label_counts.values()) == 15
    assert found.n_unlabeled == 135
    without_target = overview(tmp_path / "pets.parquet")
    assert without_target.label_counts == {}
    assert without_target.n_unlabeled == 150
