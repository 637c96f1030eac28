"""The code, the versions and the machine that results come from."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("graphmargin", "numpy", "scipy", "scikit-learn", "numba")


def provenance(packages: Sequence[str] = PACKAGES) -> dict[str, Any]:
    """Return what results depend on, besides options and seeds.

    Examples
    --------
    >>> sorted(provenance(["numpy"]))
    ['commit', 'cpus', 'machine', 'python', 'versions']
    """
    return {
        "commit": commit_of(Path(__file__).parent),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "cpus": os.cpu_count(),
        "versions": {package: _version(package) for package in packages},
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def commit_of(package: Path) -> str | None:
    """Return the commit of the checkout that a package lies in, or None outside of a checkout.

    If files of the checkout differ from the commit, " (modified)" is appended.
    """
    # An environment inside someone's checkout is ignored there: its commit is not ours.
    if not _git(package, "ls-files", "__init__.py"):
        return None
    describe = ("describe", "--always", "--abbrev=12", "--exclude=*", "--dirty= (modified)")
    return _git(package, *describe) or None


def _git(folder: Path, *arguments: str) -> str:
    """Return what git says, or "" where it is not installed or fails."""
    command = ["git", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip()
