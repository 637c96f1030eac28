import pytest

from graphmargin.experiments.paper import cells
from graphmargin.experiments.paper.cells import PairRecord
from graphmargin.experiments.paper.methods import GC_FIRM, GC_PURE, GC_SOFT, GC_SOUND
from graphmargin.experiments.paper.published import GC
from graphmargin.experiments.paper.settings import Settings
from graphmargin.experiments.paper.soft_labels import SOFT, soft_labels
from graphmargin.experiments.paper.splits import class_pairs
from graphmargin.report.soft_labels import soft_labels_section

ERRORS = {GC: 20.0, GC_SOFT: 18.0, GC_PURE: 19.0, GC_FIRM: 20.0, GC_SOUND: 23.0}


@pytest.fixture(scope="module")
def records():
    """Return errors of letters that differ by about the same number of points everywhere."""
    return [
        PairRecord(
            *("letter", pair, percent, 0, "random", "raw", "scaled", kernel, method),
            *[(error + (error != 20.0) * i / 100) / 100] * 6,
            *(0.0, 3, 14, 1.0, 0.1, 0.004),
        )
        for i, pair in enumerate(class_pairs("letter"))
        for percent in (1, 5)
        for kernel in ("linear", "rbf")
        for method, error in ERRORS.items()
    ]


def test_the_question_is_answered(records):
    text = soft_labels_section(records).markdown
    assert "Do soft labels lower the error? Yes: GC soft, GC pure." in text
    assert "GC soft: soft labels lower the error (-1.88 ± 0.01 points over 25 pairs" in text
    assert "GC firm: soft labels make no clear difference" in text
    assert "GC sound: soft labels raise the error (+3.12 ± 0.01 points" in text
    assert "nan" not in text


def test_every_group_has_a_row(records):
    lines = soft_labels_section(records).markdown.splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| GC")]
    assert [row[:2] for row in rows] == [
        [method, group] for method in SOFT for group in ("all", "letter", "1 %", "5 %")
    ]
    assert rows[0][2:4] == ["-1.88 ± 0.01", "25 : 0"]
    assert [row[-1] for row in rows[::4]] == ["better", "better", "no clear difference", "worse"]
    assert float(rows[0][4]) < 1e-4
    assert float(rows[8][4]) == 1.0


def test_a_section_has_a_picture_and_claims(records):
    section = soft_labels_section(records)
    assert list(section.figures) == ["soft-labels"]
    assert "(images/soft-labels.png)" in section.markdown
    assert len(section.figures["soft-labels"].axes) == 1
    assert [claim.holds for claim in section.claims] == [True, True, False, False]


def test_a_tiny_run_has_hard_and_soft_cuts(monkeypatch, tmp_path):
    monkeypatch.setattr(cells, "TABLES", ("image",))
    monkeypatch.setattr(cells, "PERCENT", (5,))
    monkeypatch.setattr(cells, "class_pairs", lambda _: ("brickface-cement", "grass-path"))
    found = soft_labels(Settings(tmp_path, draws=1, n_jobs=1))
    assert len(found) == 2 * 3 * (1 + len(SOFT))
    assert {one.failure for one in found} == {""}
    sound = [one for one in found if one.method == GC_SOUND]
    assert {one.strength for one in sound} == {11**1.5}
    section = soft_labels_section(found)
    assert "over 2 pairs" in section.markdown
    assert "nan" not in section.markdown
    assert len(section.claims) == len(SOFT)
