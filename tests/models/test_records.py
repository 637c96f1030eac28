import io
import pickle

import numpy as np
import pytest

from graphmargin.models import ModelFileError, load_model, model_info
from graphmargin.models.archive import TREE
from graphmargin.models.records import ARRAY_RECORDS, table_records

FIELDS = {
    "array-model": "predictor n_features feature_names held_out scalers",
    "predictor": "classes parts class_weight",
    "weighted-part": "part weight calibration view",
    "view": "name factors",
    "column-scaler": "center scale",
    "machine-part": "machine calibration walk",
    "machine": "kernel vectors coefficients intercepts n_classes center report",
    "kernel": "kind width degree coef0",
    "training-report": "solver C n_rows form n_landmarks approximation_error gap failure",
    "calibration": "inverse_temperature uniform_share graph_weight pair_scales offsets",
    "held-out-predictions": (
        "codes probabilities rows uniform_share class_shares confusion weighted_codes"
    ),
    "walk-part": "class_mass sinks points codes majority",
    "point-graph": "search width n_neighbors metric",
    "neighbor-search": "X seed",
    "sparse-rows": "shape data indices indptr",
    "table-model": "features predictor target held_out",
    "table-features": "columns encoders scaling",
    "column": "name role n_features note n_missing invalid",
    "invalid-cells": "n_cells values rows",
    "number-encoder": "name text_format lenient median center scale missing_indicator",
    "category-encoder": "name text_format lenient values has_others one_hot_value",
    "date-encoder": "name text_format lenient median has_times center scale missing_indicator",
    "text-encoder": "name text_format lenient vocabulary idf components center scale",
    "embedding-encoder": "name text_format lenient center scale",
}
"""The format of schema 2; once there was a release, a change here is another schema."""


class Evil:
    """Runs code when it is unpickled."""

    def __init__(self, canary):
        self.canary = canary

    def __reduce__(self):
        return eval, (f"open({str(self.canary)!r}, 'w').close()",)


@pytest.fixture
def canary(tmp_path):
    """Return a file that no payload may create."""
    return tmp_path / "canary"


def pickled_array(payload):
    stream = io.BytesIO()
    np.save(stream, np.array([payload], dtype=object), allow_pickle=True)
    return stream.getvalue()


def test_the_payloads_run_code_if_unpickled(canary):
    """Whoever unpickles them runs them: it is the format that stands in between."""
    pickle.loads(pickle.dumps(Evil(canary)))
    assert canary.exists()
    canary.unlink()
    np.load(io.BytesIO(pickled_array(Evil(canary))), allow_pickle=True)
    assert canary.exists()


@pytest.mark.parametrize(
    ("entry", "payload"),
    [
        (None, pickle.dumps),
        ("arrays/0.npy", pickled_array),
        ("more.npy", pickled_array),
        ("more.pkl", pickle.dumps),
        (TREE, pickle.dumps),
    ],
)
def test_a_pickle_is_not_loaded_as_a_file_or_an_entry(entry, payload, saved, forge, canary):
    content = payload(Evil(canary))
    if entry is None:
        saved.write_bytes(content)
    else:
        forge(saved, entries={entry: content})
    for read in (load_model, model_info):
        with pytest.raises(ModelFileError, match="is not a model file"):
            read(saved)
    assert not canary.exists()


CODE = (
    *("os.system", "builtins.eval", "subprocess.Popen", "numpy.load", "ObjectNode", "type"),
    *("graphmargin.margin.kernels.Kernel", "Kernel", "object", "table-model", "", None, 1, ["a"]),
)


@pytest.mark.parametrize("name", CODE, ids=repr)
def test_names_of_code_are_not_resolved(name, saved, forge):
    forge(saved, lambda tree: {**tree, "type": name})
    with pytest.raises(ModelFileError, match=r"model\.graphmargin (has a record|is not)"):
        load_model(saved)


@pytest.mark.parametrize(
    "place",
    [
        "predictor.parts.0",
        "predictor.parts.0.view",
        "predictor.parts.0.part",
        "predictor.parts.0.part.machine.kernel",
        "predictor.parts.0.part.machine.kernel.kind",
        "predictor.parts.0.part.machine.vectors",
        "predictor.parts.0.part.calibration.uniform_share",
        "predictor.classes.number",
        "predictor.__reduce__",
        "feature_names",
        "held_out",
    ],
)
def test_records_of_unknown_type_raise_anywhere_in_a_tree(place, saved, forge, put):
    forge(saved, lambda tree: put(tree, place, {"type": "os.system", "args": ["true"]}))
    with pytest.raises(
        ModelFileError, match=r"unknown type 'os\.system'; do not trust this file$"
    ) as error:
        load_model(saved)
    assert "\n" not in str(error.value)
    assert model_info(saved).kind == "SupervisedSVC"


def test_the_format_is_that_of_its_schema():
    fields = {name: " ".join(record.fields) for name, record in table_records().items()}
    assert fields == FIELDS
    assert set(ARRAY_RECORDS) < set(fields)


def test_a_file_names_no_module(saved, entries_of):
    tree = entries_of(saved)[TREE].decode()
    assert not any(word in tree for word in ("graphmargin", "sklearn", "numpy", "scipy", "__"))
