import shutil
import subprocess

import numpy as np
import pytest

import graphmargin
from reproduction.provenance import commit_of, provenance

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def checkout(tmp_path):
    """Return a checkout with a committed package."""

    def git(*arguments):
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", "-C", tmp_path, *who, *arguments], check=True, capture_output=True)

    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").touch()
    git("init")
    git("add", ".")
    git("commit", "-m", "first")
    return tmp_path


def test_versions_of_all_packages_are_recorded():
    versions = provenance()["versions"]
    assert versions["graphmargin"] == graphmargin.__version__
    assert versions["numpy"] == np.__version__
    assert provenance(["no-such-package"])["versions"] == {"no-such-package": "not installed"}


@needs_git
def test_commit_of_a_checkout_and_whether_it_is_modified(checkout):
    commit = commit_of(checkout / "package")
    assert len(commit) == 12
    (checkout / "package" / "__init__.py").write_text("x = 1\n")
    assert commit_of(checkout / "package") == f"{commit} (modified)"


@needs_git
def test_a_package_that_a_checkout_does_not_have_has_no_commit(checkout):
    installed = checkout / ".venv" / "package"
    installed.mkdir(parents=True)
    (installed / "__init__.py").touch()
    assert commit_of(installed) is None


def test_there_is_no_commit_without_a_checkout_or_git(tmp_path, monkeypatch):
    assert commit_of(tmp_path) is None
    monkeypatch.setenv("PATH", "")
    assert commit_of(tmp_path) is None
