"""Tasks of the harmonic stage, and the results of theirs that workers keep.

See `graphmargin.distributed.stages.harmonic_iteration`. No task changes its arguments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from graphmargin._threads import ThreadPool
from graphmargin._typing import BoolArray, FloatArray, IntArray
from graphmargin.distributed.engine.handles import (
    Codes,
    GraphBlock,
    PartitionedGraph,
    Reached,
    ReachedVertices,
    Solution,
    StoredRecords,
    StoredSolution,
)
from graphmargin.distributed.engine.run import trim_malloc
from graphmargin.distributed.engine.storage import Folder
from graphmargin.harmonic._solvers.coarse_graph import Aggregates
from graphmargin.harmonic._solvers.elimination import csr_arrays
from graphmargin.harmonic._solvers.iterative import (
    DirectionUpdate,
    advance,
    apply,
    pad_columns,
    scale_and_add,
)
from graphmargin.harmonic._solvers.system import certifying_tolerance, confidence_of
from graphmargin.labels import UNLABELED

WORK = "work"
"""Folder of the files of a system that is being solved."""
STATE = "state-"
"""Beginning of the names of the folders of checkpoints."""
MAX_AGGREGATES = 500
"""Largest number of aggregates of a partition, so that its dense coarse matrix stays small."""
MIN_AGGREGATED = 1_000
"""Smallest number of free vertices with which a partition has a coarse graph.

Iterations take longer than on one machine, so that a coarse graph is worth its cost earlier.
"""
MIN_INNER_SHARE = 0.5
"""Smallest share of the weights within a partition with which it has a coarse graph.

With a smaller share, that graph would say little about the whole one.
"""


@dataclass(frozen=True)
class PartitionedProblem:
    """A harmonic system, and the folder of the run with its graph."""

    folder: Folder
    n_classes: int
    gamma_g: float

    @property
    def solution(self) -> StoredSolution:
        """The handle of the solution."""
        return StoredSolution(self.folder, self.gamma_g)

    @property
    def name(self) -> str:
        """Name of the stage, as users see it."""
        return f"harmonic-{self.gamma_g:g}"

    @property
    def work(self) -> Folder:
        """Folder of the files that are removed once the solution is written."""
        return self.solution.folder / WORK

    @property
    def free_solution(self) -> StoredRecords:
        """The handle of the `FreeSolution` of each partition."""
        return StoredRecords(self.work / "solution")

    def halo(self, iteration: int | None) -> StoredRecords:
        """Return the handle of the `Values` that partitions exchange, cut by receiver.

        None is the exchange of the solution after the last iteration.
        """
        return StoredRecords(self.work / ("halo" if iteration is None else f"halo-{iteration:06d}"))

    def checkpoint(self, iteration: int) -> StoredRecords:
        """Return the handle of the `Checkpoint` of each partition after an iteration."""
        return StoredRecords(self.folder / self.checkpoint_name(iteration))

    def checkpoint_name(self, iteration: int) -> str:
        """Return the name of a checkpoint, which is its folder in that of the run."""
        return f"{self.name}/{WORK}/{STATE}{iteration:06d}"

    def checkpointed_iterations(self) -> list[int]:
        """Return the iterations that have a checkpoint, complete or not, the last one first."""
        names = self.work.names()
        return sorted(
            (int(n.removeprefix(STATE)) for n in names if n.startswith(STATE)), reverse=True
        )

    @property
    def n_columns(self) -> int:
        """Number of columns: the classes, the sink if there is one, and the expected steps."""
        return self.n_classes + (self.gamma_g > 0) + 1


class Values(NamedTuple):
    """Values at vertices that other partitions need."""

    values: FloatArray


class Checkpoint(NamedTuple):
    """The arrays of a checkpoint of a partition, from which the rest of a `State` follows."""

    X: FloatArray
    R: FloatArray
    P: FloatArray
    S: FloatArray


class FreeSolution(NamedTuple):
    """The solution for the free vertices of a partition."""

    vertices: IntArray
    X: FloatArray


class System(NamedTuple):
    """The rows of the system for the free vertices that a partition owns.

    It is a tuple because Dask can measure the memory of a tuple.
    """

    problem: PartitionedProblem
    partition: int
    vertices: IntArray
    """Vertex of every row."""
    matrix: tuple[IntArray, IntArray, FloatArray]
    """``s^-1/2 W s^-1/2`` as CSR. The columns of halo vertices, which come last, are divided by
    the root of the row only, as their owners send values that are divided by their roots."""
    root: FloatArray
    """Square roots of s."""
    class_rates: sparse.csr_array
    send: IntArray
    """Rows whose values other partitions need, sorted by receiver."""
    send_start: IntArray
    halo_start: IntArray
    preconditioner: DirectionUpdate | None
    """The coarse graph of the partition, None if it has none."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the call that reads the system again, which takes the place of its arrays."""
        return read_system, (self.partition, self.problem)


