"""Fits: failures, Ctrl-C, warnings, threads, refits, stages."""

import os
import signal
import sys
import threading
import warnings
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.validation import check_is_fitted

from graphmargin import _progress
from graphmargin.estimators import (
    HarmonicClassifier,
    ManifoldSVC,
    MaxMarginGraphCut,
    SemiSupervisedEnsemble,
)
from graphmargin.graph import knn_graph
from graphmargin.harmonic._solvers import iterative
from graphmargin.margin import Kernel, s3vm_training, training
from graphmargin.margin._solvers import feature_training, kernel_training
from graphmargin.search.execution import UnreachedWarning
from tests.estimators.problems import (
    MODELS,
    assert_same_results,
    blobs,
    every_class,
    every_model,
    fit,
)
from tests.harmonic.problems import eliminate_nothing

# A failed fit is no fit

FAILURES = {
    "harmonic": {"gamma_g": -1.0, "n_neighbors": 1000, "metric": "unknown", "cv": 3},
    "cut": {"C": [], "eps": 2.0, "kernel": "unknown", "c_labeled": -1.0},
    "manifold": {"gamma_u": -1.0, "laplacian_power": 0, "normalized": "yes"},
    "semi-supervised": {"approximation": "unknown", "class_prior": [1.0], "C": [1.0, -1.0]},
    "supervised": {"C": -1.0, "kernel": "unknown", "width": "wide", "cv": "loo"},
}


@every_class
def test_failed_fit_is_no_fit(name):
    X, _, y = blobs()
    for parameter, value in FAILURES[name].items():
        unfitted, fitted = clone(MODELS[name]), fit(name, X, y)
        for model in (unfitted, fitted):
            with pytest.raises(ValueError, match=f"`{parameter}`"):
                model.set_params(**{parameter: value}).fit(X, y)
            with pytest.raises(NotFittedError):
                check_is_fitted(model)
            with pytest.raises(NotFittedError):
                model.predict(X)
            assert not hasattr(model, "choice_")
            assert not hasattr(model, "predictor_")


