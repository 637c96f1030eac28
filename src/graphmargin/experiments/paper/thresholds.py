"""Figure 3 of the paper: what the threshold eps does, as a function of gamma_g.

What the paper leaves open is chosen as follows.

- *Problems.* A-B, M-N and V-W, picked because they show what the paper describes on the draws 0 to
  3 of all 25 pairs. These four draws are not used again, lest the choice be mistaken for a result.
  The other 22 pairs are run as well, with fewer draws, and counted.
- *Kernel and C.* Linear of the paper's width sqrt(K) sigma; gamma = 0.1, which is C = 5. That is
  inside the range 0.01 n_l to 0.1 n_l of the UCI experiments, as five rows are labeled.
- *Vertices that no label reaches.* Their l is 0, which has no sign. They are not learned from and
  are neither an error nor part of the share, for eps = 0 too: counted as errors, they would add
  some percent to the risk of eps = 0 only.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from graphmargin._typing import FloatArray
from graphmargin.experiments.paper.methods import N_NEIGHBORS
from graphmargin.experiments.paper.settings import Settings
from graphmargin.experiments.paper.splits import PairSplit, class_pairs, split_pair
from graphmargin.experiments.running import run_cells
from graphmargin.graph import knn_graph
from graphmargin.graph.weights import paper_width
from graphmargin.harmonic import HarmonicSolution, harmonic_path
from graphmargin.margin.induced import induced_labels
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import MarginMachine, centered
from graphmargin.margin.training import center_of, train_on_kernel

PAIRS = ("A-B", "M-N", "V-W")
"""Of the figure."""
FIRST_DRAW = 4
"""The pairs were picked on the draws before it."""
PERCENT = 1
C = 5.0
THRESHOLDS = (0.0, 1e-6, 1e-3)
GAMMA_G = tuple(10.0 ** (power / 2) for power in range(-6, 13))
"""1e-3, .., 1e6: for eps = 1e-6, the last one is supervised learning."""

LetterCell: TypeAlias = tuple[str, int]
"""Pair and draw."""


@dataclass(frozen=True)
class ThresholdRecord:
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
        Of the training rows with ``abs(l_i) >= eps`` that a label reaches.
    """

    pair: str
    draw: int
    gamma_g: float
    eps: float
    risk: float
    train_error: float
    test_error: float
    share: float

    @property
    def cell(self) -> LetterCell:
        """Which rows and labels."""
        return self.pair, self.draw

    @property
    def title(self) -> str:
        """The cell in words."""
        return f"letters {self.pair}, draw {self.draw}"

    @property
    def part(self) -> str:
        """Which of the cuts of a cell."""
        return part_name(self.gamma_g, self.eps)

    @property
    def failure(self) -> str:
        """Nothing: an error ends the run."""
        return ""


@dataclass(frozen=True)
class LetterDraw:
    """Rows and labels of one draw, their graph, and linear kernel values.

    Attributes
    ----------
    split : PairSplit
    W : csr_array of shape (n, n)
    K, K_test : arrays of shape (n, n) and (m, n)
        Between training rows, and between test and training rows.
    """

    split: PairSplit
    W: sparse.csr_array
    K: FloatArray
    K_test: FloatArray


def part_name(gamma_g: float, eps: float) -> str:
    """Return the name of a cut within its cell.

    Examples
    --------
    >>> part_name(0.1, 1e-6)
    'gamma_g=0.1 eps=1e-06'
    """
    return f"gamma_g={gamma_g!r} eps={eps!r}"


def letter_draw(pair: str, draw: int) -> LetterDraw:
    """Return one percent of labels on a pair of letters, with graph and kernel.

    Examples
    --------
    >>> letter_draw("A-B", 0).K_test.shape
    (518, 519)
    """
    split = split_pair("letter", pair, PERCENT, draw)
    W = knn_graph(split.X, N_NEIGHBORS, n_jobs=1)
    kernel = Kernel("linear", paper_width(split.X))
    center = center_of(split.X, kernel)
    rows, new = centered(split.X, center), centered(split.X_test, center)
    return LetterDraw(split, W, kernel(rows, rows), kernel(new, rows))


def figure3(settings: Settings) -> list[ThresholdRecord]:
    """Return the cuts of all pairs of letters, sorted by pair, draw, eps and gamma_g.

    There are 50 draws (5 if quick) of the three pairs of the figure, and 10 (1) of the 22 others;
    finished draws are kept in ``figure3.csv``. A draw takes about a tenth of a second.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     records = figure3(Settings(Path(folder), quick=True, draws=1, n_jobs=1))
    >>> len(records) == 25 * len(THRESHOLDS) * len(GAMMA_G)
    True
    """
    draws = settings.draws_or(quick=5, full=50)
    fewer = min(draws, 1 if settings.quick else 10)
    cells = [
        (pair, draw)
        for draw in range(FIRST_DRAW, FIRST_DRAW + draws)
        for pair in class_pairs("letter")
        if pair in PAIRS or draw < FIRST_DRAW + fewer
    ]
    return run_thresholds(cells, settings)


def run_thresholds(cells: list[LetterCell], settings: Settings) -> list[ThresholdRecord]:
    """Return the cuts of some cells, those that are not in ``figure3.csv`` computed anew."""
    cuts = list(itertools.product(THRESHOLDS, GAMMA_G))
    parts = {part_name(gamma_g, eps): (gamma_g, eps) for eps, gamma_g in cuts}
    known = run_cells(
        ThresholdRecord,
        cells,
        parts,
        threshold_cell,
        n_jobs=settings.n_jobs,
        out=settings.folder / "figure3.csv",
        progress=settings.progress,
    )
    return [known[(*cell, part)] for cell in sorted(cells) for part in parts]


def threshold_cell(
    cell: LetterCell, parts: Mapping[str, tuple[float, float]]
) -> list[ThresholdRecord]:
    """Return the cuts of one draw.

    All of them are computed even if few are asked for: each starts at the one before it, so that
    an interrupted run would differ in the last digits otherwise.

    Examples
    --------
    >>> part = part_name(1e-3, 0.0)
    >>> [record.part for record in threshold_cell(("A-B", 0), {part: (1e-3, 0.0)})]
    ['gamma_g=0.001 eps=0.0']
    """
    with threadpool_limits(limits=1):
        data = letter_draw(*cell)
        solutions = harmonic_path(data.W, data.split.y, GAMMA_G, n_jobs=1)
        records = [
            _record(cell, data, solution, eps, machine)
            for eps in THRESHOLDS
            for solution, machine in _machines(data, solutions, eps)
        ]
    return [record for record in records if record.part in parts]


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
    cell: LetterCell,
    data: LetterDraw,
    solution: HarmonicSolution,
    eps: float,
    machine: MarginMachine,
) -> ThresholdRecord:
    side, side_test = machine.decision(data.K) > 0, machine.decision(data.K_test) > 0
    unsure = np.abs(solution.ell) < eps
    kept = ~unsure & ~solution.unreached
    return ThresholdRecord(
        *cell,
        solution.gamma_g,
        eps,
        risk=float((kept & (side != solution.codes)).mean() + 2 * eps * unsure.mean()),
        train_error=float((side != data.split.y_true).mean()),
        test_error=float((side_test != data.split.y_test).mean()),
        share=float(kept.mean()),
    )
