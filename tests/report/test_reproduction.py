import csv
import json
from dataclasses import asdict, dataclass

import pytest
from matplotlib.figure import Figure
from pyarrow import parquet

from graphmargin.experiments.paper.claims import Claim
from graphmargin.experiments.paper.settings import Settings
from graphmargin.experiments.running import run_cells
from graphmargin.report.reproduction import EXPERIMENTS, Experiment, reproduce
from graphmargin.report.section import Section

DRAWS = 4


@dataclass(frozen=True)
class Square:
    draw: int
    value: float
    failure: str = ""

    @property
    def cell(self):
        return (self.draw,)

    @property
    def part(self):
        return "square"

    @property
    def title(self):
        return f"draw {self.draw}"


def squares(computed, stop_before=None, error=KeyboardInterrupt):
    """Return an experiment that counts what it computes, and may stop before a draw."""

    def compute(cell, _):
        (draw,) = cell
        if draw == stop_before:
            raise error
        computed.append(draw)
        return [Square(draw, draw**2 / 3)]

    def run(settings):
        cells = [(draw,) for draw in range(settings.draws_or(quick=2, full=DRAWS))]
        out = settings.folder / "squares.csv"
        parts = {"square": None}
        known = run_cells(Square, cells, parts, compute, out=out, progress=settings.progress)
        return {"squares": [known[*cell, "square"] for cell in cells]}

    def section(tables):
        figure = Figure()
        figure.subplots().plot([record.value for record in tables["squares"]])
        claim = Claim("Squares grow", "yes", f"{len(tables['squares'])} draws", holds=True)
        text = "A parabola.\n\n![parabola](images/squares.png)"
        return Section("Squares", text, {"squares": figure}, (claim,))

    return Experiment("squares of numbers", run, section)


ONE = Experiment("one", lambda _: {"one": [Square(1, 1.0)]}, lambda _: Section("One", "1 < 2"))


@pytest.fixture
def settings(tmp_path):
    return Settings(tmp_path / "out", n_jobs=1)


def runs(folder):
    return json.loads((folder / "run.json").read_text())["runs"]


def test_records_are_stored_as_they_are(settings):
    reproduce(["squares"], settings, experiments={"squares": squares([])})
    expected = [Square(draw, draw**2 / 3) for draw in range(DRAWS)]
    table = parquet.read_table(settings.folder / "squares.parquet")
    assert table.to_pylist() == [asdict(record) for record in expected]
    source = json.loads(table.schema.metadata[b"graphmargin"])
    assert source["settings"] == {"quick": False, "draws": None}
    assert "numpy" in source["versions"]
    rows = csv.DictReader((settings.folder / "squares.csv").read_text().splitlines())
    assert [float(row["value"]) for row in rows] == [record.value for record in expected]


def test_the_page_shows_section_claims_and_picture(settings):
    done = reproduce(["squares"], settings, experiments={"squares": squares([])})
    text = done.markdown.read_text()
    assert "| Squares grow | yes | 4 draws | yes |" in text
    assert "A parabola." in text
    assert (settings.folder / "images" / "squares.png").read_bytes()[1:4] == b"PNG"
    assert 'src="data:image/png;base64,' in done.html.read_text()
    assert [claim.claim for claim in done.claims["squares"]] == ["Squares grow"]


def test_an_interrupted_run_leaves_a_page_and_goes_on_where_it_was(settings):
    computed = []
    first = {"one": ONE, "squares": squares(computed, stop_before=2)}
    with pytest.raises(KeyboardInterrupt):
        reproduce(["one", "squares"], settings, experiments=first)
    page = (settings.folder / "reproduction.md").read_text()
    assert "## One" in page
    assert "## Squares" not in page
    assert computed == [0, 1]

    done = reproduce(
        ["one", "squares"], settings, experiments={"one": ONE, "squares": squares(computed)}
    )
    assert computed == [0, 1, 2, 3]
    assert "## One" in done.markdown.read_text()
    assert "## Squares" in done.markdown.read_text()
    assert [run["outcome"] for run in runs(settings.folder)] == ["interrupted", "finished"]


def test_a_failure_leaves_the_earlier_page_and_files_as_they_were(settings):
    experiments = {"one": ONE, "squares": squares([])}
    reproduce(["one", "squares"], settings, experiments=experiments)
    kept = [settings.folder / f"squares.{kind}" for kind in ("csv", "parquet")]
    kept += [settings.folder / "sections" / "squares.json", *settings.folder.glob("repro*")]
    before = [file.read_bytes() for file in kept]

    def fail(_):
        raise ZeroDivisionError

    broken = Experiment("broken", squares([]).run, fail)
    with pytest.raises(ZeroDivisionError):
        reproduce(
            ["squares"], settings, experiments={"one": ONE, "squares": broken, "more": broken}
        )
    # Only how often it was tried may be new, and the commit was the same.
    assert [file.read_bytes() for file in kept] == before
    assert runs(settings.folder)[-1]["outcome"] == "failed"
    assert not list(settings.folder.rglob("*.draft"))


