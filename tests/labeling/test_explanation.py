import re

import numpy as np
import pandas as pd
import pytest

from graphmargin import harmonic_solution
from graphmargin.labeling.explanation import explain_row, find_row
from graphmargin.labeling.labeling_task import label_rows, task_of
from graphmargin.tables.table_errors import TableError


@pytest.mark.parametrize("place", [1, 2, 77])
def test_shares_are_those_of_walks(labeled_pets, place):
    found = explain_row(labeled_pets, place)
    walk = labeled_pets.solution.explain(place)
    assert [one.row - 1 for one in found.labels] == walk.sources[:10].tolist()
    assert [one.share for one in found.labels] == pytest.approx(walk.shares[:10].tolist())
    assert all(one.source == "given" for one in found.labels)
    assert found.graph_label == str(walk.label)
    assert sum(found.probabilities.values()) == pytest.approx(1.0)


def test_neighbors_are_those_of_the_graph(labeled_pets):
    found = explain_row(labeled_pets, 5)
    row = labeled_pets.fitted.task.W[[5]].toarray()[0]
    assert {one.row - 1 for one in found.neighbors} == set(np.flatnonzero(row))
    assert sum(one.share for one in found.neighbors) == pytest.approx(1.0)


def test_the_own_label_of_a_labeled_row_is_hidden(labeled_pets):
    found = explain_row(labeled_pets, 0)
    assert found.source == "given"
    assert 1 not in [one.row for one in found.labels]
    hidden = labeled_pets.job.target.codes.copy()
    hidden[0] = -1
    solution = harmonic_solution(labeled_pets.fitted.task.W, hidden, gamma_g=found.gamma_g)
    assert found.graph_confidence == pytest.approx(solution.confidence[0])


@pytest.mark.parametrize("place", range(1, 40, 3))
def test_what_would_change_a_label_does_change_it(labeled_pets, place):
    """Give the named rows the other label, solve again: the graph says what was foretold."""
    found = explain_row(labeled_pets, place)
    classes = labeled_pets.job.target.classes
    mass = labeled_pets.solution.class_mass[place]
    best, second = np.argsort(-mass)[:2]
    walk = labeled_pets.solution.explain(place)
    own = [row for row in walk.sources if labeled_pets.job.target.codes[row] == best]
    named = re.search(r"of rows? ([\d, ]+) were", found.change).group(1)
    n_named = len(named.split(", "))
    for n, expected in ((n_named, second), (n_named - 1, best)):
        changed = labeled_pets.job.target.codes.copy()
        changed[own[:n]] = second
        again = harmonic_solution(
            labeled_pets.fitted.task.W, changed, gamma_g=labeled_pets.solution.gamma_g
        )
        assert again.codes[place] == expected
    assert repr(str(classes[second])) in found.change


def test_a_row_that_no_label_reaches():
    x = np.r_[np.arange(12) * 0.1, 1e6 + np.arange(12) * 0.1]
    kind = np.array([None] * 24, dtype=object)
    kind[[0, 11]] = "a", "b"
    found = explain_row(label_rows(task_of(pd.DataFrame({"x": x, "kind": kind}), "kind")), 20)
    assert found.graph_label is None
    assert found.labels == ()
    assert "No label reaches this row" in found.change


def test_rows_are_found_by_number_and_by_value(labeled_pets):
    assert find_row(labeled_pets.job, "1") == 0
    assert find_row(labeled_pets.job, "a0149", "id") == 149
    with pytest.raises(TableError, match="from 1 to 150"):
        find_row(labeled_pets.job, "151")
    with pytest.raises(TableError, match="150 rows of"):
        find_row(labeled_pets.job, "here", "country")
    with pytest.raises(TableError, match=r"no column 'contry'; did you mean 'country'\?"):
        find_row(labeled_pets.job, "here", "contry")
