"""All draws of all tables with one or two versions of the library, kept in a file of JSON lines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.json_lines import append_line, read_lines
from benchmarks.measure import ROOT, THREAD_POOLS

NEW, OLD = "new", "old"

Result = dict[str, Any]


class Version:
    """A process that measures draws with the library of a checkout."""

    def __init__(self, root: Path) -> None:
        """Start the process; `root` is that of the checkout."""
        settings = {f"{pool}_NUM_THREADS": "1" for pool in THREAD_POOLS}
        inherited = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        settings["PYTHONPATH"] = os.pathsep.join([str(root / "src"), *inherited])
        self.commit = _commit(root)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.confidence.draw"],
            cwd=ROOT,
            env=os.environ | settings,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def measure(self, request: dict[str, Any]) -> Result:
        """Return the measures of a draw; the process writes the reason of a failure itself."""
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            msg = f"the process that measures {request} has ended; see its message above"
            raise RuntimeError(msg)
        return json.loads(line)

    def __enter__(self) -> Version:
        """Return the version itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the process."""
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def run(
    roots: dict[str, Path], tables: Sequence[str], per_class: Sequence[int], draws: int, out: Path
) -> None:
    """Measure all draws that the file does not have, and append them to it.

    Parameters
    ----------
    roots : dict
        Roots of the checkouts, by the name of the version. Versions take turns.
    tables, per_class
        Names of tables, and numbers of labels of each class.
    draws : int
    out : Path
        File of JSON lines.
    """
    done = {_key(result) for result in read_lines(out)}
    with ExitStack() as stack:
        versions = {name: stack.enter_context(Version(root)) for name, root in roots.items()}
        for table in tables:
            for labels in per_class:
                for draw in range(draws):
                    request = {"table": table, "per_class": labels, "draw": draw}
                    for name in list(versions)[:: 1 if draw % 2 else -1]:
                        key = {"version": name, **request}
                        if _key(key) in done:
                            continue
                        version = versions[name]
                        result = key | {"commit": version.commit} | version.measure(request)
                        append_line(out, result)
                        sys.stderr.write(_line(result))


def _commit(root: Path) -> str:
    """Return the commit of a checkout, and whether its library has other changes."""
    git = ["git", "-C", str(root)]
    commit = subprocess.check_output([*git, "rev-parse", "--short", "HEAD"], text=True).strip()
    changed = subprocess.check_output([*git, "status", "--porcelain", "src"], text=True).strip()
    return f"{commit}-dirty" if changed else commit


def _key(result: Result) -> tuple[Any, ...]:
    return tuple(result[name] for name in ("version", "table", "per_class", "draw"))


def _line(result: Result) -> str:
    what = f"{result['table']}, {result['per_class']} a class, draw {result['draw']}"
    if "skipped" in result:
        return f"{what}, {result['version']}: skipped\n"
    measures = " ".join(f"{name} {100 * result[name]:.1f}" for name in ("error", "aurc", "ece"))
    return f"{what}, {result['version']}: {measures}, {result['cpu']:.1f} s\n"
