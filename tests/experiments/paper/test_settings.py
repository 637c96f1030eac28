from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from graphmargin.experiments.paper.claims import Claim
from graphmargin.experiments.paper.settings import Settings

FOLDER = Path("out")


@pytest.mark.parametrize(
    ("given", "draws"), [({}, 50), ({"quick": True}, 2), ({"quick": True, "draws": 7}, 7)]
)
def test_the_number_of_draws_is_what_was_asked_for_or_a_default(given, draws):
    assert Settings(FOLDER, **given).draws_or(quick=2, full=50) == draws


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"draws": 0}, "`draws` must be an integer >= 1, got 0"),
        ({"draws": 1.5}, r"`draws` must be an integer >= 1, got 1\.5"),
        ({"n_jobs": 0}, "`jobs` must be an integer >= 1, got 0"),
    ],
    ids=["draws", "part", "jobs"],
)
def test_what_was_mistyped_is_named(given, message):
    with pytest.raises(ValueError, match=message):
        Settings(FOLDER, **given)


def test_progress_of_parts_goes_from_0_to_1():
    told = []
    settings = Settings(FOLDER, progress=lambda share, news: told.append((share, news)))
    for part in range(4):
        for share in (None, 0.5, 1.0):
            settings.part(part, 4).progress(share, f"part {part}")
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert told[4] == (0.375, "part 1")


def test_a_part_is_the_same_run_but_for_its_progress():
    silent = Settings(FOLDER, quick=True, draws=3, n_jobs=1)
    assert silent.part(1, 2) == silent
    loud = Settings(FOLDER, quick=True, draws=3, n_jobs=1, progress=lambda *_: None).part(0, 2)
    assert (loud.folder, loud.quick, loud.draws, loud.n_jobs) == (FOLDER, True, 3, 1)


def test_settings_stay_as_they_are():
    with pytest.raises(FrozenInstanceError):
        Settings(FOLDER).quick = True


@pytest.mark.parametrize(("holds", "verdict"), [(True, "yes"), (False, "no"), (None, "not tried")])
def test_a_claim_has_a_verdict(holds, verdict):
    assert Claim("It rains", "always", "today", holds).verdict == verdict
