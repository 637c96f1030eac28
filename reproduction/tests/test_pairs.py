"""Methods on pairs of classes, and mean errors over them."""

from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from reproduction.pairs.errors import (
    ALL_CLASSES,
    RULES,
    MeanError,
    deviation,
    error_of,
    mean_errors,
    published,
    table_names,
    table_settings,
)
from reproduction.pairs.methods import svm
from reproduction.pairs.run import pair_settings, run_pair_setting, run_pairs, with_kernels
from reproduction.pairs.splits import FEATURES, TABLES, class_pairs
from reproduction.published import GC, KERNELS, MR, PERCENT, PUBLISHED, SVM

PAIR = ("image", "brickface-cement", 5, 0, "random", "standardized", "scaled")
LETTER = ("letter", 1, "linear")


def failing(_):
    msg = "no\nluck"
    raise RuntimeError(msg)


def without_times(records):
    return [replace(record, seconds=0.0) for record in records]


def test_the_published_table_has_36_settings_of_three_methods():
    assert list(PUBLISHED) == list(product(TABLES, PERCENT, KERNELS))
    assert PUBLISHED["letter", 1, "linear"] == {SVM: 18.90, MR: 30.94, GC: 15.79}
    assert PUBLISHED["digits", 5, "cubic"] == {SVM: 3.04, MR: 2.27, GC: 2.36}
    assert PUBLISHED["image", 10, "rbf"] == {SVM: 3.84, MR: 4.81, GC: 3.73}
    assert sum(errors[GC] < errors[SVM] for errors in PUBLISHED.values()) == 36
    assert sum(errors[GC] < errors[MR] for errors in PUBLISHED.values()) == 29


def test_a_failure_is_a_record_and_is_not_repeated(options):
    calls = []

    def counted(work):
        calls.append(work.kernel.kind)
        return svm(work)

    methods = {("rbf", "failing"): failing, ("linear", "SVM"): counted}
    failed, good = records = run_pairs(options, methods, [PAIR], stage="")
    assert failed.failure == "RuntimeError: no luck"
    assert {getattr(failed, rule) for rule in RULES} == {None}
    assert failed.C is failed.strength is failed.validation is None
    assert failed.n_best == failed.n_candidates == 0
    assert (good.failure, good.n_candidates) == ("", 2)
    assert good.expected < 0.3
    assert run_pairs(options, methods, [PAIR], stage="") == records
    assert calls == ["linear"]


@pytest.mark.slow_reproduction
def test_methods_do_not_depend_on_each_other():
    alone = run_pair_setting(PAIR, with_kernels(["SVM"], ["rbf"]))
    after = run_pair_setting(PAIR, with_kernels(["MR fair", "GC", "SVM"], ["rbf"]))[2:]
    assert without_times(alone) == without_times(after)
    (harmonic,) = run_pair_setting(PAIR, with_kernels(["harmonic"]))
    assert (harmonic.kernel, harmonic.C, harmonic.n_candidates) == ("none", None, 7)


@pytest.mark.parametrize("quick", [False, True], ids=["full", "quick"])
def test_settings_are_all_pairs_or_every_third(options, quick):
    settings = pair_settings(replace(options, quick=quick), 2)
    assert len(set(settings)) == len(settings)
    for table in TABLES:
        pairs = class_pairs(table)[:: 3 if quick else 1]
        of_table = [setting for setting in settings if setting[0] == table]
        assert Counter(setting[1] for setting in of_table) == dict.fromkeys(pairs, 2 * len(PERCENT))
        assert {setting[5] for setting in of_table} == {FEATURES[table]}
    draws = [setting[3] for setting in settings]
    assert draws == sorted(draws)


def mean_of(records, setting=LETTER, **options):
    return mean_errors(records, **options)[setting, "SVM"]


