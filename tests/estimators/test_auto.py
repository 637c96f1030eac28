"""Parameters that are chosen: `MaxMarginGraphCut()` and `SupervisedSVC(C="auto")`."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from graphmargin import MaxMarginGraphCut, MaxMarginGraphCutCV, SupervisedSVC, knn_graph
from graphmargin.datasets import make_lattices
from graphmargin.estimators import max_margin_graph_cut as estimator_of_cuts
from graphmargin.margin import Kernel
from graphmargin.margin.machine import class_scores
from graphmargin.selection import cut as trials_of_cuts
from graphmargin.selection.choice import MOST_SHARE_EVIDENCE

NAMED = ["linear", "cubic", "rbf"]
TRIAL = 2 * trials_of_cuts.TRIAL_TOLERANCE
"""Two machines, each within a violation of 1e-3, differ by about this in units of f."""
every_kernel = pytest.mark.parametrize("kernel", NAMED)
AUTO = {"cut": MaxMarginGraphCut(), "supervised": SupervisedSVC(C="auto")}
every_model = pytest.mark.parametrize("model", AUTO.values(), ids=AUTO.keys())


def blobs(seed=0, n=90, n_classes=2, distance=2.5, per_class=4):
    """Points, the class of each, and the few labels that are given."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % n_classes
    X = rng.normal(size=(n, 4)) + distance * np.eye(4)[truth]
    return X, truth, np.where(np.arange(n) < per_class * n_classes, truth, -1)


def laplacian_kernel(first, second):
    return np.exp(-np.abs(first[:, None] - second[None]).sum(axis=2) / 8)


def assert_sound(model, X):
    """Check that everything is a number, and that probabilities and labels agree."""
    for distributions, labels in (
        (model.label_distributions_, None),
        (model.predict_proba(X), model.predict(X)),
    ):
        assert np.isfinite(distributions).all()
        assert distributions.min() >= 0
        np.testing.assert_allclose(distributions.sum(axis=1), 1.0)
        if labels is not None:
            np.testing.assert_array_equal(model.classes_[distributions.argmax(axis=1)], labels)
    assert np.isfinite(model.confidence_).all()
    assert set(model.transduction_.tolist()) <= set(model.classes_.tolist())
    choice = model.choice_
    assert choice.weights.sum() == pytest.approx(1.0)
    assert choice.weights.min() >= 0
    assert 0 <= choice.supervised_share <= 1 + 1e-12


def fixed(model, candidate):
    """Return the classifier of one candidate."""
    known = model.get_params()
    return clone(model).set_params(**{k: v for k, v in candidate.items() if k in known})


def weighted_sum(model, X, y, new, **fit):
    """Return the duels of the blend, from separate fits of its candidates."""
    choice = model.choice_
    total = 0.0
    for i, factor in choice.blended:
        single = fixed(model, choice.trials.params[i]).fit(X, y, **fit)
        assert factor == pytest.approx(choice.weights[i] / choice.trials.scales[i])
        total = total + factor * single.machine_.pairwise(new)
    return total


def tolerance(model):
    return TRIAL * sum(factor for _, factor in model.choice_.blended)


# The blend is the weighted sum of the machines that a user could train


@every_kernel
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("per_class", [2, 6])
@every_model
def test_blend_is_the_weighted_sum_of_single_machines(model, kernel, n_classes, per_class):
    X, _, y = blobs(n_classes=n_classes, distance=1.5, per_class=per_class)
    new = X[::3] + 0.1
    model = clone(model).set_params(kernel=kernel).fit(X, y)
    expected = weighted_sum(model, X, y, new)
    np.testing.assert_allclose(model.machine_.pairwise(new), expected, atol=tolerance(model))
    scores = class_scores(model.machine_.pairwise(new), n_classes)
    np.testing.assert_array_equal(model.decision_function(new), scores)


@pytest.mark.parametrize("seed", range(6))
def test_several_candidates_are_blended_where_labels_are_few(seed):
    """With and without class mass normalization, with weak and strong sinks."""
    X, _, y = blobs(seed=seed, distance=1.5, per_class=2)
    model = MaxMarginGraphCut().fit(X, y)
    assert len(model.choice_.blended) > 1
    np.testing.assert_allclose(
        model.machine_.pairwise(X), weighted_sum(model, X, y, X), atol=tolerance(model)
    )


