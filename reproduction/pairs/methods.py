"""The methods of the paper's table, on a graph and kernels that they share.

A method decides for all candidates of its grid at once, on validation and test rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import TypeAlias

import numpy as np
from scipy import sparse

from graphmargin._typing import FloatArray
from graphmargin.estimators import MaxMarginGraphCut
from graphmargin.graph import knn_graph
from graphmargin.graph.weights import paper_width
from graphmargin.harmonic import harmonic_path
from graphmargin.labels import UNLABELED, encode_labels
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import pairwise_values
from graphmargin.margin.manifold import WarpedFeatures, warp_features
from graphmargin.margin.s3vm_training import train_smooth
from graphmargin.methods.cut import Cut
from graphmargin.search.data import TrainingData
from graphmargin.search.execution import Execution
from graphmargin.search.held_out import HeldOutLabels
from graphmargin.search.parameters import (
    GraphParameters,
    KernelParameters,
    WalkParameters,
)
from graphmargin.search.trials import Trials, join_trials
from reproduction.pairs.splits import PairSplit
from reproduction.published import GC, KERNEL_NAMES, MR, SVM

GAMMA_SHARES = (0.1, 0.01)
"""Values of gamma over the number of labels: the ends of the paper's range."""
GAMMA_G = tuple(float(f"1e{power}") for power in range(-3, 4))
"""Values of gamma_g = gamma / gamma_u, for gamma_u from 1e-3 gamma to 1e3 gamma."""
HAT_SHARES = (10.0, 0.1, 1e-3)
"""Values of gamma_u / gamma for the hat loss, whose machines cost more than all others."""
HAT_SMOOTHNESS = 0.1
"""Smoothness of the hinge loss beside the hat losses. There is no class prior here, and with the
library's 0.5, few labels of unequal classes shift the bias: the mean error is 0.6 points higher."""
C_UNLABELED, ALMOST_NOTHING = 0.01, 1e-6
"""c_u of soft labels. It acts like a larger gamma_g, so that it is also tried without, nearly."""
N_NEIGHBORS = 5
EPS = 1e-6
NO_KERNEL = "none"
WIDE_GAMMA_G = (np.inf, *(float(f"1e{power}") for power in range(3, -3, -1)))
WIDE_N_NEIGHBORS = (3, 5, 10)
WIDE_LOSS_WEIGHTS = ("confidence", "equal")
"""Grid of `wide_cut`; the values of C are those of "auto"."""
EQUAL_SHARES = 0.5
FEW_LABELS = 20
"""Largest number of training labels with which `wide_cut` also tries other biases. More labels
determine the bias themselves."""


@dataclass(frozen=True)
class Candidates:
    """Decisions of the candidates of a grid, the preferred ones first.

    Attributes
    ----------
    C, strength : arrays of shape (m,)
        1 / (2 gamma), and gamma_g of a cut or a harmonic solution, gamma / gamma_u of the others.
    f_validation, f_test : arrays of shape (m, h) and (m, t)
        Decisions on validation and test rows, positive for class 1.
    units : array of shape (m,) or None
        Units of the functions in a mean of them; None is their mean absolute value on test rows.
    """

    C: FloatArray
    strength: FloatArray
    f_validation: FloatArray
    f_test: FloatArray
    units: FloatArray | None = None


class PairWork:
    """A split with its graph, which is computed once."""

    def __init__(self, split: PairSplit) -> None:
        """Keep the split; nothing is computed before it is asked for."""
        self.split = split
        self.labels = encode_labels(split.y)
        self.X_new = np.concatenate([split.X_validation, split.X_test])
        self.y_new = np.concatenate([split.y_validation, split.y_test])
        self.Cs = [float(1 / (2 * share * self.labels.labeled.sum())) for share in GAMMA_SHARES]

    @cached_property
    def width(self) -> float:
        """The paper's sqrt(K) sigma."""
        return paper_width(self.split.X)

    @cached_property
    def W(self) -> sparse.csr_array:  # noqa: N802 - the graph
        """Graph of the training rows."""
        return knn_graph(self.split.X, N_NEIGHBORS, n_jobs=1)

    def candidates(self, params: Sequence[tuple[float, float]], f_new: FloatArray) -> Candidates:
        """Return the decisions on validation and test rows, for pairs of C and strength."""
        C, strength = np.array(params, dtype=np.float64).T
        return Candidates(C, strength, *np.split(f_new, [len(self.split.y_validation)], axis=1))


