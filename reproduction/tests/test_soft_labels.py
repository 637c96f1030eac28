"""The open question: soft labels."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import wilcoxon

from reproduction.pairs.methods import GC_C10, GC_OF_THEORY, GC_SOFT, GC_WITHOUT_C_U
from reproduction.pairs.splits import class_pairs
from reproduction.published import GC
from reproduction.soft_labels.claims import PairedTest, paired_tests, soft_claims
from reproduction.soft_labels.draw import draw_soft_labels
from reproduction.soft_labels.run import SOFT, run_soft_labels
from reproduction.soft_labels.section import soft_labels_section

N = 12
RISING = np.arange(1.0, N + 1)


@pytest.fixture
def pairs_of(record):
    """Return hard and soft records of pairs of digits, given their differences in points."""

    def build(differences, method=GC_SOFT, **changes):
        named = zip(class_pairs("digits"), differences, strict=False)
        return [
            row
            for pair, points in named
            for row in (
                record("digits", pair, error=0.2, method=GC, **changes),
                record("digits", pair, error=0.2 + points / 100, method=method, **changes),
            )
        ]

    return build


def overall(records):
    return {test.method: test for test in paired_tests(records) if test.group == "all"}


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [
        (-RISING, "better"),
        (RISING, "worse"),
        ((-1.0) ** np.arange(N) * RISING, "no clear difference"),
        (np.zeros(N), "no clear difference"),
        (np.array([-5.0]), "no clear difference"),
    ],
    ids=["lower", "higher", "both", "zero", "one"],
)
def test_the_verdict_and_its_test_are_those_by_hand(pairs_of, differences, verdict):
    records = pairs_of(differences)
    test = overall(records)[GC_SOFT]
    assert test.verdict == verdict
    assert test.difference == pytest.approx(differences.mean())
    if len(differences) > 1 and differences.any():
        assert test.p_value == pytest.approx(wilcoxon(differences).pvalue)
        error = differences.std(ddof=1) / np.sqrt(N)
        assert test.standard_error == pytest.approx(error)
    assert (test.lower, test.higher) == ((differences < 0).sum(), (differences > 0).sum())
    (claim,) = soft_claims(records)
    assert claim.holds is (verdict == "better")
    assert f"over {len(differences)} pair" in claim.ours


def test_where_mean_and_ranks_disagree_nothing_is_clear(pairs_of):
    test = overall(pairs_of(np.r_[np.linspace(0.1, 0.2, 30), -15.0]))[GC_SOFT]
    assert test.difference < 0 < test.signed_ranks
    assert test.p_value < 0.05
    assert test.verdict == "no clear difference"
    assert replace(test, signed_ranks=-1.0, p_value=0.05).verdict == "no clear difference"


def test_a_pair_counts_once(record):
    # The differences of A-B are -1, -3 and -5 points, in a draw, a kernel and a share of labels.
    where = [{"draw": 1}, {"kernel": "rbf"}, {"percent": 5}]
    records = [
        row
        for points, changes in zip((1, 3, 5), where, strict=True)
        for row in (
            record(error=0.2, method=GC, **changes),
            record(error=0.2 - points / 100, method=GC_OF_THEORY, **changes),
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
    test = overall(records)[GC_SOFT]
    assert (test.difference, test.lower, test.higher) == (0.0, 0, 0)


def test_failures_and_unpaired_records_are_left_out(pairs_of, record):
    records = [
        *pairs_of(-RISING),
        record(error=None, method=GC),
        record(error=0.1, method=GC_SOFT),
        record(pair="B-C", error=0.1, method=GC),
        record(pair="B-C", error=None, method=GC_SOFT),
        record(pair="C-D", error=0.1, method=GC_SOFT),
        record(pair="D-E", error=0.1, method="SVM"),
    ]
    assert paired_tests(records) == paired_tests(pairs_of(-RISING))


def test_the_section_answers_the_question(record, table_rows):
    errors = {GC: 20.0, GC_SOFT: 18.0, GC_WITHOUT_C_U: 19.0, GC_C10: 20.0, GC_OF_THEORY: 23.0}
    records = [
        record(
            *("letter", pair, percent),
            error=(error + (error != 20.0) * i / 100) / 100,
            kernel=kernel,
            method=method,
        )
        for i, pair in enumerate(class_pairs("letter"))
        for percent in (1, 5)
        for kernel in ("linear", "rbf")
        for method, error in errors.items()
    ]
    section = soft_labels_section(records)
    text = section.markdown
    assert "Do soft labels lower the error? Yes: GC soft, GC pure." in text
    assert "GC soft: soft labels lower the error (-1.88 ± 0.01 points over 25 pairs" in text
    assert "GC firm: soft labels make no clear difference" in text
    assert "GC sound: soft labels raise the error (+3.12 ± 0.01 points" in text
    rows = table_rows(text, "| method")[1:]
    assert [row[:2] for row in rows] == [
        [method, group] for method in SOFT for group in ("all", "letter", "1 %", "5 %")
    ]
    assert rows[0][2:4] == ["-1.88 ± 0.01", "25 : 0"]
    assert [row[-1] for row in rows[::4]] == ["better", "better", "no clear difference", "worse"]
    assert list(section.figures) == ["soft-labels"]
    assert [claim.claim.split(" has")[0] for claim in section.claims] == list(SOFT)
    assert [claim.holds for claim in section.claims] == [True, True, False, False]
    assert section.claims[0].ours.endswith("; 4 of 4 settings")


@pytest.mark.slow_reproduction
@pytest.mark.usefixtures("one_pair")
def test_a_run_on_one_pair_has_hard_and_soft_cuts(options):
    records = run_soft_labels(replace(options, draws=1))["soft-labels"]
    assert len(records) == 3 * (1 + len(SOFT))
    assert {row.failure for row in records} == {""}
    assert {row.strength for row in records if row.method == GC_OF_THEORY} == {11**1.5}
    section = soft_labels_section(records)
    assert "over 1 pairs" in section.markdown
    assert len(section.claims) == len(SOFT)


def test_the_picture_has_bars_of_two_standard_errors():
    tests = [
        PairedTest(GC_SOFT, group, 20, -0.5, 0.1, 0.5, 10, 10, -0.5)
        for group in ("all", "letter", "5 %")
    ]
    (ax,) = draw_soft_labels(tests).axes
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert names == ["all pairs", "letter pairs", "5 % of labels"]
    (segments,) = ax.containers[0].lines[2]
    ends = np.array(segments.get_segments())[:, :, 0]
    np.testing.assert_allclose(ends, [[-0.7, -0.3]] * 3)
