"""Methods, a module each, and their registry: the only place that lists them."""

from __future__ import annotations

from typing import Literal

from graphmargin._checks import check_choice
from graphmargin.labels import EncodedLabels
from graphmargin.methods.cut import Cut
from graphmargin.methods.harmonic import Harmonic
from graphmargin.methods.low_density import LowDensity
from graphmargin.methods.manifold import Manifold
from graphmargin.methods.supervised import Supervised
from graphmargin.search.member import Member, Method

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
"""The members that improve an ensemble of the others on the league (docs/league.md)."""
MAX_GRAPH_ENTRIES = 2**24
"""Largest number of entries of the rows that a model keeps for a harmonic solution."""


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


def default_members(n_rows: int, n_features: int) -> tuple[str, ...]:
    """Return the names of the default members for a table of a size.

    The harmonic solution is one of them for up to 16 million entries: a model has to keep all rows
    in order to attach new ones to the graph. In larger tables, only the cut assumes clusters.

    Examples
    --------
    >>> default_members(10**6, 64)
    ('cut', 'low-density', 'linear-low-density', 'linear-supervised')
    """
    if n_rows * n_features <= MAX_GRAPH_ENTRIES:
        return DEFAULT_MEMBERS
    return tuple(name for name in DEFAULT_MEMBERS if name != "harmonic")


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
