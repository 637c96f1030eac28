"""Any rows and labels, in any form and unit: the same finite results, or an error with a name."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from graphmargin import load_model, save_model
from tests.fuzz.problems import (
    DENSE_FORMS,
    FIXED,
    GOOD_LABELS,
    MODELS,
    ODD_ROWS,
    ODD_VALUES,
    SPARSE_FORMS,
    check_fit,
    equal_rows_of_classes,
    fit,
    many_classes,
    plain_problems,
    probabilities,
)

models = st.sampled_from(sorted(MODELS))
fixed_models = st.sampled_from(sorted(FIXED))
LARGEST = {"f4": 40, "f8": 320}
"""Binary exponents of units in which rows are well within the limits."""
ROUNDING = {"f4": 1e-4, "f8": 1e-10}
"""Relative difference of probabilities that rounding explains."""
ALONE = {"f4": 2e-3, "f8": 1e-6}
"""Difference of probabilities of a row by itself from those that it has among others."""
SOLVER_TOLERANCE = 5e-3
"""Difference of probabilities that the stopping rules of the machines allow."""


@given(models, plain_problems(), st.data())
def test_a_power_of_two_changes_no_more_than_rounding(count_case, name, problem, data):
    count_case("scaling")
    X, y = problem
    largest = LARGEST[X.dtype.str[1:]]
    exponent = data.draw(st.integers(-largest, largest))
    form = data.draw(st.sampled_from([np.asarray, sparse.csr_array]))
    scaled = form(np.ldexp(X, exponent))
    model, expected = fit(name, scaled, y), fit(name, form(X), y)
    assert (model is None) == (expected is None)
    if model is not None:
        check_fit(model)
        for actual, unscaled in (
            (model.label_distributions_, expected.label_distributions_),
            (probabilities(model, scaled), probabilities(expected, form(X))),
        ):
            np.testing.assert_allclose(
                actual, unscaled, rtol=ROUNDING[X.dtype.str[1:]], atol=1e-300
            )


@given(fixed_models, plain_problems(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(count_case, name, problem, random):
    count_case("order of rows")
    X, y = problem
    order = random.sample(range(len(X)), len(X))
    model, permuted = fit(name, X, y), fit(name, X[order], y[order])
    np.testing.assert_allclose(
        probabilities(permuted, X), probabilities(model, X), rtol=0, atol=SOLVER_TOLERANCE
    )


@given(models, plain_problems(), st.sampled_from(DENSE_FORMS + SPARSE_FORMS))
def test_the_form_of_rows_does_not_matter(count_case, name, problem, form):
    count_case("form of rows")
    if "scaled" in name:  # as dense rows alone are
        return
    X, y = problem
    before = X.copy()
    rows = form(X)
    model, expected = fit(name, rows, y), fit(name, X, y)
    np.testing.assert_allclose(
        probabilities(model, rows), probabilities(expected, X), rtol=0, atol=SOLVER_TOLERANCE
    )
    np.testing.assert_array_equal(X, before)


@given(models, st.one_of(equal_rows_of_classes(), plain_problems()), st.booleans())
def test_a_row_alone_has_the_probabilities_that_it_has_among_others(
    count_case, name, problem, is_sparse
):
    count_case("rows alone")
    X, y = problem
    rows = sparse.csr_array(X) if is_sparse else X
    model = fit(name, rows, y)
    if model is not None:
        together = probabilities(model, rows)
        for i in range(0, len(X), 5):
            alone = probabilities(model, rows[[i]])
            np.testing.assert_allclose(alone[0], together[i], rtol=0, atol=ALONE[X.dtype.str[1:]])


@given(models, plain_problems(), st.sampled_from([1e3, -1e6, 1e8]))
def test_a_constant_column_hides_nothing_of_sparse_rows(count_case, name, problem, constant):
    count_case("constant columns")
    X, y = problem
    X = np.column_stack([X.astype("f8"), np.full(len(X), constant)])
    if "poly" in name or "cosine" in name:  # which depend on the origin
        return
    if "scaled" in name:  # as dense rows alone are
        return
    model, expected = fit(name, sparse.csr_array(X), y), fit(name, X, y)
    np.testing.assert_allclose(
        probabilities(model, sparse.csr_array(X)),
        probabilities(expected, X),
        rtol=0,
        atol=SOLVER_TOLERANCE,
    )


@given(fixed_models, many_classes(), st.booleans())
def test_many_classes_have_results(count_case, name, problem, is_sparse):
    count_case("many classes")
    X, y = problem
    rows = sparse.csr_array(X) if is_sparse else X
    model = fit(name, rows, y)
    assert model is not None
    check_fit(model)
    together = probabilities(model, rows)
    np.testing.assert_allclose(probabilities(model, rows[[3]])[0], together[3], atol=1e-6)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(rows), together)


@given(models, plain_problems(), st.sampled_from(GOOD_LABELS))
def test_the_form_of_labels_does_not_matter(count_case, name, problem, form):
    count_case("form of labels")
    X, y = problem
    model, expected = fit(name, X, form(y)), fit(name, X, y)
    np.testing.assert_array_equal(probabilities(model, X), probabilities(expected, X))


@given(models, plain_problems(), st.integers(-95, 95))
def test_pickled_and_saved_models_predict_the_same(
    count_case, tmp_path_factory, name, problem, power
):
    count_case("pickles and files")
    X, y = problem
    if X.dtype == np.float64:
        X = X * 10.0**power
    model = fit(name, X, y)
    expected = probabilities(model, X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), expected)
    path = tmp_path_factory.getbasetemp() / "fuzz.graphmargin"
    save_model(model, path)
    np.testing.assert_array_equal(load_model(path).predict_proba(X), expected)


FAR = st.floats(allow_nan=False, allow_infinity=False, width=64)


@given(models, plain_problems(), st.lists(FAR, min_size=5, max_size=5), st.floats(-1, 1))
def test_new_rows_of_any_size_have_probabilities_or_are_refused_by_name(
    count_case, name, problem, numbers, share
):
    count_case("far rows")
    X, y = problem
    model = fit(name, np.ldexp(X, int(share * LARGEST[X.dtype.str[1:]])), y)
    d = X.shape[1]
    rows = np.array([numbers[:d], numbers[5 - d :], [0.0] * d])
    for far in (rows, sparse.csr_array(rows), np.clip(rows, -3.4e38, 3.4e38).astype(np.float32)):
        try:
            probabilities(model, far)
        except ValueError as error:
            assert "`X` has numbers of size" in str(error)  # noqa: PT017 - most rows raise nothing
            assert max(map(abs, numbers)) > 1e15


@given(
    models,
    plain_problems(),
    st.lists(st.sampled_from(ODD_ROWS), min_size=1, max_size=3),
    st.integers(-300, 300),
    st.booleans(),
)
def test_odd_rows_have_results_or_are_refused_by_name(
    count_case, name, problem, changes, power, is_sparse
):
    count_case("odd rows")
    X, y = problem
    rng = np.random.default_rng(0)
    for change in changes:
        with np.errstate(all="ignore"):
            X = change(X, rng)
    with np.errstate(all="ignore"):
        X = X * np.float64(10.0) ** power if X.dtype == np.float64 else X
    rows = sparse.csr_array(X) if is_sparse else X
    model = fit(name, rows, y)
    if model is not None:
        check_fit(model)
        probabilities(model, rows)


@given(models, plain_problems(), st.lists(st.sampled_from(ODD_VALUES), min_size=1, max_size=3))
def test_odd_labels_have_results_or_are_refused_by_name(count_case, name, problem, odd):
    count_case("odd labels")
    X, y = problem
    labels = [None if code == -1 else int(code) for code in y]
    labels[-len(odd) :] = odd
    model = fit(name, X, labels)
    if model is not None:
        check_fit(model)
        probabilities(model, X)
        given_labels = [label for label in labels if label is not None]
        assert len(model.classes_) == len(set(given_labels))


@given(plain_problems(max_classes=2), st.integers(-320, 300), st.floats(0, 1), st.booleans())
def test_graphs_of_any_weight_have_results_or_are_refused(
    count_case, problem, power, density, is_sparse
):
    from graphmargin import HarmonicClassifier

    count_case("graphs")
    X, y = problem
    rng = np.random.default_rng(len(X))
    n = len(X)
    with np.errstate(under="ignore"):
        W = rng.random((n, n)) * (rng.random((n, n)) < density) * np.float64(10.0) ** power
    W = np.maximum(W, W.T)
    graph = sparse.csr_array(W) if is_sparse else W
    MODELS["graph"] = HarmonicClassifier(affinity="precomputed", gamma_g=0.1)
    model = fit("graph", graph, y)
    if model is not None:
        check_fit(model)
        probabilities(model, graph)


@pytest.mark.parametrize("name", MODELS)
def test_every_model_fits_an_ordinary_problem(name):
    """Otherwise the tests above would not test much."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.where(np.arange(30) < 8, np.arange(30) % 2, -1)
    assert fit(name, X, y) is not None
