"""Targets of the README's links; tests/docs/test_pages.py runs its examples."""

import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_pictures_and_pages_exist():
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", README.read_text())
    assert targets
    for target in targets:
        assert (README.parent / target).exists(), target


def test_the_commands_exist():
    makefile = (README.parent / "Makefile").read_text()
    names = re.findall(r"(?:^|`)make (\w+)", README.read_text(), re.MULTILINE)
    assert {"demo", "test", "docs"} == set(names)
    for name in names:
        assert f"\n{name}:" in makefile
