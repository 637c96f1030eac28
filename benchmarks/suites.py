"""Suites: the systems that meet on a problem, and the one that numbers are compared with."""

from __future__ import annotations

from dataclasses import dataclass

OURS = "graphmargin HarmonicClassifier"
CUT = "graphmargin MaxMarginGraphCut"
PROPAGATION = "scikit-learn LabelPropagation"
SPREADING = "scikit-learn LabelSpreading"
SELF_TRAINING_SVC = "scikit-learn SelfTrainingClassifier, SVC"
SELF_TRAINING_SGD = "scikit-learn SelfTrainingClassifier, SGD"
LAPLACE = "graphlearning Laplace"
LAPLACE_UNIFORM = "graphlearning Laplace, uniform weights"
LAP_SVM = "LapSVM, dense"
CUT_SVC = "cut with scikit-learn SVC"
CUT_LINEAR = "cut with scikit-learn LinearSVC"
PATH = "harmonic_path"
SEPARATE = "harmonic_solution for each gamma_g"
AT_ZERO = "harmonic_solution, gamma_g = 0"
AT_DEFAULT = "harmonic_solution, gamma_g = 0.1"
STAGES = "stages of MaxMarginGraphCut"
MANIFOLD = "graphmargin ManifoldSVC"
MANIFOLD_ONE = "train_manifold, 300 landmarks, one gamma_u"
MANIFOLD_DEFAULT = "train_manifold, 500 landmarks, one gamma_u"
MANIFOLD_PATH = "train_manifold, 300 landmarks, seven gamma_u"
MANIFOLD_LINEAR = "graphmargin ManifoldSVC, linear"
MANIFOLD_LINEAR_GIVEN = "train_manifold, linear, on a given graph"
FIXED = "MaxMarginGraphCut, fixed gamma_g and C"
AUTO = "MaxMarginGraphCut, automatic"
NAIVE = "GridSearchCV, 15 candidates"
NAIVE_ESTIMATE = "GridSearchCV, 15 candidates (estimate: 76 x one fit)"
SEARCH = "MaxMarginGraphCut, 39 candidates"
NAIVE_FULL = "GridSearchCV, 39 candidates"
NAIVE_IN_PROCESSES = "GridSearchCV, 39 candidates, in processes"
LOOP_SVC = "loop over scikit-learn SVC, 39 candidates"
DEFAULT_CUT = "graphmargin MaxMarginGraphCut()"
ENSEMBLE = "graphmargin SemiSupervisedEnsemble()"
AUTO_HARMONIC = 'graphmargin HarmonicClassifier(gamma_g="auto")'
DEFAULT_SPREADING = 'scikit-learn LabelSpreading(kernel="knn")'
DEFAULT_SELF_TRAINING_SVC = "scikit-learn SelfTrainingClassifier(SVC)"
DEFAULT_SELF_TRAINING_TREES = "scikit-learn SelfTrainingClassifier(HistGradientBoosting)"
DEFAULT_LAPLACE = "graphlearning Laplace, annoy"
SVC_SEARCH = "scikit-learn GridSearchCV(SVC), labels alone"


@dataclass(frozen=True)
class Case:
    """A system on a problem, with k neighbors (0 for a system without a graph)."""

    problem: str
    system: str
    k: int = 5


@dataclass(frozen=True)
class Suite:
    """Cases to be run in turns.

    Attributes
    ----------
    about : str
        One sentence on the problem and on what is compared.
    cases : tuple of Case
    base : str
        The system that ratios of wall times are to.
    reference : str or None
        The system whose labels the others are compared with; it comes first in the cases.
    """

    about: str
    cases: tuple[Case, ...]
    base: str = OURS
    reference: str | None = None


def _cases(problem: str, *systems: tuple[str, int]) -> tuple[Case, ...]:
    return tuple(Case(problem, system, k) for system, k in systems)


SIZES = {
    "mixture-1e3": 1e3,
    "mixture-1e4": 1e4,
    "mixture-1e5": 1e5,
    "mixture-2e5": 2e5,
    "mixture-5e5": 5e5,
    "mixture-1e6": 1e6,
}
"""Rows of the problems of growing size."""

