"""The harmonic solution on a graph that lies in partitions: the label of each vertex, how certain.

The system is that of `graphmargin.harmonic.problem` for hard labels, all classes at once, and so
are its kernels and the rule that ends the iteration. Conjugate gradients take the form of
Chronopoulos and Gear: with ``U = M R`` and ``W = A U``, an iteration is

    P <- U + P keep,  S <- W + S keep,  X <- X + P step,  R <- R - S step,

so that the partitions exchange values once, those of U at cross-partition edges. A is
``I - s^-1/2 W s^-1/2``; M adds, within each partition, the solution on a coarse graph.

The system and the state of a partition stay with a worker. Tasks change nothing in place and read
only what is on storage, hence what is lost with a worker is computed again by the same tasks, to
the last bit. Every few iterations all partitions write a checkpoint, from which they go on.
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
from graphmargin.distributed.engine.cluster import Cluster
from graphmargin.distributed.engine.run import Run
from graphmargin.distributed.engine.storage import Folder
from graphmargin.distributed.stages import harmonic_tasks as tasks
from graphmargin.distributed.stages.harmonic_tasks import PartitionedProblem
from graphmargin.harmonic.iterative import log_progress, safe_divide
from graphmargin.harmonic.system import FIRST_TOLERANCE, final_tolerances, is_certain

MAX_ITERATIONS = 10_000
CHECKPOINT = 10
"""Number of iterations after which the partitions write a checkpoint."""
REPORT = "report.json"
SCALARS = "scalars.pack"


@dataclass(frozen=True)
class HarmonicReport:
    """A report on the solver of a harmonic system.

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


def solve(run: Run, n_partitions: int, n_classes: int, gamma_g: float) -> HarmonicReport:
    """Write the harmonic solution as `StoredSolution`, and return how it was found.

    Parameters
    ----------
    run : Run
        Its folder has the `PartitionedGraph` and its `ReachedVertices`.
    n_partitions, n_classes : int
    gamma_g : float >= 0
        Finite.

    Notes
    -----
    An iteration takes two passes over the partitions. Values between partitions, and every tenth
    state, go through the run's folder; the client sees sums alone. The solution does not depend on
    who worked when, on workers that died, nor on where a run was taken up again.

    Examples
    --------
    The path 0 - 1 - 2 - 3 with labels at its ends, of which each half is a partition:

    >>> import tempfile
    >>> from distributed import Client
    >>> from graphmargin.distributed.engine.handles import GraphBlock, Induced, PartitionedGraph
    >>> from graphmargin.distributed.engine.handles import StoredSolution
    >>> from graphmargin.distributed.stages.components import find_reached
    >>> first = GraphBlock(
    ...     rows=[0, 1], codes=[0, -1], indptr=[0, 1, 3], indices=[1, 0, 2], data=[1.0] * 3,
    ...     halo_rows=[2], halo_codes=[-1], halo_start=[0, 0, 1], send=[1], send_start=[0, 0, 1])
    >>> second = GraphBlock(
    ...     rows=[2, 3], codes=[-1, 1], indptr=[0, 2, 3], indices=[1, 2, 0], data=[1.0] * 3,
    ...     halo_rows=[1], halo_codes=[-1], halo_start=[0, 1, 1], send=[0], send_start=[0, 1, 1])
    >>> with (
    ...     tempfile.TemporaryDirectory() as path,
    ...     Client(processes=False, dashboard_address="localhost:0") as client,
    ... ):
    ...     run = Run(Folder(path), Cluster(client))
    ...     PartitionedGraph(run.folder).write(0, first)
    ...     PartitionedGraph(run.folder).write(1, second)
    ...     n_unreached = find_reached(run, 2)
    ...     report = solve(run, 2, n_classes=2, gamma_g=0.0)
    ...     codes, confidence = StoredSolution(run.folder, 0.0).read(0, Induced)
    >>> n_unreached, codes.tolist(), confidence.round(3).tolist(), report.certain
    (0, [0, 0], [1.0, 0.333], True)
    """
    problem = PartitionedProblem(run.folder, n_classes, float(gamma_g))
    name, folder = problem.name, problem.solution.folder
    if not folder.exists(REPORT):
        began = time.perf_counter()
        with report_stage(f"{name}: iterations", run.verbose) as report_progress:
            report = _iterate(run.cluster, problem, n_partitions, report_progress)
        folder.write_json(REPORT, asdict(report))
        run.seconds[name] = run.seconds.get(name, 0.0) + time.perf_counter() - began
    report = HarmonicReport(**folder.read_json(REPORT))
    run.stage(name, tasks.write_solution, n_partitions, problem, report.certain)
    problem.work.remove()
    return report


@dataclass(frozen=True)
class _Scalars:
    """The state of the iteration that the client knows before it sees the residuals."""

    iteration: int
    rho: FloatArray
    """The sums diag(R'U) of the iteration before, zero at the first."""
    step: FloatArray
    tols: FloatArray
    """Violations at which to end; not a number as long as they are unknown."""
    first_violation: float


