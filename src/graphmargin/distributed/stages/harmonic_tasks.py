"""Tasks of the harmonic stage, and what the workers know of a partition between them.

See `graphmargin.distributed.stages.harmonic_iteration`. No task changes what it is given.
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
    Records,
    Solution,
    StoredSolution,
)
from graphmargin.distributed.engine.run import trim_malloc
from graphmargin.distributed.engine.storage import Folder
from graphmargin.harmonic.coarse_graph import Aggregates
from graphmargin.harmonic.elimination import csr_arrays
from graphmargin.harmonic.iterative import (
    DirectionUpdate,
    advance,
    apply,
    pad_columns,
    scale_and_add,
)
from graphmargin.harmonic.system import certifying_tolerance, confidence_of
from graphmargin.labels import UNLABELED

MAX_AGGREGATES = 500
"""Limit of a partition, so that its dense coarse matrix stays small beside it."""
MIN_AGGREGATED = 1_000
"""Number of free vertices from which on a partition has a coarse graph. An iteration costs more
than on one machine, so that it pays earlier."""
MIN_INNER_SHARE = 0.5
"""Share of the weights that must stay within a partition, for its coarse graph to tell of the whole
graph."""


@dataclass(frozen=True)
class PartitionedProblem:
    """The harmonic system to solve, and the folder of the run with its graph."""

    folder: Folder
    n_classes: int
    gamma_g: float

    @property
    def solution(self) -> StoredSolution:
        """Return the solution of the problem."""
        return StoredSolution(self.folder, self.gamma_g)

    @property
    def name(self) -> str:
        """Name of the solution, for people."""
        return f"harmonic-{self.gamma_g:g}"

    @property
    def work(self) -> Folder:
        """Folder of all that is not needed once the solution is there."""
        return self.solution.folder / "work"

    @property
    def free_solution(self) -> Records:
        """Return the `FreeSolution` of each partition."""
        return Records(self.work / "solution")

    def halo(self, iteration: int | None) -> Records:
        """Return the `Values` that partitions exchange in an iteration, cut by receiver.

        None is the last exchange, of the solution.
        """
        return Records(self.work / ("halo" if iteration is None else f"halo-{iteration:06d}"))

    def checkpoint(self, iteration: int) -> Records:
        """Return the `Iterate` of each partition after an iteration."""
        return Records(self.work / f"state-{iteration:06d}")

    @property
    def n_columns(self) -> int:
        """Number of classes, the sink if there is one, and the expected number of steps."""
        return self.n_classes + (self.gamma_g > 0) + 1


class Values(NamedTuple):
    """Values at vertices that other partitions need."""

    values: FloatArray


class Iterate(NamedTuple):
    """The arrays that a checkpoint keeps of a partition; the others follow from them."""

    X: FloatArray
    R: FloatArray
    P: FloatArray
    S: FloatArray


class FreeSolution(NamedTuple):
    """The solution at the free vertices of a partition."""

    vertices: IntArray
    X: FloatArray


class System(NamedTuple):
    """The rows of the system at the free vertices that a partition owns.

    A tuple, since Dask knows how much memory a tuple takes.
    """

    problem: PartitionedProblem
    partition: int
    vertices: IntArray
    """Vertex of every row."""
    matrix: tuple[IntArray, IntArray, FloatArray]
    """``s^-1/2 W s^-1/2`` as CSR; the columns of halo vertices, which come last, are divided by
    the root of the row alone: their owners send values that are divided by the root."""
    root: FloatArray
    class_rates: sparse.csr_array
    send: IntArray
    """Rows whose values other partitions need, sorted by receiver."""
    send_start: IntArray
    halo_start: IntArray
    preconditioner: DirectionUpdate | None
    """None for a small partition."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Go to another worker, or to disk, as what to read again."""
        return read_system, (self.partition, self.problem)


class State(NamedTuple):
    """The state of the iteration in a partition. No task changes it."""

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
    """Return the system of a partition from its files."""
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
        # For the coarse graph of a partition, all that leaves the partition is absorbed.
        leaving = absorption + inner[:, len(vertices) :].sum(axis=1)
        with ThreadPool(1):  # the same bits on all workers
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
    """Return how many are true before each place and, last, in all."""
    return np.concatenate([[0], np.cumsum(mask)])


def _right_side(system: System) -> FloatArray:
    """Return ``s^-1/2 B`` with the column of the expected steps, and columns of zeros."""
    B = system.class_rates.toarray()
    if system.problem.gamma_g > 0:
        B = np.column_stack([B, np.full(len(B), system.problem.gamma_g)])
    return pad_columns(np.column_stack([B / system.root[:, None], system.root]))


def _state_after(
    system: System, X: FloatArray, R: FloatArray, P: FloatArray, S: FloatArray, step: FloatArray
) -> State:
    """Return the state after a step; X and R are overwritten."""
    squares, violation = advance(X, R, P, S, step, system.root, 0, len(system.root))
    U, rho = R, squares
    if system.preconditioner is not None:
        U = np.zeros_like(R)
        with ThreadPool(1) as team:
            rho = system.preconditioner(U, R, squares, np.ones(len(squares)), team)
    return State(X, R, P, S, U, np.stack([rho, violation]))