class State(NamedTuple):
    """The state of the iteration in a partition."""

    X: FloatArray
    R: FloatArray
    P: FloatArray
    S: FloatArray
    U: FloatArray
    norms: FloatArray
    """The sums diag(R'U) and the largest violations."""


class Product(NamedTuple):
    """A U in a partition, and its share of diag(U'AU)."""

    W: FloatArray
    curvature: FloatArray


def read_system(partition: int, problem: PartitionedProblem) -> System:
    """Return the system of a partition, from the files of its graph."""
    folder, n_classes = problem.folder, problem.n_classes
    block = PartitionedGraph(folder).read(partition, GraphBlock)
    reached = ReachedVertices(folder).read(partition, Reached).reached
    m, n_halo = len(reached), len(block.halo_codes)
    W = sparse.csr_array((block.data, block.indices, block.indptr), shape=(m, m + n_halo))
    is_free = np.concatenate([reached, np.zeros(n_halo, dtype=bool)])
    is_free[block.indices[np.repeat(reached, np.diff(block.indptr))]] = True  # reached as well
    codes = np.concatenate([block.codes, block.halo_codes])
    is_free &= codes == UNLABELED
    free = np.flatnonzero(is_free)
    vertices, halo = free[free < m], free[free >= m]

    within = sparse.csr_array(W[vertices][:, vertices])
    aggregates = None
    if len(vertices) >= MIN_AGGREGATED and within.sum() >= MIN_INNER_SHARE * W[vertices].sum():
        aggregates = Aggregates(within, MAX_AGGREGATES)
        vertices = vertices[aggregates.rows]
    rows = W[vertices]
    labeled = np.flatnonzero(codes != UNLABELED)
    one_hot = sparse.csr_array(
        (np.ones(len(labeled)), (labeled, codes[labeled])), shape=(len(codes), n_classes)
    )
    class_rates = sparse.csr_array(rows @ one_hot)
    inner = rows[:, np.concatenate([vertices, halo])]
    absorption = class_rates.sum(axis=1) + problem.gamma_g
    s = inner.sum(axis=1) + absorption
    root = np.sqrt(s)
    columns = sparse.diags_array(np.concatenate([1 / root, np.ones(len(halo))]))
    scaled = sparse.diags_array(1 / root).tocsr() @ inner @ columns.tocsr()

    preconditioner = None
    if aggregates is not None:
        # In the coarse graph of a partition, the walk is absorbed when it leaves the partition.
        leaving = absorption + inner[:, len(vertices) :].sum(axis=1)
        with ThreadPool(1):  # so that all workers compute the same bits
            preconditioner = aggregates.preconditioner(s, leaving)
    row_of = np.full(m, -1)
    row_of[vertices] = np.arange(len(vertices))
    sent = row_of[block.send]
    return System(
        problem,
        partition,
        vertices,
        csr_arrays(sparse.csr_array(scaled)),
        root,
        class_rates,
        sent[sent >= 0],
        _counts_before(sent >= 0)[block.send_start],
        _counts_before(is_free[m:])[block.halo_start],
        preconditioner,
    )


def _counts_before(mask: BoolArray) -> IntArray:
    """Return the number of true entries before each place, followed by that of all."""
    return np.concatenate([[0], np.cumsum(mask)])


def _right_hand_side(system: System) -> FloatArray:
    """Return ``s^-1/2 B`` with the column of the expected steps, padded with zeros."""
    B = system.class_rates.toarray()
    if system.problem.gamma_g > 0:
        B = np.column_stack([B, np.full(len(B), system.problem.gamma_g)])
    return pad_columns(np.column_stack([B / system.root[:, None], system.root]))


def _state_after(
    system: System, X: FloatArray, R: FloatArray, P: FloatArray, S: FloatArray, step: FloatArray
) -> State:
    """Return the state after a step, for which X and R are overwritten."""
    squares, violation = advance(X, R, P, S, step, system.root, 0, len(system.root))
    U, rho = R, squares
    if system.preconditioner is not None:
        U = np.zeros_like(R)
        with ThreadPool(1) as pool:
            rho = system.preconditioner(U, R, squares, np.ones(len(squares)), pool)
    return State(X, R, P, S, U, np.stack([rho, violation]))


def start_state(system: System, iteration: int) -> State:
    """Return the state before the first iteration, and send the values that others need."""
    trim_malloc()  # `read_system` has freed a lot
    R = _right_hand_side(system)
    zero = np.zeros_like(R)
    state = _state_after(system, zero.copy(), R, zero, zero, np.zeros(R.shape[1]))
    _send(system, state.U, iteration)
    return state


