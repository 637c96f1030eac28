from functools import cache

import numpy as np
import pytest
from scipy import sparse

from graphmargin.datasets import load_letter
from graphmargin.experiments import PROBLEMS, problem

CLASSES = {
    "letter": 26,
    "digits": 10,
    "segmentation": 7,
    "swiss-roll": 3,
    "many-classes": 20,
    "text": 4,
}


made_by = cache(problem)


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


@pytest.mark.parametrize("name", PROBLEMS)
def test_rows_and_classes(name):
    made = made_by(name, 0)
    assert made.name == name
    assert "\n" not in made.description
    assert 1000 <= made.X.shape[0] == len(made.y) <= 2000
    assert made.X.dtype == np.float64
    assert np.isfinite(dense(made.X)).all()
    np.testing.assert_array_equal(np.unique(made.y), np.arange(CLASSES.get(name, 2)))
    assert np.bincount(made.y).min() >= 30  # one of them at least is a training row


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_seed_gives_the_same_rows_and_another_one_others(name):
    first, again, other = made_by(name, 0), problem(name, 0), problem(name, 1)
    np.testing.assert_array_equal(dense(first.X), dense(again.X))
    np.testing.assert_array_equal(first.y, again.y)
    assert (dense(first.X) != dense(other.X)).any()
    assert (first.y != other.y).any()


def test_two_problems_with_the_same_seed_share_no_numbers():
    few, many = made_by("gaussians-50", 0), made_by("gaussians-250", 0)
    assert (few.y != many.y).any()


def test_rows_of_a_table_keep_their_class():
    X, y = load_letter()
    made = problem("letter", 3)
    row = np.flatnonzero((made.X[0] == X).all(axis=1))
    assert "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[made.y[0]] in y[row]


def test_segmentation_is_standardized():
    X = problem("segmentation", 0).X
    spread = X.std(axis=0)
    assert ((spread == 0) | (abs(spread - 1) < 0.5)).all()


def test_text_has_sparse_rows_of_unit_norm():
    X = made_by("text", 0).X
    assert X.format == "csr"
    assert X.indices.dtype == X.indptr.dtype == np.int32  # all that libsvm takes
    assert X.nnz < 0.05 * X.shape[0] * X.shape[1]
    np.testing.assert_allclose(X.multiply(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("name", ["gaussians-50", "gaussians-250"])
def test_gaussians_overlap_as_announced(name):
    made = made_by(name, 0)
    centers = np.array([made.X[made.y == c].mean(axis=0) for c in (0, 1)])
    along = (made.X - centers.mean(axis=0)) @ (centers[1] - centers[0])
    assert 0.03 < np.mean((along > 0) != made.y) < 0.1  # centers are fitted: a little optimistic


def test_imbalanced_has_one_in_eleven():
    assert 0.07 < problem("imbalanced", 0).y.mean() < 0.12


def test_crossed_clusters_say_nothing_about_the_class():
    made = problem("crossed-clusters", 0)
    axis = np.linalg.svd(made.X - made.X.mean(axis=0), full_matrices=False)[2][0]
    far_right = made.X @ axis > np.quantile(made.X @ axis, 0.75)
    assert 0.4 < made.y[far_right].mean() < 0.6


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"`name` must be one of 'letter', .* got 'moon'"):
        problem("moon", 0)


@pytest.mark.parametrize("seed", [-1, None, 0.5])
def test_a_bad_seed_is_refused(seed):
    with pytest.raises(ValueError, match=r"`random_state` must be an integer >= 0"):
        problem("moons", seed)