def test_a_later_run_adds_to_the_page_in_the_order_of_the_registry(settings):
    experiments = {"one": ONE, "squares": squares([])}
    reproduce(["squares"], settings, experiments=experiments)
    page = reproduce(["one"], settings, experiments=experiments).markdown.read_text()
    assert 0 < page.index("## One") < page.index("## Squares")


def test_a_quick_run_in_the_same_folder_loses_no_cells(settings):
    computed = []
    experiments = {"squares": squares(computed)}
    reproduce(["squares"], settings, experiments=experiments)
    quick = Settings(settings.folder, quick=True, n_jobs=1)
    page = reproduce(["squares"], quick, experiments=experiments).markdown.read_text()
    assert "`graphmargin reproduce squares --quick`" in page
    reproduce(["squares"], settings, experiments=experiments)
    assert computed == [0, 1, 2, 3]


def test_runs_name_command_settings_versions_and_the_rule_of_seeds(settings):
    reproduce(["one"], settings, command="graphmargin reproduce one", experiments={"one": ONE})
    stored = json.loads((settings.folder / "run.json").read_text())
    assert "crc32" in stored["seed"]
    (run,) = stored["runs"]
    assert run["command"] == "graphmargin reproduce one"
    assert run["names"] == list(run["begun"]) == ["one"]
    assert 0 <= run["begun"]["one"] <= run["seconds"]
    assert run["settings"] == {"quick": False, "draws": None, "jobs": 1}
    assert "numpy" in run["provenance"]["versions"]
    assert run["seconds"] >= 0


def test_a_section_names_the_commits_of_all_runs_that_worked_on_it(settings, monkeypatch):
    source = {"python": "3", "machine": "m", "cpus": 1, "versions": {"graphmargin": "1"}}
    commits = iter(["aaa", "bbb", None])
    monkeypatch.setattr(
        "graphmargin.report.folder.provenance", lambda: source | {"commit": next(commits)}
    )
    with pytest.raises(KeyboardInterrupt):
        reproduce(["squares"], settings, experiments={"squares": squares([], stop_before=1)})
    reproduce(["one"], settings, experiments={"one": ONE})
    experiments = {"one": ONE, "squares": squares([])}
    rows = reproduce(["squares"], settings, experiments=experiments).markdown.read_text()
    assert [row.split(" | ")[-1] for row in rows.splitlines() if row.startswith("| [")] == [
        "bbb |",
        "aaa, version 1 |",
    ]


def test_two_runs_at_a_time_both_stay_in_the_list(settings):
    def run(given):
        reproduce(["one"], Settings(given.folder.parent), experiments={"one": ONE})
        return ONE.run(given)

    outer = {"outer": Experiment("outer", run, ONE.section)}
    reproduce(["outer"], settings, experiments=outer)
    assert [run["names"] for run in runs(settings.folder)] == [["outer"], ["one"]]
    assert {run["outcome"] for run in runs(settings.folder)} == {"finished"}


def test_progress_is_told_by_experiment(settings):
    told = []

    def watch(name):
        return lambda share, news: told.append((name, share, news))

    reproduce(["squares"], settings, watch=watch, experiments={"squares": squares([])})
    assert told[-2:] == [("squares", 1.0, "draw 3"), ("squares", 1.0, "finished")]


def test_unknown_names_are_refused_before_anything_is_done(settings):
    with pytest.raises(ValueError, match="`names` must be one of 'one', got 'two'"):
        reproduce(["one", "two"], settings, experiments={"one": ONE})
    assert not settings.folder.exists()


def test_a_file_in_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "file").touch()
    for bad in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(ValueError, match="`out` must be a folder to write to"):
            reproduce(["one"], Settings(bad), experiments={"one": ONE})


def test_a_broken_file_of_an_earlier_run_is_named(settings):
    settings.folder.mkdir()
    (settings.folder / "run.json").write_text("{")
    with pytest.raises(ValueError, match=r"run\.json.*remove it"):
        reproduce(["one"], settings, experiments={"one": ONE})


@pytest.mark.parametrize("name", ["run.json", "sections/one.json"])
@pytest.mark.parametrize("text", ["[]", "{}", '{"runs": [{}]}', "1"])
def test_a_file_of_something_else_is_named(name, text, settings):
    (settings.folder / "sections").mkdir(parents=True)
    (settings.folder / name).write_text(text)
    with pytest.raises(ValueError, match=r"file of something else.*name another folder"):
        reproduce(["one"], settings, experiments={"one": ONE})


def test_registry():
    assert list(EXPERIMENTS) == [
        "figure1",
        "figure2",
        "figure3",
        "table",
        "soft-labels",
        "protocol",
    ]
