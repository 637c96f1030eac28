"""Problems, runs and tables of the question whether unlabeled rows ever hurt."""

from functools import cache

import numpy as np
import pytest
from scipy import sparse
from sklearn.dummy import DummyClassifier
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.safety.__main__ import main
from benchmarks.safety.problems import PROBLEMS, Problem, make_problem
from benchmarks.safety.run import (
    CUT,
    METHODS,
    SUPERVISED,
    SafetyRecord,
    run,
    run_problem,
    self_training,
)
from benchmarks.safety.summary import summary

CLASSES = {
    "letter": 26,
    "digits": 10,
    "segmentation": 7,
    "swiss-roll": 3,
    "many-classes": 20,
    "text": 4,
}
made_by = cache(make_problem)


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


@pytest.mark.parametrize("name", PROBLEMS)
def test_problems_have_rows_of_all_classes(name):
    made = made_by(name, 0)
    assert made.name == name
    assert "\n" not in made.description
    assert 1000 <= made.X.shape[0] == len(made.y) <= 2000
    assert made.X.dtype == np.float64
    assert np.isfinite(dense(made.X)).all()
    np.testing.assert_array_equal(np.unique(made.y), np.arange(CLASSES.get(name, 2)))
    assert np.bincount(made.y).min() >= 30  # one of them at least is a training row
    again, other = make_problem(name, 0), make_problem(name, 1)
    np.testing.assert_array_equal(dense(made.X), dense(again.X))
    np.testing.assert_array_equal(made.y, again.y)
    assert (dense(made.X) != dense(other.X)).any()
    assert (made.y != other.y).any()


class Labeled:
    """A classifier of scikit-learn, fitted to the rows that have a label, and noted in `seen`."""

    def __init__(self, model, seen=None):
        self.model = model
        self.seen = {} if seen is None else seen

    def fit(self, X, y):
        self.seen["X"], self.seen["y"] = X, y
        self.model.fit(X[y != -1], y[y != -1])
        return self

    def predict(self, X):
        return self.model.predict(X)


class Failing:
    def fit(self, *_):
        msg = "no\nluck"
        raise RuntimeError(msg)


MOONS = make_problem("moons", 0)
CHEAP = {
    "neighbor": lambda _, __: Labeled(KNeighborsClassifier(1)),
    "constant": lambda _, __: Labeled(DummyClassifier()),
}


@pytest.mark.parametrize(("n_labels", "expected"), [(2, 20), (100, 100)])
def test_labels_are_as_many_as_asked_and_one_of_every_class(n_labels, expected):
    made, seen = made_by("many-classes", 0), {}
    run_problem(
        made, n_labels, 0, {"show_progress": lambda _, __: Labeled(KNeighborsClassifier(1), seen)}
    )
    assert len(seen["y"]) == 1000  # two thirds
    assert (seen["y"] != -1).sum() == expected
    assert set(seen["y"]) == {-1, *range(20)}
    rows = {tuple(x): y for x, y in zip(made.X, made.y, strict=True)}
    labeled = seen["y"] != -1
    pairs = zip(seen["X"][labeled], seen["y"][labeled], strict=True)
    assert all(rows[tuple(x)] == y for x, y in pairs)


def errors_of(records):
    return [(record.method, record.test_error, record.transductive_error) for record in records]


def test_rows_labels_and_seeds_do_not_depend_on_the_other_methods():
    both = run_problem(MOONS, 10, 3, CHEAP)
    constant = run_problem(MOONS, 10, 3, {"constant": CHEAP["constant"]})
    assert errors_of(both)[1:] == errors_of(constant)
    assert errors_of(both) == errors_of(run_problem(MOONS, 10, 3, CHEAP))
    assert errors_of(both) != errors_of(run_problem(MOONS, 10, 4, CHEAP))


