"""The example tables of `graphmargin demo` and `studio`, and what the demo compares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from graphmargin._typing import AnyArray, BoolArray, FloatArray
from graphmargin.confidence.held_out_predictions import (
    AccuracyEstimate,
    HeldOutPredictions,
    estimate_accuracy,
)
from graphmargin.datasets import load_digits, load_penguins, mask_labels

if TYPE_CHECKING:
    import pandas as pd

    from graphmargin.models.table_model import TableModel

STUDIO_TARGET, DEMO_TARGET = "digit", "species"
LABELS_PER_CLASS = 5
"""Number of penguins of each species that have a label in the demo."""
SHOWN_COLUMNS = ("bill_length_mm", "flipper_length_mm")
"""Columns of the demo's picture."""


def studio_table() -> pd.DataFrame:
    """Return 5,620 handwritten digits, 64 gray values each, of which one of each class has a label.

    Examples
    --------
    >>> table = studio_table()
    >>> table.shape, int(table["digit"].notna().sum())
    ((5620, 65), 10)
    """
    import pandas as pd

    X, y = load_digits()
    few = mask_labels(y, per_class=1, random_state=0)
    table = pd.DataFrame(X, columns=[f"row{i}_col{j}" for i in range(8) for j in range(8)])
    labels = pd.array(few, dtype="Int64")
    return table.assign(**{STUDIO_TARGET: labels}).replace({STUDIO_TARGET: {-1: pd.NA}})


def demo_table(seed: int) -> tuple[pd.DataFrame, AnyArray]:
    """Return the penguins with few labels, in random order, and the species of every row.

    Examples
    --------
    >>> table, truth = demo_table(0)
    >>> table.shape, len(truth), table["species"].value_counts().tolist()
    ((344, 8), 344, [5, 5, 5])
    """
    import pandas as pd

    X, y = load_penguins()
    few = mask_labels(y, per_class=LABELS_PER_CLASS, random_state=seed)
    order = np.random.default_rng(seed).permutation(len(y))
    table = X.convert_dtypes()  # so that the grams are written without a point
    table.insert(0, DEMO_TARGET, pd.Series(few, dtype="str").replace("", pd.NA))
    return table.iloc[order].reset_index(drop=True), y[order]


@dataclass(frozen=True)
class DemoComparison:
    """The labels that `graphmargin label` predicted for the penguins, compared with the truth.

    Attributes
    ----------
    truth, labels : arrays of shape (n_rows,)
        The species of every row, and the label in the result.
    is_given : array of bool of shape (n_rows,)
        Mask of the rows that had a label.
    n_wrong : dict from str to int
        Number of unlabeled rows that each method labels wrong, graphmargin first.
    estimate : AccuracyEstimate
        The accuracy as it is estimated from the few labels alone.
    points : array of shape (n_rows, 2)
        Cells of `SHOWN_COLUMNS`, NaN where they are missing.
    """

    truth: AnyArray
    labels: AnyArray
    is_given: BoolArray
    n_wrong: dict[str, int]
    estimate: AccuracyEstimate
    points: FloatArray

    @property
    def n_unlabeled(self) -> int:
        """Number of rows that had no label."""
        return int(np.sum(~self.is_given))

    @property
    def is_wrong(self) -> BoolArray:
        """Mask of the rows whose label is wrong."""
        return np.asarray(self.labels != self.truth)

    @property
    def errors(self) -> dict[str, float]:
        """Share of the unlabeled rows that each method labels wrong."""
        return {name: count / self.n_unlabeled for name, count in self.n_wrong.items()}

    @property
    def accuracy(self) -> float:
        """Share of the predicted labels that are right."""
        return 1 - self.errors["graphmargin"]


def compare_with_truth(labeled: pd.DataFrame, model: TableModel, truth: AnyArray) -> DemoComparison:
    """Return the errors of a labeled table of penguins beside those of supervised classifiers.

    The classifiers of scikit-learn have their default parameters, and learn from the same given
    labels and the same features: those of the model, in which missing cells are replaced,
    categories are encoded and numbers are standardized.

    Parameters
    ----------
    labeled : DataFrame
        The table that `graphmargin label` wrote.
    model : TableModel
        The model that it wrote.
    truth : array of str of shape (n_rows,)
        The species of every row.

    Examples
    --------
    >>> from graphmargin.labeling.table_labeling import label_table
    >>> table, truth = demo_table(0)
    >>> result = label_table(table.iloc[::4], "species")
    >>> comparison = compare_with_truth(result.table, result.model(), truth[::4])
    >>> comparison.n_unlabeled, list(comparison.errors)
    (81, ['graphmargin', 'LogisticRegression', 'SVC', 'always Adelie'])
    """
    import pandas as pd

    labels = labeled[DEMO_TARGET].to_numpy(dtype=np.str_)
    is_given = (labeled[f"{DEMO_TARGET}_source"] == "given").to_numpy()
    predicted = {"graphmargin": labels[~is_given]}
    X = model.features.transform(labeled)
    for classifier in (LogisticRegression(), SVC()):
        classifier.fit(X[is_given], truth[is_given])
        predicted[type(classifier).__name__] = classifier.predict(X[~is_given])
    hidden = truth[~is_given]
    species, counts = np.unique(hidden, return_counts=True)
    most_frequent = str(species[counts.argmax()])
    predicted[f"always {most_frequent}"] = np.full(len(hidden), most_frequent)
    held_out = cast("HeldOutPredictions", model.held_out)  # each species has labels to hold out
    return DemoComparison(
        truth=truth,
        labels=labels,
        is_given=is_given,
        n_wrong={name: int(np.sum(guess != hidden)) for name, guess in predicted.items()},
        estimate=estimate_accuracy(held_out, model.classes),
        points=labeled[list(SHOWN_COLUMNS)].apply(pd.to_numeric).to_numpy(dtype=np.float64),
    )
