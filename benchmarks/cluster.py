"""The cost of a fit on two workers, beside one machine with two threads.

A mixture of 16 features, 10 classes and 50 clusters, a label in 1 % of the rows, in Parquet files:
once by `DistributedGraphCut` on a local cluster of two worker processes of one thread and 2 GiB
each, once by `MaxMarginGraphCut` on the array in memory. Both choose gamma_g and C. Each runs in a
process of its own, after a small table, so that libraries are loaded and kernels compiled. CPU
seconds are those of all processes: workers, scheduler and client.

`python -m benchmarks.cluster` takes ten minutes; it accepts other numbers of rows as arguments.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from distributed import Client

from benchmarks.problems import mixture
from graphmargin import MaxMarginGraphCut
from graphmargin.datasets import mask_labels
from graphmargin.distributed import DistributedGraphCut
from graphmargin.distributed.engine.cluster import local_cluster

SIZES = (200_000, 1_000_000)
N_FEATURES, N_FILES = 16, 10
WARM_UP = 20_000
MEMORY_LIMIT = "2GiB"
FEATURES = [f"x{i}" for i in range(N_FEATURES)]
ROOT = Path(__file__).parents[1]


def write_table(n: int, folder: Path) -> None:
    """Write n rows with few labels as Parquet files, and a file with the true classes."""
    problem = mixture(0, n, N_FEATURES)
    table = pd.DataFrame(problem.X, columns=FEATURES)
    few = mask_labels(problem.y, fraction=0.01, random_state=0)
    table["y"] = pd.array(few, dtype="Int64")
    table.loc[few == -1, "y"] = pd.NA
    folder.mkdir()
    for i, rows in enumerate(np.array_split(np.arange(n), N_FILES)):
        table.iloc[rows].to_parquet(folder / f"{i}.parquet")
    np.savez(folder / "truth.npz", y=problem.y, hidden=few == -1)


def on_a_cluster(folder: Path, out: Path) -> dict[str, Any]:
    """Return the cost of the fit on two workers."""
    with local_cluster(n_workers=2, memory_limit=MEMORY_LIMIT) as cluster:
        client = cluster.client
        DistributedGraphCut().fit(folder / "warm", label="y", work_dir=out / "warm", client=client)
        pids, before = client.run(os.getpid), _cpu_of_all(client)
        start = time.perf_counter()
        cut = DistributedGraphCut().fit(
            folder / "table", label="y", work_dir=out / "work", client=client
        )
        seconds = time.perf_counter() - start
        costs = {
            "seconds": seconds,
            "cpu": _cpu_of_all(client) - before,
            "stages": cut.seconds_,
            "recall": cut.graph_recall_,
            "partitions": cut.n_partitions_,
            "replication": cut.replication_,
            "iterations": cut.n_iter_,
            "gigabytes": max(client.run(_peak_memory).values()),
            "died": client.run(os.getpid) != pids,
            "blend": [
                (*cut.choice_.trials.params[i].values(), factor)
                for i, factor in cut.choice_.blended
            ],
        }
    labels = pd.read_parquet(cut.transduction_)["y"].to_numpy()
    np.save(out / "cluster.npy", labels)
    return costs


def on_one_machine(folder: Path, out: Path) -> dict[str, Any]:
    """Return the cost of the fit in one process."""
    _fit(folder / "warm")
    X, y = _arrays(folder / "table")
    start, before = time.perf_counter(), time.process_time()
    cut = MaxMarginGraphCut(random_state=0).fit(X, y)
    costs = {
        "seconds": time.perf_counter() - start,
        "cpu": time.process_time() - before,
        "gigabytes": _peak_memory(),
    }
    np.save(out / "machine.npy", cut.transduction_)
    return costs


def _fit(folder: Path) -> None:
    MaxMarginGraphCut(random_state=0).fit(*_arrays(folder))


def _arrays(folder: Path) -> tuple[Any, Any]:
    table = pd.concat([pd.read_parquet(folder / f"{i}.parquet") for i in range(N_FILES)])
    return table[FEATURES].to_numpy(), table["y"].fillna(-1).to_numpy(np.int64)


def _cpu_of_all(client: Client) -> float:
    return sum(client.run(time.process_time).values()) + time.process_time()


def _peak_memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def _in_own_process(what: str, folder: Path, out: Path) -> dict[str, Any]:
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "benchmarks.cluster",
        what,
        str(folder),
        str(out),
    ]
    output = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(output.splitlines()[-1])


def compare(n: int) -> dict[str, Any]:
    """Print the cost of both fits on n rows, and return that on the cluster."""
    with tempfile.TemporaryDirectory() as path:
        folder, out = Path(path), Path(path) / "out"
        out.mkdir()
        write_table(WARM_UP, folder / "warm")
        write_table(n, folder / "table")
        cluster = _in_own_process("cluster", folder, out)
        machine = _in_own_process("machine", folder, out)
        truth = np.load(folder / "table" / "truth.npz")
        y, hidden = truth["y"], truth["hidden"]
        labels = {name: np.load(out / f"{name}.npy") for name in ("cluster", "machine")}
    errors = {name: (values != y)[hidden].mean() for name, values in labels.items()}
    agreement = (labels["cluster"] == labels["machine"])[hidden].mean()
    print(
        f"{n:,} rows, {cluster['partitions']} partitions, {cluster['replication']:.2f} of them a "
        f"row, recall of the graph {cluster['recall']:.3f}, {cluster['iterations']} iterations"
    )
    for name, costs in (("two workers", cluster), ("one machine", machine)):
        error = errors["cluster" if costs is cluster else "machine"]
        print(
            f"  {name}: {costs['seconds']:.0f} s, {costs['cpu']:.0f} CPU s, "
            f"{costs['gigabytes']:.2f} GB {'a worker' if costs is cluster else ''}, "
            f"error {error:.2%}"
        )
    print(f"  same labels {agreement:.2%}, CPU {cluster['cpu'] / machine['cpu']:.2f} x")
    for name, seconds in cluster["stages"].items():
        print(f"    {name:<24} {seconds:7.1f} s")
    print(f"  blend (gamma_g, C, factor): {cluster['blend']}, a worker died: {cluster['died']}")
    return cluster


def main(sizes: list[int]) -> None:
    """Compare both fits for some numbers of rows."""
    results = [compare(n) for n in sizes]
    for small, large, n, m in zip(results, results[1:], sizes, sizes[1:], strict=False):
        print(
            f"{m / n:g} x the rows: {large['cpu'] / small['cpu']:.2f} x the CPU, "
            f"{large['seconds'] / small['seconds']:.2f} x the time"
        )


if __name__ == "__main__":
    parts = {"cluster": on_a_cluster, "machine": on_one_machine}
    if sys.argv[1:2] and sys.argv[1] in parts:
        print(json.dumps(parts[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]))))
    else:
        main([int(float(n)) for n in sys.argv[1:]] or list(SIZES))
