import numpy as np
import pytest

from graphmargin.experiments.paper.published import PUBLISHED
from graphmargin.experiments.paper.summaries import (
    ALL_CLASSES,
    ROWS,
    RULES,
    MeanError,
    deviation,
    error_of,
    mean_errors,
    published,
    settings_of,
    table_names,
    wins,
)

SETTING = ("letter", 1, "linear")


def of(means, setting=SETTING, method="SVM"):
    return means[setting, method]


def test_mean_and_standard_error_by_hand(record):
    # Means over pairs are 20 % in draw 0 and 40 % in draw 1.
    errors = {("A-B", 0): 0.1, ("B-C", 0): 0.3, ("A-B", 1): 0.5, ("B-C", 1): 0.3}
    found = of(mean_errors(record(pair=p, draw=d, error=e) for (p, d), e in errors.items()))
    assert found.mean == pytest.approx(30.0)
    assert found.standard_error == pytest.approx(10.0)  # sqrt((10^2 + 10^2) / 1) / sqrt(2)
    assert (found.n_draws, found.n_failed) == (2, 0)


def test_standard_error_is_that_of_means_of_draws(record):
    random = np.random.default_rng(0)
    errors = random.uniform(0, 0.5, size=(5, 3))
    records = [
        record(pair=pair, draw=draw, error=float(errors[draw, i]))
        for draw in range(5)
        for i, pair in enumerate(("A-B", "B-C", "C-D"))
    ]
    found = of(mean_errors(records))
    means = 100 * errors.mean(axis=1)
    assert found.mean == pytest.approx(100 * errors.mean())
    assert found.standard_error == pytest.approx(means.std(ddof=1) / np.sqrt(5))


def test_one_draw_has_no_standard_error(record):
    found = of(mean_errors([record(error=0.25)]))
    assert found.mean == 25.0
    assert np.isnan(found.standard_error)


def test_failures_are_counted_and_left_out(record):
    records = [
        record(error=0.2),
        record(pair="B-C", error=None),
        record(draw=1, error=0.4),
        record(pair="B-C", draw=1, error=0.6),
        record(draw=2, error=None),
        record(pair="B-C", draw=2, error=None),
    ]
    found = of(mean_errors(records))
    assert found.mean == pytest.approx(35.0)  # of 20 and 50
    assert (found.n_draws, found.n_failed) == (3, 3)
    found = of(mean_errors(records[-2:]))
    assert np.isnan(found.mean)
    assert (found.n_draws, found.n_failed) == (1, 2)


def test_rules_have_errors_of_their_own(record):
    one = record(**{rule: i / 10 for i, rule in enumerate(RULES)})
    for i, rule in enumerate(RULES):
        assert of(mean_errors([one], rule)).mean == pytest.approx(10 * i)
    assert of(mean_errors([one])).mean == pytest.approx(30.0)  # expected


def test_settings_and_methods_are_kept_apart(record):
    records = [
        record(error=0.1),
        record(error=0.2, percent=2),
        record(error=0.3, kernel="rbf"),
        record(error=0.4, method="GC"),
        record("digits", "0-1", error=0.5),
    ]
    means = mean_errors(records)
    assert [found.mean for found in means.values()] == pytest.approx([10, 20, 30, 40, 50])


def test_image_is_there_with_and_without_a_class(record):
    records = [
        record("image", "grass-sky", error=0.1),
        record("image", "grass-window", error=0.5),
        record("image", "path-sky", error=0.3),
    ]
    means = mean_errors(records)
    assert of(means, ("image", 1, "linear")).mean == pytest.approx(20.0)
    assert of(means, (ALL_CLASSES, 1, "linear")).mean == pytest.approx(30.0)
    without_sky = mean_errors(records, left_out="sky")
    assert of(without_sky, ("image", 1, "linear")).mean == pytest.approx(50.0)
    assert of(without_sky, (ALL_CLASSES, 1, "linear")).mean == pytest.approx(30.0)


def test_a_class_is_left_out_by_its_whole_name():
    assert list(table_names("image", "grass-sky", left_out="gras")) == ["image", ALL_CLASSES]
    assert list(table_names("letter", "A-B", left_out="A")) == ["letter"]


def test_seven_classes_are_compared_with_what_is_published_of_six():
    assert published((ALL_CLASSES, 1, "rbf"), "GC") == PUBLISHED["image", 1, "rbf"]["GC"]
    assert published(("image", 3, "rbf"), "GC") is None
    assert published(("letter", 1, "none"), "harmonic") is None


def test_settings_are_in_the_order_of_the_paper(record):
    records = [
        record("image", "grass-sky"),
        record(percent=10, kernel="rbf"),
        record(percent=10, kernel="cubic", method="GC"),
        record(percent=2),
        record(method="harmonic", kernel="none"),
    ]
    means = mean_errors(records)
    assert settings_of(means) == [
        ("letter", 2, "linear"),
        ("letter", 10, "cubic"),
        ("letter", 10, "rbf"),
        ("image", 1, "linear"),
        (ALL_CLASSES, 1, "linear"),
    ]
    assert settings_of(means, ["image"]) == [("image", 1, "linear")]
    assert ROWS[:3] == ("letter", "digits", "image")


def test_a_harmonic_solution_serves_every_kernel(record):
    means = mean_errors([record(method="harmonic", kernel="none", error=0.25)])
    for kernel in ("linear", "rbf"):
        assert error_of(means, ("letter", 1, kernel), "harmonic").mean == 25.0
    assert error_of(means, ("letter", 2, "rbf"), "harmonic") is None
    assert error_of(means, SETTING, "SVM") is None


def test_wins_are_strict():
    errors = {"linear": (1.0, 2.0), "cubic": (2.0, 2.0), "rbf": (3.0, 2.0)}
    means = {
        (("letter", 1, kernel), method): MeanError(error, 0.1, 2, 0)
        for kernel, both in errors.items()
        for method, error in zip(("GC", "SVM"), both, strict=True)
    }
    assert wins(means, settings_of(means), "GC", "SVM") == 1
    assert wins(means, settings_of(means), "SVM", "GC") == 1


def test_deviation_by_hand():
    ours = {"linear": 18.90 + 1.0, "cubic": 20.54 - 3.0, "rbf": 20.06 + 0.5}
    means = {
        (("letter", 1, kernel), "SVM"): MeanError(error, 0.1, 2, 0)
        for kernel, error in ours.items()
    }
    found = deviation(means, "letter", "SVM")
    assert found.signed == pytest.approx(-0.5)
    assert found.absolute == pytest.approx(1.5)
    assert found.n == 3
    one = deviation(means, "letter", "SVM", kernel="cubic")
    assert (one.signed, one.absolute, one.n) == (pytest.approx(-3.0), pytest.approx(3.0), 1)
    other = deviation(means, "letter", "SVM", column="GC", kernel="linear")
    assert other.signed == pytest.approx(18.90 + 1.0 - 15.79)


def test_deviation_of_nothing_is_of_no_settings():
    found = deviation({}, "letter", "SVM")
    assert found.n == 0
    assert np.isnan(found.signed)
