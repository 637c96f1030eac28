import subprocess
import sys

import graphmargin.tables


def run(script: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_public_names_can_be_imported():
    names = graphmargin.tables.__all__
    assert dir(graphmargin.tables) == sorted(names)
    assert all(getattr(graphmargin.tables, name) is not None for name in names)
    assert not hasattr(graphmargin.tables, "no_such_name")


def test_the_import_is_light():
    script = (
        "import sys, graphmargin.tables, graphmargin.tables.file_formats\n"
        "print({'pandas', 'pyarrow', 'sklearn', 'numpy'} & set(sys.modules))"
    )
    assert run(script) == "set()"


def test_a_missing_package_is_named_with_the_extra():
    script = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "try:\n"
        "    from graphmargin.tables import read_table\n"
        "except ImportError as error:\n"
        "    print(error)"
    )
    assert run(script) == 'tables need the package pyarrow; pip install "graphmargin[cli]"'
