"""Errors after labels that were chosen in three ways, one of them `suggest_labels`.

Starts with one or two labels a class, fits `MaxMarginGraphCut`, labels a batch of rows and fits
again, round by round. Rows are chosen at random, by the lowest confidence of the fitted classifier,
or by `suggest_labels` on its harmonic solution. Prints the errors on the rows without a label, in
percent, means over the draws, and how many times as many labels random choice needs for the
error at the end of the suggestions, first labels included. Random choice has twice the rounds of
the others; if it does not reach that error, the factor is a lower bound.

Draws 0 and 1 were used to develop the rule and are not among these. Every draw has rows, first
labels and random choices of its own; results are appended to ``out/benchmarks/suggestions.json``.
A quarter of an hour on two cores, by `python -m benchmarks.suggestions`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, parallel_config
from sklearn.preprocessing import StandardScaler

from benchmarks.session import RESULTS, environment, store
from graphmargin import MaxMarginGraphCut
from graphmargin.datasets import load_digits, load_letter, load_segmentation, mask_labels
from graphmargin.harmonic import suggest_labels

DRAWS = (2, 3, 4, 5, 6)
ROWS = 3000
ROUNDS = 5
RULES = ("random", "lowest confidence", "suggestions")


class Problem(NamedTuple):
    """A table, labels a class to start with and labels in a round."""

    load: Callable[[], tuple[np.ndarray, np.ndarray]]
    per_class: int
    batch: int


def _scaled_segmentation() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_segmentation()
    return StandardScaler().fit_transform(X), y


PROBLEMS = {
    "digits": Problem(load_digits, 1, 10),
    "segmentation": Problem(_scaled_segmentation, 1, 14),
    "letter": Problem(load_letter, 2, 26),
}


class Curve(NamedTuple):
    """Numbers of labels and the errors on all other rows."""

    labels: list[int]
    errors: list[float]


def main() -> None:
    """Run all draws, store their curves and print a table for each problem."""
    session = environment()
    runs = [(name, rule, draw) for draw in DRAWS for name in PROBLEMS for rule in RULES]
    curves: dict[tuple[str, str, int], Curve] = {}
    with parallel_config("loky", inner_max_num_threads=1):
        drawn = Parallel(n_jobs=-1, return_as="generator")(delayed(_draw)(*run) for run in runs)
        for run, curve in zip(runs, drawn, strict=True):
            curves[run] = curve
            keys = dict(zip(("problem", "rule", "draw"), run, strict=True))
            store(keys | curve._asdict() | {"session": session}, RESULTS / "suggestions.json")
    for name in PROBLEMS:
        print(table(name, {rule: [curves[name, rule, draw] for draw in DRAWS] for rule in RULES}))


def _draw(name: str, rule: str, draw: int) -> Curve:
    problem = PROBLEMS[name]
    X, y = problem.load()
    rows = np.random.default_rng(draw).permutation(len(y))[:ROWS]
    X, y = np.asarray(X[rows], dtype=np.float64), np.unique(y[rows], return_inverse=True)[1]
    few = mask_labels(y, per_class=problem.per_class, random_state=draw)
    rounds = 2 * ROUNDS if rule == "random" else ROUNDS
    with warnings.catch_warnings():
        # Components without a label are expected.
        warnings.simplefilter("ignore", UserWarning)
        return label_in_rounds(X, y, few, rule, rounds=rounds, batch=problem.batch, seed=draw)


def label_in_rounds(
    X: np.ndarray, y: np.ndarray, few: np.ndarray, rule: str, *, rounds: int, batch: int, seed: int
) -> Curve:
    """Return the errors of the classifier, at first and after every round of labels."""
    few, random, curve = few.copy(), np.random.default_rng(seed), Curve([], [])
    for number in range(rounds + 1):
        model = MaxMarginGraphCut(random_state=0).fit(X, few)
        hidden = few < 0
        curve.labels.append(int((~hidden).sum()))
        curve.errors.append(float(np.mean(model.transduction_[hidden] != y[hidden])))
        if number < rounds:
            rows = choose(rule, model, np.flatnonzero(hidden), batch, random)
            few[rows] = y[rows]
    return curve


def choose(
    rule: str, model: Any, hidden: np.ndarray, batch: int, random: np.random.Generator
) -> np.ndarray:
    """Return the rows to label next."""
    if rule == "random":
        return random.permutation(hidden)[:batch]
    if rule == "lowest confidence":
        return hidden[np.argsort(model.confidence_[hidden], kind="stable")[:batch]]
    return suggest_labels(model.harmonic_solution_, batch).vertices


def label_factor(random: Curve, suggested: Curve) -> tuple[float, bool]:
    """Return how many times the labels of `suggested` random choice needs, and if that is exact.

    Labels are interpolated between rounds. If no round is as good as the last one of the
    suggestions, the labels of the last round of random choice count.
    """
    goal, spent = suggested.errors[-1], suggested.labels[-1]
    errors, labels = random.errors, random.labels
    if errors[0] <= goal:
        return labels[0] / spent, True
    for i in range(1, len(errors)):
        if errors[i] <= goal:
            share = (errors[i - 1] - goal) / (errors[i - 1] - errors[i])
            return (labels[i - 1] + share * (labels[i] - labels[i - 1])) / spent, True
    return labels[-1] / spent, False


def table(name: str, curves: dict[str, list[Curve]]) -> str:
    """Return the mean errors, a line for each rule, and the factor, as Markdown."""
    labels = curves["random"][0].labels
    lines = [
        f"| {name}, labels | {' | '.join(map(str, labels))} |",
        f"|---|{'---:|' * len(labels)}",
    ]
    for rule, draws in curves.items():
        means = 100 * np.mean([curve.errors for curve in draws], axis=0)
        cells = [f"{mean:.1f}" for mean in means] + [""] * (len(labels) - len(means))
        lines.append(f"| {rule} | {' | '.join(cells)} |")
    pairs = zip(curves["random"], curves["suggestions"], strict=True)
    factors, reached = zip(*(label_factor(*pair) for pair in pairs), strict=True)
    listed = ", ".join(
        f"{'' if is_there else '> '}{factor:.1f}"
        for factor, is_there in zip(factors, reached, strict=True)
    )
    least = "" if all(reached) else "at least "
    lines.append(
        f"\nRandom choice needs {least}{np.mean(factors):.1f} times the labels ({listed})\n"
    )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
