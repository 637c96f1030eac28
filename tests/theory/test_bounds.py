import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmargin import MaxMarginGraphCut
from graphmargin.graph import knn_graph
from graphmargin.harmonic import harmonic_solution
from graphmargin.margin import Kernel, train_machine
from graphmargin.theory import RiskBound, risk_bound, stability_coefficient
from graphmargin.theory import vc_dimension as dimension_of

SOFT = {"c_labeled": 1.0, "c_unlabeled": 0.25}
TERMS = {
    "empirical_risk": 0.01,
    "threshold_term": 0.002,
    "labeled_risk": 0.03,
    "transductive_error": 0.1,
    "inductive_error": 0.05,
    "plain_empirical_risk": 0.012,
    "beta": 1e-4,
    "stability": "graph",
    "vc_dimension": 3,
    "n": 1000,
    "n_labeled": 100,
    "n_eps": 1,
    "eps": 0.001,
    "eta": 0.05,
    "delta": 0.05,
}


def test_every_term_is_that_computed_by_hand():
    # Two vertices, w = 1, c_u = 1/4, gamma_g = 0: l_0 = -1 + (l_1 - l_0), l_1 (1 + 1/4) = l_0,
    # so that l = -(5/6, 2/3); the other two vertices mirror them.
    W = np.kron(np.eye(2), [[0, 1], [1, 0]])
    solution = harmonic_solution(W, ["a", "", "b", ""], **SOFT)
    np.testing.assert_allclose(solution.ell, [-5 / 6, -2 / 3, 5 / 6, 2 / 3])
    bound = risk_bound(solution, [-1, 0.5, -2, -3], vc_dimension=2, eps=0.7, eta=0.1, delta=0.2)
    assert bound.empirical_risk == 1 / 4  # vertex 2; 1 and 3 are below eps
    assert bound.plain_empirical_risk == 3 / 4
    assert bound.threshold_term == pytest.approx(2 * 0.7 * 2 / 4)
    assert bound.labeled_risk == pytest.approx(1 / 36)
    assert bound.beta == 4
    assert bound.transductive_error == pytest.approx(4 + math.sqrt(math.log(10)) * 12)
    assert bound.inductive_error == pytest.approx(
        math.sqrt((2 * (math.log(4) + 1) + math.log(40)) / 4)
    )
    assert (bound.n, bound.n_labeled, bound.n_eps) == (4, 2, 2)
    assert (bound.eps, bound.eta, bound.delta, bound.vc_dimension) == (0.7, 0.1, 0.2, 2)
    assert bound.probability == pytest.approx(0.7)
    rest = 1 / 36 + bound.transductive_error + bound.inductive_error
    assert bound.bound == pytest.approx(0.25 + 0.7 + rest)
    assert bound.plain == pytest.approx(0.75 + rest)
    assert not bound.informative


@given(
    seed=st.integers(0, 10**6),
    eps=st.floats(0, 0.99),
    stability=st.sampled_from(["graph", "spectral", "lemma"]),
)
def test_bounds_with_and_without_threshold_are_sums_of_their_terms(
    random_graph, seed, eps, stability
):
    rng = np.random.default_rng(seed)
    codes = np.full(12, -1)
    codes[:4] = [0, 1, 0, 1]
    gamma_g = 10 ** rng.uniform(-4, 3)
    solution = harmonic_solution(random_graph(12, seed), codes, gamma_g=gamma_g, **SOFT)
    assert abs(solution.ell).max() <= 1
    scores = rng.normal(size=12)
    options = {"vc_dimension": 2, "stability": stability}
    bound = risk_bound(solution, scores, eps=eps, **options)
    assert bound.bound <= bound.plain + 2 * eps * bound.n_eps / 12 + 1e-12
    plain = risk_bound(solution, scores, eps=0.0, **options)
    assert plain.bound == plain.plain == bound.plain
    if stability != "graph":
        # (1 - t)^2 + 2 sqrt(2) t > 1: labels and beta alone make the bound of the paper void.
        t = 1 / (1 + gamma_g)
        assert bound.labeled_risk >= (1 - t) ** 2 - 1e-12
        assert bound.beta >= 2 * math.sqrt(2) * t
        assert bound.bound > 1


