import json

import pytest

from benchmarks.report import comparison, exponent, exponents, plain, profile, write_page
from benchmarks.session import environment, store
from benchmarks.suites import CUT, CUT_SVC, DEFAULT_CUT, LAPLACE, OURS, SPREADING, STAGES, SUITES
from benchmarks.systems import FLOORS

SESSION = environment()


def result(problem, system, k, seed, wall, **more):
    numbers = {"wall": wall, "cpu": 2 * wall, "memory": 10.0, "error": 0.25, "converged": True}
    case = {"problem": problem, "system": system, "k": k, "seed": seed, "session": SESSION}
    return case | numbers | more


def failure(problem, system, k, reason):
    case = {"problem": problem, "system": system, "k": k, "seed": 0, "session": SESSION}
    return case | {"failure": reason}


LETTER = [
    *(result("letter", OURS, 5, seed, wall) for seed, wall in enumerate([1.0, 9.0, 2.0])),
    *(result("letter", SPREADING, 5, seed, wall) for seed, wall in enumerate([5.0, 6.0, 7.0])),
    *(result("letter", OURS, 7, seed, 4.0) for seed in range(3)),
    *(result("letter", SPREADING, 7, seed, 6.0, converged=False) for seed in range(3)),
    result("letter", LAPLACE, 10, 0, 5.0),
    failure("letter", LAPLACE, 5, "not done after 600 s"),
]


@pytest.mark.parametrize("power", [0.5, 1.0, 2.3])
def test_exponent_of_a_power_law(power):
    sizes = [1e5, 2e5, 5e5, 1e6]
    assert exponent(sizes, [3e-5 * n**power for n in sizes]) == pytest.approx(power)


def test_ratios_are_to_the_base_with_the_same_k():
    table = comparison(SUITES["letter"], LETTER)
    header = ["system", "k", "wall s", f"to {OURS}", "CPU s", "MB", "error", "failure"]
    assert table == [
        header,
        [OURS, "5", "2.00", "1 x", "4.00", "10", "25.0%", ""],
        [SPREADING, "5", "6.00", "3 x", "12.00", "10", "25.0%", ""],
        [OURS, "7", "4.00", "2 x", "8.00", "10", "25.0%", ""],
        [f"{SPREADING} (not converged)", "7", "6.00", "1.5 x", "12.00", "10", "25.0%", ""],
        [LAPLACE, "10", "5.00", "2.5 x", "10.00", "10", "25.0%", ""],
        [LAPLACE, "5", "", "", "", "", "", "not done after 600 s"],
    ]
    lines = plain(table).splitlines()
    assert lines[1].startswith(f"{OURS} ")
    assert lines[-1].endswith("not done after 600 s")


def test_new_rows_have_columns_of_their_own():
    stages = {"fit": 3.0, "predict": 1.0}
    table = comparison(
        SUITES["cut"],
        [
            result("mixture-1e5", CUT_SVC, 5, 0, 8.0, new_error=0.5, stages=stages),
            result("mixture-1e5", CUT, 5, 0, 4.0, new_error=0.5, agreement=0.99995, stages=stages),
        ],
    )
    assert table[0][-5:] == ["fit s", "predict s", "error", "error, new rows", "agreement"]
    assert table[2][-5:] == ["3.00", "1.00", "25.0%", "50.0%", "99.995%"]


def test_profile_relates_stages_to_floors():
    stages = dict.fromkeys(FLOORS, 3.0)
    floors = dict.fromkeys(FLOORS, 0.5)
    rows = [result("mixture-1e6", STAGES, 5, 0, 20.0, stages=stages, floors=floors)]
    table = profile(rows)
    assert table[1] == ["k-NN search", "3.00", "0.50", "6 x", FLOORS["k-NN search"]]
    assert table[-1][:2] == ["all", f"{3 * len(FLOORS)}.00"]
    assert profile([failure("mixture-1e6", STAGES, 5, "lost")])[1] == [STAGES, "lost"]


def test_page_shows_what_is_stored_and_nothing_else(tmp_path):
    sizes = {"mixture-1e5": 1.0, "mixture-2e5": 2.0, "mixture-1e6": 10.0}
    scaling = [result(problem, OURS, 5, 0, wall) for problem, wall in sizes.items()]
    assert f"{OURS} wall n^1.00, CPU n^1.00" in exponents(scaling)
    default = [result(problem, DEFAULT_CUT, 0, 0, wall) for problem, wall in sizes.items()]
    measured = {"default": default, "letter": LETTER, "scaling": scaling}
    for name, results in measured.items():
        for one in results:
            store(one, tmp_path / f"{name}.json")
    page, images = tmp_path / "performance.md", tmp_path / "images"
    write_page(tmp_path, page, images)
    text = page.read_text()
    assert [line[3:] for line in text.splitlines() if line[:3] == "## "] == list(measured)
    assert f"| {SPREADING} | 5 | 6.00 | 3 x | 12.00 | 10 | 25.0% |  |" in text
    assert f"commit {SESSION['commit']}" in text
    for name in ("default", "scaling"):
        assert f"(images/{name}.png)" in text
        assert (images / f"{name}.png").stat().st_size > 10_000


def test_only_the_last_session_is_shown(tmp_path):
    store(result("letter", OURS, 5, 0, 1234.0) | {"session": {"date": "before"}}, tmp_path / "x")
    file = tmp_path / "letter.json"
    (tmp_path / "x").rename(file)
    store(result("letter", OURS, 5, 0, 1.0), file)
    assert len(json.loads(file.read_text())) == 2
    write_page(tmp_path, tmp_path / "page.md", tmp_path / "images")
    assert "1234" not in (tmp_path / "page.md").read_text()
    assert not (tmp_path / "images").exists()


def test_suites_that_were_not_run_keep_their_section(tmp_path):
    page, images = tmp_path / "page.md", tmp_path / "images"
    store(result("letter", OURS, 5, 0, 1.0), tmp_path / "letter.json")
    page.write_text("# Old\n\n## letter\n\nold letters\n\n## cut\n\nold cuts\n\n## gone\n\nold\n")
    write_page(tmp_path, page, images)
    text = page.read_text()
    assert [line[3:] for line in text.splitlines() if line[:3] == "## "] == ["letter", "cut"]
    assert "old cuts" in text
    assert "old letters" not in text
    write_page(tmp_path, page, images)
    assert page.read_text() == text


def test_nothing_measured_is_nothing_to_report(tmp_path):
    with pytest.raises(FileNotFoundError, match="run `python -m benchmarks letter` first"):
        write_page(tmp_path, tmp_path / "page.md", tmp_path / "images")
