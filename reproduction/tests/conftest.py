"""Records of pairs of classes that no method has made."""

from dataclasses import replace

import pytest
from hypothesis import settings

from reproduction.options import RunOptions
from reproduction.pairs.run import PairRecord
from reproduction.pairs.splits import FEATURES, class_pairs
from reproduction.published import PUBLISHED

settings.register_profile("reproduction", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("reproduction")


@pytest.fixture
def options(tmp_path):
    return RunOptions(tmp_path, n_jobs=1)


@pytest.fixture(scope="session")
def record():
    """Return a record whose test error is the same for every rule; None is a failure."""

    def build(table="letter", pair="A-B", percent=1, draw=0, error=0.1, **changes):
        made = PairRecord(
            *(table, pair, percent, draw, "random", FEATURES[table], "scaled", "linear", "SVM"),
            *[error] * 6,
            validation=None if error is None else 0.0,
            n_best=3,
            n_candidates=14,
            C=1.0,
            strength=0.1,
            seconds=0.004,
            failure="Error: x" if error is None else "",
        )
        return replace(made, **changes)

    return build


@pytest.fixture(scope="session")
def published_records(record):
    """Return records of pairs with the published errors of their settings.

    `columns` are methods and the published columns that they repeat, `shift` is added to the
    percent of a method, and of all pairs, only those of `where` are there.
    """

    def build(columns, shift=None, where=slice(None), **changes):
        return [
            record(
                *(table, pair, percent),
                error=(errors[column] + (shift or {}).get(method, 0.0)) / 100,
                **{"kernel": kernel, "method": method, **changes},
            )
            for (table, percent, kernel), errors in PUBLISHED.items()
            for pair in class_pairs(table)[where]
            for method, column in columns.items()
        ]

    return build


@pytest.fixture(scope="session")
def table_rows():
    """Return a function that finds the rows of the first Markdown table after some text."""

    def find(text, after):
        lines = text[text.index(after) :].splitlines()
        start = next(i for i, line in enumerate(lines) if line.startswith("|"))
        rows = []
        for line in lines[start:]:
            if not line.startswith("|"):
                break
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
        return [rows[0], *rows[2:]]

    return find


@pytest.fixture
def one_pair(monkeypatch):
    """Make experiments on pairs run on one pair of one table."""
    monkeypatch.setattr("reproduction.pairs.run.TABLES", ("image",))
    monkeypatch.setattr("reproduction.pairs.run.PERCENT", (5,))
    monkeypatch.setattr("reproduction.pairs.run.class_pairs", lambda _: ("grass-sky",))
