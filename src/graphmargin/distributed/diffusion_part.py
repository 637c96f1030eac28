"""What a part does while the harmonic solution is found, and what it knows meanwhile.

All of it are tasks for workers, see `graphmargin.distributed.diffusion`. Tasks change nothing in
place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from graphmargin._threads import Team
from graphmargin._typing import BoolArray, FloatArray, IntArray
from graphmargin.distributed.blocks import GRAPH
from graphmargin.distributed.components import REACHED
from graphmargin.distributed.run import file_name, give_back_memory
from graphmargin.distributed.storage import Folder
from graphmargin.harmonic.aggregation import Aggregates
from graphmargin.harmonic.elimination import csr_arrays
from graphmargin.harmonic.iterative import Turn, add_to, advance, apply, padded
from graphmargin.harmonic.solve import certain_violation, confidence_of
from graphmargin.labels import UNLABELED

MAX_AGGREGATES = 500
"""In a part, so that the dense coarse matrix stays small beside it."""
MIN_AGGREGATED = 1_000
"""Free vertices from which on a part has a coarse graph: an iteration costs more than on one
machine, so that it pays earlier."""
SHARE_AT_HOME = 0.5
"""Of the weights; with less within the part, its coarse graph tells little of the whole."""
SOLUTION = "solution"
HALO_OF_SOLUTION = "halo-solution"


@dataclass(frozen=True)
class Problem:
    """What is solved, and where."""

    folder: Folder
    name: str
    n_classes: int
    gamma_g: float

    @property
    def work(self) -> Folder:
        """Folder of all that is not needed once the solution is there."""
        return self.folder / self.name / "work"

    @property
    def n_columns(self) -> int:
        """Classes, the sink if there is one, and the expected number of steps."""
        return self.n_classes + (self.gamma_g > 0) + 1


class Part(NamedTuple):
    """The rows of the system at the free home vertices of a part.

    A tuple, since Dask knows how much memory a tuple takes.
    """

    problem: Problem
    number: int
    vertices: IntArray
    """Home vertex of every row."""
    matrix: tuple[IntArray, IntArray, FloatArray]
    """``s^-1/2 W s^-1/2`` as CSR; the columns of halo vertices, which come last, are divided by
    the root of the row alone: their owners send values that are divided by the root."""
    root: FloatArray
    class_rates: sparse.csr_array
    send: IntArray
    """Rows whose values other parts need, sorted by receiver."""
    send_start: IntArray
    halo_start: IntArray
    turn: Turn | None
    """The preconditioner, none for a small part."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Go to another worker, or to disk, as what to read again."""
        return read_part, (self.number, self.problem)


class State(NamedTuple):
    """Where the iteration is in a part. No task changes it."""

    X: FloatArray
    R: FloatArray
    P: FloatArray
    S: FloatArray
    U: FloatArray
    norms: FloatArray
    """diag(R'U) and the largest violations."""


class Product(NamedTuple):
    """A U in a part, and the part of diag(U'AU)."""

    W: FloatArray
    curvature: FloatArray


def halo_name(iteration: int) -> str:
    """Return the folder of the values that parts exchange in an iteration."""
    return f"halo-{iteration:06d}"


def state_name(iteration: int) -> str:
    """Return the folder of the states that parts have written down after an iteration."""
    return f"state-{iteration:06d}"


def read_part(number: int, problem: Problem) -> Part:
    """Return the system of a part from its files."""
    folder, n_classes = problem.folder, problem.n_classes
    graph = (folder / GRAPH).read(file_name(number))
    reached = (folder / REACHED).read(file_name(number))["reached"]
    m, halo_codes, indices = len(reached), graph["halo_codes"], graph["indices"]
    W = sparse.csr_array((graph["data"], indices, graph["indptr"]), shape=(m, m + len(halo_codes)))
    is_free = np.concatenate([reached, np.zeros(len(halo_codes), dtype=bool)])
    is_free[indices[np.repeat(reached, np.diff(graph["indptr"]))]] = True  # reached as well
    codes = np.concatenate([graph["codes"], halo_codes])
    is_free &= codes == UNLABELED
    free = np.flatnonzero(is_free)
    vertices, halo = free[free < m], free[free >= m]

    home = sparse.csr_array(W[vertices][:, vertices])
    aggregates = None
    if len(vertices) >= MIN_AGGREGATED and home.sum() >= SHARE_AT_HOME * W[vertices].sum():
        aggregates = Aggregates(home, MAX_AGGREGATES)
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

    turn = None
    if aggregates is not None:
        # For the coarse graph of a part, all that leaves the part is absorbed.
        leaving = absorption + inner[:, len(vertices) :].sum(axis=1)
        with Team(1):  # the same bits on all workers
            turn = aggregates.preconditioner(s, leaving)
    row_of = np.full(m, -1)
    row_of[vertices] = np.arange(len(vertices))
    sent = row_of[graph["send"]]
    return Part(
        problem,
        number,
        vertices,
        csr_arrays(sparse.csr_array(scaled)),
        root,
        class_rates,
        sent[sent >= 0],
        _counts_before(sent >= 0)[graph["send_start"]],
        _counts_before(is_free[m:])[graph["halo_start"]],
        turn,
    )


def _counts_before(mask: BoolArray) -> IntArray:
    """Return how many are true before each place and, last, in all."""
    return np.concatenate([[0], np.cumsum(mask)])


def _right_side(part: Part) -> FloatArray:
    """Return ``s^-1/2 B`` with the column of the expected steps, and columns of zeros."""
    B = part.class_rates.toarray()
    if part.problem.gamma_g > 0:
        B = np.column_stack([B, np.full(len(B), part.problem.gamma_g)])
    return padded(np.column_stack([B / part.root[:, None], part.root]))


