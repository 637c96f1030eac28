"""Rules for the weights of an ensemble's members, compared on the sets of the league.

Every member is fitted once for each draw, as an ensemble of its own. Rules then weigh the members
by their predictions of held-out labels, so that many rules can be compared in seconds. Prints mean
errors, and the largest loss to the max-margin graph cut on a set. Draws are kept in a folder and
not computed again; a draw of the league takes two minutes.

Commit 9adfe6a has one more rule, a prior for members that assume clusters where labels hardly ever
differ along the edges of the graph. It changed mean errors on the league by 0.03 points at most, in
both directions (three draws), and was removed.
"""

from __future__ import annotations

import argparse
import pickle
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.league.sets import LEAGUE, LEVELS, OTHERS, make_draw
from benchmarks.measure import ROOT
from graphmargin._typing import BoolArray, FloatArray, IntArray
from graphmargin.labels import UNLABELED, encode_labels
from graphmargin.methods import DEFAULT_MEMBERS, named_member
from graphmargin.search.data import TrainingData
from graphmargin.search.execution import Execution
from graphmargin.search.held_out import default_held_out
from graphmargin.search.predictor import calibrated
from graphmargin.search.search import fit, search, untested_calibration
from graphmargin.search.weighing import LIKELIHOOD_EXPONENT, member_weights
from reproduction.section import markdown_table

OUT = ROOT / "out" / "benchmarks" / "ensemble-rules"
DRAWS = 3
UNTESTED = ("cut", "harmonic")
"""Members that count where no label can be held out."""
MEMBERS = (*DEFAULT_MEMBERS, "supervised")
PLAIN = tuple(name for name in DEFAULT_MEMBERS if name != "linear-supervised")


@dataclass(frozen=True)
class Evidence:
    """The predictions of all members in a draw.

    Attributes
    ----------
    y : array of shape (n,)
        The classes of all rows.
    unlabeled : array of shape (n,)
        Mask of the rows without a label.
    log_likelihood : dict from str to float
        Log-likelihood of all held-out labels, for each member.
    distributions : dict from str to array of shape (n, c)
        Class probabilities of all rows, for each member.
    n_held_out : int
    """

    y: IntArray
    unlabeled: BoolArray
    log_likelihood: dict[str, float]
    distributions: dict[str, FloatArray]
    n_held_out: int

    def error(self, mixture: FloatArray) -> float:
        """Return the share of the unlabeled rows that a mixture gets wrong."""
        return float((mixture.argmax(axis=1) != self.y)[self.unlabeled].mean())


Rule = Callable[[Evidence], FloatArray]
"""Function from the evidence of a draw to class probabilities of its rows."""


def weighted(
    members: Sequence[str] = DEFAULT_MEMBERS, *, exponent: float = LIKELIHOOD_EXPONENT
) -> Rule:
    """Return the rule with other members, or another exponent of the likelihood."""

    def mix(evidence: Evidence) -> FloatArray:
        if not evidence.n_held_out:
            return untested(evidence, 1.0)
        log_likelihood = np.array([evidence.log_likelihood[name] for name in members])
        weights = member_weights(exponent / LIKELIHOOD_EXPONENT * log_likelihood)
        return np.tensordot(weights, [evidence.distributions[name] for name in members], axes=1)

    return mix


def untested(evidence: Evidence, share: float) -> FloatArray:
    """Return the mixture without held-out labels.

    The harmonic solution is as confident as in the ensemble for a `share` of 1, as it is for 0, and
    as confident as the cut for inf, if there are three classes or more.
    """
    cut, graph = (evidence.distributions[name] for name in UNTESTED)
    confidence, own = (float(P.max(axis=1).mean()) for P in (cut, graph))
    if np.isinf(share):
        share = 1 / (1 - 2 / cut.shape[1]) if cut.shape[1] > 2 else np.nan
    target = own + share * (confidence - own)
    return np.asarray((cut + calibrated(graph, untested_calibration(graph, target))) / 2)


