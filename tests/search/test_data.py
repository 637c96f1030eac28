import numpy as np
import pytest
from graphmargin.selection import tasks as module
from graphmargin.selection.tasks import task_candidates
from scipy import sparse
from tests.selection.tasks import CUT, HARMONIC, MANIFOLD, clusters

from graphmargin.graph import knn_graph


@pytest.mark.parametrize("family", [CUT, MANIFOLD], ids=["cut", "manifold"])
def test_graphs_are_those_of_their_parameters(family):
    """A width that is a number serves the kernel, too, which has that of the paper else."""
    X, y = clusters()
    widths = ["paper", 3.0]
    tasks = family.tasks(
        X + 1, y, n_neighbors=[4, 6], width=widths, metric=["euclidean", "cosine"], kernel=["rbf"]
    )
    assert len(tasks) == 8
    paper = np.sqrt(2) * X.std(axis=0).mean()
    for task in tasks:
        wanted = task.parameters.graph
        rows = X + 1
        if wanted.metric == "cosine":
            rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        expected = knn_graph(rows, wanted.n_neighbors, width=wanted.width)
        np.testing.assert_allclose(task.W.toarray(), expected.toarray(), rtol=1e-9)
        assert task.recall == 1.0
        width = 3.0 if wanted.width == 3.0 else paper
        assert task.kernel.width == pytest.approx(width, rel=1e-12)


def test_given_graph_is_checked_and_has_no_points():
    X, y = clusters(n=10)
    W = np.ones((10, 10))
    (task,) = CUT.tasks(X, y, W)
    np.testing.assert_array_equal(task.W.toarray(), W - np.eye(10))
    assert (task.recall, task.graph) == (None, None)
    with pytest.raises(ValueError, match=r"`W` must have one row for each of the 10 samples"):
        CUT.tasks(X, y, sparse.csr_array((9, 9)))


def test_auto_is_the_grid_and_the_last_parameter_changes_fastest():
    X, y = clusters()
    task, _ = CUT.tasks(X, y, gamma_g="auto", C=[1.0, 2.0], eps=[0.1, 0.2])
    assert task_candidates(task, {"C": lambda: [], "gamma_g": lambda: [0.3, 0.4]}) == [
        {"eps": 0.1, "C": C, "gamma_g": gamma_g} for C in (1.0, 2.0) for gamma_g in (0.3, 0.4)
    ]


@pytest.mark.parametrize(
    ("family", "others"),
    [
        (CUT, {"loss_weights": ["confidence", "equal"], "kernel": ["linear", "rbf"]}),
        (HARMONIC, {"c_unlabeled": [0.0, 0.1], "c_labeled": [1.0, np.inf]}),
        (MANIFOLD, {"kernel": ["linear", "rbf"], "normalized": [False, True]}),
    ],
)
def test_every_graph_is_built_once(monkeypatch, family, others):
    X, y = clusters()
    built = []

    def count(X, n_neighbors, **options):
        built.append((n_neighbors, options["width"], options["metric"]))
        return build(X, n_neighbors, **options)

    build = module.neighbor_graph
    monkeypatch.setattr(module, "neighbor_graph", count)
    tasks = family.tasks(
        X, y, n_neighbors=[4, 6], width=["paper", 2.0], metric=["euclidean", "cosine"], **others
    )
    assert len(tasks) == 32
    assert len(built) == len(set(built)) == 8
    assert len({id(task.graph) for task in tasks}) == 8
