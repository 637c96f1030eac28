from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from graphmargin.confidence.held_out_predictions import estimate_accuracy
from graphmargin.labeling.findings import SOURCES
from graphmargin.labeling.inspection import full_findings, summarize
from graphmargin.labeling.labeled_table import label_rows
from graphmargin.labeling.labeling_task import task_of


@pytest.fixture(scope="module")
def findings(labeled_pets):
    return full_findings(labeled_pets)


def test_counts_are_those_of_the_labels(labeled_pets, findings):
    assert (findings.n_rows, findings.n_labels) == (150, 15)
    assert sum(findings.given_counts) == 15
    assert sum(findings.final_counts) == 150
    assert sum(findings.source_counts.values()) == 150
    assert tuple(findings.source_counts) == SOURCES
    filled = labeled_pets.table["kind"].value_counts()
    assert dict(zip(findings.classes, findings.final_counts, strict=True)) == filled.to_dict()


def test_candidates_are_those_of_the_choice(labeled_pets, findings):
    weights = [candidate.weight for candidate in findings.candidates]
    assert weights == sorted(weights, reverse=True)
    assert sum(weights) == pytest.approx(1.0)
    supervised = sum(c.weight for c in findings.candidates if np.isinf(c.gamma_g))
    assert findings.supervised_share == pytest.approx(supervised)
    assert len(findings.candidates) == len(labeled_pets.cut_choice.trials.params)


def test_families_are_those_of_the_ensemble(labeled_pets, findings):
    choice = labeled_pets.fitted.choice
    weights = [family.weight for family in findings.families]
    assert weights == sorted(choice.weights.tolist(), reverse=True)
    assert {family.name for family in findings.families} == set(choice.names)
    assert findings.assumptions == choice.assumption_weights
    assert sum(findings.assumptions.values()) == pytest.approx(1.0)


def test_the_estimate_is_that_of_the_held_out_labels(labeled_pets, findings):
    expected = estimate_accuracy(labeled_pets.fitted.held_out)
    estimate = findings.estimate
    assert estimate.n_held_out == 15
    assert (estimate.accuracy, estimate.interval) == (expected.accuracy, expected.interval)
    assert estimate.majority_accuracy == labeled_pets.fitted.held_out.class_shares.max()
    assert len(estimate.recall) == len(estimate.precision) == 3


def test_the_curve_ends_at_the_estimate_and_is_above_it_for_sure_rows(findings):
    curve, estimate = findings.coverage, findings.estimate
    assert curve.shares[-1] == 1
    assert curve.accuracy[-1] == pytest.approx(estimate.accuracy)
    assert curve.interval[-1] == pytest.approx(np.array(estimate.interval))
    assert findings.surest.share in curve.shares
    assert findings.surest.accuracy <= curve.accuracy.max()


def test_a_rare_class_has_a_table_of_thresholds(mixed_table):
    table, names = mixed_table()
    two = table.assign(kind=np.where(names == "bird", "rare", "other"))
    of_two = np.flatnonzero(names != "dog")  # else "rare" has a third of the rows
    rare = two.iloc[np.concatenate([of_two, np.repeat(of_two[names[of_two] == "cat"], 4)])]
    rare = rare.reset_index(drop=True)
    rare["kind"] = rare["kind"].where(np.arange(len(rare)) < 40, None)
    findings = full_findings(label_rows(task_of(rare, "kind")))
    assert findings.rare_class == "rare"
    found = [row.n_rows for row in findings.thresholds]
    assert found == sorted(found)
    assert found[0] == findings.final_counts[1] - findings.given_counts[1]
    both = full_findings(label_rows(task_of(table, "kind")))
    assert (both.rare_class, both.thresholds) == ("", ())


def test_rows_that_are_not_sure_are_counted_apart(labeled_pets):
    is_given = labeled_pets.task.target.labeled
    threshold = float(np.median(labeled_pets.confidence[~is_given]))
    strict = replace(labeled_pets, min_confidence=threshold)
    findings, before = summarize(strict), summarize(labeled_pets)
    n_below = int((labeled_pets.confidence < threshold).sum())
    assert findings.n_left_empty == n_below > 0
    assert sum(findings.final_counts) == sum(findings.source_counts.values()) == 150 - n_below
    assert findings.min_confidence == threshold
    assert findings.estimate.accuracy == before.estimate.accuracy
    assert before.n_left_empty == 0


def test_the_histogram_counts_every_row_without_a_label(findings):
    counted = {name: sum(bins) for name, bins in findings.histogram.items()}
    assert counted == {name: findings.source_counts[name] for name in ("induced", "model")}


def test_the_path_is_that_of_the_estimator(labeled_pets, findings):
    path = labeled_pets.cut.gamma_path
    assert findings.path["gamma_g"] == tuple(path["gamma_g"].tolist())
    assert findings.path["weight"] == tuple(path["weight"].tolist())
    assert np.isinf(findings.path["gamma_g"][-1])


def test_the_map_shows_rows_of_the_table(labeled_pets, findings):
    shown = findings.map
    assert shown.rows == tuple(range(1, 151))
    assert shown.codes == tuple(labeled_pets.codes.tolist())
    assert shown.sources == tuple(labeled_pets.sources.tolist())
    assert all(0 <= value <= 1 for value in (*shown.x, *shown.y))
    assert shown.cells[3]["id"] == "a0003"
    assert all(0 <= i < 150 and 0 <= j < 150 for i, j in shown.edges)


def test_the_least_certain_rows_come_first(labeled_pets, findings):
    notes = findings.least_certain
    scores = [note.score for note in notes]
    assert scores == sorted(scores)
    missing = ~labeled_pets.task.target.labeled
    assert scores[0] == pytest.approx(labeled_pets.confidence[missing].min())
    for note in notes:
        assert labeled_pets.table["kind"].iloc[note.row - 1] == note.label != note.other


def test_without_held_out_labels_there_is_no_estimate():
    table = pd.DataFrame({"x": [0.0, 0.1, 5.0, 5.1], "kind": ["a", None, "b", None]})
    findings = full_findings(label_rows(task_of(table, "kind")))
    assert findings.estimate is findings.surest is findings.coverage is None
    assert findings.candidates[0].accuracy is None


def test_a_summary_has_the_findings_of_a_report_without_its_sections(labeled_pets, findings):
    summary = summarize(labeled_pets)
    assert summary.map is None
    assert summary.candidates == findings.candidates
    assert summary.warnings == findings.warnings
