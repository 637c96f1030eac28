import numpy as np
import pytest
from scipy import sparse

from graphmargin.distributed.engine.handles import PartitionedGraph, Reached, ReachedVertices
from graphmargin.distributed.engine.run import Run
from graphmargin.distributed.engine.storage import Folder
from graphmargin.distributed.stages.components import find_reached
from graphmargin.harmonic.problem import harmonic_problem
from tests.distributed.rows import read_whole, write_graph


@pytest.fixture
def run(cluster, tmp_path):
    return Run(Folder(str(tmp_path)), cluster)


@pytest.mark.parametrize("labeled", [0, 3, 5])
def test_a_label_reaches_through_all_partitions(run, path_graph, labeled):
    codes = np.full(6, -1)
    codes[labeled] = 0
    owner = np.array([0, 1, 0, 1, 2, 0])  # every edge of the path but none within a partition
    write_graph(run.folder, path_graph(6), codes, owner, 3)
    assert find_reached(run, 3) == 0
    assert read_whole(ReachedVertices(run.folder), Reached, owner, 3).reached.all()


@pytest.mark.parametrize("seed", range(4))
def test_random_partitions_agree_with_one_machine(run, seed):
    rng = np.random.default_rng(seed)
    n, n_partitions = 80, 5
    W = sparse.random_array((n, n), density=0.012, rng=rng)
    W = sparse.csr_array(W + W.T)
    codes = np.where(rng.random(n) < 0.1, rng.integers(2, size=n), -1)
    codes[:2] = 0, 1
    owner = rng.integers(n_partitions - 1, size=n)  # nothing in the last partition
    write_graph(run.folder, W, codes, owner, n_partitions)
    n_unreached = find_reached(run, n_partitions)
    problem = harmonic_problem(W, codes)
    unreached = ~problem.reached
    n_components = len(np.unique(problem.component[unreached]))
    assert n_components > 1
    assert n_unreached == unreached.sum()
    reached = read_whole(ReachedVertices(run.folder), Reached, owner, n_partitions).reached
    np.testing.assert_array_equal(reached, problem.reached)


def test_components_are_found_only_once(run, path_graph):
    owner = np.array([0, 0, 1, 1])
    W = path_graph(4).tolil()
    W[2, 3] = W[3, 2] = 0
    write_graph(run.folder, W.tocsr(), [0, -1, -1, -1], owner, 2)
    n_unreached = find_reached(run, 2)
    PartitionedGraph(run.folder).folder.remove()
    assert find_reached(run, 2) == n_unreached == 1
