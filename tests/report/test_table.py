from dataclasses import replace

import pytest

from graphmargin.experiments.paper import cells
from graphmargin.experiments.paper.cells import PairRecord
from graphmargin.experiments.paper.published import GC, MR, PUBLISHED, SVM
from graphmargin.experiments.paper.settings import Settings
from graphmargin.experiments.paper.speed import SpeedRecord
from graphmargin.experiments.paper.splits import FEATURES
from graphmargin.experiments.paper.table import COLUMNS, table
from graphmargin.report.table import table_section

REPEATED = {"SVM": SVM, "MR": MR, "MR fair": MR, "S3VM": SVM, "GC": GC, "GC auto": GC}
PAIRS = {"letter": ["A-B"], "digits": ["0-1"], "image": ["grass-sky", "grass-window"]}


def record(table, pair, percent, draw, kernel, method, error):
    return PairRecord(
        *(table, pair, percent, draw, "random", FEATURES[table], "scaled", kernel, method),
        *[error] * 6,
        *(0.0, 3, 14, 1.0, 0.1, 0.004),
        failure="" if error is not None else "Error: x",
    )


def published_records(draws=1):
    """Return the published errors, one point more in every draw after the first."""
    found = [
        record(table, pair, percent, draw, kernel, method, (errors[column] + draw) / 100)
        for (table, percent, kernel), errors in PUBLISHED.items()
        for method, column in REPEATED.items()
        for pair in PAIRS[table]
        for draw in range(draws)
    ]
    harmonic = [
        record(table, pair, percent, draw, "none", "harmonic", 0.01)
        for table, pairs in PAIRS.items()
        for pair in pairs
        for percent in (1, 2, 5, 10)
        for draw in range(draws)
    ]
    return found + harmonic


def row(text, start, after=""):
    """Return the cells of the first row that starts so, after some text."""
    lines = text[text.index(after) :].splitlines()
    line = next(line for line in lines if line.startswith(f"| {start} |"))
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.fixture(scope="module")
def section():
    return table_section(published_records(draws=2))


def test_rows_have_published_errors_in_italics_beside_ours(section):
    head = row(section.markdown, "letter")
    assert head[1:5] == ["*SVM*", "SVM", "*MR*", "MR"]
    cells = dict(zip(head, row(section.markdown, "1 %, linear", "| letter"), strict=True))
    assert cells["*SVM*"] == "*18.90*"
    assert cells["SVM"] == "19.4 ± 0.5"
    assert cells["*GC*"] == "*15.79*"
    assert cells["harmonic"] == "1.0 ± 0.0"


def test_the_lowest_error_with_a_kernel_is_bold(section):
    cells = row(section.markdown, "1 %, linear", "| letter")
    assert [cell for cell in cells if "**" in cell] == ["**16.3 ± 0.5**"] * 2  # GC and GC auto
    cells = row(section.markdown, "1 %, cubic", "| digits")
    assert [cell for cell in cells if "**" in cell] == ["**5.8 ± 0.5**"] * 2  # MR, twice


def test_seven_classes_have_rows_without_published_errors(section):
    cells = row(section.markdown, "1 %, linear", "| image, 7 classes")
    assert cells[1] == ""
    assert "*11.81*" not in cells
    assert section.markdown.count("| 10 %, rbf |") == 4


def test_deviations_are_half_a_point(section):
    cells = row(section.markdown, "SVM", "**How far apart.**")
    assert cells == ["SVM", *["+0.50 (0.50)"] * 4]
    cells = row(section.markdown, "GC auto minus GC", "**How far apart.**")
    assert cells[1:] == ["+0.50 (0.50)"] * 4


def test_a_section_has_a_picture_and_claims(section):
    assert list(section.figures) == ["table"]
    assert "(images/table.png)" in section.markdown
    assert len(section.figures["table"].axes) == 9
    assert len(section.claims) == 12
    assert "2 draws" in section.markdown
    assert "nan" not in section.markdown
    assert "GC 4" in section.markdown  # milliseconds
    assert "### Failures" not in section.markdown


def test_one_draw_has_no_standard_errors():
    text = table_section(published_records()).markdown
    assert "1 draw of" in text
    assert " ± " not in text
    assert "nan" not in text


@pytest.mark.parametrize("method", ["SVM", "S3VM", "GC"])
def test_a_method_that_fails_in_a_setting_hides_nothing_else(method):
    where = ("letter", "A-B", 1)
    records = [
        record(*where, one.draw, "linear", method, None)
        if (one.table, one.pair, one.percent, *one.part) == (*where, "linear", method)
        else one
        for one in published_records(draws=2)
    ]
    section = table_section(records)
    cells = row(section.markdown, "1 %, linear", "| letter")
    assert "failed" in cells
    assert "**16.3 ± 0.5**" in cells
    assert "nan" not in section.markdown
    assert not any("nan" in claim.ours for claim in section.claims)
    assert f"- linear, {method}, 2 x: Error: x" in section.markdown


def test_a_failure_of_one_draw_is_counted():
    records = published_records(draws=2)
    at = next(i for i, one in enumerate(records) if one.method == "GC")
    records[at] = replace(records[at], expected=None, failure="Error: y")
    text = table_section(records).markdown
    cells = row(text, "1 %, linear", "| letter")
    assert [cell for cell in cells if "failed" in cell] == ["16.8 (1 failed)"]
    assert "### Failures" in text
    assert "1 x: Error: y" in text


def test_speed_is_a_table_of_kernels():
    times = [
        SpeedRecord("image", pair, kernel, 220, 14, 0.014, naive, 0.999)
        for pair, naive in (("grass-sky", 0.028), ("path-sky", 0.056))
        for kernel in ("linear", "rbf")
    ]
    text = table_section(published_records(), times).markdown
    cells = row(text, "rbf", "**Speed.**")
    assert cells == ["rbf", "1.00", "3.00", "3.0", "2.0 to 4.0", "99.90 %"]
    assert "| cubic |" not in text[text.index("**Speed.**") :]
    assert "2 pairs, 5 % of labels" in text
    assert "**Speed.**" not in table_section(published_records()).markdown


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """Return settings of a run that has one pair of one table."""
    monkeypatch.setattr(cells, "TABLES", ("image",))
    monkeypatch.setattr(cells, "PERCENT", (5, 10))
    monkeypatch.setattr(cells, "class_pairs", lambda _: ("grass-sky",))
    return Settings(tmp_path, draws=1, n_jobs=1)


def test_a_tiny_run_has_every_column(tiny):
    records = table(tiny)
    assert len(records) == 2 * (3 * (len(COLUMNS) - 1) + 1)
    assert {one.failure for one in records} == {""}
    assert max(one.expected for one in records) < 0.1
    assert table(tiny) == records  # from the file
    section = table_section(records)
    assert "nan" not in section.markdown
    assert "| letter |" not in section.markdown
    cells = row(section.markdown, "10 %, rbf", "| image")
    assert all(cells)
    assert {claim.holds for claim in section.claims} == {None}
    assert [ax.get_title() for ax in section.figures["table"].axes] == [
        "image, linear",
        "image, cubic",
        "image, rbf",
    ]
