"""The bounds of the paper's theory on draws of letters: whether they hold, and say something.

The setting is that of the theory: soft labels with trust c_l = 1, a pull c_u in (0, 1) of all other
vertices towards zero, and linear functions, whose VC dimension is known. The cuts are learned from
the signs of the soft solution, with the kernel, graph and C of Figure 3, and eps = 1e-3.

For every draw, each labeled example is replaced in two ways: its label changes its sign, and it
moves to an unlabeled vertex, with the true label there. Lemma 2 is about the
losses ``(l_i - y_i)^2``, none of which is to change by more than beta; the l_i are measured too.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu
from threadpoolctl import threadpool_limits

from graphmargin._typing import FloatArray
from graphmargin.graph.laplacian import laplacian
from graphmargin.harmonic import HarmonicSolution, harmonic_solution
from graphmargin.margin.induced import induced_labels
from graphmargin.margin.solvers import train_on_kernel
from graphmargin.theory import risk_bound, vc_dimension
from reproduction.options import RunOptions
from reproduction.records import Record
from reproduction.runner import Parts, run_settings
from reproduction.thresholds.letters import (
    FIRST_DRAW,
    PAIRS,
    C,
    LetterDraw,
    LetterSetting,
    letter_draw,
)

GAMMA_G = (0.01, 1.0, 10.0)
"""The last is about n_l^1.5, where the paper's beta begins to fall with the number of labels."""
C_UNLABELED = (0.01, 0.5)
EPS = 1e-3
ETA = DELTA = 0.05
"""The bounds hold with probability 0.9."""
ROUNDING = 1e-9
"""Violations of an inequality that may be due to rounding."""
CUTS: Parts = dict.fromkeys(itertools.product(GAMMA_G, C_UNLABELED))


@dataclass(frozen=True)
class BoundRecord(Record):
    """The bounds of one cut, and what they bound.

    Attributes
    ----------
    pair : str
    draw : int
    gamma_g, c_unlabeled : float
    n, n_labeled : int
    test_error : float
        The true risk, on the test rows.
    plain_bound, bound : float
        Propositions 1 and 2, with the stability coefficient that is proved in this package.
    lemma_bound : float
        Proposition 2 with the paper's coefficient.
    pointwise_violations : int
        Training rows with ``L(f, y) > L(f, sgn l) + (l - y)^2`` (Lemma 1).
    beta, lemma_beta : float
        Both coefficients.
    moved_ell, moved_loss : float
        The largest change of an l_i, and of a loss, when a labeled example is replaced.
    """

    setting_fields: ClassVar = ("pair", "draw")
    part_fields: ClassVar = ("gamma_g", "c_unlabeled")

    pair: str
    draw: int
    gamma_g: float
    c_unlabeled: float
    n: int
    n_labeled: int
    test_error: float
    plain_bound: float
    bound: float
    lemma_bound: float
    pointwise_violations: int
    beta: float
    lemma_beta: float
    moved_ell: float
    moved_loss: float


def run_bounds(options: RunOptions) -> list[BoundRecord]:
    """Return the bounds on draws of the three pairs of Figure 3, sorted by pair and draw.

    There are 50 draws (5 if quick).
    """
    draws = options.draws_or(quick=5, full=50)
    settings = [(pair, FIRST_DRAW + draw) for draw in range(draws) for pair in PAIRS]
    records = run_settings(
        *(BoundRecord, settings, CUTS, bound_records),
        out=options.finished("bounds"),
        n_jobs=options.n_jobs,
        stage="bounds on pairs of letters",
        verbose=options.verbose,
    )
    return sorted(records, key=lambda record: record.setting)


def bound_records(setting: LetterSetting, cuts: Parts) -> list[BoundRecord]:
    """Return the bounds of the cuts of one draw."""
    with threadpool_limits(limits=1):
        data = letter_draw(*setting)
        return [_record(setting, data, *cut) for cut in cuts]


def replaced_examples(
    data: LetterDraw, gamma_g: float, c_unlabeled: float
) -> list[tuple[FloatArray, FloatArray]]:
    """Return targets y and soft solution l, first as given, then with each example replaced.

    Each solves ``(C + L + gamma_g I) l = C y`` with ``C = diag(1 or c_u)`` (eq. soft HFS).
    Unlabeled targets are 0. Vertices that examples move to are drawn from the seed of the split.
    """
    y = np.where(data.split.y < 0, 0.0, 2.0 * data.split.y - 1)
    truth = 2.0 * data.split.y_true - 1
    random = np.random.default_rng(data.split.seed)
    targets = [y]
    for vertex in np.flatnonzero(y):
        flipped, moved = y.copy(), y.copy()
        flipped[vertex] = -y[vertex]
        place = random.choice(np.flatnonzero(y == 0))
        moved[vertex], moved[place] = 0.0, truth[place]
        targets += [flipped, moved]
    Q = laplacian(data.W) + gamma_g * sparse.eye_array(len(y))
    solved, factors = [], {}
    for target in targets:
        trust = np.where(target == 0, c_unlabeled, 1.0)
        key = trust.tobytes()  # a label that changes its sign leaves the system as it is
        if key not in factors:
            factors[key] = splu((Q + sparse.diags_array(trust)).tocsc())
        solved.append((target, factors[key].solve(trust * target)))
    return solved


def _record(
    setting: LetterSetting, data: LetterDraw, gamma_g: float, c_unlabeled: float
) -> BoundRecord:
    y, truth = data.split.y, 2 * data.split.y_true - 1
    soft: dict[str, Any] = {
        "gamma_g": gamma_g,
        "c_labeled": 1.0,
        "c_unlabeled": c_unlabeled,
    }
    solution = harmonic_solution(data.W, y, n_jobs=1, **soft)
    f, f_test = _scores(data, solution)
    h = vc_dimension("linear", data.split.X.shape[1])
    shared: dict[str, Any] = {"vc_dimension": h, "eps": EPS, "eta": ETA, "delta": DELTA}
    ours = risk_bound(solution, f, **shared)
    lemma = risk_bound(solution, f, stability="lemma", **shared)
    side = np.where(f > 0, 1, -1)
    loss, induced_loss = side != truth, side != np.sign(solution.ell)
    pointwise = induced_loss + (solution.ell - truth) ** 2
    (_, before), *others = replaced_examples(data, gamma_g, c_unlabeled)
    return BoundRecord(
        *setting,
        gamma_g,
        c_unlabeled,
        n=len(y),
        n_labeled=int((y >= 0).sum()),
        test_error=float(((f_test > 0) != data.split.y_test).mean()),
        plain_bound=ours.plain,
        bound=ours.bound,
        lemma_bound=lemma.bound,
        pointwise_violations=int((loss > pointwise + ROUNDING).sum()),
        beta=ours.beta,
        lemma_beta=lemma.beta,
        moved_ell=max(float(np.abs(after - before).max()) for _, after in others),
        moved_loss=max(
            float(np.abs((after - truth) ** 2 - (before - truth) ** 2).max()) for _, after in others
        ),
    )


def _scores(data: LetterDraw, solution: HarmonicSolution) -> tuple[FloatArray, FloatArray]:
    """Return f at the training and at the test rows."""
    induced = induced_labels(solution, eps=EPS, loss_weights="equal")
    codes = np.where(induced.mask, induced.codes, 0)
    machine = train_on_kernel(data.K, codes, C=C, sample_weight=induced.weights, n_jobs=1)
    return machine.decision(data.K), machine.decision(data.K_test)
