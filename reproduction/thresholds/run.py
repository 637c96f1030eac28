"""Cuts with three thresholds eps and many gamma_g on pairs of letters.

Vertices that no label reaches have l = 0, which has no sign. They are not learned from and are
neither an error nor part of the share, for eps = 0 too: counted as errors, they would add some
percent to the risk of eps = 0 only.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from threadpoolctl import threadpool_limits

from graphmargin.harmonic import HarmonicSolution, harmonic_path
from graphmargin.margin.induced import induced_labels
from graphmargin.margin.machine import MarginMachine
from graphmargin.margin.solvers import train_on_kernel
from reproduction.options import RunOptions
from reproduction.pairs.splits import class_pairs
from reproduction.records import Record, Tables
from reproduction.runner import Parts, run_settings
from reproduction.thresholds.bounds import run_bounds
from reproduction.thresholds.letters import (
    FIRST_DRAW,
    PAIRS,
    C,
    LetterDraw,
    LetterSetting,
    letter_draw,
)

THRESHOLDS = (0.0, 1e-6, 1e-3)
GAMMA_G = tuple(10.0 ** (power / 2) for power in range(-6, 13))
"""1e-3, .., 1e6: for eps = 1e-6, the last one is supervised learning."""
CUTS: Parts = dict.fromkeys(itertools.product(THRESHOLDS, GAMMA_G))
"""All values of eps and gamma_g."""


@dataclass(frozen=True)
class ThresholdRecord(Record):
    """A max-margin graph cut on one draw of a pair of letters.

    Attributes
    ----------
    pair : str
    draw : int
    gamma_g, eps : float
    risk : float
        ``1/n sum_{abs(l_i) >= eps} [sgn f(x_i) != sgn l_i] + 2 eps n_eps / n``.
    train_error, test_error : float
        Shares of the training and test rows on the wrong side of f.
    share : float
        Share of the training rows with ``abs(l_i) >= eps`` that a label reaches.
    """

    setting_fields: ClassVar = ("pair", "draw")
    part_fields: ClassVar = ("eps", "gamma_g")

    pair: str
    draw: int
    gamma_g: float
    eps: float
    risk: float
    train_error: float
    test_error: float
    share: float


def run_figure3(options: RunOptions) -> Tables:
    """Return the records of Figure 3, and those of the bounds."""
    cuts = run_thresholds(figure3_settings(options), options)
    return {"figure3": cuts, "bounds": run_bounds(options)}


def figure3_settings(options: RunOptions) -> list[LetterSetting]:
    """Return the pairs and draws of Figure 3.

    There are 50 draws (5 if quick) of the three pairs of the figure, and 10 (1) of the 22 others.
    """
    draws = options.draws_or(quick=5, full=50)
    fewer = min(draws, 1 if options.quick else 10)
    return [
        (pair, draw)
        for draw in range(FIRST_DRAW, FIRST_DRAW + draws)
        for pair in class_pairs("letter")
        if pair in PAIRS or draw < FIRST_DRAW + fewer
    ]


def run_thresholds(settings: list[LetterSetting], options: RunOptions) -> list[ThresholdRecord]:
    """Return the cuts of some settings, sorted by pair, draw, eps and gamma_g.

    A draw takes about a tenth of a second.
    """
    records = run_settings(
        *(ThresholdRecord, settings, CUTS, threshold_records),
        out=options.finished("figure3"),
        n_jobs=options.n_jobs,
        stage="thresholds on pairs of letters",
        verbose=options.verbose,
    )
    return sorted(records, key=lambda record: record.setting)


def threshold_records(setting: LetterSetting, cuts: Parts) -> list[ThresholdRecord]:
    """Return the cuts of one draw.

    All of them are computed even if few are asked for: each starts at the one before it, so that
    an interrupted run would differ in the last digits otherwise.
    """
    with threadpool_limits(limits=1):
        data = letter_draw(*setting)
        solutions = harmonic_path(data.W, data.split.y, GAMMA_G, n_jobs=1)
        records = [
            _record(setting, data, solution, eps, machine)
            for eps in THRESHOLDS
            for solution, machine in _machines(data, solutions, eps)
        ]
    return [record for record in records if record.part in cuts]


def _machines(
    data: LetterDraw, solutions: list[HarmonicSolution], eps: float
) -> Iterator[tuple[HarmonicSolution, MarginMachine]]:
    """Yield the machine of each solution; the same labels at the same rows are one machine."""
    machine, last = None, b""
    for solution in solutions:
        induced = induced_labels(solution, eps=eps, loss_weights="equal")
        codes = np.where(induced.mask, induced.codes, 0)
        identity = codes.tobytes() + induced.weights.tobytes()
        if machine is None or identity != last:
            machine = train_on_kernel(
                data.K, codes, C=C, sample_weight=induced.weights, start=machine, n_jobs=1
            )
        last = identity
        yield solution, machine


def _record(
    setting: LetterSetting,
    data: LetterDraw,
    solution: HarmonicSolution,
    eps: float,
    machine: MarginMachine,
) -> ThresholdRecord:
    side, side_test = machine.decision(data.K) > 0, machine.decision(data.K_test) > 0
    unsure = np.abs(solution.ell) < eps
    kept = ~unsure & ~solution.unreached
    return ThresholdRecord(
        *setting,
        solution.gamma_g,
        eps,
        risk=float((kept & (side != solution.codes)).mean() + 2 * eps * unsure.mean()),
        train_error=float((side != data.split.y_true).mean()),
        test_error=float((side_test != data.split.y_test).mean()),
        share=float(kept.mean()),
    )