class KernelWork:
    """A split with a kernel: its matrix, and features that the graph has warped."""

    def __init__(self, pair: PairWork, kernel: str, *, scaled: bool = True) -> None:
        """Keep the pair and its kernel; linear and cubic ones have width 1 if not `scaled`."""
        self.pair = pair
        width = pair.width if scaled or kernel == "rbf" else 1.0
        self.kernel = Kernel(KERNEL_NAMES[kernel], width)

    @cached_property
    def values(self) -> tuple[FloatArray, FloatArray]:
        """Kernel values of training rows, and of validation and test rows, with training rows."""
        X = self.pair.split.X
        return self.kernel(X, X), self.kernel(self.pair.X_new, X)

    @cached_property
    def warped(self) -> WarpedFeatures:
        """Features of all training rows, warped by their graph, for machines with any bias."""
        pair = self.pair
        return warp_features(
            *(pair.split.X, np.flatnonzero(pair.labels.labeled), self.kernel, pair.W),
            fit_intercept=False,
            n_landmarks=len(pair.split.X),
            n_jobs=1,
            random_state=pair.split.seed,
        )


Method: TypeAlias = Callable[[KernelWork], Candidates]


def svm(work: KernelWork) -> Candidates:
    """Decide by SVMs on the labeled rows; the larger gamma comes first."""
    return _cuts(work, [np.inf])


def cut(work: KernelWork) -> Candidates:
    """Decide by the paper's cuts; smaller gamma_g come first, then the larger gamma."""
    return _cuts(work, GAMMA_G)


def soft_cut(work: KernelWork) -> Candidates:
    """Decide by cuts of soft labels with c_l = 1."""
    return _cuts(work, GAMMA_G, c_labeled=1.0)


def soft_cut_without_c_u(work: KernelWork) -> Candidates:
    """Decide by cuts of soft labels with c_l = 1, and nothing else: c_u is next to zero."""
    return _cuts(work, GAMMA_G, c_labeled=1.0, c_unlabeled=ALMOST_NOTHING)


def soft_cut_c10(work: KernelWork) -> Candidates:
    """Decide by cuts of soft labels with c_l = 10."""
    return _cuts(work, GAMMA_G, c_labeled=10.0)


def soft_cut_of_theory(work: KernelWork) -> Candidates:
    """Decide by cuts of soft labels with c_l = 1 and the gamma_g = n_l^1.5 of the theory."""
    n_labeled = int(work.pair.labels.labeled.sum())
    return _cuts(work, [n_labeled**1.5], c_labeled=1.0)


def published_manifold(work: KernelWork) -> Candidates:
    """Decide by manifold regularization without a bias, as it is written in the paper."""
    return _manifold(work, fit_intercept=False)


def manifold_with_bias(work: KernelWork) -> Candidates:
    """Decide by manifold regularization with the bias that the other methods have."""
    return _manifold(work, fit_intercept=True)


def hat_loss(work: KernelWork) -> Candidates:
    """Decide by semi-supervised SVMs, with the gamma of the SVM that errs least on validation.

    They minimize a smooth form of the paper's objective (eq. S3VM). No class prior holds their
    mean, as that objective has none.
    """
    pair = work.pair
    supervised = svm(work)
    y = pair.split.y_validation
    wrong = ((supervised.f_validation > 0) != (y == 1)).sum(axis=1)
    C = pair.Cs[int(wrong.argmin())]
    machines = train_smooth(
        pair.split.X,
        pair.labels.codes,
        work.kernel,
        C=[C] * len(HAT_SHARES),
        gamma_us=[share / (2 * C) for share in HAT_SHARES],
        smoothness=HAT_SMOOTHNESS,
        n_jobs=1,
        random_state=pair.split.seed,
    )
    params = [(C, 1 / share) for share in HAT_SHARES]
    f_new = np.array([machine.decision(pair.X_new) for machine in machines])
    return pair.candidates(params, f_new)