@every_model
def test_fit_that_fails_late_is_no_fit(name, monkeypatch):
    """The failure is in a kernel, or a warning that is an error."""
    X, _, y = blobs()
    model = fit(name, X, y)
    if not name.startswith("harmonic"):

        def broken(_kernel, _first, _second):
            msg = "the kernel is broken"
            raise RuntimeError(msg)

        monkeypatch.setattr(Kernel, "__call__", broken)
        with pytest.raises(RuntimeError, match="the kernel is broken"):
            model.set_params(n_jobs=1).fit(X, y)
    else:
        far = np.vstack([X, np.full((8, 4), 1e4)])
        with pytest.raises(UserWarning, match="8 of 53 rows"):
            model.set_params(width=1.0).fit(far, np.append(y, [-1] * 8))
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.fixture
def interrupts():
    """Listen to Ctrl-C, which a shell makes its background jobs ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(sys.platform == "win32", reason="os.kill ends the process on Windows")
@pytest.mark.usefixtures("interrupts")
@pytest.mark.parametrize("name", ["cut", "cut-lists", "manifold-lists", "supervised"])
def test_ctrl_c_ends_a_fit_that_is_then_no_fit(name, monkeypatch):
    X, _, y = blobs()
    model = fit(name, X, y)
    evaluate = Kernel.__call__

    def interrupting(kernel, first, second):
        if threading.current_thread() is threading.main_thread():
            os.kill(os.getpid(), signal.SIGINT)
        return evaluate(kernel, first, second)

    monkeypatch.setattr(Kernel, "__call__", interrupting)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)
    monkeypatch.undo()
    model.fit(X, y)
    assert model.predict(X).shape == y.shape


# Warnings: raised once, with the line that calls fit


def one_warning(caught, category):
    """Return the text of the only warning, which points here."""
    (warning,) = caught
    assert warning.filename == __file__
    assert warning.category is category
    return str(warning.message)


def test_rows_that_another_member_labels_are_no_warning():
    X, _, y = blobs()
    X, y = np.vstack([X, np.full((9, 4), 50.0) + X[:9]]), np.append(y, [-1] * 9)
    with pytest.warns(UnreachedWarning, match="9 of 54 rows") as caught:
        SemiSupervisedEnsemble(members=["cut", "harmonic"], scale="none").fit(X, y)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SemiSupervisedEnsemble(members=["cut", "supervised"], scale="none").fit(X, y)


@pytest.mark.parametrize("name", ["harmonic", "harmonic-lists", "cut", "cut-lists"])
def test_rows_that_no_label_reaches_are_a_warning(name):
    X, _, y = blobs()
    X, y = np.vstack([X, np.full((9, 4), 50.0) + X[:9]]), np.append(y, [-1] * 9)
    model = clone(MODELS[name])
    with pytest.warns(UserWarning, match="in components of the graph") as caught:
        model.fit(X, y)
    assert one_warning(caught, UnreachedWarning).startswith("9 of 54 rows are in components")
    assert np.isin(model.transduction_, [0, 1]).all()
    fit(name, X, y, gamma_g=np.inf)  # no label travels, and warnings are errors


@pytest.mark.parametrize("name", ["harmonic", "harmonic-lists", "cut", "cut-lists"])
def test_solution_that_did_not_converge_is_a_warning(monkeypatch, name):
    impatient = partial(iterative.conjugate_gradients, max_iter=2)
    monkeypatch.setattr(iterative, "conjugate_gradients", impatient)
    X, _, y = blobs(n=80)
    eliminate_nothing(monkeypatch)
    model = clone(MODELS[name]).set_params(gamma_g=1e-4)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, y)
    text = one_warning(caught, ConvergenceWarning)
    assert text.startswith("harmonic solution: stopped after 2 iterations without convergence")
    assert model.n_iter_ == 2
    assert not model.harmonic_solution_.converged


@pytest.mark.parametrize("name", ["cut", "manifold", "supervised", "supervised-lists"])
def test_machine_that_did_not_converge_is_a_warning(monkeypatch, name):
    monkeypatch.setattr(training, "FEW_ITERATIONS", 1)
    monkeypatch.setattr(kernel_training, "MAX_ITERATIONS", 1)
    X, _, y = blobs(distance=0.5, per_class=8)
    model = clone(MODELS[name])
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, y)
    assert str(caught[0].message).startswith("max-margin machine: ")
    assert {warning.filename for warning in caught} == {__file__}
    assert len({str(warning.message) for warning in caught}) == len(caught), "each text once"
    assert not model.predictor_.part.machine.report.converged


def test_soft_labels_that_lose_a_class_are_a_warning():
    X = np.random.default_rng(0).normal(size=(12, 2))
    W, y = np.ones((12, 12)) - np.eye(12), np.array([0] * 5 + [1] + [-1] * 6)
    model = MaxMarginGraphCut(gamma_g=0.01, C=2.0, c_labeled=0.1)
    with pytest.warns(UserWarning, match="the soft solution") as caught:
        model.fit(X, y, W=W)
    assert one_warning(caught, UserWarning) == (
        "the soft solution induces no label of some class, so that labeled points keep their "
        "given labels; raise `c_labeled` or lower `gamma_g`"
    )
    np.testing.assert_array_equal(model.transduction_, [0] * 5 + [1] + [0] * 6)
    assert model.predict_proba(X).shape == (12, 2)


# Threads and seeds


@every_model
def test_results_are_equal_for_every_number_of_threads(name):
    X, _, y = blobs(3, distance=1.5)
    single, two, all_cores = (fit(name, X, y, n_jobs=n_jobs) for n_jobs in (1, 2, -1))
    for other in (two, all_cores):
        assert_same_results(single, other, X)
        if single.choice_ is not None:
            np.testing.assert_array_equal(single.choice_.weights, other.choice_.weights)


@pytest.mark.parametrize("name", ["cut", "semi-supervised", "supervised"])
def test_landmarks_depend_on_the_seed_and_not_on_threads(monkeypatch, name):
    for module in (feature_training, s3vm_training):
        monkeypatch.setattr(module, "N_LANDMARKS", 12)
    X, truth, y = blobs(3, distance=1.5)
    y = truth if name == "supervised" else y
    options = {"approximation": "nystroem", "random_state": 0}
    single, double = (fit(name, X, y, n_jobs=n_jobs, **options) for n_jobs in (1, 2))
    assert_same_results(single, double, X)
    other = fit(name, X, y, **{**options, "random_state": 1})
    assert np.any(other.predict_proba(X) != single.predict_proba(X))


# Refits


@every_model
def test_refit_forgets_the_earlier_fit(name):
    X, _, y = blobs()
    other, _, labels = blobs(3, n=36, d=3, seed=1)
    words = np.array(["", "ant", "bee", "cow"])[labels + 1]
    refitted = fit(name, pd.DataFrame(X, columns=list("abcd")), y)
    refitted.fit(other, words)
    fresh = fit(name, other, words)
    assert vars(refitted).keys() == vars(fresh).keys()
    assert refitted.n_features_in_ == 3
    assert refitted.classes_.tolist() == ["ant", "bee", "cow"]
    assert_same_results(refitted, fresh, other)


@every_class
def test_refit_with_numbers_forgets_the_choice(name):
    X, _, y = blobs()
    model = fit(f"{name}-lists", X, y)
    fresh = fit(name, X, y)
    assert model.choice_ is not None
    assert vars(model).keys() == vars(fresh).keys()
    model.set_params(**MODELS[name].get_params()).fit(X, y)
    assert model.choice_ is None
    assert vars(model).keys() == vars(fresh).keys()
    if name in ("harmonic", "cut"):
        assert model.gamma_g_path_ is None
    assert_same_results(model, fresh, X)


@pytest.mark.parametrize("classifier", [MaxMarginGraphCut, ManifoldSVC])
def test_refit_without_a_graph_or_a_kernel_matrix_leaves_nothing_behind(classifier):
    X, _, y = blobs()
    model = classifier(kernel="precomputed").fit(X @ X.T, y, W=knn_graph(X, 5))
    assert model.graph_recall_ is None
    model.set_params(kernel="rbf").fit(X, y)
    assert_same_results(model, classifier().fit(X, y), X)
    assert model.graph_recall_ == 1.0


@pytest.mark.parametrize("classifier", [MaxMarginGraphCut, ManifoldSVC])
@pytest.mark.parametrize("C", [2.0, [1.0, 10.0]], ids=["fixed", "list"])
def test_fit_does_not_change_graph_or_kernel(classifier, C):
    """Nor one in no canonical form: loops of weight zero, and columns in descending order."""
    X, _, y = blobs()
    n = len(X)
    edges = sparse.coo_array(knn_graph(X, 5))
    rows, columns = np.append(edges.row, np.arange(n)), np.append(edges.col, np.arange(n))
    order = np.lexsort((-columns, rows))
    W = sparse.csr_array(
        (
            np.append(edges.data, np.zeros(n))[order],
            columns[order],
            np.append(0, np.cumsum(np.bincount(rows))),
        )
    )
    K = X @ X.T
    before = [a.copy() for a in (K, y, W.data, W.indices, W.indptr)]
    model = classifier(kernel="precomputed", C=C).fit(K, y, W=W)
    model.predict_proba(K)
    np.testing.assert_array_equal(model.graph_.toarray(), knn_graph(X, 5).toarray())
    for now, then in zip((K, y, W.data, W.indices, W.indptr), before, strict=True):
        np.testing.assert_array_equal(now, then)


# Work


STAGES = {
    "harmonic": ["graph of 45 points", "1 harmonic solution"],
    "harmonic-lists": ["trial of 4 candidates", "graph of 45 points"],
    "cut": ["graph of 45 points", "1 harmonic solution", "max-margin classifier on 45 points"],
    "cut-lists": ["graph of 45 points", "trial of 4 candidates"],
    "manifold": ["graph of 45 points", "manifold-regularized SVM on 45 points"],
    "manifold-lists": [
        "graph of 45 points",
        "trial of 4 candidates",
        "manifold-regularized SVM on 45 points",
    ],
    "semi-supervised": ["semi-supervised SVM on 45 points"],
    "semi-supervised-lists": ["trial of 4 candidates", "semi-supervised SVM on 45 points"],
    "supervised": ["max-margin classifier on 8 points"],
    "supervised-lists": ["trial of 2 candidates"],
    "ensemble": ["graph of 45 points", "trial of 15 candidates", "trial of 15 candidates"],
}
"""The stages of a fit, or their beginnings, in the order in which they begin."""


ENDS = (" ...", ": done in 0.00 s")


@every_model
def test_stages_are_reported_on_standard_error(capsys, monkeypatch, name):
    X, _, y = blobs()
    monkeypatch.setattr(_progress, "time", SimpleNamespace(perf_counter=lambda: 3.0))
    model = fit(name, X, y, verbose=1)
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = [line.removeprefix("[graphmargin] ") for line in captured.err.splitlines()]
    begun = [line.removesuffix(" ...") for line in lines if line.endswith(" ...")]
    for stage, expected in zip(begun, STAGES[name], strict=True):
        assert stage.startswith(expected)
    assert sorted(set(lines)) == sorted({f"{stage}{end}" for stage in begun for end in ENDS})
    if isinstance(model, MaxMarginGraphCut | ManifoldSVC):
        fit_again = clone(model).set_params(n_neighbors=5)
        fit_again.fit(X, y, W=knn_graph(X, 5))
        assert "graph of" not in capsys.readouterr().err
    fit(name, X, y)
    assert capsys.readouterr().err == ""


def test_recall_of_the_graph_is_reported(monkeypatch):
    rng = np.random.default_rng(0)
    X = (3 * rng.normal(size=(20, 30)))[rng.integers(0, 20, 2_000)] + rng.normal(size=(2_000, 30))
    y = np.where(np.arange(2_000) < 200, np.arange(2_000) % 2, -1)
    assert HarmonicClassifier().fit(X, y).graph_recall_ == 1.0
    monkeypatch.setattr("graphmargin.graph._search.neighbors.MAX_EXACT", 100)
    monkeypatch.setattr("graphmargin.graph._search.neighbors.EXACT_WORK", 0)
    assert 0.9 <= HarmonicClassifier(random_state=0).fit(X, y).graph_recall_ < 1.0