def _iterate(
    cluster: Cluster,
    problem: PartitionedProblem,
    n_partitions: int,
    report_progress: ProgressCallback | None,
) -> HarmonicReport:
    """Iterate until labels are certain; leave the solution of the free vertices."""
    name, given = problem.name, problem.n_columns
    systems = cluster.submit(f"{name} system", tasks.read_system, range(n_partitions), problem)
    now = _read_scalars(problem.work)
    resumed = now.iteration
    begin = tasks.load_state if resumed else tasks.start
    states = cluster.submit(f"{name} state", begin, systems, resumed)
    while True:
        if now.iteration % CHECKPOINT == 0 and now.iteration > resumed:
            _write_checkpoint(cluster, problem, now, systems, states)
            cluster.release(states)
            states = cluster.submit(f"{name} state", tasks.load_state, systems, now.iteration)
        cluster.wait(f"{name} state", states)  # until all have sent what the products need
        pairs = list(zip(systems, states, strict=True))
        products = cluster.submit(f"{name} product", tasks.multiply, pairs, now.iteration)
        sums = np.array(
            cluster.run(f"{name} sums", tasks.sums_of, list(zip(states, products, strict=True)))
        )
        (rho, curvature), violation = sums[:, :2].sum(axis=0), sums[:, 2].max(axis=0)[:given]
        largest = float(violation[:-1].max())
        first = now.first_violation or largest
        tols = now.tols
        if np.isnan(tols).any() and largest <= FIRST_TOLERANCE:
            tols = _final_tolerances(cluster, name, violation, pairs)
        if report_progress is not None:
            tolerance = float(np.nanmin([FIRST_TOLERANCE, tols[0]]))
            report_progress(*log_progress(first, largest, tolerance))
        converged = bool((violation <= tols).all())
        if converged or now.iteration == MAX_ITERATIONS:
            cluster.release(products)
            return _conclude(cluster, problem, now.iteration, converged, pairs)
        keep = safe_divide(rho, now.rho)
        below = curvature - keep * safe_divide(rho, now.step)
        # Rounding may say otherwise where nothing is left to do; such a column begins again.
        keep, below = np.where(below > 0, keep, 0.0), np.where(below > 0, below, curvature)
        now = _Scalars(now.iteration + 1, rho, safe_divide(rho, below), tols, first)
        used = [*states, *products]
        states = cluster.submit(
            f"{name} step",
            tasks.advance_state,
            list(zip(systems, states, products, strict=True)),
            now.iteration,
            keep,
            now.step,
        )
        cluster.release(used)


def _final_tolerances(
    cluster: Cluster, name: str, violation: FloatArray, pairs: Sequence[Any]
) -> FloatArray:
    """Return at which violations to end, not a number if that is still unknown."""

    def certain_at() -> float:
        return float(min(cluster.run(f"{name} steps", tasks.certain_at, pairs)))

    tols = final_tolerances(violation, certain_at)
    return np.full(1, np.nan) if tols is None else tols


def _write_checkpoint(
    cluster: Cluster,
    problem: PartitionedProblem,
    now: _Scalars,
    systems: Sequence[Future[Any]],
    states: Sequence[Future[Any]],
) -> None:
    """Write the states, on which alone what follows will depend; remove older files."""
    pairs = list(zip(systems, states, strict=True))
    cluster.run(f"{problem.name} checkpoint", tasks.checkpoint_state, pairs, now.iteration)
    work = problem.work
    work.write(SCALARS, {key: np.asarray(value) for key, value in asdict(now).items()})
    kept = problem.halo(now.iteration), problem.checkpoint(now.iteration)
    needed = {work.path(SCALARS), *(records.folder.url for records in kept)}
    work.remove([name for name in work.names() if work.path(name) not in needed])


def _read_scalars(work: Folder) -> _Scalars:
    """Return where the last checkpoint was, or the beginning."""
    if not work.exists(SCALARS):
        return _Scalars(0, np.zeros(1), np.zeros(1), np.full(1, np.nan), 0.0)
    scalars = work.read(SCALARS)
    iteration, first = int(scalars.pop("iteration")), float(scalars.pop("first_violation"))
    return _Scalars(iteration, first_violation=first, **scalars)


def _conclude(
    cluster: Cluster,
    problem: PartitionedProblem,
    iterations: int,
    converged: bool,
    pairs: Sequence[Any],
) -> HarmonicReport:
    """Write the solution, and measure how far from harmonic it is, whatever the residuals say."""
    cluster.run(f"{problem.name} solution", tasks.publish_solution, pairs)
    checks = cluster.run(f"{problem.name} check", tasks.check_solution, pairs)
    violation = np.max([violations for violations, _ in checks], axis=0)
    certain = is_certain(violation, min(certain_at for _, certain_at in checks))
    return HarmonicReport(iterations, converged, certain, float(violation[:-1].max()))
