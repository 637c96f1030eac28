"""Numbers at the ends of their range: the results of the same rows in another unit, or an error."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from graphmargin import (
    MaxMarginGraphCut,
    SemiSupervisedEnsemble,
    SupervisedSVC,
    knn_graph,
    load_model,
    save_model,
)
from graphmargin._rows import MAGNITUDES
from graphmargin.estimators import HarmonicClassifier, ManifoldSVC
from tests.estimators.problems import FIXED, LISTS, blobs, every_class, fit

FORMS = {"dense": np.asarray, "csr": sparse.csr_array}
forms = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
LIMITS = [(dtype, limit) for dtype, limits in MAGNITUDES.items() for limit in limits]
limits = pytest.mark.parametrize(("dtype", "limit"), LIMITS)
OTHERS = {
    "cosine": HarmonicClassifier(metric="cosine"),
    "linear cut": MaxMarginGraphCut(kernel="linear", metric="cosine", gamma_g=0.1, C=2.0),
    "poly cut": MaxMarginGraphCut(kernel="poly", gamma_g=0.1, C=2.0),
    "landmarks": MaxMarginGraphCut(approximation="nystroem", gamma_g=0.1, C=2.0),
    "linear manifold": ManifoldSVC(kernel="linear"),
    "ensemble": SemiSupervisedEnsemble(),
}
ALL = {**FIXED, **{f"{name}-lists": model for name, model in LISTS.items()}, **OTHERS}


def coarse_blobs(dtype, n_classes=2):
    """Return rows with few digits, so that no power of two loses one of them."""
    X, _, y = blobs(n_classes, distance=2.0)
    return (np.round(16 * X) / 16).astype(dtype), y


def within(X, limit):
    """Return rows times the power of two that takes the largest number next to a limit."""
    exponent = np.log2(limit / np.abs(X).max())
    return np.ldexp(X, int(np.ceil(exponent) if limit < 1 else np.floor(exponent)))


def beyond(X, limit):
    """Return rows times the power of two that takes the largest number just beyond a limit."""
    exponent = np.log2(limit / np.abs(X).max())
    return np.ldexp(X, int(np.floor(exponent) if limit < 1 else np.ceil(exponent)))


def refuses_size(limit, dtype):
    squares = "squares vanish" if limit < 1 else "squares overflow"
    remedy = " in single precision; divide" if dtype == "float32" else "; divide"
    return pytest.raises(ValueError, match=f"`X` has numbers of size .*, whose {squares}{remedy}")


@limits
@pytest.mark.parametrize("name", ALL)
@forms
def test_rows_within_the_limits_have_the_results_of_another_unit(name, form, dtype, limit):
    X, y = coarse_blobs(dtype)
    rows = within(X, limit)
    expected, model = clone(ALL[name]).fit(form(X), y), clone(ALL[name]).fit(form(rows), y)
    np.testing.assert_array_equal(model.transduction_, expected.transduction_)
    tolerance = 1e-3 if dtype == "float32" else 1e-5
    for new, scaled in ((X, rows), (X[1:] / 2 + X[:-1] / 2, rows[1:] / 2 + rows[:-1] / 2)):
        np.testing.assert_allclose(
            model.predict_proba(form(scaled)), expected.predict_proba(form(new)), atol=tolerance
        )


@limits
@pytest.mark.parametrize("name", ALL)
@forms
def test_rows_beyond_the_limits_are_refused_by_name(name, form, dtype, limit):
    X, y = coarse_blobs(dtype)
    with refuses_size(limit, dtype):
        clone(ALL[name]).fit(form(beyond(X, limit)), y)


@limits
@forms
def test_graphs_have_the_same_limits(form, dtype, limit):
    X, _ = coarse_blobs(dtype)
    rows = within(X, limit)
    unit = float(rows[0, 0]) / float(X[0, 0])
    expected, W = knn_graph(form(X), width=2.0), knn_graph(form(rows), width=2.0 * unit)
    np.testing.assert_array_equal(W.toarray(), expected.toarray())
    with refuses_size(limit, dtype):
        knn_graph(form(beyond(X, limit)))


@pytest.mark.parametrize("dtype", MAGNITUDES)
@pytest.mark.parametrize("name", [*FIXED, *OTHERS])
@forms
def test_new_rows_beyond_the_limit_are_refused_by_name(name, form, dtype, tmp_path):
    X, y = coarse_blobs(dtype)
    model = clone(ALL[name]).fit(form(X), y)
    save_model(model, tmp_path / "a.graphmargin")
    _, limit = MAGNITUDES[dtype]
    rows = X.copy()
    rows[3] = beyond(X[3], limit)
    for predictor in (model, load_model(tmp_path / "a.graphmargin")):
        for predict in (predictor.predict, predictor.predict_proba):
            with refuses_size(limit, dtype):
                predict(form(rows))


@every_class
def test_validation_rows_beyond_the_limit_are_refused_by_name(name):
    X, truth, y = blobs()
    candidates = {"gamma_g": [0.1, 1.0]} if name == "harmonic" else {"C": [1.0, 10.0]}
    model = clone(FIXED[name]).set_params(**candidates, cv=(1e101 * X, truth))
    with refuses_size(1e100, "float64"):
        model.fit(X, y)


@pytest.mark.parametrize("name", [*FIXED, *OTHERS])
@forms
def test_rows_of_zeros_and_tiny_new_rows_are_valid(name, form):
    X, y = coarse_blobs("float64")
    for rows in (X, np.zeros_like(X)):
        model = clone(ALL[name]).fit(form(rows), y)
        proba = model.predict_proba(form(np.zeros((2, 4))))
        assert np.isfinite(proba).all()
        np.testing.assert_allclose(model.predict_proba(form(np.full((2, 4), 1e-300))), proba)


def test_an_offset_far_beyond_the_spread_does_not_hide_it():
    X, y = coarse_blobs("float64")
    with_offset = np.column_stack([X, np.full(len(X), 2.0**190)])
    without = np.column_stack([X, np.zeros(len(X))])
    model, expected = HarmonicClassifier(), HarmonicClassifier()
    model.fit(with_offset, y)
    expected.fit(without, y)
    np.testing.assert_array_equal(model.label_distributions_, expected.label_distributions_)
    np.testing.assert_array_equal(model.predict_proba(with_offset), expected.predict_proba(without))


FAR = [[1e40, 0.0], [1e80, 1.0], [1e100, -1e100], [-1e90, 1e-300]]


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@forms
@every_class
def test_rows_far_away_have_finite_probabilities(name, form, kernel):
    rng = np.random.default_rng(0)
    y = np.where(np.arange(40) < 9, np.arange(40) % 3, -1)
    X = rng.normal(size=(40, 2)) + np.eye(3)[np.arange(40) % 3][:, :2] * 3
    model = fit(name, form(X), y, kernel=kernel)
    for chosen in ([0], [1], [2, 3], [0, 1, 2, 3]):
        rows = np.array(FAR)[chosen]
        for far in (form(rows), form(np.clip(rows, -1e15, 1e15).astype("f4"))):
            proba = model.predict_proba(far)
            assert np.isfinite(proba).all()
            np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-6)
            assert set(model.predict(far)) <= {0, 1, 2}


@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_a_row_far_away_has_the_label_of_its_direction(kernel):
    X, y = coarse_blobs("float64")
    model = fit("supervised", X, y, kernel=kernel)
    rows = np.random.default_rng(0).normal(size=(20, 4))
    expected = model.predict(1e20 * rows)
    for size in (1e30, 1e60, 1e90):
        np.testing.assert_array_equal(model.predict(size * rows), expected)
    far = (1e14 * rows).astype("f4")  # its third power needs double precision
    np.testing.assert_array_equal(model.predict(far), expected)


def test_a_function_that_overflows_is_refused_by_name():
    X, y = coarse_blobs("float64")
    model = SupervisedSVC(kernel="poly", degree=9).fit(X, y)
    assert np.isfinite(model.decision_function(1e20 * X)).all()
    with pytest.raises(ValueError, match=r"`X` has numbers of size .*e\+90, .* function overflows"):
        model.predict(1e90 * X)


@pytest.mark.parametrize("exponent", [-190, -60, 60, 190])
@every_class
def test_single_precision_rows_have_the_probabilities_of_double_ones(name, exponent):
    X, y = coarse_blobs("float64")
    model = fit(name, np.ldexp(X, exponent), y)
    for rows in (np.zeros((2, X.shape[1])), np.ones((1, X.shape[1]))):
        single = model.predict_proba(rows.astype("f4"))
        np.testing.assert_allclose(single, model.predict_proba(rows), atol=1e-4)


def test_harmonic_labels_far_away_are_those_of_the_nearest_rows():
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    for width in ("paper", 1e-100):
        with warnings.catch_warnings():  # the last width leaves no edge
            warnings.simplefilter("ignore")
            model = HarmonicClassifier(n_neighbors=1, width=width).fit(X, ["a", None, "b", None])
        for far in (1e14, 1e15):
            assert model.predict([[far], [-far]]).tolist() == ["b", "a"]


def test_kernel_matrices_of_extreme_size_are_refused_by_name():
    X, y = coarse_blobs("float64")
    for K in (1e30 * (X @ X.T), 1e-33 * (X @ X.T)):
        with pytest.raises(ValueError, match="`X` must be a kernel matrix whose largest value"):
            SupervisedSVC(kernel="precomputed").fit(K, y)
    model = SupervisedSVC(kernel="precomputed").fit(X @ X.T, y)
    assert np.isfinite(model.decision_function(1e290 * (X @ X.T))).all()
    with pytest.raises(ValueError, match=r"`X` has numbers of size .*, .* the function overflows"):
        model.predict(1e306 * (X @ X.T))


@pytest.mark.parametrize("width", [1e-140, 1e-200, 1e200])
def test_widths_out_of_proportion_are_refused_by_name(width):
    X, y = coarse_blobs("float64")
    with pytest.raises(ValueError, match="width"):
        SupervisedSVC(kernel="poly", width=width).fit(X, y)


@pytest.mark.parametrize("size", [1e300, 1e307, 1.7e308])
def test_graphs_whose_sums_overflow_are_refused_by_name(size):
    X, y = coarse_blobs("float64")
    W = size * np.random.default_rng(0).random((45, 45))
    W = np.maximum(W, W.T)
    for model in (MaxMarginGraphCut(), ManifoldSVC()):
        with pytest.raises(ValueError, match=r"`W` has weights up to .* `gamma_g`"):
            model.fit(X, y, W=W)
    with pytest.raises(ValueError, match="`W` has weights up to"):
        HarmonicClassifier(affinity="precomputed").fit(W, y)


@pytest.mark.parametrize("size", [5e-324, 1e-310, 1e-200, 1e280])
def test_graphs_of_extreme_weights_have_finite_results(size):
    _, y = coarse_blobs("float64")
    W = size * np.random.default_rng(0).integers(1, 4, (45, 45))
    W = np.maximum(W, W.T)
    for gamma_g in (0.0, 0.1):
        model = HarmonicClassifier(affinity="precomputed", gamma_g=gamma_g).fit(W, y)
        for weights in (W, 1e-300 * W, np.full((1, 45), 1.7e308)):
            proba = model.predict_proba(weights)
            assert np.isfinite(proba).all()
            np.testing.assert_allclose(proba.sum(axis=1), 1.0)


EXTREMES = (5e-324, 1e-300, 1e-30, 1e30, 1e290, 1.7e308)


@pytest.mark.parametrize("value", EXTREMES)
@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        *(("harmonic", "gamma_g"), ("harmonic", "c_labeled"), ("harmonic", "c_unlabeled")),
        *(("cut", "gamma_g"), ("cut", "C"), ("supervised", "C"), ("semi-supervised", "C")),
        *(("manifold", "C"), ("manifold", "gamma_u"), ("semi-supervised", "gamma_u")),
    ],
)
def test_extreme_parameters_have_finite_results_or_are_refused_by_name(name, parameter, value):
    X, y = coarse_blobs("float64")
    lists = parameter in ("gamma_g", "C", "gamma_u")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for given in (value, *([[value, 1.0]] if lists else [])):
            try:
                model = fit(name, X, y, **{parameter: given})
            except ValueError as error:
                refusal = str(error)
                assert not 1e-30 <= value <= 1e30
            else:
                refusal = parameter
                assert np.isfinite(model.predict_proba(X)).all()
            assert f"{parameter}" in refusal
