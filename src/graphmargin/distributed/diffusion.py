"""The harmonic solution on a graph that lies in parts: who gets which label, and how surely.

The system is that of `graphmargin.harmonic.problem` for hard labels, all classes at once, and so
are its kernels and the rule that ends the iteration. Conjugate gradients take the form of
Chronopoulos and Gear: with ``U = M R`` and ``W = A U``, an iteration is

    P <- U + P keep,  S <- W + S keep,  X <- X + P step,  R <- R - S step,

so that the parts exchange values once, those of U at vertices with neighbors elsewhere. A is
``I - s^-1/2 W s^-1/2``; M adds, within each part, the solution on a coarse graph.

What a part knows stays with a worker. Tasks change nothing in place and read only what is on
storage, hence what is lost with a worker is found again by the same tasks, to the last bit. Every
few iterations all parts write down where they are, and go on from there.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from distributed import Future

from graphmargin._progress import report_stage
from graphmargin._typing import FloatArray, ProgressCallback
from graphmargin.distributed import diffusion_part as tasks
from graphmargin.distributed.cluster import Cluster
from graphmargin.distributed.diffusion_part import Problem, halo_name, state_name
from graphmargin.distributed.run import Run
from graphmargin.distributed.storage import Folder
from graphmargin.harmonic.iterative import distance_gone, padded, ratio
from graphmargin.harmonic.solve import FIRST_TOLERANCE, is_certain, last_tolerances

MAX_ITERATIONS = 10_000
CHECKPOINT = 10
"""Iterations after which the parts write down where they are."""
FACTS = "facts.json"
SCALARS = "scalars.pack"


@dataclass(frozen=True)
class DiffusionFacts:
    """How a harmonic solution was found.

    Attributes
    ----------
    iterations : int
    converged : bool
        Whether the iteration ended by itself.
    certain : bool
        Whether all labels with a confidence of at least 1e-6 are shown to be right.
    violation : float
        Largest distance of a class mass from the weighted mean of its neighbors.
    """

    iterations: int
    converged: bool
    certain: bool
    violation: float


def bytes_of_a_vertex(n_classes: int, n_edges: float) -> int:
    """Return what a vertex with `n_edges` edges takes between the tasks of `solve`.

    A task takes as much again for the vertices of its part.

    Examples
    --------
    >>> bytes_of_a_vertex(10, n_edges=14)
    808
    """
    columns = padded(np.zeros((0, n_classes + 2))).shape[1]
    state, edges, others = 6 * 8 * columns, 12 * n_edges, 64
    return int(state + edges + others)


def solve(run: Run, n_parts: int, n_classes: int, gamma_g: float, name: str) -> DiffusionFacts:
    """Write the harmonic solution, and return how it was found.

    Parameters
    ----------
    run : Run
        Its folder has the parts of the graph, and what `find_reached` leaves.
    n_parts, n_classes : int
    gamma_g : float >= 0
        Finite.
    name : str
        Of the folder for the solution. A part of it has the `codes` of the induced classes (-1:
        no label reaches the vertex), their `confidence` and the class `mass`.

    Notes
    -----
    An iteration takes two rounds over the parts. Values between parts, and every tenth state, go
    through the run's folder; the client sees sums alone. The solution does not depend on who
    worked when, on workers that died, nor on where a run was taken up again.

    Examples
    --------
    The path 0 - 1 - 2 - 3 with labels at its ends, the first half and the second as parts:

    >>> import tempfile
    >>> from distributed import Client
    >>> from graphmargin.distributed.components import find_reached
    >>> first = {
    ...     "codes": [0, -1], "indptr": [0, 1, 3], "indices": [1, 0, 2], "data": [1.0, 1.0, 1.0],
    ...     "halo_codes": [-1], "halo_start": [0, 0, 1], "send": [1], "send_start": [0, 0, 1]}
    >>> second = {
    ...     "codes": [-1, 1], "indptr": [0, 2, 3], "indices": [1, 2, 0], "data": [1.0, 1.0, 1.0],
    ...     "halo_codes": [-1], "halo_start": [0, 1, 1], "send": [0], "send_start": [0, 1, 1]}
    >>> with (
    ...     tempfile.TemporaryDirectory() as path,
    ...     Client(processes=False, dashboard_address="localhost:0") as client,
    ... ):
    ...     run = Run(Folder(path), Cluster(client))
    ...     (run.folder / "graph").write("000000.pack", first)
    ...     (run.folder / "graph").write("000001.pack", second)
    ...     _ = find_reached(run, 2)
    ...     facts = solve(run, 2, n_classes=2, gamma_g=0.0, name="labels")
    ...     found = (run.folder / "labels").read("000000.pack")
    >>> found["codes"].tolist(), found["confidence"].round(3).tolist(), facts.certain
    ([0, 0], [1.0, 0.333], True)
    """
    problem = Problem(run.folder, name, n_classes, float(gamma_g))
    folder = run.folder / name
    if not folder.exists(FACTS):
        began = time.perf_counter()
        with report_stage(f"{name}: iterations", run.verbose) as news:
            found = _iterate(run.cluster, problem, n_parts, news)
        folder.write_json(FACTS, asdict(found))
        run.seconds[name] = run.seconds.get(name, 0.0) + time.perf_counter() - began
    facts = DiffusionFacts(**folder.read_json(FACTS))
    run.stage(name, tasks.write_solution, n_parts, problem, facts.certain)
    problem.work.remove()
    return facts


@dataclass(frozen=True)
class _Scalars:
    """What the client knows of an iteration before it looks at the residuals."""

    iteration: int
    rho: FloatArray
    """diag(R'U) of the iteration before, zero at the first."""
    step: FloatArray
    tols: FloatArray
    """At which violations to end; not a number as long as that is unknown."""
    first_violation: float


def _iterate(
    cluster: Cluster, problem: Problem, n_parts: int, news: ProgressCallback | None
) -> DiffusionFacts:
    """Iterate until labels are certain; leave the solution of the free vertices."""
    name, given = problem.name, problem.n_columns
    parts = cluster.submit(f"{name} part", tasks.read_part, range(n_parts), problem)
    now = _read_scalars(problem.work)
    resumed = now.iteration
    begin = tasks.load_state if resumed else tasks.start
    states = cluster.submit(f"{name} state", begin, parts, resumed)
    while True:
        if now.iteration % CHECKPOINT == 0 and now.iteration > resumed:
            _checkpoint(cluster, problem, now, parts, states)
            cluster.release(states)
            states = cluster.submit(f"{name} state", tasks.load_state, parts, now.iteration)
        cluster.wait(f"{name} state", states)  # until all have sent what the products need
        products = cluster.submit(
            f"{name} product", tasks.multiply, list(zip(parts, states, strict=True)), now.iteration
        )
        sums = np.array(
            cluster.run(f"{name} sums", tasks.sums_of, list(zip(states, products, strict=True)))
        )
        (rho, curvature), violation = sums[:, :2].sum(axis=0), sums[:, 2].max(axis=0)[:given]
        largest = float(violation[:-1].max())
        first = now.first_violation or largest
        tols = now.tols
        if np.isnan(tols).any() and largest <= FIRST_TOLERANCE:
            tols = _refined(cluster, name, violation, parts, states)
        if news is not None:
            news(*distance_gone(first, largest, float(np.nanmin([FIRST_TOLERANCE, tols[0]]))))
        converged = bool((violation <= tols).all())
        if converged or now.iteration == MAX_ITERATIONS:
            cluster.release(products)
            return _conclude(cluster, problem, now.iteration, converged, parts, states)
        keep = ratio(rho, now.rho)
        below = curvature - keep * ratio(rho, now.step)
        # Rounding may say otherwise where nothing is left to do; such a column begins again.
        keep, below = np.where(below > 0, keep, 0.0), np.where(below > 0, below, curvature)
        now = _Scalars(now.iteration + 1, rho, ratio(rho, below), tols, first)
        known = [*states, *products]
        states = cluster.submit(
            f"{name} step",
            tasks.step_on,
            list(zip(parts, states, products, strict=True)),
            now.iteration,
            keep,
            now.step,
        )
        cluster.release(known)


def _refined(
    cluster: Cluster,
    name: str,
    violation: FloatArray,
    parts: Sequence[Future[Any]],
    states: Sequence[Future[Any]],
) -> FloatArray:
    """Return at which violations to end, not a number if that is still unknown."""

    def certain_at() -> float:
        pairs = list(zip(parts, states, strict=True))
        return float(min(cluster.run(f"{name} steps", tasks.certain_at, pairs)))

    tols = last_tolerances(violation, certain_at)
    return np.full(1, np.nan) if tols is None else tols


def _checkpoint(
    cluster: Cluster,
    problem: Problem,
    now: _Scalars,
    parts: Sequence[Future[Any]],
    states: Sequence[Future[Any]],
) -> None:
    """Write the states down, on which alone what follows will depend; remove older files."""
    pairs = list(zip(parts, states, strict=True))
    cluster.run(f"{problem.name} keep", tasks.keep_state, pairs, now.iteration)
    work = problem.work
    work.write(SCALARS, {key: np.asarray(value) for key, value in asdict(now).items()})
    needed = {SCALARS, halo_name(now.iteration), state_name(now.iteration)}
    work.remove([found for found in work.names() if found not in needed])


def _read_scalars(work: Folder) -> _Scalars:
    """Return where the last checkpoint was, or the beginning."""
    if not work.exists(SCALARS):
        return _Scalars(0, np.zeros(1), np.zeros(1), np.full(1, np.nan), 0.0)
    found = work.read(SCALARS)
    return _Scalars(
        int(found["iteration"]),
        found["rho"],
        found["step"],
        found["tols"],
        float(found["first_violation"]),
    )


def _conclude(
    cluster: Cluster,
    problem: Problem,
    iterations: int,
    converged: bool,
    parts: Sequence[Future[Any]],
    states: Sequence[Future[Any]],
) -> DiffusionFacts:
    """Keep the solution, and see how far from harmonic it is, whatever the residuals say."""
    pairs = list(zip(parts, states, strict=True))
    cluster.run(f"{problem.name} solution", tasks.show_solution, pairs)
    checks = cluster.run(f"{problem.name} check", tasks.check_solution, pairs)
    violation = np.max([found for found, _ in checks], axis=0)
    certain = is_certain(violation, min(certain_at for _, certain_at in checks))
    return DiffusionFacts(iterations, converged, certain, float(violation[:-1].max()))
