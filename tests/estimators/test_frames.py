"""Data frames of mixed columns, scales of columns, and what `fit` and `score` refuse."""

import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import StandardScaler

from graphmargin import LabeledKFold
from graphmargin.datasets import load_digits, mask_labels
from graphmargin.estimators import (
    HarmonicClassifier,
    MaxMarginGraphCut,
    SemiSupervisedEnsemble,
    SupervisedSVC,
)
from graphmargin.estimators.base import ScaleWarning
from graphmargin.graph import knn_graph
from graphmargin.labeling.labeling_task import task_of
from graphmargin.labeling.table_labeling import label_rows
from graphmargin.search import Member
from tests.estimators.problems import assert_same_results, assert_sound, blobs, every_class, fit


def pets(n=90):
    """Return a frame with columns of all kinds, and three classes."""
    rng, y = np.random.default_rng(0), np.arange(n) % 3
    table = pd.DataFrame(
        {
            "length": y + rng.normal(scale=0.4, size=n),
            "mass": 1000 * y + rng.normal(scale=500, size=n),
            "color": np.array(["red", "blue", "green"])[(y + (rng.random(n) < 0.3)) % 3],
            "born": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D"),
            "country": "here",
        }
    )
    table.loc[3, "mass"] = np.nan
    return table, y, np.where(np.arange(n) < 24, y, -1)


@pytest.fixture(scope="module")
def fitted():
    table, _, few = pets()
    return SemiSupervisedEnsemble(random_state=0).fit(table, few)


# Frames


def test_a_frame_gets_what_a_table_gets_from_the_command(fitted):
    table, truth, few = pets()
    kinds = pd.array(np.where(few < 0, 0, few), dtype="Int64")
    kinds[few < 0] = pd.NA
    labeled = label_rows(task_of(table.assign(kind=kinds), "kind"))
    np.testing.assert_array_equal(fitted.label_distributions_, labeled.fitted.label_distributions)
    assert fitted.choice_.names == labeled.fitted.choice.names
    assert fitted.features_.columns == labeled.task.columns
    assert np.mean(fitted.transduction_ == truth) > 0.9
    assert fitted.n_features_in_ == 5
    assert fitted.feature_names_in_.tolist() == table.columns.tolist()


@pytest.mark.parametrize("convert", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "arrow"])
def test_frames_of_other_packages_are_the_same(convert, fitted):
    table, _, few = pets()
    model = SemiSupervisedEnsemble(random_state=0).fit(convert(table), few)
    assert_same_results(model, fitted, convert(table), table)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t[t.columns[::-1]], "must be in the same order"),
        (lambda t: t.drop(columns="color"), "now missing:\n- color"),
        (lambda t: t.rename(columns={"color": "colour"}), "unseen at fit time:\n- colour"),
        (lambda t: t.assign(more=1), "unseen at fit time:\n- more"),
        (lambda t: t.assign(mass="heavy"), "column 'mass' has 'heavy' in row 1, which is not a n"),
    ],
)
def test_frames_with_other_columns_are_refused_by_name(change, message, fitted):
    with pytest.raises(ValueError, match=message):
        fitted.predict(change(pets()[0]))


def test_an_array_stands_for_a_frame_with_a_warning(fitted):
    table, _, _ = pets()
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        labels = fitted.predict(table.to_numpy())
    np.testing.assert_array_equal(labels, fitted.predict(table))
    with (
        pytest.warns(UserWarning, match="X does not have valid feature names"),
        pytest.raises(ValueError, match="X has 2 features, but SemiSupervisedEnsemble is expect"),
    ):
        fitted.predict(np.ones((1, 2)))


def test_names_of_columns_may_be_numbers(fitted):
    table, _, few = pets()
    numbered = table.rename(columns=dict(zip(table.columns[:3], range(3), strict=True)))
    model = SemiSupervisedEnsemble(random_state=0).fit(numbered, few)
    assert model.feature_names_in_.tolist() == ["0", "1", "2", "born", "country"]
    np.testing.assert_array_equal(model.predict(numbered), fitted.predict(table))