def harmonic(work: KernelWork) -> Candidates:
    """Decide by harmonic solutions on a graph of all rows, the test rows among them."""
    pair, split = work.pair, work.pair.split
    X = np.concatenate([split.X, pair.X_new, split.X_unused])
    y = np.full(len(X), UNLABELED)
    y[: len(split.y)] = split.y
    W = knn_graph(X, N_NEIGHBORS, n_jobs=1)
    solutions = harmonic_path(W, y, GAMMA_G, n_jobs=1)
    rows = slice(len(split.y), len(split.y) + len(pair.X_new))
    f_new = np.array([solution.ell[rows] for solution in solutions])
    return pair.candidates([(np.nan, gamma_g) for gamma_g in GAMMA_G], f_new)


def automatic_cut(work: KernelWork) -> Candidates:
    """Decide by the blend of cuts that our rule makes of what validation labels say."""
    pair, split = work.pair, work.pair.split
    validation = split.X_validation, split.y_validation
    model = MaxMarginGraphCut(
        kernel=work.kernel.kind, cv=validation, n_jobs=1, random_state=split.seed
    )
    f_new = model.fit(split.X, split.y).decision_function(pair.X_new)
    return pair.candidates([(np.nan, np.nan)], f_new[None])


def wide_cut(work: KernelWork) -> Candidates:
    """Decide by cuts of a wider grid than the paper's, in units of their values on training rows.

    The grid has three graphs, losses weighted by confidence or not, and the supervised SVM. With up
    to 20 training labels, each function is there with three biases: as learned, and those for which
    the shares of the classes among the training rows are the ones of the training labels (with one
    label more in each class), or equal. Validation labels are not used here. They choose among the
    candidates like the paper's, by the least error, and all of the best are averaged.
    """
    pair, split = work.pair, work.pair.split
    rows = np.concatenate([pair.X_new, split.X])
    no_codes = np.zeros(len(rows), dtype=np.int64)  # decisions do not depend on them
    held_out, execution = HeldOutLabels((), (rows, no_codes)), Execution(1, split.seed)
    data = TrainingData(split.X, pair.labels, held_out, execution)
    cuts = [
        Cut(
            WalkParameters(GraphParameters(n_neighbors)),
            KernelParameters(Kernel(work.kernel.kind)),
            gamma_g=WIDE_GAMMA_G,
            class_mass_normalization=(False,),
            loss_weights=loss_weights,
        )
        for n_neighbors, loss_weights in product(WIDE_N_NEIGHBORS, WIDE_LOSS_WEIGHTS)
    ]
    trials = join_trials([cut.try_(data, cut.candidates(data), None) for cut in cuts])
    f = -trials.held_out_values[:, :, 0]
    shares = _shares_of_second_class(data.label_counts.tolist())
    params = [(point["C"], point["gamma_g"]) for point in trials.params]
    f_new, f_train = np.split(
        np.concatenate([f, *(_with_share(f, len(pair.X_new), share) for share in shares)]),
        [len(pair.X_new)],
        axis=1,
    )
    units = np.abs(f_train).mean(axis=1)
    candidates = pair.candidates(params * (1 + len(shares)), f_new)
    return replace(candidates, units=np.where(units > 0, units, 1.0))


def all_labels_cut(work: KernelWork) -> Candidates:
    """Decide by the default cut on training rows and labeled validation rows.

    These are the labels of the paper, all of them for learning and, in folds, for choosing. The
    rows of the second third without a label are left out, as they are for the other methods.
    """
    pair, split = work.pair, work.pair.split
    model = MaxMarginGraphCut(kernel=work.kernel.kind, n_jobs=1, random_state=split.seed)
    model.fit(
        np.concatenate([split.X, split.X_validation]),
        np.concatenate([split.y, split.y_validation]),
    )
    return pair.candidates([(np.nan, np.nan)], model.decision_function(pair.X_new)[None])


