"""The graph report: facts on a graph to check before its induced labels are trusted."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np
from scipy import sparse

from graphmargin._checks import check_real
from graphmargin._html import html_table
from graphmargin._texts import format_class, format_count
from graphmargin._typing import AnyArray, BoolArray, FloatArray, IntArray
from graphmargin.harmonic.leave_one_out import leave_one_out
from graphmargin.harmonic.problem import HarmonicProblem
from graphmargin.harmonic.solution import HarmonicSolution
from graphmargin.reports.advice import Advice, graph_advice
from graphmargin.search.choice import Choice, majority_error

MAX_LABELS = 1000
"""Largest number of labels that are held out one at a time."""
MAX_ENTRIES = 2 * 10**7
"""Largest number of unknowns of these systems: labels times points."""
DOMINANT_SHIFT = 0.4
"""Smallest difference of class shares with the advice that a class is too frequent."""
MISSING_RATIO = 0.2
"""Largest ratio of induced to given share with the advice that a class is too rare."""
MIN_POINTS_PER_CLASS = 10
"""Smallest number of induced labels for each class with advice on their shares."""
MAX_LISTED_CLASSES = 4
"""Number of classes that a printed report lists."""


@dataclass(frozen=True)
class GraphReport:
    """A graph, its labels, and the labels that they induce.

    A label of trust 0 counts as no label.

    Attributes
    ----------
    n_points, n_edges, n_components : int
    classes, label_counts : array of shape (c,)
        Number of labels of each class.
    n_unreached, n_unreached_components : int
        Points without a label in their component, and the number of such components.
    n_one_class : int
        Unlabeled points in components with labels of a single class. They get this class, whatever
        they are.
    n_label_edges : int
        Edges between two labeled points; few or none if labels are few.
    label_agreement : float or None
        Share of the weight of these edges that connects equal labels; None if there is no edge.
    chance_agreement : float
        Its mean if labels are permuted at random: the share of pairs of labels that are equal.
    n_tested : int
        Labels that are held out one at a time: those whose class has another label, at a point
        that some label reaches. 0 if gamma_g is inf, or if there are more than 1,000 labels, or
        2 * 10^7 labels times points.
    leave_one_out_error : float or None
        Share of them that is predicted wrong (`leave_one_out`). It is pessimistic for few labels,
        because each prediction has one label less.
    majority_error : float or None
        Share of them that is wrong if all are predicted to be of the most frequent class.
    n_unlabeled, n_confident : int
        Unlabeled points, and those with a confidence of at least `eps`.
    mean_confidence : float or None
        Mean confidence of the unlabeled points, 0 where no label can be reached.
    sink_share : float or None
        Mean sink mass of unlabeled points that reach a label. A large one lowers the confidence,
        which is no problem in itself.
    induced_counts : array of shape (c,)
        Number of unlabeled points to which the solution assigns each class.
    gamma_g, eps : float
    converged : bool
    recall : float or None
        Share of the true nearest neighbors that the graph has as edges.
    choice : Choice or None
        Choice among candidates with and without the graph.

    Examples
    --------
    >>> from graphmargin import graph_report, harmonic_solution
    >>> W = [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]]
    >>> report = graph_report(harmonic_solution(W, ["a", "", "", "b"]))
    >>> report.n_points, report.n_edges, report.n_unreached
    (4, 3, 0)
    """

    n_points: int
    n_edges: int
    n_components: int
    classes: AnyArray
    label_counts: IntArray
    n_unreached: int
    n_unreached_components: int
    n_one_class: int
    n_label_edges: int
    label_agreement: float | None
    chance_agreement: float
    n_tested: int
    leave_one_out_error: float | None
    majority_error: float | None
    n_unlabeled: int
    n_confident: int
    mean_confidence: float | None
    sink_share: float | None
    induced_counts: IntArray
    gamma_g: float
    eps: float
    converged: bool
    recall: float | None
    choice: Choice | None

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.label_counts.sum())

    @property
    def mean_degree(self) -> float:
        """Mean number of neighbors of a point."""
        return 2 * self.n_edges / self.n_points

    @property
    def label_shares(self) -> FloatArray:
        """Shares of the classes among the labels."""
        return np.asarray(self.label_counts / self.n_labels)

    @property
    def induced_shares(self) -> FloatArray | None:
        """Shares of the classes among induced labels; None if there are none."""
        n_induced = self.induced_counts.sum()
        return np.asarray(self.induced_counts / n_induced) if n_induced else None

    @property
    def shifted_class(self) -> int | None:
        """Code of a class whose induced share differs much from its label share, or None."""
        given, induced = self.label_shares, self.induced_shares
        if induced is None or self.induced_counts.sum() < MIN_POINTS_PER_CLASS * len(given):
            return None
        if (induced - given).clip(0).sum() >= DOMINANT_SHIFT:
            return int(np.argmax(induced - given))
        k = int(np.argmin(np.divide(induced, given, out=np.ones_like(given), where=given > 0)))
        return None if induced[k] > MISSING_RATIO * given[k] else k

    @property
    def verdict(self) -> str:
        """The verdict on the graph, or "not compared"; see `Choice`."""
        return "not compared" if self.choice is None else self.choice.verdict

    @property
    def advice(self) -> tuple[Advice, ...]:
        """Advice on what looks wrong and what to do about it."""
        return tuple(graph_advice(self))

    def __str__(self) -> str:
        """Return a line for each topic, followed by the advice."""
        return "\n".join(
            [f"{topic}: {text}" for topic, text in self._topics()]
            + [f"! {advice.for_python}" for advice in self.advice]
        )

    def _repr_html_(self) -> str:
        """Return the same content as an HTML table for notebooks."""
        advice = [("advice", advice.for_python) for advice in self.advice]
        return html_table(f"graph report: {self.verdict}", [*self._topics(), *advice])

    def _topics(self) -> list[tuple[str, str]]:
        """Return the topics that apply, each with its text."""
        topics = [
            ("graph", self._size_text()),
            ("components", self._component_text()),
            ("edges between labeled points", self._edge_text()),
            ("one label held out at a time", self._held_out_text()),
            ("confidence", self._mass_text()),
            ("class shares, given -> induced", self._share_text()),
            ("verdict", self._verdict_text()),
        ]
        return [(topic, text) for topic, text in topics if text]

    def _size_text(self) -> str:
        recall = "" if self.recall is None else f", recall {self.recall:.1%}"
        labels = format_count(self.n_labels, "label")
        return (
            f"{format_count(self.n_points, 'point')}, {format_count(self.n_edges, 'edge')} "
            f"({self.mean_degree:.1f} neighbors a point{recall}), {labels} of "
            f"{len(self.classes)} classes"
        )

    def _component_text(self) -> str:
        notes = []
        if self.n_unreached:
            where = format_count(self.n_unreached_components, "component")
            notes.append(f"{format_count(self.n_unreached, 'point')} in {where} without a label")
        if self.n_one_class:
            points = format_count(self.n_one_class, "unlabeled point")
            notes.append(f"{points} in components with labels of a single class")
        if not notes:
            notes = ["every unlabeled point is in one with labels of at least two classes"]
        return f"{self.n_components:,}; {', '.join(notes)}"

    def _edge_text(self) -> str:
        if self.label_agreement is None:
            return "none, so that the agreement of neighbors is unknown"
        return (
            f"{self.n_label_edges:,}, with {self.label_agreement:.1%} of the "
            f"weight between equal labels ({self.chance_agreement:.1%} by chance)"
        )

    def _held_out_text(self) -> str:
        if self.leave_one_out_error is not None and self.majority_error is not None:
            return (
                f"{round(self.leave_one_out_error * self.n_tested)} of "
                f"{self.n_tested} wrong (with the most frequent class for all: "
                f"{round(self.majority_error * self.n_tested)})"
            )
        if np.isinf(self.gamma_g):
            return "not tested, because no label is propagated with gamma_g=inf"
        if self.label_counts.max() < 2:
            return "not tested, because each is the only label of its class"
        if _are_too_many(self.n_labels, self.n_points):
            return "not tested, because there are too many"
        return "not tested, because none of them is reached from another label"

    def _mass_text(self) -> str:
        if not self.n_unlabeled:
            return ""
        sink = ""
        if self.sink_share is not None:
            sink = f"; {self.sink_share:.1%} of walks end in the sink"
        return (
            f"{self.mean_confidence:.3g} on average, at least {self.eps:g} at "
            f"{self.n_confident:,} of {format_count(self.n_unlabeled, 'unlabeled point')}{sink}"
        )

    def _share_text(self) -> str:
        if self.induced_shares is None:
            return ""
        order = np.arange(len(self.classes))
        if len(order) > MAX_LISTED_CLASSES:
            order = np.argsort(-np.abs(self.induced_shares - self.label_shares), kind="stable")
        given, induced = self.label_shares, self.induced_shares
        parts = [
            f"{format_class(self.classes[k])}: {given[k]:.1%} -> {induced[k]:.1%}"
            for k in order[:MAX_LISTED_CLASSES]
        ]
        n_more = len(order) - MAX_LISTED_CLASSES
        more = f", and {n_more} classes that differ less" if n_more > 0 else ""
        return f"{', '.join(parts)}{more}"

    def _verdict_text(self) -> str:
        reason = "pass a `choice` to learn whether the graph helps"
        if self.choice is not None:
            reason = self.choice.reason
        return f"{self.verdict} ({reason})"


def graph_report(
    solution: HarmonicSolution,
    *,
    eps: float = 1e-6,
    choice: Choice | None = None,
    recall: float | None = None,
    hold_out_labels: bool = True,
    n_jobs: int | None = None,
) -> GraphReport:
    """Return a report on a graph, to check before its induced labels are trusted.

    Parameters
    ----------
    solution : HarmonicSolution
        Solution on the graph, before `normalize_class_mass`.
    eps : float >= 0, default=1e-6
        Smallest confidence of an induced label that counts.
    choice : Choice, default=None
        Choice among candidates with and without the graph on the same labels. Without it, the
        report does not tell whether the graph helps.
    recall : float in (0, 1], default=None
        Share of the true nearest neighbors that the graph has as edges, such as ``graph_recall_``
        of an estimator.
    hold_out_labels : bool, default=True
        Whether to hold out one label at a time, which may take longer than the solution itself.
    n_jobs : int, default=None
        Number of threads, as in `harmonic_solution`.

    Returns
    -------
    GraphReport
        Printed, it is a text of about ten lines; a notebook shows a table. Apart from
        ``leave_one_out``, which has a right-hand side for each label, time and memory are linear
        in the size of the graph.

    Examples
    --------
    Two clusters of four, and a point on its own:

    >>> from graphmargin.harmonic import harmonic_solution
    >>> W = np.zeros((9, 9))
    >>> W[:4, :4] = W[4:8, 4:8] = 1
    >>> W[3, 4] = W[4, 3] = 0.1
    >>> y = ["cat", "cat", "", "", "dog", "dog", "", "", ""]
    >>> report = graph_report(harmonic_solution(W, y, gamma_g=0.1))
    >>> report.n_unreached, report.label_agreement, report.leave_one_out_error
    (1, 1.0, 0.0)
    >>> print(report)
    graph: 9 points, 13 edges (2.9 neighbors a point), 4 labels of 2 classes
    components: 2; 1 point in 1 component without a label
    edges between labeled points: 2, with 100.0% of the weight between equal labels (33.3% by \
chance)
    one label held out at a time: 0 of 4 wrong (with the most frequent class for all: 2)
    confidence: 0.744 on average, at least 1e-06 at 4 of 5 unlabeled points; 4.7% of walks end \
