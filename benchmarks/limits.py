"""The tables of `docs/limits.md`: how often and how far predictions fail.

Handwritten digits (1,500 rows to fit, 1,000 new ones), patients, and generated problems. A line is
a mean of five or ten draws of rows and labels.

`python -m benchmarks.limits` takes five minutes, `python -m benchmarks.limits drift` prints one.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler

from benchmarks.safety.problems import make_problem
from graphmargin import (
    HarmonicClassifier,
    MaxMarginGraphCut,
    SemiSupervisedEnsemble,
    SupervisedSVC,
    harmonic_solution,
    knn_graph,
    suggest_labels,
)
from graphmargin.datasets import load_digits, mask_labels

DRAWS = 5
ROWS = 1500
NEW = 1000
Draw = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.random.Generator]


def draws() -> Iterator[Draw]:
    """Yield rows, their digits, new rows, their digits, and a random generator."""
    X, y = load_digits()
    for draw in range(DRAWS):
        random = np.random.default_rng(draw)
        rows = random.permutation(len(y))
        train, new = rows[:ROWS], rows[ROWS : ROWS + NEW]
        yield X[train], y[train], X[new], y[new], random


def keep_labels(y: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the labels of these rows, and -1 for all others."""
    few = np.full(len(y), -1)
    few[rows] = y[rows]
    return few