def test_errors_of_a_constant_are_the_shares_of_the_other_class():
    y = np.repeat([0, 1], [90, 30])
    zeros = {"zeros": lambda _, __: Labeled(DummyClassifier(strategy="constant", constant=0))}
    (record,) = run_problem(Problem("tiny", "", np.zeros((120, 1)), y), 4, 0, zeros)
    wrong = record.test_error * 40 + record.transductive_error * 76
    labeled_ones = 30 - round(wrong)  # of 120 rows, 40 are held out and 4 labeled
    assert wrong == pytest.approx(round(wrong))
    assert 1 <= labeled_ones <= 3


def test_transduction_is_the_methods_own_where_it_has_one():
    class Transductive(Labeled):
        def fit(self, X, y):
            self.transduction_ = np.full(len(y), 7)
            return super().fit(X, y)

    make = {"own": lambda _, __: Transductive(KNeighborsClassifier(1))}
    (record,) = run_problem(MOONS, 10, 0, make)
    assert record.transductive_error == 1.0
    assert record.test_error < 0.5


def test_a_failing_method_is_a_record():
    records = run_problem(MOONS, 10, 0, {"failing": lambda _, __: Failing(), **CHEAP})
    failed, good = records[:2]
    assert failed.failure == "RuntimeError: no luck"
    assert failed.test_error is failed.transductive_error is None
    assert failed.seconds >= 0
    assert good.failure == ""
    assert good.test_error < 0.5


def test_a_run_does_not_repeat_finished_settings(tmp_path):
    out, calls = tmp_path / "records.csv", []

    def counted(_, seed):
        calls.append(seed)
        return Labeled(KNeighborsClassifier(1))

    methods = {"neighbor": counted, "failing": lambda _, __: Failing()}
    first = run(["moons", "xor"], [2, 10], 1, out=out, methods=methods)
    assert (len(first), len(calls)) == (8, 4)
    assert run(["moons", "xor"], [2, 10], 1, out=out, methods=methods) == first
    more = run(["moons", "xor"], [2, 10], 2, out=out, methods={**methods, **CHEAP})
    assert len(calls) == 4  # its name is that of a cheap one now
    assert [record for record in more if record in first] == first


def records_of(errors, name="xor", n_labels=100, seconds=0.5):
    return [
        SafetyRecord(
            name, n_labels, draw, method, error, error, seconds, "" if error else "Error: x"
        )
        for method, own in errors.items()
        for draw, error in enumerate(own)
    ]


def test_the_summary_is_that_by_hand():
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


def test_the_summary_counts_failures():
    text = summary(records_of({SUPERVISED: [0.2, 0.4], "other": [None, 0.1], CUT: [None, None]}))
    assert "| xor | **30.0 ± 10.0** | 10.0 ± 0.0 (1 failed) | failed |" in text
    assert "| cut | 2.75 | 2.75 | 0.50 |" in text  # (1, 2.5, 2.5) and (2, 1, 3)
    assert "- 100 labels: in 0 of 1 problems; not in xor (failed)" in text
    assert text.endswith("## Failures\n\n- other, 1 x: Error: x\n- cut, 2 x: Error: x")
    one_draw = summary(records_of({SUPERVISED: [0.2], CUT: [0.1]}))
    assert "| xor | 20.0 | **10.0** |" in one_draw


def test_the_command_prints_tables(capsys, tmp_path):
    out = tmp_path / "records.csv"
    main(
        ["--problems", "xor", "--labels", "10", "--draws", "2", "--jobs", "1", "--out", str(out)],
        CHEAP,
    )
    printed = capsys.readouterr()
    assert printed.out.startswith("## 10 labels\n\n| test error, % | neighbor | constant |")
    assert "safety: done in" in printed.err
    assert len(out.read_text().splitlines()) == 5
    with pytest.raises(SystemExit, match="2"):
        main(["--problems", "moon"], CHEAP)
    assert "invalid choice: 'moon'" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["text", "moons"])
def test_methods_of_scikit_learn_work_with_a_label_a_class(name):
    methods = {"LabelSpreading": METHODS["LabelSpreading"], "SelfTraining": self_training}
    for record in run_problem(made_by(name, 0), 2, 0, methods):
        assert record.failure == ""
