"""Run the tests of tests/fuzz for some minutes, with many examples that differ from round to round.

    python tools/fuzz.py --minutes 20

Every round has its own seed. At the first finding, the command that repeats it is printed, and the
exit code is 1; else the number of cases of each kind is printed.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CASES = re.compile(r"^cases of (.*): (\d+)$", re.MULTILINE)
KILL_MOMENTS = 20
"""Moments at which the first round kills a command; later ones leave this to `make test`."""


def command(seed: int) -> list[str]:
    """Return the command of a round."""
    return [
        *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/fuzz"),
        *("--hypothesis-profile=fuzz", f"--hypothesis-seed={seed}"),
        *(["--deselect=tests/fuzz/test_killed.py"] if seed else []),
    ]


def run_round(seed: int) -> subprocess.CompletedProcess[str]:
    """Return the finished round of a seed."""
    settings = {"GRAPHMARGIN_KILL_MOMENTS": str(KILL_MOMENTS)}
    return subprocess.run(
        command(seed),
        cwd=ROOT,
        env={**os.environ, **settings},
        check=False,
        capture_output=True,
        text=True,
    )


def main() -> int:
    """Run rounds until the time is up, and return 1 if there is a finding."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--first-seed", type=int, default=0)
    options = parser.parse_args()
    cases: Counter[str] = Counter()
    end, seed = time.monotonic() + 60 * options.minutes, options.first_seed
    with ThreadPoolExecutor(options.jobs) as pool:
        while time.monotonic() < end:
            seeds = range(seed, seed + options.jobs)
            seed += options.jobs
            for number, done in zip(seeds, pool.map(run_round, seeds), strict=True):
                cases.update({name: int(count) for name, count in CASES.findall(done.stdout)})
                if done.returncode:
                    print(done.stdout)
                    print(f"found with: {' '.join(command(number))}")
                    return 1
            print(f"{seed - options.first_seed} rounds, {cases.total():,} cases", flush=True)
    for name, count in sorted(cases.items()):
        print(f"{count:9,}  {name}")
    print(f"no finding in {cases.total():,} cases")
    return 0


if __name__ == "__main__":
    sys.exit(main())
