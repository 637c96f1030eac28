import numpy as np
import pytest
from scipy.stats import wilcoxon

from graphmargin.experiments.paper import soft_labels as module
from graphmargin.experiments.paper.methods import GC_FIRM, GC_PURE, GC_SOFT, GC_SOUND
from graphmargin.experiments.paper.published import GC
from graphmargin.experiments.paper.settings import Settings
from graphmargin.experiments.paper.soft_labels import (
    SOFT,
    PairedTest,
    paired_tests,
    soft_claims,
    soft_labels,
)
from graphmargin.experiments.paper.splits import class_pairs

N = 12


@pytest.fixture
def pairs_of(record):
    """Return hard and soft records of pairs of digits, given their differences in points."""

    def build(differences, method=GC_SOFT, hard=0.2, **changes):
        named = zip(class_pairs("digits"), differences, strict=False)
        return [
            one
            for pair, points in named
            for one in (
                record("digits", pair, error=hard, method=GC, **changes),
                record("digits", pair, error=hard + points / 100, method=method, **changes),
            )
        ]

    return build


def overall(records):
    return {test.method: test for test in paired_tests(records) if test.group == "all"}


def test_p_values_are_those_of_wilcoxon(pairs_of):
    differences = np.random.default_rng(0).normal(-0.5, 1.0, N).round(6)
    found = overall(pairs_of(differences))[GC_SOFT]
    assert found.n_pairs == N
    assert found.difference == pytest.approx(differences.mean())
    assert found.standard_error == pytest.approx(differences.std(ddof=1) / np.sqrt(N))
    assert found.p_value == pytest.approx(wilcoxon(differences).pvalue)
    assert (found.lower, found.higher) == ((differences < 0).sum(), (differences > 0).sum())


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [
        (-np.arange(1.0, N + 1), "better"),
        (np.arange(1.0, N + 1), "worse"),
        ((-1.0) ** np.arange(N) * np.arange(1.0, N + 1), "no clear difference"),
        (np.zeros(N), "no clear difference"),
        (np.array([-5.0]), "no clear difference"),
    ],
    ids=["lower", "higher", "both", "zero", "one"],
)
def test_verdicts(pairs_of, differences, verdict):
    records = pairs_of(differences)
    found = overall(records)[GC_SOFT]
    assert found.verdict == verdict
    assert (found.p_value < 0.05) == (verdict != "no clear difference")
    (claim,) = soft_claims(records)
    assert claim.holds is (verdict == "better")
    assert f"over {len(differences)} pair" in claim.ours


def test_a_pair_counts_once(record):
    # The differences of A-B are -1, -3 and -5 points, in a draw, a kernel and a share of labels.
    where = [{"draw": 1}, {"kernel": "rbf"}, {"percent": 5}]
    records = [
        one
        for points, changes in zip((1, 3, 5), where, strict=True)
        for one in (
            record(error=0.2, method=GC, **changes),
            record(error=0.2 - points / 100, method=GC_SOUND, **changes),
        )
    ]
    tests = {test.group: test for test in paired_tests(records)}
    assert list(tests) == ["all", "letter", "1 %", "5 %"]
    assert {test.n_pairs for test in tests.values()} == {1}
    assert tests["all"].difference == tests["letter"].difference == pytest.approx(-3.0)
    assert tests["1 %"].difference == pytest.approx(-2.0)
    assert tests["5 %"].difference == pytest.approx(-5.0)
    assert (tests["all"].lower, tests["all"].higher, tests["all"].p_value) == (1, 0, 1.0)


def test_differences_that_cancel_are_zero(record):
    # As floats, 0.8 - 0.7 and 0.3 - 0.2 are not the same.
    errors = {"linear": (0.7, 0.8), "rbf": (0.3, 0.2)}
    records = [
        record(error=error, kernel=kernel, method=method)
        for kernel, both in errors.items()
        for method, error in zip((GC, GC_SOFT), both, strict=True)
    ]
    found = overall(records)[GC_SOFT]
    assert (found.difference, found.lower, found.higher) == (0.0, 0, 0)


