"""Record the results of the classifiers on fixed problems, and compare two such records.

A change that should keep all results is checked against a record of the code before it. On any
machine, from a clone, the reference is made by the old code in a worktree of its own:

    git worktree add ../base 17d394f
    PYTHONPATH=../base/src python tools/golden_record.py record old.npz
    PYTHONPATH=src python tools/golden_record.py record new.npz
    python tools/golden_record.py compare old.npz new.npz

Make both records on the same machine, because rounding depends on it. A record takes about two
minutes on one core. The cases are written for classifiers whose parameters may be lists of
candidates; `fit` translates them for the code of 17d394f, which has a class for each search,
the parameter `affinity` beside `W`, and the name "cubic" for "poly".

`compare` prints a line for each entry that differs by more than rounding. Labels, masks and texts
must be equal. Other numbers may differ by `ROUNDING` times the largest number of the entry. The
command ends with 1 if an entry differs or is missing, and `record` does if a case fails.
"""

from __future__ import annotations

import argparse
import inspect
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix
from scipy.spatial.distance import cdist
from threadpoolctl import threadpool_limits

import graphmargin as gm
from graphmargin.margin import kernels

ROUNDING = 1e-9
"""Difference, relative to the largest number of an entry, up to which entries are equal."""
SMALL = 1e-6
"""Relative difference up to which entries that are not equal are listed as small."""


class Problem(NamedTuple):
    """Partly labeled rows, new rows, validation rows with their labels, and a graph if given."""

    X: Any
    y: Any
    new: Any
    validation: Any
    W: Any = None

    @property
    def trust(self) -> Any:
        """Weights of soft labels, one for each row."""
        return np.linspace(1, 100, len(self.y))


def table(name: str, n: int, per_class: int, classes: Any = None) -> Problem:
    """Return n random rows of a table of the package with standardized columns."""
    X, y = getattr(gm.datasets, f"load_{name}")()
    kept = np.flatnonzero(np.isin(y, y if classes is None else classes))
    rows = np.random.default_rng(0).permutation(kept)
    X, y = (X[rows] - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9), y[rows]
    few = gm.datasets.mask_labels(y[:n], per_class=per_class, random_state=0)
    return Problem(X[:n], few, X[n : n + 200], (X[-100:], y[-100:]))


def lattices(*, with_graph: bool) -> Problem:
    """Return the lattices of the paper, with their own graph or without."""
    X, y, y_true, W = gm.datasets.make_lattices()
    return Problem(X, y, X + 0.25, (X[::10], y_true[::10]), W if with_graph else None)


def text() -> Problem:
    """Return sparse term counts of documents on three topics that share most of their words."""
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(800, 0.1), 4)
    y = rng.integers(3, size=900)
    X = csr_matrix([rng.multinomial(60, 0.3 * topics[k] + 0.7 * topics[3]) for k in y], dtype=float)
    names = np.array(["economy", "politics", "sport"])[y]
    few = gm.datasets.mask_labels(names[:600], per_class=4, random_state=0)
    return Problem(X[:600], few, X[600:800], (X[800:], names[800:]))


