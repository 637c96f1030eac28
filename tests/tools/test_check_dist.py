import io
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import check_dist

LIBRARY = {"graphmargin/__init__.py", "graphmargin/data/digits.npz"}
METADATA = "graphmargin-0.1.0.dist-info/METADATA"
ARCHIVE = {f"src/{name}" for name in LIBRARY} | set(check_dist.SOURCES) | {"tests/test_all.py"}


def write_wheel(folder, names):
    path = folder / "graphmargin-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for name in names:
            wheel.writestr(name, "")
    return path


def write_archive(folder, names):
    path = folder / "graphmargin-0.1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name in names:
            archive.addfile(tarfile.TarInfo(f"graphmargin-0.1.0/{name}"), io.BytesIO())
    return path


def wheel_problems(folder, names):
    wheel = write_wheel(folder, names)
    return [line.partition(": ")[2] for line in check_dist.wheel_problems(wheel, LIBRARY)]


def archive_problems(folder, names):
    archive = write_archive(folder, names)
    return [line.partition(": ")[2] for line in check_dist.archive_problems(archive, LIBRARY)]


def test_a_wheel_of_the_library_has_no_problem(tmp_path):
    assert not wheel_problems(tmp_path, LIBRARY | {METADATA})


@pytest.mark.parametrize("name", ["tests/test_all.py", "benchmarks/run.py", "graphmargin/new.py"])
def test_a_wheel_holds_nothing_but_the_library(tmp_path, name):
    problems = wheel_problems(tmp_path, LIBRARY | {METADATA, name})
    assert problems == [f"{name} is not part of the library"]


@pytest.mark.parametrize("name", sorted(LIBRARY))
def test_a_wheel_holds_the_whole_library(tmp_path, name):
    assert wheel_problems(tmp_path, LIBRARY - {name}) == [f"{name} is missing"]


def test_a_source_archive_may_hold_tests(tmp_path):
    assert not archive_problems(tmp_path, ARCHIVE)


@pytest.mark.parametrize("name", ["LICENSE", "src/graphmargin/__init__.py"])
def test_a_source_archive_holds_what_a_build_needs(tmp_path, name):
    problems = archive_problems(tmp_path, ARCHIVE - {name})
    assert problems == [f"{name.removeprefix('src/')} is missing"]


def test_caches_are_not_part_of_the_library():
    files = check_dist.library_files(check_dist.ROOT / "src")
    assert {"graphmargin/__init__.py", "graphmargin/py.typed"} <= files
    assert "graphmargin/datasets/data/digits.npz" in files
    assert not [name for name in files if "__pycache__" in name]


def test_files_are_found_if_there_is_one_of_each(tmp_path):
    with pytest.raises(ValueError, match="one wheel and one source archive, got 0 and 0; `make"):
        check_dist.find_distribution(tmp_path)
    wheel, archive = write_wheel(tmp_path, LIBRARY), write_archive(tmp_path, ARCHIVE)
    distribution = check_dist.find_distribution(tmp_path)
    assert (distribution.wheel, distribution.archive) == (wheel, archive)
    assert distribution.version == "0.1.0"


@pytest.mark.parametrize(
    "block", [">>> x = 1\n>>> for i in range(2):\n...     x += i\n>>> x\n2\n", "x = 2\n"]
)
def test_the_first_example_of_a_page_is_code_without_its_output(block):
    names = {}
    page = f"# Title\n\n```sh\nls\n```\n\n```python\n{block}```\n\n```python\nx = 3\n```\n"
    exec(check_dist.first_example(page), names)
    assert names["x"] == 2


def test_the_readme_has_an_example():
    example = check_dist.first_example((check_dist.ROOT / "README.md").read_text(encoding="utf-8"))
    compile(example, "README.md", "exec")
    assert "graphmargin" in example


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("print(4)", None),
        ("print(5)", "sum: must print '4', printed\n5"),
        ("print(4); raise SystemExit(3)", "sum: exit code 3\n4"),
    ],
)
def test_a_step_tells_what_went_wrong(tmp_path, code, problem, capsys):
    command = [sys.executable, "-c", code]
    assert check_dist.run_step("sum", command, "4", tmp_path) == problem
    assert capsys.readouterr().out.startswith("sum: ") is (problem is None)


def test_a_step_does_not_see_the_checkout(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "elsewhere")
    command = [sys.executable, "-c", "import os; print(os.getenv('PYTHONPATH'), os.getcwd())"]
    expected = f"None {Path(tmp_path).resolve()}"
    assert check_dist.run_step("look", command, expected, tmp_path) is None


def test_a_wheel_with_a_problem_is_not_tried(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(check_dist, "try_wheel", lambda *_: pytest.fail("it was tried"))
    write_wheel(tmp_path, ["tests/test_all.py"])
    write_archive(tmp_path, [])
    assert check_dist.main([str(tmp_path)]) == 1
    assert "tests/test_all.py is not part of the library" in capsys.readouterr().err