MR_WITH_BIAS, S3VM, HARMONIC = "MR fair", "S3VM", "harmonic"
GC_AUTO, GC_WIDE, GC_ALL = "GC auto", "GC wide", "GC all labels"
GC_SOFT, GC_WITHOUT_C_U, GC_C10, GC_OF_THEORY = "GC soft", "GC pure", "GC firm", "GC sound"
"""Names of the columns, as they are in stored records and on the page."""

METHODS: dict[str, Method] = {
    SVM: svm,
    MR: published_manifold,
    MR_WITH_BIAS: manifold_with_bias,
    S3VM: hat_loss,
    HARMONIC: harmonic,
    GC: cut,
    GC_AUTO: automatic_cut,
    GC_WIDE: wide_cut,
    GC_ALL: all_labels_cut,
    GC_SOFT: soft_cut,
    GC_WITHOUT_C_U: soft_cut_without_c_u,
    GC_C10: soft_cut_c10,
    GC_OF_THEORY: soft_cut_of_theory,
}
"""All methods by the name of their column."""


def _cuts(
    work: KernelWork,
    gammas: Sequence[float],
    *,
    c_labeled: float = np.inf,
    c_unlabeled: float = C_UNLABELED,
) -> Candidates:
    """Decide by cuts; without soft labels there is no c_u either."""
    pair = work.pair
    c_unlabeled = 0.0 if np.isinf(c_labeled) else c_unlabeled
    K, K_new = work.values
    cuts = Cut(
        WalkParameters(None, c_labeled, c_unlabeled),
        KernelParameters(Kernel("precomputed")),
        gamma_g=tuple(gammas),
        C=tuple(pair.Cs),
        class_mass_normalization=(False,),
        eps=EPS,
        loss_weights="equal",
    )
    held_out, execution = HeldOutLabels((), (K_new, pair.y_new)), Execution(1, pair.split.seed)
    data = TrainingData(K, pair.labels, held_out, execution, pair.W)
    trials = cuts.try_(data, cuts.candidates(data), None)
    params = [(C, gamma_g) for gamma_g in gammas for C in pair.Cs]
    return pair.candidates(params, _decisions(trials))


def _manifold(work: KernelWork, *, fit_intercept: bool) -> Candidates:
    pair, form = work.pair, work.warped
    codes = pair.labels.codes[pair.labels.labeled]
    params = [(C, gamma_g) for gamma_g in GAMMA_G for C in pair.Cs]
    machines = [form.train(1 / g, codes, C, fit_intercept, n_jobs=1) for C, g in params]
    return pair.candidates(params, -np.array(pairwise_values(machines, pair.X_new))[:, :, 0])


def _decisions(trials: Trials) -> FloatArray:
    """Return f of trials, positive for class 1."""
    return np.asarray(-trials.held_out_values[:, :, 0] * trials.scales[:, None])


def _shares_of_second_class(counts: Sequence[int]) -> list[float]:
    """Return the shares of class 1 that set other biases: of the labels, and one half."""
    if sum(counts) > FEW_LABELS:
        return []
    return [(counts[1] + 1) / (sum(counts) + 2), EQUAL_SHARES]


def _with_share(f: FloatArray, n_new: int, share: float) -> FloatArray:
    """Return functions, shifted so that this share of the rows behind the first `n_new` is class 1.

    Examples
    --------
    >>> _with_share(np.array([[0.0, 1.0, 2.0, 3.0, 4.0]]), 2, 0.5).tolist()
    [[-3.0, -2.0, -1.0, 0.0, 1.0]]
    """
    return np.asarray(f - np.quantile(f[:, n_new:], 1 - share, axis=1)[:, None])
