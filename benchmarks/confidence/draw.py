"""The measures of one version of the library, draw by draw, in a process of its own.

``python -m benchmarks.confidence.draw`` reads a JSON object in each line, with the name of a table,
the number of labels of each class and the number of a draw, and writes one with the measures. It
runs with the library of any checkout, whose ``src`` is in PYTHONPATH. Versions without held-out
predictions have no prediction sets and no intervals.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from functools import cache
from typing import Any

import numpy as np

from benchmarks.confidence.conformal import crepes_sets, svc_sets
from benchmarks.confidence.measures import (
    area_under_risk_coverage,
    calibration_error,
    log_loss,
    set_measures,
)
from benchmarks.confidence.tables import allows, load
from benchmarks.keel import Table
from graphmargin import MaxMarginGraphCut
from graphmargin.datasets import mask_labels

COVERAGE = 0.9
SKIPPED = {"skipped": True}
"""The answer for a table that has too few rows for so many labels."""


def measure_draw(X: np.ndarray, y: np.ndarray, per_class: int, draw: int) -> dict[str, Any]:
    """Return the measures of a classifier on the unlabeled rows of a draw, and the cost of its fit.

    Errors, AURC and ECE are shares. `estimate` is the estimated accuracy, and `covered` tells
    whether its interval contains the true one.
    """
    few = mask_labels(y, per_class=per_class, random_state=draw)
    unlabeled = few == -1
    truth = y[unlabeled]
    start = time.process_time()
    model = MaxMarginGraphCut(random_state=0).fit(X, few)
    cpu = time.process_time() - start
    right = model.transduction_[unlabeled] == truth
    held_out = getattr(model, "held_out_", None)
    if hasattr(model, "held_out_"):
        P = np.asarray(model.label_distributions_[unlabeled], dtype=np.float64)
    else:  # its distributions are those of the graph
        P = np.asarray(model.predict_proba(X[unlabeled]), dtype=np.float64)
    top = P.max(axis=1)
    result = {
        "n_classes": P.shape[1],
        "n_labels": int((~unlabeled).sum()),
        "n_unlabeled": len(truth),
        "error": float(1 - right.mean()),
        "log_loss": log_loss(P, truth),
        "aurc": area_under_risk_coverage(top, right),
        "ece": calibration_error(top, right),
        "cpu": cpu,
        "estimate": 1 - float(model.choice_.error),
    }
    if held_out is not None:
        result |= held_out_measures(model, P, truth)
        result["svc"] = set_measures(svc_sets(X, few, unlabeled, COVERAGE, draw), truth)
    return result


def held_out_measures(model: Any, P: np.ndarray, truth: np.ndarray) -> dict[str, Any]:
    """Return the measures of the estimated accuracy and of prediction sets, ours and of crepes."""
    from graphmargin.confidence.prediction_sets import prediction_sets, set_thresholds

    held_out, estimate = model.held_out_, model.accuracy_
    accuracy = float(np.mean(P.argmax(axis=1) == truth))
    low, high = estimate.interval
    sets = prediction_sets(P, set_thresholds(held_out, COVERAGE))
    theirs = crepes_sets(held_out.probabilities, held_out.codes, P, COVERAGE)
    return {
        "estimate": estimate.accuracy,
        "interval": [low, high],
        "covered": bool(low <= accuracy <= high),
        "n_held_out": estimate.n_held_out,
        "graph_weight": model.predictor_.part.calibration.graph_weight,
        "sets": set_measures(sets, truth),
        "crepes": set_measures(theirs, truth),
    }


@cache
def _table(name: str) -> Table:
    return load(name)


def main() -> None:
    """Answer the requests on standard input until it ends."""
    warnings.simplefilter("ignore")  # components without labels, and solvers of the old version
    for per_class in (3, 10):  # loads compiled code, which is not part of the measured fits
        measure_draw(*_table("iris"), per_class, 0)
    for line in sys.stdin:
        request = json.loads(line)
        X, y = _table(request["table"])
        answer = SKIPPED
        if allows(y, request["per_class"]):
            answer = measure_draw(X, y, request["per_class"], request["draw"])
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
