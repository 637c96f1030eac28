from graphmargin.labeling.column_overview import column_overview
from graphmargin.labeling.labeling_task import task_of


def test_the_overview_has_roles_and_label_counts(tmp_path, mixed_table):
    table, _ = mixed_table()
    table.to_parquet(tmp_path / "pets.parquet")
    overview = column_overview(tmp_path / "pets.parquet", "kind")
    assert overview.columns == task_of(table, "kind").columns
    assert overview.n_rows == 150
    assert sum(overview.label_counts.values()) == 15
    assert overview.n_unlabeled == 135
    without_target = column_overview(tmp_path / "pets.parquet")
    assert without_target.label_counts == {}
    assert without_target.n_unlabeled == 150
