"""Errors name the parameter, the value and the way out, before any work; no test here fits."""

import re

import numpy as np
import pytest
from graphmargin.selection.parameters import (
    fixed_value,
    has_parameters_to_choose,
    is_auto,
    is_pairwise,
    read_parameters,
)

from graphmargin.estimators import (
    HarmonicClassifier,
    ManifoldSVC,
    MaxMarginGraphCut,
    SemiSupervisedSVC,
    SupervisedSVC,
)
from graphmargin.labels import encode_labels
from graphmargin.margin import Kernel

LABELS = encode_labels([0, 1, 0, 1, 0, 1, *[-1] * 14])
AUTO = {
    HarmonicClassifier: ("gamma_g",),
    MaxMarginGraphCut: ("gamma_g", "C"),
    ManifoldSVC: ("gamma_u", "C"),
    SemiSupervisedSVC: ("gamma_u", "C"),
    SupervisedSVC: ("C",),
}
"""Parameters that each classifier passes to `has_parameters_to_choose`."""
FIXED = {"gamma_g": 0.1, "C": 10.0}
every_class = pytest.mark.parametrize("classifier", AUTO)


def read(classifier, **parameters):
    model = classifier(**parameters)
    has_graph = getattr(model, "affinity", "knn") == "precomputed"
    return read_parameters(model, LABELS, has_graph=has_graph)


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
    name: [classifier for classifier in AUTO if name in classifier().get_params()] for name in FIRST
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
    """The value is beside others, chosen or fixed, and the last of several candidates."""
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
    for kernel in ("precomputed", ["precomputed"]):
        with refuses("`kernel`='precomputed' has no points to build a graph from; pass W to fit"):
            read(classifier, kernel=kernel)


@pytest.mark.parametrize("classifier", [SemiSupervisedSVC, SupervisedSVC])
def test_kernel_matrix_cannot_be_approximated_by_landmarks(classifier):
    with refuses(
        "`approximation`='nystroem' needs rows to compute kernel values from, got a precomputed "
        "kernel; use 'auto' or 'none'"
    ):
        read(classifier, kernel="precomputed", approximation="nystroem")


@pytest.mark.parametrize("classifier", [MaxMarginGraphCut, ManifoldSVC])
def test_given_graph_makes_graph_parameters_irrelevant(classifier):
    """The width of the kernel; how a graph would be built is not read, and not chosen."""
    model = classifier()
    with refuses("`width` must be > 0"):
        read_parameters(model.set_params(width="wide"), LABELS, has_graph=True)
    model.set_params(width=2.0, n_neighbors=99)
    (parameters,) = read_parameters(model, LABELS, has_graph=True)
    assert parameters.graph is None
    for name, values in (("n_neighbors", [4, 5]), ("metric", [])):
        with refuses(f"`{name}`={values} has candidates for a graph, but W is given"):
            read_parameters(model.set_params(**{name: values}), LABELS, has_graph=True)
        model.set_params(**{name: "anything"})


# Lists


