"""Records of pairs of classes that no method has made."""

from dataclasses import replace

import pytest

from graphmargin.experiments.paper.cells import PairRecord
from graphmargin.experiments.paper.published import PUBLISHED
from graphmargin.experiments.paper.splits import FEATURES, class_pairs


@pytest.fixture(scope="session")
def record():
    """Return a record whose test error is the same for every rule; None is a failure."""

    def build(table="letter", pair="A-B", percent=1, draw=0, error=0.1, **changes):
        one = PairRecord(
            *(table, pair, percent, draw, "random", FEATURES[table], "scaled", "linear", "SVM"),
            *[error] * 6,
            validation=None if error is None else 0.0,
            n_best=3,
            n_candidates=14,
            C=1.0,
            strength=0.1,
            seconds=0.5,
            failure="Error: x" if error is None else "",
        )
        return replace(one, **changes)

    return build


@pytest.fixture(scope="session")
def published_records(record):
    """Return records of all pairs with the published errors of their settings.

    `columns` are methods and the published columns that they repeat, `shift` is added to the
    percent of a method, and of all pairs, only every `step`-th is there.
    """

    def build(columns, shift=None, step=1, **changes):
        return [
            record(
                *(table, pair, percent),
                error=(errors[column] + (shift or {}).get(method, 0.0)) / 100,
                **{"kernel": kernel, "method": method, **changes},
            )
            for (table, percent, kernel), errors in PUBLISHED.items()
            for pair in class_pairs(table)[::step]
            for method, column in columns.items()
        ]

    return build
