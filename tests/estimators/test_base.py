"""The parameters that held-out labels choose, and `cv`, which needs one of them."""

import re

import numpy as np
import pytest

from graphmargin.estimators import MaxMarginGraphCut, SemiSupervisedSVC
from tests.search.problems import CLASSIFIERS, clusters

X, Y = clusters(n=20, n_labeled=3)
every_class = pytest.mark.parametrize("classifier", [type(m) for m in CLASSIFIERS.values()])


def has_choice(classifier, **parameters):
    """Tell whether a fit chooses a parameter; those of `CHOSEN` are fixed unless given."""
    fixed = dict.fromkeys(classifier.CHOSEN, 0.1)
    return classifier(**{**fixed, **parameters}).fit(X, Y).choice_ is not None


@every_class
def test_auto_and_lists_are_chosen_and_numbers_are_not(classifier):
    assert not has_choice(classifier)
    assert not has_choice(classifier, width=np.float64(2.0))
    for name in classifier.CHOSEN:
        for value in ("auto", [0.1], (0.1, 1.0), np.array([0.1])):
            assert has_choice(classifier, **{name: value})


@pytest.mark.parametrize(
    ("classifier", "parameters", "expected"),
    [
        (MaxMarginGraphCut, {"class_mass_normalization": [0.5, 0.5]}, False),
        (MaxMarginGraphCut, {"class_mass_normalization": [False, [1, 3]]}, True),
        (MaxMarginGraphCut, {"class_mass_normalization": "auto"}, False),
        (MaxMarginGraphCut, {"c_labeled": np.ones(20)}, False),
        (MaxMarginGraphCut, {"approximation": "auto"}, False),
        (SemiSupervisedSVC, {"class_prior": [0.3, 0.7]}, False),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)[:40]),
)
def test_arrays_and_shares_are_not_candidates(classifier, parameters, expected):
    assert has_choice(classifier, **parameters) == expected


@every_class
def test_cv_needs_a_parameter_to_choose(classifier):
    for cv in (3, "loo", [([], [0])], ([[0.0]], [0])):
        message = (
            f"`cv`={cv!r} needs a parameter to choose, but all are fixed; pass a list of "
            f"candidates, such as {classifier.CHOSEN[-1]}=[1.0, 10.0], or 'auto'"
        )
        with pytest.raises(ValueError, match=re.escape(message)):
            has_choice(classifier, cv=cv)
