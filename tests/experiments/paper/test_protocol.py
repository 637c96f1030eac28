from collections import Counter
from itertools import product

import pytest

from graphmargin.experiments.paper import protocol as module
from graphmargin.experiments.paper.methods import GC_AUTO
from graphmargin.experiments.paper.protocol import (
    CLASSES,
    COLUMNS,
    FEATURE_KINDS,
    Reading,
    closest,
    combinations,
    is_main,
    left_out_classes,
    protocol,
    tie_rules,
    wins_by_rule,
)
from graphmargin.experiments.paper.published import GC, MR, SVM
from graphmargin.experiments.paper.settings import Settings
from graphmargin.experiments.paper.splits import FEATURES, LABELINGS, class_pairs
from graphmargin.experiments.paper.summaries import PAPER_RULE, RULES

BOTH = {"SVM": SVM, "GC": GC}


def answers(readings, **wanted):
    """Return signed and absolute distances of readings by answer."""
    return {
        one.answer: (round(one.signed, 6), round(one.absolute, 6))
        for one in readings
        if all(getattr(one, name) == value for name, value in wanted.items())
    }


def test_readings_are_as_far_from_the_paper_as_they_were_put(published_records):
    shifts = dict(zip(product(FEATURE_KINDS, LABELINGS), (1.0, -2.0, 3.0, -4.0), strict=True))
    records = [
        one
        for (features, labels), shift in shifts.items()
        for one in published_records(
            BOTH, {"SVM": shift, "GC": 2 * shift}, 9, features=features, labels=labels
        )
    ]
    for table in FEATURES:
        found = answers(combinations(records), table=table, method="SVM", kernel="linear")
        assert found == {
            (features, "scaled", labels): (shift, abs(shift))
            for (features, labels), shift in shifts.items()
        }
        ordered = closest(combinations(records), table, ("SVM", "GC"), ["linear", "cubic"])
        assert [one.absolute for one in ordered] == pytest.approx([1.5, 3.0, 4.5, 6.0])
        assert ordered[0].answer == ("raw", "scaled", "random")
        assert ordered[0].signed == pytest.approx(1.5)


def test_rbf_kernels_count_for_both_kinds_of_products(published_records):
    plain = [
        one
        for one in published_records(BOTH, {"SVM": 5.0}, products="plain")
        if one.kernel == "linear"
    ]
    records = [*published_records(BOTH), *plain]
    rbf = answers(combinations(records), table="letter", method="SVM", kernel="rbf")
    assert rbf == {("raw", products, "random"): (0.0, 0.0) for products in ("scaled", "plain")}
    linear = answers(combinations(records), table="letter", method="SVM", kernel="linear")
    assert linear == {
        ("raw", "scaled", "random"): (0.0, 0.0),
        ("raw", "plain", "random"): (5.0, 5.0),
    }
    cubic = answers(combinations(records), table="letter", method="SVM", kernel="cubic")
    assert cubic == {("raw", "scaled", "random"): (0.0, 0.0)}


def test_fair_manifold_regularization_is_compared_with_the_published_one(published_records):
    readings = combinations(published_records({"MR fair": MR}))
    assert {one.method for one in readings} == {"MR fair"}
    assert {round(one.absolute, 9) for one in readings} == {0.0}
    assert combinations(published_records({GC_AUTO: GC})) == []


def test_the_closest_reading_comes_first():
    distances = {"a": (-1.0, 3.0), "b": (2.0, 2.0), "c": (0.0, 4.0)}
    readings = [
        Reading("letter", kernel, (answer,), method, signed, absolute + extra)
        for answer, (signed, absolute) in distances.items()
        for kernel, method, extra in (
            ("rbf", "SVM", 0.0),
            ("rbf", "GC", 1.0),
            ("linear", "SVM", 2.0),
            ("linear", "MR", 90.0),
        )
    ]
    readings.append(Reading("digits", "rbf", ("d",), "SVM", 0.0, 0.0))
    found = closest(readings, "letter", ["SVM", "GC"])
    assert [one.answer for one in found] == [("b",), ("a",), ("c",)]
    assert [one.absolute for one in found] == pytest.approx([3.0, 4.0, 5.0])
    assert [one.signed for one in found] == pytest.approx([2.0, -1.0, 0.0])
    linear = closest(readings, "letter", iter(["SVM"]), iter(["linear"]))
    assert [one.absolute for one in linear] == pytest.approx([4.0, 5.0, 6.0])
    assert closest(readings, "image", ["SVM"]) == []


