import json
import subprocess

import numpy as np
import pytest
from sklearn.svm import SVC

from benchmarks.confidence.__main__ import BEGIN, END, main
from benchmarks.confidence.conformal import svc_sets
from benchmarks.confidence.draw import measure_draw
from benchmarks.confidence.measures import (
    area_under_risk_coverage,
    calibration_error,
    log_loss,
    set_measures,
)
from benchmarks.confidence.run import run
from benchmarks.confidence.summary import settings, summary
from benchmarks.confidence.tables import TABLES, allows, load
from benchmarks.json_lines import read_lines
from benchmarks.measure import ROOT
from graphmargin.datasets import mask_labels

MEASURES = {
    **{"commit": "abc", "n_classes": 3, "n_labels": 9, "n_unlabeled": 100},
    **{"log_loss": 0.5, "ece": 0.1, "cpu": 2.0, "estimate": 0.9},
}
OF_NEW = {
    **{"interval": [0.7, 0.95], "covered": True, "n_held_out": 9, "graph_weight": 0.5},
    "sets": {"coverage": 0.92, "size": 1.5},
    "crepes": {"coverage": 0.91, "size": 1.6},
    "svc": {"coverage": 0.9, "size": 2.0},
}


def result(version, draw, **measures):
    key = {"version": version, "table": "iris", "per_class": 3, "draw": draw}
    return key | MEASURES | (OF_NEW if version == "new" else {}) | measures


def test_area_averages_the_error_over_coverages():
    # Errors among the surest 1, 2, 3 and 4 rows are 0, 1/2, 1/3 and 1/2.
    confidence, right = np.array([0.6, 0.9, 0.7, 0.8]), np.array([False, True, True, False])
    expected = np.mean([0, 1 / 2, 1 / 3, 1 / 2])
    assert area_under_risk_coverage(confidence, right) == pytest.approx(expected)


def test_area_of_equal_confidences_is_the_error():
    right = np.array([True, False, False, True, True])
    for order in (slice(None), slice(None, None, -1)):
        area = area_under_risk_coverage(np.full(5, 0.5), right[order])
        assert area == pytest.approx(0.4)


def test_calibration_error_weights_bins_by_their_rows():
    confidence, right = np.array([0.95, 0.95, 0.95, 0.5]), np.array([True, True, False, True])
    expected = (3 * abs(0.95 - 2 / 3) + 0.5) / 4
    assert calibration_error(confidence, right) == pytest.approx(expected)
    assert calibration_error(np.ones(3), np.ones(3, dtype=bool)) == 0


def test_log_loss_of_an_excluded_class_is_finite():
    P = np.array([[0.5, 0.5], [1.0, 0.0]])
    assert log_loss(P, np.array([0, 1])) == pytest.approx((np.log(2) - np.log(1e-9)) / 2)


def test_measures_of_sets():
    sets = np.array([[True, False, True], [False, False, False]])
    assert set_measures(sets, np.array([2, 0])) == {"coverage": 0.5, "size": 1.0}


def test_split_sets_of_too_few_labels_have_all_classes():
    X, y = load("iris")
    few = mask_labels(y, per_class=3, random_state=0)
    assert svc_sets(X, few, few < 0, 0.9, seed=0).all()


def test_split_sets_are_where_the_machine_conforms():
    X, y = load("iris")
    few = mask_labels(y, per_class=30, random_state=0)
    sets = svc_sets(X, few, few < 0, 0.9, seed=0)
    predicted = SVC(C=10.0).fit(X[few >= 0], few[few >= 0]).predict(X[few < 0])
    inside = sets[np.arange(len(predicted)), predicted]
    assert inside.mean() > 0.85
    assert sets.sum(axis=1).mean() < 1.5


@pytest.mark.parametrize(
    ("per_class", "allowed"), [(3, True), (10, False), (5, False)], ids=["few", "small-class", "60"]
)
def test_tables_need_rows_beyond_the_labels(per_class, allowed):
    assert allows(np.repeat([0, 1], [10, 6]), per_class) is allowed


