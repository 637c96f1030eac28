"""The error of model files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from graphmargin._errors import InputError, one_line


class ModelFileError(InputError):
    """An error in a model or its file, in one line, with the way out.

    Examples
    --------
    >>> from graphmargin import SupervisedSVC
    >>> from graphmargin.models import ModelFileError, save_model
    >>> model = SupervisedSVC(kernel=lambda X, Z: X @ Z.T).fit([[0.0], [1.0]], [0, 1])
    >>> try:
    ...     save_model(model, "unused")
    ... except ModelFileError as error:
    ...     print(str(error)[:51])
    `kernel` is a function, which a model file cannot h
    """


def require(fits: Any, what: str) -> None:
    """Raise `ModelFileError` unless a part of a model fits."""
    if not fits:
        msg = f"has `{what}` that do not fit; save the model again"
        raise ModelFileError(msg)


@contextmanager
def model_file_errors(path: Path) -> Iterator[None]:
    """Turn whatever a damaged or crafted file provokes into one line that names the file.

    A file that was not made by `save_model` can fail in any way that zip, JSON, NumPy, SciPy and
    pandas have to fail, down to running out of memory: no list of exceptions would be complete.

    Examples
    --------
    >>> with model_file_errors(Path("a.graphmargin")):
    ...     _ = {}["model.json"]
    Traceback (most recent call last):
    graphmargin.models.model_errors.ModelFileError: a.graphmargin is no model file, or it is damaged (KeyError: 'model.json'); save the model again
    """  # noqa: E501 - an error is one line
    try:
        yield
    except ModelFileError as error:
        msg = f"{path} {error}"
        raise ModelFileError(msg) from error
    except Exception as error:
        reason = one_line(f"{type(error).__name__}: {error}")
        msg = f"{path} is no model file, or it is damaged ({reason}); save the model again"
        raise ModelFileError(msg) from error
