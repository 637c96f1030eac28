"""Systems as people run them: with the default parameters of their libraries."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

from benchmarks.adapter import Outcome, System
from benchmarks.problems import Problem
from benchmarks.suites import (
    AUTO_HARMONIC,
    DEFAULT_CUT,
    DEFAULT_LAPLACE,
    DEFAULT_SELF_TRAINING_SVC,
    DEFAULT_SELF_TRAINING_TREES,
    DEFAULT_SPREADING,
    ENSEMBLE,
    SVC_SEARCH,
)
from graphmargin import HarmonicClassifier, MaxMarginGraphCut, SemiSupervisedEnsemble

SVC_GRID = {"svc__C": [0.1, 1.0, 10.0, 100.0], "svc__gamma": ["scale", 1e-3, 1e-2, 1e-1]}
MAX_FOLDS = 5
MIN_LEAF = 5
LAPLACE_NEIGHBORS = 10


def _transduction(model: Any, problem: Problem) -> Outcome:
    return Outcome(model.fit(problem.X, problem.y_few).transduction_)


def _cut(problem: Problem, _k: int) -> Outcome:
    return _transduction(MaxMarginGraphCut(metric=problem.metric, random_state=0), problem)


def _ensemble(problem: Problem, _k: int) -> Outcome:
    return _transduction(SemiSupervisedEnsemble(random_state=0), problem)


def _auto_harmonic(problem: Problem, _k: int) -> Outcome:
    model = HarmonicClassifier(gamma_g="auto", metric=problem.metric, random_state=0)
    return _transduction(model, problem)


def _spreading(problem: Problem, _k: int) -> Outcome:
    return _transduction(LabelSpreading(kernel="knn", n_jobs=-1), problem)


def _laplace(problem: Problem, _k: int) -> Outcome:
    """Return Laplace learning, with uniform weights: its default fails on duplicates."""
    import graphlearning  # has its own dependency group, `bench`

    labeled = np.flatnonzero(~problem.hidden)
    weights = graphlearning.weightmatrix
    neighbors = weights.knnsearch(problem.X, LAPLACE_NEIGHBORS, method="annoy")
    W = weights.knn(problem.X, LAPLACE_NEIGHBORS, kernel="uniform", knn_data=neighbors)
    return Outcome(graphlearning.ssl.laplace(W).fit_predict(labeled, problem.y_few[labeled]))


def _folds(problem: Problem) -> StratifiedKFold:
    smallest = np.bincount(problem.y_few[~problem.hidden]).min()
    return StratifiedKFold(int(np.clip(smallest, 2, MAX_FOLDS)), shuffle=True, random_state=0)


def _self_training_svc(problem: Problem, _k: int) -> Outcome:
    svm = CalibratedClassifierCV(SVC(), cv=_folds(problem), ensemble=False)
    model = make_pipeline(StandardScaler(), SelfTrainingClassifier(svm))
    return Outcome(model.fit(problem.X, problem.y_few).predict(problem.X))


def _self_training_trees(problem: Problem, _k: int) -> Outcome:
    """Return self-training with small leaves: the default of 20 rows is too much for few labels."""
    trees = HistGradientBoostingClassifier(min_samples_leaf=MIN_LEAF, random_state=0)
    model = SelfTrainingClassifier(trees)
    return Outcome(model.fit(problem.X, problem.y_few).predict(problem.X))


def _svc_search(problem: Problem, _k: int) -> Outcome:
    pipeline = make_pipeline(StandardScaler(), SVC())
    search = GridSearchCV(pipeline, SVC_GRID, cv=_folds(problem), n_jobs=-1)
    labeled = ~problem.hidden
    return Outcome(search.fit(problem.X[labeled], problem.y_few[labeled]).predict(problem.X))


DEFAULT_SYSTEMS: dict[str, System] = {
    DEFAULT_CUT: System(_cut),
    ENSEMBLE: System(_ensemble),
    AUTO_HARMONIC: System(_auto_harmonic),
    DEFAULT_SPREADING: System(_spreading),
    DEFAULT_LAPLACE: System(_laplace),
    DEFAULT_SELF_TRAINING_SVC: System(_self_training_svc),
    DEFAULT_SELF_TRAINING_TREES: System(_self_training_trees),
    SVC_SEARCH: System(_svc_search),
}
