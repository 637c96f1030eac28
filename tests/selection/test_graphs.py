import numpy as np
import pytest
from scipy import sparse

from graphmargin.graph import knn_graph
from graphmargin.selection import graphs
from graphmargin.selection.execution import Execution
from graphmargin.selection.graphs import fit_graphs
from graphmargin.selection.parameters import GraphParameters
from tests.selection.tasks import clusters, tasks_of_cuts, tasks_of_harmonic, tasks_of_manifold


def test_graphs_are_those_of_their_parameters():
    X, _ = clusters()
    wanted = [GraphParameters(4, "paper", "euclidean"), GraphParameters(6, "binary", "cosine")]
    found = fit_graphs(X + 1, None, wanted, Execution())
    assert list(found) == wanted
    for one in wanted:
        expected = knn_graph(X + 1, one.n_neighbors, width=one.width, metric=one.metric)
        np.testing.assert_array_equal(found[one].W.toarray(), expected.toarray())
        assert found[one].recall == 1.0
    width = np.sqrt(2) * X.std(axis=0).mean()
    assert found[wanted[0]].paper_width == pytest.approx(width)


def test_given_graph_is_checked_and_has_no_points():
    X, _ = clusters(n=10)
    W = np.ones((10, 10))
    graph = fit_graphs(X, W, [None, None], Execution())[None]
    np.testing.assert_array_equal(graph.W.toarray(), W - np.eye(10))
    assert (graph.recall, graph.points, graph.paper_width) == (None, None, None)
    with pytest.raises(ValueError, match=r"`W` must have one row for each of the 10 samples"):
        fit_graphs(X, sparse.csr_array((9, 9)), [None], Execution())


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

    build = graphs.neighbor_graph
    monkeypatch.setattr(graphs, "neighbor_graph", count)
    tasks = tasks_of(
        X, y, n_neighbors=[4, 6], width=["paper", 2.0], metric=["euclidean", "cosine"], **others
    )
    assert len(tasks) == 32
    assert len(built) == len(set(built)) == 8
    assert len({id(task.graph) for task in tasks}) == 8
