"""Labeling of a table: all rows get a label by the ensemble, or by one of its members."""

from __future__ import annotations

import time
from collections.abc import Iterable
from numbers import Real
from operator import itemgetter
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from graphmargin._progress import progress_listener
from graphmargin._rows import check_not_lazy, is_frame
from graphmargin._typing import ProgressListener
from graphmargin.confidence.prediction_sets import check_coverage, coverage_warning
from graphmargin.labeling.labeled_table import LabeledTable
from graphmargin.labeling.labeling_task import (
    LabelingTask,
    check_markers,
    check_new_columns,
    task_of,
)
from graphmargin.margin.class_weights import ClassWeight, class_weights
from graphmargin.methods import default_members, member_names, named_member
from graphmargin.methods.cut import Cut
from graphmargin.methods.harmonic import WalkDetails
from graphmargin.search.choice import Choice
from graphmargin.search.data import TrainingData
from graphmargin.search.execution import Execution, UnreachedWarning
from graphmargin.search.held_out import default_held_out
from graphmargin.search.search import Fitted, fit, search
from graphmargin.search.views import features_views
from graphmargin.tables.frames import as_pandas
from graphmargin.tables.reading import read_table, table_name
from graphmargin.tables.table_errors import TableError


def label_table(
    table: Any,
    target: str,
    *,
    unlabeled: Any = (),
    ignore: Any = (),
    keep: Any = (),
    category: Any = (),
    method: str = "auto",
    min_confidence: float = 0.0,
    coverage: float | None = None,
    class_weight: ClassWeight = None,
    n_jobs: int | None = None,
    random_state: int = 0,
) -> LabeledTable:
    """Return a table with a label for every row, as ``graphmargin label`` computes it.

    Columns may be numbers, categories, dates, text or vectors, with missing cells. Each is used as
    `graphmargin.tables.TableFeatures` says, and `SemiSupervisedEnsemble` predicts the labels.

    Parameters
    ----------
    table : DataFrame or path
        A frame of pandas, polars or Arrow, or a CSV, TSV, Parquet, Excel or JSON lines file. The
        cells of a text file stay texts in the result, and names of columns become texts.
    target : str
        Column with the labels. Empty cells, None and NaN are unlabeled; -1 is a class, unless
        `unlabeled` has it.
    unlabeled : value or sequence of values
        What else means unlabeled, such as -1 or "?".
    ignore, keep, category : str or sequence of str
        Columns that are no features, that are features although they look like an ID, and that are
        categories whatever their cells are.
    method : str, default="auto"
        "auto" is the ensemble; else the name of one of its methods, such as "cut".
    min_confidence : float in [0, 1], default=0
        Rows whose label is right with a smaller probability get no label.
    coverage : float in (0, 1), optional
        Coverage of prediction sets, a column of the result.
    class_weight : None, "balanced" or mapping from class to float, optional
        Costs of errors in each class, as in `SemiSupervisedEnsemble`.
    n_jobs : int, optional
        Number of threads.
    random_state : int, default=0
        Seed of folds and samples.

    Returns
    -------
    LabeledTable
        ``.table`` is a pandas frame with the labels, their confidence and their source;
        ``.summary``, ``.report("a.html")``, ``.suggest(20)``, ``.label_errors()`` and
        ``.save("a.graphmargin")`` are what the other commands show or write.

    Raises
    ------
    TableError
        If the target has fewer than two classes, if no column can be used, or if all rows have a
        label and that of most of them may mean unlabeled.

    Examples
    --------
    >>> import pandas as pd
    >>> pets = pd.DataFrame(
    ...     {
    ...         "grams": [3100, 3300, 3200, 7000, 7200, 7100],
    ...         "fur": ["red", "red", "gray", "gray", "black", "black"],
    ...         "kind": ["cat", None, None, "dog", None, None],
    ...     }
    ... )
    >>> labeled = label_table(pets, "kind")
    >>> labeled.table["kind"].tolist()
    ['cat', 'cat', 'cat', 'dog', 'dog', 'dog']
    """
    began = time.perf_counter()
    if not isinstance(min_confidence, Real) or not 0 <= min_confidence <= 1:  # which nan is not
        msg = f"`min_confidence` must be a number from 0 to 1, got {min_confidence!r}"
        raise ValueError(msg)
    if coverage is not None:
        check_coverage(coverage)
    if isinstance(table, str | PathLike):
        frame, name = read_table(Path(table)), table_name(Path(table))
    elif is_frame(table):
        frame, name = as_pandas(table), "table"
    else:
        check_not_lazy(table, "table")
        msg = (
            "`table` must be a frame of pandas, polars or Arrow, or the path of a file, got a "
            f"{type(table).__name__}"
        )
        raise TypeError(msg)
    task = task_of(
        frame,
        str(target),
        name=name,
        unlabeled=_texts(unlabeled),
        ignore=_texts(ignore),
        keep=_texts(keep),
        category=_texts(category),
    )
    check_new_columns(task, coverage)
    check_markers(task.target)
    return label_rows(
        task,
        method=method,
        min_confidence=min_confidence,
        coverage=coverage,
        class_weight=class_weight,
        n_jobs=n_jobs,
        seed=random_state,
        began=began,
    )


