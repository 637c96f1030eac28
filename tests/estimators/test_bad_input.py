"""Errors name the argument and the value; what looks odd but is well defined works."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from graphmargin import (
    HarmonicClassifier,
    ManifoldSVC,
    MaxMarginGraphCut,
    SemiSupervisedSVC,
    SupervisedSVC,
)

CLASSIFIERS = [
    HarmonicClassifier,
    MaxMarginGraphCut,
    ManifoldSVC,
    SemiSupervisedSVC,
    SupervisedSVC,
]
MARGIN, ON_GRAPHS = CLASSIFIERS[1:], CLASSIFIERS[:3]
every = pytest.mark.parametrize("classifier", CLASSIFIERS)
on_graphs = pytest.mark.parametrize("classifier", ON_GRAPHS)
graph_and_points = pytest.mark.parametrize("classifier", [MaxMarginGraphCut, ManifoldSVC])


def create(classifier, **options):
    """Return a classifier with few neighbors, if it has any."""
    if classifier in ON_GRAPHS:
        options = {"n_neighbors": 4, **options}
    return classifier(**options)


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


@every
def test_no_rows(classifier):
    with refuses(
        "Found array with 0 sample(s) (shape=(0, 2)) while a minimum of 2 is required by "
        f"{classifier.__name__}"
    ):
        create(classifier).fit(np.empty((0, 2)), [])


@every
def test_one_row(classifier):
    with refuses("Found array with 1 sample(s) (shape=(1, 2)) while a minimum of 2 is required"):
        create(classifier).fit([[1.0, 2.0]], [1])


@every
def test_no_columns(classifier):
    with refuses("Found array with 0 feature(s) (shape=(20, 0))"):
        create(classifier).fit(np.empty((20, 0)), points()[2])


@every
@pytest.mark.parametrize(
    ("value", "message"), [(np.nan, "Input X contains NaN"), (np.inf, "Input X contains infinity")]
)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_values_that_are_not_finite(classifier, value, message, container):
    X, _, y = points()
    model = create(classifier).fit(X, y)
    X[3, 1] = value
    with refuses(message):
        create(classifier).fit(container(X), y)
    with refuses(message):
        model.predict(container(X))


@every
def test_points_in_one_dimension(classifier):
    X, _, y = points()
    with refuses("Expected 2D array, got 1D array instead"):
        create(classifier).fit(X[:, 0], y)


@every
def test_points_in_three_dimensions(classifier):
    X, _, y = points()
    with refuses(f"Found array with dim 3, while dim <= 2 is required by {classifier.__name__}"):
        create(classifier).fit(X[:, :, None], y)


@every
def test_words_as_points(classifier):
    _, _, y = points()
    with refuses("could not convert string to float: "):
        create(classifier).fit(np.array([["small", "red"]] * 20), y)
    with refuses("could not convert string to float: "):
        create(classifier).fit(pd.DataFrame({"size": [1.0] * 20, "color": ["red"] * 20}), y)


@every
def test_complex_points(classifier):
    X, _, y = points()
    with refuses("Complex data not supported"):
        create(classifier).fit(X + 1j, y)


@every
@pytest.mark.parametrize("method", ["predict", "predict_proba"])
def test_other_number_of_features_in_prediction(classifier, method):
    X, _, y = points()
    model = create(classifier).fit(X, y)
    with refuses(f"X has 1 features, but {classifier.__name__} is expecting 2 features as input"):
        getattr(model, method)(X[:, :1])


@every
def test_no_rows_in_prediction(classifier):
    X, _, y = points()
    model = create(classifier).fit(X, y)
    with refuses("Found array with 0 sample(s) (shape=(0, 2)) while a minimum of 1 is required"):
        model.predict(X[:0])


# Labels


@every
@pytest.mark.parametrize("difference", [-1, 1])
def test_labels_of_another_length(classifier, difference):
    X, truth, _ = points()
    y = np.resize(truth, 20 + difference)
    with refuses(f"inconsistent numbers of samples: [20, {20 + difference}]"):
        create(classifier).fit(X, y)


@every
def test_no_labels_at_all(classifier):
    X, _, _ = points()
    for y in (np.full(20, -1), [None] * 20, [""] * 20, np.full(20, np.nan)):
        with refuses("`y` has no label: all 20 rows are unlabeled"):
            create(classifier).fit(X, y)


@every
def test_one_class_only(classifier):
    X, _, _ = points()
    for y, shown in (
        (np.where(np.arange(20) < 4, 3, -1), "3"),
        (["cat"] * 4 + [None] * 16, "'cat'"),
    ):
        with refuses(f"`y` has one class only ({shown}); label rows of at least two classes"):
            create(classifier).fit(X, y)


@every
def test_labels_missing(classifier):
    with refuses("requires y to be passed, but the target y is None"):
        create(classifier).fit(points()[0], None)


@every
def test_continuous_labels(classifier):
    X, _, _ = points()
    with refuses("Unknown label type: continuous"):
        create(classifier).fit(X, np.linspace(0.1, 0.9, 20))


@every
def test_words_and_numbers_as_labels(classifier):
    X, _, _ = points()
    with refuses("`y` mixes strings and numbers: ['a', 1]"):
        create(classifier).fit(X, ["a", 1] * 10)


@every
def test_table_of_labels(classifier):
    X, _, y = points()
    with refuses("y should be a 1d array, got an array of shape (20, 2) instead"):
        create(classifier).fit(X, np.column_stack([y, y]))


# Parameters


def flat_kernel(first, second):
    return np.ones(len(first) * len(second))


def kernel_with_nan(first, second):
    return np.full((len(first), len(second)), np.nan)


PARAMETERS = {
    "gamma_g": [
        (-1.0, "`gamma_g` must be >= 0, got -1.0; use `inf` for supervised learning only"),
        (np.nan, "`gamma_g` must be >= 0, got nan"),
        (-np.inf, "`gamma_g` must be >= 0, got -inf"),
        ("Auto", "`gamma_g` must be >= 0, got 'Auto'"),
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
        (0, "`width` must be > 0, got 0; use 'paper'"),
        (-1.5, "`width` must be > 0, got -1.5; use 'paper'"),
        (np.nan, "`width` must be > 0, got nan; use 'paper'"),
        (np.inf, "`width` must be finite, got inf; use 'paper'"),
        (None, "`width` must be > 0, got None; use 'paper'"),
    ],
    "metric": [
        ("manhattan", "`metric` must be one of 'euclidean', 'cosine', got 'manhattan'"),
        (None, "`metric` must be one of 'euclidean', 'cosine', got None"),
    ],
    "affinity": [
        ("rbf", "`affinity` must be one of 'knn', 'precomputed', got 'rbf'"),
        (None, "`affinity` must be one of 'knn', 'precomputed', got None"),
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
        ("yes", "`class_mass_normalization` must hold 2 positive numbers, one for each class"),
    ],
    "C": [
        (0, "`C` must be > 0, got 0; C = 1 / (2 gamma)"),
        (-1.0, "`C` must be > 0, got -1.0; C = 1 / (2 gamma)"),
        (np.nan, "`C` must be > 0, got nan"),
        (np.inf, "`C` must be finite, got inf"),
        ("large", "`C` must be > 0, got 'large'"),
        (None, "`C` must be > 0, got None"),
        (True, "`C` must be > 0, got True"),
    ],
    "kernel": [
        (
            "sigmoid",
            "`kernel` must be one of 'linear', 'cubic', 'rbf', 'precomputed' or a callable, got "
            "'sigmoid'",
        ),
        (None, "or a callable, got None"),
        (7, "or a callable, got 7"),
        (flat_kernel, "`kernel` must return finite values of shape"),
        (kernel_with_nan, "with NaN or infinity"),
    ],
    "degree": [
        (0, "`degree` must be an integer >= 1, got 0"),
        (2.5, "`degree` must be an integer >= 1, got 2.5"),
    ],
    "coef0": [
        (-1.0, "`coef0` must be >= 0, got -1.0; a negative one gives no kernel"),
        ("one", "`coef0` must be >= 0, got 'one'"),
    ],
    "approximation": [
        ("some", "`approximation` must be one of 'auto', 'none', 'nystroem', got 'some'"),
        (None, "`approximation` must be one of 'auto', 'none', 'nystroem', got None"),
        (True, "`approximation` must be one of 'auto', 'none', 'nystroem', got True"),
    ],
    "eps": [
        (1.0, "`eps` must be below 1, got 1.0; no confidence would reach it"),
        (3, "`eps` must be below 1, got 3"),
        (np.inf, "`eps` must be below 1, got inf"),
        (-1e-9, "`eps` must be >= 0, got -1e-09; it is the least confidence to learn from"),
        (np.nan, "`eps` must be >= 0, got nan"),
    ],
    "loss_weights": [
        ("margin", "`loss_weights` must be one of 'confidence', 'equal', got 'margin'"),
        (None, "`loss_weights` must be one of 'confidence', 'equal', got None"),
        (np.ones(2), "`loss_weights` must be one of 'confidence', 'equal', got array([1., 1.])"),
    ],
    "gamma_u": [
        (-1.0, "`gamma_u` must be >= 0, got -1.0; 0 is the supervised machine"),
        (np.nan, "`gamma_u` must be >= 0, got nan"),
        (np.inf, "`gamma_u` must be finite, got inf"),
        ("Auto", "`gamma_u` must be >= 0, got 'Auto'"),
        (None, "`gamma_u` must be >= 0, got None"),
        (True, "`gamma_u` must be >= 0, got True"),
    ],
    "laplacian_power": [
        (0, "`laplacian_power` must be an integer >= 1, got 0"),
        (1.5, "`laplacian_power` must be an integer >= 1, got 1.5"),
        (True, "`laplacian_power` must be an integer >= 1, got True"),
        ("2", "`laplacian_power` must be an integer >= 1, got '2'"),
    ],
    "normalized": [
        ("yes", "`normalized` must be True or False, got 'yes'"),
        (None, "`normalized` must be True or False, got None"),
        (1, "`normalized` must be True or False, got 1"),
    ],
    "fit_intercept": [
        ("no", "`fit_intercept` must be True or False, got 'no'"),
        (None, "`fit_intercept` must be True or False, got None"),
        (0.0, "`fit_intercept` must be True or False, got 0.0"),
    ],
    "class_prior": [
        ("uniform", "`class_prior` must be one of 'labels', None or an array, got 'uniform'"),
        (0.5, "`class_prior` must hold 2 positive numbers, one for each class, got 0.5"),
        ([1.0], "`class_prior` must hold 2 positive numbers, one for each class, got [1.0]"),
        ([0.5, 0.3, 0.2], "`class_prior` must hold 2 positive numbers, one for each class"),
        ([1.0, 0.0], "`class_prior` must hold 2 positive numbers, one for each class"),
        ([1.5, -0.5], "`class_prior` must hold 2 positive numbers, one for each class"),
        ([0.5, np.nan], "`class_prior` must hold 2 positive numbers, one for each class"),
        ({"no": 0.5, "yes": 0.5}, "`class_prior` must hold 2 positive numbers, one for each"),
    ],
}
OPTIONS = {
    HarmonicClassifier: {},
    MaxMarginGraphCut: {"kernel": "cubic"},
    ManifoldSVC: {"kernel": "cubic"},
    SemiSupervisedSVC: {"kernel": "cubic"},
    SupervisedSVC: {"kernel": "cubic"},
}


@pytest.mark.parametrize(
    ("classifier", "name", "value", "message"),
    [
        pytest.param(
            classifier,
            name,
            value,
            message,
            id=f"{classifier.__name__}-{name}={getattr(value, '__name__', value)!s}",
        )
        for classifier in CLASSIFIERS
        for name, cases in PARAMETERS.items()
        if name in classifier().get_params()
        for value, message in cases
    ],
)
def test_parameter_out_of_range(classifier, name, value, message):
    X, _, y = points()
    with refuses(message):
        create(classifier, **{**OPTIONS[classifier], name: value}).fit(X, y)


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameter_out_of_range_beside_fixed_ones(name):
    """By default, the graph cut chooses `gamma_g` and `C`, on a path of its own."""
    X, _, y = points()
    fixed = {"gamma_g": 0.1, "C": 10.0, "loss_weights": "equal", "kernel": "cubic"}
    if name in MaxMarginGraphCut().get_params():
        for value, message in PARAMETERS[name]:
            with refuses(message):
                create(MaxMarginGraphCut, **{**fixed, name: value}).fit(X, y)


@on_graphs
def test_unknown_width_of_kernel_and_edges(classifier):
    X, _, y = points()
    message = "got 'wide'; use 'paper', 'self-tuning', 'binary' or a positive number"
    with refuses(f"`width` must be > 0, {message}"):
        create(classifier, width="wide").fit(X, y)


@pytest.mark.parametrize("classifier", [SemiSupervisedSVC, SupervisedSVC])
@pytest.mark.parametrize("width", ["wide", "self-tuning", "binary"])
def test_widths_of_edges_are_refused_where_there_are_none(classifier, width):
    X, _, y = points()
    with refuses(f"`width` must be one of 'paper' or a positive number, got {width!r}"):
        classifier(width=width).fit(X, y)


HARMONIC_SOLVERS = "'auto', 'direct', 'cg', 'gauss-seidel'"


@pytest.mark.parametrize(
    ("classifier", "known"),
    [
        (HarmonicClassifier, HARMONIC_SOLVERS),
        (MaxMarginGraphCut, HARMONIC_SOLVERS),
        (SemiSupervisedSVC, "'gradient', 'cccp'"),
    ],
)
@pytest.mark.parametrize("solver", ["lu", None])
def test_unknown_solver(classifier, known, solver):
    X, _, y = points()
    with refuses(f"`solver` must be one of {known}, got {solver!r}"):
        create(classifier, solver=solver).fit(X, y)


@pytest.mark.parametrize("classifier", [HarmonicClassifier, MaxMarginGraphCut])
@pytest.mark.parametrize("gamma_g", [0.1, np.inf])
def test_solver_is_checked_also_where_nothing_is_solved(classifier, gamma_g):
    X, truth, _ = points()
    with refuses("`solver` must be one of"):
        classifier(n_neighbors=4, solver="lu", gamma_g=gamma_g).fit(X, truth)


@pytest.mark.parametrize("gamma_g", [0.1, np.inf])
def test_solver_is_checked_also_where_nothing_is_solved_or_chosen(gamma_g):
    X, truth, _ = points()
    with refuses("`solver` must be one of"):
        MaxMarginGraphCut(n_neighbors=4, solver="lu", gamma_g=gamma_g, C=10.0).fit(X, truth)


def test_solver_is_checked_also_without_unlabeled_rows():
    X, truth, _ = points()
    with refuses("`solver` must be one of 'gradient', 'cccp', got 'lu'"):
        SemiSupervisedSVC(solver="lu", gamma_u=0.0).fit(X, truth)


@pytest.mark.parametrize("flag", [np.bool_(True), np.bool_(False)])
def test_flags_of_numpy_are_flags(flag):
    X, _, y = points()
    model = ManifoldSVC(normalized=flag, fit_intercept=flag, n_neighbors=4).fit(X, y)
    plain = ManifoldSVC(normalized=bool(flag), fit_intercept=bool(flag), n_neighbors=4).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), plain.decision_function(X))


@graph_and_points
def test_kernel_matrix_leaves_no_points_to_build_a_graph_from(classifier):
    X, _, y = points()
    with refuses(
        "`kernel`='precomputed' leaves no points to build a graph from; use affinity="
        "'precomputed' and pass W to fit"
    ):
        classifier(kernel="precomputed").fit(X @ X.T, y)


@graph_and_points
def test_unknown_width_is_refused_with_a_precomputed_graph(classifier):
    """The width of the kernel is still needed there."""
    X, _, y = points()
    with refuses("`width` must be > 0, got 'wide'"):
        classifier(width="wide", affinity="precomputed").fit(X, y, W=complete_graph())


def test_priors_are_named_as_the_parameter_is():
    X, _, y = points()
    with refuses("`class_mass_normalization`"):
        MaxMarginGraphCut(n_neighbors=4, class_mass_normalization=[1.0]).fit(X, y)


# Graphs and kernel matrices


def fit_on(classifier, W, y):
    if classifier is HarmonicClassifier:
        return HarmonicClassifier(affinity="precomputed").fit(W, y)
    return classifier(affinity="precomputed").fit(points(len(y))[0], y, W=W)


@on_graphs
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_graph_that_is_not_symmetric(classifier, container):
    W = complete_graph()
    W[0, 1] = 3.0
    with refuses("`W` must be symmetric, got a difference of 2 between w_ij and w_ji"):
        fit_on(classifier, container(W), points()[2])


@on_graphs
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_graph_with_a_negative_weight(classifier, container):
    W = complete_graph()
    W[0, 1] = W[1, 0] = -0.5
    with refuses("`W` must be non-negative, got a weight of -0.5"):
        fit_on(classifier, container(W), points()[2])


@on_graphs
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_graph_that_is_not_square(classifier, container):
    with refuses("`W` must be square, got shape (20, 15)"):
        fit_on(classifier, container(complete_graph()[:, :15]), points()[2])


@graph_and_points
def test_graph_of_another_size(classifier):
    with refuses("`W` must have one row for each of the 20 samples, got shape (25, 25)"):
        fit_on(classifier, complete_graph(25), points()[2])


@on_graphs
def test_graph_with_a_weight_that_is_not_finite(classifier):
    W = complete_graph()
    W[0, 1] = W[1, 0] = np.nan
    with pytest.raises(ValueError, match=r"(`W` must be finite, got NaN|contains NaN)"):
        fit_on(classifier, W, points()[2])


@graph_and_points
def test_graph_without_precomputed_affinity(classifier):
    X, _, y = points()
    with refuses(
        "`W` must be given exactly for affinity='precomputed', got affinity='knn' and W given"
    ):
        classifier().fit(X, y, W=complete_graph())


@graph_and_points
def test_precomputed_affinity_without_a_graph(classifier):
    X, _, y = points()
    with refuses(
        "`W` must be given exactly for affinity='precomputed', got affinity='precomputed' and W "
        "missing"
    ):
        classifier(affinity="precomputed").fit(X, y)


def fit_on_kernel(classifier, K, y, **options):
    if classifier in ON_GRAPHS:
        model = classifier(kernel="precomputed", affinity="precomputed", **options)
        return model.fit(K, y, W=complete_graph(len(y)))
    return classifier(kernel="precomputed", **options).fit(K, y)


with_margin = pytest.mark.parametrize("classifier", MARGIN)


@with_margin
def test_kernel_matrix_that_is_not_square(classifier):
    X, _, y = points()
    with refuses("`X` must be a square kernel matrix for kernel='precomputed', got (20, 2)"):
        fit_on_kernel(classifier, X, y)


@with_margin
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_kernel_matrix_that_is_not_symmetric(classifier, container):
    X, _, y = points()
    K = X @ X.T
    K[0, 1] += 1.0
    with refuses("`X` must be a symmetric kernel matrix for kernel='precomputed'"):
        fit_on_kernel(classifier, container(K), y)


@with_margin
def test_landmarks_of_a_kernel_matrix(classifier):
    X, _, y = points()
    with refuses(
        "`approximation`='nystroem' needs rows to compute kernel values of, got a precomputed "
        "kernel; use 'auto' or 'none'"
    ):
        fit_on_kernel(classifier, X @ X.T, y, approximation="nystroem")


@with_margin
def test_new_rows_of_a_kernel_matrix_have_a_value_for_each_training_row(classifier):
    X, _, y = points()
    model = fit_on_kernel(classifier, X @ X.T, y)
    with refuses(f"X has 2 features, but {classifier.__name__} is expecting 20 features as input"):
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
        kernel: MaxMarginGraphCut(
            kernel=kernel, gamma_g=0.1, C=2.0, loss_weights="equal", n_neighbors=3
        )
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


@every
def test_every_row_a_class_of_its_own(classifier):
    X, _, _ = points()
    model = create(classifier).fit(X, np.arange(20))
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


# The same for classifiers without induced labels


MACHINES = {
    **{f"supervised-{kernel}": SupervisedSVC(kernel=kernel, C=2.0) for kernel in KERNELS},
    **{
        f"manifold-{kernel}": ManifoldSVC(kernel=kernel, C=2.0, gamma_u=0.01, n_neighbors=3)
        for kernel in KERNELS
    },
    "manifold-landmarks": ManifoldSVC(C=2.0, n_neighbors=3, approximation="nystroem"),
    "manifold-unbiased": ManifoldSVC(C=2.0, n_neighbors=3, fit_intercept=False),
    **{f"gradient-{kernel}": SemiSupervisedSVC(kernel=kernel, C=2.0) for kernel in KERNELS},
    **{
        f"cccp-{kernel}": SemiSupervisedSVC(kernel=kernel, C=2.0, solver="cccp")
        for kernel in KERNELS
    },
    "free-mean": SemiSupervisedSVC(C=2.0, class_prior=None),
}
every_machine = pytest.mark.parametrize("name", MACHINES)
NOT_CUBIC = [name for name in MACHINES if "cubic" not in name]


def machine(name, X, y, W=None, **changed):
    """Fit one of the classifiers, with what it knows of the changed parameters."""
    options = {**MACHINES[name].get_params(), "random_state": 0}
    options |= {key: value for key, value in changed.items() if key in options}
    if W is None or "affinity" not in options:
        return type(MACHINES[name])(**options).fit(X, y)
    return type(MACHINES[name])(**{**options, "affinity": "precomputed"}).fit(X, y, W=W)


def assert_same_function(model, other, X, X_other=None, atol=1e-3):
    """Compare f, up to the tolerance of the solvers."""
    f, g = (
        model.decision_function(X),
        other.decision_function(X if X_other is None else X_other),
    )
    np.testing.assert_allclose(f, g, rtol=1e-3, atol=atol)


@every_machine
def test_machine_of_rows_that_are_all_labeled(name):
    X, truth, _ = points()
    model = machine(name, X, truth)
    np.testing.assert_array_equal(model.transduction_, truth)
    if "gradient" in name or "cccp" in name:
        supervised = SupervisedSVC(kernel=model.kernel, C=2.0).fit(X, truth)
        assert_same_function(model, supervised, X)
    assert_sound(model, X)


@every_machine
def test_machine_of_two_rows(name):
    """The margin of two points, one in each class, is where they are."""
    X = np.array([[0.0], [1.0]])
    model = machine(name, X, ["a", "b"], n_neighbors=1, C=100.0)
    assert model.predict([[-0.5], [1.5]]).tolist() == ["a", "b"]
    if name.startswith("supervised"):
        np.testing.assert_allclose(model.decision_function(X), [-1.0, 1.0], atol=1e-3)
    assert_sound(model, X)


@every_machine
def test_machine_of_duplicated_rows(name):
    """Five copies of each row with a fifth of C and gamma_u f'Lf are the same problem."""
    X, _, y = points()
    W = complete_graph() / 20
    once = machine(name, X, y, W=W, width=2.0)
    copies = machine(
        name,
        np.repeat(X, 5, axis=0),
        np.repeat(y, 5),
        W=np.kron(W, np.ones((5, 5))),
        width=2.0,
        C=2.0 / 5,
        **({"gamma_u": once.gamma_u / 5} if "manifold" in name else {}),
    )
    assert_same_function(copies, once, X)
    np.testing.assert_array_equal(copies.transduction_, np.repeat(once.transduction_, 5))
    assert_sound(copies, X)