in the sink
    class shares, given -> induced: 'cat': 50.0% -> 50.0%, 'dog': 50.0% -> 50.0%
    verdict: not compared (pass a `choice` to learn whether the graph helps)
    ! 1 point cannot be reached from any label: label a point in each such component, or raise \
`n_neighbors`.
    """
    eps = check_real("eps", eps)
    if recall is not None and not (isinstance(recall, Real) and 0 < recall <= 1):
        msg = f"`recall` must be in (0, 1], got {recall!r}; an exact search has recall 1"
        raise ValueError(msg)
    problem = solution.problem
    classes = problem.labels.classes
    if choice is not None and len(choice.label_counts) != len(classes):
        msg = (
            f"`choice` must be among functions of the {len(classes)} classes of `solution`, got "
            f"{len(choice.label_counts)} classes; pass the choice made on the same labels"
        )
        raise ValueError(msg)
    labeled = problem.trust > 0
    unlabeled, reached = ~labeled, problem.reached
    counts = np.bincount(problem.labels.codes[labeled], minlength=len(classes))
    n_labels = int(counts.sum())
    n_edges, agreement = _label_agreement(problem, np.flatnonzero(labeled))
    n_tested, error, baseline = 0, None, None
    if hold_out_labels:
        n_tested, error, baseline = _leave_one_out(solution, counts, n_jobs)
    induced = solution.codes[unlabeled & (solution.codes >= 0)]
    confidence = solution.confidence[unlabeled]
    return GraphReport(
        n_points=len(labeled),
        n_edges=problem.W.nnz // 2,
        n_components=int(problem.component.max()) + 1,
        classes=classes,
        label_counts=counts,
        n_unreached=int(np.count_nonzero(~reached)),
        n_unreached_components=solution.n_unreached_components,
        n_one_class=int(np.count_nonzero(unlabeled & _one_class(problem, labeled))),
        n_label_edges=n_edges,
        label_agreement=agreement,
        chance_agreement=float((counts * (counts - 1)).sum() / max(1, n_labels * (n_labels - 1))),
        n_tested=n_tested,
        leave_one_out_error=error,
        majority_error=baseline,
        n_unlabeled=len(confidence),
        n_confident=int(np.count_nonzero(confidence >= eps)),
        mean_confidence=_mean(confidence),
        sink_share=_mean(solution.sink_mass[unlabeled & reached]),
        induced_counts=np.bincount(induced, minlength=len(classes)),
        gamma_g=solution.gamma_g,
        eps=eps,
        converged=solution.converged,
        recall=None if recall is None else float(recall),
        choice=choice,
    )


def _label_agreement(problem: HarmonicProblem, labeled: IntArray) -> tuple[int, float | None]:
    """Return the number of edges between labeled points, and the agreeing share of their weight."""
    edges = sparse.coo_array(sparse.triu(problem.W[labeled][:, labeled]))
    if not edges.nnz:
        return 0, None
    codes = problem.labels.codes[labeled]
    equal = codes[edges.coords[0]] == codes[edges.coords[1]]
    weights = edges.data / edges.data.max()  # tiny weights would underflow in the sums
    return edges.nnz, float(weights[equal].sum() / weights.sum())


def _one_class(problem: HarmonicProblem, labeled: BoolArray) -> BoolArray:
    """Return the vertices whose component has labels of a single class."""
    c = len(problem.labels.classes)
    pairs = np.unique(
        problem.component[labeled].astype(np.int64) * c + problem.labels.codes[labeled]
    )
    n_classes = np.bincount(pairs // c, minlength=int(problem.component.max()) + 1)
    return np.asarray(n_classes[problem.component] == 1)


def _leave_one_out(
    solution: HarmonicSolution, counts: IntArray, n_jobs: int | None
) -> tuple[int, float | None, float | None]:
    """Return the number of tested labels, and the errors of the graph and of the majority class."""
    n_labels, problem = int(counts.sum()), solution.problem
    if (
        counts.max() < 2
        or np.isinf(solution.gamma_g)
        or _are_too_many(n_labels, len(problem.trust))
    ):
        return 0, None, None
    left_out = leave_one_out(solution, n_jobs=n_jobs)
    tested = left_out.defined & (problem.trust[left_out.vertices] > 0)
    tested &= counts[left_out.given] > 1
    given = left_out.given[tested]
    if not len(given):
        return 0, None, None
    error = float((left_out.codes[tested] != given).mean())
    return len(given), error, majority_error(given)


def _are_too_many(n_labels: int, n_points: int) -> bool:
    return n_labels > MAX_LABELS or n_labels * n_points > MAX_ENTRIES


def _mean(values: FloatArray) -> float | None:
    return float(values.mean()) if len(values) else None
