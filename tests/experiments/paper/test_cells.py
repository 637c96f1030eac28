import os
from collections import Counter
from dataclasses import replace

import pytest
from joblib.externals.loky import get_reusable_executor

from graphmargin.experiments.paper.cells import (
    KEPT,
    PairRecord,
    pair_cells,
    run_pair_cell,
    run_pairs,
    with_kernels,
)
from graphmargin.experiments.paper.methods import METHODS, svm
from graphmargin.experiments.paper.published import KERNELS, PERCENT
from graphmargin.experiments.paper.settings import Settings
from graphmargin.experiments.paper.splits import FEATURES, TABLES, class_pairs
from graphmargin.experiments.running import read_csv

CELL = ("image", "brickface-cement", 5, 0, "random", "standardized", "scaled")
CELLS = [
    CELL,
    ("image", "brickface-cement", 5, 1, "random", "standardized", "scaled"),
    ("image", "grass-sky", 2, 0, "balanced", "raw", "plain"),
]
SVMS = with_kernels(["SVM"], ["linear", "rbf"])
ERRORS = ("first", "last", "softest", "expected", "averaged", "oracle")


def failing(_):
    msg = "no\nluck"
    raise RuntimeError(msg)


def without_times(records):
    return [replace(record, seconds=0.0) for record in records]


@pytest.fixture
def settings(tmp_path):
    return Settings(tmp_path, n_jobs=1)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Return a finished run: its folder and records."""
    folder = tmp_path_factory.mktemp("finished")
    return folder, run_pairs(Settings(folder, n_jobs=1), SVMS, CELLS)


def test_records_are_in_the_order_of_cells_and_methods(finished):
    records = finished[1]
    assert [(record.cell, record.part) for record in records] == [
        (cell, part) for cell in CELLS for part in SVMS
    ]
    for record in records:
        assert record.failure == ""
        assert record.n_candidates == 2
        assert 1 <= record.n_best <= 2
        assert 0 <= record.oracle <= record.first <= 0.3
        assert record.C > 0
        assert record.seconds > 0


def test_what_is_kept_is_what_was_found(finished):
    folder, records = finished
    assert sorted(map(repr, read_csv(folder / KEPT, PairRecord))) == sorted(map(repr, records))


@pytest.mark.parametrize("share", [0.05, 0.5, 0.9])
def test_an_interrupted_run_continues_to_the_same_records(finished, settings, share):
    folder, records = finished
    whole = (folder / KEPT).read_bytes()
    cut_off = whole[: int(share * len(whole))]
    assert not cut_off.endswith(b"\n")
    (settings.folder / KEPT).write_bytes(cut_off)
    assert without_times(run_pairs(settings, SVMS, CELLS)) == without_times(records)
    assert len((settings.folder / KEPT).read_text().splitlines()) == 1 + len(records)
    kept = run_pairs(settings, SVMS, CELLS)
    assert kept == run_pairs(settings, SVMS, CELLS)


def test_finished_cells_are_not_computed_again(settings):
    calls = []

    def counted(work):
        calls.append(work.name)
        return svm(work)

    methods = {("linear", "one"): counted, ("rbf", "failing"): failing}
    first = run_pairs(settings, methods, CELLS)
    assert calls == ["linear"] * 3
    assert run_pairs(settings, methods, CELLS) == first
    assert len(calls) == 3  # a failure is a result, too

    more = {("rbf", "other"): counted, **methods}
    both = run_pairs(settings, more, CELLS)
    assert calls == ["linear"] * 3 + ["rbf"] * 3
    assert [record for record in both if record.method != "other"] == first
    assert run_pairs(settings, {("linear", "one"): counted}, CELLS[1:]) == [first[2], first[4]]

    path = settings.folder / KEPT
    os.truncate(path, path.stat().st_size - 3)
    assert without_times(run_pairs(settings, more, CELLS)) == without_times(both)
    assert len(calls) == 7


def test_processes_return_the_records_of_one(finished, tmp_path):
    found = run_pairs(Settings(tmp_path, n_jobs=2), SVMS, CELLS)
    get_reusable_executor().shutdown(wait=True)  # no idle process stays for the tests to come
    assert without_times(found) == without_times(finished[1])


def test_methods_do_not_depend_on_each_other(finished):
    alone = run_pair_cell(CELL, with_kernels(["SVM"], ["rbf"]))
    after = run_pair_cell(CELL, with_kernels(["MR fair", "GC", "SVM"], ["rbf"]))[2:]
    assert without_times(alone) == without_times(after) == without_times(finished[1][1:2])


def test_a_failing_method_is_a_record():
    failed, good = run_pair_cell(CELL, {("rbf", "failing"): failing, ("rbf", "SVM"): svm})
    assert failed.failure == "RuntimeError: no luck"
    assert {getattr(failed, rule) for rule in ERRORS} == {None}
    assert failed.C is failed.strength is failed.validation is None
    assert failed.n_best == failed.n_candidates == 0
    assert failed.seconds >= 0
    assert good.failure == ""
    assert good.expected < 0.3


def test_a_harmonic_solution_has_no_c_and_no_kernel():
    methods = with_kernels(["harmonic"])
    assert list(methods) == [("none", "harmonic")]
    (found,) = run_pair_cell(CELL, methods)
    assert (found.kernel, found.C, found.n_candidates) == ("none", None, 7)
    assert found.strength > 0


def test_progress_is_told_cell_by_cell(tmp_path):
    told = []
    settings = Settings(tmp_path, n_jobs=1, progress=lambda *news: told.append(news))
    run_pairs(settings, SVMS, CELLS[:2])
    assert told == [
        (0.5, "image brickface-cement, 5 %, draw 0"),
        (1.0, "image brickface-cement, 5 %, draw 1"),
    ]


@pytest.mark.parametrize("quick", [False, True], ids=["full", "quick"])
def test_cells_are_all_pairs_or_every_third(settings, quick):
    cells = pair_cells(replace(settings, quick=quick), 2)
    assert len(set(cells)) == len(cells)
    for table in TABLES:
        pairs = class_pairs(table)[:: 3 if quick else 1]
        own = [cell for cell in cells if cell[0] == table]
        assert Counter(cell[1] for cell in own) == dict.fromkeys(pairs, 2 * len(PERCENT))
        assert {cell[5] for cell in own} == {FEATURES[table]}


def test_cells_come_draw_by_draw(settings):
    cells = pair_cells(settings, 3, labels="balanced", features="raw", products="plain")
    draws = [cell[3] for cell in cells]
    assert draws == sorted(draws)
    assert [cell[2] for cell in cells if cell[3] == 0] == sorted(
        cell[2] for cell in cells if cell[3] == 0
    )
    assert {cell[4:] for cell in cells} == {("balanced", "raw", "plain")}
    one = pair_cells(settings, 1, labels="balanced", features="raw", products="plain")
    assert cells[: len(one)] == one  # more draws are more cells


def test_all_methods_go_with_all_kernels_but_one():
    parts = with_kernels(METHODS)
    assert len(parts) == 3 * (len(METHODS) - 1) + 1
    assert {kernel for kernel, _ in parts} == {*KERNELS, "none"}
    assert all(parts[part] is METHODS[part[1]] for part in parts)