@pytest.mark.parametrize(
    ("classifier", "name", "value", "message"),
    [
        (MaxMarginGraphCut, "gamma_g", [], "`gamma_g` must be a value or a list of candidates"),
        (HarmonicClassifier, "n_neighbors", (), "`n_neighbors` must be a value or a list of"),
        (ManifoldSVC, "C", np.zeros(0), "`C` must be a value or a list of candidates, got an em"),
        (MaxMarginGraphCut, "class_mass_normalization", [], "got an empty list"),
        (MaxMarginGraphCut, "gamma_g", [0.1, "auto"], "`gamma_g` must not have 'auto' in"),
        (SupervisedSVC, "C", ["auto"], "`C` must not have 'auto' in a list of candidates"),
        (MaxMarginGraphCut, "class_mass_normalization", ["auto", False], "must not have 'auto'"),
        (
            SupervisedSVC,
            "kernel",
            ["rbf", "precomputed"],
            "'precomputed' in a list with others",
        ),
        (MaxMarginGraphCut, "kernel", "linear,rbf", "'precomputed', got 'linear,rbf'"),
        (HarmonicClassifier, "gamma_g", "0.1", "`gamma_g` must be >= 0, got '0.1'"),
        (HarmonicClassifier, "gamma_g", [[0.1, 1.0]], "`gamma_g` must be >= 0, got [0.1, 1.0]"),
        (SupervisedSVC, "kernel", [["linear"], "rbf"], "'precomputed', got ['linear']"),
        (HarmonicClassifier, "gamma_g", {0.1, 1.0}, "`gamma_g` must be >= 0, got {"),
        (HarmonicClassifier, "gamma_g", {"gamma_g": 0.1}, "`gamma_g` must be >= 0, got {"),
        (HarmonicClassifier, "gamma_g", np.array(0.1), "`gamma_g` must be >= 0, got array(0.1)"),
        (
            HarmonicClassifier,
            "n_neighbors",
            range(3, 6),
            "must be an integer >= 1, got range(3, 6)",
        ),
        (MaxMarginGraphCut, "class_mass_normalization", [0.5, "x"], "must hold 2 positive numbers"),
        (SemiSupervisedSVC, "class_prior", ["labels", [1.0]], "`class_prior` must hold 2 positive"),
        (SupervisedSVC, "approximation", ["none", "nystroem"], "`approximation` must be one of"),
        (ManifoldSVC, "normalized", [True, "yes"], "`normalized` must be True or False, got 'yes'"),
    ],
    ids=lambda value: getattr(value, "__name__", repr(value)[:24]),
)
def test_bad_list_of_candidates_is_named(classifier, name, value, message):
    with refuses(message):
        read(classifier, **{name: value})


@pytest.mark.parametrize("values", [[0.1, 1], (0.1, 1), np.array([0.1, 1.0])], ids=str)
def test_candidates_come_in_lists_tuples_and_arrays(values):
    (parameters,) = read(HarmonicClassifier, gamma_g=values)
    assert parameters.gamma_g == (0.1, 1.0)
    assert all(type(value) is float for value in parameters.gamma_g)


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
        (parameters,) = read(classifier, class_mass_normalization=value)
        assert parameters.class_mass_normalization == expected


def test_class_prior_takes_shares_as_one_value():
    def priors(value):
        return [parameters.class_prior for parameters in read(SemiSupervisedSVC, class_prior=value)]

    assert priors(None) == [None]
    for value in ([1, 3], (1, 3), np.array([1, 3])):
        (shares,) = priors(value)
        np.testing.assert_array_equal(shares, [0.25, 0.75])
    both, labels, nothing = priors([[1, 3], "labels", None])
    np.testing.assert_array_equal(both, [0.25, 0.75])
    np.testing.assert_array_equal(labels, [0.5, 0.5])
    assert nothing is None


def test_trust_takes_an_array_as_one_value_and_a_list_as_candidates():
    trust = np.linspace(1, 2, 20)
    for value in (trust, tuple(trust)):
        (parameters,) = read(HarmonicClassifier, c_labeled=value)
        assert parameters.c_labeled is value
    first, second, third = read(MaxMarginGraphCut, c_labeled=[np.inf, 2.0, trust])
    assert (first.c_labeled, second.c_labeled) == (np.inf, 2.0)
    assert third.c_labeled is trust
    assert third.list_values["c_labeled"] is trust


def test_flags_of_numpy_are_flags():
    (parameters,) = read(ManifoldSVC, normalized=np.True_, fit_intercept=np.False_)
    assert (parameters.normalized, parameters.fit_intercept) == (True, False)


# Combinations: those that share a graph and a kernel are together


