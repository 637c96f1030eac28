"""The stage that computes a harmonic solution on a partitioned graph.

The system, its kernels and the rule that ends the iteration are those of `graphmargin.harmonic`,
for hard labels and all classes at once. Conjugate gradients take the form of Chronopoulos and Gear:
with ``U = M R`` and ``W = A U``, an iteration is

    P <- U + P keep,  S <- W + S keep,  X <- X + P step,  R <- R - S step,

so that the partitions exchange values only once, those of U at cross-partition edges. A is
``I - s^-1/2 W s^-1/2``, and M adds the solution on the coarse graph of each partition.

The system and the state of a partition stay with a worker. Tasks change nothing in place and depend
on their arguments and on storage alone, so that other workers compute the results of a dead worker
again, to the last bit. Every few iterations, all partitions write a checkpoint, from which a
run is resumed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from distributed import Future

from graphmargin._typing import FloatArray, ProgressCallback
from graphmargin.distributed.engine.cluster import Cluster
from graphmargin.distributed.engine.run import Run
from graphmargin.distributed.stages import harmonic_tasks as tasks
from graphmargin.distributed.stages.harmonic_tasks import PartitionedProblem
from graphmargin.harmonic._solvers.iterative import log_progress, safe_divide
from graphmargin.harmonic._solvers.system import FIRST_TOLERANCE, final_tolerances, is_certain

MAX_ITERATIONS = 10_000
CHECKPOINT = 10
"""Number of iterations from one checkpoint to the next."""
REPORT = "report.json"
SCALARS = "scalars.pack"


@dataclass(frozen=True)
class HarmonicReport:
    """A report on the solver of a harmonic system.

    Attributes
    ----------
    iterations : int
    converged : bool
        Whether the violation fell below its tolerance within `MAX_ITERATIONS`.
    certain : bool
        Whether all labels with a confidence of at least 1e-6 are certified.
    violation : float
        Largest difference of a class mass from the weighted mean of its neighbors.
    """

    iterations: int
    converged: bool
    certain: bool
    violation: float


def solve(run: Run, n_partitions: int, n_classes: int, gamma_g: float) -> HarmonicReport:
    """Write the harmonic solution as `StoredSolution`, and return a report on the solver.

    Parameters
    ----------
    run : Run
        Its folder has the `PartitionedGraph` and its `ReachedVertices`.
    n_partitions, n_classes : int
    gamma_g : float >= 0
        Finite.

    Notes
    -----
    An iteration has two passes over the partitions. Values for other partitions, and every tenth
    state, go through the run's folder; the client gets sums only. The solution does not depend on
    the workers of each task, on workers that died, or on the checkpoint at which a run was resumed.

    Examples
    --------
    The path 0 - 1 - 2 - 3 has labels at its ends, and each half of it is a partition:

    >>> import tempfile
    >>> from distributed import Client
    >>> from graphmargin.distributed.engine.handles import GraphBlock, Induced, PartitionedGraph
    >>> from graphmargin.distributed.engine.handles import StoredSolution
    >>> from graphmargin.distributed.engine.storage import Folder
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
    name = problem.name
    results = run.finished(name, n_partitions)
    if len(results) < n_partitions:
        with run.timed(name, f"{name}: iterations") as report_progress:
            report = _iterate(run, problem, n_partitions, report_progress)
        run.stage(name, tasks.write_solution, n_partitions, problem, asdict(report))
    else:
        report = HarmonicReport(**{key: value.item() for key, value in results[0].items()})
    problem.work.remove()
    return report


@dataclass(frozen=True)
class _IterationScalars:
    """The numbers of an iteration that the client keeps."""

    iteration: int
    rho: FloatArray
    """The sums diag(R'U) of the iteration before, zero at the first."""
    step: FloatArray
    tols: FloatArray
    """Violations at which to stop, NaN as long as they are unknown."""
    first_violation: float


