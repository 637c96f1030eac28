"""The ensemble of classifiers with different assumptions about unlabeled rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import check_is_fitted, validate_data

from graphmargin._checks import check_choice
from graphmargin._rows import is_frame
from graphmargin._typing import FloatArray
from graphmargin.estimators.base import SemiSupervisedClassifier, refuse_arguments, warn_caller
from graphmargin.labels import EncodedLabels
from graphmargin.methods import default_members, member_names, named_member
from graphmargin.search.member import AS_GIVEN, Member, Method, View
from graphmargin.search.parameters import is_auto, is_list, is_pairwise
from graphmargin.search.views import features_views, number_views
from graphmargin.tables.column_names import ID_NOTE, format_names
from graphmargin.tables.frames import as_pandas

if TYPE_CHECKING:
    from graphmargin.tables.table_features import TableFeatures

SCALES = ("auto", "none")
"""Values of `scale`."""

OF_ENSEMBLE = ("class_weight", "cv", "n_jobs", "random_state", "verbose")
"""Parameters that an ensemble has for all of its members."""


class SemiSupervisedEnsemble(SemiSupervisedClassifier):
    """Mixture of classifiers with different assumptions, weighed by held-out labels.

    Classes may follow clusters, or be separated by a gap in the density or by a plane; which of
    these holds is not known beforehand. Each member makes one of these assumptions and chooses its
    own parameters. All members are tested on the same held-out labels. The weight of a member is
    proportional to the cube root of the likelihood of these labels under its predictions. The class
    probabilities of the members are averaged with these weights. docs/league.md compares it with
    each member on 33 data sets.

    X may be a data frame with columns of numbers, categories, dates, text or vectors, with missing
    cells: it is encoded as the commands of the terminal encode a table, and predictions take frames
    with the same columns. Rows of an array are scaled, see `scale`.

    Parameters
    ----------
    members : "auto" or list, default="auto"
        Names of methods ("cut", "linear-cut", "harmonic", "low-density", "linear-low-density",
        "manifold", "linear-manifold", "supervised", "linear-supervised"), classifiers of
        graphmargin, whose lists of candidates and "auto" are tried, or a
        `graphmargin.search.Method` or `graphmargin.search.Member` of your own. "auto" has the
        members of the best ensemble on the league: "cut", "low-density", "linear-low-density",
        "linear-supervised" and, for up to 16 million entries, "harmonic" (unless W is given) and
        the cut with the other scales of the columns. If no label can be held out, only "cut" and
        "harmonic" are used.
    scale : {"auto", "none"}, default="auto"
        Scales of the columns of numbers. "auto" keeps those that seem to have one unit, such as
        pixels, as they are, and standardizes others, such as lengths beside weights; held-out
        labels weigh a cut with the other scales. With "none", columns have one unit. Sparse rows
        and given graphs are never scaled, nor are the rows of a `Member`, which has its own view.
    class_weight : None, "balanced" or dict from class to float, default=None
        Costs of errors: the label is the class with the largest product of cost and probability.
    cv : default=None
        Labels that are held out, as in `MaxMarginGraphCut`.
    n_jobs, random_state, verbose
        As in `MaxMarginGraphCut`.

    Attributes
    ----------
    classes_ : array of shape (c,)
    transduction_ : array of shape (n,)
        The given labels, and predictions for the other rows.
    label_distributions_ : array of shape (n, c)
        Class probabilities of the training rows.
    confidence_ : array of shape (n,)
        Probability of every label.
    choice_ : Choice
        The weights of the members and the evidence behind them. Print it to see a line for each
        member.
    predictor_ : Predictor
        The data that predictions need, with a part for each member that was not left out.
    features_ : TableFeatures or None
        If X is a frame: the use of its columns (``features_.columns``), and their encoders.
    target_ : str
        Name of the labels, "label" if y has none; model files of frames have it.
    held_out_, accuracy_
        As in `MaxMarginGraphCut`.

    Examples
    --------
    >>> from graphmargin.datasets import load_digits, mask_labels
    >>> X, y = load_digits()
    >>> few = mask_labels(y[:500], per_class=5, random_state=0)
    >>> model = SemiSupervisedEnsemble(random_state=0).fit(X[:500], few)
    >>> bool(model.score(X[500:], y[500:]) > 0.85)
    True
    >>> model.choice_.names[:5]
    ('cut', 'harmonic', 'low-density', 'linear-low-density', 'linear-supervised')

    With a data frame:

    >>> import pandas as pd
    >>> table = pd.DataFrame({"grams": [31, 33, 32, 70, 72, 71], "fur": list("rr bbb")})
    >>> model = SemiSupervisedEnsemble().fit(table, ["cat", None, None, "dog", None, None])
    >>> model.transduction_.tolist()
    ['cat', 'cat', 'cat', 'dog', 'dog', 'dog']
    >>> model.predict(pd.DataFrame({"grams": [69], "fur": ["b"]})).tolist()
    ['dog']
    """

    def __init__(
        self,
        *,
        members: Any = "auto",
        scale: Any = "auto",
        class_weight: Any = None,
        cv: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.members = members
        self.scale = scale
        self.class_weight = class_weight
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: npt.ArrayLike, W: Any = None, **unsupported: Any) -> Self:
        """Learn from all rows and the few labels.

        Parameters
        ----------
        X : DataFrame, array or CSR matrix of shape (n, d)
        y : array-like of shape (n,)
            Labels; unlabeled is -1, None, NaN, pandas.NA or "".
        W : array or sparse matrix of shape (n, n), default=None
            The graph, if it is given: symmetric, non-negative, finite. Members that use a graph
            use this one; the others learn from the rows.
        **unsupported
            Other arguments, such as `sample_weight`, are refused by name, with the reason.
        """
        refuse_arguments(self, unsupported)
        return self._fit(X, y, W)

    def report(self) -> str:
        """Return which assumptions the labels support, in words.

        Examples
        --------
        >>> from graphmargin.datasets import make_lattices
        >>> X, y, _, _ = make_lattices()
        >>> print(SemiSupervisedEnsemble().fit(X, y).report())
        no label could be held out, so that members count equally
        """
        check_is_fitted(self)
        return "" if self.choice_ is None else self.choice_.summary

    def _validate(self, X: Any, y: npt.ArrayLike) -> tuple[Any, EncodedLabels]:
        check_choice("scale", self.scale, SCALES)
        X, labels = super()._validate(X, y)
        columns = () if self.features_ is None else [use.name for use in self.features_.columns]
        names = (getattr(y, "name", None), "label", "target", "predicted label")
        self.target_ = next(str(name) for name in names if name and str(name) not in columns)
        return X, labels

    def _check_scales(self, X: Any) -> None:
        """Do nothing: views have the scales."""

    def _validate_rows(self, X: Any, *, reset: bool = True, **options: Any) -> Any:
        if reset:
            self.features_: TableFeatures | None = None
            return self._encode(X) if is_frame(X) else super()._validate_rows(X, **options)
        if self.features_ is None:
            return super()._validate_rows(X, reset=False, **options)
        return self._encode_new(X, self.features_)

    def _encode(self, X: Any) -> FloatArray:
        """Return the rows of a frame as an array of numbers, and keep the encoders of columns."""
        from graphmargin.tables.table_features import column_warnings, fit_transform

        table = as_pandas(X)
        validate_data(self, table, skip_check_array=True)
        if len(table) < 2:
            msg = f"`X` must have at least 2 rows, got {len(table)}"
            raise ValueError(msg)
        self.features_, rows = fit_transform(table, in_one_unit=self.scale == "none")
        for text in column_warnings(self.features_.columns, "give it the type 'category'"):
            warn_caller(text)
        ids = [use.name for use in self.features_.columns if use.note == ID_NOTE]
        numbers = table[ids].select_dtypes("number").columns.tolist()
        if numbers:
            text = (
                f"columns of numbers that look like IDs are left out: {format_names(numbers)}; "
                "convert them to floats if they are features"
            )
            warn_caller(text)
        return rows

    def _encode_new(self, X: Any, features: TableFeatures) -> FloatArray:
        """Return new rows, a frame with the columns of `fit` or an array, as `_encode` does."""
        if is_frame(X):
            X = as_pandas(X)
        elif sparse.issparse(X):
            msg = "`X` must be a data frame with the columns of `fit`, got a sparse matrix"
            raise ValueError(msg)
        validate_data(self, X, reset=False, skip_check_array=True)
        table = as_pandas(X, [use.name for use in features.columns])
        rows, invalid = features.transform_with_invalid_cells(table)
        for text in features.warnings_on(invalid):
            warn_caller(text)
        return rows

    def _members(self, X: Any, labels: EncodedLabels, *, has_graph: bool) -> list[Member]:
        views: tuple[View, ...] = (AS_GIVEN,)
        if self.scale == "auto":
            features = self.features_
            views = number_views(X) if features is None else features_views(features, X)
        if is_auto(self.members):
            members = default_members(labels, X.shape[1], views, has_graph=has_graph)
        elif not is_list(self.members) or not len(self.members):
            msg = (
                f"`members` must be 'auto' or a list of names and classifiers, got "
                f"{self.members!r}; names are {', '.join(member_names())}"
            )
            raise ValueError(msg)
        else:
            members = [_member(entry, labels, views[0]) for entry in self.members]
        if has_graph:
            members = [replace(m, method=m.method.on_given_graph()) for m in members]
        return _with_distinct_names(members)

    def _has_choice(self) -> bool:
        return True  # the members


def _member(entry: Any, labels: EncodedLabels, view: View) -> Member:
    """Return a member from its name, a classifier or a method under a view, or from a member."""
    if isinstance(entry, Member):
        return entry
    if isinstance(entry, str):
        return replace(named_member(entry, labels), view=view)
    if isinstance(entry, Method):
        return Member(type(entry).__name__, entry, view)
    if not isinstance(entry, SemiSupervisedClassifier) or not hasattr(entry, "method"):
        msg = (
            "`members` must have names, classifiers of graphmargin, or objects of "
            f"graphmargin.search.Method, got {entry!r}"
        )
        raise ValueError(msg)
    defaults = type(entry)().get_params(deep=False)
    given = entry.get_params(deep=False)
    for name in OF_ENSEMBLE:
        if name in given and given[name] is not defaults[name]:
            msg = f"`{name}`={given[name]!r} of a member is not used; pass it to the ensemble"
            raise ValueError(msg)
    if is_pairwise(given.get("kernel")) or given.get("affinity") == "precomputed":
        msg = f"`members` must not have a precomputed kernel or graph, got {entry!r}"
        raise ValueError(msg)
    return Member(type(entry).__name__, entry.method(labels), view)


def _with_distinct_names(members: Sequence[Member]) -> list[Member]:
    """Return members with a number behind names that occur several times."""
    names = [member.name for member in members]
    return [
        member
        if names.count(member.name) == 1
        else replace(member, name=f"{member.name}-{names[:i].count(member.name) + 1}")
        for i, member in enumerate(members)
    ]
