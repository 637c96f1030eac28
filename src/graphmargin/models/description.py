"""The description of a model file, which is read without loading the model."""

from __future__ import annotations

import math
import platform
import reprlib
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from graphmargin import __version__
from graphmargin._errors import printable
from graphmargin.models.array_model import ArrayModel
from graphmargin.models.model_errors import ModelFileError
from graphmargin.models.table_model import TableModel

SCHEMA = 2
"""Version of the format of model files; files of a newer version cannot be loaded."""
PACKAGES = ("numpy", "scipy", "scikit-learn")
MAX_SHOWN = 20
"""Largest number of classes in the text of a description, and of candidates in a list."""
TABLE_KIND = "TableModel"


@dataclass(frozen=True)
class ModelInfo:
    """A description of a model file; its str is a text of about ten lines.

    Attributes
    ----------
    schema : int
        Version of the format.
    graphmargin : str
        Version of graphmargin that wrote the file.
    kind : str
        Name of the class of the classifier, or TableModel.
    created : str
        Time at which it was saved, in ISO 8601 and UTC.
    python : str
    packages : mapping from str to str
        Versions of packages.
    classes : tuple of str
        The labels, as text.
    parameters : mapping
        Parameters of the classifier; values that JSON does not have are text. Empty for tables.
    target : str or None
        Column of the labels of a table model.
    details : mapping
        Details of a table model, see `TableModel`.
    digest : str
        SHA-256 of all other content of the file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from graphmargin import SupervisedSVC, model_info, save_model
    >>> model = SupervisedSVC().fit([[0.0], [1.0]], ["cat", "dog"])
    >>> with TemporaryDirectory() as folder:
    ...     save_model(model, Path(folder) / "cats.graphmargin")
    ...     info = model_info(Path(folder) / "cats.graphmargin")
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
        more = ", .." if len(self.classes) > MAX_SHOWN else ""
        shown = ", ".join(self.classes[:MAX_SHOWN]) + more
        packages = ", ".join(f"{name} {number}" for name, number in self.packages.items())
        parameters = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        lines = {
            "model": self.kind,
            "target": self.target,
            "classes": f"{len(self.classes)}: {shown}",
            "saved": f"{self.created} by graphmargin {self.graphmargin} (schema {self.schema})",
            "with": f"Python {self.python}, {packages}",
            "parameters": parameters or None,
            **{name.replace("_", " "): value for name, value in self.details.items()},
        }
        width = max(map(len, lines)) + 2
        return "\n".join(
            textwrap.fill(
                printable(f"{name:<{width}}{value}"), width=100, subsequent_indent=" " * width
            )
            for name, value in lines.items()
            if value is not None
        )


def describe(model: ArrayModel | TableModel) -> dict[str, Any]:
    """Return the description of a model, without a digest, as JSON values."""
    description = {
        "schema": SCHEMA,
        "graphmargin": __version__,
        "kind": TABLE_KIND,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in PACKAGES},
        "classes": [str(label) for label in model.classes.tolist()],
        "parameters": {},
        "target": None,
        "details": {},
    }
    if isinstance(model, TableModel):
        return {**description, "target": model.target, "details": dict(model.details)}
    parameters = {name: _json_or_text(value) for name, value in model.parameters.items()}
    return {**description, "kind": model.kind, "parameters": parameters}


def parse_description(description: Mapping[str, Any]) -> ModelInfo:
    """Return the description of a model file, or raise `ModelFileError`.

    The schema is checked first, because the other fields of a newer schema may differ.
    """
    schema = description.get("schema")
    if isinstance(schema, int) and schema > SCHEMA:
        msg = (
            f"was written by graphmargin {description.get('graphmargin')} (schema {schema}), but "
            f"graphmargin {__version__} reads up to schema {SCHEMA}; upgrade graphmargin"
        )
        raise ModelFileError(msg)
    types = {
        **dict.fromkeys(("graphmargin", "kind", "created", "python", "digest"), str),
        **dict.fromkeys(("packages", "parameters", "details"), dict),
        **{"schema": int, "classes": list, "target": str | None},
    }
    bad_fields = [name for name in types if not isinstance(description.get(name), types[name])]
    if bad_fields or schema != SCHEMA or set(description) != set(types):
        msg = f"is not a model file: its description is invalid {bad_fields or ''}".rstrip()
        raise ModelFileError(msg)
    classes = tuple(str(label) for label in description["classes"])
    return ModelInfo(**{**description, "classes": classes})


def _json_or_text(value: Any, is_candidate: bool = False) -> Any:
    """Return the value of a parameter, or a list of candidates, as JSON, or else as short text."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, list | tuple) and len(value) <= MAX_SHOWN and not is_candidate:
        return [_json_or_text(candidate, is_candidate=True) for candidate in value]
    return reprlib.repr(value)
