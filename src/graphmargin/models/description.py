"""What a model file says of itself, readable without making the model."""

from __future__ import annotations

import math
import platform
import reprlib
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from graphmargin import __version__
from graphmargin.models.errors import ModelFileError
from graphmargin.models.table_model import TableModel

SCHEMA = 1
"""Version of the format of model files; a reader refuses newer ones."""
PACKAGES = ("numpy", "scipy", "scikit-learn", "skops")
SHOWN = 20
"""Classes, at most, in the text of a description."""


@dataclass(frozen=True)
class ModelInfo:
    """What a model file says of itself; its str is a text of about ten lines.

    Attributes
    ----------
    schema : int
        Version of the format.
    graphmargin : str
        Version that wrote the file.
    kind : str
        Class of the model.
    created : str
        When it was saved, ISO 8601 in UTC.
    python : str
    packages : mapping from str to str
        Versions of packages.
    classes : tuple of str
        The labels, as text.
    parameters : mapping
        Of the classifier; what JSON has no word for is text.
    target : str or None
        Of a table model: the column of labels.
    details : mapping
        See `TableModel`.
    digest : str
        SHA-256 of all else in the file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from graphmargin import SupervisedSVC, model_info, save_model
    >>> model = SupervisedSVC().fit([[0.0], [1.0]], ["cat", "dog"])
    >>> with TemporaryDirectory() as folder:
    ...     save_model(model, Path(folder) / "cats.skops")
    ...     info = model_info(Path(folder) / "cats.skops")
    >>> info.kind, info.classes, info.parameters["kernel"]
    ('SupervisedSVC', ('cat', 'dog'), 'rbf')
    """

    schema: int
    graphmargin: str
    kind: str
    created: str
    python: str
    packages: Mapping[str, str]
    classes: tuple[str, ...]
    parameters: Mapping[str, Any]
    target: str | None
    details: Mapping[str, Any]
    digest: str

    def __str__(self) -> str:
        """Return a text for a terminal."""
        shown = ", ".join(self.classes[:SHOWN]) + (", .." if len(self.classes) > SHOWN else "")
        packages = ", ".join(f"{name} {number}" for name, number in self.packages.items())
        parameters = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        lines = {
            "model": self.kind,
            "target": self.target,
            "classes": f"{len(self.classes)}: {shown}",
            "saved": f"{self.created} by graphmargin {self.graphmargin} (schema {self.schema})",
            "with": f"Python {self.python}, {packages}",
            "parameters": parameters,
            **{name.replace("_", " "): value for name, value in self.details.items()},
        }
        width = max(map(len, lines)) + 2
        return "\n".join(
            textwrap.fill(f"{name:<{width}}{value}", width=100, subsequent_indent=" " * width)
            for name, value in lines.items()
            if value is not None
        )


def describe(model: Any) -> dict[str, Any]:
    """Return the description of a model, without a digest, as JSON values.

    Examples
    --------
    >>> from graphmargin import SupervisedSVC
    >>> found = describe(SupervisedSVC().fit([[0.0], [1.0]], ["a", "b"]))
    >>> found["kind"], found["classes"], found["parameters"]["kernel"]
    ('SupervisedSVC', ['a', 'b'], 'rbf')
    """
    is_table = isinstance(model, TableModel)
    classifier = model.classifier if is_table else model
    classes = model.classes if is_table else model.classes_
    packages = (*PACKAGES, "skrub") if is_table else PACKAGES
    parameters = classifier.get_params(deep=False)
    return {
        "schema": SCHEMA,
        "graphmargin": __version__,
        "kind": type(model).__name__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in packages},
        "classes": [str(one) for one in classes.tolist()],
        "parameters": {name: _plain(value) for name, value in parameters.items()},
        "target": model.target if is_table else None,
        "details": dict(model.details) if is_table else {},
    }


def understand(description: Mapping[str, Any]) -> ModelInfo:
    """Return what a description from a file says, or say what is wrong with it.

    A newer schema is told first: nothing else in it need be as it is today.
    """
    schema = description.get("schema")
    if isinstance(schema, int) and schema > SCHEMA:
        msg = (
            f"was written by graphmargin {description.get('graphmargin')} (schema {schema}); this "
            f"is graphmargin {__version__}, which reads up to schema {SCHEMA}: upgrade"
        )
        raise ModelFileError(msg)
    types = {
        **dict.fromkeys(("graphmargin", "kind", "created", "python", "digest"), str),
        **dict.fromkeys(("packages", "parameters", "details"), dict),
        **{"schema": int, "classes": list, "target": str | None},
    }
    wrong = [name for name in types if not isinstance(description.get(name), types[name])]
    if wrong or schema != SCHEMA or set(description) != {field.name for field in fields(ModelInfo)}:
        msg = f"is no model file of graphmargin: its description is odd {wrong or ''}".rstrip()
        raise ModelFileError(msg)
    classes = tuple(str(one) for one in description["classes"])
    return ModelInfo(**{**description, "classes": classes})


def _plain(value: Any) -> Any:
    """Return a value as JSON has it, or else a short text."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    return reprlib.repr(value)
