"""Settings, and the clusters, graphs, tables and dense solutions that several test files share."""

import os
import time

# Tests run in one process for each core, so that more threads of BLAS would only wait for each
# other. It reads this when NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import settings
from scipy import sparse
from xdist.scheduler import LoadScopeScheduling

from graphmargin import _compilation

CLUSTER_TESTS = ("tests/distributed/", "tests/cli/test_dask_commands.py")

# Kernels compile on their first call, so that no time limit makes sense.
settings.register_profile("graphmargin", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("graphmargin")


@pytest.fixture(scope="session", autouse=True)
def _no_notice_of_compilation():
    """Keep the notice out of captured output, as it depends on numba's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_compilation, "notify", lambda _: None)
        yield


class OneCluster(LoadScopeScheduling):
    """A scheduler that runs all tests on a cluster in one process, so that it is started once."""

    def _split_scope(self, nodeid):
        return "cluster" if nodeid.startswith(CLUSTER_TESTS) else nodeid


def pytest_xdist_make_scheduler(config, log):
    return OneCluster(config, log)


@pytest.fixture(scope="session")
def cluster():
    """Return a real cluster of two worker processes, shared by all tests.

    Tests connect to its address as to a cluster that users have started.
    """
    from distributed import Security

    from graphmargin.distributed.engine.cluster import local_cluster

    with local_cluster(2, "2GiB", Security()) as workers:
        yield workers


@pytest.fixture
def mortal_cluster(cluster):
    """Return the cluster to a test that kills workers; the next test finds two workers again."""
    before = set(cluster.workers)
    yield cluster
    until = time.monotonic() + 180
    while set(cluster.workers) == before or len(cluster.workers) < 2:
        assert time.monotonic() < until, "no worker was killed, or none was started again"
        time.sleep(0.05)


@pytest.fixture(scope="session")
def path_graph():
    """Return the path 0 - 1 - .. - n-1 with unit weights."""

    def build(n):
        return sparse.diags_array([np.ones(n - 1)] * 2, offsets=[-1, 1]).tocsr()

    return build


@pytest.fixture(scope="session")
def random_graph():
    """Return a connected graph: a cycle and random chords, weights in [0.1, 1]."""

    def build(n, seed):
        rng = np.random.default_rng(seed)
        cycle = np.roll(np.eye(n, dtype=bool), 1, axis=1)
        W = np.triu(rng.uniform(0.1, 1, (n, n)) * (cycle | cycle.T | (rng.random((n, n)) < 0.2)), 1)
        return W + W.T

    return build


@pytest.fixture(scope="session")
def dense_class_mass():
    """Return the minimizer of (l - y)' C (l - y) + l' (L + gamma_g I) l by dense algebra."""

    def solve(W, codes, n_classes, *, gamma_g=0.0, c_labeled=np.inf, c_unlabeled=0.0):
        codes = np.asarray(codes)
        Y = (codes[:, None] == np.arange(n_classes)).astype(float)
        C = np.where(codes >= 0, c_labeled, c_unlabeled)
        hard = np.isinf(C)
        Q = np.diag(W.sum(axis=1) + gamma_g) - W
        right = C[~hard, None] * Y[~hard] - Q[np.ix_(~hard, hard)] @ Y[hard]
        mass = Y.copy()
        mass[~hard] = np.linalg.solve(Q[np.ix_(~hard, ~hard)] + np.diag(C[~hard]), right)
        return mass

    return solve


@pytest.fixture(scope="session")
def mixed_table():
    """Return a table of columns of all kinds with three groups of rows, and the group of each.

    Of the column "kind", one row in ten has a label.
    """
    import pandas as pd

    def build(n=150, seed=0):
        rng = np.random.default_rng(seed)
        group = np.arange(n) % 3
        words = (("small purring cat", "soft cat"), ("loud barking dog", "dog"), ("bird sings",))
        table = pd.DataFrame(
            {
                "id": [f"a{i:04d}" for i in range(n)],
                "weight": np.round(group * 4.0 + rng.normal(3, 0.4, n), 3),
                "age": np.where(rng.random(n) < 0.1, np.nan, rng.integers(1, 15, n)),
                "color": rng.choice(["red", "black", "white"], n),
                "seen": pd.Timestamp("2024-01-01")
                + pd.to_timedelta(rng.integers(0, 90, n) + 200 * group, unit="D"),
                "note": [
                    f"{rng.choice(words[g])} number {rng.integers(100)} of {rng.integers(100)}"
                    for g in group
                ],
                "country": "here",
            }
        )
        names = np.array(["cat", "dog", "bird"], dtype=object)[group]
        kind = np.where(np.arange(n) % 10 == 0, names, None)
        return table.assign(kind=kind), names

    return build


@pytest.fixture(scope="session")
def labeled_pets(mixed_table):
    """Return the labeled mixed table of 150 rows."""
    from graphmargin.labeling.labeling_task import task_of
    from graphmargin.labeling.table_labeling import label_rows

    return label_rows(task_of(mixed_table()[0], "kind", name="pets.csv"))
