from functools import partial

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from graphmargin.estimators import SupervisedSVC
from graphmargin.harmonic import harmonic_solution
from graphmargin.harmonic._solvers import iterative
from graphmargin.margin import Kernel, train_machine, training
from graphmargin.margin._solvers import kernel_training
from graphmargin.search.execution import (
    Execution,
    UnreachedWarning,
    machine_warnings,
    solution_warnings,
)


@pytest.mark.parametrize(
    ("random_state", "seed"), [(None, 0), (0, 0), (7, 7), (np.int64(7), 7), (np.uint8(3), 3)]
)
def test_whole_numbers_are_seeds(random_state, seed):
    run = Execution.from_estimator(SupervisedSVC(random_state=random_state, n_jobs=2, verbose=1))
    assert run == Execution(n_jobs=2, seed=seed, verbose=1)
    assert type(run.seed) is int


def test_generator_draws_a_seed_for_each_fit():
    model = SupervisedSVC(random_state=np.random.RandomState(0))
    first, second = (Execution.from_estimator(model).seed for _ in range(2))
    assert first != second
    model.set_params(random_state=np.random.RandomState(0))
    assert [Execution.from_estimator(model).seed for _ in range(2)] == [first, second]


@pytest.mark.parametrize("random_state", ["x", [0, 1]], ids=str)
def test_other_seeds_are_refused(random_state):
    with pytest.raises(ValueError, match="cannot be used to seed"):
        Execution.from_estimator(SupervisedSVC(random_state=random_state))


def test_solution_that_converged_and_reaches_all_rows_has_no_warning(path_graph):
    assert solution_warnings(harmonic_solution(path_graph(4), [0, -1, -1, 1])) == []


def test_unreached_rows_are_counted_unless_gamma_g_is_infinite():
    W, y = np.kron(np.eye(3), [[0.0, 1.0], [1.0, 0.0]]), [0, -1, 1, -1, -1, -1]
    (warning,) = solution_warnings(harmonic_solution(W, y, gamma_g=0.1))
    assert warning.category is UnreachedWarning
    assert warning.text == (
        "2 of 6 rows are in components of the graph without a label, so that the graph does not "
        "label them; label one row in each component, or join them by more neighbors"
    )
    assert solution_warnings(harmonic_solution(W, y, gamma_g=np.inf)) == []


def test_warning_about_convergence_names_a_remedy(path_graph, monkeypatch):
    impatient = partial(iterative.conjugate_gradients, max_iter=1)
    monkeypatch.setattr(iterative, "conjugate_gradients", impatient)
    y = [0, *[-1] * 38, 1]
    solution = harmonic_solution(path_graph(40), y, gamma_g=1e-3, solver="cg")
    (warning,) = solution_warnings(solution)
    assert warning.category is ConvergenceWarning
    assert "stopped after 1 iterations without convergence" in warning.text
    assert warning.text.endswith("; use a larger gamma_g")


def test_each_failure_of_machines_is_reported_once(monkeypatch):
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(30, 2)), rng.integers(2, size=30)
    good = train_machine(X, codes, Kernel("linear"), C=1.0)
    monkeypatch.setattr(training, "FEW_ITERATIONS", 1)
    monkeypatch.setattr(kernel_training, "MAX_ITERATIONS", 1)
    bad = train_machine(X, codes, Kernel("linear"), C=1.0)
    assert machine_warnings([good]) == []
    (warning,) = machine_warnings([bad, good, bad])
    assert warning == (bad.report.failure, ConvergenceWarning)
    assert warning.text == (
        "max-margin machine: LIBSVM did not converge in 1 iterations; scale the features or lower C"
    )