@every_machine
def test_machine_of_duplicated_rows_with_contradicting_labels(name):
    X, _, y = points()
    X[1] = X[0]
    model = machine(name, X, y)
    assert model.transduction_[:2].tolist() == [0, 1]
    assert np.ptp(model.decision_function(X[:2])) == 0
    assert_sound(model, X)


@pytest.mark.parametrize("name", [name for name in NOT_CUBIC if name != "manifold-unbiased"])
@pytest.mark.parametrize("value", [0.0, 1.0, -3.0, 1e3, 1e6])
def test_constant_column_tells_machines_nothing(name, value):
    X, _, y = points()
    wide = np.column_stack([X, np.full(20, value)])
    model = machine(name, wide, y, width=2.0)
    assert_same_function(model, machine(name, X, y, width=2.0), wide, X)
    assert_sound(model, wide)


@every_machine
@pytest.mark.parametrize("width", ["paper", 1.0])
@pytest.mark.parametrize("value", [0.0, 2.0])
def test_machine_of_equal_rows(name, width, value):
    X = np.full((8, 3), value)
    model = machine(name, X, [0, 1, 1, None, None, None, None, None], width=width)
    assert model.transduction_[:3].tolist() == [0, 1, 1]
    assert np.ptp(model.decision_function(X)) == 0
    assert_sound(model, X)