def test_mean_and_standard_error_are_those_of_means_of_draws(record):
    errors = np.random.default_rng(0).uniform(0, 0.5, size=(5, 3))
    records = [
        record(pair=pair, draw=draw, error=float(errors[draw, i]))
        for draw in range(5)
        for i, pair in enumerate(("A-B", "B-C", "C-D"))
    ]
    mean = mean_of(records)
    assert mean.mean == pytest.approx(100 * errors.mean())
    spread = 100 * errors.mean(axis=1).std(ddof=1)
    assert mean.standard_error == pytest.approx(spread / np.sqrt(5))
    assert (mean.n_draws, mean.n_failed) == (5, 0)
    assert np.isnan(mean_of(records[:3]).standard_error)


def test_failures_are_counted_and_left_out(record):
    errors = [0.2, None, 0.4, 0.6, None, None]
    where = [(pair, draw) for draw in range(3) for pair in ("A-B", "B-C")]
    records = [record(pair=p, draw=d, error=e) for (p, d), e in zip(where, errors, strict=True)]
    mean = mean_of(records)
    assert mean.mean == pytest.approx(35.0)  # of 20 and 50
    assert (mean.n_draws, mean.n_failed) == (3, 3)
    assert np.isnan(mean_of(records[-2:]).mean)


def test_rules_have_errors_of_their_own(record):
    single = record(**{rule: i / 10 for i, rule in enumerate(RULES)})
    for i, rule in enumerate(RULES):
        assert mean_of([single], rule=rule).mean == pytest.approx(10 * i)
    assert mean_of([single]).mean == pytest.approx(30.0)  # expected


def test_image_is_there_with_and_without_a_class(record):
    errors = {"grass-sky": 0.1, "grass-window": 0.5, "path-sky": 0.3}
    records = [record("image", pair, error=error) for pair, error in errors.items()]
    six, seven = ("image", 1, "linear"), (ALL_CLASSES, 1, "linear")
    assert mean_of(records, six).mean == pytest.approx(20.0)
    assert mean_of(records, seven).mean == pytest.approx(30.0)
    assert mean_of(records, six, left_out="sky").mean == pytest.approx(50.0)
    assert mean_of(records, seven, left_out="sky").mean == pytest.approx(30.0)
    assert list(table_names("image", "grass-sky", left_out="gras")) == ["image", ALL_CLASSES]
    assert published((ALL_CLASSES, 1, "rbf"), "GC") == PUBLISHED["image", 1, "rbf"]["GC"]


def test_settings_are_in_the_order_of_the_paper(record):
    records = [
        record("image", "grass-sky"),
        record(percent=10, kernel="rbf"),
        record(percent=10, kernel="cubic", method="GC"),
        record(percent=2),
        record(method="harmonic", kernel="none", error=0.25),
    ]
    means = mean_errors(records)
    assert table_settings(means) == [
        ("letter", 2, "linear"),
        ("letter", 10, "cubic"),
        ("letter", 10, "rbf"),
        ("image", 1, "linear"),
        (ALL_CLASSES, 1, "linear"),
    ]
    assert table_settings(means, ["image"]) == [("image", 1, "linear")]
    # A harmonic solution serves every kernel.
    assert error_of(means, ("letter", 1, "rbf"), "harmonic").mean == 25.0
    assert error_of(means, ("letter", 2, "rbf"), "harmonic") is None


def test_the_deviation_is_that_by_hand():
    ours = {"linear": 18.90 + 1.0, "cubic": 20.54 - 3.0, "rbf": 20.06 + 0.5}
    means = {
        (("letter", 1, kernel), "SVM"): MeanError(error, 0.1, 2, 0)
        for kernel, error in ours.items()
    }
    points = deviation(means, "letter", "SVM")
    assert (points.signed, points.absolute, points.n) == pytest.approx((-0.5, 1.5, 3))
    cubic = deviation(means, "letter", "SVM", kernel="cubic")
    assert (cubic.signed, cubic.absolute, cubic.n) == pytest.approx((-3.0, 3.0, 1))
    other = deviation(means, "letter", "SVM", column="GC", kernel="linear")
    assert other.signed == pytest.approx(18.90 + 1.0 - 15.79)
    assert deviation({}, "letter", "SVM").n == 0