@every_model
def test_scale_is_the_mean_absolute_value_at_unlabeled_rows(model):
    X, _, y = blobs(distance=1.5)
    model = clone(model).fit(X, y)
    for i, _ in model.choice_.blended:
        f = fixed(model, model.choice_.trials.params[i]).fit(X, y).decision_function(X[y < 0])
        assert model.choice_.trials.scales[i] == pytest.approx(np.abs(f).mean(), abs=TRIAL)


def test_hidden_labels_are_those_of_separate_fits_without_them():
    X, _, y = blobs(distance=1.5)
    model = MaxMarginGraphCut().fit(X, y)
    trials = model.choice_.trials
    assert len(np.unique(trials.fold)) == 8, "one label in each of eight folds"
    for i in (0, len(trials.params) // 2, len(trials.params) - 1):
        f = []
        for row in np.flatnonzero(y >= 0):
            hidden = np.where(np.arange(len(y)) == row, -1, y)
            single = fixed(model, trials.params[i]).fit(X, hidden)
            f.append(single.machine_.pairwise(X[[row]])[0, 0])
        np.testing.assert_allclose(
            np.sort(trials.scales[i] * trials.held_out[i, :, 0]), np.sort(f), atol=2 * TRIAL
        )


@every_model
@pytest.mark.parametrize("n_classes", [2, 3])
def test_results_are_those_of_the_blend(model, n_classes):
    X, _, y = blobs(n_classes=n_classes, distance=1.5)
    model = clone(model).fit(X, y)
    given = y >= 0
    np.testing.assert_array_equal(model.transduction_[given], y[given])
    np.testing.assert_array_equal(model.transduction_[~given], model.predict(X)[~given])
    np.testing.assert_array_equal(model.label_distributions_, model.predict_proba(X))
    ranked = np.sort(model.label_distributions_, axis=1)
    np.testing.assert_array_equal(model.confidence_, ranked[:, -1] - ranked[:, -2])
    assert_sound(model, X)


def test_graph_and_solution_are_those_of_the_best_candidate_on_the_graph():
    X, _, y = blobs(distance=4.0)
    model = MaxMarginGraphCut(n_neighbors=6).fit(X, y)
    choice = model.choice_
    best = max(np.flatnonzero(~choice.trials.supervised), key=lambda i: choice.weights[i])
    assert choice.weights[best] > 0
    single = fixed(model, choice.trials.params[best]).fit(X, y)
    np.testing.assert_array_equal(model.graph_.toarray(), knn_graph(X, 6).toarray())
    assert model.graph_recall_ == single.graph_recall_
    assert model.harmonic_solution_.gamma_g == choice.trials.params[best]["gamma_g"]
    np.testing.assert_allclose(
        model.harmonic_solution_.class_mass, single.harmonic_solution_.class_mass, atol=1e-9
    )
    np.testing.assert_array_equal(model.training_mask_, single.training_mask_)


def test_attributes_are_the_same_as_with_fixed_parameters():
    X, _, y = blobs()
    chosen = MaxMarginGraphCut().fit(X, y)
    plain = MaxMarginGraphCut(gamma_g=0.1, C=10.0).fit(X, y)
    public = [{name for name in vars(m) if name.endswith("_")} for m in (chosen, plain)]
    assert public[0] - public[1] == {"choice_"}
    assert public[1] - public[0] == set()


# Which candidates there are


def test_fixing_gamma_g_keeps_it_in_all_candidates():
    X, _, y = blobs()
    params = MaxMarginGraphCut(gamma_g=0.37).fit(X, y).choice_.trials.params
    assert {one["gamma_g"] for one in params} == {0.37}
    assert len({one["C"] for one in params}) == 3


def test_fixing_c_keeps_it_in_all_candidates():
    X, _, y = blobs()
    params = MaxMarginGraphCut(C=3.7).fit(X, y).choice_.trials.params
    assert {one["C"] for one in params} == {3.7}
    gammas = {one["gamma_g"] for one in params}
    assert len(gammas) == 5
    assert np.inf in gammas


@pytest.mark.parametrize("asked", [True, False, [0.25, 0.75], np.array([3.0, 1.0])], ids=str)
def test_fixing_the_normalization_keeps_it_in_all_candidates(asked):
    X, _, y = blobs(distance=1.5, per_class=2)
    model = MaxMarginGraphCut(class_mass_normalization=asked).fit(X, y)
    found = {one["class_mass_normalization"] for one in model.choice_.trials.params}
    if asked is False:
        assert found == {False}
    else:
        assert found == {(2.0, 2.0) if asked is True else tuple(np.asarray(asked).tolist())}
    np.testing.assert_allclose(
        model.machine_.pairwise(X), weighted_sum(model, X, y, X), atol=tolerance(model)
    )


@pytest.mark.parametrize(("per_class", "expected"), [(3, {False, (4, 4)}), (4, {False})])
def test_normalization_is_a_candidate_with_few_labels(per_class, expected):
    X, _, y = blobs(per_class=per_class)
    params = MaxMarginGraphCut().fit(X, y).choice_.trials.params
    assert {one["class_mass_normalization"] for one in params} == expected


def test_losses_of_equal_weight_can_be_chosen_from():
    X, _, y = blobs(distance=1.5)
    model = MaxMarginGraphCut(loss_weights="equal", eps=0.05).fit(X, y)
    np.testing.assert_allclose(
        model.machine_.pairwise(X), weighted_sum(model, X, y, X), atol=tolerance(model)
    )


# gamma_g = inf: supervised learning


@every_kernel
@pytest.mark.parametrize("n_classes", [2, 3])
def test_infinite_gamma_g_with_a_choice_of_c_is_the_supervised_machine(kernel, n_classes):
    X, _, y = blobs(n_classes=n_classes, distance=1.5)
    cut = MaxMarginGraphCut(kernel=kernel, gamma_g=np.inf).fit(X, y)
    supervised = SupervisedSVC(kernel=kernel, C="auto").fit(X, y)
    assert cut.choice_.supervised_share == pytest.approx(1.0)
    np.testing.assert_allclose(cut.choice_.weights, supervised.choice_.weights, atol=1e-9)
    np.testing.assert_allclose(cut.predict_proba(X), supervised.predict_proba(X), atol=1e-9)
    np.testing.assert_array_equal(cut.transduction_, supervised.transduction_)
    np.testing.assert_array_equal(cut.training_mask_, y >= 0)


@pytest.mark.parametrize("name", ["cut", "supervised"])
def test_one_supervised_candidate_is_the_machine_with_this_c(name):
    X, _, y = blobs(distance=1.5)
    new = X[::2] + 0.1
    model = clone(AUTO[name])
    if name == "cut":
        model.set_params(gamma_g=np.inf)
    model.fit(X, y)
    choice = model.choice_
    total = sum(
        factor * SupervisedSVC(C=choice.trials.params[i]["C"]).fit(X, y).decision_function(new)
        for i, factor in choice.blended
    )
    np.testing.assert_allclose(model.decision_function(new), total, atol=tolerance(model))


def test_all_rows_labeled_is_a_blend_of_supervised_machines():
    X, truth, _ = blobs(distance=1.0)
    model = MaxMarginGraphCut().fit(X, truth)
    supervised = SupervisedSVC(C="auto").fit(X, truth)
    np.testing.assert_array_equal(model.transduction_, truth)
    np.testing.assert_allclose(
        model.decision_function(X), supervised.decision_function(X), atol=tolerance(model)
    )
    assert_sound(model, X)


# What it is for


@every_kernel
def test_lattices_are_solved_with_a_choice_of_c_alone(kernel):
    X, y, y_true, W = make_lattices()
    model = MaxMarginGraphCut(kernel=kernel, gamma_g=0.01, affinity="precomputed").fit(X, y, W=W)
    np.testing.assert_array_equal(model.predict(X), y_true)
    np.testing.assert_array_equal(model.transduction_, y_true)


@every_kernel
def test_lattices_with_one_label_a_class_are_halfway_to_supervised_learning(kernel):
    """No label can be hidden, so that supervised learning keeps its half of the blend."""
    X, y, y_true, W = make_lattices()
    model = MaxMarginGraphCut(kernel=kernel, affinity="precomputed").fit(X, y, W=W)
    assert model.choice_.supervised_share == pytest.approx(0.5)
    supervised = SupervisedSVC(kernel=kernel, C="auto").fit(X, y)
    assert np.sum(supervised.predict(X) != y_true) == 20
    assert np.sum(model.predict(X) != y_true) < 20


@every_kernel
def test_lattices_with_nine_labels_a_class_have_fewer_errors_than_supervised_learning(kernel):
    X, y, y_true, W = make_lattices()
    errors = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        some = y.copy()
        for k in (0, 1):
            some[rng.choice(np.flatnonzero(y_true == k), 8, replace=False)] = k
        cut = MaxMarginGraphCut(kernel=kernel, affinity="precomputed").fit(X, some, W=W)
        supervised = SupervisedSVC(kernel=kernel, C="auto").fit(X, some)
        errors.append([np.mean(model.predict(X) != y_true) for model in (cut, supervised)])
    ours, theirs = np.mean(errors, axis=0)
    assert ours <= 0.03, errors
    assert ours < theirs, errors


def test_rows_that_no_label_reaches_are_counted_where_parameters_are_chosen():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) + 50 * (np.arange(60) % 3)[:, None]
    y = np.where(np.arange(60) < 30, np.arange(60) % 3, -1)
    y[y == 2] = -1
    with pytest.warns(UserWarning, match="20 of 60 points are in components") as caught:
        model = MaxMarginGraphCut(gamma_g=0.1).fit(X, y)  # C is chosen
    assert caught[0].filename == __file__
    assert model.choice_ is not None
    assert np.isin(model.transduction_[2::3], [0, 1]).all()


