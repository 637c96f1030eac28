import re

import numpy as np
import pandas as pd
import pytest

from graphmargin import harmonic_solution
from graphmargin.labeling.explanation import explain_row, find_row
from graphmargin.labeling.labeling_task import task_of
from graphmargin.labeling.table_labeling import label_rows
from graphmargin.tables.table_errors import TableError


@pytest.mark.parametrize("position", [1, 2, 77])
def test_shares_are_those_of_walks(labeled_pets, position):
    explanation = explain_row(labeled_pets, position)
    walk = labeled_pets.solution.explain(position)
    assert [influence.row - 1 for influence in explanation.labels] == walk.sources[:10].tolist()
    assert [influence.share for influence in explanation.labels] == pytest.approx(
        walk.shares[:10].tolist()
    )
    assert all(influence.source == "given" for influence in explanation.labels)
    assert explanation.graph_label == str(walk.label)
    assert sum(explanation.probabilities.values()) == pytest.approx(1.0)


def test_neighbors_are_those_of_the_graph(labeled_pets):
    explanation = explain_row(labeled_pets, 5)
    row = labeled_pets.cut.W[[5]].toarray()[0]
    assert {influence.row - 1 for influence in explanation.neighbors} == set(np.flatnonzero(row))
    assert sum(influence.share for influence in explanation.neighbors) == pytest.approx(1.0)


def test_the_label_of_an_explained_row_is_held_out(labeled_pets):
    explanation = explain_row(labeled_pets, 0)
    assert explanation.source == "given"
    assert 1 not in [influence.row for influence in explanation.labels]
    hidden = labeled_pets.task.target.codes.copy()
    hidden[0] = -1
    solution = harmonic_solution(labeled_pets.cut.W, hidden, gamma_g=explanation.gamma_g)
    assert explanation.graph_confidence == pytest.approx(solution.confidence[0])


@pytest.mark.parametrize("position", range(1, 40, 3))
def test_the_counterfactual_labels_change_the_label_of_the_graph(labeled_pets, position):
    """Give the named rows the other label, solve again: the graph says what was foretold."""
    explanation = explain_row(labeled_pets, position)
    classes = labeled_pets.task.target.classes
    mass = labeled_pets.solution.class_mass[position]
    best, second = np.argsort(-mass)[:2]
    walk = labeled_pets.solution.explain(position)
    supporting = [row for row in walk.sources if labeled_pets.task.target.codes[row] == best]
    named = re.search(r"of rows? ([\d, ]+) were", explanation.counterfactual).group(1)
    n_named = len(named.split(", "))
    for n, expected in ((n_named, second), (n_named - 1, best)):
        changed = labeled_pets.task.target.codes.copy()
        changed[supporting[:n]] = second
        again = harmonic_solution(
            labeled_pets.cut.W, changed, gamma_g=labeled_pets.solution.gamma_g
        )
        assert again.codes[position] == expected
    assert repr(str(classes[second])) in explanation.counterfactual


def test_the_explanation_says_that_no_label_reaches_a_row():
    x = np.r_[np.arange(12) * 0.1, 1e6 + np.arange(12) * 0.1]
    kind = np.array([None] * 24, dtype=object)
    kind[[0, 11]] = "a", "b"
    explanation = explain_row(label_rows(task_of(pd.DataFrame({"x": x, "kind": kind}), "kind")), 20)
    assert explanation.graph_label is None
    assert explanation.labels == ()
    assert "No label reaches this row" in explanation.counterfactual


def test_find_row_accepts_a_number_or_a_value(labeled_pets):
    assert find_row(labeled_pets.task, "1") == 0
    assert find_row(labeled_pets.task, "a0149", "id") == 149
    with pytest.raises(TableError, match="from 1 to 150"):
        find_row(labeled_pets.task, "151")
    with pytest.raises(TableError, match="150 rows have"):
        find_row(labeled_pets.task, "here", "country")
    with pytest.raises(TableError, match=r"no column 'contry'; did you mean 'country'\?"):
        find_row(labeled_pets.task, "here", "contry")
