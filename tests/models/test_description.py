from datetime import UTC, datetime, timedelta
from importlib.metadata import version

import numpy as np
import pytest

import graphmargin as gm
from graphmargin import MaxMarginGraphCut, SupervisedSVC
from graphmargin.models import model_info, save_model


def test_the_description_has_all_fields(saved):
    info = model_info(saved)
    assert (info.schema, info.graphmargin, info.kind) == (2, gm.__version__, "SupervisedSVC")
    assert abs(datetime.now(UTC) - datetime.fromisoformat(info.created)) < timedelta(minutes=10)
    assert info.packages == {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
    assert info.classes == ("0", "1", "2")
    assert info.parameters["kernel"] == "rbf"
    assert (info.target, info.details) == (None, {})
    with pytest.raises(AttributeError):
        info.schema = 1


def test_the_text_of_a_description_is_short(saved, tmp_path):
    lines = str(model_info(saved)).splitlines()
    assert len(lines) <= 12
    assert max(map(len, lines)) <= 100
    assert lines[0].split() == ["model", "SupervisedSVC"]
    assert "classes     3: 0, 1, 2" in lines
    assert any("C=10.0" in line for line in lines)
    save_model(SupervisedSVC().fit(np.arange(30.0)[:, None], np.arange(30)), tmp_path / "many")
    many = str(model_info(tmp_path / "many"))
    assert "30: 0, 1, 2" in many
    assert "19, .." in many


def test_parameters_are_plain_values_lists_of_candidates_or_text(data, tmp_path):
    trust = np.where(np.arange(60) < 12, 2.0, 0.0)
    random_state = np.random.RandomState(0)
    model = MaxMarginGraphCut(
        gamma_g=[0.1, np.inf], C=np.float64(3.0), c_labeled=trust, random_state=random_state, cv=2
    ).fit(*data)
    save_model(model, tmp_path / "a.graphmargin")
    parameters = model_info(tmp_path / "a.graphmargin").parameters
    assert (parameters["gamma_g"], parameters["C"], parameters["eps"]) == ([0.1, "inf"], 3.0, 1e-6)
    assert parameters["c_labeled"].startswith("array([")
    assert len(parameters["c_labeled"]) < 50
    assert parameters["random_state"].startswith("RandomState")
