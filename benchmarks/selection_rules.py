"""Rules that weigh candidates with few labels: that of `choose`, and alternatives.

Problems of two and of more classes, of at most 800 rows: parts of tables, and rows drawn from
distributions with and without clusters. Each draw trains max-margin graph cuts with an RBF kernel
for a grid of gamma_g (inf is supervised learning) and C, holds out labels fold by fold, and lets
every rule weigh the candidates by their answers to held-out labels. A table for each number of
labels has a row for each rule, with errors of its blend on the unlabeled rows:

- error: mean over problems and draws in percent;
- gain: by how many points it is below that of the blend of supervised candidates;
- worst loss: the mean over draws of the problem where it is furthest above supervised learning;
- worse: the number of problems where it is above by more than one point.

Candidates with normalized class mass belong to the rules where there are up to three labels a
class. With one label a class none can be held out, and all candidates are tied. About ten minutes,
by `python -m benchmarks.selection_rules`.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from joblib import Parallel, delayed
from scipy.special import logsumexp
from sklearn import datasets as tables
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from graphmargin.datasets import load_digits, load_letter, load_segmentation, mask_labels
from graphmargin.labels import encode_labels
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import subtract_center
from graphmargin.methods import Cut
from graphmargin.search.choice import Choice, error_rate
from graphmargin.search.data import TrainingData
from graphmargin.search.execution import Execution
from graphmargin.search.held_out import default_held_out
from graphmargin.search.parameters import GraphParameters, KernelParameters, WalkParameters
from graphmargin.search.trials import Trials, join_trials
from graphmargin.search.weighing import BLENDED_WEIGHT, SUPERVISED_PRIOR, choose
from reproduction.section import markdown_table

MAX_ROWS = 800
GAMMAS = (np.inf, 10.0, 1.0, 0.1, 0.01)
CS = (1.0, 10.0, 100.0)
CUT = Cut(
    WalkParameters(GraphParameters(n_neighbors=5)),
    KernelParameters(Kernel("rbf")),
    gamma_g=GAMMAS,
    C=CS,
)
"""The cut whose candidates the rules weigh."""
EQUAL = replace(CUT, gamma_g=GAMMAS[1:], loss_weights="equal")
"""Cuts with equal weights of the losses, for a rule of their own."""
FIXED = {"gamma_g": 0.1, "C": 10.0, "class_mass_normalization": False}
LABELS = (2, 10, 20, 100)
PER_CLASS = (1, 3, 10)
SUPERVISED = "supervised, blended"
HEAD = ("rule", "error", "gain", "worst loss", "worse")

Rows = tuple[np.ndarray, np.ndarray]


def part_of(
    load: Callable[..., Rows],
    *,
    classes: Sequence[int] | None = None,
    group: Callable[[np.ndarray], np.ndarray] | None = None,
    scale: bool = False,
    random_state: int,
) -> Rows:
    """Return some rows of a table: all classes, some of them, or groups of them."""
    X, y = load(return_X_y=True) if load.__module__.startswith("sklearn") else load()
    X, codes = StandardScaler().fit_transform(X) if scale else X, _codes(y)
    if classes is not None:
        X, codes = X[np.isin(codes, classes)], codes[np.isin(codes, classes)]
    rows = np.random.default_rng(random_state).permutation(len(X))[:MAX_ROWS]
    return X[rows], _codes(codes[rows] if group is None else group(codes[rows]))


def gaussians(*, dimension: int, distance: float, classes: int = 2, random_state: int) -> Rows:
    """Return classes that are one Gaussian each, with means in that distance from zero."""
    rng = np.random.default_rng(random_state)
    means = rng.normal(size=(classes, dimension))
    means *= distance / np.linalg.norm(means, axis=1, keepdims=True)
    if classes == 2:
        means[1] = -means[0]
    y = rng.integers(0, classes, MAX_ROWS)
    return rng.normal(size=(MAX_ROWS, dimension)) + means[y], y


def halfspaces(*, random_state: int) -> Rows:
    """Return the two sides of a plane through a cube, without a gap between them."""
    rng = np.random.default_rng(random_state)
    X = rng.uniform(-1, 1, size=(MAX_ROWS, 5))
    return X, (X @ rng.normal(size=5) > 0).astype(int)


def shells(*, classes: int, random_state: int) -> Rows:
    """Return a Gaussian in six dimensions, cut into classes of equal size by the radius."""
    X = np.random.default_rng(random_state).normal(size=(MAX_ROWS, 6))
    radii = (X**2).sum(axis=1)
    return X, np.digitize(radii, np.quantile(radii, np.arange(1, classes) / classes))


def noisy_circles(*, random_state: int) -> Rows:
    """Return two circles in a plane, with six dimensions of noise."""
    X, y = tables.make_circles(MAX_ROWS, noise=0.08, factor=0.5, random_state=random_state)
    return np.hstack([X, 0.15 * np.random.default_rng(random_state).normal(size=(len(X), 6))]), y


def clusters(*, random_state: int) -> Rows:
    """Return two classes of three clusters each."""
    rng = np.random.default_rng(random_state)
    centers, cluster = 2.2 * rng.normal(size=(6, 8)), rng.integers(0, 6, MAX_ROWS)
    return centers[cluster] + rng.normal(size=(MAX_ROWS, 8)), cluster % 2


hypercube = partial(tables.make_classification, MAX_ROWS)
scaled = partial(part_of, scale=True)
BINARY: dict[str, Callable[..., Rows]] = {
    "breast cancer": partial(scaled, tables.load_breast_cancer),
    "small digits 3/8": partial(part_of, tables.load_digits, classes=(3, 8)),
    "small digits, odd": partial(part_of, tables.load_digits, group=lambda codes: codes % 2),
    "letter E/F": partial(part_of, load_letter, classes=(4, 5)),
    "letter A-M/N-Z": partial(part_of, load_letter, group=lambda codes: codes < 13),
    "segmentation 2/4": partial(scaled, load_segmentation, classes=(2, 4)),
    "segmentation 0-2/3-6": partial(scaled, load_segmentation, group=lambda codes: codes < 3),
    "Gaussians, 20-D": partial(gaussians, dimension=20, distance=1.3),
    "Gaussians, 100-D": partial(gaussians, dimension=100, distance=2.0),
    "Gaussians, 2-D": partial(gaussians, dimension=2, distance=1.0),
    "halfspaces": halfspaces,
    "moons": partial(tables.make_moons, MAX_ROWS, noise=0.15),
    "noisy circles": noisy_circles,
    "hypercube": partial(hypercube, n_informative=6, n_redundant=4),
    "hypercube, apart": partial(
        hypercube, 15, n_informative=5, n_redundant=0, n_clusters_per_class=3, class_sep=2.0
    ),
    "hypercube, 12 %": partial(
        hypercube, 10, n_informative=4, weights=[0.88], class_sep=1.2, flip_y=0.01
    ),
    "ball in shell": partial(shells, classes=2),
    "clusters": clusters,
}
MULTI_CLASS: dict[str, Callable[..., Rows]] = {
    "letter": partial(part_of, load_letter),
    "digits": partial(part_of, load_digits),
    "segmentation": partial(scaled, load_segmentation),
    "wine": partial(scaled, tables.load_wine),
    "iris": partial(scaled, tables.load_iris),
    "five Gaussians": partial(gaussians, dimension=20, distance=np.sqrt(20), classes=5),
    "hypercube, four": partial(hypercube, n_informative=8, n_classes=4),
    "three shells": partial(shells, classes=3),
}


def bayes(
    choice: Choice,
    among: np.ndarray,
    *,
    supervised_share: float = SUPERVISED_PRIOR,
    with_shares: bool = True,
    kept: float = BLENDED_WEIGHT,
) -> np.ndarray:
    """Return weights by the rule of `choose` among some candidates, with variations."""
    supervised, graph = among & choice.trials.supervised, among & ~choice.trials.supervised
    prior = supervised / supervised.sum()
    if graph.any():
        prior = supervised_share * prior + (1 - supervised_share) * graph / graph.sum()
    evidence = choice.log_likelihood + (choice.share_log_likelihood if with_shares else 0.0)
    log_weights = np.log(prior[among]) + evidence[among]
    weights = np.zeros(len(among))
    weights[among] = np.exp(log_weights - logsumexp(log_weights))
    ordered = np.sort(weights)[::-1]
    least = ordered[np.cumsum(ordered) - ordered < kept - 1e-9].min()
    weights[weights < (1 - 1e-9) * least] = 0.0
    return weights / weights.sum()


def within(choice: Choice, among: np.ndarray, standard_errors: float) -> np.ndarray:
    """Return equal weights for candidates up to some standard errors behind the best one."""
    n, errors = len(choice.trials.held_out_codes), np.where(among, _errors(choice), np.inf)
    share = max(errors.min(), 1 / (n + 2))  # no error in n trials is not a share of zero
    step = standard_errors * np.sqrt(share * (1 - share) / max(n, 1))
    near = errors <= errors.min() + step + 1e-12
    return near / near.sum()


def rules(choice: Choice, equal: np.ndarray) -> dict[str, np.ndarray]:
    """Return the weights of all candidates by every rule.

    Candidates with equal loss weights belong to a rule of their own.
    """
    trials = choice.trials
    normalized = np.array([p["class_mass_normalization"] is not False for p in trials.params])
    ours, single = ~equal, np.eye(len(equal))
    first = np.where(ours, _errors(choice), np.inf).argmin()
    likely = np.where(ours, choice.log_likelihood, -np.inf).argmax()
    weights = {
        SUPERVISED: bayes(choice, trials.supervised),
        "fewest fold errors, first of ties": single[first],
        "fewest fold errors, mean of ties": within(choice, ours, 0.0),
        "within 1/4 standard error": within(choice, ours, 0.25),
        "within 1 standard error": within(choice, ours, 1.0),
        "largest likelihood": single[likely],
        "the rule": bayes(choice, ours),
        "- without class shares": bayes(choice, ours, with_shares=False),
        "- prior 1/3 for supervised": bayes(choice, ours, supervised_share=1 / 3),
        "- all candidates, not 90 %": bayes(choice, ours, kept=1.0),
        "- equal loss weights": bayes(choice, equal | trials.supervised),
    }
    if normalized.any():
        weights["- without normalized class mass"] = bayes(choice, ours & ~normalized)
    return weights | {"graph always: gamma_g = 0.1, C = 10": single[trials.params.index(FIXED)]}


def errors_of_rules(name: str, n_labels: int, draw: int) -> dict[str, float]:
    """Return the error of every rule on the unlabeled rows of one draw, in percent."""
    X, y = (BINARY | MULTI_CLASS)[name](random_state=draw)
    share = {"fraction": n_labels / len(y)} if name in BINARY else {"per_class": n_labels}
    few = mask_labels(y, **share, random_state=draw)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # components without labels are expected
        labels, execution = encode_labels(few), Execution(n_jobs=1, seed=draw)
        data = TrainingData(X, labels, default_held_out(labels, draw), execution)
        ours, equal = (cut.try_(data, cut.candidates(data), None) for cut in (CUT, EQUAL))
        unlabeled = few == -1
        columns = np.concatenate([columns_at(data, part, unlabeled) for part in (ours, equal)])
    counts, n_ours = data.label_counts, len(ours.params)
    choice = choose(join_trials([ours, equal]), counts)
    weights = rules(choice, np.arange(len(columns)) >= n_ours)
    np.testing.assert_allclose(  # the rule that is varied is that of the library
        weights["the rule"][:n_ours], choose(ours, counts).weights, atol=1e-9
    )
    at_unlabeled = replace(choice.trials, held_out_values=columns)
    return {
        rule: 100 * error_rate(at_unlabeled.scores(rule_weights), y[unlabeled])
        for rule, rule_weights in weights.items()
    }


def columns_at(data: TrainingData, trials: Trials, rows: np.ndarray) -> np.ndarray:
    """Return f of every candidate and pair of classes at some rows, in units of its scale.

    Machines of trials have learned from all rows, because problems have no more than 800.
    """
    machines, X = trials.details.machines, subtract_center(data.X, trials.details.center)
    K = data.kernel(CUT.kernel, CUT.walk.graph)(X[rows], X)
    return np.array([m.pairwise(K) / s for m, s in zip(machines, trials.scales, strict=True)])


def summary(names: Sequence[str], draws: Sequence[dict[str, float]]) -> str:
    """Return a table of errors by rule, from all draws of one problem after the other."""
    all_errors = np.array([[*errors.values()] for errors in draws])
    means = all_errors.reshape(len(names), -1, all_errors.shape[1]).mean(axis=1)
    losses = means - means[:, [list(draws[0]).index(SUPERVISED)]]
    lines = []
    for rule, error, loss in zip(draws[0], means.T, losses.T, strict=True):
        worst = f"{loss.max():+z.1f} ({names[loss.argmax()]})"
        compared = [f"{-loss.mean():+z.2f}", worst, f"{(loss > 1).sum()} of {len(names)}"]
        lines.append(
            [rule, f"{error.mean():.2f}", *(compared if rule != SUPERVISED else ["", "", ""])]
        )
    return markdown_table(HEAD, lines)


def main() -> None:
    """Print a table for each number of labels."""
    all_names = [*BINARY, *MULTI_CLASS]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.selection_rules")
    parser.add_argument("--draws", type=int, default=6, help="of labels and rows, a problem")
    parser.add_argument("--jobs", type=int, default=2, help="processes, with one thread each")
    parser.add_argument(
        "--problems", nargs="+", choices=all_names, default=all_names, metavar="NAME"
    )
    given = parser.parse_args()
    with Parallel(n_jobs=given.jobs) as parallel:
        for title, group, numbers in (
            ("{} labels, two classes", BINARY, LABELS),
            ("{} a class, three classes or more", MULTI_CLASS, PER_CLASS),
        ):
            names = [name for name in given.problems if name in group]
            for labels in numbers if names else ():
                draws = parallel(
                    delayed(errors_of_rules)(name, labels, draw)
                    for name in names
                    for draw in range(given.draws)
                )
                print(f"## {title.format(labels)}\n\n{summary(names, draws)}\n", flush=True)


def _errors(choice: Choice) -> np.ndarray:
    """Return fold errors, all the same where no label could be held out."""
    return np.nan_to_num(choice.errors)


def _codes(y: np.ndarray) -> np.ndarray:
    return np.unique(y, return_inverse=True)[1]


if __name__ == "__main__":
    main()