def _texts(values: Any) -> list[str]:
    """Return one or several values as texts, whole numbers without decimals."""
    values = [values] if isinstance(values, str) or not isinstance(values, Iterable) else values
    return [f"{v:g}" if isinstance(v, float) and v.is_integer() else str(v) for v in values]


def label_rows(
    task: LabelingTask,
    *,
    method: str = "auto",
    min_confidence: float = 0.0,
    coverage: float | None = None,
    class_weight: ClassWeight = None,
    n_jobs: int | None = None,
    seed: int = 0,
    listener: ProgressListener | None = None,
    began: float | None = None,
) -> LabeledTable:
    """Return the table with all rows labeled by an ensemble, or by one of its members.

    Parameters
    ----------
    task : LabelingTask
    method, min_confidence, coverage, class_weight, n_jobs
        As in `label_table`.
    seed : int
        Its `random_state`.
    listener : callable, optional
        Receives the progress of each stage, see `graphmargin._progress.progress_listener`.
    began : float, optional
        When the call began that read the table, by `time.perf_counter`; by default, now.

    Raises
    ------
    TableError
        If prediction sets are requested, but no label can be held out.

    Examples
    --------
    >>> import pandas as pd
    >>> from graphmargin.labeling.labeling_task import task_of
    >>> table = pd.DataFrame({"size": [1.0, 1.1, 5.0, 5.2], "kind": ["cat", None, "dog", None]})
    >>> labeled = label_rows(task_of(table, "kind"))
    >>> labeled.table["kind"].tolist(), labeled.sources.tolist()
    (['cat', 'cat', 'dog', 'dog'], ['given', 'predicted', 'given', 'predicted'])
    """
    began = time.perf_counter() if began is None else began
    labels, execution = task.target.labels, Execution(n_jobs, seed)
    held_out = default_held_out(labels, seed)
    if coverage is not None and not held_out.folds:
        msg = "`coverage` needs labels that can be held out; label two or more rows of a class"
        raise TableError(msg)
    counts = np.bincount(labels.codes[labels.labeled])
    costs = class_weights(class_weight, labels.classes, counts)
    data = TrainingData(task.X, labels, held_out, execution, class_weight=costs)
    if method == "auto":
        views = features_views(task.features, task.X)
        members = default_members(labels, task.X.shape[1], views)
    elif method in member_names():
        members = [named_member(method, labels)]
    else:
        msg = f"`method` must be 'auto' or one of {', '.join(member_names())}, got {method!r}"
        raise ValueError(msg)
    with progress_listener(listener):
        fitted = fit(data, search(data, members))
        cut, cut_choice = _graph_cut(data, fitted)
    # The advice on tables also says that no label reaches some rows.
    texts = [w.text for w in fitted.warnings if w.category is not UnreachedWarning]
    if coverage is not None and fitted.held_out is not None:
        texts.append(coverage_warning(fitted.held_out, coverage))
    return LabeledTable(
        task=task,
        fitted=fitted,
        cut=cut,
        cut_choice=cut_choice,
        n_jobs=n_jobs,
        warnings=tuple(filter(None, texts)),
        seconds=time.perf_counter() - began,
        min_confidence=min_confidence,
        coverage=coverage,
    )


def _graph_cut(data: TrainingData, fitted: Fitted) -> tuple[WalkDetails, Choice]:
    """Return the graph of the cut and its choice, which reports and explanations show.

    It is the heaviest cut, if the ensemble tried several. The cut is fitted here if the ensemble
    left it out, and tried if it is no member.
    """
    pairs = zip(fitted.choice.weights, fitted.choice.parts, strict=True)
    cuts = [
        (weight, part, part.member.name)
        for weight, part in pairs
        if part.member is not None and isinstance(part.member.method, Cut)
    ]
    if cuts:
        _, choice, name = max(cuts, key=itemgetter(0))
    else:
        choice, name = search(data, named_member("cut", data.labels)), "cut"
    member = fitted.members.get(name) or fit(data, choice).members[name]
    return member.details, choice
