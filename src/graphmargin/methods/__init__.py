"""Methods, a module each, and their registry: the only place that lists them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from graphmargin._checks import check_choice
from graphmargin.labels import EncodedLabels
from graphmargin.methods.cut import Cut
from graphmargin.methods.harmonic import Harmonic
from graphmargin.methods.low_density import LowDensity
from graphmargin.methods.manifold import Manifold
from graphmargin.methods.supervised import Supervised
from graphmargin.search.held_out import rows_that_can_be_held_out
from graphmargin.search.member import AS_GIVEN, Member, Method, View

__all__: list[str] = []

METHODS: dict[str, type[Method]] = {
    "cut": Cut,
    "harmonic": Harmonic,
    "low-density": LowDensity,
    "manifold": Manifold,
    "supervised": Supervised,
}
"""All methods by name; those with a field `kernel` also have a linear variant, "linear-NAME"."""
DEFAULT_MEMBERS = ("cut", "harmonic", "low-density", "linear-low-density", "linear-supervised")
"""The default members: each improves an ensemble of the others on the league (docs/league.md)."""
MAX_GRAPH_ENTRIES = 2**24
"""Largest number of entries of the rows that a model keeps for a harmonic solution."""
OTHER_VIEW_PRIOR = 0.5
"""Prior of the cut under another view of the rows, relative to the default members."""


def member_names() -> tuple[str, ...]:
    """Return the names of all members: methods, and their linear variants.

    Examples
    --------
    >>> member_names()[:3]
    ('cut', 'linear-cut', 'harmonic')
    """
    names = []
    for name, method in METHODS.items():
        has_kernel = "kernel" in method.__annotations__
        names += [name, f"linear-{name}"] if has_kernel else [name]
    return tuple(names)


def default_members(
    labels: EncodedLabels,
    n_features: int,
    views: Sequence[View] = (AS_GIVEN,),
    *,
    has_graph: bool = False,
) -> list[Member]:
    """Return the default members for a table of a size.

    The harmonic solution is one of them for up to 16 million entries: a model has to keep all rows
    in order to attach new ones to the graph. In larger tables, and on a given graph, to which new
    rows cannot be attached, only the cut assumes clusters.

    All of them see the rows under the first view. Where labels can be held out, and up to the same
    size, the cut is also a member under each other view, with few candidates and half of the prior:
    more candidates, or other members, did not lower the error further (docs/design.md).

    Parameters
    ----------
    labels : EncodedLabels
        Labels of all rows.
    n_features : int
    views : sequence of View
    has_graph : bool
        Whether the graph is given.

    Examples
    --------
    >>> import numpy as np
    >>> labels = EncodedLabels(np.array(["a", "b"]), np.array([0, 1, 1, -1]))
    >>> [member.name for member in default_members(labels, 64)][:2]
    ['cut', 'harmonic']
    >>> default_members(labels, 2, [AS_GIVEN, View("standardized", np.array([1.0, 0.1]))])[-1].name
    'cut-standardized'
    """
    is_large = len(labels.codes) * n_features > MAX_GRAPH_ENTRIES
    names = [n for n in DEFAULT_MEMBERS if n != "harmonic" or not (is_large or has_graph)]
    members = [replace(named_member(name, labels), view=views[0]) for name in names]
    if not is_large and len(rows_that_can_be_held_out(labels.codes)):
        cut = replace(Cut.auto(labels, "rbf"), is_coarse=True)
        members += [
            Member(f"cut-{view.name.replace(' ', '-')}", cut, view, OTHER_VIEW_PRIOR)
            for view in views[1:]
        ]
    return members


def named_member(name: str, labels: EncodedLabels) -> Member:
    """Return a member whose parameters are all chosen.

    Parameters
    ----------
    name : str
        One of `member_names`.
    labels : EncodedLabels
        Labels of all rows, for the number of neighbors and the class shares.

    Examples
    --------
    >>> import numpy as np
    >>> member = named_member("cut", EncodedLabels(np.array(["a", "b"]), np.array([0, 1, -1])))
    >>> member.method.assumption, member.method.walk.graph.n_neighbors
    ('classes follow clusters', 2)
    """
    check_choice("members", name, member_names())
    kernel: Literal["linear", "rbf"] = "linear" if name.startswith("linear-") else "rbf"
    return Member(name, METHODS[name.removeprefix("linear-")].auto(labels, kernel))
