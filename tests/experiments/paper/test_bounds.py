from dataclasses import replace

import numpy as np
import pytest

from graphmargin.experiments.paper.bounds import (
    C_UNLABELED,
    GAMMA_G,
    bound_claims,
    bounds,
    replaced_examples,
)
from graphmargin.experiments.paper.settings import Settings
from graphmargin.experiments.paper.thresholds import PAIRS, letter_draw
from graphmargin.graph.laplacian import laplacian
from graphmargin.harmonic import harmonic_solution


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("bounds")


@pytest.fixture(scope="module")
def records(folder):
    return bounds(Settings(folder, draws=2, n_jobs=1))


def test_records_are_sorted_and_complete(records):
    keys = [(r.pair, r.draw, r.gamma_g, r.c_unlabeled) for r in records]
    assert keys == sorted(keys)
    assert len(keys) == 2 * len(PAIRS) * len(GAMMA_G) * len(C_UNLABELED)


def test_an_interrupted_run_continues_to_the_same_records(folder, records, tmp_path):
    whole = (folder / "bounds.csv").read_bytes()
    path = tmp_path / "bounds.csv"
    path.write_bytes(whole[: len(whole) // 2 + 7])
    assert not path.read_bytes().endswith(b"\n")
    assert bounds(Settings(tmp_path, draws=2, n_jobs=1)) == records


def test_the_inequalities_of_the_theory_hold(records):
    claims = bound_claims(records)
    assert [claim.holds for claim in claims[:3]] == [True] * 3


def test_the_bounds_say_nothing_with_five_labels(records):
    assert all(r.n_labeled == 5 and r.bound > 1 and r.lemma_bound > 1 for r in records)
    assert bound_claims(records)[3].holds is True
    tight = replace(records[0], bound=0.4)
    assert bound_claims([tight])[3].holds is False


def test_the_threshold_costs_at_most_its_slack(records):
    assert all(r.bound <= r.plain_bound + 2e-3 for r in records)


def test_violations_are_counted(records):
    risky = [replace(r, test_error=99.0 * r.lemma_bound) for r in records]
    assert bound_claims(risky)[1].holds is False
    restless = [replace(r, moved_loss=2 * r.beta) for r in records]
    assert bound_claims(restless)[2].holds is False
    broken = [replace(records[0], pointwise_violations=1)]
    assert bound_claims(broken)[0].holds is False


def test_each_example_is_replaced_twice():
    data = letter_draw("A-B", 0)
    gamma_g, c_u = 1.0, 0.5
    (y, ell), *others = replaced_examples(data, gamma_g, c_u)
    labeled = np.flatnonzero(y)
    assert len(others) == 2 * len(labeled)
    for place, vertex in enumerate(labeled):
        (flipped, _), (moved, _) = others[2 * place : 2 * place + 2]
        assert np.flatnonzero(flipped != y).tolist() == [vertex]
        assert np.count_nonzero(moved) == len(labeled)
        assert moved[vertex] == 0
    for target, solution in others:
        trust = np.where(target == 0, c_u, 1.0)
        residual = trust * (solution - target) + laplacian(data.W) @ solution + gamma_g * solution
        assert np.abs(residual).max() < 1e-10
        assert np.abs(solution).max() <= 1
    same = harmonic_solution(data.W, data.split.y, gamma_g=gamma_g, c_labeled=1.0, c_unlabeled=c_u)
    np.testing.assert_allclose(ell, same.ell, atol=1e-10)