def test_a_frame_needs_rows_columns_with_distinct_names_and_packages(monkeypatch):
    table, _, few = pets()
    with pytest.raises(ValueError, match="`X` must have at least 2 rows, got 1"):
        SemiSupervisedEnsemble().fit(table[:1], few[:1])
    with pytest.raises(ValueError, match="two columns are named 'mass'"):
        SemiSupervisedEnsemble().fit(table.rename(columns={"length": "mass"}), few)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install \"graphmargin\[cli\]\""):
        SemiSupervisedEnsemble().fit(table, few)


def test_invalid_cells_are_named_with_a_remedy_that_works():
    table, _, few = pets()
    typo = table.assign(length=table["length"].astype(str))
    typo.loc[7, "length"] = "oops"
    with pytest.warns(UserWarning, match="'oops' in row 8.*give it the type 'category'") as caught:
        model = SemiSupervisedEnsemble(members=["supervised"]).fit(typo, few)
    assert [warning.filename for warning in caught] == [__file__]
    with pytest.warns(UserWarning, match="'oops' in row 8") as caught:
        model.predict(typo)
    assert [warning.filename for warning in caught] == [__file__]
    typo["length"] = typo["length"].astype("category")
    model = SemiSupervisedEnsemble(members=["supervised"]).fit(typo, few)
    assert model.features_.columns[0].role == "left out", "words that all differ are an ID"
    colors = table.assign(length=pd.Categorical(table["length"].round().astype(str)))
    model = SemiSupervisedEnsemble(members=["supervised"]).fit(colors, few)
    assert model.features_.columns[0].role == "category"


def test_columns_that_look_like_ids_are_named_and_floats_are_kept():
    table, _, few = pets()
    names = [f"bird{i}" for i in range(len(table))]  # of which nobody needs a warning
    numbered = table.assign(name=names, rank=np.arange(len(table)))
    with pytest.warns(UserWarning, match="that look like IDs are left out: 'rank'; convert them"):
        model = SemiSupervisedEnsemble(members=["supervised"]).fit(numbered, few)
    assert model.features_.columns[-1].role == "left out"
    floats = numbered.astype({"rank": float})
    model = SemiSupervisedEnsemble(members=["supervised"]).fit(floats, few)
    assert model.features_.columns[-1].role == "number"


def test_lazy_frames_and_gaps_of_arrays_are_refused_with_a_remedy():
    table, _, few = pets()
    for classifier in (SemiSupervisedEnsemble, MaxMarginGraphCut):
        with pytest.raises(TypeError, match=r"`X` is a lazy frame.*pass `X.collect\(\)`"):
            classifier().fit(pl.from_pandas(table).lazy(), few)
    with pytest.raises(ValueError, match=r"NaN.*SemiSupervisedEnsemble takes data frames"):
        SemiSupervisedEnsemble().fit(table[["length", "mass"]].to_numpy(), few)


def test_sparse_rows_are_no_frame(fitted):
    with pytest.raises(ValueError, match="`X` must be a data frame with the columns of `fit`, got"):
        fitted.predict(sparse.csr_array(np.ones((2, 5))))


def test_the_name_of_the_labels_is_no_column():
    table, _, few = pets()
    for columns, name in ((["mass"], "label"), (["label"], "target")):
        frame = table.rename(columns={"mass": columns[0]})[[*columns, "color"]]
        model = SemiSupervisedEnsemble(members=["supervised"]).fit(frame, few)
        assert model.target_ == name
    assert model.set_params().fit(frame, pd.Series(few, name="kind")).target_ == "kind"


def test_a_validation_set_may_be_a_frame():
    table, truth, few = pets()
    model = SemiSupervisedEnsemble(cv=(table[60:], truth[60:]), random_state=0)
    model.fit(table[:60], few[:60])
    assert model.accuracy_.n_held_out == 30
    assert model.score(table[60:], truth[60:]) > 0.8