def test_vertex_that_no_label_reaches_counts_as_wrong_unless_below_the_threshold():
    W = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0.0]])
    solution = harmonic_solution(W, [0, 1, -1], **SOFT)
    for score in (-1, 1):
        bound = risk_bound(solution, [-1, 1, score], vc_dimension=2, eps=0)
        assert bound.plain_empirical_risk == bound.empirical_risk == 1 / 3
        bound = risk_bound(solution, [-1, 1, score], vc_dimension=2)
        assert (bound.empirical_risk, bound.n_eps) == (0, 1)


def blobs(n, share, seed):
    """Return points of two distant normal distributions, their classes and the given labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 2))
    X[:, 0] += 12 * y
    return X, y, np.where(rng.random(n) < share, y, -1)


def test_bound_is_informative_with_many_labels_that_count_little():
    X, y, given_labels = blobs(20_000, 0.9, seed=0)
    W = knn_graph(X, 10, width=1.0)
    soft = {"c_labeled": 1e-8, "c_unlabeled": 0.99e-8}
    solution = harmonic_solution(W, given_labels, **soft)
    bound = risk_bound(solution, X[:, 0] - 1.75, vc_dimension=dimension_of("linear", 2))
    assert bound.informative
    assert bound.bound < 0.49
    assert str(bound).endswith(
        "The bound is informative: it is below 1/2, the risk of a random guess."
    )
    # Half of the points are of the first class; 0.0400592 is the tail of a normal above 1.75.
    true_risk = 0.0400592 / 2
    assert true_risk <= bound.bound
    # Both parts hold by themselves.
    assert true_risk <= np.mean((X[:, 0] > 1.75) != y) + bound.inductive_error
    everywhere = np.mean((solution.ell - (2 * y - 1)) ** 2)
    assert everywhere <= bound.labeled_risk + bound.transductive_error
    # The coefficients of the paper say nothing here.
    spectral = risk_bound(solution, X[:, 0], vc_dimension=3, stability="spectral")
    assert spectral.bound > 1e3


@pytest.mark.parametrize(
    ("kernel", "stability", "eps"),
    [("linear", "graph", 1e-6), ("poly", "spectral", 0.3), ("linear", "lemma", 0.3)],
)
def test_bound_of_a_fitted_cut_is_the_sum_of_its_terms(kernel, stability, eps):
    X, _, y = blobs(60, 0.2, seed=0)
    soft = {"gamma_g": 0.1, **SOFT}
    cut = MaxMarginGraphCut(kernel=kernel, eps=eps, C=2.0, **soft).fit(X, y)
    ell, f = harmonic_solution(knn_graph(X, 5), y, **soft).ell, cut.decision_function(X)
    options = {"vc_dimension": dimension_of(kernel, 2), "eps": eps, "stability": stability}
    bound = risk_bound(cut.harmonic_solution_, f, **options)
    confident, n_labels = np.abs(ell) >= eps, int((y >= 0).sum())
    assert bound.empirical_risk == np.mean(confident & ((f > 0) != (ell > 0)))
    assert bound.threshold_term == pytest.approx(2 * eps * np.mean(~confident))
    assert bound.labeled_risk == pytest.approx(np.mean(np.square(ell - (2 * y - 1))[y >= 0]))
    beta = stability_coefficient(knn_graph(X, 5), n_labels, stability=stability, **soft)
    assert bound.beta == pytest.approx(beta)
    assert (bound.n, bound.n_labeled) == (60, n_labels)


@pytest.mark.parametrize("seed", range(3))
def test_true_risk_of_a_machine_is_below_the_bound(seed):
    X, y, given_labels = blobs(400, 0.2, seed)
    X[:, 0] -= 9 * y  # the classes overlap
    solution = harmonic_solution(knn_graph(X, 5), given_labels, **SOFT)
    machine = train_machine(X, solution.codes, Kernel("linear"), C=1.0)
    bound = risk_bound(solution, machine.decision(X), vc_dimension=3)
    new, truth, _ = blobs(4000, 0.2, seed + 100)
    new[:, 0] -= 9 * truth
    risk = np.mean((machine.decision(new) > 0) != truth)
    assert 0.02 < risk <= bound.bound
    assert risk <= np.mean((machine.decision(X) > 0) != y) + bound.inductive_error
    everywhere = np.mean((solution.ell - (2 * y - 1)) ** 2)
    assert everywhere <= bound.labeled_risk + bound.transductive_error


def test_printed_bound_is_a_table_of_its_terms():
    assert str(RiskBound(**TERMS)).splitlines() == [
        "risk on induced labels        0.01   n = 1000",
        "threshold term               0.002   eps = 0.001, n_eps = 1",
        "squared error at labels       0.03   n_labeled = 100",
        "transductive error             0.1   beta = 0.0001 (graph), delta = 0.05",
        "inductive error               0.05   VC dimension = 3, eta = 0.05",
        "bound on the risk            0.192   with probability 0.9",
        "The bound is informative: it is below 1/2, the risk of a random guess.",
    ]


@pytest.mark.parametrize(
    ("changes", "ending"),
    [
        (
            {"empirical_risk": 0.5},
            "risk on induced labels, which a more flexible kernel or a larger C would lower.",
        ),
        ({"threshold_term": 0.5}, "threshold term, which a smaller `eps` would lower."),
        (
            {"transductive_error": 0.9, "beta": 1.0},
            "transductive error, which a smaller `c_labeled` or a larger `gamma_g` would lower.",
        ),
        (
            {"transductive_error": 0.9, "stability": "lemma"},
            "transductive error, but with stability='lemma' the bound exceeds 1 for all data: use "
            "stability='graph'.",
        ),
        (
            {"inductive_error": 0.9},
            "inductive error, which a larger number of points or a kernel of smaller VC dimension "
            "would lower.",
        ),
        (
            {"inductive_error": math.inf, "vc_dimension": math.inf},
            "inductive error, which a kernel of finite VC dimension, such as the linear one, would "
            "lower.",
        ),
    ],
)
def test_last_sentence_names_the_largest_term_and_what_would_help(changes, ending):
    bound = RiskBound(**{**TERMS, **changes})
    assert not bound.informative
    assert str(bound).splitlines()[-1] == (
        "The bound is not informative, because it is not below 1/2, the risk of a random guess; "
        "the largest "
        f"term is the {ending}"
    )


def test_infinite_terms_are_printed(random_graph):
    codes = np.arange(12) % 3 - 1
    solution = harmonic_solution(random_graph(12, 0), codes, gamma_g=1.0, c_labeled=1.0)
    options = {"vc_dimension": math.inf, "stability": "spectral"}
    bound = risk_bound(solution, np.ones(12), **options)
    assert bound.bound == bound.beta == math.inf
    assert "bound on the risk              inf" in str(bound)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scores": np.ones(3)}, "`scores` must hold 12 finite numbers, f(x) of each vertex, got"),
        ({"scores": np.full(12, np.nan)}, "got shape (12,) with NaN or infinity"),
        ({"eps": 1.0}, "`eps` must be below 1, got 1.0; no confidence is larger"),
        ({"eps": -1}, "`eps` must be >= 0, got -1"),
        (
            {"eta": 0.5, "delta": 0.5},
            "`eta` + `delta` must be below 1, got 1.0; lower one of them",
        ),
    ],
)
def test_bad_argument_is_named(random_graph, changes, message):
    solution = harmonic_solution(random_graph(12, 0), np.arange(12) % 3 - 1, **SOFT)
    arguments = {"scores": np.ones(12), "vc_dimension": 2, **changes}
    with pytest.raises(ValueError, match=re.escape(message)):
        risk_bound(solution, **arguments)


@pytest.mark.parametrize(
    ("codes", "options", "message"),
    [
        (
            np.arange(12) % 3,
            SOFT,
            "`solution` must have two classes, got 3; bound each pair of classes separately",
        ),
        (
            np.arange(12) % 2,
            {},
            "`c_labeled` must be finite, got inf; the bound is for soft labels: use a finite",
        ),
        (
            np.arange(12) % 2,
            {"c_labeled": np.arange(1.0, 13.0)},
            "`c_labeled` must be the same at all labels, got 1.0 to 12.0; solve with one number",
        ),
    ],
)
def test_solutions_without_a_bound_are_refused(random_graph, codes, options, message):
    solution = harmonic_solution(random_graph(12, 0), codes, **options)
    with pytest.raises(ValueError, match=re.escape(message)):
        risk_bound(solution, np.ones(12), vc_dimension=2)
