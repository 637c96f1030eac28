import importlib
import importlib.metadata
import re
from pathlib import Path

import pytest

import graphmargin
from check_site import public_packages

ROOT = Path(__file__).parents[1]


def test_version_is_that_of_the_distribution():
    assert graphmargin.__version__ == importlib.metadata.version("graphmargin")


def test_version_is_that_of_the_citation():
    citation = (ROOT / "CITATION.cff").read_text()
    assert re.findall(r"^version: (.+)$", citation, flags=re.MULTILINE) == [graphmargin.__version__]


@pytest.mark.parametrize("package", public_packages())
def test_public_names_are_sorted_and_exist(package):
    module = importlib.import_module(package)
    assert module.__all__ == sorted(set(module.__all__))
    for name in module.__all__:
        assert hasattr(module, name)


def test_data_files_are_small():
    files = list((ROOT / "src/graphmargin/datasets/data").glob("*.npz"))
    assert len(files) == 3
    assert sum(file.stat().st_size for file in files) < 1_500_000
