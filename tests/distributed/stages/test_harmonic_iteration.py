import pickle

import numpy as np
import pytest
from dask.sizeof import sizeof
from scipy import sparse
from sklearn.cluster import KMeans

from graphmargin._progress import progress_listener
from graphmargin.distributed.engine.handles import PartitionedGraph, Solution, StoredSolution
from graphmargin.distributed.engine.memory_plan import vertex_bytes
from graphmargin.distributed.engine.run import Run
from graphmargin.distributed.engine.storage import Folder
from graphmargin.distributed.stages import harmonic_iteration
from graphmargin.distributed.stages import harmonic_tasks as tasks
from graphmargin.distributed.stages.components import find_reached
from graphmargin.distributed.stages.harmonic_iteration import HarmonicReport, solve
from graphmargin.graph import knn_graph
from graphmargin.harmonic import harmonic_solution
from tests.distributed.rows import read_whole, write_graph


@pytest.fixture(scope="module", autouse=True)
def _short_checkpoints():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(harmonic_iteration, "CHECKPOINT", 3)
        yield


@pytest.fixture
def run(cluster, tmp_path):
    return Run(Folder(str(tmp_path)), cluster)


def mixture(n, d, n_classes, seed):
    """Return a neighbor graph of points in overlapping clusters, some labels, and the points."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_classes, size=n)
    X = rng.normal(size=(n_classes, d))[truth] + rng.normal(0, 0.6, (n, d))
    codes = np.where(rng.random(n) < 0.02, truth, -1)
    codes[:n_classes], truth[:n_classes] = np.arange(n_classes), np.arange(n_classes)
    return knn_graph(X, 8, recall=1.0), codes, X


def spatial(X, n_partitions):
    return KMeans(n_partitions, n_init=1, random_state=0).fit_predict(X)


@pytest.fixture(scope="module")
def problem_of_3000():
    return mixture(3000, 6, 4, seed=0)


def solved(run, W, codes, owner, n_partitions, gamma_g):
    """Write a graph in partitions and solve; return the report and the whole solution."""
    write_graph(run.folder, W, codes, owner, n_partitions)
    find_reached(run, n_partitions)
    report = solve(run, n_partitions, int(np.max(codes)) + 1, gamma_g)
    solution = StoredSolution(run.folder, gamma_g)
    return report, read_whole(solution, Solution, owner, n_partitions)


def assert_same_labels(stored, solution):
    clear = solution.confidence >= 1e-6
    np.testing.assert_array_equal(stored.codes[clear], solution.codes[clear])
    np.testing.assert_allclose(stored.confidence, solution.confidence, atol=1e-5)
    np.testing.assert_allclose(stored.mass, solution.class_mass, atol=1e-5)


def files_of(folder):
    solution = StoredSolution(folder, 1.0).folder
    return [solution.read_bytes(name) for name in solution.names() if name.endswith(".pack")]


def on_iteration(action):
    """Return a watch that calls `action` with the number of every iteration."""

    def watch(name):
        n_seen = iter(range(harmonic_iteration.MAX_ITERATIONS))

        def tell(_, news):
            if name.endswith("iterations") and news:
                action(next(n_seen))

        return tell

    return watch


def test_the_solution_on_a_path_is_that_by_hand(run, path_graph):
    codes = [0, -1, -1, -1, -1, 1]
    owner = np.array([0, 1, 1, 2, 0, 2])
    report, solution = solved(run, path_graph(6), codes, owner, 3, gamma_g=0.0)
    assert report.converged
    assert report.certain
    assert report.violation < 1e-6
    np.testing.assert_allclose(solution.mass[:, 1], np.arange(6) / 5, atol=1e-6)
    np.testing.assert_allclose(solution.mass.sum(axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(solution.confidence, [1, 0.6, 0.2, 0.2, 0.6, 1], atol=1e-6)
    assert solution.codes.tolist() == [0, 0, 0, 1, 1, 1]
    assert [array.dtype for array in solution] == [np.int32, np.float64, np.float32]


def test_the_solution_with_a_sink_is_that_by_hand(run):
    W = np.array([[0, 1, 0], [1, 0, 3], [0, 3, 0.0]])
    _, solution = solved(run, W, [0, -1, 1], np.array([0, 1, 1]), 2, gamma_g=4.0)
    np.testing.assert_allclose(solution.mass[1], [1 / 8, 3 / 8], atol=1e-7)
    assert solution.confidence[1] == pytest.approx(1 / 4, abs=1e-7)


@pytest.mark.parametrize(
    ("where", "gamma_g"), [("regions", 0.3), ("regions", 10.0), ("anywhere", 1.0)]
)
def test_the_solution_agrees_with_one_machine(run, problem_of_3000, where, gamma_g):
    W, codes, X = problem_of_3000
    at_random = np.random.default_rng(1).integers(3, size=len(codes))
    owner = spatial(X, 3) if where == "regions" else at_random
    report, solution = solved(run, W, codes, owner, 3, gamma_g)
    assert report.converged
    assert report.certain
    assert_same_labels(solution, harmonic_solution(W, codes, gamma_g=gamma_g))


@pytest.mark.parametrize("gamma_g", [0.0, 0.3])
def test_components_without_labels_and_empty_partitions_are_solved(run, random_graph, gamma_g):
    # Two islands, of which one has no label; a labeled vertex alone, an unlabeled one alone.
    W = sparse.block_diag([random_graph(20, 0), random_graph(9, 1), np.zeros((2, 2))]).tocsr()
    codes = np.full(31, -1)
    codes[[0, 1, 29]] = 0, 1, 2
    owner = np.random.default_rng(0).integers(1, 4, size=31)
    owner[[0, 1]] = 1
    owner[29], owner[30] = 5, 6  # nothing in parts 0 and 4, nothing to solve in 5 and 6
    report, stored = solved(run, W, codes, owner, 7, gamma_g)
    assert report.certain
    solution = harmonic_solution(W, codes, gamma_g=gamma_g)
    assert_same_labels(stored, solution)
    np.testing.assert_array_equal(stored.codes == -1, solution.unreached)
    assert not stored.mass[solution.unreached].any()
    assert not stored.confidence[solution.unreached].any()
    assert (stored.confidence[codes >= 0] == 1).all()


def test_a_graph_without_free_vertices_is_solved(run, path_graph):
    report, solution = solved(run, path_graph(3), [0, 1, 0], np.array([0, 1, 1]), 2, gamma_g=0.0)
    assert report == HarmonicReport(0, True, True, 0.0)
    assert solution.codes.tolist() == [0, 1, 0]


def test_coarse_graphs_of_large_partitions_agree_with_one_machine(run):
    W, codes, X = mixture(6_000, 16, 10, seed=2)
    owner = spatial(X, 2)
    report, solution = solved(run, W, codes, owner, 2, gamma_g=0.0)
    assert report.certain
    assert report.violation < 1e-6
    assert_same_labels(solution, harmonic_solution(W, codes))
    problem = tasks.PartitionedProblem(run.folder, 10, 0.0)
    systems = [tasks.read_system(number, problem) for number in range(2)]
    assert all(system.preconditioner is not None for system in systems)


@pytest.fixture(scope="module")
def undisturbed(cluster, problem_of_3000, tmp_path_factory):
    """Return the partitions of a problem, how it was solved, and the files of the solution.

    The last is a dictionary of the files that were there in each iteration.
    """
    W, codes, X = problem_of_3000
    owner, names = spatial(X, 2), {}
    run = Run(Folder(str(tmp_path_factory.mktemp("undisturbed"))), cluster)
    work = StoredSolution(run.folder, 1.0).folder / "work"
    with progress_listener(on_iteration(lambda i: names.update({i: work.names()}))):
        report, _ = solved(run, W, codes, owner, 2, gamma_g=1.0)
    assert report.iterations > 7
    return owner, report, files_of(run.folder), names


class StopError(Exception):
    """Ends a run in the midst of it."""


@pytest.mark.parametrize(("last", "checkpoint"), [(1, 0), (4, 3), (6, 6)])
def test_a_run_that_goes_on_has_the_same_bits(run, problem_of_3000, undisturbed, last, checkpoint):
    W, codes, _ = problem_of_3000
    owner, report, files, _ = undisturbed

    def stop(iteration):
        if iteration == last:
            raise StopError

    with pytest.raises(StopError), progress_listener(on_iteration(stop)):
        solved(run, W, codes, owner, 2, gamma_g=1.0)
    seen = []
    with progress_listener(on_iteration(seen.append)):
        assert solve(run, 2, 4, 1.0) == report
    assert len(seen) == report.iterations + 1 - checkpoint
    assert files_of(run.folder) == files


def test_a_damaged_checkpoint_is_not_used(run, problem_of_3000, undisturbed):
    W, codes, _ = problem_of_3000
    owner, report, files, _ = undisturbed

    def stop(iteration):
        if iteration == 4:
            raise StopError

    with pytest.raises(StopError), progress_listener(on_iteration(stop)):
        solved(run, W, codes, owner, 2, gamma_g=1.0)
    work = StoredSolution(run.folder, 1.0).folder / "work"
    work.remove(["state-000003/000001.pack"])
    seen = []
    with progress_listener(on_iteration(seen.append)):
        assert solve(run, 2, 4, 1.0) == report
    assert len(seen) == report.iterations + 1
    assert files_of(run.folder) == files


def test_files_from_before_a_checkpoint_are_removed(undisturbed):
    *_, names = undisturbed
    assert names[7] == ["halo-000006", "halo-000007", "state-000006"]


def test_a_solution_is_computed_once_and_only_its_files_are_left(run, path_graph):
    owner = np.array([0, 0, 1, 1])
    report, _ = solved(run, path_graph(4), [0, -1, -1, 1], owner, 2, gamma_g=0.0)
    assert run.seconds["harmonic-0"] > 0
    assert "work" not in StoredSolution(run.folder, 0.0).folder.names()
    PartitionedGraph(run.folder).folder.remove()
    assert solve(run, 2, 2, 0.0) == report


def test_an_iteration_that_does_not_converge_is_reported(run, problem_of_3000, monkeypatch):
    W, codes, X = problem_of_3000
    monkeypatch.setattr(harmonic_iteration, "MAX_ITERATIONS", 3)
    report, solution = solved(run, W, codes, spatial(X, 2), 2, gamma_g=0.0)
    assert report.iterations == 3
    assert not report.converged
    assert not report.certain
    assert report.violation > 1e-6
    assert (solution.codes >= 0).all()


def test_a_system_is_pickled_as_its_files_and_dask_measures_its_memory(run, problem_of_3000):
    W, codes, X = problem_of_3000
    write_graph(run.folder, W, codes, spatial(X, 2), 2)
    find_reached(run, 2)
    problem = tasks.PartitionedProblem(run.folder, 4, 0.1)
    systems = [tasks.read_system(number, problem) for number in range(2)]
    states = [tasks.start_state(system, 0) for system in systems]
    product = tasks.multiply((systems[0], states[0]), 0)

    pickled = pickle.dumps(systems[0])
    assert len(pickled) < 2000
    moved = pickle.loads(pickled)
    np.testing.assert_array_equal(moved.root, systems[0].root)
    again = tasks.multiply((moved, tasks.start_state(moved, 0)), 0)
    np.testing.assert_array_equal(again.W, product.W)
    np.testing.assert_array_equal(again.curvature, product.curvature)

    n = len(systems[0].root)
    measured = sizeof(systems[0]) + sizeof(states[0]) + sizeof(product)
    expected = n * vertex_bytes(4, n_edges=len(systems[0].matrix[1]) / n)
    assert measured == pytest.approx(expected, rel=0.2)
