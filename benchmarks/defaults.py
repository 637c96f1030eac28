"""`MaxMarginGraphCut` with fixed gamma_g and C, and with other targets of calibration.

Prints errors on unlabeled rows over a grid of gamma_g and C, and log losses for three targets of
the calibration, on parts of digits, letter and (standardized) segmentation with 2 and 10 labels
a class; means of two draws. About five minutes.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler

from graphmargin import MaxMarginGraphCut
from graphmargin.datasets import load_digits, load_letter, load_segmentation, mask_labels
from graphmargin.margin.calibration import (
    calibration_targets,
    fit_inverse_temperature,
    probabilities,
)

GAMMAS = (0.0, 1e-3, 1e-2, 0.1, 1.0, 10.0, np.inf)
CS = (1.0, 10.0, 100.0)
DRAWS = 2
PAPER = {"gamma_g": 0.1, "C": 10.0, "loss_weights": "equal"}
"""Fixed parameters, and the losses of the paper."""


def problems() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield name, rows and class codes."""
    X, y = load_digits()
    yield "digits", X[:3000], y[:3000]
    X, y = load_segmentation()
    yield "segmentation", StandardScaler().fit_transform(X), np.unique(y, return_inverse=True)[1]
    X, y = load_letter()
    yield "letter", X[:5000], np.unique(y[:5000], return_inverse=True)[1]


def main() -> None:
    """Print both tables."""
    warnings.simplefilter("ignore")  # components without labels are expected with two labels
    for name, X, y in problems():
        for per_class in (2, 10):
            draws = [mask_labels(y, per_class=per_class, random_state=s) for s in range(DRAWS)]
            print(f"{name}, {per_class} labels a class: error for C = {CS}")
            for gamma_g in GAMMAS:
                errors = [np.mean([error(X, y, few, gamma_g, C) for few in draws]) for C in CS]
                print(f"  gamma_g {gamma_g:<6}" + "".join(f"{e:8.1%}" for e in errors))
            losses = np.mean([calibration(X, y, few) for few in draws], axis=0)
            print(
                "  log loss by targets: shares {:.2f}, masses {:.2f}, labels {:.2f}".format(*losses)
            )


def error(X: np.ndarray, y: np.ndarray, few: np.ndarray, gamma_g: float, C: float) -> float:
    """Return the error of the max-margin function on the unlabeled rows."""
    model = MaxMarginGraphCut(**{**PAPER, "gamma_g": gamma_g, "C": C}).fit(X, few)
    hidden = few == -1
    return float(np.mean(model.predict(X[hidden]) != y[hidden]))


def calibration(X: np.ndarray, y: np.ndarray, few: np.ndarray) -> list[float]:
    """Return the log loss for walks that end at a label, for all walks, and for labels only."""
    model = MaxMarginGraphCut(**PAPER).fit(X, few)
    scores, hidden, trained = model.decision_function(X), few == -1, model.training_mask_
    solution = model.harmonic_solution_
    with_sink = np.where(hidden[:, None], solution.label_distributions, 0.0)
    shares = calibration_targets(solution.class_mass, few)
    with_sink[~hidden] = shares[~hidden]
    losses = []
    for targets, rows in ((shares, trained), (with_sink, trained), (shares, ~hidden)):
        inverse_temperature = fit_inverse_temperature(scores[rows], targets[rows])
        losses.append(log_loss(y[hidden], probabilities(scores[hidden], inverse_temperature)))
    return losses


if __name__ == "__main__":
    main()
