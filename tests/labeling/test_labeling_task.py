from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from graphmargin import MaxMarginGraphCut
from graphmargin.datasets import load_digits, mask_labels
from graphmargin.harmonic.solution import solve_path
from graphmargin.labeling.findings import GIVEN, INDUCED, MODEL
from graphmargin.labeling.labeling_task import (
    EXPLANATION_GAMMA_G,
    check_new_columns,
    label_rows,
    read_task,
    task_of,
)
from graphmargin.tables.table_errors import TableError


def test_the_table_is_filled_in_and_not_touched(labeled_pets, mixed_table):
    found, (before, names) = labeled_pets, mixed_table()
    pd.testing.assert_frame_equal(found.job.table, before)
    after = found.table
    assert after.columns.tolist() == [*before.columns, "kind_confidence", "kind_source"]
    pd.testing.assert_frame_equal(after[before.columns[:-1]], before[before.columns[:-1]])
    given = before["kind"].notna()
    assert (after.loc[given, "kind"] == before.loc[given, "kind"]).all()
    assert (after["kind"] == names).all()


def test_sources_and_confidences(labeled_pets):
    found = labeled_pets
    given = found.job.target.labeled
    assert (found.sources[given] == GIVEN).all()
    assert set(found.sources[~given]) <= {INDUCED, MODEL}
    assert (found.confidence[given] == 1).all()
    assert np.array_equal(found.confidence[~given], found.fitted.confidence[~given])
    induced = found.sources == INDUCED
    agreed = found.fitted.solution.codes == found.codes
    assert np.array_equal(agreed[~given], induced[~given])


def test_no_label_is_induced_where_no_label_travels(mixed_table):
    """Labels are explained at another gamma_g if supervised learning is chosen."""
    found = label_rows(task_of(mixed_table()[0], "kind"))
    problem = found.fitted.solution.problem
    fitted = replace(found.fitted, solution=solve_path(problem, [np.inf])[0])
    found = replace(found, fitted=fitted)
    assert INDUCED not in found.sources
    assert found.solution.gamma_g == EXPLANATION_GAMMA_G
    assert found.solution.classes.tolist() == ["bird", "cat", "dog"]


def test_the_same_as_the_estimator_on_the_same_numbers():
    X, y = load_digits()
    rows = np.random.default_rng(0).permutation(len(y))[:400]
    X, y = X[rows], y[rows]
    few = mask_labels(y, per_class=3, random_state=0)
    table = pd.DataFrame(X, columns=[f"p{i}" for i in range(64)])
    found = label_rows(task_of(table.assign(digit=few), "digit", unlabeled=["-1"]))
    model = MaxMarginGraphCut(random_state=0).fit(X, few)
    assert (found.job.target.classes[found.codes] == model.transduction_).mean() > 0.995


def test_the_model_labels_new_rows_as_the_cut_does(labeled_pets, mixed_table):
    found = labeled_pets
    new, names = mixed_table(90, seed=1)
    model = found.model(rows=150)
    labels, confidence = model.label(new.drop(columns="kind"))
    X = found.job.features.transform(new)
    assert np.array_equal(labels, found.job.target.classes[found.fitted.predictor.predict(X)])
    assert (labels == names).mean() > 0.9
    assert ((confidence >= 0) & (confidence <= 1)).all()
    assert model.details["rows"] == 150


def test_stages_are_told(mixed_table):
    told = []

    def watch(name):
        return lambda share, _news: told.append((name, share))

    label_rows(task_of(mixed_table()[0], "kind"), watch=watch)
    names = list(dict.fromkeys(name for name, _ in told))
    assert names[0] == "graph of 150 points"
    assert names[1].startswith("trial of ")
    for name in names:
        shares = [share for told_name, share in told if told_name == name]
        assert shares[0] == 0.0
        assert shares[-1] == 1.0


@pytest.mark.parametrize("n", [3, 4, 7])
def test_tiny_tables(n):
    kind = np.array([None] * n, dtype=object)
    kind[0], kind[-1] = "low", "high"
    found = label_rows(task_of(pd.DataFrame({"x": np.arange(n) ** 2.0, "kind": kind}), "kind"))
    assert found.table["kind"].iloc[[0, -1]].tolist() == ["low", "high"]
    assert found.table["kind"].notna().all()


def test_rows_that_are_all_the_same_but_one():
    table = pd.DataFrame({"x": [1.0] * 9 + [2.0], "kind": ["a", *[None] * 8, "b"]})
    found = label_rows(task_of(table, "kind"))
    assert found.table["kind"].tolist() == ["a"] * 9 + ["b"]


def test_integer_and_truth_classes_stay_what_they_are():
    x = [0.0, 0.1, 5.0, 5.1]
    whole = label_rows(task_of(pd.DataFrame({"x": x, "k": [3, np.nan, 7, np.nan]}), "k"))
    assert whole.table["k"].tolist() == [3, 3, 7, 7]
    assert whole.table["k"].dtype.kind == "i"
    truth = label_rows(task_of(pd.DataFrame({"x": x, "k": [True, None, False, None]}), "k"))
    assert truth.table["k"].tolist() == [True, True, False, False]


def test_minus_one_is_a_class_unless_it_is_said_not_to_be():
    table = pd.DataFrame({"x": [0.0, 0.1, 5.0, 5.1], "k": [-1, None, 1, None]})
    assert task_of(table, "k").target.classes.tolist() == [-1, 1]
    with pytest.raises(TableError, match="'k'"):
        task_of(table, "k", unlabeled=["-1"])


def test_open_job_reads_the_file(tmp_path, mixed_table):
    table, _ = mixed_table()
    table.to_parquet(tmp_path / "pets.parquet")
    job = read_task(tmp_path / "pets.parquet", "kind", ignore=["color"])
    assert job.name == "pets.parquet"
    assert job.n_labels == 15
    assert {use.name: use.role for use in job.features.columns}["color"] == "left out"


def test_columns_that_are_taken(mixed_table):
    table, _ = mixed_table()
    for column in ("kind_source", "kind_confidence"):
        with pytest.raises(TableError, match=f"'{column}'"):
            check_new_columns(task_of(table.assign(**{column: 1}), "kind"))
