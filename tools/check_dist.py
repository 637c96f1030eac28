"""Check the wheel and the source archive, and try the wheel in an empty virtual environment.

Run by `make dist`, after both files were built. Prints a line for each step and each problem; ends
with 1 if there is a problem.
"""

from __future__ import annotations

import argparse
import doctest
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = ("LICENSE", "PKG-INFO", "README.md", "pyproject.toml")
"""Files that pip and the package index need in a source archive."""
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LAST_LINES = 20
"""Number of lines of a failed command's output that are shown."""


@dataclass(frozen=True)
class Distribution:
    """The two files of a version."""

    wheel: Path
    archive: Path

    @property
    def version(self) -> str:
        """Version in the name of the wheel."""
        return self.wheel.name.split("-")[1]


def find_distribution(folder: Path) -> Distribution:
    """Return the only wheel and the only source archive in a folder."""
    wheels, archives = sorted(folder.glob("*.whl")), sorted(folder.glob("*.tar.gz"))
    if len(wheels) != 1 or len(archives) != 1:
        msg = (
            f"{folder} must have one wheel and one source archive, got {len(wheels)} and "
            f"{len(archives)}; `make dist` builds them"
        )
        raise ValueError(msg)
    return Distribution(wheels[0].resolve(), archives[0].resolve())


def library_files(source: Path) -> set[str]:
    """Return the files of the library in a checkout, as paths in the wheel."""
    return {
        path.relative_to(source).as_posix()
        for path in (source / "graphmargin").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def wheel_problems(wheel: Path, library: set[str]) -> Iterator[str]:
    """Yield a line for each file that the wheel lacks, or that is not part of the library."""
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
    installed = {name for name in names if not re.match(r"graphmargin-[^/]+\.dist-info/", name)}
    yield from _differences(wheel.name, installed, library)


def archive_problems(path: Path, library: set[str]) -> Iterator[str]:
    """Yield a line for each file that the source archive lacks, or that it adds to the library."""
    with tarfile.open(path) as archive:
        names = {member.name.partition("/")[2] for member in archive if member.isfile()}
    package = {name.removeprefix("src/") for name in names if name.startswith("src/")}
    yield from _differences(path.name, package, library)
    yield from (f"{path.name}: {name} is missing" for name in SOURCES if name not in names)


def _differences(archive: str, names: set[str], library: set[str]) -> Iterator[str]:
    yield from (f"{archive}: {name} is missing" for name in sorted(library - names))
    yield from (f"{archive}: {name} is not part of the library" for name in sorted(names - library))


def first_example(page: str) -> str:
    """Return the code of the first Python block of a page, without prompts and output."""
    code = BLOCK.findall(page)[0]
    if ">>> " not in code:
        return code
    return "".join(example.source for example in doctest.DocTestParser().get_examples(code))


def try_wheel(distribution: Distribution, example: str) -> Iterator[str]:
    """Yield a line about the first step that fails when the wheel is installed and used, if any.

    The environment and the folder are empty, and variables such as ``PYTHONPATH`` are not set.
    """
    with tempfile.TemporaryDirectory() as folder:
        builder = venv.EnvBuilder(with_pip=True)
        builder.create(Path(folder, "env"))
        context = builder.ensure_directories(Path(folder, "env"))
        python, command = context.env_exe, str(Path(context.bin_path, "graphmargin"))
        pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
        wheel = f"graphmargin[cli] @ {distribution.wheel.as_uri()}"
        steps = {
            "pip install 'graphmargin[cli]'": ([*pip, "install", wheel], ""),
            "graphmargin --version": ([command, "--version"], distribution.version),
            "graphmargin demo": ([command, "demo"], "penguins.html"),
            "the first example of README.md": ([python, "-c", example], ""),
        }
        for name, (words, expected) in steps.items():
            problem = run_step(name, words, expected, Path(folder))
            if problem:
                yield problem
                return


def run_step(name: str, command: list[str], expected: str, folder: Path) -> str | None:
    """Run a command, print its time, and return a text if its result is wrong."""
    environment = {key: os.environ[key] for key in os.environ if not key.startswith("PYTHON")}
    start = time.perf_counter()
    done = subprocess.run(
        command,
        cwd=folder,
        env={**environment, "PYTHONUTF8": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    output = "\n".join(done.stdout.splitlines()[-LAST_LINES:])
    if done.returncode:
        return f"{name}: exit code {done.returncode}\n{output}"
    if expected not in done.stdout:
        return f"{name}: must print {expected!r}, printed\n{output}"
    print(f"{name}: {time.perf_counter() - start:.1f} s")
    return None


def main(argv: list[str] | None = None) -> int:
    """Check and try the files in the folder that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder of the wheel and the source archive")
    folder = parser.parse_args(argv).folder
    try:
        distribution = find_distribution(folder)
    except ValueError as error:
        parser.error(str(error))
    library = library_files(ROOT / "src")
    problems = [
        *wheel_problems(distribution.wheel, library),
        *archive_problems(distribution.archive, library),
    ]
    if not problems:
        print(f"{distribution.wheel.name}: {len(library)} files, all of the library")
        example = first_example((ROOT / "README.md").read_text(encoding="utf-8"))
        problems = list(try_wheel(distribution, example))
    for line in problems:
        print(line, file=sys.stderr)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
