"""Rules for the weights of an ensemble's families, compared on the sets of the league.

Every family is fitted once for each draw, as an ensemble of its own. Rules then weigh what the
families say of held-out labels and of unlabeled rows, so that many of them can be compared in
seconds. Prints mean errors, and the largest loss to the max-margin graph cut on a set. Draws are
kept in a folder and not computed again; a draw of the league takes two minutes.
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
from graphmargin.margin.mixture_predictor import calibrated
from graphmargin.selection.ensemble import fit_ensemble, untested_calibration
from graphmargin.selection.ensemble_choice import TEMPER, family_weights
from graphmargin.selection.execution import Execution
from graphmargin.selection.families import DEFAULT_FAMILIES, named_family
from graphmargin.selection.held_out import default_held_out
from threadpoolctl import threadpool_limits

from benchmarks.league.sets import LEAGUE, LEVELS, OTHERS, make_draw
from benchmarks.measure import ROOT
from graphmargin._typing import BoolArray, FloatArray, IntArray
from graphmargin.labels import UNLABELED, encode_labels
from reproduction.section import markdown_table

OUT = ROOT / "out" / "benchmarks" / "ensemble-rules"
DRAWS = 3
CLUSTER_FAMILIES = ("cut", "harmonic")
FAMILIES = (*DEFAULT_FAMILIES, "supervised")
PLAIN = tuple(name for name in DEFAULT_FAMILIES if name != "linear-supervised")


@dataclass(frozen=True)
class Evidence:
    """The predictions of all families in a draw.

    Attributes
    ----------
    y : array of shape (n,)
        The classes of all rows.
    unlabeled : array of shape (n,)
        Mask of the rows without a label.
    log_likelihood : dict from str to float
        Log-likelihood of all held-out labels, for each family.
    distributions : dict from str to array of shape (n, c)
        Class probabilities of all rows, for each family.
    cluster_log_prior : float
        Logarithm of the prior of families that assume clusters.
    n_held_out : int
    """

    y: IntArray
    unlabeled: BoolArray
    log_likelihood: dict[str, float]
    distributions: dict[str, FloatArray]
    cluster_log_prior: float
    n_held_out: int

    def error(self, mixture: FloatArray) -> float:
        """Return the share of the unlabeled rows that a mixture gets wrong."""
        return float((mixture.argmax(axis=1) != self.y)[self.unlabeled].mean())


Rule = Callable[[Evidence], FloatArray]
"""Function from the evidence of a draw to class probabilities of its rows."""


def weighted(
    families: Sequence[str] = DEFAULT_FAMILIES, *, temper: float = TEMPER, clusters: float = 1.0
) -> Rule:
    """Return the rule with other families, another temper, or a multiple of the cluster prior."""

    def mix(evidence: Evidence) -> FloatArray:
        if not evidence.n_held_out:
            return untested(evidence, 1.0)
        log_prior = [
            clusters * evidence.cluster_log_prior * (name in CLUSTER_FAMILIES) for name in families
        ]
        log_likelihood = np.array([evidence.log_likelihood[name] for name in families])
        weights = family_weights(temper / TEMPER * log_likelihood, np.array(log_prior))
        return np.tensordot(weights, [evidence.distributions[name] for name in families], axes=1)

    return mix


def untested(evidence: Evidence, share: float) -> FloatArray:
    """Return the mixture without held-out labels.

    The harmonic solution is as confident as in the ensemble for a `share` of 1, as it is for 0, and
    as confident as the cut for inf, if there are three classes or more.
    """
    cut, graph = (evidence.distributions[name] for name in CLUSTER_FAMILIES)
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
    """Return the rule that takes one family."""
    return lambda evidence: evidence.distributions[name]


def hindsight(evidence: Evidence) -> FloatArray:
    """Return the best of the families, which only the labels of all rows can tell."""
    return min((evidence.distributions[name] for name in DEFAULT_FAMILIES), key=evidence.error)


RULES: dict[str, Rule] = {
    "**the rule**": weighted(),
    "temper 1/4": weighted(temper=1 / 4),
    "temper 1/2": weighted(temper=1 / 2),
    "temper 1 (Bayes)": weighted(temper=1.0),
    "equal weights": weighted(temper=0.0),
    "without the prior of clusters": weighted(clusters=0.0),
    "prior of clusters squared": weighted(clusters=2.0),
    "without `linear-supervised`": weighted(PLAIN),
    "with `supervised`": weighted(FAMILIES),
    "one label a class: harmonic solution as it is": with_untested(0.0),
    "one label a class: harmonic solution of 3 or more classes as confident as the cut": (
        with_untested(np.inf)
    ),
    "`cut` alone": single("cut"),
    "`harmonic` alone": single("harmonic"),
    "best family in hindsight": hindsight,
}


def measure(name: str, level: str, draw: int) -> Evidence | None:
    """Return the evidence of a draw, None if the set has too few rows."""
    made = make_draw(name, level, draw)
    if made is None:
        return None
    labels, execution = encode_labels(made.few), Execution(1, made.seed)
    held_out = default_held_out(labels, made.seed)
    fits = {
        family: fit_ensemble(made.X, labels, [named_family(family, labels)], held_out, execution)
        for family in FAMILIES
    }
    pair = [named_family(family, labels) for family in ("harmonic", "linear-supervised")]
    prior = fit_ensemble(made.X, labels, pair, held_out, execution).choice.log_prior
    return Evidence(
        y=made.y,
        unlabeled=made.few == UNLABELED,
        log_likelihood={
            family: float(fit.choice.label_log_likelihood.sum()) for family, fit in fits.items()
        },
        distributions={
            family: fit.label_distributions.astype(np.float32) for family, fit in fits.items()
        },
        cluster_log_prior=float(prior[0]),
        n_held_out=len(fits["cut"].choice.held_out_codes),
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
