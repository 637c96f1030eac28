"""Which types a model file may name, exactly.

skops refuses types that it does not know, but knows many: every estimator of scikit-learn, all
ufuncs, random generators. And some of its nodes call what they name: functions, partials, methods,
operators, constructors. A model file needs none of these. So a pair of node and type must be on the
list here before skops sees the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from graphmargin.estimators import (
    HarmonicClassifier,
    HarmonicClassifierCV,
    ManifoldSVC,
    ManifoldSVCCV,
    MaxMarginGraphCut,
    MaxMarginGraphCutCV,
    SemiSupervisedSVC,
    SemiSupervisedSVCCV,
    SupervisedSVC,
)
from graphmargin.graph.neighbors import NeighborSearch
from graphmargin.graph.weights import Weighting
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import MarginMachine, TrainingReport
from graphmargin.models.table_model import TableModel
from graphmargin.selection import LabeledKFold, LabeledLeaveOneOut

ESTIMATORS = (
    HarmonicClassifier,
    HarmonicClassifierCV,
    ManifoldSVC,
    ManifoldSVCCV,
    MaxMarginGraphCut,
    MaxMarginGraphCutCV,
    SemiSupervisedSVC,
    SemiSupervisedSVCCV,
    SupervisedSVC,
)
PARTS = (
    Kernel,
    LabeledKFold,
    LabeledLeaveOneOut,
    MarginMachine,
    NeighborSearch,
    TrainingReport,
    Weighting,
)
NUMPY_TYPES = ("ndarray", "bool", "bool_", "float32", "float64", "int32", "int64", "str_")
PLAIN: Mapping[str, frozenset[str]] = {
    "DictNode": frozenset({"builtins.dict"}),
    "JsonNode": frozenset({"builtins.str"}),
    "ListNode": frozenset({"builtins.list"}),
    "NdArrayNode": frozenset(f"numpy.{name}" for name in NUMPY_TYPES),
    "SparseMatrixNode": frozenset({"scipy.sparse._csr.csr_array", "scipy.sparse._csr.csr_matrix"}),
    "TupleNode": frozenset({"builtins.tuple"}),
    # Keys of a dict have a type, and so have the numbers that a vectorizer of text counts in.
    "TypeNode": frozenset({"builtins.int", "builtins.str", "numpy.float64"}),
}
"""Types by the node of skops that makes them, in any model."""
TEXT_PARTS = (
    "sklearn.decomposition._truncated_svd.TruncatedSVD",
    "sklearn.feature_extraction.text.TfidfTransformer",
    "sklearn.feature_extraction.text.TfidfVectorizer",
)
"""What turns text into numbers, in a model of tables."""

Allowed = Mapping[str, frozenset[str]]


class Stranger(NamedTuple):
    """A type that is not allowed, and where it was found."""

    place: str
    node: str
    name: str


def allowed_in(kind: str) -> Allowed:
    """Return the types that a model of a kind may name, by node.

    Examples
    --------
    >>> sorted(allowed_in("SupervisedSVC")["DictNode"])
    ['builtins.dict']
    """
    objects = {f"{known.__module__}.{known.__name__}" for known in (*ESTIMATORS, *PARTS)}
    if kind == TableModel.__name__:
        try:
            from graphmargin.tables.features import TRUSTED_TYPES
        except ImportError as error:
            msg = f'models of tables need {error.name}; pip install "graphmargin[cli]"'
            raise ImportError(msg) from error
        objects |= {f"{TableModel.__module__}.{TableModel.__name__}", *TRUSTED_TYPES, *TEXT_PARTS}
    return {**PLAIN, "ObjectNode": frozenset(objects)}


def strangers(objects: Any, allowed: Allowed) -> Iterator[Stranger]:
    """Yield every node in a tree of skops that is not allowed; nothing is imported or made.

    Parameters
    ----------
    objects : JSON value
        The tree as it was read: a node is a mapping with a loader.
    allowed : mapping from node to type names

    Examples
    --------
    >>> node = {"__loader__": "FunctionNode", "__module__": "os", "__class__": "system"}
    >>> [found.name for found in strangers({"content": [node]}, PLAIN)]
    ['os.system']
    """
    todo = [("", objects)]
    while todo:
        place, state = todo.pop()
        if isinstance(state, list):
            todo.extend((place, part) for part in state)
        elif isinstance(state, dict):
            is_node = "__loader__" in state
            if is_node:
                node, name = str(state["__loader__"]), _type_name(state)
                if name not in allowed.get(node, ()):
                    yield Stranger(place, node, name)
            # A mapping that is no node holds the attributes of an object, by name.
            todo.extend(
                (place if is_node else f"{place}.{key}".lstrip("."), part)
                for key, part in state.items()
            )


def _type_name(state: Mapping[str, Any]) -> str:
    return f"{state.get('__module__')}.{state.get('__class__')}"
