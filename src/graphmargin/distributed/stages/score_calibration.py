"""The stage that calibrates the probabilities of the machine on a sample of its training rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from graphmargin._typing import FloatArray, IntArray
from graphmargin.distributed.engine.handles import (
    Codes,
    Mass,
    PartitionedGraph,
    PartitionedPoints,
    Points,
    StoredSolution,
)
from graphmargin.distributed.engine.run import Run
from graphmargin.distributed.engine.sampling import allocate_sample, draw_sample
from graphmargin.distributed.engine.storage import Arrays, Folder
from graphmargin.distributed.stages.training_rows import (
    BlendedCandidate,
    TrainingPlan,
    count_rows,
    loss_terms,
)
from graphmargin.margin.calibration import Calibration, calibrate_machine, calibration_targets
from graphmargin.margin.machine import MarginMachine
from graphmargin.methods.cut import CALIBRATION_ROWS


def calibrate(
    run: Run, n_partitions: int, machine: MarginMachine, plan: TrainingPlan, gamma_g: float
) -> Calibration:
    """Return the calibration of the machine's probabilities.

    It is fitted on the class masses of up to 2,000 rows that the machine has learned from, as in
    `graphmargin.MaxMarginGraphCut`.

    Parameters
    ----------
    run : Run
    n_partitions : int
    machine : MarginMachine
    plan : TrainingPlan
        The plan by which the machine was trained.
    gamma_g : float
        The gamma_g of the harmonic solution with the class masses; infinite for given labels only.
    """
    candidate = BlendedCandidate(gamma_g, machine.report.C, 1.0)
    plan = replace(plan, candidates=(candidate,), loss_weights="equal")
    counted = run.stage("rows to calibrate", count_rows, n_partitions, plan)
    counts = np.array([result["counts"] for result in counted])
    quotas = allocate_sample(
        counts.sum(axis=1, keepdims=True), np.array([CALIBRATION_ROWS]), plan.seed
    )
    samples = run.stage("calibration", _sample_partition, list(quotas), plan)
    X, mass, codes = (
        np.concatenate([result[name] for result in samples]) for name in ("X", "mass", "codes")
    )
    n_labels = counts[:, machine.n_classes :].sum(axis=0)
    targets = calibration_targets(mass.astype(np.float64), codes, n_labels)
    return calibrate_machine(machine, X, targets, plan.class_weight)


def _sample_partition(
    folder: Folder, partition: int, quotas: IntArray, plan: TrainingPlan
) -> Arrays:
    """Return random training rows of a partition, their class masses, and their given labels."""
    terms = loss_terms(folder, partition, plan)
    rows = draw_sample(np.minimum(terms.strata, 0), quotas, [plan.seed, partition])
    gamma_g = plan.candidates[0].gamma_g
    mass: FloatArray = np.zeros((len(rows), plan.n_classes))
    if np.isfinite(gamma_g):
        mass = StoredSolution(folder, gamma_g).read(partition, Mass, rows=rows).mass
    return {
        "X": PartitionedPoints(folder).read(partition, Points, rows=rows).X,
        "mass": mass,
        "codes": PartitionedGraph(folder).read(partition, Codes, rows=rows).codes,
    }