@pytest.mark.filterwarnings("ignore:.* in components of the graph")
def test_clusters_are_recovered_from_few_labels():
    """The errors of supervised learning are many, and those of the choice almost none."""
    errors = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        truth = np.arange(300) % 3
        angle = rng.uniform(0, 2 * np.pi, size=300)
        X = (1 + 2 * truth)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
        X += 0.1 * rng.normal(size=X.shape)
        y = np.where(np.arange(300) < 9, truth, -1)
        models = (MaxMarginGraphCut(), SupervisedSVC(C="auto"))
        errors.append([np.mean(m.fit(X, y).transduction_ != truth) for m in models])
    cut, supervised = np.mean(errors, axis=0)
    assert cut < 0.02
    assert supervised > 0.2


def test_misleading_graph_is_not_followed():
    """Neighbors in 50 dimensions tell little about the class, and 60 labels a lot."""
    errors, shares = [], []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        truth = np.arange(500) % 2
        X = rng.normal(size=(500, 50))
        X[:, 0] += 2.0 * truth
        y = np.where(np.arange(500) < 60, truth, -1)
        cut, supervised = MaxMarginGraphCut().fit(X, y), SupervisedSVC(C="auto").fit(X, y)
        hidden = y < 0
        errors.append([np.mean((m.predict(X) != truth)[hidden]) for m in (cut, supervised)])
        shares.append(cut.choice_.supervised_share)
    ours, theirs = np.mean(errors, axis=0)
    assert ours <= theirs + 0.02, (errors, shares)
    assert np.mean(shares) > 0.5


