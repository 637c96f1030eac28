"""The amount of code that a reader of one fit meets, and names that mean one thing."""

import ast
from collections import defaultdict
from pathlib import Path

import graphmargin

ROOT = Path(graphmargin.__file__).parent.parent
MAX_LINES = 9_100
"""Lines of all modules that `MaxMarginGraphCut.fit` needs, without the algorithms behind doors."""
DOORS = ("._search", "._solvers")


def source(module):
    path = ROOT / module.replace(".", "/")
    return next((p for p in (path.with_suffix(".py"), path / "__init__.py") if p.exists()), None)


def imported(path):
    """Return the modules that a module imports when it is imported itself."""
    nodes = list(ast.parse(path.read_text()).body)
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("graphmargin"):
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Try):
            nodes += node.body


def closure(start):
    """Return the modules that a module needs, without packages that only export names."""
    modules, waiting = {}, [start]
    while waiting:
        module = waiting.pop()
        path = source(module)
        if path is None or module in modules or any(door in module for door in DOORS):
            continue
        if path.name != "__init__.py":
            modules[module] = len(path.read_text().splitlines())
            waiting += imported(path)
    return modules


def test_the_reading_path_of_the_cut_is_an_afternoon():
    modules = closure("graphmargin.estimators.max_margin_graph_cut")
    assert "graphmargin.methods.cut" in modules
    assert "graphmargin.methods.low_density" not in modules, "a classifier loads its own method"
    assert not any("reports" in module or "tables" in module for module in modules)
    assert sum(modules.values()) <= MAX_LINES


def test_a_class_name_means_one_thing():
    places = defaultdict(list)
    for path in (ROOT / "graphmargin").rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(path.name)
    assert {name: where for name, where in places.items() if len(where) > 1} == {}
