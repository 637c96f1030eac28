from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from graphmargin import MaxMarginGraphCut, SemiSupervisedEnsemble
from graphmargin.datasets import load_digits, mask_labels
from graphmargin.harmonic.solution import solve_path
from graphmargin.labeling.labeled_table import EXPLANATION_GAMMA_G
from graphmargin.labeling.labeling_task import task_of
from graphmargin.labeling.table_labeling import label_rows
from graphmargin.tables.table_errors import TableError
from graphmargin.tables.writing import table_writer


def test_the_result_has_all_labels_and_the_table_is_unchanged(labeled_pets, mixed_table):
    labeled, (before, names) = labeled_pets, mixed_table()
    pd.testing.assert_frame_equal(labeled.task.table, before)
    after = labeled.table
    assert after.columns.tolist() == [*before.columns, "kind_confidence", "kind_source"]
    pd.testing.assert_frame_equal(after[before.columns[:-1]], before[before.columns[:-1]])
    given = before["kind"].notna()
    assert (after.loc[given, "kind"] == before.loc[given, "kind"]).all()
    assert (after["kind"] == names).all()


def test_sources_and_confidences_follow_from_the_fit(labeled_pets):
    labeled = labeled_pets
    given = labeled.task.target.labeled
    assert set(labeled.sources[given]) == {"given"}
    assert set(labeled.sources[~given]) == {"predicted"}
    assert (labeled.confidence[given] == 1).all()
    assert np.array_equal(labeled.confidence[~given], labeled.fitted.confidence[~given])


def test_labels_are_explained_at_another_gamma_g_if_supervised_learning_is_chosen(mixed_table):
    labeled = label_rows(task_of(mixed_table()[0], "kind"))
    problem = labeled.cut.solution.problem
    cut = replace(labeled.cut, solution=solve_path(problem, [np.inf])[0])
    labeled = replace(labeled, cut=cut)
    assert labeled.solution.gamma_g == EXPLANATION_GAMMA_G
    assert labeled.solution.classes.tolist() == ["bird", "cat", "dog"]


def test_labels_are_those_of_the_estimator_on_the_same_features():
    X, y = load_digits()
    rows = np.random.default_rng(0).permutation(len(y))[:400]
    X, y = X[rows], y[rows]
    few = mask_labels(y, per_class=3, random_state=0)
    table = pd.DataFrame(X, columns=[f"p{i}" for i in range(64)])
    labeled = label_rows(task_of(table.assign(digit=few), "digit", unlabeled=["-1"]))
    model = MaxMarginGraphCut(random_state=0).fit(X, few)
    assert (labeled.task.target.classes[labeled.codes] == model.transduction_).mean() > 0.995


def test_the_model_labels_new_rows_as_the_cut_does(labeled_pets, mixed_table):
    labeled = labeled_pets
    new, names = mixed_table(90, seed=1)
    model = labeled.model(rows=150)
    labels, confidence = model.label(new.drop(columns="kind"))
    X = labeled.task.features.transform(new)
    assert np.array_equal(labels, labeled.fitted.predictor.predict(X))
    assert (labels == names).mean() > 0.9
    assert ((confidence >= 0) & (confidence <= 1)).all()
    assert model.details["rows"] == 150


def test_the_listener_receives_the_stages(mixed_table):
    told = []

    def listener(name):
        return lambda share, _news: told.append((name, share))

    label_rows(task_of(mixed_table()[0], "kind"), listener=listener)
    names = list(dict.fromkeys(name for name, _ in told))
    assert names[0] == "graph of 150 points"
    assert names[1].startswith("trial of ")
    for name in names:
        shares = [share for told_name, share in told if told_name == name]
        assert shares[0] == 0.0
        assert shares[-1] == 1.0


@pytest.mark.parametrize("n", [3, 4, 7])
def test_tiny_tables_are_labeled(n):
    kind = np.array([None] * n, dtype=object)
    kind[0], kind[-1] = "low", "high"
    labeled = label_rows(task_of(pd.DataFrame({"x": np.arange(n) ** 2.0, "kind": kind}), "kind"))
    assert labeled.table["kind"].iloc[[0, -1]].tolist() == ["low", "high"]
    assert labeled.table["kind"].notna().all()


def test_a_table_of_equal_rows_and_one_other_is_labeled():
    table = pd.DataFrame({"x": [1.0] * 9 + [2.0], "kind": ["a", *[None] * 8, "b"]})
    labeled = label_rows(task_of(table, "kind"))
    assert labeled.table["kind"].tolist() == ["a"] * 9 + ["b"]


def test_integer_and_boolean_classes_keep_their_type():
    x = [0.0, 0.1, 5.0, 5.1]
    whole = label_rows(task_of(pd.DataFrame({"x": x, "k": [3, np.nan, 7, np.nan]}), "k"))
    assert whole.table["k"].tolist() == [3, 3, 7, 7]
    assert whole.table["k"].dtype.kind == "i"
    truth = label_rows(task_of(pd.DataFrame({"x": x, "k": [True, None, False, None]}), "k"))
    assert truth.table["k"].tolist() == [True, True, False, False]


