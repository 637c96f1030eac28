"""Settings of the repository agree: workflows, hooks, issue forms and the Makefile."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*_*.yml"))
SETTINGS = [*WORKFLOWS, ROOT / ".pre-commit-config.yaml"]


def load(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def jobs():
    return [job for path in WORKFLOWS for job in load(path)["jobs"].values()]


def steps():
    return [step for job in jobs() for step in job.get("steps", [])]


@pytest.mark.parametrize("path", SETTINGS, ids=lambda path: path.name)
def test_targets_of_make_exist(path):
    makefile = (ROOT / "Makefile").read_text()
    targets = re.findall(r"(?:run: |entry: )make (?:--\S+ )*(\w+)$", path.read_text(), re.MULTILINE)
    for target in targets:
        assert f"\n{target}:" in makefile


def test_all_checks_run_on_the_versions_that_the_package_names():
    package = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = [
        name.rpartition(" ")[2] for name in package["classifiers"] if ":: Python :: 3." in name
    ]
    tested = load(ROOT / ".github/workflows/test.yml")["jobs"]["linux"]
    assert tested["strategy"]["matrix"]["python"] == named
    assert tested["steps"][-1] == {"run": "make test"}
    assert package["requires-python"] == f">={named[0]}"


def test_tests_that_are_left_out_exist():
    left_out = re.findall(r"--ignore=(\S+)", (ROOT / ".github/workflows/test.yml").read_text())
    assert left_out
    for path in left_out:
        assert (ROOT / path).exists(), path


def test_tests_that_pages_name_exist():
    pages = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md"))
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    names = set(re.findall(r"`(test_\w+)`", pages))
    assert names
    assert {name for name in names if f"def {name}(" not in tests} == set()


def test_actions_have_a_version():
    actions = [step["uses"] for step in steps() if "uses" in step]
    assert actions
    for action in actions:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+@(v\d+|release/v\d+)", action), action


def test_only_the_job_that_publishes_may_identify_itself():
    assert all(load(path)["permissions"] == {"contents": "read"} for path in WORKFLOWS)
    trusted = [job for job in jobs() if "permissions" in job]
    assert [job["environment"]["name"] for job in trusted] == ["pypi"]
    assert trusted[0]["permissions"] == {"id-token": "write"}
    assert trusted[0]["needs"] == ["test", "dist"]


def test_hooks_need_no_network():
    (repository,) = load(ROOT / ".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"
    assert {hook["language"] for hook in repository["hooks"]} == {"system"}


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_issue_forms_have_required_fields(path):
    form = load(path)
    assert form["name"]
    assert form["description"]
    questions = [part for part in form["body"] if part["type"] != "markdown"]
    assert len({part["id"] for part in questions}) == len(questions)
    assert all(part["attributes"]["label"] for part in questions)
    assert any(part.get("validations", {}).get("required") for part in questions)
    for page in re.findall(r"docs/[\w-]+\.md|CONTRIBUTING\.md", path.read_text()):
        assert (ROOT / page).exists(), page
