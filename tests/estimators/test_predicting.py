import copy
import pickle

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from graphmargin import HarmonicClassifier, MaxMarginGraphCut, MaxMarginGraphCutCV
from graphmargin.graph.neighbors import NeighborSearch

X = np.random.default_rng(0).normal(size=(40, 2))
X[::2] += 4
y = np.where(np.arange(40) < 6, np.arange(40) % 2, -1)


@pytest.mark.parametrize("model", [HarmonicClassifier(), MaxMarginGraphCut()], ids=repr)
def test_labels_and_probabilities_at_once(model):
    model.fit(X, y)
    labels, probabilities = model._predict_both(X)
    np.testing.assert_array_equal(labels, model.predict(X))
    np.testing.assert_array_equal(probabilities, model.predict_proba(X))


@pytest.mark.parametrize("model", [HarmonicClassifier(), MaxMarginGraphCut()], ids=repr)
def test_predictor_holds_what_is_named_and_shares_it(model):
    model.fit(X, y)
    predictor = model._predictor()
    state = set(vars(predictor)) - set(model.get_params()) - {"_only_predicts"}
    assert state == set(model.predicting) - {"feature_names_in_"}
    assert all(getattr(predictor, name) is getattr(model, name) for name in state)
    assert hasattr(model, "graph_")
    assert not hasattr(predictor, "graph_")


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_of_a_predictor_predict_only(duplicate):
    model = MaxMarginGraphCut().fit(X, y)
    twin = duplicate(model._predictor())
    np.testing.assert_array_equal(twin.decision_function(X), model.decision_function(X))
    with pytest.raises(NotFittedError, match="fit again for `transduction_`"):
        _ = twin.transduction_


def test_predictor_of_a_search_has_no_fitted_parameter():
    inner = MaxMarginGraphCut(gamma_g=0.1).fit(X, y)
    search = MaxMarginGraphCutCV({"C": [1.0]}, estimator=inner, cv=2).fit(X, y)
    predictor = search._predictor()
    assert not hasattr(predictor.estimator, "machine_")
    assert not hasattr(predictor.best_estimator_, "graph_")
    np.testing.assert_array_equal(predictor.predict_proba(X), search.predict_proba(X))


def test_missing_attributes_of_other_models_say_what_they_always_said():
    with pytest.raises(AttributeError, match="object has no attribute 'transduction_'"):
        _ = MaxMarginGraphCut().transduction_
    with pytest.raises(AttributeError, match="fit with gamma_g='auto'"):
        _ = MaxMarginGraphCut(gamma_g=0.1, C=1.0).fit(X, y).gamma_g_path_
    with pytest.raises(NotFittedError, match="not fitted yet"):
        MaxMarginGraphCut().graph_report()
    with pytest.raises(NotFittedError, match="not fitted yet"):
        MaxMarginGraphCut()._predictor()


def test_neighbor_search_is_kept_without_its_cells():
    search = NeighborSearch(X, random_state=3)
    before = search.neighbors(4)
    assert set(search.__getstate__()) == {"X", "n_jobs", "_seed"}
    twin = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(twin.neighbors(4).indices, before.indices)
    np.testing.assert_array_equal(twin._cells.centers, search._cells.centers)