DEFAULTS = (
    DEFAULT_CUT,
    OURS,
    DEFAULT_SPREADING,
    DEFAULT_LAPLACE,
    DEFAULT_SELF_TRAINING_SVC,
    DEFAULT_SELF_TRAINING_TREES,
    SVC_SEARCH,
)
"""Systems with their default parameters."""

OTHERS_BY_SIZE = {
    "mixture-1e5": (SPREADING, LAPLACE),
    "mixture-2e5": (LAPLACE,),
    "mixture-5e5": (),
    "mixture-1e6": (),
}

SUITES: dict[str, Suite] = {
    "default": Suite(
        "What people run: every system with its default parameters, on the digits (5,620 rows of "
        "64 features, 10 classes, five labels a class), the letters (20,000 rows of 16 features, "
        "26 classes, ten labels a class) and the Gaussian mixture from a thousand to a million "
        "rows (64 features, 10 classes, 20 labels a class). `MaxMarginGraphCut()` chooses its "
        "parameters, the supervised SVM is searched over 4 C and 4 widths in five folds of the "
        "labels, leaves of HistGradientBoosting may have five rows, as 20 (its default) are too "
        "many for these labels, and the graph of graphlearning has k = 10, as in its examples.",
        tuple(
            Case(problem, system, 5 if system == OURS else 0)
            for problem in ("digits", "letter", *SIZES)
            if problem not in ("mixture-2e5", "mixture-5e5")
            for system in DEFAULTS
        ),
        base=DEFAULT_CUT,
    ),
    "ensemble": Suite(
        "The suite measures the ensemble of all assumptions, which the commands label with, beside "
        "the max-margin graph cut alone, both with default parameters: a mixture of 1,000 rows and "
        "10 classes, the digits (five labels a class), the letters (ten labels a class), a mixture "
        "of 100,000 rows of 19 features in 5 classes with 100 labels each, and one of 64 features "
        "in 10 classes with 20 labels each, also with a million rows.",
        tuple(
            case
            for problem in (
                *("mixture-1e3", "digits", "letter"),
                *("mixture19-1e5", "mixture-1e5", "mixture-1e6"),
            )
            for case in _cases(problem, (DEFAULT_CUT, 0), (ENSEMBLE, 0))
        ),
        base=DEFAULT_CUT,
    ),
    "classes": Suite(
        "Gaussian clouds of 10, 20, 50, 100 and 200 classes, ten rows of 8 features and three "
        "labels in each: how time and memory grow with the number of classes, beside a supervised "
        "SVM that is searched over 4 C and 4 widths in folds of the labels. More than 30 classes "
        "are compared by shortlists of 20.",
        tuple(
            case
            for n_classes in (10, 20, 50, 100, 200)
            for case in _cases(
                f"classes-{n_classes}", (ENSEMBLE, 0), (DEFAULT_CUT, 0), (SVC_SEARCH, 0)
            )
        ),
        base=ENSEMBLE,
    ),
    "ten-million": Suite(
        "Ten million rows of 16 features in float32, five classes, 1,000 labels, on one machine: "
        "with fixed parameters (gamma_g = 0.1, C = 10), with chosen ones, and the harmonic "
        "solution alone; then a million unit vectors of 384 features, like embeddings of texts.",
        (
            *_cases("mixture16-1e7", (OURS, 5), (FIXED, 5), (AUTO, 5)),
            *_cases("unit-vectors-1e6", (OURS, 5), (FIXED, 5), (AUTO, 5)),
        ),
        base=FIXED,
    ),
    "harmonic-choice": Suite(
        "The choice of gamma_g for the harmonic solution of the mixture of a million rows, beside "
        "a solution with gamma_g = 0.1; both with the graph.",
        _cases("mixture-1e6", (OURS, 5), (AUTO_HARMONIC, 5)),
    ),
    "letter": Suite(
        "The task is the transduction of the letter table: 20,000 rows of 16 features, 26 "
        "classes, ten labels a class. scikit-learn's default is k = 7, and graphlearning's "
        "examples use k = 10. The default weights of graphlearning fail on duplicates, of which "
        "this table has many.",
        _cases(
            "letter",
            *((OURS, 5), (PROPAGATION, 5), (SPREADING, 5), (LAPLACE, 5), (LAPLACE_UNIFORM, 5)),
            *((OURS, 7), (PROPAGATION, 7), (SPREADING, 7)),
            *((OURS, 10), (LAPLACE_UNIFORM, 10)),
        ),
    ),
    "letter-svm": Suite(
        "Transduction of the letter table by systems that train support vector machines.",
        _cases("letter", (OURS, 5), (SELF_TRAINING_SVC, 0), (LAP_SVM, 5)),
    ),
    "mixture": Suite(
        "Transduction of a Gaussian mixture: 100,000 rows of 64 features, 10 classes of 5 "
        "clusters, 20 labels a class.",
        _cases(
            "mixture-1e5",
            *((OURS, 5), (SPREADING, 5), (LAPLACE, 5)),
            *((OURS, 7), (SPREADING, 7), (OURS, 10), (LAPLACE, 10)),
            *((SELF_TRAINING_SGD, 0), (LAP_SVM, 5)),
        ),
    ),
    "sheets": Suite(
        "Transduction of two folded sheets, one tenth as large as the other: 697,526 rows of 15 "
        "features, two percent of them labeled.",
        _cases("sheets", (OURS, 5), (OURS, 7), (SPREADING, 7), (LAPLACE, 5)),
    ),
    "million": Suite(
        "Transduction of a Gaussian mixture of a million rows of 64 features, 20 labels in each "
        "of 10 classes.",
        _cases("mixture-1e6", (OURS, 5), (LAPLACE, 5), (SPREADING, 5)),
    ),
    "embeddings": Suite(
        "Transduction of 200,000 unit vectors of 384 features, like embeddings of texts, 20 "
        "labels in each of 20 classes.",
        _cases(
            "unit-vectors",
            *((OURS, 5), (LAPLACE, 5), (SPREADING, 5), (LAP_SVM, 5)),
        ),
    ),
    "cut": Suite(
        "The task is a max-margin graph cut on the mixture of 100,000 rows and the prediction of "
        "100,000 new ones, with gamma_g = 0.1, C = 10 and equal losses. The other systems are "
        "the same pipeline with an SVM of scikit-learn. Agreement is the share of new rows that "
        "have the same label as with SVC. The clusters overlap. If they are farther apart, SVC has "
        "fewer support vectors and the ratio is smaller.",
        _cases("mixture-1e5", (CUT_SVC, 5), (CUT, 5), (CUT_LINEAR, 5)),
        base=CUT,
        reference=CUT_SVC,
    ),
    "cut-million": Suite(
        "Max-margin graph cut on the mixture of a million rows, and prediction of 100,000 new "
        "ones, with gamma_g = 0.1, C = 10 and equal losses.",
        _cases("mixture-1e6", (CUT, 5)),
        base=CUT,
    ),
    "path": Suite(
        "The task is to compute harmonic solutions on a given graph for 13 values of gamma_g "
        "from 1e-3 to 1e3 (the range of the paper), as one path and one by one. Ratios are to a "
        "single solution with gamma_g = 0, and errors are means over the values. Agreement is "
        "the share of labels that equal those of the solutions one by one.",
        tuple(
            case
            for problem in ("letter", "mixture-1e5")
            for case in _cases(problem, (SEPARATE, 5), (PATH, 5), (AT_ZERO, 5), (AT_DEFAULT, 5))
        ),
        base=AT_ZERO,
        reference=SEPARATE,
    ),
    "manifold": Suite(
        "The task is a manifold-regularized SVM with an RBF kernel on a mixture of 4,000 rows of "
        "16 features. The systems are the dense warped kernel of most implementations, ours, and "
        "ours with landmarks on a given graph. Agreement is the share of labels that equal those "
        "of the dense one.",
        _cases(
            "mixture16-4e3", (LAP_SVM, 5), (MANIFOLD, 5), (MANIFOLD_ONE, 5), (MANIFOLD_DEFAULT, 5)
        ),
        base=MANIFOLD,
        reference=LAP_SVM,
    ),
    "manifold-path": Suite(
        "Manifold-regularized SVM with an RBF kernel on 100,000 rows of 16 features, the graph "
        "being given: training for one gamma_u and for seven, with the labels of all rows for "
        "each. Errors are means over the values.",
        _cases("mixture16-1e5", (MANIFOLD_ONE, 5), (MANIFOLD_PATH, 5)),
        base=MANIFOLD_ONE,
    ),
    "manifold-million": Suite(
        "Manifold-regularized linear SVM on a million rows of 16 features, with its graph and on a "
        "given one. (The classes are no half-spaces, so errors are large.)",
        _cases("mixture16-1e6", (MANIFOLD_LINEAR, 5), (MANIFOLD_LINEAR_GIVEN, 5)),
        base=MANIFOLD_LINEAR,
    ),
    "selection": Suite(
        "The suite measures the cost of choosing gamma_g and C on the letter table: 20,000 rows "
        "of 26 classes, ten labels a class. The systems are a fit with fixed values, the "
        "automatic fit, and scikit-learn's GridSearchCV over the same candidates in five folds. "
        "The time of GridSearchCV is an estimate, 76 times a fit of one fold in the middle of "
        "the grid (75 fits, and the best one again), so its error is not known; selection-whole "
        "runs it. Errors are those of the max-margin function.",
        _cases("letter", (FIXED, 5), (AUTO, 5), (NAIVE_ESTIMATE, 5)),
        base=FIXED,
    ),
    "selection-whole": Suite(
        "The same with GridSearchCV run whole, which takes many minutes (--timeout 3600).",
        _cases("letter", (FIXED, 5), (AUTO, 5), (NAIVE_ESTIMATE, 5), (NAIVE, 5)),
        base=FIXED,
    ),
    "selection-pair": Suite(
        "The suite measures the cost of a grid of 3 C and 13 gamma_g in five folds on the "
        "letters E and F, 500 rows with ten labels. The systems are one fit with lists of "
        "candidates; scikit-learn's GridSearchCV with 196 fixed fits, one by one with all "
        "threads and in a process for each thread (whose memory is not counted); and a loop that "
        "keeps graph and kernel matrix and trains scikit-learn's SVC 196 times on the induced "
        "labels. Errors are those of the max-margin function.",
        _cases(
            "letter-pair",
            *((SEARCH, 5), (FIXED, 5), (NAIVE_FULL, 5), (NAIVE_IN_PROCESSES, 5), (LOOP_SVC, 5)),
        ),
        base=SEARCH,
    ),
    "default-fit": Suite(
        "The suite measures the fit with default parameters, which chooses gamma_g and C, beside a "
        "fit with fixed values: 5,620 digits with five labels a class, letters with ten labels a "
        "class, a mixture of 100,000 rows of 19 features in 5 classes with 100 labels each, and "
        "one of 64 features in 10 classes with 20 labels each. Errors are those of the max-margin "
        "function.",
        tuple(
            case
            for problem in ("digits", "letter", "mixture19-1e5", "mixture-1e5")
            for case in _cases(problem, (FIXED, 5), (AUTO, 5))
        ),
        base=FIXED,
    ),
    "default-fit-million": Suite(
        "The same on the mixture of a million rows of 64 features.",
        _cases("mixture-1e6", (FIXED, 5), (AUTO, 5)),
        base=FIXED,
    ),
    "scaling": Suite(
        "Transduction of the Gaussian mixture at growing size.",
        tuple(
            Case(problem, system)
            for problem, others in OTHERS_BY_SIZE.items()
            for system in (OURS, *others)
        ),
    ),
    "profile": Suite(
        "The table has the stages of the max-margin graph cut on the mixture of a million rows, "
        "with the prediction of 100,000 new ones. The floor is the time of work that no program "
        "for the stage can avoid.",
        _cases("mixture-1e6", (STAGES, 5)),
        base=STAGES,
    ),
}