@pytest.mark.parametrize("n_classes", [2, 3])
def test_one_label_a_class_cannot_be_hidden_and_the_prior_blends(n_classes):
    X, truth, y = blobs(n=120, n_classes=n_classes, distance=6.0, per_class=1)
    model = MaxMarginGraphCut().fit(X, y)
    choice = model.choice_
    assert len(choice.trials.given) == 0
    np.testing.assert_array_equal(choice.log_likelihood, 0.0)
    assert np.isnan(choice.error)
    assert (choice.share_evidence >= -MOST_SHARE_EVIDENCE).all()
    assert len(choice.blended) > 1
    assert 0 < choice.supervised_share < 1
    np.testing.assert_array_equal(model.transduction_, truth)
    np.testing.assert_allclose(
        model.machine_.pairwise(X), weighted_sum(model, X, y, X), atol=tolerance(model)
    )
    assert_sound(model, X)


def test_one_class_with_a_single_label():
    X, truth, _ = blobs(n_classes=3, distance=5.0)
    y = np.full(len(X), -1)
    y[[0, 3, 6, 1, 4, 7, 2]] = [0, 0, 0, 1, 1, 1, 2]
    for model in (MaxMarginGraphCut(), SupervisedSVC(C="auto")):
        model.fit(X, y)
        assert sorted(model.choice_.trials.given) == [0, 0, 0, 1, 1, 1]
        assert model.classes_.tolist() == [0, 1, 2]
        assert np.mean(model.transduction_ != truth) < 0.05
        assert_sound(model, X)


# Input


