import pickle

import numpy as np
import pytest
from dask.sizeof import sizeof
from scipy import sparse
from sklearn.cluster import KMeans

from graphmargin._progress import progress_listener
from graphmargin.distributed import diffusion
from graphmargin.distributed import diffusion_part as tasks
from graphmargin.distributed.components import find_reached
from graphmargin.distributed.diffusion import bytes_of_a_vertex, solve
from graphmargin.distributed.run import Run, file_name
from graphmargin.distributed.storage import Folder
from graphmargin.graph import knn_graph
from graphmargin.harmonic import harmonic_solution
from tests.distributed.split import read_whole, write_parts


@pytest.fixture(scope="module", autouse=True)
def _short_checkpoints():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(diffusion, "CHECKPOINT", 3)
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


def spatial(X, n_parts):
    return KMeans(n_parts, n_init=1, random_state=0).fit_predict(X)


@pytest.fixture(scope="module")
def problem_of_3000():
    return mixture(3000, 6, 4, seed=0)


def solved(run, W, codes, part, n_parts, gamma_g, name="labels"):
    """Write a graph in parts and solve; return the facts and the whole solution."""
    write_parts(run.folder, W, codes, part, n_parts)
    find_reached(run, n_parts)
    facts = solve(run, n_parts, int(np.max(codes)) + 1, gamma_g, name)
    return facts, read_whole(run.folder, name, part, n_parts)


def assert_same_labels(found, solution):
    clear = solution.confidence >= 1e-6
    np.testing.assert_array_equal(found["codes"][clear], solution.codes[clear])
    np.testing.assert_allclose(found["confidence"], solution.confidence, atol=1e-5)
    np.testing.assert_allclose(found["mass"], solution.class_mass, atol=1e-5)


def packs_of(folder):
    return [(folder / "labels").read_bytes(file_name(number)) for number in range(2)]


def on_iteration(action):
    """Return a watch that calls `action` with the number of every iteration."""

    def watch(name):
        n_seen = iter(range(diffusion.MAX_ITERATIONS))

        def tell(_, news):
            if name.endswith("iterations") and news:
                action(next(n_seen))

        return tell

    return watch


