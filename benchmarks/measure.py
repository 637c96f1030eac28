"""The cost of one system on one problem, in a process of its own.

`in_own_process` starts ``python -m benchmarks.measure``, which makes the problem, warms up on a
part of its rows, runs the system once and prints one line of JSON. An exception, a lack of memory
or a time-out is a result, too.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import resource
import signal
import subprocess
import sys
import time
import warnings
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.suites import Case

ROOT = Path(__file__).parents[1]
MEMORY_LIMIT = int(0.85 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
"""Bytes of address space that a process may ask for."""
THREADS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
THREAD_POOLS = ("OMP", "OPENBLAS", "MKL", "NUMBA", "VECLIB")


def in_own_process(
    case: Case,
    seed: int,
    *,
    timeout: float,
    rows: int | None = None,
    save: Path | None = None,
    memory_limit: int = MEMORY_LIMIT,
    root: Path = ROOT,
) -> dict[str, Any]:
    """Return the measurement of a fresh process, or ``{"failure": reason}``.

    Parameters
    ----------
    case : Case
    seed : int
        Seed of the problem.
    timeout : float
        Seconds after which the process is ended.
    rows : int, default=None
        Take only so many rows of the problem.
    save : Path, default=None
        File for the labels of the new rows where there are some, else of all rows (.npy).
    memory_limit : int
        Bytes.
    root : Path
        Checkout whose library is run; the benchmarks are those of this one.
    """
    command = [sys.executable, "-m", "benchmarks.measure", case.problem, case.system, str(case.k)]
    command += [str(seed), str(memory_limit)]
    command += [f"--rows={rows}"] if rows else []
    command += [f"--save={save}"] if save else []
    settings = {f"{pool}_NUM_THREADS": str(THREADS) for pool in THREAD_POOLS}
    settings["PYTHONPATH"] = str(root / "src")
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=os.environ | settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # so that its own processes end with it
    ) as process:
        try:
            output, complaints = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return {"failure": f"not done after {timeout:g} s"}
    if process.returncode:
        return {"failure": _reason(process.returncode, complaints)}
    return json.loads(output.splitlines()[-1])


def _reason(code: int, complaints: str) -> str:
    """Return the reason why a process ended: its signal, and the last line that it wrote."""
    lines = complaints.strip().splitlines()
    name, colon, message = (lines[-1] if lines else "").partition(": ")
    last = name.rpartition(".")[2].strip(" _") + colon + message
    if code >= 0:
        return last or f"exit code {code}"
    killed = f"killed by {signal.Signals(-code).name}"
    return f"{killed}: {last}" if last else killed


def part_of(problem: Any, n: int) -> Any:
    """Return a problem on n rows, at most half of them labeled, and n new ones."""
    random = np.random.default_rng(0)
    labeled = random.permutation(np.flatnonzero(~problem.hidden))[: n // 2]
    hidden = random.permutation(np.flatnonzero(problem.hidden))[: n - len(labeled)]
    rows = np.sort(np.concatenate([labeled, hidden]))
    part = replace(problem, X=problem.X[rows], y=problem.y[rows], y_few=problem.y_few[rows])
    if problem.X_new is None:
        return part
    return replace(part, X_new=problem.X_new[:n], y_new=problem.y_new[:n])


def measure(case: Case, seed: int, rows: int | None, save: Path | None) -> dict[str, Any]:
    """Return the cost of a system, which runs once in this process."""
    from sklearn.exceptions import ConvergenceWarning

    from benchmarks.problems import PROBLEMS
    from benchmarks.systems import SYSTEMS

    problem, system = PROBLEMS[case.problem](seed), SYSTEMS[case.system]
    if rows:
        problem = part_of(problem, rows)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # Loading of libraries and compiled code is not part of the run.
        small = part_of(problem, system.warm_up_rows)
        system.run(system.prepare(small, case.k), case.k)
        given = system.prepare(problem, case.k)
        caught.clear()
        gc.collect()
        held, cpu, start = _start_of_memory(), _cpu_seconds(), time.perf_counter()
        outcome = system.run(given, case.k)
        wall, cpu = time.perf_counter() - start, _cpu_seconds() - cpu
        memory = _peak_memory() - held
    result = {
        "wall": outcome.stands_for * wall,
        "cpu": outcome.stands_for * cpu,
        "memory": memory,
        "converged": not any(issubclass(w.category, ConvergenceWarning) for w in caught),
    }
    if outcome.stands_for > 1:
        result["stands_for"] = outcome.stands_for
    labels = outcome.labels() if callable(outcome.labels) else outcome.labels
    if labels is not None:
        hidden = problem.hidden
        result["error"] = float(np.mean(labels[..., hidden] != problem.y[hidden]))
    if outcome.new_labels is not None:
        result["new_error"] = float(np.mean(outcome.new_labels != problem.y_new))
    if outcome.stages:
        result["stages"] = outcome.stages
    if outcome.floors:
        result["floors"] = outcome.floors
    if save:
        np.save(save, labels if outcome.new_labels is None else outcome.new_labels)
    return result


def _cpu_seconds() -> float:
    """Return the CPU seconds of this process and its children, on Linux also of those at work."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    ended = sum(usage.ru_utime + usage.ru_stime for usage in usages)
    ticks = 0
    for children in Path("/proc/self/task").glob("*/children"):
        for child in children.read_text().split():
            with suppress(OSError):  # it has ended
                fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
                ticks += sum(map(int, fields[11:15]))  # utime, stime, those of its own children
    return ended + ticks / os.sysconf("SC_CLK_TCK")


def _start_of_memory() -> float:
    """Return the megabytes that are held now; on Linux, forget the peak so far."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return _peak_memory()
    return _status("VmRSS")


def _peak_memory() -> float:
    """Return the peak in megabytes."""
    if sys.platform == "linux":
        return _status("VmHWM")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # bytes on macOS


def _status(field: str) -> float:
    """Return a field of the kernel's account of this process, in megabytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 2**10
    msg = f"/proc/self/status has no {field}"
    raise LookupError(msg)


def main() -> None:
    """Measure the case on the command line and print it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, kind in {"problem": str, "system": str, "k": int, "seed": int, "limit": int}.items():
        parser.add_argument(name, type=kind)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--save", type=Path)
    given = parser.parse_args()
    if sys.platform == "linux":  # others do not enforce it
        resource.setrlimit(resource.RLIMIT_AS, (given.limit, given.limit))
    case = Case(given.problem, given.system, given.k)
    print(json.dumps(measure(case, given.seed, given.rows, given.save)))


if __name__ == "__main__":
    main()