@every_model
def test_string_labels(model):
    X, _, y = blobs(n_classes=3)
    expected = clone(model).fit(X, y)
    names = np.array(["", "ant", "monkey", "zebra"])
    fitted = clone(model).fit(X, names[y + 1])
    assert fitted.classes_.tolist() == ["ant", "monkey", "zebra"]
    np.testing.assert_array_equal(fitted.transduction_, names[expected.transduction_ + 1])
    np.testing.assert_array_equal(fitted.predict_proba(X), expected.predict_proba(X))
    assert_sound(fitted, X)


@every_model
def test_classes_in_another_order(model):
    """They are dealt out to other folds, which changes the weights a little."""
    X, truth, y = blobs(n_classes=3, distance=4.0)
    names = np.array(["", "zebra", "ant", "monkey"])
    fitted = clone(model).fit(X, names[y + 1])
    assert fitted.classes_.tolist() == ["ant", "monkey", "zebra"]
    assert np.mean(fitted.transduction_ != names[truth + 1]) < 0.05
    assert_sound(fitted, X)


@every_model
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_sparse_rows(model, kernel):
    X, _, y = blobs(n_classes=3)
    X = np.where(np.abs(X) < 0.7, 0.0, X)
    dense = clone(model).set_params(kernel=kernel).fit(X, y)
    rows = sparse.csr_array(X)
    model = clone(model).set_params(kernel=kernel).fit(rows, y)
    np.testing.assert_array_equal(model.transduction_, dense.transduction_)
    np.testing.assert_allclose(model.predict_proba(rows), dense.predict_proba(X), atol=2e-3)
    assert_sound(model, rows)


@every_model
def test_data_frame(model):
    X, _, y = blobs()
    table = pd.DataFrame(X, columns=list("abcd"))
    expected = clone(model).fit(X, y)
    fitted = clone(model).fit(table, pd.Series(y).replace(-1, None).astype("Int64"))
    assert fitted.feature_names_in_.tolist() == list("abcd")
    np.testing.assert_array_equal(fitted.transduction_, expected.transduction_)
    np.testing.assert_allclose(fitted.predict_proba(table), expected.predict_proba(X), atol=1e-6)


@every_model
def test_single_precision(model):
    X, _, y = blobs(n_classes=3)
    double, single = clone(model).fit(X, y), clone(model).fit(X.astype(np.float32), y)
    np.testing.assert_array_equal(single.transduction_, double.transduction_)
    np.testing.assert_allclose(
        single.predict_proba(X.astype(np.float32)), double.predict_proba(X), atol=1e-3
    )


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_classes", [2, 3])
@every_model
def test_precomputed_kernel(model, n_classes, convert):
    X, _, y = blobs(n_classes=n_classes, distance=1.5)
    new = X[::3] + 0.1
    fit = {}
    if isinstance(model, MaxMarginGraphCut):
        fit["W"] = knn_graph(X, 5)
        model = clone(model).set_params(affinity="precomputed")
    by_name = clone(model).fit(X, y, **fit)
    K = by_name.machine_.kernel
    given = clone(model).set_params(kernel="precomputed").fit(convert(K(X, X)), y, **fit)
    assert [one["C"] for one in given.choice_.trials.params] == [
        one["C"] for one in by_name.choice_.trials.params
    ]
    np.testing.assert_allclose(given.choice_.weights, by_name.choice_.weights, atol=1e-2)
    np.testing.assert_allclose(
        given.predict_proba(convert(K(new, X))), by_name.predict_proba(new), atol=1e-2
    )
    expected = weighted_sum(given, convert(K(X, X)), y, convert(K(new, X)), **fit)
    np.testing.assert_allclose(
        given.machine_.pairwise(convert(K(new, X))), expected, atol=tolerance(given)
    )


@every_model
def test_callable_kernel(model):
    X, _, y = blobs(n_classes=3, distance=1.5)
    new = X[::3] + 0.1
    model = clone(model).set_params(kernel=laplacian_kernel).fit(X, y)
    np.testing.assert_allclose(
        model.machine_.pairwise(new), weighted_sum(model, X, y, new), atol=tolerance(model)
    )
    assert_sound(model, new)


def test_callable_kernel_equals_the_kernel_by_name():
    X, _, y = blobs(distance=1.5)
    rbf = Kernel("rbf", width=3.0)
    by_name = MaxMarginGraphCut(width=3.0).fit(X, y)
    model = MaxMarginGraphCut(width=3.0, kernel=rbf).fit(X, y)
    np.testing.assert_allclose(model.choice_.weights, by_name.choice_.weights, atol=1e-2)
    np.testing.assert_allclose(model.predict_proba(X), by_name.predict_proba(X), atol=1e-2)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("c_unlabeled", [0.0, 0.05])