@pytest.mark.parametrize("classifier", [MaxMarginGraphCut, HarmonicClassifier])
def test_other_classifiers_name_the_one_that_takes_mixed_columns(classifier):
    table, _, few = pets()
    for X in (table, table.to_numpy()):
        with pytest.raises(ValueError, match=r"`X` must be .*SemiSupervisedEnsemble takes data f"):
            classifier().fit(X, few)


@every_class
def test_missing_and_reordered_columns_of_numbers_are_named(name):
    X, _, y = blobs(d=3)
    table = pd.DataFrame(X, columns=["height", "width", "depth"])
    model = fit(name, table, y)
    with pytest.raises(ValueError, match=r"feature names should match.*\n.*same order"):
        model.predict(table[["width", "height", "depth"]])
    with pytest.raises(ValueError, match=r"feature names should match.*\n.*missing:\n- depth"):
        model.predict(table[["height", "width"]])


# Scales


def wine():
    X, y = load_wine(return_X_y=True)
    return X, y, mask_labels(y, per_class=10, random_state=0)


def test_raw_columns_are_as_good_as_standardized_ones():
    X, y, few = wine()
    raw = SemiSupervisedEnsemble(random_state=0).fit(X, few)
    standardized = SemiSupervisedEnsemble(random_state=0).fit(
        StandardScaler().fit_transform(X), few
    )
    as_given = SemiSupervisedEnsemble(scale="none", random_state=0).fit(X, few)
    np.testing.assert_array_equal(raw.transduction_, standardized.transduction_)
    assert np.mean(raw.transduction_ == y) > 0.94 > 0.8 > np.mean(as_given.transduction_ == y)
    assert raw.choice_.names[-1] == "cut-one-unit"
    assert "cut-one-unit" not in standardized.choice_.names
    assert_sound(raw, X)


def test_a_frame_of_numbers_may_stay_in_one_unit():
    X, _, few = wine()
    frame = pd.DataFrame(X).add_prefix("column ")
    models = [SemiSupervisedEnsemble(scale="none", random_state=0).fit(x, few) for x in (X, frame)]
    np.testing.assert_array_equal(models[0].transduction_, models[1].transduction_)


def test_held_out_labels_find_that_principal_components_have_one_unit():
    """Their scales differ, but in one unit, their distances are those of the pixels."""
    X, y = (part[:600] for part in load_digits())
    few = mask_labels(y, per_class=8, random_state=0)
    model = SemiSupervisedEnsemble(random_state=0).fit(PCA().fit_transform(X), few)
    weights = dict(zip(model.choice_.names, model.choice_.weights, strict=True))
    assert model.choice_.parts[0].member.view.name == "standardized"
    assert weights["cut-one-unit"] > 0.8


def test_sparse_rows_and_members_with_a_view_are_left_alone():
    X, _, few = wine()
    model = SemiSupervisedEnsemble(random_state=0).fit(sparse.csr_array(X), few)
    assert all(part.member.view.factors is None for part in model.choice_.parts)
    member = Member("mine", SupervisedSVC().method())
    model = SemiSupervisedEnsemble(members=[member, "supervised"]).fit(X, few)
    assert [part.member.view.name for part in model.choice_.parts] == ["as given", "standardized"]


