import os
from dataclasses import replace

import numpy as np
import pytest
from joblib.externals.loky import get_reusable_executor
from sklearn.dummy import DummyClassifier
from sklearn.neighbors import KNeighborsClassifier

from graphmargin.experiments import (
    METHODS,
    Problem,
    Record,
    problem,
    read_records,
    run,
    run_cell,
    summary,
)
from graphmargin.experiments.methods import CUT, SUPERVISED, self_training
from graphmargin.experiments.safety import main


class Labeled:
    """A classifier of scikit-learn, fitted to the rows that have a label."""

    def __init__(self, model):
        self.model = model

    def fit(self, X, y):
        self.model.fit(X[y != -1], y[y != -1])
        return self

    def predict(self, X):
        return self.model.predict(X)


class Failing:
    def fit(self, *_):
        msg = "no\nluck"
        raise RuntimeError(msg)


CHEAP = {
    "neighbor": lambda _, __: Labeled(KNeighborsClassifier(1)),
    "constant": lambda _, __: Labeled(DummyClassifier()),
}
NAMES = ["moons", "xor"]


def without_times(records):
    return [replace(record, seconds=0.0) for record in records]


@pytest.fixture(scope="module")
def moons():
    return problem("moons", 0)


class Watching(Labeled):
    def __init__(self, seen):
        super().__init__(KNeighborsClassifier(1))
        self.seen = seen

    def fit(self, X, y):
        self.seen["X"], self.seen["y"] = X, y
        return super().fit(X, y)


@pytest.mark.parametrize(("n_labels", "expected"), [(2, 20), (100, 100)])
def test_labels_are_as_many_as_asked_and_one_of_every_class(n_labels, expected):
    made, seen = problem("many-classes", 0), {}
    run_cell(made, n_labels, 0, {"watching": lambda _, __: Watching(seen)})
    assert len(seen["y"]) == 1000  # two thirds
    assert (seen["y"] != -1).sum() == expected
    assert set(seen["y"]) == {-1, *range(20)}
    rows = {tuple(x): y for x, y in zip(made.X, made.y, strict=True)}
    labeled = seen["y"] != -1
    pairs = zip(seen["X"][labeled], seen["y"][labeled], strict=True)
    assert all(rows[tuple(x)] == y for x, y in pairs)


def test_rows_labels_and_seeds_do_not_depend_on_the_other_methods(moons):
    both = run_cell(moons, 10, 3, CHEAP)
    one = run_cell(moons, 10, 3, {"constant": CHEAP["constant"]})
    assert without_times(both)[1:] == without_times(one)
    assert without_times(both) == without_times(run_cell(moons, 10, 3, CHEAP))
    other = run_cell(moons, 10, 4, CHEAP)
    assert [r.test_error for r in both] != [r.test_error for r in other]


def test_errors_of_a_constant_are_the_shares_of_the_other_class():
    y = np.repeat([0, 1], [90, 30])
    zeros = {"zeros": lambda _, __: Labeled(DummyClassifier(strategy="constant", constant=0))}
    (record,) = run_cell(Problem("tiny", "", np.zeros((120, 1)), y), 4, 0, zeros)
    wrong = record.test_error * 40 + record.transductive_error * 76
    labeled_ones = 30 - round(wrong)  # of 120 rows, 40 are held out and 4 labeled
    assert wrong == pytest.approx(round(wrong))
    assert 1 <= labeled_ones <= 3


def test_transduction_is_the_methods_own_where_it_has_one(moons):
    class Transductive(Labeled):
        def fit(self, X, y):
            self.transduction_ = np.full(len(y), 7)
            return super().fit(X, y)

    make = {"own": lambda _, __: Transductive(KNeighborsClassifier(1))}
    (record,) = run_cell(moons, 10, 0, make)
    assert record.transductive_error == 1.0
    assert record.test_error < 0.5


def test_a_failing_method_is_a_record(moons):
    records = run_cell(moons, 10, 0, {"failing": lambda _, __: Failing(), **CHEAP})
    failed, good = records[:2]
    assert failed.failure == "RuntimeError: no luck"
    assert failed.test_error is failed.transductive_error is None
    assert failed.seconds >= 0
    assert good.failure == ""
    assert good.test_error < 0.5


