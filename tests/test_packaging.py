import importlib
import importlib.metadata
import inspect
import re
import subprocess
import sys
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


WITHOUT_FRAMES = """
import sys
sys.modules["pandas"] = sys.modules["pyarrow"] = None
import numpy as np
import graphmargin as gm
X = np.random.default_rng(0).normal(size=(20, 3))
model = gm.SemiSupervisedEnsemble().fit(X, [0] * 3 + [1] * 3 + [-1] * 14)
gm.save_model(model, sys.argv[1])
assert (gm.load_model(sys.argv[1]).predict(X) == model.predict(X)).all()
gm.knn_graph(X, 2)
try:
    gm.label_table
except ImportError as error:
    print(error)
"""


def test_classifiers_of_arrays_need_no_package_of_frames(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_FRAMES, tmp_path / "a.graphmargin"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout == 'tables need the package pandas; pip install "graphmargin[cli]"\n'


@pytest.mark.parametrize("package", public_packages())
def test_public_names_are_sorted_and_exist(package):
    module = importlib.import_module(package)
    assert module.__all__ == sorted(set(module.__all__))
    for name in module.__all__:
        assert hasattr(module, name)


def test_public_names_are_few_and_have_an_example():
    objects = {
        name: getattr(importlib.import_module(package), name)
        for package in public_packages()
        for name in importlib.import_module(package).__all__
    }
    assert len(objects) <= 63
    without = [
        name
        for name, public in objects.items()
        if not inspect.ismodule(public) and ">>> " not in (public.__doc__ or "")
    ]
    assert without == []


def test_a_public_name_is_the_same_in_all_packages():
    found = {}
    for package in public_packages():
        module = importlib.import_module(package)
        for name in module.__all__:
            assert found.setdefault(name, getattr(module, name)) is getattr(module, name)


def test_data_files_are_small():
    files = list((ROOT / "src/graphmargin/datasets/data").iterdir())
    names = {"README.md", "digits.npz", "letter.npz", "penguins.csv", "segmentation.npz"}
    assert {file.name for file in files} == names
    assert sum(file.stat().st_size for file in files) < 1_500_000
