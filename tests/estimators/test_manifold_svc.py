"""The manifold-regularized machine is its training; tests/margin has its limits."""

import numpy as np
import pytest

from graphmargin.estimators import ManifoldSVC
from graphmargin.graph import knn_graph
from graphmargin.margin import Kernel
from graphmargin.margin.manifold import train_manifold
from tests.estimators.problems import blobs, pairwise, width_of

OPTIONS = [
    ("linear", 2, {}),
    ("poly", 3, {"normalized": True}),
    ("rbf", 3, {"laplacian_power": 2}),
    ("rbf", 2, {"normalized": True, "laplacian_power": 3}),
    ("linear", 3, {"fit_intercept": False}),
    ("poly", 2, {"approximation": "nystroem"}),
    ("rbf", 3, {"approximation": "nystroem", "fit_intercept": False}),
]


@pytest.mark.parametrize(("kernel", "n_classes", "changed"), OPTIONS, ids=str)
def test_classifier_is_train_manifold_on_the_graph_of_the_points(kernel, n_classes, changed):
    X, _, y = blobs(n_classes, distance=1.5)
    options = {"C": 2.0, "gamma_u": 0.05, **changed}
    model = ManifoldSVC(kernel=kernel, n_neighbors=6, random_state=0, **options).fit(X, y)
    W = knn_graph(X, 6)
    np.testing.assert_array_equal(model.graph_.toarray(), W.toarray())
    (machine,) = train_manifold(
        X,
        y,
        Kernel(kernel, width=width_of(X)),
        W,
        C=2.0,
        gamma_us=[0.05],
        normalized=changed.get("normalized", False),
        power=changed.get("laplacian_power", 1),
        fit_intercept=changed.get("fit_intercept", True),
        approximation=changed.get("approximation", "auto"),
        random_state=0,
    )
    new = X[::3] + 0.1
    np.testing.assert_allclose(pairwise(model, new), machine.pairwise(new), atol=1e-9)
    assert model.predictor_.part.machine.report == machine.report
    if not changed.get("fit_intercept", True):
        np.testing.assert_array_equal(model.predictor_.part.machine.intercepts, 0.0)