def blobs(n: int) -> Problem:
    """Return n rows in six clusters of two classes; the labels are Python objects."""
    rng = np.random.default_rng(0)
    cluster = rng.integers(6, size=n + 300)
    X = rng.normal(scale=3, size=(6, 3))[cluster] + rng.normal(size=(n + 300, 3))
    names = np.array(["even", "odd"], dtype=object)[cluster % 2]
    y = np.where(np.arange(n) % (n // 24) == 0, names[:n], None)
    return Problem(X[:n], y, X[n : n + 200], (X[n + 200 :], names[n + 200 :]))


def precomputed_graph() -> Problem:
    """Return the graph of the digits in place of their rows, and the edges of new rows."""
    X, y, new, validation, _ = problem("digits")
    edges, validation_edges = (np.exp(-(cdist(A, X) ** 2) / 20) for A in (new, validation[0]))
    return Problem(gm.knn_graph(X, 6, n_jobs=1), y, edges, (validation_edges, validation[1]))


def precomputed_kernel() -> Problem:
    """Return a kernel matrix of two digits in place of their rows, and their graph."""
    X, y, new, validation, _ = problem("digits pair")
    K, K_new, K_validation = ((A @ X.T / 64 + 1) ** 2 for A in (X, new, validation[0]))
    return Problem(K, y, K_new, (K_validation, validation[1]), gm.knn_graph(X, 6, n_jobs=1))


PROBLEMS = {
    "digits": lambda: table("digits", 800, 5),
    "digits, one label a class": lambda: table("digits", 800, 1),
    "digits pair": lambda: table("digits", 500, 4, (4, 9)),
    "letter": lambda: table("letter", 1200, 4),
    "letter trio": lambda: table("letter", 600, 6, ("A", "B", "R")),
    "letter, landmarks": lambda: table("letter", 11_000, 5),
    "segmentation": lambda: table("segmentation", 1200, 4),
    "lattices": lambda: lattices(with_graph=True),
    "lattices without graph": lambda: lattices(with_graph=False),
    "text": text,
    "objects": lambda: blobs(400),
    "blobs, landmarks": lambda: blobs(12_000),
    "blobs, sampled trials": lambda: blobs(50_500),
    "precomputed graph": precomputed_graph,
    "precomputed kernel": precomputed_kernel,
}


@cache
def problem(name: str) -> Problem:
    """Return a problem by its name."""
    return PROBLEMS[name]()


CUT, HARMONIC, MANIFOLD = "MaxMarginGraphCut", "HarmonicClassifier", "ManifoldSVC"
S3VM, SVC = "SemiSupervisedSVC", "SupervisedSVC"
FIXED = {"gamma_g": 0.1, "C": 10.0}
BOTH: tuple[dict[str, Any], ...] = ({}, FIXED)
CHOSEN_U = {"gamma_u": "auto", "C": "auto"}
LISTS_G = {"gamma_g": [0.01, 0.1, 1.0, np.inf], "C": [1.0, 10.0]}
LISTS_U = {"gamma_u": [0.0, 0.001, 0.01, 0.1], "C": [1.0, 10.0]}
COSINE = {"kernel": "linear", "metric": "cosine"}
AUTO, GRAPH, KERNEL = {"gamma_g": "auto"}, {"affinity": "precomputed"}, {"kernel": "precomputed"}
CVS = (5, "loo", "@validation")
KERNELS = ("linear", "poly")
ROWS = [name for name in PROBLEMS if not name.startswith("precomputed")]
FEW = ("digits pair", "letter trio", "lattices without graph", "objects")

CASES: list[tuple[str, str, dict[str, Any]]] = [
    # The max-margin graph cut with chosen and fixed parameters.
    *((name, CUT, params) for params in BOTH for name in ROWS),
    *(("precomputed kernel", CUT, KERNEL | params) for params in BOTH),
    *(("text", CUT, COSINE | params) for params in (*BOTH, {"width": 2.0})),
    *(("digits", CUT, {"kernel": kernel}) for kernel in KERNELS),
    *(("digits pair", CUT, FIXED | {"kernel": kernel}) for kernel in KERNELS),
    ("lattices", CUT, FIXED | {"kernel": "linear", "loss_weights": "equal"}),
    *(("digits", CUT, params | {"n_jobs": 2}) for params in BOTH),
    *(("letter trio", CUT, params | {"approximation": "nystroem"}) for params in BOTH),
    ("blobs, landmarks", CUT, {"kernel": "linear"}),
    *(("segmentation", CUT, {name: FIXED[name]}) for name in FIXED),
    ("segmentation", CUT, FIXED | {"gamma_g": np.inf}),
    ("segmentation", CUT, FIXED | {"eps": 0.3, "width": 2.0, "n_neighbors": 8}),
    *(("segmentation", CUT, p | {"c_labeled": 5.0, "c_unlabeled": 0.01}) for p in BOTH),
    *(("digits pair", CUT, params | {"c_labeled": "@trust"}) for params in BOTH),
    *(("digits", CUT, p | {"class_mass_normalization": True}) for p in BOTH),
    *(("objects", CUT, p | {"class_mass_normalization": np.array([0.3, 0.7])}) for p in BOTH),
    # The other classifiers.
    *((name, HARMONIC, params) for params in ({}, AUTO) for name in ("digits", "letter", *FEW)),
    *(("precomputed graph", HARMONIC, GRAPH | {"gamma_g": g}) for g in (0, 0.1, "auto")),
    ("text", HARMONIC, AUTO | {"metric": "cosine"}),
    *(("digits", HARMONIC, params | {"c_labeled": 5.0}) for params in ({}, AUTO)),
    *(("digits", HARMONIC, p | {"class_mass_normalization": True}) for p in ({}, AUTO)),
    ("digits, one label a class", HARMONIC, AUTO | {"class_mass_normalization": "auto"}),
    ("blobs, landmarks", HARMONIC, AUTO),
    *((name, kind, p) for kind in (MANIFOLD, S3VM) for p in ({}, CHOSEN_U) for name in FEW),
    *((name, SVC, params) for params in ({}, {"C": "auto"}) for name in ("segmentation", *FEW)),
    *((name, kind, {}) for kind in (MANIFOLD, S3VM) for name in ("digits", "segmentation")),
    *(("segmentation", HARMONIC, params) for params in ({}, AUTO)),
    ("digits", MANIFOLD, CHOSEN_U),
    *(("digits pair", kind, {"kernel": k}) for kind in (MANIFOLD, S3VM, SVC) for k in KERNELS),
    *(("text", kind, {"kernel": "linear"}) for kind in (MANIFOLD, S3VM, SVC)),
    *(("precomputed kernel", kind, KERNEL) for kind in (MANIFOLD, S3VM, SVC)),
    *(("precomputed kernel", kind, KERNEL | CHOSEN_U) for kind in (MANIFOLD, S3VM)),
    *(("letter trio", kind, {"approximation": "nystroem"}) for kind in (MANIFOLD, S3VM, SVC)),
    *(("blobs, landmarks", kind, p) for kind in (MANIFOLD, S3VM) for p in ({}, CHOSEN_U)),
    *(("lattices", MANIFOLD, {"kernel": k, "gamma_u": 1.0}) for k in ("linear", "rbf")),
    ("digits pair", MANIFOLD, {"laplacian_power": 2, "normalized": True}),
    ("digits pair", MANIFOLD, CHOSEN_U | {"kernel": "linear", "fit_intercept": False}),
    ("digits pair", S3VM, {"class_prior": np.array([0.4, 0.6])}),
    # Lists of candidates.
    *((name, CUT, LISTS_G | {"cv": cv}) for name in ("digits", "digits pair") for cv in CVS),
    *(("precomputed kernel", CUT, LISTS_G | KERNEL | {"cv": cv}) for cv in CVS),
    ("lattices", CUT, LISTS_G | {"kernel": "linear", "cv": "@validation"}),
    ("text", CUT, LISTS_G | COSINE | {"cv": 5}),
    ("segmentation", CUT, {"gamma_g": LISTS_G["gamma_g"]}),
    ("segmentation", CUT, {"cv": 3}),
    ("segmentation", CUT, LISTS_G | {"class_mass_normalization": [False, True], "cv": 4}),
    ("blobs, landmarks", CUT, LISTS_G | {"cv": 5}),
    *(("digits", HARMONIC, {"gamma_g": [0.01, 0.1, 1.0], "cv": cv}) for cv in CVS),
    *(("precomputed graph", HARMONIC, GRAPH | {"gamma_g": [0.1, 1.0], "cv": c}) for c in CVS),
    *(("digits pair", kind, LISTS_U | {"cv": cv}) for kind in (MANIFOLD, S3VM) for cv in CVS),
    *(("letter trio", kind, LISTS_U | {"cv": 5}) for kind in (MANIFOLD, S3VM)),
    ("lattices", MANIFOLD, LISTS_U | {"cv": "@validation"}),
]
"""Problem, classifier and parameters of each fit; "@name" is an attribute of the problem."""


def fit(rows: Problem, kind: str, params: Mapping[str, Any]) -> Any:
    """Return the fitted classifier; its parameters are translated for the code of 17d394f."""
    params = {"random_state": 0, "n_jobs": 1} | {
        name: getattr(rows, value[1:]) if str(value).startswith("@") else value
        for name, value in params.items()
    }
    if params.get("kernel") == "poly" and "cubic" in kernels.KERNELS:
        params["kernel"] = "cubic"
    classifier = getattr(gm, kind)
    signature = inspect.signature(classifier).parameters
    graph = {}
    if rows.W is not None and "W" in inspect.signature(classifier.fit).parameters:
        graph = {"W": rows.W}
        params |= {"affinity": "precomputed"} if "affinity" in signature else {}
    lists = {name: value for name, value in params.items() if isinstance(value, list)}
    if "cv" in signature or not (lists or "cv" in params):
        return classifier(**params).fit(rows.X, rows.y, **graph)
    cv = params.get("cv")
    fixed = {name: value for name, value in params.items() if name not in {*lists, "cv"}}
    search = getattr(gm, f"{kind}CV")(lists or None, estimator=classifier(**fixed), cv=cv)
    return search.fit(rows.X, rows.y, **graph).best_estimator_


def answers(name: str, kind: str, params: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the results of a classifier for its training rows and for new ones."""
    rows = problem(name)
    model = fit(rows, kind, params)
    for attribute in ("transduction_", "label_distributions_", "confidence_", "training_mask_"):
        if hasattr(model, attribute):
            yield attribute, getattr(model, attribute)
    for method in ("predict", "predict_proba", "decision_function"):
        if hasattr(model, method):
            yield method, getattr(model, method)(rows.new)
    if getattr(model, "choice_", None) is not None:
        tried = model.choice_.trials.params
        numbers = [[p.get("gamma_g", np.inf), p.get("C", -1), p.get("gamma_u", -1)] for p in tried]
        priors = [repr(p.get("class_mass_normalization")) for p in tried]
        order = sorted(range(len(tried)), key=lambda i: (numbers[i], priors[i]))
        yield "candidates", np.array(numbers)[order]
        yield "weights", model.choice_.weights[order]
        yield "error", model.choice_.error


def functions() -> Iterator[tuple[str, Any]]:
    """Yield the results of the functions on graphs, and the report of a chosen cut."""
    rows = problem("letter trio")
    W = gm.knn_graph(rows.X, 5, n_jobs=1)
    for c_labeled in (np.inf, 5.0):
        path = gm.harmonic_path(W, rows.y, [0, 0.1, 1, np.inf], c_labeled=c_labeled, n_jobs=1)
        yield f"harmonic_path {c_labeled}", np.array([solution.class_mass for solution in path])
        left_out = gm.leave_one_out(path[1])
        yield f"leave_one_out {c_labeled}", left_out.class_mass
        yield f"leave_one_out labels {c_labeled}", left_out.labels
        suggestions = gm.suggest_labels(path[1], 10, n_jobs=1)
        yield f"suggest_labels {c_labeled}", suggestions.vertices
        yield f"suggest_labels gain {c_labeled}", suggestions.gain
        yield f"graph_report {c_labeled}", str(gm.graph_report(path[1])).splitlines()
    model = fit(rows, CUT, {})
    yield "graph_report of a chosen cut", str(model.graph_report()).splitlines()
    for name, column in getattr(model, "gamma_g_path_", {}).items():
        yield f"gamma_g_path_ {name}", column


def case_name(name: str, kind: str, params: Mapping[str, Any]) -> str:
    """Return the name of a case: the problem and the call of the classifier."""
    return f"{name}: {kind}({', '.join(f'{key}={value!r}' for key, value in params.items())})"


def record(path: Path, contained: str = "") -> int:
    """Write the answers of the cases whose name contains a text; return the number of failures."""
    print(f"recording {gm.__file__}")
    cases = {case_name(*case): partial(answers, *case) for case in CASES} | {"functions": functions}
    entries: dict[str, Any] = {}
    failures = 0
    for title in (title for title in cases if contained in title):
        start = time.perf_counter()
        with warnings.catch_warnings(record=True) as caught, threadpool_limits(1):
            warnings.simplefilter("always")
            try:
                case_answers = dict(cases[title]())
            except Exception as error:  # noqa: BLE001 - the other cases are worth recording
                failures += 1
                print(f"failed: {title}: {type(error).__name__}: {error}")
                continue
        ours = [w for w in caught if issubclass(w.category, UserWarning)]
        case_answers |= {"warnings": sorted(str(w.message) for w in ours)} if ours else {}
        for name, values in case_answers.items():
            array = np.asarray(values)
            entries[f"{title}: {name}"] = array.astype(str) if array.dtype == object else array
        print(f"{time.perf_counter() - start:6.1f} s  {title}", flush=True)
    np.savez_compressed(path, **entries)
    print(f"{len(entries)} entries in {path}, {failures} failed cases")
    return failures


def difference(old: Any, new: Any) -> tuple[str, str]:
    """Return whether an entry is equal, has a small difference or differs, and a description."""
    if old.shape != new.shape or old.dtype.kind != new.dtype.kind:
        return "differs", f"{old.dtype} {old.shape} became {new.dtype} {new.shape}"
    same = old == new
    if old.dtype.kind != "f":
        count = np.count_nonzero(~same)
        return "differs" if count else "equal", f"{old.shape}: {count} of {old.size} differ"
    old, new = old.astype(float), new.astype(float)
    same |= np.isnan(old) & np.isnan(new)
    gaps = np.abs(np.subtract(old, new, out=np.zeros_like(old), where=~same))
    largest = np.nan_to_num(gaps, nan=np.inf).max(initial=0.0)
    sizes = np.abs([old, new])
    scale = sizes.max(initial=np.finfo(float).tiny, where=np.isfinite(sizes))
    relative = largest / scale
    status = "equal" if relative <= ROUNDING else "small" if relative <= SMALL else "differs"
    return status, f"{old.shape}: absolute {largest:.2g}, relative {relative:.2g}"


def compare(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the status of every entry and a line on it."""
    pairs = []
    for key in sorted({*old, *new}):
        if key in old and key in new:
            status, text = difference(old[key], new[key])
        else:
            status, text = f"missing in the {'old' if key in new else 'new'} record", ""
        pairs.append((status, f"{status}: {key} {text}".rstrip()))
    return sorted(pairs)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="fit all cases and write their answers")
    recording.add_argument("file", type=Path)
    recording.add_argument("--cases", default="", help="only those whose name contains this text")
    comparing = commands.add_parser("compare", help="print the entries that differ")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    options = parser.parse_args(arguments)
    if options.command == "record":
        return int(record(options.file, options.cases) > 0)
    with np.load(options.old) as old, np.load(options.new) as new:
        compared = compare(dict(old), dict(new))
    for status, line in compared:
        if status != "equal":
            print(line)
    counts = Counter(status for status, _ in compared)
    print(", ".join(f"{count} {status}" for status, count in sorted(counts.items())))
    return int(any(status != "equal" for status in counts))


if __name__ == "__main__":
    sys.exit(main())