def start(system: System, iteration: int) -> State:
    """Return the state before the first iteration, and send what others need of it."""
    trim_malloc()  # of what `read_system` took
    R = _right_side(system)
    zero = np.zeros_like(R)
    state = _state_after(system, zero.copy(), R, zero, zero, np.zeros(R.shape[1]))
    _send(system, state.U, iteration)
    return state


def advance_state(
    item: tuple[System, State, Product], iteration: int, keep: FloatArray, step: FloatArray
) -> State:
    """Return the state after an iteration, and send what others need of it."""
    system, state, product = item
    n = len(system.root)
    P, S = state.P.copy(), state.S.copy()
    scale_and_add(P, state.U, keep, 0, n)
    scale_and_add(S, product.W, keep, 0, n)
    new = _state_after(system, state.X.copy(), state.R.copy(), P, S, step)
    _send(system, new.U, iteration)
    return new


def multiply(item: tuple[System, State], iteration: int) -> Product:
    """Return A U, once all partitions have sent their values."""
    system, state = item
    return Product(*_applied(system, state.U, iteration))


def _applied(
    system: System, values: FloatArray, iteration: int | None
) -> tuple[FloatArray, FloatArray]:
    """Return A times values, of which the other partitions have sent theirs, and curvatures."""
    result = np.empty_like(values)
    curvature = apply(*system.matrix, _received(system, values, iteration), result, 0, len(values))
    return result, curvature


def _send(system: System, values: FloatArray, iteration: int | None) -> None:
    """Write ``s^-1/2`` times the values that other partitions need, cut by receiver."""
    sent = Values(values[system.send] / system.root[system.send, None])
    halo = system.problem.halo(iteration)
    halo.write(system.partition, sent, start=system.send_start)


def _received(system: System, values: FloatArray, iteration: int | None) -> FloatArray:
    """Return values followed by those of the halo."""
    halo = system.problem.halo(iteration)
    senders = np.flatnonzero(np.diff(system.halo_start)).tolist()
    received = [halo.read(i, Values, part=system.partition).values for i in senders]
    return np.concatenate([values, *received])


def sums_of(item: tuple[State, Product]) -> FloatArray:
    """Return what the client needs: diag(R'U), diag(U'AU), the largest violations."""
    state, product = item
    rho, violation = state.norms
    return np.stack([rho, product.curvature, violation])


def _masses(system: System, state: State) -> FloatArray:
    """Return the probabilities, and the expected steps."""
    return np.asarray(state.X[:, : system.problem.n_columns] / system.root[:, None])


def certain_at(item: tuple[System, State]) -> float:
    """Return the violation at which the labels of a partition are certain."""
    system, state = item
    return certifying_tolerance(_masses(system, state), system.problem.n_classes)


def checkpoint_state(item: tuple[System, State], iteration: int) -> None:
    """Write the state of a partition; what follows from it is left out."""
    system, state = item
    system.problem.checkpoint(iteration).write(system.partition, Iterate(*state[:4]))


def load_state(system: System, iteration: int) -> State:
    """Return the state that `checkpoint_state` has written."""
    trim_malloc()
    iterate = system.problem.checkpoint(iteration).read(system.partition, Iterate)
    return _state_after(system, *iterate, step=np.zeros(iterate.X.shape[1]))


def publish_solution(item: tuple[System, State]) -> None:
    """Write the solution of a partition, for the check and for good."""
    system, state = item
    _send(system, state.X, None)
    free = FreeSolution(system.vertices, _masses(system, state)[:, :-1])
    system.problem.free_solution.write(system.partition, free)


def check_solution(item: tuple[System, State]) -> tuple[FloatArray, float]:
    """Return the true violations, and at which labels are certain."""
    system, state = item
    residual = _right_side(system) - _applied(system, state.X, None)[0]
    violation = np.abs(residual / system.root[:, None]).max(axis=0, initial=0.0)
    return violation[: system.problem.n_columns], certain_at(item)


def write_solution(
    folder: Folder, partition: int, problem: PartitionedProblem, certain: bool
) -> dict[str, Any]:
    """Write the solution at all vertices of a partition."""
    given = PartitionedGraph(folder).read(partition, Codes).codes
    vertices, X = problem.free_solution.read(partition, FreeSolution)
    X = np.clip(X, 0.0, 1.0)
    if certain:
        X /= X.sum(axis=1, keepdims=True)
    codes = given.copy()
    mass = np.asarray(given[:, None] == np.arange(problem.n_classes), dtype=np.float64)
    mass[vertices] = X[:, : problem.n_classes]
    codes[vertices] = mass[vertices].argmax(axis=1)
    solution = Solution(codes, confidence_of(mass), mass.astype(np.float32))
    problem.solution.write(partition, solution)
    return {}