def test_rows_that_are_not_sure_have_no_label(labeled_pets):
    given = labeled_pets.task.target.labeled
    # Halfway between two rows, as the table has rounded numbers.
    middle = np.unique(labeled_pets.confidence[~given].round(6))[20:22]
    threshold = float(middle.mean())
    before = labeled_pets.table
    after = replace(labeled_pets, min_confidence=threshold).table
    is_sure = before["kind_confidence"] >= threshold
    assert (is_sure[given]).all()
    assert not is_sure.all()
    assert after["kind_confidence"].equals(before["kind_confidence"])
    for column in ("kind", "kind_source"):
        assert after[column].notna().equals(is_sure)
        assert after[column][is_sure].tolist() == before[column][is_sure].tolist()


def test_integers_and_booleans_stay_what_they_are_where_labels_are_missing(tmp_path):
    x = [0.0, 0.1, 5.0, 5.1, 2.5]
    for kinds in ([3, None, 7, None, None], [True, None, False, None, None]):
        table = pd.DataFrame({"x": x, "k": kinds})
        labeled = replace(label_rows(task_of(table, "k")), min_confidence=1.0)
        cells = labeled.table["k"]
        assert cells[[0, 2]].tolist() == [kinds[0], kinds[2]]
        assert cells.isna().tolist() == [False, True, False, True, True]
        with table_writer(tmp_path / "k.csv") as write:
            write(labeled.table[["x", "k"]])
        written = (tmp_path / "k.csv").read_text().splitlines()
        assert written[1:3] == [f"0.0,{kinds[0]}", "0.1,"]


def test_sets_have_the_given_label_or_those_of_the_model(labeled_pets):
    # A harmonic solution knows more of its own rows than of new rows that are equal to them.
    labeled = label_rows(labeled_pets.task, method="cut", coverage=0.8)
    cells = labeled.table["kind_set"]
    given = labeled.task.target.labeled
    assert cells[given].tolist() == labeled.table["kind"][given].tolist()
    sets = labeled.model().predict_set(labeled.task.table, 0.8)
    classes = labeled.task.target.classes
    expected = [" | ".join(classes[row]) or None for row in sets[~given]]
    assert [None if pd.isna(cell) else cell for cell in cells[~given]] == expected
    assert labeled_pets.table.columns.tolist() == labeled.table.columns.tolist()[:-1]


def test_sets_need_labels_that_can_be_held_out_and_enough_of_them(mixed_table):
    few = pd.DataFrame({"x": [0.0, 0.1, 5.0, 5.1], "kind": ["a", None, "b", None]})
    with pytest.raises(TableError, match=r"`coverage` needs labels .* two or more rows of a class"):
        label_rows(task_of(few, "kind"), coverage=0.9)
    task = task_of(mixed_table()[0], "kind")
    (warning,) = label_rows(task, coverage=0.99).warnings
    assert warning.startswith("15 labels can guarantee a coverage of at most 0.938")
    assert not label_rows(task, coverage=0.5).warnings


def test_tables_are_labeled_as_their_features_are(labeled_pets):
    task = labeled_pets.task
    rows = task.table.drop(columns=task.target.name)
    model = SemiSupervisedEnsemble(random_state=0).fit(rows, task.target.codes)
    distributions = labeled_pets.fitted.label_distributions
    np.testing.assert_array_equal(distributions, model.label_distributions_)
    np.testing.assert_array_equal(labeled_pets.cut_choice.weights, model.choice_.parts[0].weights)


@pytest.mark.parametrize("method", ["harmonic", "linear-supervised"])
def test_another_method_has_the_graph_of_the_cut_for_explanations(method, labeled_pets):
    """The cut is tried and fitted beside it, with the parameters that it would choose alone."""
    labeled = label_rows(labeled_pets.task, method=method)
    assert labeled.fitted.choice.names == (method,)
    np.testing.assert_array_equal(labeled.cut.W.toarray(), labeled_pets.cut.W.toarray())
    np.testing.assert_array_equal(labeled.cut_choice.weights, labeled_pets.cut_choice.weights)
    assert labeled.cut.solution.gamma_g == labeled_pets.cut.solution.gamma_g


def test_without_held_out_labels_cut_and_harmonic_solution_count():
    table = pd.DataFrame({"x": [0.0, 0.1, 5.0, 5.1], "kind": ["a", None, "b", None]})
    labeled = label_rows(task_of(table, "kind"))
    assert labeled.fitted.choice.names == ("cut", "harmonic")
    assert labeled.table["kind"].tolist() == ["a", "a", "b", "b"]


def test_a_tiny_table_with_constant_and_equal_columns_is_labeled():
    table = pd.DataFrame(
        {
            "size": [1.0, 1.0, 1.0, 2.0, 2.0, 2.0],
            "same": 3.0,
            "color": ["red", "red", "blue", "red", "blue", "blue"],
            "here": "here",
            "kind": ["cat", "cat", None, "dog", "dog", None],
        }
    )
    labeled = label_rows(task_of(table, "kind"))
    assert labeled.table["kind"].tolist() == ["cat"] * 3 + ["dog"] * 3
