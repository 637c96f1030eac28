import shutil
import subprocess

import numpy as np
import pytest

import graphmargin
from graphmargin.experiments import provenance as module
from graphmargin.experiments.provenance import provenance

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def checkout(tmp_path):
    """Return a checkout with a committed package, and a function that calls git there."""

    def git(*arguments):
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", "-C", tmp_path, *who, *arguments], check=True, capture_output=True)

    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").touch()
    git("init")
    git("add", ".")
    git("commit", "-m", "first")
    return tmp_path


def test_versions():
    found = provenance()
    assert found["versions"]["graphmargin"] == graphmargin.__version__
    assert found["versions"]["numpy"] == np.__version__
    assert set(found["versions"]) == {"graphmargin", "numpy", "scipy", "scikit-learn", "numba"}
    assert found["cpus"] >= 1


def test_a_package_that_is_missing():
    assert provenance(["no-such-package"])["versions"] == {"no-such-package": "not installed"}


@needs_git
def test_commit_of_a_checkout_and_whether_it_is_modified(checkout):
    package = checkout / "package"
    commit = module._commit(package)
    assert len(commit) == 12
    (package / "__init__.py").write_text("x = 1\n")
    assert module._commit(package) == f"{commit} (modified)"


@needs_git
def test_an_environment_inside_of_a_foreign_checkout_has_no_commit(checkout):
    installed = checkout / ".venv" / "package"
    installed.mkdir(parents=True)
    (installed / "__init__.py").touch()
    assert module._commit(installed) is None


def test_without_a_checkout_or_git(tmp_path, monkeypatch):
    assert module._commit(tmp_path) is None
    monkeypatch.setenv("PATH", "")
    assert module._commit(tmp_path) is None
