import numpy as np
import pytest
from scipy import sparse

from graphmargin.distributed.components import Reached, find_reached
from graphmargin.distributed.run import Run, file_name
from graphmargin.distributed.storage import Folder
from graphmargin.harmonic.problem import harmonic_problem
from tests.distributed.split import read_whole, write_parts


@pytest.fixture
def run(cluster, tmp_path):
    return Run(Folder(str(tmp_path)), cluster)


@pytest.mark.parametrize("labeled", [0, 3, 5])
def test_a_label_reaches_through_all_parts(run, path_graph, labeled):
    codes = np.full(6, -1)
    codes[labeled] = 0
    part = np.array([0, 1, 0, 1, 2, 0])  # every edge of the path but none within a part
    write_parts(run.folder, path_graph(6), codes, part, 3)
    assert find_reached(run, 3) == Reached(0, 0)
    assert read_whole(run.folder, "reached", part, 3)["reached"].all()


@pytest.mark.parametrize("seed", range(4))
def test_scattered_graph_as_on_one_machine(run, seed):
    rng = np.random.default_rng(seed)
    n, n_parts = 80, 5
    W = sparse.random_array((n, n), density=0.012, rng=rng)
    W = sparse.csr_array(W + W.T)
    codes = np.where(rng.random(n) < 0.1, rng.integers(2, size=n), -1)
    codes[:2] = 0, 1
    part = rng.integers(n_parts - 1, size=n)  # nothing in the last part
    write_parts(run.folder, W, codes, part, n_parts)
    found = find_reached(run, n_parts)
    problem = harmonic_problem(W, codes)
    unreached = ~problem.reached
    n_components = len(np.unique(problem.component[unreached]))
    assert n_components > 1
    assert found == Reached(n_components, unreached.sum())
    reached = read_whole(run.folder, "reached", part, n_parts)["reached"]
    np.testing.assert_array_equal(reached, problem.reached)


def test_is_found_once(run, path_graph):
    part = np.array([0, 0, 1, 1])
    W = path_graph(4).tolil()
    W[2, 3] = W[3, 2] = 0
    write_parts(run.folder, W.tocsr(), [0, -1, -1, -1], part, 2)
    found = find_reached(run, 2)
    (run.folder / "graph").remove([file_name(0), file_name(1)])
    assert find_reached(run, 2) == found == Reached(1, 1)
