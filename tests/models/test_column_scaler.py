"""Scalers of pipelines, in models and their files."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)

from graphmargin import SemiSupervisedEnsemble, SupervisedSVC
from graphmargin.models import TableModel, load_model, save_model

SCALERS = {
    "standard": [StandardScaler()],
    "mean alone": [StandardScaler(with_std=False)],
    "deviation alone": [StandardScaler(with_mean=False)],
    "min-max": [MinMaxScaler((-1, 3))],
    "max-abs": [MaxAbsScaler()],
    "robust": [RobustScaler()],
    "two and nothing": [StandardScaler(), "passthrough", MinMaxScaler()],
}


def saved(model, tmp_path):
    save_model(model, tmp_path / "a.graphmargin")
    return load_model(tmp_path / "a.graphmargin")


@pytest.mark.filterwarnings("ignore::graphmargin.estimators.base.ScaleWarning")
@pytest.mark.parametrize("steps", SCALERS.values(), ids=SCALERS)
def test_a_file_has_the_scalers_of_a_pipeline(steps, data, tmp_path):
    X, y = data
    X = X * [1.0, 50.0, 0.01, 3.0] + [0.0, 900.0, 0.0, -7.0]
    pipeline = make_pipeline(*steps, SupervisedSVC()).fit(X, y)
    loaded = saved(pipeline, tmp_path)
    assert repr(loaded) == "<ArrayModel: SupervisedSVC, 4 features, 3 classes>"
    for rows in (X, X[:5].tolist()):
        np.testing.assert_allclose(
            loaded.predict_proba(rows), pipeline.predict_proba(rows), rtol=0, atol=1e-9
        )


def test_sparse_rows_names_and_single_precision_are_kept(data, tmp_path):
    X, y = data
    pipeline = make_pipeline(MaxAbsScaler(), SupervisedSVC())
    rows = sparse.csr_array(X)
    loaded = saved(pipeline.fit(rows, y), tmp_path)
    np.testing.assert_allclose(loaded.predict_proba(rows), pipeline.predict_proba(rows), atol=1e-9)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"]).astype(np.float32)
    loaded = saved(make_pipeline(StandardScaler(), SupervisedSVC()).fit(frame, y), tmp_path)
    assert loaded.feature_names == ("a", "b", "c", "d")
    assert loaded.scalers[0].of(frame.to_numpy()).dtype == np.float32
    with pytest.raises(ValueError, match="feature names should match"):
        loaded.predict(frame[["b", "a", "c", "d"]])


@pytest.mark.parametrize(
    ("step", "named"),
    [
        (Normalizer(), "a Normalizer in the step 'normalizer'"),
        (MinMaxScaler(clip=True), "a MinMaxScaler with clip=True in the step 'minmaxscaler'"),
        (make_column_transformer((OneHotEncoder(), [0])), "a ColumnTransformer in the step"),
    ],
    ids=["normalizer", "clip", "encoder"],
)
def test_other_steps_are_refused_with_advice(step, named, data, tmp_path):
    X, y = np.round(data[0]), data[1]
    pipeline = make_pipeline(step, SupervisedSVC()).fit(X, y)
    with pytest.raises(TypeError, match=rf"{named}.*Fit SemiSupervisedEnsemble to the data frame"):
        saved(pipeline, tmp_path)


def test_a_step_that_passes_rows_through_and_one_of_another_package(data, tmp_path):
    X, y = data
    pipeline = make_pipeline("passthrough", SupervisedSVC()).fit(X, y)
    np.testing.assert_array_equal(saved(pipeline, tmp_path).predict(X), pipeline.predict(X))

    class StandardScaler(MaxAbsScaler):
        """A scaler of a user with the name of one of scikit-learn's."""

    with pytest.raises(TypeError, match="a StandardScaler in the step"):
        saved(make_pipeline(StandardScaler(), SupervisedSVC()).fit(X, y), tmp_path)


def test_sparse_rows_are_refused_where_a_center_is_subtracted(data, tmp_path):
    X, y = data
    loaded = saved(make_pipeline(StandardScaler(), SupervisedSVC()).fit(X, y), tmp_path)
    with pytest.raises(ValueError, match="`X` must not be sparse, because the scaler"):
        loaded.predict(sparse.csr_array(X))


LABELS = {
    "text": ["cat", "dog"],
    "bytes": [b"cat", b"dog"],
    "integers": [3, 7],
    "whole floats": [3.0, 7.0],
    "booleans": [False, True],
}


@pytest.mark.parametrize("names", LABELS.values(), ids=LABELS)
def test_a_classifier_of_a_frame_is_saved_with_its_encoders(names, table, tmp_path):
    y = pd.Series(
        [names[i % 2] if i < 10 else None for i in range(60)], name="animal", dtype=object
    )
    model = SemiSupervisedEnsemble(members=["supervised"]).fit(table, y)
    loaded = saved(model, tmp_path)
    assert isinstance(loaded, TableModel)
    assert (loaded.target, loaded.details) == ("animal", {"rows": 60})
    np.testing.assert_array_equal(loaded.predict_proba(table), model.predict_proba(table))
    np.testing.assert_array_equal(loaded.predict_set(table), model.predict_set(table))
    assert loaded.classes.dtype.kind in "Oib"
    assert repr(loaded) == "<TableModel: 'animal', 5 columns, 2 classes>"
    expected = [n.decode() if isinstance(n, bytes) else n for n in model.predict(table).tolist()]
    assert loaded.predict(table).tolist() == expected
    assert saved(SemiSupervisedEnsemble().fit(table, y.to_numpy()), tmp_path).target == "label"


def test_a_classifier_of_frames_within_a_pipeline_is_refused(data, tmp_path):
    frame = pd.DataFrame(data[0], columns=["a", "b", "c", "d"])
    scaler = StandardScaler().set_output(transform="pandas")
    pipeline = make_pipeline(scaler, SemiSupervisedEnsemble(members=["supervised"]))
    with pytest.raises(TypeError, match="fit it to the original frame, without a pipeline"):
        saved(pipeline.fit(frame, data[1]), tmp_path)
