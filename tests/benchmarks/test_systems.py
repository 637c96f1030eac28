import numpy as np
import pytest

from benchmarks.problems import Problem
from benchmarks.suites import (
    CUT,
    CUT_SVC,
    DEFAULT_LAPLACE,
    DEFAULTS,
    LAP_SVM,
    MANIFOLD,
    MANIFOLD_ONE,
    MANIFOLD_PATH,
    PATH,
    SEPARATE,
    STAGES,
    SUITES,
)
from benchmarks.systems import FLOORS, GAMMA_U, GAMMA_US, GAMMAS, SYSTEMS


@pytest.fixture(scope="module")
def blobs():
    random = np.random.default_rng(0)
    y = np.arange(240) % 3
    X = random.normal(size=(240, 4)) + 2.5 * np.eye(4)[y]
    y_few = np.where(np.arange(240) < 30, y, -1)
    X_new = random.normal(size=(60, 4)) + 2.5 * np.eye(4)[y[:60]]
    return Problem(X, y, y_few, X_new, y[:60])


def run(system, problem):
    return SYSTEMS[system].run(SYSTEMS[system].prepare(problem, 5), 5)


def test_cases_bases_and_references_of_suites():
    assert {case.system for suite in SUITES.values() for case in suite.cases} == set(SYSTEMS)
    for suite in SUITES.values():
        assert suite.base in {case.system for case in suite.cases}
        if suite.reference:
            assert suite.cases[0].system == suite.reference


@pytest.mark.parametrize("system", [name for name in DEFAULTS if name != DEFAULT_LAPLACE])
def test_default_systems_learn_well_separated_classes(system, blobs):
    labels = run(system, blobs).labels
    assert np.mean((labels == blobs.y)[blobs.hidden]) > 0.8


def test_cut_agrees_with_its_machine_by_scikit_learn(blobs):
    ours, theirs = run(CUT, blobs), run(CUT_SVC, blobs)
    assert np.mean(ours.new_labels == theirs.new_labels) > 0.95
    assert set(ours.stages) == set(theirs.stages) == {"fit", "predict"}


def test_path_has_the_labels_of_separate_solutions(blobs):
    path = run(PATH, blobs).labels
    assert path.shape == (len(GAMMAS), len(blobs.y))
    assert (path == run(SEPARATE, blobs).labels).all()


def test_stages_give_the_labels_of_the_estimator(blobs):
    outcome = run(STAGES, blobs)
    assert list(outcome.stages) == list(FLOORS)
    assert set(outcome.floors) == set(FLOORS)
    assert (outcome.new_labels == run(CUT, blobs).new_labels).all()


def test_manifold_regularization_has_the_labels_of_the_dense_lap_svm(blobs):
    expected = run(LAP_SVM, blobs).labels
    np.testing.assert_array_equal(run(MANIFOLD, blobs).labels, expected)
    np.testing.assert_array_equal(run(MANIFOLD_ONE, blobs).labels, expected)
    path = run(MANIFOLD_PATH, blobs).labels
    assert path.shape == (7, 240)
    assert GAMMA_US[3] == pytest.approx(GAMMA_U)
    np.testing.assert_array_equal(path[3], expected)
