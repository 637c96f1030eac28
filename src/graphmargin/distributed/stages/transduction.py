"""The stage that labels every row: by its given label, by the graph, or by the machine."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphmargin._typing import FloatArray, IntArray
from graphmargin.confidence.held_out_predictions import expected_confusion
from graphmargin.distributed.engine.handles import (
    Induced,
    Labels,
    Mass,
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
from graphmargin.harmonic.solution import spread_sink_mass
from graphmargin.labels import UNLABELED
from graphmargin.margin.calibration import Calibration
from graphmargin.margin.machine import predicted_codes


def label_partitions(
    run: Run,
    n_partitions: int,
    offsets: IntArray,
    gamma_g: float,
    calibration: Calibration,
    *,
    by_machine: bool,
) -> tuple[IntArray, FloatArray]:
    """Write the label of every row as `StoredLabels`, and return the counts of classes.

    Parameters
    ----------
    run : Run
    n_partitions : int
    offsets : array of shape (n_ranges + 1,)
        First row of each row range of the input.
    gamma_g : float
        The gamma_g of the harmonic solution that induces labels; infinite if there is none.
    calibration : Calibration
        Calibration of the machine's probabilities.
    by_machine : bool
        True if the machine predicts all labels that are not given. Else they are those of the
        solution, and the machine's where no label reaches a row.

    Returns
    -------
    class_counts : array of shape (c,)
        Rows of each class.
    joint : array of shape (c, c)
        `expected_confusion` of the unlabeled rows.
    """
    results = run.stage(
        StoredLabels.name, _label_partition, n_partitions, offsets, gamma_g, calibration, by_machine
    )
    classes, joint = (
        np.sum([result[name] for result in results], axis=0) for name in ("classes", "joint")
    )
    return classes, joint


def _label_partition(
    folder: Folder,
    partition: int,
    offsets: IntArray,
    gamma_g: float,
    calibration: Calibration,
    by_machine: bool,
) -> dict[str, Any]:
    rows, given = PartitionedGraph(folder).read(partition, Vertices)
    X = PartitionedPoints(folder).read(partition, Points).X
    machine = StoredMachine(folder).read()
    n, n_classes = len(X), machine.n_classes
    scores = machine.scores(X, calibration.pair_scales)
    codes, distributions = predicted_codes(scores), calibration.probabilities(scores)
    is_given = given != UNLABELED
    if not by_machine:  # a given label is certain, also where there is no solution
        distributions[is_given] = np.eye(n_classes)[given[is_given]]
    if np.isfinite(gamma_g) and not by_machine:
        solution = StoredSolution(folder, gamma_g)
        induced = solution.read(partition, Induced).codes
        reached, mass = induced != UNLABELED, solution.read(partition, Mass).mass
        distributions[reached] = spread_sink_mass(mass)[reached]
        codes = np.where(reached, induced, codes)
    codes = np.where(is_given, given, codes).astype(np.int32)
    confidence = distributions[np.arange(n), codes]
    start = np.searchsorted(rows, offsets)
    StoredLabels(folder).write(partition, Labels(rows, codes, confidence, is_given), start=start)
    return {
        "classes": np.bincount(codes, minlength=machine.n_classes),
        "joint": expected_confusion(distributions[~is_given], codes[~is_given]),
    }
