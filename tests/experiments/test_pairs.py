import os
from dataclasses import replace

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from graphmargin.datasets import load_segmentation
from graphmargin.experiments.pair_cells import PairRecord, run_pair_cell, run_pairs
from graphmargin.experiments.pair_methods import (
    PAIR_METHODS,
    all_labels_cut,
    auto_cut,
    folds_cut,
    paper_cut,
    paper_svm,
)
from graphmargin.experiments.pair_splits import class_pairs, split_pair
from graphmargin.experiments.pairs import PUBLISHED, main, pair_summary
from graphmargin.experiments.running import read_csv

CELL = ("image", "brickface-cement", 5, "random", 0, "rbf")


def neighbor(_, X, y, *__):
    return KNeighborsClassifier(1).fit(X[y >= 0], y[y >= 0])


def failing(*_):
    msg = "no\nluck"
    raise RuntimeError(msg)


CHEAP = {"SVM": neighbor}


def without_times(records):
    return [replace(record, seconds=0.0) for record in records]


def test_published_errors_are_those_of_36_settings():
    assert len(PUBLISHED) == 36
    assert {len(pair) for pair in PUBLISHED.values()} == {2}
    assert all(cut < svm for svm, cut in PUBLISHED.values())  # the paper's claim
    assert PUBLISHED["letter", 1, "linear"] == (18.90, 15.79)
    assert PUBLISHED["digits", 5, "cubic"] == (3.04, 2.36)
    assert PUBLISHED["image", 10, "rbf"] == (3.84, 3.73)


def test_pairs_are_as_many_as_in_the_paper():
    letters, digits, image = map(class_pairs, ("letter", "digits", "image"))
    assert (len(letters), len(digits), len(image)) == (25, 45, 15)
    assert letters[-1] == "Y-Z"
    assert digits[9] == "1-2"
    assert not any("window" in pair for pair in image)


@pytest.mark.parametrize("labeling", ["random", "balanced"])
@pytest.mark.parametrize("percent", [1, 10])
@pytest.mark.parametrize(("table", "pair"), [("letter", "A-B"), ("digits", "3-8")])
def test_labels_are_as_many_as_asked_of_both_classes(table, pair, percent, labeling):
    split = split_pair(table, pair, percent, 0, labeling)
    expected = round(percent / 100 * len(split.y))
    for y in (split.y, split.y_validation):
        counts = np.bincount(y + 1, minlength=3)[1:]
        assert (counts > 0).all()
        if labeling == "balanced":
            assert counts.tolist() == [expected // 2] * 2
        else:
            assert counts.sum() == expected


def test_thirds_are_disjoint_and_all_rows_of_the_pair():
    split = split_pair("image", "grass-sky", 10, 0)
    assert [len(split.y), len(split.y_validation), len(split.y_test)] == [220] * 3
    X = np.concatenate([split.X, split.X_validation, split.X_test])
    table, names = load_segmentation()
    chosen = np.isin(names, ["grass", "sky"])
    own = table[chosen]
    own = (own - own.mean(axis=0)) / np.where(np.ptp(own, axis=0) > 0, own.std(axis=0), 1.0)
    assert np.array_equal(np.sort(X @ np.arange(19)), np.sort(own @ np.arange(19)))

    is_sky = {tuple(x): name == "sky" for x, name in zip(own, names[chosen], strict=True)}
    for rows, y in [
        (split.X, split.y),
        (split.X_validation, split.y_validation),
        (split.X_test, split.y_test),
    ]:
        assert all(
            is_sky[tuple(x)] == label for x, label in zip(rows, y, strict=True) if label >= 0
        )


def test_draws_differ_and_repeat():
    one, again, other = (split_pair("digits", "0-1", 5, draw) for draw in (0, 0, 1))
    assert np.array_equal(one.X, again.X)
    assert np.array_equal(one.y, again.y)
    assert one.seed == again.seed
    assert not np.array_equal(one.X, other.X)
    balanced = split_pair("digits", "0-1", 5, 0, "balanced")
    assert np.array_equal(one.X, balanced.X)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("letters", "A-B", 1, 0), r"`tables` must be one of 'letter', .* got 'letters'"),
        (("letter", "A-C", 1, 0), r"`pair` must be one of 'A-B', .* got 'A-C'"),
        (("letter", "A-B", 0, 0), r"`percent` must be an integer >= 1, got 0"),
        (("letter", "A-B", 1, 0, "few"), r"`labels` must be one of 'random', 'balanced', got"),
    ],
)
def test_a_bad_split_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        split_pair(*given)


def test_every_method_learns():
    for record in run_pair_cell(CELL, PAIR_METHODS):
        assert record.failure == ""
        assert record.test_error < 0.2, record.method


def test_methods_choose_as_they_say():
    split = split_pair(*CELL[:3], 0)
    rows = ("rbf", split.X, split.y, split.X_validation, split.y_validation, split.seed)
    n = 11  # 5 % of 220
    assert paper_svm(*rows).C in (1 / (0.2 * n), 1 / (0.02 * n))
    cut = paper_cut(*rows)
    assert cut.C in (1 / (0.2 * n), 1 / (0.02 * n))
    assert cut.gamma_g in (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1e3)
    assert len(auto_cut(*rows).choice_.trials.given) == n
    assert len(folds_cut(*rows).choice_.trials.given) <= n
    assert len(all_labels_cut(*rows).transduction_) == 440


