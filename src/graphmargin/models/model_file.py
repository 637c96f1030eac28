"""Saving and loading of models in files that run no code when they are loaded.

The *digest* of a file detects damage and edits by hand; it is no signature, because an attacker can
compute it again. The *format* protects from attacks: a file has numbers, text and the names of a
few records (see `records`), each of which becomes a type that only holds data. The loaded model is
checked before it is returned (see `validation`).
"""

from __future__ import annotations

import json
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from graphmargin._files import atomic_write
from graphmargin.models.archive import read_archive, read_description, write_archive
from graphmargin.models.array_model import ArrayModel, array_model_of
from graphmargin.models.description import TABLE_KIND, ModelInfo, describe, parse_description
from graphmargin.models.model_errors import ModelFileError, model_file_errors, require
from graphmargin.models.records import ARRAY_RECORDS, Records, decode, encode, table_records
from graphmargin.models.table_model import TableModel, table_model_of
from graphmargin.models.validation import check_model


def save_model(model: Any, path: str | PathLike[str]) -> None:
    """Write a fitted model to a file, without pickle.

    The file has what predictions need: support vectors, landmarks or weights of features, and for
    `HarmonicClassifier` the points and their class masses. For prediction sets, it has the class
    probabilities of held-out labels, without the numbers of their rows. It does not have the graph,
    nor the results on training rows. An existing file is replaced as a whole or not at all.

    Parameters
    ----------
    model : fitted classifier of graphmargin, Pipeline, ArrayModel or TableModel
        Its members must be methods of graphmargin: others could not be loaded without running
        code. A pipeline may have scalers before the classifier (StandardScaler, MinMaxScaler,
        MaxAbsScaler, RobustScaler). If the classifier was fitted to a data frame, the file has the
        encoders of its columns, and is loaded as a `TableModel`.
    path : path-like
        Usually named ``*.graphmargin``.

    Examples
    --------
    >>> import tempfile
    >>> from graphmargin import SupervisedSVC
    >>> model = SupervisedSVC().fit([[0.0], [1.0]], ["low", "high"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, Path(folder) / "heights.graphmargin")
    ...     load_model(Path(folder) / "heights.graphmargin").predict([[0.8]]).tolist()
    ['high']
    """
    if not isinstance(model, ArrayModel | TableModel):
        has_columns = getattr(model, "features_", None) is not None
        model = table_model_of(model) if has_columns else array_model_of(model)
    if model.held_out is not None:
        model = replace(model, held_out=replace(model.held_out, rows=None))
    description = describe(model)
    try:
        json.dumps(description, allow_nan=False)
    except (TypeError, ValueError) as error:
        msg = f"`details` must be JSON values ({error}); use None or text for inf and nan"
        raise ModelFileError(msg) from error
    tree, arrays = encode(model, _records(is_table=isinstance(model, TableModel)))
    atomic_write(Path(path), write_archive(tree, arrays, description))


def load_model(path: str | PathLike[str]) -> ArrayModel | TableModel:
    """Return the model in a file, which makes the same predictions as the saved model.

    Loading a file runs no code: a file with anything but numbers, text and the records of models
    raises an error. But the predictions of a model from an untrusted source cannot be trusted.

    The model only predicts. Results that need the training rows (`transduction_`,
    `graph_report()`, ...) are available from the fitted classifier only.

    Raises
    ------
    ModelFileError
        If the file is not a model file, or is damaged, edited, unsafe or of a newer version.

    Examples
    --------
    >>> import tempfile
    >>> from graphmargin import HarmonicClassifier
    >>> model = HarmonicClassifier(n_neighbors=1).fit([[0.0], [0.1], [1.0]], ["a", None, "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, Path(folder) / "letters.graphmargin")
    ...     loaded = load_model(Path(folder) / "letters.graphmargin")
    >>> loaded.predict([[0.9]]).tolist(), loaded.kind
    (['b'], 'HarmonicClassifier')
    """
    path = Path(path)
    content = path.read_bytes()
    with model_file_errors(path):
        info = parse_description(read_description(content))
    is_table = info.kind == TABLE_KIND
    records = _records(is_table=is_table)
    with model_file_errors(path):
        model = decode(*read_archive(content), records)
        require(isinstance(model, TableModel if is_table else ArrayModel), "kind")
        check_model(model)
    if isinstance(model, TableModel):
        return replace(model, details=info.details)
    loaded: ArrayModel = replace(model, kind=info.kind, parameters=info.parameters)
    return loaded


def model_info(path: str | PathLike[str]) -> ModelInfo:
    """Return the description of a model file without loading the model; the digest is checked.

    Examples
    --------
    >>> import tempfile
    >>> from graphmargin import SupervisedSVC
    >>> model = SupervisedSVC().fit([[0.0], [1.0]], ["low", "high"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, Path(folder) / "heights.graphmargin")
    ...     info = model_info(Path(folder) / "heights.graphmargin")
    >>> info.kind, info.classes
    ('SupervisedSVC', ('high', 'low'))
    """
    path = Path(path)
    content = path.read_bytes()
    with model_file_errors(path):
        info = parse_description(read_description(content))
        read_archive(content)  # which checks the digest
    return info


def _records(*, is_table: bool) -> Records:
    """Return the records of models for tables or arrays."""
    if not is_table:
        return ARRAY_RECORDS
    try:
        return table_records()
    except ImportError as error:
        msg = f'models for tables need the package {error.name}; pip install "graphmargin[cli]"'
        raise ImportError(msg) from error
