"""Errors name the argument and the value; what looks odd but is well defined works."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from graphmargin import HarmonicClassifier, MaxMarginGraphCut

both = pytest.mark.parametrize("classifier", [HarmonicClassifier, MaxMarginGraphCut])


def points(n=20):
    rng = np.random.default_rng(0)
    truth = np.arange(n) % 2
    X = rng.normal(size=(n, 2)) + 3.0 * truth[:, None]
    return X, truth, np.where(np.arange(n) < 6, truth, -1)


def complete_graph(n=20):
    return np.ones((n, n)) - np.eye(n)


def refuses(message):
    return pytest.raises(ValueError, match=re.escape(message))


# Points


@both
def test_no_rows(classifier):
    with refuses(
        "Found array with 0 sample(s) (shape=(0, 2)) while a minimum of 2 is required by "
        f"{classifier.__name__}"
    ):
        classifier().fit(np.empty((0, 2)), [])


@both
def test_one_row(classifier):
    with refuses("Found array with 1 sample(s) (shape=(1, 2)) while a minimum of 2 is required"):
        classifier().fit([[1.0, 2.0]], [1])


@both
def test_no_columns(classifier):
    with refuses("Found array with 0 feature(s) (shape=(20, 0))"):
        classifier().fit(np.empty((20, 0)), points()[2])


@both
@pytest.mark.parametrize(
    ("value", "message"), [(np.nan, "Input X contains NaN"), (np.inf, "Input X contains infinity")]
)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_values_that_are_not_finite(classifier, value, message, container):
    X, _, y = points()
    model = classifier(n_neighbors=4).fit(X, y)
    X[3, 1] = value
    with refuses(message):
        classifier(n_neighbors=4).fit(container(X), y)
    with refuses(message):
        model.predict(container(X))


@both
def test_points_in_one_dimension(classifier):
    X, _, y = points()
    with refuses("Expected 2D array, got 1D array instead"):
        classifier().fit(X[:, 0], y)


@both
def test_points_in_three_dimensions(classifier):
    X, _, y = points()
    with refuses(f"Found array with dim 3, while dim <= 2 is required by {classifier.__name__}"):
        classifier().fit(X[:, :, None], y)


@both
def test_words_as_points(classifier):
    _, _, y = points()
    with refuses("could not convert string to float: "):
        classifier().fit(np.array([["small", "red"]] * 20), y)
    with refuses("could not convert string to float: "):
        classifier().fit(pd.DataFrame({"size": [1.0] * 20, "color": ["red"] * 20}), y)


@both
def test_complex_points(classifier):
    X, _, y = points()
    with refuses("Complex data not supported"):
        classifier().fit(X + 1j, y)


@both
@pytest.mark.parametrize("method", ["predict", "predict_proba"])
def test_other_number_of_features_in_prediction(classifier, method):
    X, _, y = points()
    model = classifier(n_neighbors=4).fit(X, y)
    with refuses(f"X has 1 features, but {classifier.__name__} is expecting 2 features as input"):
        getattr(model, method)(X[:, :1])


@both
def test_no_rows_in_prediction(classifier):
    X, _, y = points()
    model = classifier(n_neighbors=4).fit(X, y)
    with refuses("Found array with 0 sample(s) (shape=(0, 2)) while a minimum of 1 is required"):
        model.predict(X[:0])


# Labels


@both
@pytest.mark.parametrize("difference", [-1, 1])
def test_labels_of_another_length(classifier, difference):
    X, truth, _ = points()
    y = np.resize(truth, 20 + difference)
    with refuses(f"inconsistent numbers of samples: [20, {20 + difference}]"):
        classifier(n_neighbors=4).fit(X, y)


@both
def test_no_labels_at_all(classifier):
    X, _, _ = points()
    for y in (np.full(20, -1), [None] * 20, [""] * 20, np.full(20, np.nan)):
        with refuses("`y` has no label: all 20 rows are unlabeled"):
            classifier(n_neighbors=4).fit(X, y)


@both
def test_one_class_only(classifier):
    X, _, _ = points()
    for y, shown in (
        (np.where(np.arange(20) < 4, 3, -1), "3"),
        (["cat"] * 4 + [None] * 16, "'cat'"),
    ):
        with refuses(f"`y` has one class only ({shown}); label rows of at least two classes"):
            classifier(n_neighbors=4).fit(X, y)


@both
def test_labels_missing(classifier):
    with refuses("requires y to be passed, but the target y is None"):
        classifier().fit(points()[0], None)


@both
def test_continuous_labels(classifier):
    X, _, _ = points()
    with refuses("Unknown label type: continuous"):
        classifier().fit(X, np.linspace(0.1, 0.9, 20))


@both
def test_words_and_numbers_as_labels(classifier):
    X, _, _ = points()
    with refuses("`y` mixes strings and numbers: ['a', 1]"):
        classifier().fit(X, ["a", 1] * 10)


@both
def test_table_of_labels(classifier):
    X, _, y = points()
    with refuses("y should be a 1d array, got an array of shape (20, 2) instead"):
        classifier().fit(X, np.column_stack([y, y]))


# Parameters of both classifiers


PARAMETERS = {
    "gamma_g": [
        (-1.0, "`gamma_g` must be >= 0, got -1.0; use `inf` for supervised learning only"),
        (np.nan, "`gamma_g` must be >= 0, got nan"),
        (-np.inf, "`gamma_g` must be >= 0, got -inf"),
        ("auto", "`gamma_g` must be >= 0, got 'auto'"),
        (None, "`gamma_g` must be >= 0, got None"),
        (True, "`gamma_g` must be >= 0, got True"),
    ],
    "n_neighbors": [
        (0, "`n_neighbors` must be an integer >= 1, got 0"),
        (-2, "`n_neighbors` must be an integer >= 1, got -2"),
        (2.5, "`n_neighbors` must be an integer >= 1, got 2.5"),
        ("five", "`n_neighbors` must be an integer >= 1, got 'five'"),
        (20, "`n_neighbors` must be below the number of points, got n_neighbors=20 for 20 points"),
        (99, "`n_neighbors` must be below the number of points, got n_neighbors=99 for 20 points"),
    ],
    "width": [
        (0, "`width` must be > 0, got 0; use 'paper', 'self-tuning', 'binary' or a positive"),
        (-1.5, "`width` must be > 0, got -1.5"),
        (np.nan, "`width` must be > 0, got nan"),
        ("wide", "`width` must be > 0, got 'wide'; use 'paper', 'self-tuning', 'binary'"),
        (None, "`width` must be > 0, got None"),
    ],
    "metric": [
        ("manhattan", "`metric` must be one of 'euclidean', 'cosine', got 'manhattan'"),
        (None, "`metric` must be one of 'euclidean', 'cosine', got None"),
    ],
    "affinity": [
        ("rbf", "`affinity` must be one of 'knn', 'precomputed', got 'rbf'"),
        (None, "`affinity` must be one of 'knn', 'precomputed', got None"),
    ],
    "solver": [
        ("lu", "`solver` must be one of 'auto', 'direct', 'cg', 'gauss-seidel', 'amg', got 'lu'"),
        (None, "`solver` must be one of 'auto', 'direct', 'cg', 'gauss-seidel', 'amg', got None"),
    ],
    "c_labeled": [
        (-2.0, "`c_labeled` must be >= 0, got -2.0; use `inf` for hard labels"),
        (np.nan, "`c_labeled` must be >= 0, got nan"),
        (0.0, "`c_labeled` is 0 at every label, so that no label counts"),
        (np.zeros(20), "`c_labeled` is 0 at every label, so that no label counts"),
        (np.r_[-3.0, np.ones(19)], "`c_labeled` must be >= 0, got -3.0"),
        (np.ones(3), "one entry for each of the 20 vertices, got shape (3,)"),
        (np.ones((20, 1)), "one entry for each of the 20 vertices, got shape (20, 1)"),
    ],
    "c_unlabeled": [
        (-0.5, "`c_unlabeled` must be >= 0, got -0.5"),
        (np.inf, "`c_unlabeled` must be"),
        (np.nan, "`c_unlabeled` must be >= 0, got nan"),
        ("none", "`c_unlabeled` must be >= 0, got 'none'"),
    ],
    "class_mass_normalization": [
        ([0.5, 0.25, 0.25], "must hold 2 positive numbers, one for each class, got [0.5, 0.25, 0"),
        ([1.0, 0.0], "must hold 2 positive numbers, one for each class, got [1.0, 0.0]"),
        ([1.0, -1.0], "must hold 2 positive numbers, one for each class, got [1.0, -1.0]"),
        ([1.0, np.nan], "must hold 2 positive numbers, one for each class, got [1.0, nan]"),
    ],
}


@both
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        pytest.param(name, value, message, id=f"{name}={value!s}")
        for name, cases in PARAMETERS.items()
        for value, message in cases
    ],
)
def test_parameter_out_of_range(classifier, name, value, message):
    X, _, y = points()
    options = {"n_neighbors": 4, name: value}
    with refuses(message):
        classifier(**options).fit(X, y)


@both
@pytest.mark.parametrize("gamma_g", [0.1, np.inf])
def test_solver_is_checked_also_where_nothing_is_solved(classifier, gamma_g):
    X, truth, _ = points()
    with refuses("`solver` must be one of"):
        classifier(n_neighbors=4, solver="lu", gamma_g=gamma_g).fit(X, truth)


# Parameters of the graph cut


def flat_kernel(first, second):
    return np.ones(len(first) * len(second))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": 0}, "`C` must be > 0, got 0; C = 1 / (2 gamma)"),
        ({"C": -1.0}, "`C` must be > 0, got -1.0"),
        ({"C": np.nan}, "`C` must be > 0, got nan"),
        ({"C": "large"}, "`C` must be > 0, got 'large'"),
        ({"eps": 1.0}, "`eps` must be below 1, got 1.0"),
        ({"eps": 3}, "`eps` must be below 1, got 3"),
        ({"eps": np.inf}, "`eps` must be below 1, got inf"),
        ({"eps": -1e-9}, "`eps` must be >= 0, got -1e-09"),
        ({"eps": np.nan}, "`eps` must be >= 0, got nan"),
        (
            {"kernel": "sigmoid"},
            "`kernel` must be one of 'linear', 'cubic', 'rbf', 'precomputed' or a callable, got "
            "'sigmoid'",
        ),
        ({"kernel": None}, "or a callable, got None"),
        ({"degree": 0}, "`degree` must be an integer >= 1, got 0"),
        ({"degree": 2.5}, "`degree` must be an integer >= 1, got 2.5"),
        ({"coef0": -1.0}, "`coef0` must be >= 0, got -1.0; a negative one gives no kernel"),
        (
            {"kernel": "precomputed"},
            "`kernel`='precomputed' leaves no points to build a graph from; use affinity="
            "'precomputed' and pass W to fit",
        ),
        (
            {"kernel": flat_kernel},
            "`kernel` must return finite values of shape",
        ),
    ],
    ids=lambda value: re.sub(r" at 0x\w+", "", str(value))[:40],
)
def test_parameter_of_the_graph_cut_out_of_range(options, message):
    X, _, y = points()
    with refuses(message):
        MaxMarginGraphCut(**{"n_neighbors": 4, "kernel": "cubic", **options}).fit(X, y)


def test_unknown_width_is_refused_with_a_precomputed_graph():
    """The width of the kernel is still needed there."""
    X, _, y = points()
    with refuses("`width` must be > 0, got 'wide'"):
        MaxMarginGraphCut(width="wide", affinity="precomputed").fit(X, y, W=complete_graph())


def test_priors_are_named_as_the_parameter_is():
    X, _, y = points()
    with refuses("`class_mass_normalization`"):
        MaxMarginGraphCut(n_neighbors=4, class_mass_normalization=[1.0]).fit(X, y)


# Graphs and kernel matrices


def fit_on(classifier, W, y):
    if classifier is HarmonicClassifier:
        return HarmonicClassifier(affinity="precomputed").fit(W, y)
    return MaxMarginGraphCut(affinity="precomputed").fit(points(len(y))[0], y, W=W)


@both
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_graph_that_is_not_symmetric(classifier, container):
    W = complete_graph()
    W[0, 1] = 3.0
    with refuses("`W` must be symmetric, got a difference of 2 between w_ij and w_ji"):
        fit_on(classifier, container(W), points()[2])


@both
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_graph_with_a_negative_weight(classifier, container):
    W = complete_graph()
    W[0, 1] = W[1, 0] = -0.5
    with refuses("`W` must be non-negative, got a weight of -0.5"):
        fit_on(classifier, container(W), points()[2])


@both
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_graph_that_is_not_square(classifier, container):
    with refuses("`W` must be square, got shape (20, 15)"):
        fit_on(classifier, container(complete_graph()[:, :15]), points()[2])


def test_graph_of_another_size():
    with refuses("`W` must have one row for each of the 20 samples, got shape (25, 25)"):
        fit_on(MaxMarginGraphCut, complete_graph(25), points()[2])


@both
def test_graph_with_a_weight_that_is_not_finite(classifier):
    W = complete_graph()
    W[0, 1] = W[1, 0] = np.nan
    with pytest.raises(ValueError, match=r"(`W` must be finite, got NaN|contains NaN)"):
        fit_on(classifier, W, points()[2])


def test_graph_without_precomputed_affinity():
    X, _, y = points()
    with refuses(
        "`W` must be given exactly for affinity='precomputed', got affinity='knn' and W given"
    ):
        MaxMarginGraphCut().fit(X, y, W=complete_graph())


def test_precomputed_affinity_without_a_graph():
    X, _, y = points()
    with refuses(
        "`W` must be given exactly for affinity='precomputed', got affinity='precomputed' and W "
        "missing"
    ):
        MaxMarginGraphCut(affinity="precomputed").fit(X, y)


def test_kernel_matrix_that_is_not_square():
    X, _, y = points()
    model = MaxMarginGraphCut(kernel="precomputed", affinity="precomputed")
    with refuses("`X` must be a square kernel matrix for kernel='precomputed', got (20, 2)"):
        model.fit(X, y, W=complete_graph())


def test_new_rows_of_a_kernel_matrix_have_a_value_for_each_training_row():
    X, _, y = points()
    model = MaxMarginGraphCut(kernel="precomputed", affinity="precomputed")
    model.fit(X @ X.T, y, W=complete_graph())
    with refuses("X has 2 features, but MaxMarginGraphCut is expecting 20 features as input"):
        model.predict(X)


def test_new_rows_of_a_graph_have_a_weight_for_each_training_row():
    _, _, y = points()
    model = HarmonicClassifier(affinity="precomputed").fit(complete_graph(), y)
    with refuses("X has 3 features, but HarmonicClassifier is expecting 20 features as input"):
        model.predict(np.ones((2, 3)))
    with refuses("weights to new points must be non-negative, got -1.0"):
        model.predict(np.full((2, 20), -1.0))


# Odd, but well defined


KERNELS = ["linear", "cubic", "rbf"]
MODELS = {
    "harmonic": HarmonicClassifier(gamma_g=0.1, n_neighbors=3),
    **{
        kernel: MaxMarginGraphCut(kernel=kernel, gamma_g=0.1, C=2.0, n_neighbors=3)
        for kernel in KERNELS
    },
}
every_model = pytest.mark.parametrize("name", MODELS)


def fitted(name, X, y, **changed):
    model = MODELS[name]
    return type(model)(**{**model.get_params(), **changed}).fit(X, y)


def assert_sound(model, X):
    """Check that the model has said something definite about every row."""
    for distributions in (model.label_distributions_, model.predict_proba(X)):
        assert np.isfinite(distributions).all()
        np.testing.assert_allclose(distributions.sum(axis=1), 1.0)
    assert np.isfinite(model.confidence_).all()
    assert set(model.transduction_.tolist()) <= set(model.classes_.tolist())


@every_model
def test_all_rows_labeled(name):
    X, truth, _ = points()
    model = fitted(name, X, truth)
    np.testing.assert_array_equal(model.transduction_, truth)
    np.testing.assert_array_equal(model.confidence_, 1.0)
    assert_sound(model, X)


@every_model
def test_two_rows_are_enough(name):
    model = fitted(name, [[0.0], [1.0]], ["a", "b"], n_neighbors=1)
    assert model.predict([[-0.5], [1.5]]).tolist() == ["a", "b"]
    assert_sound(model, [[0.0], [1.0]])


@every_model
@pytest.mark.parametrize("width", ["paper", "self-tuning", "binary", 1.0])
def test_duplicated_rows(name, width):
    """Each row five times: its neighbors are 4 copies of itself and all copies of 4 others."""
    X, truth, y = points()
    model = fitted(name, np.repeat(X, 5, axis=0), np.repeat(y, 5), width=width, n_neighbors=24)
    np.testing.assert_array_equal(model.transduction_, np.repeat(truth, 5))
    np.testing.assert_allclose(np.ptp(model.confidence_.reshape(20, 5), axis=1), 0.0, atol=1e-12)
    assert (model.confidence_ > 0).all()
    assert_sound(model, X)


@every_model
def test_duplicated_rows_with_contradicting_labels(name):
    X, _, _ = points()
    X[1] = X[0]
    y = np.where(np.arange(20) < 6, np.arange(20) % 2, -1)
    model = fitted(name, X, y)
    assert model.transduction_[:2].tolist() == [0, 1]
    assert_sound(model, X)


@every_model
@pytest.mark.parametrize("value", [0.0, 1.0, -3.0])
def test_constant_column(name, value):
    X, truth, y = points()
    X = np.column_stack([X, np.full(20, value)])
    model = fitted(name, X, y)
    np.testing.assert_array_equal(model.transduction_, truth)
    np.testing.assert_array_equal(model.predict(X), truth)
    assert_sound(model, X)


@pytest.mark.parametrize("name", ["harmonic", "linear", "rbf"])
@pytest.mark.parametrize("value", [1e3, 1e6])
def test_large_constant_column_tells_nothing(name, value):
    X, _, y = points()
    expected = fitted(name, np.column_stack([X, np.zeros(20)]), y)
    model = fitted(name, np.column_stack([X, np.full(20, value)]), y)
    np.testing.assert_array_equal(model.transduction_, expected.transduction_)
    np.testing.assert_allclose(
        model.predict_proba(np.column_stack([X, np.full(20, value)])),
        expected.predict_proba(np.column_stack([X, np.zeros(20)])),
        atol=1e-3,
    )


@every_model
@pytest.mark.parametrize("width", ["paper", "self-tuning", "binary", 1.0])
@pytest.mark.parametrize("value", [0.0, 2.0])
def test_all_rows_equal(name, width, value):
    X = np.full((8, 3), value)
    y = [0, 1, 1, None, None, None, None, None]
    model = fitted(name, X, y, width=width)
    assert model.transduction_[:3].tolist() == [0, 1, 1]
    assert_sound(model, X)


@every_model
def test_isolated_points(name):
    """Rows so far away that their weights underflow have no edge and no label in reach."""
    X, truth, y = points()
    X = np.vstack([X, [[1e4, 1e4], [-1e4, -1e4]]])
    with pytest.warns(UserWarning, match="2 of 22 points are in components of the graph without"):
        model = fitted(name, X, np.append(y, [-1, -1]), width=1.0)
    np.testing.assert_array_equal(model.confidence_[20:], 0.0)
    np.testing.assert_array_equal(model.transduction_[:20], truth)
    assert model.graph_[[20, 21]].nnz == 0
    assert_sound(model, X)


@every_model
def test_huge_and_tiny_values(name):
    X, truth, y = points()
    for unit in (1e-100, 1e100):
        model = fitted(name, unit * X, y)
        np.testing.assert_array_equal(model.transduction_, truth)
        np.testing.assert_array_equal(model.predict(unit * X), truth)


@both
def test_every_row_a_class_of_its_own(classifier):
    X, _, _ = points()
    model = classifier(n_neighbors=4, gamma_g=0.1).fit(X, np.arange(20))
    np.testing.assert_array_equal(model.transduction_, np.arange(20))
    assert model.predict_proba(X).shape == (20, 20)
    assert_sound(model, X)


@every_model
def test_graph_without_edges(name):
    X, _, y = points()
    W = sparse.csr_array((20, 20))
    model = MODELS[name]
    model = type(model)(**{**model.get_params(), "affinity": "precomputed"})
    with pytest.warns(UserWarning, match="14 of 20 points are in components"):
        model = model.fit(W, y) if name == "harmonic" else model.fit(X, y, W=W)
    np.testing.assert_array_equal(model.confidence_, y >= 0)
    np.testing.assert_array_equal(model.transduction_[y >= 0], y[y >= 0])