def _iterate(
    run: Run,
    problem: PartitionedProblem,
    n_partitions: int,
    report_progress: ProgressCallback | None,
) -> HarmonicReport:
    """Iterate until the labels are certain, write the free solution, and return the report."""
    cluster, name, n_columns = run.cluster, problem.name, problem.n_columns
    systems = cluster.submit(f"{name} system", tasks.read_system, range(n_partitions), problem)
    now = _last_checkpoint(run, problem, n_partitions)
    resumed = now.iteration
    first_task = tasks.load_state if resumed else tasks.start_state
    states = cluster.submit(f"{name} state", first_task, systems, resumed)
    while True:
        if now.iteration % CHECKPOINT == 0 and now.iteration > resumed:
            _write_checkpoint(run, problem, now, systems, states)
            cluster.release(states)
            states = cluster.submit(f"{name} state", tasks.load_state, systems, now.iteration)
        cluster.wait(f"{name} state", states)  # until all have written the values for products
        pairs = list(zip(systems, states, strict=True))
        products = cluster.submit(f"{name} product", tasks.multiply, pairs, now.iteration)
        with_products = list(zip(states, products, strict=True))
        sums = np.array(cluster.run(f"{name} sums", tasks.partition_sums, with_products))
        (rho, curvature), violation = sums[:, :2].sum(axis=0), sums[:, 2].max(axis=0)[:n_columns]
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
        # Of a solved column, rounding may make this negative; such a column restarts.
        keep, below = np.where(below > 0, keep, 0.0), np.where(below > 0, below, curvature)
        now = _IterationScalars(now.iteration + 1, rho, safe_divide(rho, below), tols, first)
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
    """Return the violations at which to stop, NaN if they are still unknown."""

    def certain_at() -> float:
        return float(min(cluster.run(f"{name} steps", tasks.certain_at, pairs)))

    tols = final_tolerances(violation, certain_at)
    return np.full(1, np.nan) if tols is None else tols


def _write_checkpoint(
    run: Run,
    problem: PartitionedProblem,
    now: _IterationScalars,
    systems: Sequence[Future[Any]],
    states: Sequence[Future[Any]],
) -> None:
    """Write the states of all partitions, and remove the files that are no longer needed."""
    pairs = list(zip(systems, states, strict=True))
    name = problem.checkpoint_name(now.iteration)
    run.run_tasks(name, tasks.checkpoint_state, pairs, asdict(now))
    work = problem.work
    kept = problem.halo(now.iteration), problem.checkpoint(now.iteration)
    needed = {records.folder.url for records in kept}
    work.remove([name for name in work.names() if work.path(name) not in needed])


def _last_checkpoint(run: Run, problem: PartitionedProblem, n_partitions: int) -> _IterationScalars:
    """Return the scalars of the last checkpoint of all partitions, or of the first iteration."""
    for iteration in problem.checkpointed_iterations():
        results = run.finished(problem.checkpoint_name(iteration), n_partitions)
        if len(results) == n_partitions:
            scalars = results[0]
            del scalars["iteration"]
            first = float(scalars.pop("first_violation"))
            return _IterationScalars(iteration, first_violation=first, **scalars)
    return _IterationScalars(0, np.zeros(1), np.zeros(1), np.full(1, np.nan), 0.0)


def _conclude(
    cluster: Cluster,
    problem: PartitionedProblem,
    iterations: int,
    converged: bool,
    pairs: Sequence[Any],
) -> HarmonicReport:
    """Write the free solution, and return a report with its violation, computed from scratch."""
    cluster.run(f"{problem.name} solution", tasks.publish_solution, pairs)
    checks = cluster.run(f"{problem.name} check", tasks.check_solution, pairs)
    violation = np.max([violations for violations, _ in checks], axis=0)
    certain = is_certain(violation, min(certain_at for _, certain_at in checks))
    return HarmonicReport(iterations, converged, certain, float(violation[:-1].max()))
