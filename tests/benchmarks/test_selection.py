import subprocess
import sys
import time
from itertools import product

import numpy as np
import pytest
from sklearn.model_selection import ParameterGrid

from benchmarks import measure
from benchmarks.adapter import Outcome, System
from benchmarks.problems import PROBLEMS, Problem, letter
from benchmarks.selection import (
    AUTO_GRID,
    FIXED,
    FOLDS,
    FULL_GRID,
    SELECTION_SYSTEMS,
    grid_search,
    n_fits,
)
from benchmarks.suites import (
    AUTO,
    LOOP_SVC,
    NAIVE,
    NAIVE_ESTIMATE,
    NAIVE_FULL,
    NAIVE_IN_PROCESSES,
    SEARCH,
    Case,
)
from benchmarks.suites import FIXED as FIXED_FIT
from benchmarks.systems import SYSTEMS
from graphmargin import MaxMarginGraphCut, knn_graph
from graphmargin.graph.weights import paper_width
from graphmargin.margin import Kernel
from graphmargin.search.parameters import c_grid, gamma_g_grid

SMALL_GRID = {"gamma_g": [0.1, np.inf], "C": [1.0, 10.0]}


@pytest.fixture(scope="module")
def blobs():
    random = np.random.default_rng(0)
    y = np.arange(80) % 2
    X = random.normal(size=(80, 3)) + 2.5 * np.eye(3)[y]
    return Problem(X, y, np.where(np.arange(80) < 12, y, -1))


def labels_by(system, problem):
    return SYSTEMS[system].run(problem, 5).labels()


def test_names_of_systems_tell_the_number_of_candidates_and_of_fits():
    assert n_fits(AUTO_GRID) == 76
    assert n_fits(FULL_GRID) == 196
    assert NAIVE_ESTIMATE.removeprefix(NAIVE) == f" (estimate: {n_fits(AUTO_GRID)} x one fit)"
    for grid, names in [
        (AUTO_GRID, {NAIVE, NAIVE_ESTIMATE}),
        (FULL_GRID, {SEARCH, NAIVE_FULL, NAIVE_IN_PROCESSES, LOOP_SVC}),
    ]:
        told = f"{len(ParameterGrid(grid))} candidates"
        assert {name for name in SELECTION_SYSTEMS if told in name} == names


def test_grid_search_has_the_candidates_of_the_automatic_fit():
    X = letter(0).X
    assert gamma_g_grid(knn_graph(X, 5, random_state=0)) == AUTO_GRID["gamma_g"]
    assert c_grid(X, Kernel("rbf", paper_width(X))) == AUTO_GRID["C"]
    assert all(value in AUTO_GRID[name] for name, value in FIXED.items())


@pytest.fixture
def fits(monkeypatch):
    """Return a list that grows by (gamma_g, C, number of rows) with every fit."""
    counts, fit = [], MaxMarginGraphCut.fit

    def counted(self, X, y, W=None):
        counts.append((self.gamma_g, self.C, len(y)))
        return fit(self, X, y, W)

    monkeypatch.setattr(MaxMarginGraphCut, "fit", counted)
    return counts


def test_grid_search_fits_every_candidate_in_every_fold(blobs, fits):
    search = grid_search(blobs, 5, SMALL_GRID)
    assert len(fits) == n_fits(SMALL_GRID) == 21
    assert {one[:2] for one in fits} == set(product(*SMALL_GRID.values()))
    assert {n for _, _, n in fits[:-1]} == {
        len(train) for train, _ in FOLDS.split(blobs.X, blobs.y_few)
    }
    assert fits[-1] == (search.best_params_["gamma_g"], search.best_params_["C"], 80)


def test_estimate_is_one_fit_that_stands_for_all_and_has_no_error(blobs, fits):
    outcome = SYSTEMS[NAIVE_ESTIMATE].run(blobs, 5)
    assert [one[:2] for one in fits] == [(FIXED["gamma_g"], FIXED["C"])]
    assert outcome.stands_for == n_fits(AUTO_GRID)
    assert outcome.labels is None


@pytest.fixture
def measured(blobs, monkeypatch):
    """Return a function that measures a system on the blobs."""

    def measure_system(run):
        monkeypatch.setitem(SYSTEMS, "own", System(run))
        monkeypatch.setitem(PROBLEMS, "blobs", lambda _seed: blobs)
        return measure.measure(Case("blobs", "own"), 0, None, None)

    return measure_system


def test_times_of_an_estimate_are_multiplied(measured):
    def run(_problem, _k):
        time.sleep(0.02)
        return Outcome(None, stands_for=50)

    result = measured(run)
    assert result["wall"] >= 50 * 0.02
    assert result["stands_for"] == 50
    assert "error" not in result


def test_loop_with_svc_learns_what_the_fixed_fit_learns(blobs, monkeypatch):
    for name, value in FIXED.items():
        monkeypatch.setitem(FULL_GRID, name, [value])
    assert (labels_by(LOOP_SVC, blobs) == labels_by(FIXED_FIT, blobs)).all()


@pytest.mark.parametrize("system", [AUTO, SEARCH, NAIVE_FULL, LOOP_SVC])
def test_all_find_the_labels_of_an_easy_problem(system, blobs, monkeypatch):
    for name, values in SMALL_GRID.items():
        monkeypatch.setitem(FULL_GRID, name, values)
    assert np.mean(labels_by(system, blobs) == blobs.y) > 0.9


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_processes_at_work_are_part_of_the_cpu_seconds():
    burn = "import time\nwhile time.process_time() < 0.3: pass\nprint(flush=True)\ninput()"
    before = measure._cpu_seconds()
    with subprocess.Popen(
        [sys.executable, "-c", burn], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        process.stdout.readline()
        during = measure._cpu_seconds()
        process.communicate(b"\n")
    assert during - before >= 0.25
    assert measure._cpu_seconds() - before == pytest.approx(during - before, abs=0.3)
