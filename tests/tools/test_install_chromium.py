"""The script that brings a browser for the tests, with a PATH of make-believe commands."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "install_chromium"


@pytest.fixture
def run(tmp_path):
    """Return a function that runs the script where only the given commands exist."""

    def run_with(**commands):
        folder, log = tmp_path / "bin", tmp_path / "log"
        folder.mkdir()
        (folder / "env").symlink_to(shutil.which("env"))
        for name, body in {"id": "echo 0", **commands}.items():
            file = folder / name.replace("_", "-")
            file.write_text(f'#!{shutil.which("sh")}\necho "{file.name} $*" >>"$LOG"\n{body}\n')
            file.chmod(0o755)
        done = subprocess.run(
            [shutil.which("sh"), SCRIPT],
            env=os.environ | {"PATH": str(folder), "LOG": str(log)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stderr == ""
        asked = log.read_text().splitlines() if log.exists() else []
        return done.stdout, [line for line in asked if not line.startswith("id")]

    return run_with


@pytest.mark.parametrize("name", ["chromium", "chromium_browser", "google_chrome"])
def test_nothing_is_installed_if_there_is_a_browser(run, name):
    assert run(**{name: "exit 1", "apt_get": "exit 0"}) == ("", [])


def test_a_missing_apt_is_reported(run):
    said, _ = run()
    assert said == (
        "no Chromium: there is no apt-get to install it with; browser tests are skipped\n"
    )


def test_chromium_is_installed_without_an_update_if_that_works(run):
    said, asked = run(apt_get="exit 0")
    assert said == "installing Chromium for the browser tests\n"
    assert asked == ["apt-get install -qq -y --no-install-recommends chromium"]


def test_package_lists_are_updated_if_chromium_is_not_in_them(run):
    _, asked = run(apt_get='case "$*" in *update*) >"$LOG.new";; esac; [ -e "$LOG.new" ]')
    assert [line.split()[1] for line in asked] == ["install", "update", "install"]


def test_a_failure_is_one_line(run):
    said, asked = run(apt_get="echo much noise; echo more >&2; exit 100")
    assert said.splitlines()[1:] == [
        "no Chromium: 'apt-get install chromium' failed; browser tests are skipped"
    ]
    assert [line.split()[1] for line in asked] == ["install", "update"]


def test_without_rights_the_command_to_run_is_shown(run):
    said, asked = run(id="echo 1000", apt_get="exit 0", sudo="exit 1")
    assert said == "no Chromium: run 'sudo apt-get install chromium'; browser tests are skipped\n"
    assert asked == ["sudo -n true"]
