"""The command ``python -m reproduction``: the experiments of the paper."""

from __future__ import annotations

import argparse
import shlex
import sys
import textwrap
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from joblib import cpu_count

from graphmargin._errors import InputError
from reproduction.options import RunOptions

if TYPE_CHECKING:
    from reproduction.claims import Claim
    from reproduction.experiments import Experiment

COMMAND = "python -m reproduction"
PACKAGES = {"markdown_it": "markdown-it-py", "matplotlib": "matplotlib"}
"""Modules that graphmargin does not need, and the packages that bring them."""
ALL = "all"
MAX_JOBS = 16
"""Number of processes by default on a machine with more cores: each needs some 300 MB."""
INTERRUPTED = 130
"""Exit code after Ctrl-C."""
EPILOG = """\
The page, reproduction.html and reproduction.md in the folder that --out names, grows with every
experiment, and the records are there as CSV files. Finished settings are kept: after Ctrl-C, the
same command continues.

examples:
  python -m reproduction figure1
  python -m reproduction figure1 figure2 --quick
  python -m reproduction table --draws 10 --jobs 4 --out out/table
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run experiments, print their claims, and return the exit code.

    0 is success, 2 something that the user has to change, and 130 an interruption.
    """
    missing = [package for module, package in PACKAGES.items() if find_spec(module) is None]
    if missing:
        return _fail(f"{', '.join(missing)} is missing; pip install --group reproduction")
    from reproduction.experiments import EXPERIMENTS, reproduce
    from reproduction.folder import page_files

    given = _parser(EXPERIMENTS).parse_args(argv)
    names = tuple(name for name in EXPERIMENTS if name in given.names or ALL in given.names)
    options = RunOptions(given.out, given.quick, given.draws, given.jobs, not given.quiet)
    try:
        claims = reproduce(
            names, options, command=_command(names, options), experiments=EXPERIMENTS
        )
    except KeyboardInterrupt:
        _fail("interrupted; what is finished is kept, and the same command continues")
        return INTERRUPTED
    except (InputError, OSError) as wrong:
        return _fail(str(wrong))
    if not given.quiet:
        print("\n\n".join(map(_lines, claims)), end="\n\n" if claims else "")
    print(*page_files(given.out), sep="\n")
    return 0


def _parser(experiments: Mapping[str, Experiment]) -> argparse.ArgumentParser:
    listed = [f"{name}: {experiment.title}" for name, experiment in experiments.items()]
    parser = argparse.ArgumentParser(
        prog=COMMAND,
        description="Repeat the experiments of the paper, and compare with what it says.",
        epilog=EPILOG,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument(
        "names",
        nargs="+",
        choices=[*experiments, ALL],
        metavar="NAME",
        help="\n".join([*listed, f"{ALL}: all of them, in this order"]),
    )
    parser.add_argument("--quick", action="store_true", help="run fewer problems and draws")
    parser.add_argument("--draws", type=_positive, metavar="N", help="draws of rows and labels")
    parser.add_argument(
        "--jobs",
        type=_positive,
        default=min(cpu_count(), MAX_JOBS),
        metavar="N",
        help="processes; by default, one for each core",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("out/reproduction"),
        metavar="FOLDER",
        help="folder of the results (%(default)s)",
    )
    parser.add_argument(
        "-q", "--quiet", action="store_true", help="print nothing but where the page is"
    )
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        msg = f"must be at least 1, got {number}"
        raise argparse.ArgumentTypeError(msg)
    return number


def _command(names: Sequence[str], options: RunOptions) -> str:
    words = [*COMMAND.split(), *names, *(["--quick"] if options.quick else [])]
    words += [] if options.draws is None else ["--draws", str(options.draws)]
    return shlex.join([*words, "--jobs", str(options.n_jobs), "--out", str(options.folder)])


def _lines(claim: Claim) -> str:
    """Return a claim as lines of text: the verdict beside the statement, then the numbers."""
    texts = [claim.claim, f"published: {claim.published}", f"ours: {claim.ours}"]
    lines = [textwrap.wrap(text, 86, subsequent_indent="  ") for text in texts]
    first, *others = [line for part in lines for line in part]
    return "\n".join([f"{claim.verdict:11}{first}", *(f"{'':11}{line}" for line in others)])


def _fail(text: str) -> int:
    print(f"{COMMAND}: {' '.join(text.split())}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