def test_generated_tables_do_not_change():
    assert {"moons", "blobs", "classification"} <= set(TABLES)
    X, y = load("blobs")
    assert X.shape == (1500, 10)
    assert np.bincount(y).tolist() == [250] * 6


def test_a_draw_has_all_measures():
    X, y = load("iris")
    measures = measure_draw(X, y, 3, 0)
    assert measures["n_labels"] == measures["n_held_out"] == 9
    assert 0 <= measures["aurc"] <= 2 * measures["error"] <= 0.5
    assert measures["covered"] == (
        measures["interval"][0] <= 1 - measures["error"] <= measures["interval"][1]
    )
    for source in ("sets", "crepes", "svc"):
        assert set(measures[source]) == {"coverage", "size"}
    json.dumps(measures)


def test_only_what_the_file_does_not_have_is_measured(tmp_path):
    out = tmp_path / "results.jsonl"
    out.write_text(json.dumps(result("new", 0, error=0.25, aurc=0.1)) + "\n")
    run({"new": ROOT}, ["iris"], [3, 50], 2, out)
    kept, *others = read_lines(out)
    assert kept["commit"] == "abc"
    keys = [(other["per_class"], other["draw"], "skipped" in other) for other in others]
    assert keys == [(3, 1, False), (50, 0, True), (50, 1, True)]
    head = subprocess.check_output(["git", "-C", ROOT, "rev-parse", "HEAD"], text=True)
    assert head.startswith(others[0]["commit"].removesuffix("-dirty"))


def test_draws_count_that_both_versions_have():
    results = [result("new", 0), result("new", 1), result("old", 1)]
    sides = settings(results)["iris", 3]
    assert [[r["draw"] for r in sides[name]] for name in ("new", "old")] == [[1], [1]]


def test_report_shows_old_beside_new(tmp_path, capsys):
    out = tmp_path / "results.jsonl"
    results = [
        result("new", 0, error=0.2, aurc=0.05, cpu=3.0),
        result("old", 0, error=0.25, aurc=0.10),
        {"version": "new", "table": "iris", "per_class": 50, "draw": 0, "skipped": True},
    ]
    out.write_text("".join(json.dumps(line) + "\n" for line in results))
    main(["--report", "--out", str(out)])
    text = capsys.readouterr().out
    assert text == summary(results) + "\n"
    assert (
        "| 3 or more | 3 | 1 | 25.0 → 20.0 | 0.50 → 0.50 | 10.0 → 5.0 | 10.0 → 10.0 | 1.50 |"
        in text
    )
    assert "| old | 3 | 1 | +15.0 | 15.0 |  |  |" in text
    assert "| new | 3 | 1 | +10.0 | 10.0 | 100 % | 25 % |" in text
    assert "| iris | 3 | 9 | 9.5 | 92.0 | 1.50 | 91.0 | 1.60 | 90.0 | 2.00 |" in text
    assert "Commits: old abc, new abc. Up to 1 draws." in text


def test_tables_go_between_the_markers_of_a_page(tmp_path):
    page, out = tmp_path / "page.md", tmp_path / "results.jsonl"
    out.write_text(json.dumps(result("new", 0, error=0.2, aurc=0.05)) + "\n")
    page.write_text(f"before\n{BEGIN}\nold text\n{END}\nafter\n")
    for _ in range(2):
        main(["--report", "--out", str(out), "--page", str(page)])
        text = page.read_text()
        assert text == f"before\n{BEGIN}\n\n{summary(read_lines(out))}\n\n{END}\nafter\n"
    page.write_text("no markers")
    with pytest.raises(ValueError, match="must have the lines"):
        main(["--report", "--out", str(out), "--page", str(page)])


def test_report_of_one_version_has_its_numbers_alone():
    text = summary([result("new", 0, error=0.2, aurc=0.05)])
    assert "| iris | 3 | 3 | 20.0 | 0.50 | 5.0 | 10.0 |  | 0.50 |" in text


def test_a_folder_without_the_library_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main([str(tmp_path)])
    assert "is not a checkout of graphmargin" in capsys.readouterr().err