def test_of_ties_the_smallest_gamma_g_and_the_largest_gamma_are_taken():
    X = np.concatenate([np.zeros((20, 2)), np.full((20, 2), 9.0)])
    X += np.random.default_rng(0).normal(size=X.shape)
    y = np.repeat([0, 1], 20)
    few = np.where(np.arange(40) % 20 < 2, y, -1)
    rows = ("linear", X, few, X, few, 0)
    assert paper_svm(*rows).C == 1 / (0.2 * 4)
    cut = paper_cut(*rows)
    assert (cut.gamma_g, cut.C) == (1e-3, 1 / (0.2 * 4))


def test_a_failing_method_is_a_record():
    failed, good = run_pair_cell(CELL, {"failing": failing, **CHEAP})
    assert failed.failure == "RuntimeError: no luck"
    assert failed.test_error is None
    assert good.test_error < 0.3


def test_run_resumes_what_was_finished(tmp_path):
    out, calls = tmp_path / "records.csv", []

    def counted(*given):
        calls.append(given[0])
        return neighbor(*given)

    methods = {"SVM": counted, "failing": failing}
    first = run_pairs(["image"], [1], ["rbf"], 1, out=out, methods=methods)
    assert len(first) == 30
    assert calls == ["rbf"] * 15
    assert run_pairs(["image"], [1], ["rbf"], 1, out=out, methods=methods) == first
    assert len(calls) == 15
    assert sorted(map(repr, read_csv(out, PairRecord))) == sorted(map(repr, first))

    os.truncate(out, out.stat().st_size - 3)
    again = run_pairs(["image"], [1], ["rbf"], 1, out=out, methods=methods)
    assert without_times(again) == without_times(first)
    balanced = run_pairs(["image"], [1], ["rbf"], 1, labels="balanced", out=out, methods=methods)
    assert len(calls) >= 30
    assert {record.labels for record in balanced} == {"balanced"}
    more = run_pairs(["image"], [1], ["linear", "rbf"], 1, out=out, methods=methods)
    assert without_times(more[30:]) == without_times(first)


def records_of(errors, setting=("image", 1, "rbf")):
    table, percent, kernel = setting
    return [
        PairRecord(
            *(table, class_pairs(table)[i], percent, "random", 0, kernel, method, error, 0.1),
            "" if error else "Error: x",
        )
        for method, own in errors.items()
        for i, error in enumerate(own)
    ]


def test_summary_by_hand():
    text = pair_summary(
        [
            *records_of({"SVM": [0.1, 0.2], "GC paper": [0.09, 0.1], "GC auto": [0.05, 0.06]}),
            *records_of(
                {"SVM": [0.1, 0.1], "GC paper": [0.08, None], "GC auto": [None, None]},
                ("letter", 2, "linear"),
            ),
        ]
    )
    assert text.splitlines() == [
        "| test error, % | SVM, published | SVM | GC, published | GC paper | GC auto |",
        "|---|---:|---:|---:|---:|---:|",
        "| image, 1 %, rbf | 14.02 | 15.00 | 9.51 | **9.50** | **5.50** |",
        "| letter, 2 %, linear | 12.92 | **10.00** | 10.79 | 8.00 (1 failed) | failed |",
        "",
        "Below the published GC:",
        "",
        "- SVM: 1 of 2; not image, 1 %, rbf (15.00 to 9.51)",
        "- GC paper: 1 of 2; not letter, 2 %, linear (8.00 (1 failed) to 10.79)",
        "- GC auto: 1 of 2; not letter, 2 %, linear (failed to 10.79)",
        "",
        "## Failures",
        "",
        "- GC paper, 1 x: Error: x",
        "- GC auto, 2 x: Error: x",
    ]


def test_summary_without_the_svm_leaves_its_column_empty():
    text = pair_summary(records_of({"GC auto": [0.05]}))
    assert "| image, 1 %, rbf | 14.02 |  | 9.51 | **5.00** |" in text


def test_summary_of_nothing_is_refused():
    with pytest.raises(ValueError, match="`records` must not be empty"):
        pair_summary([])


def test_command_prints_a_row_for_each_setting(capsys, tmp_path):
    out = tmp_path / "records.csv"
    argv = ["--tables", "image", "--percent", "1", "2", "--kernels", "linear", "rbf"]
    assert main([*argv, "--jobs", "1", "--out", str(out)], CHEAP) == 0
    printed = capsys.readouterr()
    rows = [line.split(" | ")[0] for line in printed.out.splitlines() if line.startswith("| im")]
    assert rows == [f"| image, {p} %, {k}" for p in (1, 2) for k in ("linear", "rbf")]
    assert "100%  image path-sky, 2 %, rbf, draw 0" in printed.err
    assert len(read_csv(out, PairRecord)) == 60


@pytest.mark.parametrize(
    "argv",
    [
        ["--tables", "image", "images"],
        ["--kernels", "sigmoid"],
        ["--percent", "3"],
        ["--labels", "few"],
        ["--draws", "0"],
        ["--out", "/"],
    ],
)
def test_command_ends_with_one_line_on_what_is_wrong(capsys, argv):
    assert main(argv, CHEAP) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 1
    assert printed.err.startswith("python -m graphmargin.experiments.pairs: ")
