"""Parameters of a job on a cluster are read once, before any work."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from graphmargin import MaxMarginGraphCut
from graphmargin.distributed import DistributedGraphCut
from graphmargin.distributed.cluster_parameters import read_cluster_parameters, settings_of
from graphmargin.labels import encode_labels


def test_parameters_are_those_of_one_machine():
    options = {"kernel": "poly", "degree": 2, "C": 3, "eps": 0.1, "width": 2, "n_neighbors": 3}
    single = MaxMarginGraphCut(**options, class_mass_normalization=False)
    labels = encode_labels([0, 1, -1, -1, -1])
    assert read_cluster_parameters(DistributedGraphCut(**options)) == single.method(labels)


def test_settings_are_the_values_of_the_user_as_json():
    values = {"gamma_g": np.inf, "C": "auto", "width": 2.5, "metric": "cosine"}
    cut = DistributedGraphCut(**values, n_neighbors=np.int64(7))
    settings = json.loads(json.dumps(settings_of(read_cluster_parameters(cut), None, seed=5)))
    assert settings == {
        **{name: value for name, value in cut.get_params().items() if name != "verbose"},
        "random_state": 5,
    }


@pytest.mark.parametrize(
    ("name", "candidates", "valid"),
    [
        ("C", [1.0, 10.0], "'auto' or one value"),
        ("gamma_g", np.array([1.0]), "'auto' or one value"),
        ("n_neighbors", (5,), "one value"),
        ("random_state", [], "one value"),
    ],
)
def test_lists_of_candidates_are_refused(tmp_path, name, candidates, valid):
    message = f"`{name}` must be {valid} on a cluster, got {re.escape(repr(candidates))}; lists of"
    cut = DistributedGraphCut(**{name: candidates})
    with pytest.raises(ValueError, match=message):
        cut.fit("nowhere", label="y", work_dir=tmp_path / "work")
    assert not (tmp_path / "work").exists()


@pytest.mark.parametrize(
    ("class_weight", "setting"),
    [(None, None), ("balanced", "balanced"), ({1: 2, "a": 0.5}, [["1", 2.0], ["a", 0.5]])],
)
def test_class_weights_are_settings_of_a_run(class_weight, setting):
    parameters = read_cluster_parameters(DistributedGraphCut())
    settings = settings_of(parameters, class_weight, seed=0)
    assert json.loads(json.dumps(settings))["class_weight"] == setting
