"""Errors of ways to compare many classes, on the same labels: why shortlists of pairs are used.

    python -m benchmarks.many_classes

One SVM is trained on the labels of each table, of 26 to 104 classes. Printed are errors in percent
on the other rows: by the coupling of all pairs of classes, by that of a shortlist, by the largest
sum of f over the pairs of a class, and by one machine for each class against all others.
"""

from __future__ import annotations

import numpy as np
from sklearn.cluster import KMeans
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from graphmargin._typing import FloatArray, IntArray
from graphmargin.datasets import load_digits, load_letter, mask_labels
from graphmargin.graph.weights import paper_width
from graphmargin.margin import Kernel, train_machine
from graphmargin.margin.coupling import class_scores, mean_sizes, scales_of_pairs

N_DRAWS = 2
C = 10.0
Table = tuple[FloatArray, IntArray]


def parts_of_letters(n_parts: int, seed: int) -> Table:
    """Return 3,000 letters, each letter in parts by k-means, which are classes of their own."""
    X, letters = load_letter()
    y = np.empty(len(letters), dtype=np.int64)
    for number, letter in enumerate(np.unique(letters)):
        rows = np.flatnonzero(letters == letter)
        parts = KMeans(n_parts, n_init=1, random_state=0).fit_predict(X[rows]) if n_parts > 1 else 0
        y[rows] = n_parts * number + parts
    rows = np.random.default_rng(seed).permutation(len(y))[:3000]
    return X[rows].astype(np.float64), y[rows]


def two_digits(n_classes: int, seed: int) -> Table:
    """Return pictures of two digits side by side, whose class is their number below `n_classes`."""
    X, y = load_digits()
    random = np.random.default_rng(seed)
    left, right = random.integers(len(y), size=(2, 300_000 // n_classes))
    numbers = 10 * y[left] + y[right]
    rows = np.flatnonzero(numbers < n_classes)[:3000]
    return np.hstack([X[left[rows]], X[right[rows]]]).astype(np.float64), numbers[rows]


TABLES = {
    "letters": lambda seed: parts_of_letters(1, seed),
    "two parts of each letter": lambda seed: parts_of_letters(2, seed),
    "four parts of each letter": lambda seed: parts_of_letters(4, seed),
    "numbers below 50": lambda seed: two_digits(50, seed),
    "numbers below 100": lambda seed: two_digits(100, seed),
}


def errors(X: FloatArray, y: IntArray, few: IntArray, kind: str) -> list[float]:
    """Return the errors in percent of all ways to compare the classes."""
    labeled, kernel = few >= 0, Kernel(kind, width=paper_width(X))  # type: ignore[arg-type]
    given, new, n_classes = few[labeled], X[~labeled], int(y.max()) + 1
    machine = train_machine(X[labeled], given, kernel, C=C)
    f = machine.pairwise(new)
    units = scales_of_pairs(mean_sizes(f))
    shortlisted = machine.scores(new, units)
    one_vs_rest = OneVsRestClassifier(SVC(kernel=kind, C=C, gamma=0.5))
    one_vs_rest.fit(X[labeled] / kernel.width, given)
    scores = (
        class_scores(f, n_classes, units),
        shortlisted,
        machine.class_sums(new, units),
        one_vs_rest.decision_function(new / kernel.width),
    )
    return [100 * float((part.argmax(axis=1) != y[~labeled]).mean()) for part in scores]


def main() -> None:
    """Print a line for each table, number of labels and kernel."""
    print("table, classes, labels a class, kernel: all pairs, shortlist, sums, one-vs-rest")
    for name, load in TABLES.items():
        for per_class in (3, 10):
            for kind in ("rbf", "linear"):
                draws = []
                for seed in range(N_DRAWS):
                    X, y = load(seed)
                    y = np.unique(y, return_inverse=True)[1]
                    few = mask_labels(y, per_class=per_class, random_state=seed)
                    draws.append(errors(X, y, few, kind))
                means = "  ".join(f"{value:.1f}" for value in np.mean(draws, axis=0))
                print(f"{name}, {y.max() + 1}, {per_class}, {kind}: {means}", flush=True)


if __name__ == "__main__":
    main()
