"""Check that docstrings of modules, classes, functions and constants say what the thing is.

``python tools/check_docstrings.py src benchmarks`` prints every docstring that begins with a word
of a fragment or of an indirect question ("Of values in grids.", "What a part does."), and fails if
there is one. ruff's D401 asks functions for a verb, but leaves properties out.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PREPOSITIONS = (
    "about above after among as at before behind below beside between beyond by during for from in "
    "into of on over per since through to under until up with within without"
)
QUESTIONS = "how if that what when where whether which who whom whose why"
FRAGMENTS = frozenset(f"{PREPOSITIONS} {QUESTIONS}".split())
"""Words that begin no noun phrase and no sentence of a docstring."""


class Finding(NamedTuple):
    """A docstring that begins like a fragment, and where it is."""

    path: Path
    line: int
    text: str


def fragments(path: Path) -> Iterator[Finding]:
    """Yield the docstrings of a module that are fragments: its own and those of all in it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            continue
        for place, statement in enumerate(node.body):
            is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
            if not is_text or not isinstance(statement.value.value, str):
                continue
            follows = isinstance(node.body[place - 1], ast.Assign | ast.AnnAssign)
            if place == 0 or follows:
                text = statement.value.value.strip().splitlines()[0]
                if text.split()[0].strip(",.:;`*\"'").lower() in FRAGMENTS:
                    yield Finding(path, statement.lineno, text)


def main(roots: list[str]) -> int:
    """Print the fragments below some folders, and return 1 if there are any."""
    findings = [
        finding
        for root in roots
        for path in sorted(Path(root).rglob("*.py"))
        for finding in fragments(path)
    ]
    for finding in findings:
        print(f"{finding.path}:{finding.line}: {finding.text}")
    return int(bool(findings))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
