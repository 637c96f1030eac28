import numpy as np
import pandas as pd
import pytest

from graphmargin.labeling.labeling_task import task_of
from graphmargin.labeling.summary import summarize
from graphmargin.labeling.table_labeling import label_rows
from graphmargin.labeling.table_report import report_on


@pytest.fixture(scope="module")
def report(labeled_pets):
    return report_on(labeled_pets)


def test_the_curve_ends_at_the_estimate_and_is_above_it_for_sure_rows(report):
    curve, estimate = report.coverage, report.summary.estimate
    assert curve.shares[-1] == 1
    assert curve.accuracy[-1] == pytest.approx(estimate.accuracy)
    assert curve.interval[-1] == pytest.approx(np.array(estimate.interval))
    assert report.summary.surest.share in curve.shares
    assert report.summary.surest.accuracy <= curve.accuracy.max()


def test_a_rare_class_has_a_table_of_thresholds(mixed_table):
    table, names = mixed_table()
    two = table.assign(kind=np.where(names == "bird", "rare", "other"))
    of_two = np.flatnonzero(names != "dog")  # else "rare" has a third of the rows
    rare = two.iloc[np.concatenate([of_two, np.repeat(of_two[names[of_two] == "cat"], 4)])]
    rare = rare.reset_index(drop=True)
    rare["kind"] = rare["kind"].where(np.arange(len(rare)) < 40, None)
    report = report_on(label_rows(task_of(rare, "kind")))
    assert report.rare_class == "rare"
    found = [row.n_rows for row in report.thresholds]
    assert found == sorted(found)
    assert found[0] == report.summary.final_counts[1] - report.summary.given_counts[1]
    both = report_on(label_rows(task_of(table, "kind")))
    assert (both.rare_class, both.thresholds) == ("", ())


def test_the_histogram_counts_every_row_without_a_label(report):
    assert sum(report.histogram) == report.summary.n_predicted == 135


def test_the_path_is_that_of_the_estimator(labeled_pets, report):
    path = labeled_pets.cut.gamma_path
    assert report.path["gamma_g"] == tuple(path["gamma_g"].tolist())
    assert report.path["weight"] == tuple(path["weight"].tolist())
    assert np.isinf(report.path["gamma_g"][-1])


def test_the_map_shows_rows_of_the_table(labeled_pets, report):
    shown = report.map
    assert shown.rows == tuple(range(1, 151))
    assert shown.codes == tuple(labeled_pets.codes.tolist())
    assert shown.is_given == tuple(labeled_pets.task.target.labeled.tolist())
    assert all(0 <= value <= 1 for value in (*shown.x, *shown.y))
    assert shown.cells[3]["id"] == "a0003"
    assert all(0 <= i < 150 and 0 <= j < 150 for i, j in shown.edges)


def test_the_least_certain_rows_come_first(labeled_pets, report):
    notes = report.least_certain
    scores = [note.score for note in notes]
    assert scores == sorted(scores)
    missing = ~labeled_pets.task.target.labeled
    assert scores[0] == pytest.approx(labeled_pets.confidence[missing].min())
    for note in notes:
        assert labeled_pets.table["kind"].iloc[note.row - 1] == note.label != note.other


def test_without_held_out_labels_there_is_no_estimate():
    table = pd.DataFrame({"x": [0.0, 0.1, 5.0, 5.1], "kind": ["a", None, "b", None]})
    report = report_on(label_rows(task_of(table, "kind")))
    assert report.summary.estimate is report.summary.surest is report.coverage is None
    assert report.summary.candidates[0].accuracy is None


def test_the_summary_of_a_report_is_that_of_the_table(labeled_pets, report):
    summary = summarize(labeled_pets)
    assert report.summary.members == summary.members
    assert report.summary.candidates == summary.candidates
    assert report.summary.details == summary.details
    assert report.summary.warnings == summary.warnings
