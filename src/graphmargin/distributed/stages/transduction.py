"""The stage that labels every row: by its given label, by the graph, or by the machine."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphmargin._typing import IntArray
from graphmargin.distributed.engine.handles import (
    Induced,
    Labels,
    PartitionedGraph,
    PartitionedPoints,
    Points,
    StoredLabels,
    StoredMachine,
    StoredSolution,
    Vertices,
)
from graphmargin.distributed.engine.run import Run
from graphmargin.distributed.engine.storage import Folder
from graphmargin.harmonic.system import confidence_of
from graphmargin.labeling.findings import GIVEN, INDUCED, MODEL, SOURCES
from graphmargin.labels import UNLABELED
from graphmargin.margin.calibration import Calibration, probabilities
from graphmargin.margin.machine import predicted_codes

GIVEN_SOURCE, INDUCED_SOURCE, MODEL_SOURCE = map(SOURCES.index, (GIVEN, INDUCED, MODEL))


def label_rows(
    run: Run,
    n_partitions: int,
    offsets: IntArray,
    gamma_g: float,
    calibration: Calibration | None,
) -> tuple[IntArray, IntArray]:
    """Write the label of every row as `StoredLabels`, and return counts of classes and sources.

    Parameters
    ----------
    run : Run
    n_partitions : int
    offsets : array of shape (n_ranges + 1,)
        First row of each row range of the input.
    gamma_g : float
        The gamma_g of the harmonic solution that induces labels; infinite if there is none.
    calibration : Calibration or None
        Calibration of the machine's probabilities, if the machine labels the rows. If None, the
        harmonic solution labels them, and the machine those that no label reaches.

    Returns
    -------
    class_counts : array of shape (c,)
        Rows of each class.
    source_counts : array of shape (3,)
        Rows of each of `SOURCES`.
    """
    results = run.stage(
        StoredLabels.name, _label_partition, n_partitions, offsets, gamma_g, calibration
    )
    classes, sources = (
        np.sum([result[name] for result in results], axis=0) for name in ("classes", "sources")
    )
    return classes, sources


def _label_partition(
    folder: Folder,
    partition: int,
    offsets: IntArray,
    gamma_g: float,
    calibration: Calibration | None,
) -> dict[str, Any]:
    rows, given = PartitionedGraph(folder).read(partition, Vertices)
    X = PartitionedPoints(folder).read(partition, Points).X
    machine = StoredMachine(folder).read()
    induced = Induced(given, np.where(given == UNLABELED, 0.0, 1.0))
    if np.isfinite(gamma_g):
        induced = StoredSolution(folder, gamma_g).read(partition, Induced)
    scores = machine.decision(X) if len(X) else np.zeros((0, machine.n_classes))
    codes, confidence = predicted_codes(scores), induced.confidence
    if calibration is None:
        codes = np.where(induced.codes == UNLABELED, codes, induced.codes)
    else:
        confidence = confidence_of(probabilities(scores, *calibration))
    codes = np.where(given == UNLABELED, codes, given).astype(np.int32)
    source = np.where(induced.codes == codes, INDUCED_SOURCE, MODEL_SOURCE)
    source = np.where(given == UNLABELED, source, GIVEN_SOURCE).astype(np.int8)
    start = np.searchsorted(rows, offsets)
    StoredLabels(folder).write(partition, Labels(rows, codes, confidence, source), start=start)
    return {
        "classes": np.bincount(codes, minlength=machine.n_classes),
        "sources": np.bincount(source, minlength=len(SOURCES)),
    }
