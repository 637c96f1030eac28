import numpy as np
import pytest
from scipy import sparse

from graphmargin.graph import knn_graph
from graphmargin.selection import tasks as module
from graphmargin.selection.tasks import task_candidates
from tests.selection.tasks import clusters, tasks_of_cuts, tasks_of_harmonic, tasks_of_manifold


def test_graphs_are_those_of_their_parameters():
    X, y = clusters()
    tasks = tasks_of_cuts(X + 1, y, n_neighbors=[4, 6], width=["paper", "binary"])
    assert len(tasks) == 4
    for task in tasks:
        wanted = task.parameters.graph
        expected = knn_graph(X + 1, wanted.n_neighbors, width=wanted.width)
        np.testing.assert_array_equal(task.W.toarray(), expected.toarray())
        assert task.recall == 1.0
        assert task.kernel.width == pytest.approx(np.sqrt(2) * X.std(axis=0).mean())


def test_given_graph_is_checked_and_has_no_points():
    X, y = clusters(n=10)
    W = np.ones((10, 10))
    (task,) = tasks_of_cuts(X, y, W)
    np.testing.assert_array_equal(task.W.toarray(), W - np.eye(10))
    assert (task.recall, task.graph) == (None, None)
    with pytest.raises(ValueError, match=r"`W` must have one row for each of the 10 samples"):
        tasks_of_cuts(X, y, sparse.csr_array((9, 9)))


def test_auto_is_the_grid_and_the_last_parameter_changes_fastest():
    X, y = clusters()
    task, _ = tasks_of_cuts(X, y, C=[1.0, 2.0], eps=[0.1, 0.2])
    assert task_candidates(task, {"C": lambda: [], "gamma_g": lambda: [0.3, 0.4]}) == [
        {"eps": 0.1, "C": C, "gamma_g": gamma_g} for C in (1.0, 2.0) for gamma_g in (0.3, 0.4)
    ]


@pytest.mark.parametrize(
    ("tasks_of", "others"),
    [
        (tasks_of_cuts, {"loss_weights": ["confidence", "equal"], "kernel": ["linear", "rbf"]}),
        (tasks_of_harmonic, {"c_unlabeled": [0.0, 0.1], "c_labeled": [1.0, np.inf]}),
        (tasks_of_manifold, {"kernel": ["linear", "rbf"], "normalized": [False, True]}),
    ],
)
def test_every_graph_is_built_once(monkeypatch, tasks_of, others):
    X, y = clusters()
    built = []

    def count(X, n_neighbors, **options):
        built.append((n_neighbors, options["width"], options["metric"]))
        return build(X, n_neighbors, **options)

    build = module.neighbor_graph
    monkeypatch.setattr(module, "neighbor_graph", count)
    tasks = tasks_of(
        X, y, n_neighbors=[4, 6], width=["paper", 2.0], metric=["euclidean", "cosine"], **others
    )
    assert len(tasks) == 32
    assert len(built) == len(set(built)) == 8
    assert len({id(task.graph) for task in tasks}) == 8
