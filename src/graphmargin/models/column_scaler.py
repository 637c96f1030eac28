"""Scalers of columns, which a model applies to new rows before it predicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scipy import sparse

from graphmargin._typing import FloatArray

SCALERS = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler")
"""Scalers of scikit-learn that model files can store."""


@dataclass(frozen=True)
class ColumnScaler:
    """Columns minus a center, divided by a scale.

    Attributes
    ----------
    center : array of shape (d,) or None
        None if nothing is subtracted; sparse rows need that.
    scale : array of shape (d,) or None
        None if nothing is divided.

    Examples
    --------
    >>> import numpy as np
    >>> ColumnScaler(np.array([1.0, 0.0]), np.array([2.0, 1.0])).of(np.array([[5.0, 3.0]])).tolist()
    [[2.0, 3.0]]
    """

    center: FloatArray | None
    scale: FloatArray | None

    def of(self, X: Any) -> Any:
        """Return scaled rows, of the same precision."""
        if self.center is not None:
            if sparse.issparse(X):
                msg = (
                    "`X` must not be sparse, because the scaler of the model subtracts a center; "
                    "pass an array, or fit the pipeline with StandardScaler(with_mean=False)"
                )
                raise ValueError(msg)
            X = X - self.center.astype(X.dtype)
        if self.scale is None:
            return X
        scale = self.scale.astype(X.dtype)
        return X.multiply(1 / scale).tocsr() if sparse.issparse(X) else X / scale


def scalers_of(pipeline: Any) -> tuple[ColumnScaler, ...]:
    """Return the scalers of all steps of a fitted pipeline but the last.

    Raises
    ------
    TypeError
        If a step is neither "passthrough" nor one of `SCALERS`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> steps = make_pipeline(StandardScaler(), "passthrough").fit([[1.0], [3.0]])
    >>> scalers_of(steps)[0].of(np.array([[4.0]])).tolist()
    [[2.0]]
    """
    scalers = []
    for name, step in pipeline.steps[:-1]:
        if step is None or step == "passthrough":
            continue
        kind = type(step).__name__
        is_known = type(step).__module__.startswith("sklearn.") and kind in SCALERS
        if not is_known or getattr(step, "clip", False):
            clips = " with clip=True" if is_known else ""
            msg = (
                f"`model` has a {kind}{clips} in the step {name!r}, which a model file cannot "
                f"store; it stores {', '.join(SCALERS)}. Fit SemiSupervisedEnsemble to the data "
                "frame itself, whose columns it encodes and scales, or pickle the pipeline"
            )
            raise TypeError(msg)
        scalers.append(_scaler_of(step, kind))
    return tuple(scalers)


def _scaler_of(step: Any, kind: str) -> ColumnScaler:
    if kind == "StandardScaler":
        return ColumnScaler(
            step.mean_ if step.with_mean else None, step.scale_ if step.with_std else None
        )
    if kind == "RobustScaler":
        return ColumnScaler(step.center_, step.scale_)
    if kind == "MaxAbsScaler":
        return ColumnScaler(None, step.scale_)
    return ColumnScaler(-step.min_ / step.scale_, 1 / step.scale_)  # MinMaxScaler
