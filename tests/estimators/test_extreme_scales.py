"""Numbers at the ends of their range: results are those of the same rows in another unit."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from graphmargin import MaxMarginGraphCut, SupervisedSVC, knn_graph, load_model, save_model
from graphmargin.estimators import HarmonicClassifier, ManifoldSVC
from graphmargin.graph.weights import paper_width
from tests.estimators.problems import FIXED, LISTS, blobs, every_class, fit

SCALES = [("f4", -120), ("f4", -41), ("f4", 60), ("f4", 120), ("f8", -1010), ("f8", 1018)]
SCALED_MODELS = [
    *((name, *scale) for name in FIXED for scale in SCALES),
    *((f"{name}-lists", *scale) for name in LISTS for scale in SCALES[2:5:2]),
]
"""All scales, and for the slow models one of each type."""
FORMS = {"dense": np.asarray, "csr": sparse.csr_array}
forms = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())


def coarse_blobs(dtype, n_classes=2):
    """Return rows with few digits, so that no power of two loses one of them."""
    X, _, y = blobs(n_classes, distance=2.0)
    return (np.round(16 * X) / 16).astype(dtype), y


def assert_same_predictions(model, expected, X, X_expected):
    np.testing.assert_array_equal(model.transduction_, expected.transduction_)
    np.testing.assert_array_equal(model.label_distributions_, expected.label_distributions_)
    np.testing.assert_array_equal(model.predict(X), expected.predict(X_expected))
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X_expected))


@pytest.mark.parametrize(("name", "dtype", "exponent"), SCALED_MODELS)
@forms
def test_a_power_of_two_changes_nothing(name, form, dtype, exponent):
    X, y = coarse_blobs(dtype)
    scaled = form(np.ldexp(X, exponent))
    expected, model = fit(name, form(X), y), fit(name, scaled, y)
    assert_same_predictions(model, expected, scaled, form(X))
    proba = model.predict_proba(scaled)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("harmonic", {"width": 1.5}),
        ("harmonic", {"width": 1.5, "metric": "cosine"}),
        ("cut", {"kernel": "poly"}),
        ("cut", {"kernel": "linear", "metric": "cosine"}),
        ("cut", {"width": 1.5}),
    ],
    ids=str,
)
def test_widths_and_metrics_are_scaled_with_the_rows(name, changed):
    X, y = coarse_blobs("f8", 3)
    exponent = -900
    scaled = dict(changed)
    if isinstance(changed.get("width"), float) and "metric" not in changed:
        scaled["width"] = np.ldexp(changed["width"], exponent)  # rows of unit length have no unit
    expected = fit(name, X, y, **changed)
    model = fit(name, np.ldexp(X, exponent), y, **scaled)
    assert_same_predictions(model, expected, np.ldexp(X, exponent), X)


def test_validation_rows_are_scaled_with_the_rows():
    X, y = coarse_blobs("f8")
    held_out = y[:6]
    models = [
        MaxMarginGraphCut(C=[0.1, 10.0], gamma_g=0.1, cv=(np.ldexp(X[:6], e), held_out)).fit(
            np.ldexp(X[6:], e), np.r_[y[:2], y[8:]]
        )
        for e in (0, 700)
    ]
    np.testing.assert_array_equal(models[0].choice_.weights, models[1].choice_.weights)


@every_class
def test_model_files_keep_the_unit(name, tmp_path):
    X, y = coarse_blobs("f8")
    X = np.ldexp(X, -800)
    model = fit(name, X, y)
    save_model(model, tmp_path / "tiny.graphmargin")
    loaded = load_model(tmp_path / "tiny.graphmargin")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_graphs_and_widths_of_extreme_rows_are_finite():
    X, _ = coarse_blobs("f8")
    W = knn_graph(X, width=2.0)
    for exponent in (-1000, 1018):
        rows = np.ldexp(X, exponent)
        same = knn_graph(rows, width=np.ldexp(2.0, exponent))
        np.testing.assert_array_equal(same.toarray(), W.toarray())
        assert paper_width(rows) == np.ldexp(paper_width(X), exponent)
        assert paper_width(sparse.csr_array(rows)) == pytest.approx(paper_width(rows))


def test_an_offset_far_beyond_the_spread_does_not_hide_it():
    X, y = coarse_blobs("f8")
    with_offset = np.column_stack([X, np.full(len(X), 2.0**190)])
    model, expected = HarmonicClassifier(), HarmonicClassifier()
    model.fit(with_offset, y)
    expected.fit(np.column_stack([X, np.zeros(len(X))]), y)
    assert_same_predictions(model, expected, with_offset, np.column_stack([X, np.zeros(len(X))]))


FAR = [[1e110, 0.0], [1e160, 1.0], [1.7e308, -1.7e308], [-1e250, 1e-300]]


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
@forms
@every_class
def test_rows_far_away_have_finite_probabilities(name, form, kernel):
    rng = np.random.default_rng(0)
    y = np.where(np.arange(40) < 9, np.arange(40) % 3, -1)
    X = rng.normal(size=(40, 2)) + np.eye(3)[np.arange(40) % 3][:, :2] * 3
    model = fit(name, form(X), y, kernel=kernel)
    for chosen in ([0], [1], [2, 3], [0, 1, 2, 3]):
        rows = np.array(FAR)[chosen]
        for far in (form(rows), form(np.clip(rows, -3e38, 3e38).astype("f4"))):
            proba = model.predict_proba(far)
            assert np.isfinite(proba).all()
            np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-6)
            assert set(model.predict(far)) <= {0, 1, 2}


@pytest.mark.parametrize("exponent", [-190, -60, 60, 190])
@every_class
def test_single_precision_rows_have_the_probabilities_of_double_ones(name, exponent):
    X, y = coarse_blobs("f8")
    model = fit(name, np.ldexp(X, exponent), y)
    for rows in (np.zeros((2, X.shape[1])), np.ones((1, X.shape[1]))):
        single = model.predict_proba(rows.astype("f4"))
        np.testing.assert_allclose(single, model.predict_proba(rows), atol=1e-4)


@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_a_row_far_away_has_the_label_of_its_direction(kernel):
    X, y = coarse_blobs("f8")
    model = fit("supervised", X, y, kernel=kernel)
    rows = np.random.default_rng(0).normal(size=(20, 4))
    expected = model.predict(1e30 * rows)
    for size in (1e90, 1e150, 1e300):
        np.testing.assert_array_equal(model.predict(size * rows), expected)


def test_harmonic_labels_far_away_are_those_of_the_nearest_rows():
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    for width in ("paper", 1e-100):
        with warnings.catch_warnings():  # the last width leaves no edge
            warnings.simplefilter("ignore")
            model = HarmonicClassifier(n_neighbors=1, width=width).fit(X, ["a", None, "b", None])
        for far in (1e14, 1e15):
            assert model.predict([[far], [-far]]).tolist() == ["b", "a"]


def test_kernel_matrices_of_extreme_size_are_refused_by_name():
    X, y = coarse_blobs("f8")
    for K in (1e300 * (X @ X.T), 1e-200 * (X @ X.T)):
        with pytest.raises(ValueError, match="`X` must be a kernel matrix with values"):
            SupervisedSVC(kernel="precomputed").fit(K, y)
    model = SupervisedSVC(kernel="precomputed").fit(X @ X.T, y)
    np.testing.assert_array_equal(model.predict(1e306 * (X @ X.T)), model.predict(1e30 * (X @ X.T)))


@pytest.mark.parametrize("width", [1e-140, 1e-200, 1e200])
def test_widths_out_of_proportion_are_refused_by_name(width):
    X, y = coarse_blobs("f8")
    with pytest.raises(ValueError, match="width"):
        SupervisedSVC(kernel="poly", width=width).fit(X, y)
    with pytest.raises(ValueError, match="width"):
        SupervisedSVC(width=1.0).fit(1e300 * X, y)


@pytest.mark.parametrize("size", [1e300, 1e307, 1.7e308])
def test_graphs_whose_sums_overflow_are_refused_by_name(size):
    X, y = coarse_blobs("f8")
    W = size * np.random.default_rng(0).random((45, 45))
    W = np.maximum(W, W.T)
    for model in (MaxMarginGraphCut(), ManifoldSVC()):
        with pytest.raises(ValueError, match=r"`W` has weights up to .* `gamma_g`"):
            model.fit(X, y, W=W)
    with pytest.raises(ValueError, match="`W` has weights up to"):
        HarmonicClassifier(affinity="precomputed").fit(W, y)


@pytest.mark.parametrize("size", [5e-324, 1e-310, 1e-200, 1e280])
def test_graphs_of_extreme_weights_have_finite_results(size):
    _, y = coarse_blobs("f8")
    W = size * np.random.default_rng(0).integers(1, 4, (45, 45))
    W = np.maximum(W, W.T)
    for gamma_g in (0.0, 0.1):
        model = HarmonicClassifier(affinity="precomputed", gamma_g=gamma_g).fit(W, y)
        for weights in (W, 1e-300 * W, np.full((1, 45), 1.7e308)):
            proba = model.predict_proba(weights)
            assert np.isfinite(proba).all()
            np.testing.assert_allclose(proba.sum(axis=1), 1.0)


@every_class
def test_sparse_rows_with_repeated_entries_are_their_sums(name):
    X, y = coarse_blobs("f8")
    n, d = X.shape
    columns = np.tile([3, 0, 1, 2, 0], (n, 1))
    values = np.column_stack([X[:, 3], X[:, 0] / 4, X[:, 1], X[:, 2], X[:, 0] * 3 / 4])
    split = sparse.csr_array((values.ravel(), columns.ravel(), np.arange(0, 5 * n + 1, 5)), (n, d))
    before = split.data.copy(), split.indices.copy(), split.indptr.copy()
    expected = fit(name, sparse.csr_array(X), y)
    for rows in (split, split.tocsc(), sparse.csr_matrix(split)):
        model = fit(name, rows, y)
        assert_same_predictions(model, expected, rows, sparse.csr_array(X))
    for part, old in zip((split.data, split.indices, split.indptr), before, strict=True):
        np.testing.assert_array_equal(part, old)
    np.testing.assert_array_equal(
        knn_graph(split).toarray(), knn_graph(sparse.csr_array(X)).toarray()
    )


@every_class
def test_masked_labels_are_no_labels_and_masked_rows_are_refused(name):
    X, truth, y = blobs(distance=2.0)
    expected = fit(name, X, y)
    for labels in (truth, truth.astype(float), truth.astype(str), truth.astype(object)):
        masked = np.ma.array(labels, mask=y == -1)
        model = fit(name, X, masked)
        np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))
    fit(name, np.ma.array(X), y)
    hidden = np.ma.array(X, mask=X > 3)
    with pytest.raises(ValueError, match="`X` must have no masked entries"):
        fit(name, hidden, y)
    with pytest.raises(ValueError, match="`X` must have no masked entries"):
        expected.predict(hidden)
    with pytest.raises(ValueError, match="`X` must have no masked entries"):
        clone(FIXED[name]).set_params(**_candidates(name), cv=(hidden, truth)).fit(X, y)


def _candidates(name):
    return {"gamma_g": [0.1, 1.0]} if name == "harmonic" else {"C": [1.0, 10.0]}


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
    X, y = coarse_blobs("f8")
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
