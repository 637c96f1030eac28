"""Where results come from: the code, the versions and the machine."""

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
    """Return what results depend on, besides settings and seeds.

    Parameters
    ----------
    packages : sequence of str, default=PACKAGES
        Distributions, of which the versions are returned.

    Returns
    -------
    dict
        `commit` of the checkout that the package runs in, with " (modified)" if files in it
        differ, or None outside a checkout; `python`, `machine`, `cpus`, and `versions`.

    Examples
    --------
    >>> found = provenance(["numpy"])
    >>> sorted(found)
    ['commit', 'cpus', 'machine', 'python', 'versions']
    >>> import numpy as np
    >>> found["versions"]["numpy"] == np.__version__
    True
    """
    return {
        "commit": _commit(Path(__file__).parents[1]),
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


def _commit(package: Path) -> str | None:
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
