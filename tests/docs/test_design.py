"""Tables and paths of docs/design.md agree with the code."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/design.md").read_text()
PACKAGE = ROOT / "src/graphmargin"
SIZE = re.compile(r"^\| [\w ,-]+ \| ([\d,]+|\de\d) \| `(\w+)` \| `([\w.]+)` \| \S", re.MULTILINE)
NOUN = re.compile(r"^\| `([A-Z]\w+)` \| `([\w.]+)` \| \S", re.MULTILINE)


def section(title):
    """Return the text below a heading, up to the next one of its level."""
    return re.split(r"^## ", TEXT.split(f"\n## {title}\n")[1], flags=re.MULTILINE)[0]


@pytest.mark.parametrize(
    ("size", "name", "module"), SIZE.findall(section("Sizes at which algorithms change"))
)
def test_sizes_are_those_of_the_code(size, name, module):
    constant = getattr(importlib.import_module(f"graphmargin.{module}"), name)
    assert float(size.replace(",", "")) == constant


def test_every_line_of_the_sizes_is_compared():
    lines = section("Sizes at which algorithms change").splitlines()
    rows = [line for line in lines if line.startswith("|")][2:]
    assert len(rows) == len(SIZE.findall("\n".join(rows))) >= 40
    named = {(name, module) for _, name, module in SIZE.findall("\n".join(rows))}
    assert len(named) == len(rows)


@pytest.mark.parametrize(("name", "module"), NOUN.findall(section("How `fit` proceeds")))
def test_nouns_are_types(name, module):
    assert hasattr(importlib.import_module(f"graphmargin.{module}"), name)


def test_nouns_are_few():
    assert 25 <= len(NOUN.findall(section("How `fit` proceeds"))) <= 35


def test_files_exist():
    named = set(re.findall(r"`([a-z_]+(?:/[a-z_]+)*\.py)`", TEXT))
    assert len(named) > 25
    assert {path for path in named if not (PACKAGE / path).exists()} == set()


def test_packages_and_their_modules_exist():
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]*) \|", section("Packages"), re.MULTILINE)
    assert {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()} <= {
        name for name, _ in rows
    }
    for package, modules in rows:
        for module in re.findall(r"`(\w+)`", modules):
            places = PACKAGE / package / module, PACKAGE / package / f"{module}.py"
            assert any(place.exists() for place in places), f"{package}/{module}"