def test_sets_are_all_combinations_of_what_needs_a_graph_or_a_kernel_of_its_own():
    sets = read(
        MaxMarginGraphCut,
        gamma_g=[0.1, np.inf],
        C=[1.0, 10.0],
        kernel=["linear", "rbf"],
        n_neighbors=[4, 6],
        width=["paper", 2.0],
        eps=0.1,
    )
    assert len(sets) == 8
    assert {parameters.gamma_g for parameters in sets} == {(0.1, np.inf)}
    assert {parameters.C for parameters in sets} == {(1.0, 10.0)}
    assert {parameters.eps for parameters in sets} == {0.1}
    pairs = [(parameters.kernel.kernel.kind, parameters.graph.n_neighbors) for parameters in sets]
    assert sorted(set(pairs)) == [("linear", 4), ("linear", 6), ("rbf", 4), ("rbf", 6)]
    for parameters in sets:
        assert parameters.list_values == {
            "kernel": parameters.kernel.kernel.kind,
            "n_neighbors": parameters.graph.n_neighbors,
            "width": parameters.kernel.width,
        }
        assert parameters.graph.width == parameters.kernel.width


@pytest.mark.parametrize(
    ("classifier", "lists", "n_sets"),
    [
        (HarmonicClassifier, {"n_neighbors": [3, 4], "metric": ["euclidean", "cosine"]}, 4),
        (HarmonicClassifier, {"c_labeled": [1.0, np.inf], "c_unlabeled": [0.0, 0.1]}, 4),
        (MaxMarginGraphCut, {"eps": [0.0, 0.1], "loss_weights": ["equal", "confidence"]}, 4),
        (ManifoldSVC, {"laplacian_power": [1, 2], "normalized": [False, True]}, 4),
        (ManifoldSVC, {"fit_intercept": [False, True], "gamma_u": [0.0, 0.1]}, 2),
        (SemiSupervisedSVC, {"class_prior": ["labels", None], "width": [1.0, 2.0, "paper"]}, 6),
        (SupervisedSVC, {"kernel": ("linear", "rbf", "poly"), "C": (1.0, 2.0)}, 3),
        (SupervisedSVC, {"kernel": ["rbf"]}, 1),
    ],
    ids=lambda value: getattr(value, "__name__", repr(value)[:24]),
)
def test_number_of_sets_is_that_of_combinations(classifier, lists, n_sets):
    assert len(read(classifier, **lists)) == n_sets


def test_degree_and_constant_count_for_the_polynomial_kernel_alone():
    options = {"degree": [2, 3], "coef0": [0.0, 1.0]}
    sets = read(SupervisedSVC, kernel=["linear", "poly", "rbf"], **options)
    kinds = [parameters.kernel.kernel.kind for parameters in sets]
    assert kinds == ["linear", *["poly"] * 4, "rbf"]
    polynomial = [parameters.kernel.kernel for parameters in sets[1:5]]
    pairs = [(kernel.degree, kernel.coef0) for kernel in polynomial]
    assert pairs == [(2, 0), (2, 1), (3, 0), (3, 1)]
    assert len(read(ManifoldSVC, kernel="rbf", **options)) == 1
    assert len(read(ManifoldSVC, kernel="poly", **options)) == 4


def test_auto_is_none_and_a_number_is_one_candidate():
    (parameters,) = read(MaxMarginGraphCut)
    assert parameters.gamma_g is parameters.C is parameters.class_mass_normalization is None
    (parameters,) = read(ManifoldSVC, gamma_u=0.1, C="auto")
    assert (parameters.gamma_u, parameters.C) == ((0.1,), None)
    (parameters,) = read(SupervisedSVC, C=3)
    assert (parameters.gamma_g, parameters.C, parameters.graph) == ((np.inf,), (3.0,), None)
    assert parameters.list_values == {}


def test_precomputed_graph_of_the_harmonic_classifier_is_not_built():
    (parameters,) = read(HarmonicClassifier, affinity="precomputed", n_neighbors=99)
    assert parameters.graph is None


