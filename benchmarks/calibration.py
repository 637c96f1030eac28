"""Calibration of the probabilities of the chosen cut: one number fitted, or two.

Fits `MaxMarginGraphCut` with a few labels a class and prints, for the rows without a label, how
many are right, and for each calibration the mean of the largest probability, the log loss and the
Brier score. "sharpness" is ``softmax(a f)``, "doubt" is `fit_calibration`, both fitted to the
labels that were held out from f.

Two minutes, by `python -m benchmarks.calibration`.
"""

from __future__ import annotations

import numpy as np
from sklearn.preprocessing import StandardScaler

from graphmargin import MaxMarginGraphCut
from graphmargin.datasets import load_digits, load_letter, load_segmentation, mask_labels
from graphmargin.margin import calibration_targets, fit_calibration, fit_sharpness, probabilities

PER_CLASS = (3, 10)
DRAWS = 2
ROWS = 3000


def tables() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return rows and class codes by name."""
    digits, digit_labels = load_digits()
    letter, letter_labels = load_letter()
    segments, segment_labels = load_segmentation()
    pair = np.isin(digit_labels, (3, 8))
    data = {
        "digits": (digits[:ROWS], digit_labels[:ROWS]),
        "digits 3 and 8": (digits[pair], digit_labels[pair]),
        "segmentation": (StandardScaler().fit_transform(segments), segment_labels),
        "letter": (letter[:ROWS], letter_labels[:ROWS]),
    }
    return {name: (X, np.unique(y, return_inverse=True)[1]) for name, (X, y) in data.items()}


def scores(P: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the mean of the largest probability, the log loss and the Brier score."""
    likelihood = P[np.arange(len(codes)), codes]
    brier = ((P - np.eye(P.shape[1])[codes]) ** 2).sum(axis=1)
    return np.array(
        [P.max(axis=1).mean(), -np.log(np.maximum(likelihood, 1e-9)).mean(), brier.mean()]
    )


def main() -> None:
    """Print a line for each table and number of labels, means of the draws."""
    print(f"{'':24}{'right':>7}{'sharpness: best, log loss, Brier':>36}{'doubt':>26}")
    for name, (X, codes) in tables().items():
        for per_class in PER_CLASS:
            lines = []
            for draw in range(DRAWS):
                few = mask_labels(codes, per_class=per_class, random_state=draw)
                model = MaxMarginGraphCut().fit(X, few)
                hidden = few == -1
                f = model.decision_function(X[hidden])
                given = model.choice_.trials.held_out_codes
                targets = calibration_targets(np.eye(len(model.classes_))[given], given)
                held_out_scores, truth = model.choice_.scores, codes[hidden]
                alone = scores(probabilities(f, fit_sharpness(held_out_scores, targets)), truth)
                both = scores(probabilities(f, *fit_calibration(held_out_scores, targets)), truth)
                lines.append([(model.predict(X[hidden]) == truth).mean(), *alone, *both])
            right, *values = np.mean(lines, axis=0)
            title = f"{name}, {per_class} a class"
            cells = "".join(f"{value:9.3f}" for value in values)
            print(f"{title:24}{right:7.3f}{'':9}{cells}", flush=True)


if __name__ == "__main__":
    main()