def test_path_by_hand(run, path_graph):
    codes = [0, -1, -1, -1, -1, 1]
    part = np.array([0, 1, 1, 2, 0, 2])
    facts, found = solved(run, path_graph(6), codes, part, 3, gamma_g=0.0)
    assert facts.converged
    assert facts.certain
    assert facts.violation < 1e-6
    np.testing.assert_allclose(found["mass"][:, 1], np.arange(6) / 5, atol=1e-6)
    np.testing.assert_allclose(found["mass"].sum(axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(found["confidence"], [1, 0.6, 0.2, 0.2, 0.6, 1], atol=1e-6)
    assert found["codes"].tolist() == [0, 0, 0, 1, 1, 1]
    assert {key: value.dtype for key, value in found.items()} == {
        "codes": np.int32,
        "confidence": np.float64,
        "mass": np.float32,
    }


def test_sink_by_hand(run):
    W = np.array([[0, 1, 0], [1, 0, 3], [0, 3, 0.0]])
    _, found = solved(run, W, [0, -1, 1], np.array([0, 1, 1]), 2, gamma_g=4.0)
    np.testing.assert_allclose(found["mass"][1], [1 / 8, 3 / 8], atol=1e-7)
    assert found["confidence"][1] == pytest.approx(1 / 4, abs=1e-7)


@pytest.mark.parametrize(
    ("where", "gamma_g"), [("regions", 0.3), ("regions", 10.0), ("anywhere", 1.0)]
)
def test_agrees_with_one_machine(run, problem_of_3000, where, gamma_g):
    W, codes, X = problem_of_3000
    at_random = np.random.default_rng(1).integers(3, size=len(codes))
    part = spatial(X, 3) if where == "regions" else at_random
    facts, found = solved(run, W, codes, part, 3, gamma_g)
    assert facts.converged
    assert facts.certain
    assert_same_labels(found, harmonic_solution(W, codes, gamma_g=gamma_g))


@pytest.mark.parametrize("gamma_g", [0.0, 0.3])
def test_islands_and_empty_parts(run, random_graph, gamma_g):
    # Two islands, of which one has no label; a labeled vertex alone, an unlabeled one alone.
    W = sparse.block_diag([random_graph(20, 0), random_graph(9, 1), np.zeros((2, 2))]).tocsr()
    codes = np.full(31, -1)
    codes[[0, 1, 29]] = 0, 1, 2
    part = np.random.default_rng(0).integers(1, 4, size=31)
    part[[0, 1]] = 1
    part[29], part[30] = 5, 6  # nothing in parts 0 and 4, nothing to solve in 5 and 6
    facts, found = solved(run, W, codes, part, 7, gamma_g)
    assert facts.certain
    solution = harmonic_solution(W, codes, gamma_g=gamma_g)
    assert_same_labels(found, solution)
    np.testing.assert_array_equal(found["codes"] == -1, solution.unreached)
    assert not found["mass"][solution.unreached].any()
    assert not found["confidence"][solution.unreached].any()
    assert (found["confidence"][codes >= 0] == 1).all()


def test_nothing_to_solve(run, path_graph):
    facts, found = solved(run, path_graph(3), [0, 1, 0], np.array([0, 1, 1]), 2, gamma_g=0.0)
    assert facts == diffusion.DiffusionFacts(0, True, True, 0.0)
    assert found["codes"].tolist() == [0, 1, 0]


def test_coarse_graphs_of_large_parts_agree_with_one_machine(run):
    W, codes, X = mixture(6_000, 16, 10, seed=2)
    part = spatial(X, 2)
    facts, found = solved(run, W, codes, part, 2, gamma_g=0.0)
    assert facts.certain
    assert facts.violation < 1e-6
    assert_same_labels(found, harmonic_solution(W, codes))
    reader = tasks.Problem(run.folder, "labels", 10, 0.0)
    assert all(tasks.read_part(number, reader).turn is not None for number in range(2))


@pytest.fixture(scope="module")
def undisturbed(cluster, problem_of_3000, tmp_path_factory):
    """Return the parts of a problem, how it was solved, and the files of the solution.

    The last is a dictionary of the files that were there in each iteration.
    """
    W, codes, X = problem_of_3000
    part, names = spatial(X, 2), {}
    run = Run(Folder(str(tmp_path_factory.mktemp("undisturbed"))), cluster)
    work = run.folder / "labels" / "work"
    with progress_listener(on_iteration(lambda i: names.update({i: work.names()}))):
        facts, _ = solved(run, W, codes, part, 2, gamma_g=1.0)
    assert facts.iterations > 7
    return part, facts, packs_of(run.folder), names


class StopError(Exception):
    """Ends a run in the midst of it."""


@pytest.mark.parametrize(("last", "checkpoint"), [(1, 0), (4, 3), (6, 6)])
def test_goes_on_where_it_was_to_the_last_bit(run, problem_of_3000, undisturbed, last, checkpoint):
    W, codes, _ = problem_of_3000
    part, facts, packs, _ = undisturbed

    def stop(iteration):
        if iteration == last:
            raise StopError

    with pytest.raises(StopError), progress_listener(on_iteration(stop)):
        solved(run, W, codes, part, 2, gamma_g=1.0)
    seen = []
    with progress_listener(on_iteration(seen.append)):
        assert solve(run, 2, 4, 1.0, "labels") == facts
    assert len(seen) == facts.iterations + 1 - checkpoint
    assert packs_of(run.folder) == packs


def test_files_from_before_a_checkpoint_are_removed(undisturbed):
    *_, names = undisturbed
    assert names[7] == [
        tasks.halo_name(6),
        tasks.halo_name(7),
        diffusion.SCALARS,
        tasks.state_name(6),
    ]


def test_is_solved_once_and_leaves_the_solution_alone(run, path_graph):
    part = np.array([0, 0, 1, 1])
    facts, _ = solved(run, path_graph(4), [0, -1, -1, 1], part, 2, gamma_g=0.0)
    assert run.seconds["labels"] > 0
    assert "work" not in (run.folder / "labels").names()
    (run.folder / "graph").remove([file_name(0), file_name(1)])
    assert solve(run, 2, 2, 0.0, "labels") == facts


def test_an_iteration_that_does_not_converge_says_so(run, problem_of_3000, monkeypatch):
    W, codes, X = problem_of_3000
    monkeypatch.setattr(diffusion, "MAX_ITERATIONS", 3)
    facts, found = solved(run, W, codes, spatial(X, 2), 2, gamma_g=0.0)
    assert facts.iterations == 3
    assert not facts.converged
    assert not facts.certain
    assert facts.violation > 1e-6
    assert (found["codes"] >= 0).all()


def test_a_part_that_moves_is_read_again_and_memory_is_known(run, problem_of_3000):
    W, codes, X = problem_of_3000
    write_parts(run.folder, W, codes, spatial(X, 2), 2)
    find_reached(run, 2)
    problem = tasks.Problem(run.folder, "labels", 4, 0.1)
    parts = [tasks.read_part(number, problem) for number in range(2)]
    states = [tasks.start(part, 0) for part in parts]
    product = tasks.multiply((parts[0], states[0]), 0)

    sent = pickle.dumps(parts[0])
    assert len(sent) < 2000
    moved = pickle.loads(sent)
    np.testing.assert_array_equal(moved.root, parts[0].root)
    again = tasks.multiply((moved, tasks.start(moved, 0)), 0)
    np.testing.assert_array_equal(again.W, product.W)
    np.testing.assert_array_equal(again.curvature, product.curvature)

    n = len(parts[0].root)
    taken = sizeof(parts[0]) + sizeof(states[0]) + sizeof(product)
    expected = n * bytes_of_a_vertex(4, n_edges=len(parts[0].matrix[1]) / n)
    assert taken == pytest.approx(expected, rel=0.2)
