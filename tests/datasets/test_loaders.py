import sys

import numpy as np
import pytest
import sklearn.datasets

from graphmargin.datasets import load_digits, load_letter, load_penguins, load_segmentation


@pytest.mark.parametrize(
    ("load", "shape", "classes"),
    [
        (load_letter, (20_000, 16), list("ABCDEFGHIJKLMNOPQRSTUVWXYZ")),
        (load_digits, (5_620, 64), list(range(10))),
        (
            load_segmentation,
            (2_310, 19),
            ["brickface", "cement", "foliage", "grass", "path", "sky", "window"],
        ),
    ],
)
def test_table_has_the_documented_form(load, shape, classes):
    X, y = load()
    assert X.shape == shape
    assert X.dtype == np.float64
    assert X.flags.c_contiguous
    assert y.shape == shape[:1]
    assert np.unique(y).tolist() == classes


def test_labels_have_the_documented_type():
    assert load_letter()[1].dtype == np.dtype("U1")
    assert load_digits()[1].dtype == np.int64
    assert load_segmentation()[1].dtype == np.dtype("U9")


@pytest.mark.parametrize(
    ("load", "smallest", "largest"),
    [(load_letter, 734, 813), (load_digits, 554, 572), (load_segmentation, 330, 330)],
)
def test_class_sizes_are_those_of_the_repository(load, smallest, largest):
    _, sizes = np.unique(load()[1], return_counts=True)
    assert (sizes.min(), sizes.max()) == (smallest, largest)


def test_integer_tables_stay_in_range():
    X = load_letter()[0]
    assert (X.min(), X.max()) == (0, 15)
    X = load_digits()[0]
    assert (X.min(), X.max()) == (0, 16)


def test_digits_contain_the_table_of_scikit_learn():
    ours = set(map(tuple, np.column_stack(load_digits()).tolist()))
    theirs = np.column_stack(sklearn.datasets.load_digits(return_X_y=True))
    assert set(map(tuple, theirs.tolist())) <= ours


def test_segmentation_names_fit_the_features():
    X, y = load_segmentation()
    median = {name: np.median(X[y == name], axis=0) for name in np.unique(y).tolist()}
    row, intensity, excess_red, excess_green = 1, 9, 13, 15

    def order(feature):
        return sorted(median, key=lambda name: median[name][feature])

    assert order(intensity)[-1] == "sky"
    assert order(row)[0] == "sky"
    assert order(row)[-2:] == ["path", "grass"]
    assert order(excess_green)[-1] == "grass"
    assert order(excess_red)[-1] == "brickface"
    assert set(order(intensity)[:2]) == {"foliage", "window"}


def test_penguins_are_a_raw_frame_with_columns_of_several_kinds():
    X, y = load_penguins()
    assert X.shape == (344, 7)
    assert dict(zip(*np.unique(y, return_counts=True), strict=True)) == {
        "Adelie": 152,
        "Chinstrap": 68,
        "Gentoo": 124,
    }
    assert X["island"].unique().tolist() == ["Torgersen", "Biscoe", "Dream"]
    assert X["sex"].isna().sum() == 11  # "NA" is a missing cell
    assert X["body_mass_g"].isna().sum() == 2
    assert (X["body_mass_g"].min(), X["body_mass_g"].max()) == (2700, 6300)
    means = X["bill_length_mm"].groupby(y).mean().round(1).to_dict()
    assert means == {"Adelie": 38.8, "Chinstrap": 48.8, "Gentoo": 47.5}


def test_without_pandas_the_penguins_name_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    message = r'load_penguins needs the package pandas; pip install "graphmargin\[cli\]"'
    with pytest.raises(ModuleNotFoundError, match=message):
        load_penguins()