def test_more_labels_than_training_rows_are_refused(moons):
    with pytest.raises(ValueError, match=r"`n_labels` must be at most 800, .*'moons', got 900"):
        run_cell(moons, 900, 0, CHEAP)


def test_run_resumes_what_was_finished(tmp_path):
    out, calls = tmp_path / "new" / "records.csv", []

    def counted(_, seed):
        calls.append(seed)
        return Labeled(KNeighborsClassifier(1))

    methods = {"neighbor": counted, "failing": lambda _, __: Failing()}
    first = run(NAMES, [2, 10], 2, out=out, methods=methods)
    assert len(first) == 16
    assert len(calls) == 8
    keys = [(*record.cell, record.method) for record in first]
    assert keys == sorted(keys, key=lambda key: (NAMES.index(key[0]), *key[1:3]))
    assert run(NAMES, [2, 10], 2, out=out, methods=methods) == first
    assert len(calls) == 8
    assert sorted(map(repr, read_records(out))) == sorted(map(repr, first))

    run(NAMES, [2, 10], 3, out=out, methods=methods)
    assert len(calls) == 12
    more = run(NAMES, [2, 10], 2, out=out, methods={**methods, "constant": CHEAP["constant"]})
    assert len(calls) == 12
    assert [record for record in more if record.method != "constant"] == first


def test_a_line_that_was_cut_off_is_computed_again(tmp_path):
    out = tmp_path / "records.csv"
    first = run(["xor"], [10], 2, out=out, methods=CHEAP)
    whole = out.read_text()
    os.truncate(out, len(whole) - 9)
    assert len(read_records(out)) == 3
    again = run(["xor"], [10], 2, out=out, methods=CHEAP)
    assert again[:3] == first[:3]
    assert without_times(again) == without_times(first)
    assert len(out.read_text().splitlines()) == len(whole.splitlines())


def test_processes_return_the_records_of_one(tmp_path):
    methods = {"LabelSpreading": METHODS["LabelSpreading"]}  # classes of tests stay at home
    one = run(["xor"], [10], 2, methods=methods)
    two = run(["xor"], [10], 2, n_jobs=2, out=tmp_path / "records.csv", methods=methods)
    get_reusable_executor().shutdown(wait=True)  # no idle process stays for the tests to come
    assert without_times(one) == without_times(two)


def test_a_file_of_something_else_is_left_alone(tmp_path):
    out = tmp_path / "other.csv"
    out.write_text("a,b\n1,2")
    with pytest.raises(ValueError, match=r"`out` must be a file of records, .* got 'a,b'"):
        run(["xor"], [10], 1, out=out, methods=CHEAP)
    assert out.read_text() == "a,b\n1,2"


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ((["moon"], [2], 1), r"`problems` must be one of 'letter', .* got 'moon'"),
        ((["moons"], [0], 1), r"`n_labels` must be an integer >= 1, got 0"),
        ((["moons"], [2], 0), r"`draws` must be an integer >= 1, got 0"),
    ],
)
def test_a_bad_grid_is_refused(grid, message):
    with pytest.raises(ValueError, match=message):
        run(*grid, methods=CHEAP)


def records_of(errors, name="xor", n_labels=100, seconds=0.5):
    return [
        Record(name, n_labels, draw, method, error, error, seconds, "" if error else "Error: x")
        for method, own in errors.items()
        for draw, error in enumerate(own)
    ]