def test_ties_are_read_off_the_tables_own_cells(published_records):
    shifts = {rule: i / 100 for i, rule in enumerate(RULES)}
    records = [
        type(one)(**{**vars(one), **{rule: one.first + shifts[rule] for rule in RULES}})
        for one in published_records(BOTH)
    ]
    other = published_records(BOTH, {"SVM": 50.0, "GC": 50.0}, labels="balanced")
    found = answers(tie_rules([*records, *other]), table="digits", method="GC", kernel="cubic")
    assert found == {(rule,): (i, i) for i, rule in enumerate(RULES)}


def test_wins_depend_on_the_rule(published_records):
    records = [
        type(one)(**{**vars(one), "last": 0.1, "oracle": 0.2 if one.method == GC else 0.1})
        for one in published_records(BOTH)
    ]
    found = wins_by_rule(records, GC, SVM)
    assert list(found) == list(RULES)
    assert found["first"] == found[PAPER_RULE] == (36, 36)
    assert found["last"] == found["oracle"] == (0, 36)
    assert wins_by_rule(published_records(BOTH, features="other"), GC, SVM) == dict.fromkeys(
        RULES, (0, 0)
    )


def test_any_class_may_be_left_out(record):
    assert {name for pair in class_pairs("image") for name in pair.split("-")} == set(CLASSES)
    # Pairs with path have 30 points more than published, all others as many as that.
    records = [
        record("image", pair, error=0.1402 + 0.3 * ("path" in pair), kernel="linear")
        for pair in class_pairs("image")
    ]
    found = answers(left_out_classes([*records, record(error=0.9)]), method="SVM")
    assert list(found) == [(name,) for name in CLASSES]
    assert found["path",] == (0.0, 0.0)
    # Of the 15 pairs of six classes, 5 have path.
    assert {found[name,] for name in CLASSES if name != "path"} == {(10.0, 10.0)}


def test_the_main_protocol_is_that_of_the_table(record):
    assert is_main(record())
    assert is_main(record("image", "grass-sky"))
    assert is_main(record(labels="balanced"), "balanced")
    for change in ({"features": "standardized"}, {"products": "plain"}, {"labels": "balanced"}):
        assert not is_main(record(**change))


def test_all_combinations_are_run_once(monkeypatch, tmp_path):
    runs, shares = [], []

    def remember(settings, methods, cells):
        settings.progress(1.0, "done")
        runs.append((set(methods), list(cells)))
        return []

    monkeypatch.setattr(module, "run_pairs", remember)
    progress = lambda share, _: shares.append(share)  # noqa: E731 - shorter than a function
    assert protocol(Settings(tmp_path, quick=True, progress=progress)) == []
    assert shares == pytest.approx([(i + 1) / len(runs) for i in range(len(runs))])
    counts = Counter((cell, part) for methods, cells in runs for cell in cells for part in methods)
    assert set(counts.values()) == {1}
    kinds = {cell[4:] for cell, _ in counts}
    assert kinds == set(product(LABELINGS, FEATURE_KINDS, ("scaled", "plain")))
    for kind in kinds:
        own = {part for cell, part in counts if cell[4:] == kind and part[1] in COLUMNS}
        rbf = {part for part in own if part[0] == "rbf"}
        assert len(own) == (12 if kind[2] == "scaled" else 7)
        assert len(rbf) == (4 if kind[2] == "scaled" else 0)
    ours = {cell[4] for cell, part in counts if part[1] == GC_AUTO}
    assert ours == set(LABELINGS)
