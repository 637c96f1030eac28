"""Rows, labels, families, tasks and held-out labels that several tests of `selection` share."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from graphmargin.estimators import (
    HarmonicClassifier,
    ManifoldSVC,
    MaxMarginGraphCut,
    SemiSupervisedSVC,
    SupervisedSVC,
)
from graphmargin.harmonic.harmonic_predictor import walk_distributions
from graphmargin.labels import encode_labels
from graphmargin.margin import class_scores
from graphmargin.selection.choice import choose
from graphmargin.selection.cut_trials import (
    MAX_BLENDED,
    TRIAL_TOLERANCE,
    cut_candidates,
    max_blended,
    try_cuts,
)
from graphmargin.selection.cuts import blend_cuts, fit_cut, fit_supervised
from graphmargin.selection.execution import Execution
from graphmargin.selection.grids import label_counts
from graphmargin.selection.harmonic_fits import (
    blend_harmonic,
    fit_harmonic,
    harmonic_candidates,
    try_harmonic,
)
from graphmargin.selection.held_out import HeldOutLabels, stratified_label_folds
from graphmargin.selection.manifold_fits import (
    blend_manifold,
    fit_manifold,
    manifold_candidates,
    try_manifold,
)
from graphmargin.selection.parameters import read_parameters
from graphmargin.selection.s3vm_fits import (
    blend_s3vm,
    fit_s3vm,
    s3vm_candidates,
    try_s3vm,
)
from graphmargin.selection.tasks import make_tasks
from graphmargin.selection.trials import Trials, join_trials

RUN = Execution(n_jobs=1)
TRIAL_ERROR = 1e-2
"""Error of f relative to its size, for machines that violate optimality by up to 1e-3."""


def clusters(n_classes=2, n=60, n_labeled=4, seed=0):
    """Return rows around a center for each class, and the classes of a few of them, else -1."""
    rng = np.random.default_rng(seed)
    classes = np.arange(n) % n_classes
    X = rng.normal(size=(n, 2)) + 2.5 * np.column_stack([classes, classes % 2])
    y = np.full(n, -1)
    for c in range(n_classes):
        y[rng.permutation(np.flatnonzero(classes == c))[:n_labeled]] = c
    return X, y


def laplace_kernel(first, second):
    return np.exp(-np.abs(first[:, None] - second[None]).sum(axis=2) / 4)


def folds_of(y, n_splits=3):
    return HeldOutLabels(tuple(stratified_label_folds(y, n_splits, 0)))


def without(y, rows):
    """Return labels without those of some rows."""
    y = y.copy()
    y[rows] = -1
    return y


@dataclass(frozen=True)
class Family:
    """The functions of `selection` behind a classifier, and a small grid of its candidates."""

    classifier: type
    candidates: Callable
    try_tasks: Callable
    blend: Callable
    fit: Callable
    grid: dict
    max_blended: Callable = lambda _trials: MAX_BLENDED

    def tasks(self, X, y, W=None, **parameters):
        """Return the tasks that the classifier makes of its parameters."""
        model, labels = self.classifier(**{**self.grid, **parameters}), encode_labels(y)
        W = X if getattr(model, "affinity", "knn") == "precomputed" else W
        sets = read_parameters(model, labels, has_graph=W is not None)
        return make_tasks(X, labels, W, sets, RUN)

    def fit_one(self, X, y, W=None, **parameters):
        """Return the fit with one candidate, of what the classifier has of its parameters."""
        names = self.classifier().get_params()
        accepted = {key: value for key, value in parameters.items() if key in names}
        (task,) = self.tasks(X, y, W, **accepted)
        return self.fit(task, RUN)

    def try_and_choose(self, tasks, held_out):
        """Return the trials, the choice and the blend, as a classifier makes them."""
        trials = self.try_tasks(tasks, held_out, RUN)
        evidence = join_trials([part.evidence for part in trials])
        choice = choose(evidence, label_counts(tasks[0].labels), self.max_blended(trials))
        return trials, choice, self.blend(trials, choice, RUN)


FAMILIES = {
    "harmonic": Family(
        HarmonicClassifier,
        harmonic_candidates,
        try_harmonic,
        blend_harmonic,
        fit_harmonic,
        {"gamma_g": [1.0, 0.0, 1e-3]},
        lambda _trials: None,
    ),
    "cut": Family(
        MaxMarginGraphCut,
        cut_candidates,
        try_cuts,
        blend_cuts,
        fit_cut,
        {"gamma_g": [0.1, np.inf], "C": 5.0, "class_mass_normalization": False},
        max_blended,
    ),
    "supervised": Family(
        SupervisedSVC,
        cut_candidates,
        try_cuts,
        blend_cuts,
        fit_supervised,
        {"C": [0.5, 10.0]},
        max_blended,
    ),
    "manifold": Family(
        ManifoldSVC,
        manifold_candidates,
        try_manifold,
        blend_manifold,
        fit_manifold,
        {"gamma_u": [0.0, 0.01], "C": [1.0, 10.0]},
    ),
    "s3vm": Family(
        SemiSupervisedSVC,
        s3vm_candidates,
        try_s3vm,
        blend_s3vm,
        fit_s3vm,
        {"gamma_u": [0.0, 0.05, 0.3], "C": 1.0},
    ),
}
WITH_MARGIN = ("cut", "supervised", "manifold", "s3vm")
HARMONIC, CUT, MANIFOLD, S3VM = (FAMILIES[name] for name in ("harmonic", "cut", "manifold", "s3vm"))


def function_of(fitted):
    """Return f of every pair of classes, as a function of rows."""
    return lambda rows: sum(machine.pairwise(rows) for machine in fitted.predictor.machines)


def trials_of(values, codes, *, n_classes=2, **changed):
    """Return trials of m candidates with these values at held-out labels, (m, h, q)."""
    values = np.asarray(values, dtype=np.float64)
    m = len(values)
    defaults = {
        "params": [{"gamma_g": float(i), "C": 10.0} for i in range(m)],
        "supervised": np.zeros(m, dtype=bool),
        "fold": np.arange(len(codes)) // 2,
        "scales": np.ones(m),
        "pair_scales": np.ones((m, values.shape[2])),
        "shares": np.full((m, n_classes), 1 / n_classes),
    }
    for name in ("supervised", "fold", "scales", "pair_scales", "shares"):
        if name in changed:
            changed[name] = np.asarray(changed[name])
    held_out_codes = np.asarray(codes, dtype=np.int64)
    return Trials(held_out_codes=held_out_codes, held_out_values=values, **{**defaults, **changed})


def assert_consistent(evidence, y, held_out, n_columns):
    """Check all that trials of every family have in common."""
    m, n_classes = len(evidence.params), y.max() + 1
    rows = np.concatenate(held_out.folds)
    np.testing.assert_array_equal(evidence.held_out_codes, y[rows])
    sizes = [len(fold) for fold in held_out.folds]
    np.testing.assert_array_equal(evidence.fold, np.repeat(np.arange(len(sizes)), sizes))
    assert evidence.held_out_values.shape == (m, len(rows), n_columns)
    assert evidence.shares.shape == (m, n_classes)
    np.testing.assert_allclose(evidence.shares.sum(axis=1), 1.0)
    assert evidence.shares.min() > 0
    assert evidence.scales.min() > 0
    assert evidence.pair_scales.shape == (m, n_columns)
    assert evidence.pair_scales.min() > 0
    np.testing.assert_array_equal(evidence.held_out_rows, rows)


def assert_same_trials(trials, expected, atol=0.0):
    arrays = "held_out_codes fold held_out_values scales pair_scales shares supervised"
    for name in arrays.split():
        np.testing.assert_allclose(
            getattr(trials, name), getattr(expected, name), rtol=0, atol=atol
        )


def assert_is_weighted_sum(family, fitted, choice, X, y, W=None, **parameters):
    """Compare f of a blend with a sum of separate fits, up to the tolerance of trials."""
    new = X[::3] + (0.1 if parameters.get("kernel") != "precomputed" else 0.0)
    total = 0.0
    for i, factor in choice.blended:
        single = family.fit_one(X, y, W, **{**parameters, **choice.trials.params[i]})
        total = total + factor * function_of(single)(new)
    f = function_of(fitted)(new)
    factors = sum(factor for _, factor in choice.blended)
    is_from_trials = family.try_tasks is try_cuts
    # Paths of several gamma_u have more stages.
    relative = 0.03 if family.fit is fit_s3vm else 1e-6
    atol = 2 * TRIAL_TOLERANCE * factors if is_from_trials else relative * np.abs(f).max()
    np.testing.assert_allclose(f, total, atol=atol)
    calibration, n_classes = fitted.predictor.calibration, len(fitted.predictor.classes)
    np.testing.assert_allclose(
        calibration.pair_scales, choice.weights @ choice.trials.pair_scales, rtol=1e-12
    )
    scores = class_scores(f, n_classes, calibration.pair_scales)
    if fitted.predictor.graph:
        P = walk_distributions(fitted.predictor.graph, new, n_classes)
        scores = scores + calibration.graph_weight * np.log(np.maximum(P, 1e-6))
    np.testing.assert_allclose(fitted.predictor.decision(new), scores)