def _moved(
    part: Part, X: FloatArray, R: FloatArray, P: FloatArray, S: FloatArray, step: FloatArray
) -> State:
    """Return the state after a step; X and R are overwritten."""
    n = len(part.root)
    squares, violation = advance(X, R, P, S, step, part.root, 0, n)
    U, rho = R, squares
    if part.turn is not None:
        U = np.zeros_like(R)
        with Team(1) as team:
            rho = part.turn(U, R, squares, np.ones(len(squares)), team)
    return State(X, R, P, S, U, np.stack([rho, violation]))


def start(part: Part, iteration: int) -> State:
    """Return the state before the first iteration, and send what others need of it."""
    give_back_memory()  # of what `read_part` took
    R = _right_side(part)
    zero = np.zeros_like(R)
    state = _moved(part, zero.copy(), R, zero, zero, np.zeros(R.shape[1]))
    _send(part, state.U, halo_name(iteration))
    return state


def step_on(
    item: tuple[Part, State, Product], iteration: int, keep: FloatArray, step: FloatArray
) -> State:
    """Return the state after an iteration, and send what others need of it."""
    part, state, product = item
    n = len(part.root)
    P, S = state.P.copy(), state.S.copy()
    add_to(P, state.U, keep, 0, n)
    add_to(S, product.W, keep, 0, n)
    new = _moved(part, state.X.copy(), state.R.copy(), P, S, step)
    _send(part, new.U, halo_name(iteration))
    return new


def multiply(item: tuple[Part, State], iteration: int) -> Product:
    """Return A U, once all parts have sent their values."""
    part, state = item
    return Product(*_applied(part, state.U, halo_name(iteration)))


def _applied(part: Part, values: FloatArray, exchange: str) -> tuple[FloatArray, FloatArray]:
    """Return A times values, of which the other parts have sent theirs, and the curvatures."""
    result = np.empty_like(values)
    curvature = apply(*part.matrix, _received(part, values, exchange), result, 0, len(values))
    return result, curvature


def _send(part: Part, values: FloatArray, exchange: str) -> None:
    """Write ``s^-1/2`` times the values that other parts need, cut by receiver."""
    sent = values[part.send] / part.root[part.send, None]
    folder = part.problem.work / exchange
    folder.write(file_name(part.number), {"values": sent}, start=part.send_start)


def _received(part: Part, values: FloatArray, exchange: str) -> FloatArray:
    """Return values followed by those of the halo."""
    folder = part.problem.work / exchange
    senders = np.flatnonzero(np.diff(part.halo_start)).tolist()
    halo = [folder.read(file_name(i), part=part.number)["values"] for i in senders]
    return np.concatenate([values, *halo])


def sums_of(item: tuple[State, Product]) -> FloatArray:
    """Return what the client needs of a part: diag(R'U), diag(U'AU), the largest violations."""
    state, product = item
    rho, violation = state.norms
    return np.stack([rho, product.curvature, violation])


def _masses(part: Part, state: State) -> FloatArray:
    """Return the probabilities, and the expected steps."""
    return np.asarray(state.X[:, : part.problem.n_columns] / part.root[:, None])


def certain_at(item: tuple[Part, State]) -> float:
    """Return the violation at which the labels of a part are certain."""
    part, state = item
    return certain_violation(_masses(part, state), part.problem.n_classes)


def keep_state(item: tuple[Part, State], iteration: int) -> None:
    """Write down where a part is; what follows from it is left out."""
    part, state = item
    arrays = {"X": state.X, "R": state.R, "P": state.P, "S": state.S}
    (part.problem.work / state_name(iteration)).write(file_name(part.number), arrays)


def load_state(part: Part, iteration: int) -> State:
    """Return the state that `keep_state` has written."""
    give_back_memory()
    kept = (part.problem.work / state_name(iteration)).read(file_name(part.number))
    return _moved(part, **kept, step=np.zeros(kept["X"].shape[1]))


def show_solution(item: tuple[Part, State]) -> None:
    """Write the solution of a part, for the check and for good."""
    part, state = item
    _send(part, state.X, HALO_OF_SOLUTION)
    arrays = {"vertices": part.vertices, "X": _masses(part, state)[:, :-1]}
    (part.problem.work / SOLUTION).write(file_name(part.number), arrays)


def check_solution(item: tuple[Part, State]) -> tuple[FloatArray, float]:
    """Return the true violations, and at which labels are certain."""
    part, state = item
    residual = _right_side(part) - _applied(part, state.X, HALO_OF_SOLUTION)[0]
    violation = np.abs(residual / part.root[:, None]).max(axis=0, initial=0.0)
    return violation[: part.problem.n_columns], certain_at(item)


def write_solution(folder: Folder, number: int, problem: Problem, certain: bool) -> dict[str, Any]:
    """Write the solution at all home vertices of a part."""
    given = (folder / GRAPH).read(file_name(number), ["codes"])["codes"]
    found = (problem.work / SOLUTION).read(file_name(number))
    vertices, X = found["vertices"], np.clip(found["X"], 0.0, 1.0)
    if certain:
        X /= X.sum(axis=1, keepdims=True)
    codes = given.copy()
    mass = np.asarray(given[:, None] == np.arange(problem.n_classes), dtype=np.float64)
    mass[vertices] = X[:, : problem.n_classes]
    codes[vertices] = mass[vertices].argmax(axis=1)
    confidence = confidence_of(mass)
    (folder / problem.name).write(
        file_name(number),
        {"codes": codes, "confidence": confidence, "mass": mass.astype(np.float32)},
    )
    return {}