def add_suggested(X: np.ndarray, y: np.ndarray, few: np.ndarray, count: int) -> np.ndarray:
    """Return the labels after `count` rows that are suggested, ten at a time, were labeled."""
    W = knn_graph(X)
    for _ in range(count // 10):
        wanted = suggest_labels(harmonic_solution(W, few, gamma_g=0.1), 10).vertices
        few = few.copy()
        few[wanted] = y[wanted]
    return few


def error(model: MaxMarginGraphCut, y: np.ndarray, few: np.ndarray) -> float:
    """Return the share of rows without a label whose label is wrong."""
    hidden = few == -1
    return float((model.transduction_[hidden] != y[hidden]).mean())


def line(name: str, values: np.ndarray, unit: str = "%") -> None:
    """Print the means over the draws."""
    cells = "".join(f"{value:>12.1f}" for value in np.mean(values, axis=0))
    print(f"  {name:<34}{cells} {unit}")


def estimate() -> None:
    """Print the estimated error beside the true one, for labels that were chosen in four ways."""
    print("estimate: digits, 50 labels; estimated error, true error of the other rows")
    results: dict[str, list[list[float]]] = {
        name: [] for name in ("at random", "five a class", "easy rows", "suggested rows")
    }
    for X, y, _, _, random in draws():
        middle = np.array([X[y == k].mean(axis=0) for k in range(10)])
        distance = np.linalg.norm(X - middle[y], axis=1)
        easy = np.concatenate(
            [np.flatnonzero(y == k)[np.argsort(distance[y == k])[:20]] for k in range(10)]
        )
        chosen = {
            "at random": mask_labels(y, fraction=50 / ROWS, random_state=random.integers(10**6)),
            "five a class": mask_labels(y, per_class=5, random_state=random.integers(10**6)),
            "easy rows": keep_labels(
                y, easy[mask_labels(y[easy], per_class=5, random_state=random.integers(10**6)) >= 0]
            ),
            "suggested rows": add_suggested(X, y, mask_labels(y, per_class=2, random_state=0), 30),
        }
        for name, few in chosen.items():
            model = MaxMarginGraphCut().fit(X, few)
            results[name].append([100 * model.choice_.error, 100 * error(model, y, few)])
    for name, values in results.items():
        line(name, np.array(values))
    print("estimate: the same for other tables, 100 labels at random")
    for name in ("letter", "segmentation", "gaussians-50", "crossed-clusters"):
        pairs = []
        for draw in range(DRAWS):
            table = make_problem(name, draw)
            few = mask_labels(table.y, fraction=100 / len(table.y), random_state=draw)
            model = MaxMarginGraphCut().fit(table.X, few)
            pairs.append([100 * model.choice_.error, 100 * error(model, table.y, few)])
        line(name, np.array(pairs))


def classes() -> None:
    """Print errors by class: a rare class that overlaps with a frequent one, and the digits."""
    print("classes: errors of the frequent and of the rare class, share of rows called rare")
    names = ("10 labels, SVM", "10 labels, cut", "10 labels, cut, known shares")
    names += ("100 labels, SVM", "100 labels, cut", "100 labels, cut, known shares")
    results: dict[str, list[list[float]]] = {name: [] for name in names}
    for draw in range(DRAWS):
        table = make_problem("imbalanced", draw)
        X, y = table.X, table.y
        for n in (10, 100):
            few = mask_labels(y, fraction=n / len(y), random_state=draw)
            hidden = few == -1
            for name, model in {
                "SVM": SupervisedSVC(C="auto"),
                "cut": MaxMarginGraphCut(),
                "cut, known shares": MaxMarginGraphCut(class_mass_normalization=[10, 1]),
            }.items():
                now = model.fit(X, few).predict(X[hidden])
                wrong = now != y[hidden]
                parts = [wrong[y[hidden] == 0].mean(), wrong[y[hidden] == 1].mean(), now.mean()]
                results[f"{n} labels, {name}"].append([100 * float(part) for part in parts])
    for name, values in results.items():
        line(name, np.array(values))
    print("classes: digits, five labels a class; all rows, the best and the worst digit")
    parts = []
    for X, y, _, _, random in draws():
        few = mask_labels(y, per_class=5, random_state=random.integers(10**6))
        hidden = few == -1
        wrong = MaxMarginGraphCut().fit(X, few).transduction_[hidden] != y[hidden]
        each = [100 * float(wrong[y[hidden] == k].mean()) for k in range(10)]
        parts.append([100 * float(wrong.mean()), min(each), max(each)])
    line("cut", np.array(parts))


def wrong_labels() -> None:
    """Print errors after learning from labels of which some are wrong."""
    print("wrong labels: digits, ten labels a class, so many percent wrong; error of other rows")
    heads = ("cut", "estimated", "cut, soft", "harmonic", "soft", "SVM")
    print(f"  {'':<34}{''.join(f'{head:>12}' for head in heads)}")
    shares = (0, 5, 10, 20, 40)
    results: dict[int, list[list[float]]] = {share: [] for share in shares}
    for X, y, _, _, random in draws():
        few = mask_labels(y, per_class=10, random_state=random.integers(10**6))
        labeled = random.permutation(np.flatnonzero(few >= 0))
        shift = random.integers(1, 10, size=len(labeled))
        for share in shares:
            given = few.copy()
            changed = labeled[: len(labeled) * share // 100]
            given[changed] = (given[changed] + shift[: len(changed)]) % 10
            cut = MaxMarginGraphCut().fit(X, given)
            others = (
                MaxMarginGraphCut(c_labeled=1.0),
                HarmonicClassifier(),
                HarmonicClassifier(c_labeled=1.0),
            )
            hidden = few == -1
            alone = SupervisedSVC(C="auto").fit(X, given).predict(X[hidden])
            errors = [
                *(error(cut, y, few), cut.choice_.error),
                *(error(other.fit(X, given), y, few) for other in others),
                float((alone != y[hidden]).mean()),
            ]
            results[share].append([100 * float(value) for value in errors])
    for share, values in results.items():
        line(f"{share} % wrong", np.array(values))


def one_label() -> None:
    """Print the number of rows whose label changes with one wrong label."""
    print("one label: digits, three labels a class, one of them wrong; rows of 1,500 that change")
    print(f"  {'':<34}{'mean':>12}{'worst':>12}")
    moved = []
    for X, y, _, _, random in draws():
        few = mask_labels(y, per_class=3, random_state=random.integers(10**6))
        before = HarmonicClassifier().fit(X, few).transduction_
        counts = []
        for row in np.flatnonzero(few >= 0):
            given = few.copy()
            given[row] = (given[row] + random.integers(1, 10)) % 10
            counts.append((HarmonicClassifier().fit(X, given).transduction_ != before).sum() - 1)
        moved.append([float(np.mean(counts)), float(np.max(counts))])
    line("harmonic solution, gamma_g = 0.1", np.array(moved), "rows")


def shift_right(X: np.ndarray) -> np.ndarray:
    """Return the images, shifted by one pixel to the right."""
    images = X.reshape(-1, 8, 8)
    moved = np.zeros_like(images)
    moved[:, :, 1:] = images[:, :, :-1]
    return moved.reshape(X.shape)


def drift() -> None:
    """Print errors and confidences for rows that differ from the training rows."""
    print("drift: digits, 50 labels; error, mean confidence, share surer than half of the new rows")
    results: dict[str, list[list[float]]] = {}
    for X, y, new, truth, random in draws():
        model = MaxMarginGraphCut().fit(X, mask_labels(y, per_class=5, random_state=0))
        kinds = {
            "new rows": new,
            "half as bright": 0.5 * new,
            "moved by a pixel": shift_right(new),
            "pixels in another order": new[:, random.permutation(64)],
            "random pixels": random.integers(0, 17, size=new.shape).astype(float),
            "ten times as bright": 10 * new,
        }
        usual = model.predict_proba(new).max(axis=1)
        for name, rows in kinds.items():
            confidence = model.predict_proba(rows).max(axis=1)
            wrong = float((model.predict(rows) != truth).mean())
            above = float((confidence > np.median(usual)).mean())
            cells = [100 * wrong, 100 * float(confidence.mean()), 100 * above]
            results.setdefault(name, []).append(cells)
    for name, values in results.items():
        line(name, np.array(values))


def feedback() -> None:
    """Print errors of models that learn from their own predictions."""
    print("feedback: digits, two labels a class, then the surest rows of the model as labels")
    print(f"  {'':<34}{'labels':>12}{'error':>12}{'estimated':>12}")
    results: dict[str, list[list[float]]] = {}
    for X, y, _, _, random in draws():
        few = mask_labels(y, per_class=2, random_state=random.integers(10**6))
        hidden, given = few == -1, few.copy()
        for turn in range(3):
            model = MaxMarginGraphCut().fit(X, given)
            wrong = float((model.predict(X[hidden]) != y[hidden]).mean())
            cells = [float((given >= 0).sum()), 100 * wrong, 100 * model.choice_.error]
            results.setdefault(f"fit {turn + 1}", []).append(cells)
            order = np.argsort(-np.where(given >= 0, -1.0, model.confidence_), kind="stable")
            given[order[:200]] = model.transduction_[order[:200]]
    for name, values in results.items():
        line(name, np.array(values))


def model_file() -> None:
    """Print the share of the training rows that a model file contains."""
    print("model file: digits, 50 labels; share of the 1,500 training rows that are in it")
    results: dict[str, list[list[float]]] = {"MaxMarginGraphCut": [], "HarmonicClassifier": []}
    results["MaxMarginGraphCut, linear"] = []
    for X, y, _, _, random in draws():
        few = mask_labels(y, per_class=5, random_state=random.integers(10**6))
        for name, kernel in (("MaxMarginGraphCut", "rbf"), ("MaxMarginGraphCut, linear", "linear")):
            vectors = MaxMarginGraphCut(kernel=kernel).fit(X, few).predictor_.part.machine.vectors
            inside = set()
            if vectors is not None:  # a linear machine has the weights of features alone
                inside = {row.tobytes() for row in vectors.astype(X.dtype)}
            share = np.mean([row.tobytes() in inside for row in X])
            results[name].append([100 * float(share)])
        points = HarmonicClassifier().fit(X, few).predictor_.part.points
        results["HarmonicClassifier"].append([100.0 * points.search.X.shape[0] / len(X)])
    for name, values in results.items():
        line(name, np.array(values))


def no_clusters() -> None:
    """Print errors on a table without clusters, of patients with diabetes."""
    print("no clusters: diabetes, 20 labels at random, ten draws; errors of the other rows")
    print(f"  {'':<34}{'harmonic':>12}{'cut, 0.1':>12}{'cut':>12}{'SVM':>12}")
    table = load_diabetes()
    X = StandardScaler().fit_transform(table.data)
    y = np.where(table.target > np.median(table.target), "fast", "slow")
    errors = []
    for draw in range(2 * DRAWS):
        few = mask_labels(y, fraction=20 / len(y), random_state=draw)
        models = (
            HarmonicClassifier(),
            MaxMarginGraphCut(gamma_g=0.1, C=10.0),
            MaxMarginGraphCut(),
            SupervisedSVC(C="auto"),
        )
        hidden = few == ""
        wrong_rows = [model.fit(X, few).predict(X[hidden]) != y[hidden] for model in models]
        errors.append([100 * float(wrong.mean()) for wrong in wrong_rows])
    line("mean", np.array(errors))
    spread = np.std(np.array(errors) - np.array(errors)[:, -1:], axis=0, ddof=1)
    line("standard error against SVM", spread[None] / np.sqrt(len(errors)))


def row_order() -> None:
    """Print how far probabilities change if rows, with the same folds, come in another order."""
    print("order of rows: 60 problems of 60 rows, 4 features and 3 classes, 12 labels in 4 folds")
    for name in ("different rows", "rows that occur up to nine times"):
        differences, changed = [], 0
        for draw in range(60):
            random = np.random.default_rng([7, draw])
            y = np.arange(60) % 3
            X = 2.0 * random.normal(size=(3, 4))[y] + random.normal(size=(60, 4))
            if name != "different rows":
                X = X[random.integers(15, size=60)]
            few = np.where(np.arange(60) < 12, y, -1)
            order = random.permutation(60)
            place = np.argsort(order)
            folds = [np.arange(12)[k::4] for k in range(4)]
            fitted = [
                SemiSupervisedEnsemble(cv=[([], fold) for fold in folds]).fit(X, few),
                SemiSupervisedEnsemble(cv=[([], place[fold]) for fold in folds]).fit(
                    X[order], few[order]
                ),
            ]
            first, second = (model.predict_proba(X) for model in fitted)
            differences.append(float(np.abs(first - second).max()))
            changed += int((first.argmax(axis=1) != second.argmax(axis=1)).any())
        print(
            f"  {name}: largest difference {max(differences):.3f}, above 0.02 in "
            f"{np.sum(np.array(differences) > 0.02)} problems, other labels in {changed}"
        )


PARTS: dict[str, Callable[[], None]] = {
    "estimate": estimate,
    "classes": classes,
    "wrong-labels": wrong_labels,
    "one-label": one_label,
    "drift": drift,
    "feedback": feedback,
    "model-file": model_file,
    "no-clusters": no_clusters,
    "row-order": row_order,
}


def main() -> None:
    """Print the tables that the command line names, or all."""
    names = sys.argv[1:] or list(PARTS)
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        sys.exit(f"unknown table {unknown[0]!r}; tables are {', '.join(PARTS)}")
    warnings.filterwarnings("ignore", message=".*components of the graph without a label")
    for name in names:
        PARTS[name]()


if __name__ == "__main__":
    main()
