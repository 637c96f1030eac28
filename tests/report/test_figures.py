import re
from pathlib import Path

import pytest

from graphmargin.experiments.paper.bounds import BoundRecord
from graphmargin.experiments.paper.lattice_claims import lattice_claims
from graphmargin.experiments.paper.lattices import figure1, figure2, separations, sweep
from graphmargin.experiments.paper.settings import Settings
from graphmargin.experiments.paper.thresholds import (
    GAMMA_G,
    PAIRS,
    THRESHOLDS,
    ThresholdRecord,
)
from graphmargin.report.figures import figure1_section, figure2_section, figure3_section

SETTINGS = Settings(Path("unused"), quick=True)


@pytest.fixture(scope="module")
def sections():
    thresholds = [
        ThresholdRecord(pair, draw, gamma_g, eps, 0.1, 0.2, 0.25 + 0.01 * draw, 0.9)
        for pair in (*PAIRS, "B-C")
        for draw in range(2)
        for gamma_g in GAMMA_G
        for eps in THRESHOLDS
    ]
    bound = BoundRecord("A-B", 0, 1.0, 0.5, 500, 5, 0.1, 9.0, 9.0, 40, 0, 1.0, 6, 0.5, 0.9)
    return [
        figure1_section(figure1(SETTINGS)),
        figure2_section(figure2(SETTINGS), sweep(SETTINGS), separations(SETTINGS)),
        figure3_section(thresholds, [bound]),
    ]


def test_every_picture_is_shown_and_made(sections):
    for number, section in enumerate(sections, start=1):
        assert section.title.startswith(f"Figure {number}")
        shown = re.findall(r"!\[[^\]]{20,}\]\(images/(\w+)\.png\)", section.markdown)
        assert shown == list(section.figures) == [f"figure{number}"]


def test_sections_tell_the_paper_from_ours(sections):
    for section in sections:
        for heading in ("What the paper shows", "What we see", "What the paper leaves open"):
            assert f"**{heading}.**" in section.markdown


def test_tables_are_rectangular(sections):
    for section in sections:
        for block in section.markdown.split("\n\n"):
            if block.startswith("|"):
                assert len({line.count("|") for line in block.splitlines()}) == 1


def test_claims_are_in_the_section_and_not_in_its_text(sections):
    claims = lattice_claims(figure1(SETTINGS), figure2(SETTINGS), sweep(SETTINGS))
    assert [*sections[0].claims, *sections[1].claims] == claims
    assert len(sections[2].claims) == 13
    for section in sections:
        assert not any(claim.claim in section.markdown for claim in section.claims)


def test_numbers_are_those_of_the_records(sections):
    assert "| A-B | 25.5 ± 0.5 at 0.001 |" in sections[2].markdown
    assert "1 other pairs with 2 draws" in sections[2].markdown
    assert "| 1 | linear | GC | 20 | 20 | 20 | 8 | 0 | 0 |" in sections[1].markdown