@pytest.mark.parametrize("name", [*NOT_CUBIC, "supervised-cubic", "manifold-cubic"])
def test_machine_of_isolated_points(name):
    X, _, y = points()
    far = np.vstack([X, [[1e4, 1e4], [-1e4, -1e4]]])
    model = machine(name, far, np.append(y, [-1, -1]), width=1.0)
    assert_sound(model, far)
    if name.startswith(("supervised", "manifold")):
        alone = machine(name, X, y, width=1.0)
        assert_same_function(model, alone, X, atol=5e-3 if "landmarks" in name else 1e-3)
    if name.startswith("manifold"):
        assert model.graph_[[20, 21]].nnz == 0


@every_machine
@pytest.mark.parametrize("unit", [1e-100, 1e-10, 1e10, 1e100])
def test_machine_of_huge_and_tiny_values(name, unit):
    X, _, y = points()
    model = machine(name, unit * X, y)
    assert_same_function(model, machine(name, X, y), unit * X, X)
    assert_sound(model, unit * X)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("changed", [{}, {"normalized": True, "laplacian_power": 2}], ids=str)
def test_manifold_without_edges_is_the_supervised_machine(kernel, changed):
    X, _, y = points()
    options = {"kernel": kernel, "C": 2.0}
    model = ManifoldSVC(affinity="precomputed", gamma_u=5.0, **options, **changed)
    model.fit(X, y, W=sparse.csr_array((20, 20)))
    assert_same_function(model, SupervisedSVC(**options).fit(X, y), X)


@every_machine
@pytest.mark.parametrize("n_classes", [2, 3])
def test_machine_of_one_label_a_class(name, n_classes):
    X, truth, _ = points()
    if n_classes == 3:
        truth = np.arange(20) % 3
        X[truth == 2, 0] += 5.0
    y = np.where(np.arange(20) < n_classes, truth, -1)
    model = machine(name, X, y)
    np.testing.assert_array_equal(model.transduction_[:n_classes], np.arange(n_classes))
    assert_sound(model, X)


@every_machine
def test_sparse_rows_without_an_entry(name):
    X, _, y = points()
    X[[3, 7, 11]] = 0.0
    model = machine(name, sparse.csr_array(X), y)
    assert_same_function(model, machine(name, X, y), sparse.csr_array(X), X)
    assert_sound(model, sparse.csr_array(X))


@pytest.mark.parametrize("classifier", [SupervisedSVC, SemiSupervisedSVC])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_kernel_matrix_with_a_negative_diagonal(classifier, container):
    X, _, y = points()
    with refuses("`X` must be a kernel matrix, with k(x, x) >= 0, got -"):
        classifier(kernel="precomputed").fit(container(-(X @ X.T)), y)
