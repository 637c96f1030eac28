"""Models in files that run no code when they are loaded.

A model file is an archive of skops: arrays, and a tree of objects by the names of their types. Two
things keep a reader safe. The *digest* tells accidents and edits by hand; it is no signature, and
whoever means harm computes it again. Against harm there is the *allowlist*: no object is made
unless every type in the file is one of the few that models are built from, none of which runs
anything, and what was made is checked before it is handed out.
"""

from __future__ import annotations

import json
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from graphmargin._files import write_atomically
from graphmargin.models.allowlist import ESTIMATORS, Stranger, allowed_in, strangers
from graphmargin.models.archive import pack, read_description, read_objects
from graphmargin.models.description import ModelInfo, describe, understand
from graphmargin.models.errors import ModelFileError, reading
from graphmargin.models.table_model import TableModel
from graphmargin.models.validation import check_model


def save_model(model: Any, path: str | PathLike[str]) -> None:
    """Write a fitted model to a file, without pickle.

    The file holds what predictions need: support vectors or landmarks, for `HarmonicClassifier`
    the points and their class masses; not the graph, nor what was learned about the training
    rows. An existing file is replaced as a whole or not at all.

    Parameters
    ----------
    model : fitted classifier of graphmargin, or TableModel
        Its parameters must be plain: numbers, text, lists, arrays. A function as `kernel` cannot
        be stored without running code when it is loaded.
    path : path-like
        Usually named ``*.skops``.

    Raises
    ------
    ModelFileError
        If the model holds something that model files cannot.

    Examples
    --------
    >>> import tempfile
    >>> from graphmargin import SupervisedSVC
    >>> model = SupervisedSVC().fit([[0.0], [1.0]], ["low", "high"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, Path(folder) / "heights.skops")
    ...     load_model(Path(folder) / "heights.skops").predict([[0.8]]).tolist()
    ['high']
    """
    io = _skops_io()
    _check_kind(model)
    kind = type(model).__name__
    description = _description(model)
    try:
        dump = io.dumps(_to_keep(model))
    except (TypeError, ValueError) as error:
        msg = f"a {kind} with such parameters cannot be saved ({error}); use plain values"
        raise ModelFileError(msg) from error
    content = pack(dump, description)
    found = sorted(strangers(read_objects(content), allowed_in(kind)), key=_depth)
    if found:
        place, _, name = found[0]
        msg = (
            f"`{place}` of this {kind} is a {name}, which model files do not hold (to load it "
            "could run code); use a plain value: a number, text, list or array"
        )
        raise ModelFileError(msg)
    write_atomically(Path(path), content)


def load_model(path: str | PathLike[str]) -> Any:
    """Return the model in a file: its predictions are those of the model that was saved.

    What needs the training rows (`transduction_`, `graph_report()`, ..) asks for a new fit.
    No file can run code: one that names other types than models are made of is refused as a
    whole. But what a stranger's model predicts is up to the stranger.

    Parameters
    ----------
    path : path-like

    Raises
    ------
    ModelFileError
        If this is no model file, or one that is damaged, edited, unsafe or of a newer version.

    Examples
    --------
    >>> import tempfile
    >>> from graphmargin import HarmonicClassifier
    >>> model = HarmonicClassifier(n_neighbors=1).fit([[0.0], [0.1], [1.0]], ["a", None, "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, Path(folder) / "letters.skops")
    ...     loaded = load_model(Path(folder) / "letters.skops")
    >>> loaded.predict([[0.9]]).tolist(), hasattr(loaded, "transduction_")
    (['b'], False)
    """
    path = Path(path)
    io = _skops_io()
    content = path.read_bytes()
    with reading(path):
        info = understand(read_description(content))
    allowed = allowed_in(info.kind)
    with reading(path):
        for stranger in strangers(read_objects(content), allowed):
            msg = (
                f"names {stranger.name[:100]!r} ({stranger.node[:40]}), which no model is made "
                "of: do not trust it"
            )
            raise ModelFileError(msg)
        model = io.loads(content, trusted=sorted(frozenset().union(*allowed.values())))
        if type(model).__name__ != info.kind:
            msg = f"holds a {type(model).__name__}, not a {info.kind}; save the model again"
            raise ModelFileError(msg)
        check_model(model)
    return replace(model, details=info.details) if isinstance(model, TableModel) else model


def model_info(path: str | PathLike[str]) -> ModelInfo:
    """Return what a model file says of itself; no model is made, and skops is not needed.

    Examples
    --------
    >>> import tempfile
    >>> from graphmargin import SupervisedSVC
    >>> model = SupervisedSVC().fit([[0.0], [1.0]], ["low", "high"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, Path(folder) / "heights.skops")
    ...     info = model_info(Path(folder) / "heights.skops")
    >>> info.kind, info.classes
    ('SupervisedSVC', ('high', 'low'))
    """
    path = Path(path)
    content = path.read_bytes()
    with reading(path):
        info = understand(read_description(content))
        read_objects(content)  # which checks that the file is whole
    return info


def _check_kind(model: Any) -> None:
    """Refuse what is no fitted model of ours."""
    classifier = model.classifier if isinstance(model, TableModel) else model
    if type(classifier) not in ESTIMATORS:
        msg = (
            f"`model` must be a classifier of graphmargin or a TableModel, got {classifier!r}; "
            "of a pipeline, save the classifier"
        )
        raise TypeError(msg)
    check_is_fitted(classifier)


def _to_keep(model: Any) -> Any:
    """Return a copy with what predictions need; details are kept in the description."""
    if isinstance(model, TableModel):
        return replace(model, classifier=model.classifier._predictor(), details={})
    return model._predictor()


def _description(model: Any) -> dict[str, Any]:
    description = describe(model)
    try:
        json.dumps(description, allow_nan=False)
    except (TypeError, ValueError) as error:
        msg = f"`details` must be JSON values, for inf and nan use None or text: {error}"
        raise ModelFileError(msg) from error
    return description


def _depth(stranger: Stranger) -> tuple[int, str]:
    """Rank the places that a user knows, parameters, before parts of parts."""
    return stranger.place.count("."), stranger.place


def _skops_io() -> Any:
    """Import skops when it is needed."""
    try:
        import skops.io
    except ImportError as error:
        msg = 'model files need skops; pip install "graphmargin[cli]"'
        raise ImportError(msg) from error
    return skops.io
