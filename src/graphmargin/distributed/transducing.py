"""A label for every row: of the graph, of the max-margin machine, or given."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphmargin._typing import AnyArray, FloatArray, IntArray
from graphmargin.distributed.blocks import GRAPH, POINTS
from graphmargin.distributed.learning import load_machine
from graphmargin.distributed.output import LABELS
from graphmargin.distributed.run import Run, file_name
from graphmargin.distributed.storage import Folder
from graphmargin.harmonic.solve import confidence_of
from graphmargin.labeling.findings import GIVEN, INDUCED, MODEL, SOURCES
from graphmargin.labels import UNLABELED
from graphmargin.margin.calibration import Calibration, probabilities
from graphmargin.margin.machine import winner

GIVEN_SOURCE, INDUCED_SOURCE, MODEL_SOURCE = map(SOURCES.index, (GIVEN, INDUCED, MODEL))


def label_parts(
    run: Run,
    n_parts: int,
    offsets: IntArray,
    *,
    solution: str | None,
    calibration: Calibration | None,
) -> tuple[IntArray, IntArray]:
    """Write ``labels/``: `rows`, `codes`, `confidence` and `source` of each part, cut by piece.

    Parameters
    ----------
    run : Run
    n_parts : int
    offsets : array of shape (n_pieces + 1,)
        First row of each piece of the input.
    solution : str or None
        Folder of the harmonic solution; None if the graph has no say.
    calibration : Calibration or None
        Of the machine's probabilities, if labels are the machine's. If None, they are those of
        the solution, and the machine's where no label is reached.

    Returns
    -------
    class_counts : array of shape (c,)
        Rows of each class.
    source_counts : array of shape (3,)
        Rows of each of `SOURCES`.
    """
    notes = run.stage(LABELS, _label, n_parts, offsets, solution, calibration)
    classes, sources = (
        np.sum([note[name] for note in notes], axis=0) for name in ("classes", "sources")
    )
    return classes, sources


def _label(
    folder: Folder,
    part: int,
    offsets: IntArray,
    solution: str | None,
    calibration: Calibration | None,
) -> dict[str, Any]:
    graph = (folder / GRAPH).read(file_name(part), ["rows", "codes"])
    X = (folder / POINTS).read(file_name(part))["X"]
    given, machine = graph["codes"], load_machine(folder)
    induced, confidence = _induced(folder, part, solution, given)
    scores = machine.decision(X) if len(X) else np.zeros((0, machine.n_classes))
    codes = winner(scores)
    if calibration is None:
        codes = np.where(induced == UNLABELED, codes, induced)
    else:
        confidence = confidence_of(probabilities(scores, *calibration))
    codes = np.where(given == UNLABELED, codes, given).astype(np.int32)
    source = np.where(induced == codes, INDUCED_SOURCE, MODEL_SOURCE)
    source = np.where(given == UNLABELED, source, GIVEN_SOURCE).astype(np.int8)
    found = {
        "rows": graph["rows"],
        "codes": codes,
        "confidence": confidence,
        "source": source,
    }
    start = np.searchsorted(graph["rows"], offsets)
    (folder / LABELS).write(file_name(part), found, start=start)
    return {
        "classes": np.bincount(codes, minlength=machine.n_classes),
        "sources": np.bincount(source, minlength=len(SOURCES)),
    }


def _induced(
    folder: Folder, part: int, solution: str | None, given: IntArray
) -> tuple[AnyArray, FloatArray]:
    """Return what the graph says of the rows of a part."""
    if solution is None:
        return given, np.where(given == UNLABELED, 0.0, 1.0)
    found = (folder / solution).read(file_name(part), ["codes", "confidence"])
    return found["codes"], found["confidence"]