@pytest.mark.parametrize(("ratio", "n_warnings"), [(5.9, 0), (6.1, 1)])
def test_the_warning_is_raised_from_a_ratio_of_six(ratio, n_warnings):
    """The columns of the larger half have one scale, and the last has a multiple of it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    X *= [1.0, 1.0, 1.0, 1.0, ratio] / X.std(axis=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        SupervisedSVC().fit(X, np.arange(60) % 2)
    assert [warning.category for warning in caught] == [ScaleWarning] * n_warnings
    assert all(warning.filename == __file__ for warning in caught)


def test_classifiers_among_the_members_see_scaled_columns():
    X, _, few = wine()
    members = [SupervisedSVC(), SupervisedSVC().method()]
    model = SemiSupervisedEnsemble(members=members).fit(X, few)
    assert [part.member.view.name for part in model.choice_.parts] == ["standardized"] * 2


def test_an_unknown_scale_is_refused():
    X, _, few = wine()
    with pytest.raises(ValueError, match="`scale` must be one of 'auto', 'none', got 'standard'"):
        SemiSupervisedEnsemble(scale="standard").fit(X, few)


def test_classifiers_of_rows_as_given_warn_of_scales_and_name_the_way_out():
    X, _, few = wine()
    with pytest.warns(ScaleWarning, match=r"is 388 times the median one.*SemiSupervisedEnsemble"):
        MaxMarginGraphCut(gamma_g=0.1, C=1.0).fit(X, few)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MaxMarginGraphCut(gamma_g=0.1, C=1.0).fit(StandardScaler().fit_transform(X), few)
        SemiSupervisedEnsemble(members=["supervised"]).fit(X, few)


# A given graph


def test_members_with_a_graph_use_the_given_one():
    table, truth, few = pets()
    same_class = (truth[:, None] == truth).astype(float)
    np.fill_diagonal(same_class, 0.0)
    model = SemiSupervisedEnsemble(random_state=0).fit(table[["born"]], few, W=same_class)
    assert model.choice_.names[:2] == ("cut", "low-density")
    weights = dict(zip(model.choice_.names, model.choice_.weights, strict=True))
    alone = MaxMarginGraphCut(random_state=0).fit(model.features_.transform(table), few, same_class)
    assert weights["cut"] > 0.0
    assert model.choice_.parts[0].best_params == alone.choice_.best_params


def test_a_harmonic_member_on_a_given_graph_is_refused_by_name():
    X, _, y = blobs()
    for member in ("harmonic", HarmonicClassifier()):
        with pytest.raises(ValueError, match="`members` has a harmonic solution, which cannot lab"):
            SemiSupervisedEnsemble(members=["cut", member]).fit(X, y, W=knn_graph(X, 4))


# Arguments and scores


@every_class
def test_sample_weights_are_refused_with_the_reason(name):
    X, _, y = blobs()
    with pytest.raises(TypeError, match=r"`sample_weight` cannot be passed to `fit` of .*class_w"):
        fit(name, X, y).fit(X, y, sample_weight=np.ones(len(y)))
    fit(name, X, y).fit(X, y, sample_weight=None)


def test_other_arguments_of_fit_are_refused_by_name():
    X, _, y = blobs()
    with pytest.raises(TypeError, match="`W` cannot be passed to `fit` of SupervisedSVC: it uses"):
        SupervisedSVC().fit(X, y, W=knn_graph(X, 4))
    with pytest.raises(TypeError, match=r"`weight` cannot be .* there is no such argument"):
        SemiSupervisedEnsemble().fit(X, y, weight=1)


def test_the_score_counts_labeled_rows_alone():
    X, truth, y = blobs(distance=0.5)
    y[40:] = truth[40:]
    model = fit("supervised", X, np.where(np.arange(len(y)) < 40, y, -1))
    right, labeled = model.predict(X) == truth, y >= 0
    assert model.score(X, y) == right[labeled].mean()
    assert model.score(X, truth) == right.mean()
    weights = np.arange(len(y), dtype=float)
    expected = np.average(right[labeled], weights=weights[labeled])
    assert model.score(X, y, sample_weight=weights) == pytest.approx(expected)
    assert expected != right[labeled].mean()
    with pytest.raises(ValueError, match="Mix of label input types"):
        model.score(X, y.astype(str))


def test_a_score_without_labels_is_refused_and_cross_validation_scores_labeled_rows():
    X, _, y = blobs(n=90, per_class=15)
    model = fit("supervised", X, y)
    with pytest.raises(ValueError, match="`y` has no label to compare with: all 45 rows are unl"):
        model.score(X[45:], y[45:])
    for cv in (5, LabeledKFold(5, random_state=0)):
        scores = cross_val_score(model, X, y, cv=cv, error_score="raise")
        assert scores.mean() > 0.8, "most rows are unlabeled, and are no errors"