def advance_state(
    item: tuple[System, State, Product], iteration: int, keep: FloatArray, step: FloatArray
) -> State:
    """Return the state after an iteration, and send the values that others need."""
    system, state, product = item
    n = len(system.root)
    P, S = state.P.copy(), state.S.copy()
    scale_and_add(P, state.U, keep, 0, n)
    scale_and_add(S, product.W, keep, 0, n)
    new = _state_after(system, state.X.copy(), state.R.copy(), P, S, step)
    _send(system, new.U, iteration)
    return new


def multiply(item: tuple[System, State], iteration: int) -> Product:
    """Return A U; all partitions must have sent their values."""
    system, state = item
    return Product(*_product(system, state.U, iteration))


def _product(
    system: System, values: FloatArray, iteration: int | None
) -> tuple[FloatArray, FloatArray]:
    """Return A times the values of all partitions, and the curvatures of this one."""
    result = np.empty_like(values)
    curvature = apply(*system.matrix, _with_halo(system, values, iteration), result, 0, len(values))
    return result, curvature


def _send(system: System, values: FloatArray, iteration: int | None) -> None:
    """Write ``s^-1/2`` times the values that other partitions need, cut by receiver."""
    sent = Values(values[system.send] / system.root[system.send, None])
    halo = system.problem.halo(iteration)
    halo.write(system.partition, sent, start=system.send_start)


def _with_halo(system: System, values: FloatArray, iteration: int | None) -> FloatArray:
    """Return the values of the partition, followed by those of its halo."""
    halo = system.problem.halo(iteration)
    senders = np.flatnonzero(np.diff(system.halo_start)).tolist()
    received = [halo.read(i, Values, part=system.partition).values for i in senders]
    return np.concatenate([values, *received])


def partition_sums(item: tuple[State, Product]) -> FloatArray:
    """Return diag(R'U), diag(U'AU) and the largest violations of a partition."""
    state, product = item
    rho, violation = state.norms
    return np.stack([rho, product.curvature, violation])


def _masses(system: System, state: State) -> FloatArray:
    """Return the class and sink masses, and the expected steps."""
    return np.asarray(state.X[:, : system.problem.n_columns] / system.root[:, None])


def certain_at(item: tuple[System, State]) -> float:
    """Return the largest violation at which the labels of a partition are certain."""
    system, state = item
    return certifying_tolerance(_masses(system, state), system.problem.n_classes)


def checkpoint_state(
    _folder: Folder, partition: int, item: tuple[System, State], scalars: dict[str, Any]
) -> dict[str, Any]:
    """Write the checkpoint of a partition, and return the scalars of the iteration."""
    system, state = item
    checkpoint = system.problem.checkpoint(scalars["iteration"])
    checkpoint.write(partition, Checkpoint(*state[:4]))
    return scalars


def load_state(system: System, iteration: int) -> State:
    """Return the state of a partition from its checkpoint, and send the values that others need."""
    trim_malloc()
    checkpoint = system.problem.checkpoint(iteration).read(system.partition, Checkpoint)
    state = _state_after(system, *checkpoint, step=np.zeros(checkpoint.X.shape[1]))
    _send(system, state.U, iteration)
    return state


def publish_solution(item: tuple[System, State]) -> None:
    """Write the free solution of a partition, and send the values that others need to check it."""
    system, state = item
    _send(system, state.X, None)
    free = FreeSolution(system.vertices, _masses(system, state)[:, :-1])
    system.problem.free_solution.write(system.partition, free)


def check_solution(item: tuple[System, State]) -> tuple[FloatArray, float]:
    """Return the violations of the solution, and the largest one at which labels are certain."""
    system, state = item
    residual = _right_hand_side(system) - _product(system, state.X, None)[0]
    violation = np.abs(residual / system.root[:, None]).max(axis=0, initial=0.0)
    return violation[: system.problem.n_columns], certain_at(item)


def write_solution(
    folder: Folder, partition: int, problem: PartitionedProblem, report: dict[str, Any]
) -> dict[str, Any]:
    """Write the solution for all vertices of a partition, and return the report on the solver."""
    given = PartitionedGraph(folder).read(partition, Codes).codes
    vertices, X = problem.free_solution.read(partition, FreeSolution)
    X = np.clip(X, 0.0, 1.0)
    if report["certain"]:
        X /= X.sum(axis=1, keepdims=True)
    codes = given.copy()
    mass = np.asarray(given[:, None] == np.arange(problem.n_classes), dtype=np.float64)
    mass[vertices] = X[:, : problem.n_classes]
    codes[vertices] = mass[vertices].argmax(axis=1)
    solution = Solution(codes, confidence_of(mass), mass.astype(np.float32))
    problem.solution.write(partition, solution)
    return report