def test_fixed_value_is_the_only_one():
    assert fixed_value((0.1,)) == 0.1
    for candidates in (None, (), (0.1, 1.0)):
        with pytest.raises(ValueError, match="a fixed parameter must have one value, got"):
            fixed_value(candidates)


def test_kernel_takes_its_width_from_the_rows_or_as_given():
    X = np.array([[0.0, 1.0], [2.0, 5.0]])
    (parameters,) = read(SupervisedSVC, kernel="poly", degree=2)
    width = np.sqrt(2) * X.std(axis=0).mean()
    assert parameters.kernel.kernel_for(X).width == pytest.approx(width)
    assert parameters.kernel.kernel_for(X, 3.0) == Kernel("poly", width=3.0, degree=2)
    (parameters,) = read(SupervisedSVC, kernel="precomputed", width=5.0)
    assert parameters.kernel.kernel_for(X, 3.0) == Kernel("precomputed")


# What is to be chosen


@every_class
def test_auto_and_lists_are_to_be_chosen_and_numbers_are_not(classifier):
    auto = AUTO[classifier]
    fixed = dict.fromkeys(auto, 0.1)
    assert not has_parameters_to_choose(classifier(**fixed), auto)
    for name in auto:
        for value in ("auto", [0.1], (0.1, 1.0), np.array([0.1])):
            assert has_parameters_to_choose(classifier(**{**fixed, name: value}), auto)
    assert has_parameters_to_choose(classifier(**fixed, width=[1.0, 2.0]), auto)
    assert not has_parameters_to_choose(classifier(**fixed, width=np.float64(2.0)), auto)


@pytest.mark.parametrize(
    ("classifier", "parameters", "expected"),
    [
        (MaxMarginGraphCut, {"class_mass_normalization": [0.5, 0.5]}, False),
        (MaxMarginGraphCut, {"class_mass_normalization": [False, [1, 3]]}, True),
        (MaxMarginGraphCut, {"class_mass_normalization": "auto"}, False),
        (MaxMarginGraphCut, {"c_labeled": np.ones(20)}, False),
        (MaxMarginGraphCut, {"c_labeled": [1.0, 2.0]}, True),
        (MaxMarginGraphCut, {"approximation": "auto"}, False),
        (MaxMarginGraphCut, {"verbose": [0, 1]}, False),
        (SemiSupervisedSVC, {"class_prior": [0.3, 0.7]}, False),
        (SemiSupervisedSVC, {"class_prior": [None, "labels"]}, True),
    ],
    ids=str,
)
def test_arrays_and_shares_are_not_candidates(classifier, parameters, expected):
    fixed = dict.fromkeys(AUTO[classifier], 0.1)
    assert has_parameters_to_choose(classifier(**fixed, **parameters), AUTO[classifier]) == expected


@every_class
def test_cv_needs_a_parameter_to_choose(classifier):
    auto = AUTO[classifier]
    for cv in (3, "loo", [([], [0])], ([[0.0]], [0])):
        with refuses(
            f"`cv`={cv!r} needs a parameter to choose, but all are fixed; pass a list of "
            f"candidates, such as {auto[-1]}=[1.0, 10.0], or 'auto'"
        ):
            has_parameters_to_choose(classifier(**dict.fromkeys(auto, 0.1), cv=cv), auto)
        assert has_parameters_to_choose(classifier(**dict.fromkeys(auto, "auto"), cv=cv), auto)


@pytest.mark.parametrize("value", [None, 0.1, np.inf, "Auto", "", np.array(["auto", "auto"]), {}])
def test_only_the_string_auto_is_auto(value):
    assert not is_auto(value)
    assert is_auto("auto")


@pytest.mark.parametrize("kernel", ["precomputed", ["precomputed"], np.array(["precomputed"])])
def test_pairwise_is_the_kernel_matrix_alone(kernel):
    assert is_pairwise(kernel)
    assert not is_pairwise(["precomputed", "rbf"])
    assert not is_pairwise(np.dot)
