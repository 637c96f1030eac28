from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from graphmargin import HarmonicClassifier, MaxMarginGraphCutCV, SupervisedSVC
from graphmargin.graph.neighbors import NeighborSearch
from graphmargin.margin.kernels import Kernel
from graphmargin.models import ModelFileError, load_model
from graphmargin.models.validation import check_model


@pytest.fixture(scope="module")
def machine_model(data):
    return SupervisedSVC().fit(*data)


def with_index(X, index):
    """Return a CSR matrix with an index that SciPy does not look at unless asked to."""
    X = sparse.csr_array(X)
    X.indices[0] = index
    return X


def forged_kernel(kernel, **changes):
    """Return a kernel that its own checks have not seen."""
    forged = object.__new__(Kernel)
    vars(forged).update({**vars(kernel), **changes})
    return forged


def changes(change, part):
    """Return the new values of attributes, some of which depend on the old ones."""
    return change(part) if callable(change) else change


MACHINES = {
    "vectors": lambda m: {"vectors": m.vectors[:, 1:]},
    "vectors as text": lambda m: {"vectors": m.vectors.astype(str)},
    "vectors with nan": lambda m: {"vectors": np.full_like(m.vectors, np.nan)},
    "vectors as list": lambda m: {"vectors": m.vectors.tolist()},
    "sparse index beyond": lambda m: {"vectors": with_index(m.vectors, 10**6)},
    "sparse index below": lambda m: {"vectors": with_index(m.vectors, -5)},
    "coefficients": lambda m: {"coefficients": m.coefficients[1:]},
    "pairs": lambda m: {"coefficients": m.coefficients[:, :1]},
    "intercepts": lambda m: {"intercepts": m.intercepts[:1]},
    "n_classes": {"n_classes": 2},
    "center": {"center": np.zeros(1)},
    "center as text": {"center": "0"},
    "kernel type": {"kernel": None},
    "kernel function": lambda m: {"kernel": forged_kernel(m.kernel, kind=str)},
    "kernel kind": lambda m: {"kernel": forged_kernel(m.kernel, kind="sigmoid")},
    "kernel width": lambda m: {"kernel": forged_kernel(m.kernel, width=-1.0)},
    "row numbers": lambda m: {"kernel": replace(m.kernel, kind="precomputed")},
    "far row numbers": lambda m: {
        "kernel": replace(m.kernel, kind="precomputed"),
        "vectors": np.arange(4, 4 + len(m.vectors)),
    },
    "report": {"report": None},
}


@pytest.mark.parametrize("name", MACHINES)
def test_machines_that_do_not_fit(name, machine_model):
    model = machine_model._predictor()
    check_model(model)
    model.machine_ = replace(model.machine_, **changes(MACHINES[name], model.machine_))
    with pytest.raises(ValueError, match=r"that do not fit|must be|indices|index"):
        check_model(model)


CLASSIFIERS = {
    "sharpness": {"_calibration": ("1", 0.5)},
    "doubt": {"_calibration": (1.0, 1.5)},
    "calibration": {"_calibration": (1.0,)},
    "n_features_in_": {"n_features_in_": 3},
    "no features": {"n_features_in_": None},
    "classes_": {"classes_": np.array([0, 1])},
    "classes as list": {"classes_": [0, 1, 2]},
    "names": {"feature_names_in_": np.array(["a"], dtype=object)},
    "more": {"predict": 1},
    "still trained": {"_only_predicts": False},
}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_that_do_not_fit(name, machine_model):
    model = machine_model._predictor()
    vars(model).update(CLASSIFIERS[name])
    with pytest.raises(ModelFileError, match="that do not fit"):
        check_model(model)


def test_missing_attribute(machine_model):
    model = machine_model._predictor()
    del model.machine_
    with pytest.raises(ModelFileError, match="`attributes` that do not fit"):
        check_model(model)


HARMONIC = {
    "codes beyond": lambda m: {"_codes": m._codes + 3},
    "negative codes": lambda m: {"_codes": m._codes - 3},
    "codes": lambda m: {"_codes": m._codes[1:]},
    "class masses": lambda m: {"_class_mass": m._class_mass[:, 1:]},
    "most frequent": {"_most_frequent": 3},
    "walk": {"_walk": [(1.0,)]},
    "points": lambda m: {"_points": NeighborSearch(m._points.X[:, 1:])},
    "fewer points": lambda m: {"_points": NeighborSearch(m._points.X[1:])},
    "points with nan": lambda m: {"_points": NeighborSearch(m._points.X * np.nan)},
    "no search": lambda m: {"_points": m._points.X},
    "scales": lambda m: {"_weighting": replace(m._weighting, scales=np.ones(2))},
    "width": lambda m: {"_weighting": replace(m._weighting, width=None)},
    "n_neighbors": {"n_neighbors": 1000},
    "metric": {"metric": "far"},
    "c_unlabeled": {"c_unlabeled": "0"},
}


@pytest.mark.parametrize("name", HARMONIC)
def test_harmonic_classifiers_that_do_not_fit(name, data):
    model = HarmonicClassifier().fit(*data)._predictor()
    vars(model._points).pop("_cells")  # as in a file
    check_model(model)
    vars(model).update(changes(HARMONIC[name], model))
    with pytest.raises(ValueError, match=r"that do not fit|must be"):
        check_model(model)


def test_search_must_hold_its_own_kind_of_classifier(data, machine_model):
    search = MaxMarginGraphCutCV({"C": [1.0], "gamma_g": [0.1]}, cv=2).fit(*data)._predictor()
    check_model(search)
    search.best_estimator_ = machine_model._predictor()
    with pytest.raises(ModelFileError, match="best_estimator_"):
        check_model(search)


@pytest.mark.parametrize("thing", [None, {}, [1], Kernel("rbf"), np.zeros(3)], ids=range(5))
def test_what_is_no_model(thing):
    with pytest.raises(ModelFileError, match="`type` that do not fit"):
        check_model(thing)


def test_edited_file_with_a_new_digest_is_one_line(saved, forge):
    def edit(objects):
        machine = objects["content"]["content"]["machine_"]["content"]["content"]
        machine["n_classes"]["content"] = "7"
        machine["n_classes"]["__id__"] = 1

    forge(saved, edit)
    with pytest.raises(ModelFileError, match=r"^.*model.skops has `n_classes` that do not fit"):
        load_model(saved)