def test_soft_labels(n_classes, c_unlabeled):
    X, truth, y = blobs(n_classes=n_classes, distance=4.0)
    model = MaxMarginGraphCut(c_labeled=1.0, c_unlabeled=c_unlabeled).fit(X, y)
    assert np.mean(model.transduction_ != truth) < 0.1
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the soft solution induces", UserWarning)
        expected = weighted_sum(model, X, y, X)
    np.testing.assert_allclose(model.machine_.pairwise(X), expected, atol=tolerance(model))
    assert_sound(model, X)


def test_trust_in_each_label():
    X, _, y = blobs(distance=1.5)
    trust = np.where(np.arange(len(y)) == 0, 0.1, np.inf)
    model = MaxMarginGraphCut(c_labeled=trust).fit(X, y)
    np.testing.assert_allclose(
        model.machine_.pairwise(X), weighted_sum(model, X, y, X), atol=tolerance(model)
    )


@every_model
@pytest.mark.parametrize("kernel", NAMED)
@pytest.mark.parametrize("value", [0.0, 2.0])
def test_rows_that_are_all_equal(model, kernel, value):
    X = np.full((12, 3), value)
    y = [0, 1, 1, 0, 1, *[None] * 7]
    model = clone(model).set_params(kernel=kernel).fit(X, y)
    assert model.transduction_[:5].tolist() == [0, 1, 1, 0, 1]
    assert np.ptp(model.decision_function(X)) == 0
    assert_sound(model, X)


@every_model
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("unit", [1e-100, 1e-10, 1e10, 1e100])
def test_units_of_the_rows_do_not_matter(model, kernel, unit):
    X, _, y = blobs(distance=1.5)
    expected = clone(model).set_params(kernel=kernel).fit(X, y)
    model = clone(model).set_params(kernel=kernel).fit(unit * X, y)
    assert model.choice_.trials.params == expected.choice_.trials.params
    np.testing.assert_allclose(model.predict_proba(unit * X), expected.predict_proba(X), atol=5e-3)


@every_model
def test_two_rows(model):
    model = clone(model)
    if isinstance(model, MaxMarginGraphCut):
        model.set_params(n_neighbors=1)
    model.fit([[0.0], [1.0]], ["a", "b"])
    assert model.predict([[-0.5], [1.5]]).tolist() == ["a", "b"]
    assert_sound(model, [[0.0], [1.0]])


