from __future__ import annotations

import subprocess
import sys

import pytest

CLI = ["jinja2", "matplotlib", "openpyxl", "rich", "typer"]


def imported_without(packages):
    """Return what an import says where some packages are missing."""
    script = (
        f"import sys; sys.modules.update(dict.fromkeys({packages}))\n"
        "try:\n"
        "    from graphmargin.distributed import DistributedGraphCut\n"
        "    print(DistributedGraphCut())\n"
        "except ImportError as error:\n"
        "    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    return done.stdout.decode().strip()


@pytest.mark.parametrize("package", ["distributed", "pyarrow"])
def test_a_missing_package_is_named_with_the_extra(package):
    message = imported_without([package])
    assert message == f'graphmargin.distributed needs {package}; pip install "graphmargin[dask]"'


def test_the_packages_of_the_command_line_are_not_needed():
    assert imported_without(CLI) == "DistributedGraphCut()"