def with_untested(share: float) -> Rule:
    """Return the rule, with another confidence of the harmonic solution without held-out labels."""
    tested = weighted()
    return lambda evidence: tested(evidence) if evidence.n_held_out else untested(evidence, share)


def single(name: str) -> Rule:
    """Return the rule that takes one member."""
    return lambda evidence: evidence.distributions[name]


def hindsight(evidence: Evidence) -> FloatArray:
    """Return the best of the members, which only the labels of all rows can tell."""
    return min((evidence.distributions[name] for name in DEFAULT_MEMBERS), key=evidence.error)


RULES: dict[str, Rule] = {
    "**the rule**": weighted(),
    "exponent 1/4": weighted(exponent=1 / 4),
    "exponent 1/2": weighted(exponent=1 / 2),
    "exponent 1 (Bayes)": weighted(exponent=1.0),
    "equal weights": weighted(exponent=0.0),
    "without `linear-supervised`": weighted(PLAIN),
    "with `supervised`": weighted(MEMBERS),
    "one label a class: harmonic solution as it is": with_untested(0.0),
    "one label a class: harmonic solution of 3 or more classes as confident as the cut": (
        with_untested(np.inf)
    ),
    "`cut` alone": single("cut"),
    "`harmonic` alone": single("harmonic"),
    "best member in hindsight": hindsight,
}


def measure(name: str, level: str, draw: int) -> Evidence | None:
    """Return the evidence of a draw, None if the set has too few rows."""
    made = make_draw(name, level, draw)
    if made is None:
        return None
    labels = encode_labels(made.few)
    held_out = default_held_out(labels, made.seed)
    data = TrainingData(made.X, labels, held_out, Execution(1, made.seed))
    fits = {name: fit(data, search(data, [named_member(name, labels)])) for name in MEMBERS}
    return Evidence(
        y=made.y,
        unlabeled=made.few == UNLABELED,
        log_likelihood={
            name: float(fitted.choice.label_log_likelihood.sum()) for name, fitted in fits.items()
        },
        distributions={
            name: fitted.label_distributions.astype(np.float32) for name, fitted in fits.items()
        },
        n_held_out=len(fits["cut"].choice.trials.held_out_codes),
    )


def load(out: Path, name: str, level: str, draw: int) -> Evidence | None:
    """Return the evidence of a draw from its file, which is written if there is none."""
    file = out / f"{name}.{level}.{draw}.pickle"
    if not file.exists():
        sys.stderr.write(f"{name}, {level} labels, draw {draw}\n")
        out.mkdir(parents=True, exist_ok=True)
        file.write_bytes(pickle.dumps(measure(name, level, draw)))
    return pickle.loads(file.read_bytes())


def table_of_rules(out: Path, sets: Sequence[str], draws: int) -> str:
    """Return a row for each rule: mean errors, and the largest loss to the cut on a set."""
    cells: dict[str, list[str]] = {name: [name] for name in RULES}
    for level in LEVELS:
        found = {
            name: [e for draw in range(draws) if (e := load(out, name, level, draw)) is not None]
            for name in sets
        }
        present = [evidence for evidence in found.values() if evidence]
        errors = {
            rule: np.array([np.mean([e.error(mix(e)) for e in of_set]) for of_set in present])
            for rule, mix in RULES.items()
        }
        for rule, of_sets in errors.items():
            loss = (of_sets - errors["`cut` alone"]).max(initial=-np.inf)
            text = f"{100 * of_sets.mean():.1f}, {100 * loss:+.1f}" if present else ""
            cells[rule].append(text)
    return markdown_table(["mean error, %; largest loss to the cut", *LEVELS], list(cells.values()))


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table of the league, or of tables outside of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--others", action="store_true", help="tables outside of the league")
    parser.add_argument("--draws", type=int, default=DRAWS, metavar="N", help="(%(default)s)")
    parser.add_argument("--out", type=Path, default=OUT, metavar="FOLDER", help="keeps draws")
    given = parser.parse_args(argv)
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few labels do not reach all components
        print(table_of_rules(given.out, OTHERS if given.others else LEAGUE, given.draws))


if __name__ == "__main__":
    main()
