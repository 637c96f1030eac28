"""Runs of made-up experiments: what is stored, resumed and left alone."""

import csv
import json
from dataclasses import dataclass, replace
from typing import ClassVar

import pytest
from matplotlib.figure import Figure

from graphmargin._errors import InputError
from reproduction.claims import Claim
from reproduction.experiments import Experiment, reproduce
from reproduction.records import Record
from reproduction.runner import run_settings
from reproduction.section import Section

DRAWS = 4


@dataclass(frozen=True)
class Square(Record):
    setting_fields: ClassVar = ("draw",)
    part_fields: ClassVar = ()

    draw: int
    value: float


def squares(computed, stop_before=None):
    """Return an experiment that counts what it computes, and may be interrupted before a draw."""

    def compute(setting, _):
        (draw,) = setting
        if draw == stop_before:
            raise KeyboardInterrupt
        computed.append(draw)
        return [Square(draw, draw**2 / 3)]

    def run(options):
        settings = [(draw,) for draw in range(options.draws_or(quick=2, full=DRAWS))]
        out = options.finished("squares")
        return {"squares": run_settings(Square, settings, {(): None}, compute, out=out)}

    def section(records):
        figure = Figure()
        figure.subplots().plot([record.value for record in records])
        claim = Claim("Squares grow", "yes", f"{len(records)} draws", holds=True)
        text = "A parabola.\n\n![parabola](images/squares.png)"
        return Section("Squares", text, {"squares": figure}, (claim,))

    return Experiment("squares of numbers", run, section)


ONE = Experiment("one", lambda _: {"one": [Square(1, 1.0)]}, lambda _: Section("One", "1 < 2"))


def run(names, options, **changes):
    return reproduce(names, options, experiments={"one": ONE, "squares": squares([]), **changes})


def page(options):
    return (options.folder / "reproduction.md").read_text()


def runs(options):
    return json.loads((options.folder / "run.json").read_text())["runs"]


def test_records_section_claims_and_picture_are_stored(options):
    claims = run(["squares"], options)
    assert [claim.claim for claim in claims] == ["Squares grow"]
    rows = csv.DictReader((options.folder / "squares.csv").read_text().splitlines())
    assert [float(row["value"]) for row in rows] == [draw**2 / 3 for draw in range(DRAWS)]
    assert "| Squares grow | yes | 4 draws | yes |" in page(options)
    assert "A parabola." in page(options)
    assert (options.folder / "images" / "squares.png").read_bytes()[1:4] == b"PNG"
    html = (options.folder / "reproduction.html").read_text()
    assert 'src="data:image/png;base64,' in html


def test_an_interrupted_run_writes_a_page_and_can_go_on(options):
    computed = []
    with pytest.raises(KeyboardInterrupt):
        run(["one", "squares"], options, squares=squares(computed, stop_before=2))
    assert "## One" in page(options)
    assert "## Squares" not in page(options)
    run(["one", "squares"], options, squares=squares(computed))
    assert computed == [0, 1, 2, 3]
    assert 0 < page(options).index("## One") < page(options).index("## Squares")
    assert [entry["outcome"] for entry in runs(options)] == ["interrupted", "finished"]


def test_a_failure_leaves_the_earlier_page_and_files_as_they_were(options):
    run(["one", "squares"], options)
    kept = [options.folder / "squares.csv", options.folder / "sections" / "squares.json"]
    kept += options.folder.glob("reproduction.*")
    before = [file.read_bytes() for file in kept]

    def fail(_):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(["squares"], options, squares=replace(squares([]), section=fail))
    assert [file.read_bytes() for file in kept] == before
    assert runs(options)[-1]["outcome"] == "failed"
    assert not list(options.folder.rglob("*.draft"))


def test_a_quick_run_in_the_same_folder_loses_nothing(options):
    computed = []
    for quick in (False, True, False):
        run(["squares"], replace(options, quick=quick), squares=squares(computed))
        assert ("`python -m reproduction squares --quick`" in page(options)) == quick
    assert computed == [0, 1, 2, 3]


def test_runs_name_command_options_versions_and_the_rule_of_seeds(options):
    reproduce(["one"], options, command="python -m reproduction one", experiments={"one": ONE})
    stored = json.loads((options.folder / "run.json").read_text())
    assert "crc32" in stored["seed"]
    (entry,) = stored["runs"]
    assert entry["command"] == "python -m reproduction one"
    assert entry["names"] == list(entry["begun"]) == ["one"]
    assert 0 <= entry["begun"]["one"] <= entry["seconds"]
    assert entry["options"] == {"quick": False, "draws": None, "jobs": 1}
    assert "numpy" in entry["provenance"]["versions"]


def test_a_section_names_the_commits_of_all_runs_that_worked_on_it(options, monkeypatch):
    source = {"python": "3", "machine": "m", "cpus": 1, "versions": {"graphmargin": "1"}}
    commits = iter(["aaa", "bbb", None])
    monkeypatch.setattr(
        "reproduction.folder.provenance", lambda: source | {"commit": next(commits)}
    )
    with pytest.raises(KeyboardInterrupt):
        run(["squares"], options, squares=squares([], stop_before=1))
    run(["one"], options)
    run(["squares"], options)  # a later run adds to the page, in the order of the experiments
    rows = [row for row in page(options).splitlines() if row.startswith("| [")]
    assert [row.split(" | ")[-1] for row in rows] == ["bbb |", "aaa, version 1 |"]


def test_two_runs_at_a_time_both_stay_in_the_list(options):
    def run_within(_):
        run(["one"], options)
        return ONE.run(options)

    run(["outer"], options, outer=replace(ONE, run=run_within))
    assert [entry["names"] for entry in runs(options)] == [["outer"], ["one"]]
    assert {entry["outcome"] for entry in runs(options)} == {"finished"}


def test_a_file_in_place_of_the_folder_is_refused(options):
    file = options.folder / "file"
    file.touch()
    for bad in (file, file / "below"):
        with pytest.raises(InputError, match="`out` must be a folder to write to"):
            run(["one"], replace(options, folder=bad))


@pytest.mark.parametrize("name", ["run.json", "sections/one.json"])
@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "not JSON.*remove it"), ("{}", "file of something else.*name another folder")],
)
def test_a_file_without_a_section_is_named(name, text, message, options):
    (options.folder / "sections").mkdir()
    (options.folder / name).write_text(text)
    with pytest.raises(InputError, match=message):
        run(["one"], options)
