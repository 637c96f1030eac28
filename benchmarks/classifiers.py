"""All classifiers of the library with fixed parameters: errors on unlabeled rows, and seconds.

Parts of digits, letter and (standardized) segmentation with 2 and 10 labels a class, linear and
RBF kernels; means of three draws. The true class shares are given to the semi-supervised SVM in a
column of its own. Soft labels have ``c_labeled = 1`` and ``c_unlabeled = 0.01``. About ten minutes.
"""

from __future__ import annotations

import time
import warnings

import numpy as np

from benchmarks.defaults import PAPER, problems
from graphmargin import (
    HarmonicClassifier,
    ManifoldSVC,
    MaxMarginGraphCut,
    SemiSupervisedSVC,
    SupervisedSVC,
)
from graphmargin.datasets import mask_labels

DRAWS = 3
SOFT = {"c_labeled": 1.0, "c_unlabeled": 0.01}


def systems(kernel: str, y: np.ndarray) -> dict[str, object]:
    """Return the classifiers to compare, one of which is given the class shares."""
    shares = np.bincount(y) / len(y)
    options = {"kernel": kernel, "random_state": 0}
    return {
        "SVM": SupervisedSVC(**options),
        "MR": ManifoldSVC(**options),
        "S3VM": SemiSupervisedSVC(**options),
        "S3VM, shares": SemiSupervisedSVC(class_prior=shares, **options),
        "harmonic": HarmonicClassifier(random_state=0),
        "cut": MaxMarginGraphCut(**PAPER, **options),
        "cut, soft": MaxMarginGraphCut(**PAPER, **SOFT, **options),
        "cut, weights": MaxMarginGraphCut(**{**PAPER, "loss_weights": "confidence"}, **options),
    }


def main() -> None:
    """Print a table of errors and one of seconds."""
    warnings.simplefilter("ignore")  # components without labels are expected with two labels
    seconds: dict[str, float] = {}
    for name, X, y in problems():
        for per_class in (2, 10):
            draws = [mask_labels(y, per_class=per_class, random_state=s) for s in range(DRAWS)]
            for kernel in ("linear", "rbf"):
                errors = {}
                for system, model in systems(kernel, y).items():
                    start = time.perf_counter()
                    errors[system] = np.mean([error(model, X, y, few) for few in draws])
                    seconds[system] = seconds.get(system, 0.0) + time.perf_counter() - start
                title = f"{name}, {per_class} a class, {kernel}"
                print(f"{title:<34}" + "  ".join(f"{s} {e:.1%}" for s, e in errors.items()))
    print("seconds  " + "  ".join(f"{system} {s:.0f}" for system, s in seconds.items()))


def error(model: object, X: np.ndarray, y: np.ndarray, few: np.ndarray) -> float:
    """Return the error of the labels of unlabeled rows."""
    hidden = few == -1
    return float(np.mean(model.fit(X, few).predict(X[hidden]) != y[hidden]))


if __name__ == "__main__":
    main()