def test_tests_come_in_the_order_of_methods_and_groups(record):
    records = [
        record(table, pair, percent, method=method)
        for method in (GC_SOUND, GC_FIRM, GC, GC_PURE, GC_SOFT)
        for percent in (10, 1)
        for table, pair in (("image", "grass-sky"), ("letter", "A-B"))
    ]
    found = [(test.method, test.group) for test in paired_tests(records)]
    assert found == [
        (method, group) for method in SOFT for group in ("all", "letter", "image", "1 %", "10 %")
    ]


def test_failures_and_what_has_no_partner_are_left_out(pairs_of, record):
    records = [
        *pairs_of(-np.arange(1.0, N + 1)),
        record(error=None, method=GC),
        record(error=0.1, method=GC_SOFT),
        record(pair="B-C", error=0.1, method=GC),
        record(pair="B-C", error=None, method=GC_SOFT),
        record(pair="C-D", error=0.1, method=GC_SOFT),
        record(pair="D-E", error=0.1, method="SVM"),
    ]
    assert paired_tests(records) == paired_tests(pairs_of(-np.arange(1.0, N + 1)))


def test_rules_have_tests_of_their_own(record):
    records = [
        record(method=method, first=first, expected=0.3)
        for method, first in ((GC, 0.4), (GC_FIRM, 0.1))
    ]
    assert paired_tests(records)[0].difference == 0.0
    assert paired_tests(records, "first")[0].difference == pytest.approx(-30.0)


def test_claims_are_one_for_each_method_and_count_settings(pairs_of):
    better, worse = -np.arange(1.0, N + 1), np.arange(1.0, N + 1)
    records = [
        *pairs_of(better),
        *pairs_of(worse, GC_FIRM),
        *pairs_of(worse, GC_PURE),
        *pairs_of(better, GC_SOUND),
        *pairs_of(better, kernel="rbf"),
        *pairs_of(worse, GC_FIRM, kernel="rbf"),
        *pairs_of(worse, GC_PURE, kernel="rbf"),
        *pairs_of(worse / 2, GC_SOUND, kernel="rbf"),
    ]
    claims = soft_claims(records)
    assert [claim.claim.split(" has")[0] for claim in claims] == list(SOFT)
    assert [claim.holds for claim in claims] == [True, False, False, True]
    counts = [claim.ours.split("; ")[1] for claim in claims]
    assert counts == ["2 of 2 settings", *["0 of 2 settings"] * 2, "1 of 2 settings"]


@pytest.mark.parametrize("p_value", [0.05, np.nan])
def test_what_is_not_below_the_level_is_no_difference(p_value):
    assert (
        PairedTest(GC_SOFT, "all", 9, -1.0, 0.1, p_value, 9, 0, -45.0).verdict
        == "no clear difference"
    )


def test_hard_and_soft_cuts_are_run_on_the_cells_of_the_table(monkeypatch, tmp_path):
    seen = {}
    monkeypatch.setattr(
        module,
        "run_pairs",
        lambda _, methods, cells: seen.update(methods=methods, cells=list(cells)),
    )
    soft_labels(Settings(tmp_path, quick=True))
    assert list(dict.fromkeys(name for _, name in seen["methods"])) == [GC, *SOFT]
    assert len(seen["methods"]) == 3 * (1 + len(SOFT))
    assert len(seen["cells"]) == 31 * 4


def test_where_mean_and_ranks_disagree_nothing_is_clear(pairs_of):
    differences = np.r_[np.linspace(0.1, 0.2, 30), -15.0]
    found = overall(pairs_of(differences))[GC_SOFT]
    assert found.difference < 0 < found.signed_ranks
    assert found.p_value < 0.05
    assert found.verdict == "no clear difference"
