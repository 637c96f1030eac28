"""Rules of the ensemble's weights: the rule of the benchmark is the one of the library."""

import numpy as np
import pytest

from benchmarks.ensemble_rules import RULES, main, measure, table_of_rules
from benchmarks.league.sets import make_draw
from graphmargin import SemiSupervisedEnsemble

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("level", ["few", "10"])
def test_the_rule_has_the_labels_of_the_ensemble(level):
    made = make_draw("iris", level, 0)
    evidence = measure("iris", level, 0)
    model = SemiSupervisedEnsemble(n_jobs=1, random_state=made.seed).fit(made.X, made.few)
    mixture = RULES["**the rule**"](evidence)
    np.testing.assert_allclose(mixture, model.label_distributions_, atol=1e-6)
    unlabeled = made.few == -1
    wrong = np.mean(model.transduction_[unlabeled] != made.y[unlabeled])
    assert evidence.error(mixture) == wrong


def test_draws_are_kept_and_compared(tmp_path, capsys, monkeypatch):
    table = table_of_rules(tmp_path, ["iris"], 1)
    assert len(table.splitlines()) == 2 + len(RULES)
    assert len(list(tmp_path.glob("iris.*.0.pickle"))) == 4  # one of them has too few rows
    monkeypatch.setattr("benchmarks.ensemble_rules.LEAGUE", ("iris",))
    monkeypatch.setattr("benchmarks.ensemble_rules.measure", None)
    main(["--draws", "1", "--out", str(tmp_path)])
    assert table in capsys.readouterr().out
    rows = {row.split("|")[1].strip(): row.split("|")[2:5] for row in table.splitlines()}
    cut, best = (
        np.array([float(cell.split(",")[0]) for cell in rows[name]])
        for name in ("`cut` alone", "best member in hindsight")
    )
    assert (best <= cut).all()
    assert all(cell.endswith(", +0.0 ") for cell in rows["`cut` alone"])
