import math

import numpy as np
import pytest

from benchmarks.measure import MEMORY_LIMIT, in_own_process, part_of
from benchmarks.problems import Problem
from benchmarks.suites import LAP_SVM, OURS, Case


def test_a_system_is_measured_in_its_own_process(tmp_path):
    file = tmp_path / "labels.npy"
    result = in_own_process(Case("letter", OURS), 0, timeout=60, rows=800, save=file)
    assert set(result) == {"wall", "cpu", "memory", "error", "converged"}
    assert result["wall"] > 0
    assert result["cpu"] > 0
    assert math.isfinite(result["memory"])
    assert 0 < result["error"] < 0.9
    assert np.load(file).shape == (800,)


@pytest.mark.parametrize(
    ("case", "options", "reason"),
    [
        (Case("letter", OURS), {"timeout": 0.01}, "not done after 0.01 s"),
        (Case("letter", LAP_SVM), {"memory_limit": 2**31}, "MemoryError: Unable to allocate"),
    ],
)
def test_a_failure_is_a_result_with_its_reason(case, options, reason):
    result = in_own_process(case, 0, **{"timeout": 60, "memory_limit": MEMORY_LIMIT} | options)
    assert list(result) == ["failure"]
    assert reason in result["failure"]


def test_part_of_a_problem_keeps_labels_and_answers_together():
    y = np.arange(100) % 3
    y_few = np.where(np.arange(100) < 10, y, -1)
    problem = Problem(np.arange(100.0)[:, None], y, y_few, np.ones((50, 1)), np.zeros(50))
    part = part_of(problem, 30)
    rows = part.X[:, 0].astype(int)
    assert len(np.unique(rows)) == 30
    assert (part.y == y[rows]).all()
    assert (part.y_few == y_few[rows]).all()
    assert (~part.hidden).sum() == 10
    assert len(part.X_new) == len(part.y_new) == 30
    assert (~part_of(problem, 12).hidden).sum() == 6
