"""Errors name the parameter, the value and the way out, before any work; no test here fits."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from graphmargin.estimators import (
    HarmonicClassifier,
    ManifoldSVC,
    MaxMarginGraphCut,
    SemiSupervisedSVC,
    SupervisedSVC,
)
from graphmargin.graph import knn_graph
from graphmargin.labels import encode_labels
from graphmargin.margin import Kernel
from graphmargin.search.parameters import (
    VARIANCE_ROWS,
    GraphParameters,
    WalkParameters,
    c_grid,
    combinations,
    fixed_value,
    gamma_g_grid,
    gamma_g_grid_of_degrees,
    gamma_u_grid,
    is_auto,
    is_list,
    is_list_of_shares,
    is_pairwise,
    share_grid,
)
from tests.search.problems import CLASSIFIERS

LABELS = encode_labels([0, 1, 0, 1, 0, 1, *[-1] * 14])
FIXED = {"gamma_g": 0.1, "C": 10.0}


def read(classifier, *, has_graph=False, **parameters):
    """Return the method of a classifier, which checks its parameters."""
    given = {"has_graph": True} if has_graph else {}
    return classifier(**parameters).method(LABELS, **given)


def refuses(message):
    return pytest.raises(ValueError, match=re.escape(message))


# Values: of each kind of check one parameter has all cases

SHARES = "must hold 2 positive numbers, one for each class, got "
VALUES = [
    ("gamma_g", -1.0, "must be >= 0, got -1.0; use `inf` for supervised learning only"),
    ("gamma_g", np.nan, "must be >= 0, got nan"),
    ("gamma_g", -np.inf, "must be >= 0, got -inf"),
    ("gamma_g", "Auto", "must be >= 0, got 'Auto'"),
    ("gamma_g", None, "must be >= 0, got None"),
    ("gamma_g", True, "must be >= 0, got True"),
    ("n_neighbors", 0, "must be an integer >= 1, got 0"),
    ("n_neighbors", 2.5, "must be an integer >= 1, got 2.5"),
    ("n_neighbors", "five", "must be an integer >= 1, got 'five'"),
    ("n_neighbors", 20, "must be below the number of points, got n_neighbors=20 for 20 points"),
    ("width", 0, "must be > 0, got 0; use 'paper'"),
    ("width", np.inf, "must be finite, got inf; use 'paper'"),
    ("width", None, "must be > 0, got None; use 'paper'"),
    ("width", "wide", "must be > 0, got 'wide'; use 'paper' or a positive number"),
    ("metric", "manhattan", "must be one of 'euclidean', 'cosine', got 'manhattan'"),
    ("metric", None, "must be one of 'euclidean', 'cosine', got None"),
    ("c_labeled", -2.0, "must be >= 0, got -2.0; use `inf` for hard labels"),
    ("c_labeled", np.zeros(20), "must be > 0 at some label, got 0 at all of them"),
    ("c_labeled", np.r_[-3.0, np.ones(19)], "must be >= 0, got -3.0"),
    ("c_labeled", np.ones(3), "must be a number or have one entry for each of the 20 vertices"),
    ("c_unlabeled", -0.5, "must be >= 0, got -0.5; 0 leaves unlabeled vertices free"),
    ("c_unlabeled", np.inf, "must be finite, got inf"),
    ("class_mass_normalization", [0.5, 0.25, 0.25], f"{SHARES}[0.5, 0.25, 0.25]"),
    ("class_mass_normalization", (1.0, np.nan), f"{SHARES}(1.0, nan)"),
    ("class_mass_normalization", np.ones((2, 2)), SHARES),
    ("class_mass_normalization", "yes", SHARES),
    ("C", 0, "must be > 0, got 0; C = 1 / (2 gamma), or use 'auto'"),
    ("C", np.inf, "must be finite, got inf"),
    ("C", "large", "must be > 0, got 'large'"),
    ("kernel", "sigmoid", "must be one of 'linear', 'poly', 'rbf', 'precomputed'"),
    ("kernel", 7, "must be one of 'linear', 'poly', 'rbf', 'precomputed', got 7"),
    ("degree", 0, "must be an integer >= 1, got 0"),
    (
        "coef0",
        -1.0,
        "must be >= 0, got -1.0; with a negative value the kernel is not",
    ),
    ("approximation", "some", "must be one of 'auto', 'none', 'nystroem', got 'some'"),
    ("eps", 1.0, "must be below 1, got 1.0; no confidence is larger"),
    ("eps", np.inf, "must be below 1, got inf"),
    ("eps", -1e-9, "must be >= 0, got -1e-09; it is the smallest confidence to learn from"),
    ("loss_weights", "auto", "must be one of 'confidence', 'equal', got 'auto'"),
    ("gamma_u", -1.0, "must be >= 0, got -1.0; 0 is the supervised machine"),
    ("gamma_u", np.inf, "must be finite, got inf"),
    ("laplacian_power", 0, "must be an integer >= 1, got 0"),
    ("laplacian_power", True, "must be an integer >= 1, got True"),
    ("normalized", "yes", "must be True or False, got 'yes'"),
    ("normalized", 1, "must be True or False, got 1"),
    ("fit_intercept", None, "must be True or False, got None"),
    ("class_prior", "uniform", "must be one of 'labels', None or an array, got 'uniform'"),
    ("class_prior", [1.5, -0.5], SHARES),
    ("class_prior", 0.5, f"{SHARES}0.5"),
    ("class_prior", {"no": 0.5, "yes": 0.5}, SHARES),
]
FIRST = {name: (value, message) for name, value, message in reversed(VALUES)}
OWNERS = {
    name: [type(model) for model in CLASSIFIERS.values() if name in model.get_params()]
    for name in FIRST
}


@pytest.mark.parametrize(("name", "value", "message"), VALUES, ids=lambda value: str(value)[:32])
def test_value_out_of_range_is_named(name, value, message):
    with refuses(f"`{name}` {message}"):
        read(OWNERS[name][0], **{name: value})


@pytest.mark.parametrize(
    ("classifier", "name"),
    [
        pytest.param(classifier, name, id=f"{classifier.__name__}-{name}")
        for name, owners in OWNERS.items()
        for classifier in owners
    ],
)
def test_every_classifier_checks_each_of_its_parameters(classifier, name):
    """The value is beside others, chosen or fixed, or the last of several candidates."""
    value, message = FIRST[name]
    defaults = classifier().get_params()
    others = {key: given for key, given in FIXED.items() if key in defaults}
    for beside in ({}, others):
        with refuses(f"`{name}` {message}"):
            read(classifier, **{**beside, name: value})
    first = {"class_mass_normalization": [0.5, 0.5], "class_prior": [0.5, 0.5]}
    good = first.get(name, 0.1 if is_auto(defaults[name]) else defaults[name])
    with pytest.raises(ValueError, match=f"`{name}`"):
        read(classifier, **{**others, name: [good, value]})


@pytest.mark.parametrize("classifier", [MaxMarginGraphCut, ManifoldSVC])
def test_kernel_matrix_leaves_no_points_to_build_a_graph_from(classifier):
    with refuses("`kernel`='precomputed' has no points to build a graph from; pass W to fit"):
        read(classifier, kernel="precomputed")


@pytest.mark.parametrize("classifier", [SemiSupervisedSVC, SupervisedSVC])
def test_kernel_matrix_cannot_be_approximated_by_landmarks(classifier):
    with refuses(
        "`approximation`='nystroem' needs rows to compute kernel values from, got a precomputed "
        "kernel; use 'auto' or 'none'"
    ):
        read(classifier, kernel="precomputed", approximation="nystroem")


@pytest.mark.parametrize("classifier", [HarmonicClassifier, MaxMarginGraphCut, ManifoldSVC])
def test_given_graph_makes_graph_parameters_irrelevant(classifier):
    """The width is also that of the kernel; other parameters of a graph are not read."""
    with refuses("`width` must be > 0"):
        read(classifier, has_graph=True, width="wide")
    method = read(classifier, has_graph=True, n_neighbors=99, metric="anything")
    assert (method.graph if classifier is ManifoldSVC else method.walk.graph) is None


# Lists


@pytest.mark.parametrize(
    ("classifier", "name", "value", "message"),
    [
        (MaxMarginGraphCut, "gamma_g", [], "`gamma_g` must be a value or a list of candidates"),
        (HarmonicClassifier, "gamma_g", (), "`gamma_g` must be a value or a list of candidates"),
        (ManifoldSVC, "C", np.zeros(0), "`C` must be a value or a list of candidates, got an em"),
        (MaxMarginGraphCut, "class_mass_normalization", [], "got an empty list"),
        (MaxMarginGraphCut, "gamma_g", [0.1, "auto"], "`gamma_g` must not have 'auto' in"),
        (SupervisedSVC, "C", ["auto"], "`C` must not have 'auto' in a list of candidates"),
        (MaxMarginGraphCut, "class_mass_normalization", ["auto", False], "must not have 'auto'"),
        (MaxMarginGraphCut, "kernel", "linear,rbf", "'precomputed', got 'linear,rbf'"),
        (HarmonicClassifier, "gamma_g", "0.1", "`gamma_g` must be >= 0, got '0.1'"),
        (HarmonicClassifier, "gamma_g", [[0.1, 1.0]], "`gamma_g` must be >= 0, got [0.1, 1.0]"),
        (HarmonicClassifier, "gamma_g", {0.1, 1.0}, "`gamma_g` must be >= 0, got {"),
        (HarmonicClassifier, "gamma_g", {"gamma_g": 0.1}, "`gamma_g` must be >= 0, got {"),
        (HarmonicClassifier, "gamma_g", np.array(0.1), "`gamma_g` must be >= 0, got array(0.1)"),
        (MaxMarginGraphCut, "class_mass_normalization", [0.5, "x"], "must hold 2 positive numbers"),
        (SemiSupervisedSVC, "class_prior", ["labels", None], "`class_prior` must hold 2 positive"),
        (SupervisedSVC, "approximation", ["none", "nystroem"], "`approximation` must be one of"),
        (MaxMarginGraphCut, "c_labeled", [1.0, np.inf], "have one entry for each of the 20 vert"),
    ],
    ids=lambda value: getattr(value, "__name__", repr(value)[:24]),
)
def test_bad_list_is_named(classifier, name, value, message):
    with refuses(message):
        read(classifier, **{name: value})


@pytest.mark.parametrize(
    ("classifier", "name", "value"),
    [
        (HarmonicClassifier, "n_neighbors", (3, 4)),
        (HarmonicClassifier, "metric", ["euclidean", "cosine"]),
        (HarmonicClassifier, "c_unlabeled", [0.0, 0.1]),
        (MaxMarginGraphCut, "width", np.array([1.0, 2.0])),
        (MaxMarginGraphCut, "eps", [0.0, 0.1]),
        (MaxMarginGraphCut, "loss_weights", ["equal", "confidence"]),
        (ManifoldSVC, "laplacian_power", [1, 2]),
        (ManifoldSVC, "normalized", [False, True]),
        (ManifoldSVC, "fit_intercept", [False, True]),
        (SemiSupervisedSVC, "kernel", ["linear", "rbf"]),
        (SupervisedSVC, "degree", [2, 3]),
        (SupervisedSVC, "coef0", [0.0, 1.0]),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_several_graphs_or_kernels_are_members_of_an_ensemble(classifier, name, value):
    with refuses(
        f"`{name}` must be one value, got {value!r}; to try several values, pass a classifier with "
        "each of them to SemiSupervisedEnsemble(members=[...])"
    ):
        read(classifier, **{name: value})


@pytest.mark.parametrize("values", [[0.1, 1], (0.1, 1), np.array([0.1, 1.0])], ids=str)
def test_candidates_come_in_lists_tuples_and_arrays(values):
    method = read(HarmonicClassifier, gamma_g=values)
    assert method.gamma_g == (0.1, 1.0)
    assert all(type(value) is float for value in method.gamma_g)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (False, (False,)),
        (True, ((3.0, 3.0),)),
        ([1, 3], ((1.0, 3.0),)),
        ((1, 3), ((1.0, 3.0),)),
        (np.array([0.25, 0.75]), ((0.25, 0.75),)),
        ([True, False], ((3.0, 3.0), False)),
        ([np.False_, [1, 3], (2, 2)], (False, (1.0, 3.0), (2.0, 2.0))),
        ("auto", None),
    ],
    ids=str,
)
def test_class_masses_take_shares_as_one_value(value, expected):
    for classifier in (HarmonicClassifier, MaxMarginGraphCut):
        method = read(classifier, class_mass_normalization=value)
        assert method.class_mass_normalization == expected


def test_class_prior_takes_shares_as_one_value():
    assert read(SemiSupervisedSVC, class_prior=None).class_prior is None
    for value, shares in (
        ([1, 3], [0.25, 0.75]),
        (np.array([1, 3]), [0.25, 0.75]),
        ("labels", 0.5),
    ):
        np.testing.assert_array_equal(
            read(SemiSupervisedSVC, class_prior=value).class_prior, shares
        )


def test_trust_takes_an_array_as_one_value():
    trust = np.linspace(1, 2, 20)
    for value in (trust, tuple(trust), trust.tolist()):
        assert read(HarmonicClassifier, c_labeled=value).walk.c_labeled is value
    keys = {WalkParameters(GraphParameters(5), value).key for value in (trust, 2.0, trust.copy())}
    assert len(keys) == 2, "equal walks share their solutions"


def test_flags_of_numpy_are_flags():
    method = read(ManifoldSVC, normalized=np.True_, fit_intercept=np.False_)
    assert (method.normalized, method.fit_intercept) == (True, False)


def test_auto_is_none_and_a_number_is_one_candidate():
    method = read(MaxMarginGraphCut)
    assert method.gamma_g is method.C is method.class_mass_normalization is None
    method = read(ManifoldSVC, gamma_u=0.1, C="auto")
    assert (method.gamma_u, method.C) == ((0.1,), None)
    assert read(SupervisedSVC, C=3).C == (3.0,)


def test_fixed_value_is_the_only_one():
    assert fixed_value((0.1,)) == 0.1
    for candidates in (None, (), (0.1, 1.0)):
        with pytest.raises(ValueError, match="a fixed parameter must have one value, got"):
            fixed_value(candidates)


def test_kernel_takes_its_width_from_the_rows_or_as_given():
    X = np.array([[0.0, 1.0], [2.0, 5.0]])
    kernel = read(SupervisedSVC, kernel="poly", degree=2).kernel
    width = np.sqrt(2) * X.std(axis=0).mean()
    assert kernel.kernel_for(X).width == pytest.approx(width)
    assert kernel.kernel_for(X, 3.0) == Kernel("poly", width=3.0, degree=2)
    kernel = read(SupervisedSVC, kernel="precomputed", width=5.0).kernel
    assert kernel.kernel_for(X, 3.0) == Kernel("precomputed")


def test_combinations_take_the_grid_of_auto_and_the_last_parameter_changes_fastest():
    grids = {"C": ((1.0, 2.0), lambda: [99.0]), "gamma_g": (None, lambda: [0.3, 0.4])}
    assert combinations(grids) == [
        {"C": C, "gamma_g": gamma_g} for C in (1.0, 2.0) for gamma_g in (0.3, 0.4)
    ]


# Kinds of values


@pytest.mark.parametrize("value", [None, 0.1, np.inf, "Auto", "", np.array(["auto", "auto"]), {}])
def test_only_the_string_auto_is_auto(value):
    assert not is_auto(value)
    assert is_auto("auto")


@pytest.mark.parametrize("value", [[0.1], (0.1, 1.0), np.array([0.1]), []], ids=repr)
def test_sequences_are_lists_of_candidates(value):
    assert is_list(value)


@pytest.mark.parametrize("value", [0.1, "auto", np.float64(2.0), np.array(0.1), {0.1}, None])
def test_other_values_are_not_lists(value):
    assert not is_list(value)
    assert not is_list_of_shares(value)


def test_numbers_are_shares_of_one_candidate():
    assert not is_list_of_shares([0.5, 0.5])
    assert not is_list_of_shares((False, True)), "a tuple is one candidate"
    for value in ([False, [1, 3]], [True], [[1, 3], [2, 2]], []):
        assert is_list_of_shares(value)


def test_pairwise_is_the_kernel_matrix_alone():
    assert is_pairwise("precomputed")
    for kernel in ("rbf", ["precomputed"], np.array(["precomputed"]), None):
        assert not is_pairwise(kernel)


powers = pytest.mark.parametrize("power", [-8, -1, 7])


def points(n=60, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


# gamma_g: in units of the degrees


@powers
def test_gamma_g_grows_with_the_weights(power):
    W = knn_graph(points())
    np.testing.assert_allclose(gamma_g_grid(10.0**power * W), 10.0**power * np.array(grid_of(W)))


def grid_of(W):
    """Return the grid from the degrees as the docstring tells."""
    unit = 10.0 ** np.floor(np.log10(np.median(W.toarray().sum(axis=1))))
    return [np.inf, 10 * unit, unit, unit / 10, unit / 100]


@given(weight=st.floats(1e-6, 1e6))
def test_typical_degree_is_within_the_gamma_g_grid(weight):
    gammas = gamma_g_grid(sparse.csr_array(weight * (np.ones((4, 4)) - np.eye(4))))
    assert gammas[0] == np.inf
    assert all(np.diff(gammas[1:]) < 0)
    assert gammas[-1] < 3 * weight <= gammas[1] * (1 + 1e-9)


def test_vertices_without_edges_do_not_count_for_gamma_g():
    W = knn_graph(points())
    alone = sparse.block_diag([W, sparse.csr_array((200, 200))]).tocsr()
    assert gamma_g_grid(sparse.csr_array(alone)) == gamma_g_grid(W)


def test_sample_of_the_degrees_has_the_grid_of_the_graph():
    W = knn_graph(points())
    assert gamma_g_grid_of_degrees(np.asarray(W.sum(axis=1))[::2]) == gamma_g_grid(W)


def test_graph_without_edges_has_a_gamma_g_grid():
    assert gamma_g_grid(sparse.csr_array((3, 3))) == [np.inf, 10.0, 1.0, 0.1, 0.01]


# C: in units of the kernel


@powers
@pytest.mark.parametrize(("kind", "exponent"), [("precomputed", 1), ("linear", 2), ("rbf", 0)])
def test_c_falls_as_the_kernel_grows_with_the_units(power, kind, exponent):
    X, unit = points(), 10.0**power
    X = X @ X.T if kind == "precomputed" else X
    once, scaled = (c_grid(a * X, Kernel(kind, width=a if kind == "rbf" else 1)) for a in (1, unit))
    np.testing.assert_allclose(scaled, unit**-exponent * np.array(once))


@given(variance=st.floats(1e-9, 1e9))
def test_c_is_a_power_of_ten_near_the_inverse_variance(variance):
    K = 2 * variance * np.eye(2)  # mean of the diagonal minus mean of all: half of 2 variance
    grid = c_grid(K, Kernel("precomputed"))
    exponent = np.log10(grid[0])
    assert exponent == pytest.approx(round(exponent), abs=1e-9)
    assert abs(exponent - (-np.log10(variance) - 0.25)) <= 0.5 + 1e-9
    np.testing.assert_allclose(grid, grid[0] * np.array([1, 10, 100]))


def test_c_does_not_depend_on_the_origin():
    X = points()
    shifted = c_grid(X + 100.0, Kernel("linear"))
    assert shifted == c_grid(X, Kernel("linear"))
    K = X @ X.T
    assert c_grid(K + 7.0, Kernel("precomputed")) == c_grid(K, Kernel("precomputed"))


def test_c_of_a_matrix_is_that_of_its_kernel():
    X = points()
    X -= X.mean(axis=0)
    matrix, rows = c_grid(X @ X.T, Kernel("precomputed")), c_grid(X, Kernel("linear"))
    assert matrix == rows == c_grid(sparse.csr_array(X), Kernel("linear"))
    assert c_grid(sparse.csr_array(X @ X.T), Kernel("precomputed")) == matrix


@given(
    value=st.floats(-1e9, 1e9, width=32),
    n=st.integers(1, 50),
    dtype=st.sampled_from([np.float64, np.float32]),
)
def test_c_of_rows_that_are_all_the_same_does_not_come_from_rounding(value, n, dtype):
    same = np.full((n, n), value, dtype=dtype)
    for kind in ("precomputed", "linear", "rbf"):
        assert c_grid(same, Kernel(kind)) == [1.0, 10.0, 100.0]


def test_c_of_many_rows_is_that_of_a_regular_sample():
    X = points(n=3 * VARIANCE_ROWS - 1)
    assert c_grid(X, Kernel("rbf")) == c_grid(X[::3], Kernel("rbf"))


# gamma_u: in units of the number of rows


def test_gamma_u_starts_with_supervised_learning():
    assert gamma_u_grid(200) == [0.0, 0.0005, 0.005, 0.05, 0.5]
    np.testing.assert_allclose(gamma_u_grid(600), np.array(gamma_u_grid(200)) / 3, rtol=1e-12)


# Class shares


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((1, 1), [False, (2, 2)]),
        ((5, 1), [False, (6, 2)]),
        ((3, 3), [False, (4, 4)]),
        ((4, 3), [False]),
        ((7, 1, 1), [False, (8, 2, 2)]),
        ((8, 1, 1), [False]),
    ],
)
def test_class_shares_are_candidates_for_three_labels_a_class_or_less(counts, expected):
    assert share_grid(np.array(counts)) == expected