def test_rows_without_an_edge():
    X, _, y = blobs(distance=4.0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*without a label", UserWarning)
        model = MaxMarginGraphCut(affinity="precomputed").fit(X, y, W=sparse.csr_array((90, 90)))
    supervised = SupervisedSVC(C="auto").fit(X, y)
    np.testing.assert_array_equal(model.transduction_, supervised.transduction_)
    assert_sound(model, X)


# State


@every_model
def test_pickled_model_predicts_the_same(model):
    X, _, y = blobs(n_classes=3)
    fitted = clone(model).fit(X, y)
    restored = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(restored.predict_proba(X), fitted.predict_proba(X))
    np.testing.assert_array_equal(restored.choice_.weights, fitted.choice_.weights)
    assert restored.choice_.best_params == fitted.choice_.best_params
    assert restored.choice_.error == fitted.choice_.error
    assert restored.choice_.results().keys() == fitted.choice_.results().keys()


@every_model
def test_clone_is_unfitted_and_still_auto(model):
    X, _, y = blobs()
    fitted = clone(model).fit(X, y)
    assert fitted.get_params() == model.get_params()
    copy = clone(fitted)
    assert copy.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        copy.predict(X)
    assert not hasattr(copy, "choice_")


@every_model
@pytest.mark.parametrize("changed", [{}, {"n_jobs": 1}, {"n_jobs": 2}], ids=str)
def test_fits_are_repeated_exactly(model, changed):
    X, _, y = blobs(n=200, n_classes=3, distance=1.5, per_class=8)
    expected = clone(model).fit(X, y)
    again = clone(model).set_params(**changed).fit(X, y)
    np.testing.assert_array_equal(again.choice_.weights, expected.choice_.weights)
    np.testing.assert_array_equal(again.choice_.trials.held_out, expected.choice_.trials.held_out)
    np.testing.assert_array_equal(again.decision_function(X), expected.decision_function(X))
    np.testing.assert_array_equal(again.predict_proba(X), expected.predict_proba(X))


@every_model
def test_refit_with_fixed_parameters_forgets_the_choice(model):
    X, _, y = blobs()
    model = clone(model).fit(X, y)
    numbers = {"C": 2.0, "gamma_g": 0.1}
    numbers = {name: value for name, value in numbers.items() if name in model.get_params()}
    model.set_params(**numbers).fit(X, y)
    assert not hasattr(model, "choice_")
    fresh = type(model)(**numbers).fit(X, y)
    assert vars(model).keys() == vars(fresh).keys()
    np.testing.assert_array_equal(model.predict_proba(X), fresh.predict_proba(X))
    np.testing.assert_array_equal(model.label_distributions_, fresh.label_distributions_)


@every_model
def test_choice_is_forgotten_by_a_fit_that_fails(model):
    X, _, y = blobs()
    model = clone(model).fit(X, y)
    with pytest.raises(ValueError, match="`C` must be > 0, got -1"):
        model.set_params(C=-1).fit(X, y)
    assert not hasattr(model, "choice_")
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_fit_does_not_change_its_input():
    X, _, y = blobs()
    W = knn_graph(X, 5)
    K = X @ X.T
    before = [a.copy() for a in (K, y, W.data, W.indices, W.indptr)]
    model = MaxMarginGraphCut(kernel="precomputed", affinity="precomputed")
    model.fit(K, y, W=W).predict_proba(K)
    for now, then in zip((K, y, W.data, W.indices, W.indptr), before, strict=True):
        np.testing.assert_array_equal(now, then)


# Many rows: trials on a sample, machines on all


@pytest.fixture
def small_samples(monkeypatch):
    monkeypatch.setattr(trials_of_cuts, "MAX_LABELED", 30)
    monkeypatch.setattr(trials_of_cuts, "MAX_UNLABELED", 60)


@pytest.mark.usefixtures("small_samples")
@every_kernel
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("per_class", [4, 30])
def test_machines_are_trained_on_all_rows_after_trials_on_a_sample(kernel, n_classes, per_class):
    X, _, y = blobs(n=300, n_classes=n_classes, distance=2.0, per_class=per_class)
    new = X[::3] + 0.1
    for model in (MaxMarginGraphCut(kernel=kernel), SupervisedSVC(kernel=kernel, C="auto")):
        model.fit(X, y)
        assert len(model.choice_.trials.given) <= 30
        assert len(model.choice_.blended) <= 4
        np.testing.assert_allclose(
            model.machine_.pairwise(new), weighted_sum(model, X, y, new), atol=tolerance(model)
        )
        assert_sound(model, new)


@pytest.mark.usefixtures("small_samples")
def test_sample_of_a_precomputed_kernel():
    X, _, y = blobs(n=300, distance=2.0)
    K, W = X @ X.T / 16, knn_graph(X, 5)
    model = MaxMarginGraphCut(kernel="precomputed", affinity="precomputed").fit(K, y, W=W)
    np.testing.assert_allclose(
        model.machine_.pairwise(K), weighted_sum(model, K, y, K, W=W), atol=tolerance(model)
    )


@pytest.mark.usefixtures("small_samples")
def test_sample_of_sparse_rows():
    X, _, y = blobs(n=300, distance=2.0, per_class=40)
    dense, model = MaxMarginGraphCut().fit(X, y), MaxMarginGraphCut().fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(
        model.predict_proba(sparse.csr_array(X)), dense.predict_proba(X), atol=2e-3
    )


@pytest.mark.usefixtures("small_samples")
@every_model
def test_sample_is_that_of_the_seed(model):
    X, _, y = blobs(n=300, n_classes=3, distance=1.5, per_class=30)
    first, second = (clone(model).set_params(random_state=3).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))
    np.testing.assert_array_equal(first.choice_.weights, second.choice_.weights)
    by_default = [clone(model).fit(X, y).predict_proba(X) for _ in range(2)]
    np.testing.assert_array_equal(*by_default)
    other = clone(model).set_params(random_state=4).fit(X, y)
    assert np.any(other.choice_.trials.held_out != first.choice_.trials.held_out)


