"""What can be wrong with a model file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from graphmargin._errors import InputError, one_line


class ModelFileError(InputError):
    """What is wrong with a model or its file, in one line, with the way out.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from graphmargin.models import ModelFileError, load_model
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "cats.skops"
    ...     _ = path.write_text("not a model")
    ...     try:
    ...         load_model(path)
    ...     except ModelFileError as error:
    ...         print(str(error).partition(" is ")[2])
    no model file, or it is damaged (BadZipFile: File is not a zip file); save the model again
    """


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn whatever a damaged or crafted file provokes into one line that names the file.

    A file that was not made by `save_model` can fail in any way that zip, JSON, NumPy, SciPy and
    skops have to fail, down to running out of memory: no list of exceptions would be complete.

    Examples
    --------
    >>> with reading(Path("a.skops")):
    ...     _ = {}["schema.json"]
    Traceback (most recent call last):
    graphmargin.models.errors.ModelFileError: a.skops is no model file, or it is damaged (KeyError: 'schema.json'); save the model again
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
