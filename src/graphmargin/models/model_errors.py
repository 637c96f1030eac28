"""The error that is raised for models that cannot be saved or loaded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from graphmargin._errors import InputError, one_line
from graphmargin._typing import FloatArray


class ModelFileError(InputError):
    """An error in a model or its file; the message is one line and says what to do.

    Examples
    --------
    >>> import tempfile
    >>> from graphmargin.models import ModelFileError, load_model
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "cats.graphmargin"
    ...     _ = path.write_text("cats")
    ...     try:
    ...         load_model(path)
    ...     except ModelFileError as error:
    ...         print(str(error).removeprefix(f"{path} "))
    is not a model file, or it is damaged (BadZipFile: File is not a zip file); save the model again
    """


def require(is_valid: Any, part: str) -> None:
    """Raise `ModelFileError` unless the named part of a model is valid."""
    if not is_valid:
        msg = f"has an invalid field `{part}`; save the model again"
        raise ModelFileError(msg)


@contextmanager
def model_file_errors(path: Path) -> Iterator[None]:
    """Turn any exception into a `ModelFileError` of one line that names the file.

    A file that was not made by `save_model` can cause any exception of zipfile, json, NumPy, SciPy
    and pandas, so that no list of exceptions would be complete. Only `MemoryError` stays: sizes are
    checked before memory is allocated, so that it says nothing about the file.

    Examples
    --------
    >>> with model_file_errors(Path("a.graphmargin")):
    ...     _ = {}["model.json"]
    Traceback (most recent call last):
    graphmargin.models.model_errors.ModelFileError: a.graphmargin is not a model file, or it is damaged (KeyError: 'model.json'); save the model again
    """  # noqa: E501 - an error is one line
    try:
        yield
    except ModelFileError as error:
        msg = f"{path} {error}"
        raise ModelFileError(msg) from error
    except MemoryError:
        raise
    except Exception as error:
        reason = one_line(f"{type(error).__name__}: {error}")
        msg = f"{path} is not a model file, or it is damaged ({reason}); save the model again"
        raise ModelFileError(msg) from error


def check_probabilities(probabilities: FloatArray) -> FloatArray:
    """Return class probabilities, or raise `ModelFileError` if they are not finite.

    Examples
    --------
    >>> check_probabilities(np.array([[0.5, np.nan]]))
    Traceback (most recent call last):
    graphmargin.models.model_errors.ModelFileError: the model predicts probabilities that are not finite; do not trust its file
    """  # noqa: E501 - an error is one line
    if not np.isfinite(probabilities).all():
        msg = "the model predicts probabilities that are not finite; do not trust its file"
        raise ModelFileError(msg)
    return probabilities