def test_summary_by_hand():
    text = summary(
        [
            *records_of({SUPERVISED: [0.2, 0.4], "other": [0.1, 0.3], CUT: [0.11, 0.3]}),
            *records_of({SUPERVISED: [0.1, 0.1], "other": [0.3, 0.5], CUT: [0.2, 0.2]}, "moons"),
            *records_of({SUPERVISED: [0.5, 0.4], "other": [0.6, 0.6], CUT: [0.1, 0.2]}, "xor", 2),
        ]
    )
    lines = text.splitlines()
    assert lines[:5] == [
        "## 2 labels",
        "",
        "| test error, % | supervised SVM | other | cut |",
        "|---|---:|---:|---:|",
        "| xor | 45.0 ± 5.0 | 60.0 ± 0.0 | **15.0 ± 5.0** |",
    ]
    # The standard error of two values is half their distance.
    assert "| xor | 30.0 ± 10.0 | **20.0 ± 10.0** | 20.5 ± 9.5 |" in lines
    assert "| moons | **10.0 ± 0.0** | 40.0 ± 10.0 | 20.0 ± 0.0 |" in lines
    # Ranks: xor (3, 1, 2) and (3, 1.5, 1.5), moons (1, 3, 2) twice; with 2 labels (2, 3, 1) twice.
    assert "| supervised SVM | 2.00 | 2.00 | 2.00 | 0.50 |" in lines
    assert "| other | 3.00 | 2.12 | 2.42 | 0.50 |" in lines
    assert "| cut | 1.00 | 1.88 | 1.58 | 0.50 |" in lines
    assert "| xor | -30.0 ± 10.0 | -9.5 ± 0.5 |" in lines
    assert "| moons | failed | +10.0 ± 0.0 |" in lines
    assert "Worst: +10.0 ± 0.0 points on moons with 100 labels. The mean is above zero in 1" in text
    # On xor, the cut is 1 and 0 points behind: 0.5 +- 0.5.
    behind = "moons (+10.0 ± 0.0 points to supervised SVM)"
    assert f"- 100 labels: in 1 of 2 problems; not in {behind}" in lines
    assert "## Failures" not in text


def test_summary_of_failures():
    text = summary(records_of({SUPERVISED: [0.2, 0.4], "other": [None, 0.1], CUT: [None, None]}))
    assert "| xor | **30.0 ± 10.0** | 10.0 ± 0.0 (1 failed) | failed |" in text
    assert "| cut | 2.75 | 2.75 | 0.50 |" in text  # (1, 2.5, 2.5) and (2, 1, 3)
    assert "- 100 labels: in 0 of 1 problems; not in xor (failed)" in text
    assert text.endswith("## Failures\n\n- other, 1 x: Error: x\n- cut, 2 x: Error: x")


def test_summary_of_a_single_draw_shows_no_standard_error():
    text = summary(records_of({SUPERVISED: [0.2], CUT: [0.1]}))
    assert "±" not in text
    assert "| xor | 20.0 | **10.0** |" in text
    assert "- 100 labels: in 1 of 1 problems" in text


def test_summary_of_other_methods_has_no_word_on_the_cut():
    assert "cut" not in summary(records_of({"neighbor": [0.2], "constant": [0.1]}))


def test_summary_of_nothing_is_refused():
    with pytest.raises(ValueError, match="`records` must not be empty"):
        summary([])


def test_command_prints_tables(capsys, tmp_path):
    out = tmp_path / "records.csv"
    argv = ["--problems", "xor", "--labels", "10", "--draws", "2", "--jobs", "1", "--out", str(out)]
    assert main(argv, CHEAP) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("## 10 labels\n\n| test error, % | neighbor | constant |")
    assert "100%  xor, 10 labels, draw 1" in printed.err
    assert len(read_records(out)) == 4


@pytest.mark.parametrize(
    "argv",
    [["--problems", "xor", "moon"], ["--labels", "0"], ["--draws", "-1"], ["--out", "/"]],
)
def test_command_ends_with_one_line_on_what_is_wrong(capsys, argv):
    assert main(argv, CHEAP) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 1
    assert printed.err.startswith("python -m graphmargin.experiments.safety: ")


def test_the_experiment_compares_these_methods():
    names = ["LabelSpreading", "SelfTraining", "HarmonicClassifier", "ManifoldSVC"]
    assert list(METHODS) == [SUPERVISED, *names, CUT]
    for name, make in METHODS.items():
        assert hasattr(make(np.eye(3), 0), "fit"), name


@pytest.mark.parametrize("name", ["text", "moons"])
def test_rivals_of_scikit_learn_work_with_a_label_a_class(name):
    rivals = {"LabelSpreading": METHODS["LabelSpreading"], "SelfTraining": self_training}
    for record in run_cell(problem(name, 0), 2, 0, rivals):
        assert record.failure == ""