@pytest.mark.usefixtures("small_samples")
@pytest.mark.parametrize("approximation", ["none", "nystroem"])
def test_approximation_is_that_of_the_machines_on_all_rows(approximation):
    X, _, y = blobs(n=300, distance=2.0)
    model = MaxMarginGraphCut(approximation=approximation, random_state=0).fit(X, y)
    assert (model.machine_.report.form == "landmarks") == (approximation == "nystroem")
    np.testing.assert_allclose(
        model.machine_.pairwise(X), weighted_sum(model, X, y, X), atol=tolerance(model)
    )


# Errors


@pytest.mark.parametrize(
    ("classifier", "changed", "message"),
    [
        (MaxMarginGraphCut, {"gamma_g": "Auto"}, "`gamma_g` must be >= 0, got 'Auto'"),
        (MaxMarginGraphCut, {"gamma_g": -1.0}, "`gamma_g` must be >= 0, got -1.0"),
        (MaxMarginGraphCut, {"C": "x"}, "`C` must be > 0, got 'x'.*or use 'auto'"),
        (MaxMarginGraphCut, {"C": -1}, "`C` must be > 0, got -1"),
        (
            MaxMarginGraphCut,
            {"class_mass_normalization": "yes"},
            "`class_mass_normalization` must hold 2 positive numbers.*got 'yes'",
        ),
        (MaxMarginGraphCut, {"loss_weights": "auto"}, "`loss_weights` must be one of"),
        (SupervisedSVC, {"C": "x"}, "`C` must be > 0, got 'x'.*or use 'auto'"),
        (SupervisedSVC, {"C": -1}, "`C` must be > 0, got -1"),
    ],
    ids=str,
)
@pytest.mark.parametrize("rest", [{}, {"C": 10.0}, {"C": 10.0, "gamma_g": 0.1}], ids=str)
def test_errors_name_the_parameter(classifier, changed, message, rest):
    X, _, y = blobs()
    rest = {name: value for name, value in rest.items() if name in classifier().get_params()}
    with pytest.raises(ValueError, match=message):
        classifier(**{**rest, **changed}).fit(X, y)


def test_bound_of_a_blend_is_not_known():
    X, _, y = blobs()
    model = MaxMarginGraphCut(kernel="linear", c_labeled=1.0).fit(X, y)
    with pytest.raises(ValueError, match=r"no label has chosen, got .* gamma_g='auto'"):
        model.risk_bound()


# Very many rows: trials on a graph of a sample, solutions and machines on all


@pytest.fixture
def small_graphs(monkeypatch):
    monkeypatch.setattr(estimator_of_cuts, "MAX_TRIED", 80)


@pytest.mark.usefixtures("small_graphs")
@pytest.mark.parametrize("trust", [np.inf, 5.0, np.full(300, 5.0), [np.inf] * 300])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_candidates_on_the_graph_of_a_sample_are_solved_on_all_rows(n_classes, trust):
    X, _, y = blobs(n=300, n_classes=n_classes, distance=2.0)
    model = MaxMarginGraphCut(c_labeled=trust, random_state=0).fit(X, y)
    assert model.graph_.shape == (300, 300)
    assert len(model.harmonic_solution_.codes) == 300
    assert len(model.choice_.trials.given) == (y >= 0).sum()
    assert len(model.choice_.blended) <= 4
    np.testing.assert_allclose(
        model.machine_.pairwise(X), weighted_sum(model, X, y, X), atol=tolerance(model)
    )
    assert_sound(model, X)


@pytest.mark.usefixtures("small_graphs")
def test_given_graph_is_not_sampled():
    X, _, y = blobs(n=300, distance=2.0)
    W = knn_graph(X, 5)
    sampled = MaxMarginGraphCut(random_state=0).fit(X, y).choice_
    model = MaxMarginGraphCut(affinity="precomputed", random_state=0).fit(X, y, W=W)
    assert not np.allclose(model.choice_.log_likelihood, sampled.log_likelihood)
    assert model.gamma_g_path_["confidence"][-1] == 0.0


@pytest.mark.usefixtures("small_graphs")
def test_search_on_the_graph_of_a_sample_takes_validation_rows():
    X, truth, y = blobs(n=300, distance=2.0)
    search = MaxMarginGraphCutCV({"gamma_g": [0.1, np.inf], "C": [10.0]}, cv=(X[-60:], truth[-60:]))
    search.fit(X[:-60], y[:-60])
    assert len(search.choice_.trials.given) == 60
    assert search.best_estimator_.graph_.shape == (240, 240)
