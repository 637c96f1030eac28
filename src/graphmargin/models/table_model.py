"""Models for the rows of tables."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from graphmargin._rows import is_frame
from graphmargin._typing import AnyArray, BoolArray, FloatArray
from graphmargin.confidence.held_out_predictions import HeldOutPredictions
from graphmargin.confidence.prediction_sets import sets_with_coverage
from graphmargin.labels import UNLABELED_IN_TABLES, UnlabeledRule, confidence_of_labels
from graphmargin.models.model_errors import check_probabilities
from graphmargin.search.predictor import Predictor
from graphmargin.tables.frames import as_pandas

if TYPE_CHECKING:
    import pandas as pd

    from graphmargin.tables.invalid_cells import InvalidCells
    from graphmargin.tables.table_features import TableFeatures


@dataclass(frozen=True, repr=False)
class TableModel:
    """A predictor for the rows of tables, with the features of their columns.

    Attributes
    ----------
    features : TableFeatures
        Fitted features, which turn a table into an array of numbers.
    predictor : Predictor
        Predictor of a classifier that was fitted on these numbers; its classes are text, integers
        or booleans.
    target : str
        Name of the column of labels.
    held_out : HeldOutPredictions or None
        Predictions for held-out labels, from which `predict_set` follows; None if there are none.
    details : mapping, default={}
        Further details of the model, such as the number of rows; JSON values, which are stored in
        the description of its file.

    Examples
    --------
    >>> import pandas as pd
    >>> from graphmargin import HarmonicClassifier
    >>> from graphmargin.tables.table_features import fit_features
    >>> table = pd.DataFrame({"weight": [1.0, 1.1, 1.2, 5.0, 5.2, 5.5], "legs": [2, 2, 2, 4, 4, 4]})
    >>> features = fit_features(table)
    >>> labels = ["bird", None, None, "cat", None, None]
    >>> classifier = HarmonicClassifier(n_neighbors=2).fit(features.transform(table), labels)
    >>> model = TableModel(features, classifier.predictor_, target="animal")
    >>> model.predict(pd.DataFrame({"weight": [1.15, 5.1], "legs": [2, 4]})).tolist()
    ['bird', 'cat']
    """

    features: TableFeatures
    predictor: Predictor
    target: str
    held_out: HeldOutPredictions | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Return the target, the number of columns and the number of classes."""
        n_columns = len(self.features.encoders)
        return f"<TableModel: {self.target!r}, {n_columns} columns, {len(self.classes)} classes>"

    @property
    def classes(self) -> AnyArray:
        """The labels of the classes."""
        return self.predictor.classes

    @property
    def rule(self) -> UnlabeledRule:
        """The rule of which cells of the target are unlabeled, as in training."""
        return UNLABELED_IN_TABLES.with_texts(self.details.get("unlabeled", ()))

    def predict(self, table: Any) -> AnyArray:
        """Return the label of every row of a pandas or polars frame, or a mapping of columns.

        Where training took a few cells of a column of numbers or dates as missing, because they are
        neither, those of the table are missing, too, and a `UserWarning` names them.
        """
        return self._label(table)[0]

    def predict_proba(self, table: Any) -> FloatArray:
        """Return class probabilities of every row, in the order of `classes`."""
        return self._label(table)[1]

    def predict_set(
        self, table: Any, coverage: float = 0.9, *, per_class: bool = False
    ) -> BoolArray:
        """Return, for every row, a set of classes that contains the true one with a probability.

        There is a column for each of `classes`; see `graphmargin.MaxMarginGraphCut.predict_set`.
        """
        distributions = self.predict_proba(table)
        return sets_with_coverage(self.held_out, distributions, coverage, per_class=per_class)

    def label(self, table: Any) -> tuple[AnyArray, FloatArray]:
        """Return the label of every row, and the probability that it is right."""
        labels, probabilities = self._label(table)
        return labels, confidence_of_labels(labels, probabilities, self.classes)

    def label_with_invalid_cells(
        self, table: Any
    ) -> tuple[AnyArray, FloatArray, dict[str, InvalidCells]]:
        """Return the label of every row, its class probabilities, and the invalid cells by column.

        Probabilities have the order of `classes`. There is no warning of invalid cells.
        """
        X, invalid = self.features.transform_with_invalid_cells(_as_frame(table))
        if not len(X):
            return self.classes[:0], np.zeros((0, len(self.classes))), invalid
        labels, probabilities = self.predictor.label(X)
        return labels, check_probabilities(probabilities), invalid

    def _label(self, table: Any) -> tuple[AnyArray, FloatArray]:
        """Return labels and class probabilities, and warn of invalid cells."""
        labels, probabilities, invalid = self.label_with_invalid_cells(table)
        for text in self.features.warnings_on(invalid):
            warnings.warn(text, UserWarning, stacklevel=3)
        return labels, probabilities


def table_model_of(classifier: Any) -> TableModel:
    """Return the model of a classifier that was fitted to a data frame: its `features_` encode it.

    Examples
    --------
    >>> import pandas as pd
    >>> from graphmargin import SemiSupervisedEnsemble
    >>> pets = pd.DataFrame({"grams": [31, 33, 70, 72], "fur": ["red", "red", "black", "black"]})
    >>> model = table_model_of(SemiSupervisedEnsemble().fit(pets, ["cat", None, "dog", None]))
    >>> model.target, model.predict(pets).tolist()
    ('label', ['cat', 'cat', 'dog', 'dog'])
    """
    predictor = classifier.predictor_
    classes = predictor.classes
    # Classes of tables are texts, integers or booleans; floats are whole numbers.
    if classes.dtype.kind in "US":
        classes = classes.astype(str).astype(object)
    elif classes.dtype.kind in "fu":
        classes = classes.astype(np.int64)
    return TableModel(
        classifier.features_,
        replace(predictor, classes=classes),
        classifier.target_,
        classifier.held_out_,
        {"rows": len(classifier.transduction_)},
    )


def _as_frame(table: Any) -> pd.DataFrame:
    """Return a table as a pandas frame whose columns have unique names."""
    import pandas as pd

    if isinstance(table, Mapping):
        table = pd.DataFrame(table)
    if not is_frame(table):
        msg = (
            "`table` must be a pandas or polars frame, or a mapping from names to columns, got a "
            f"{type(table).__name__}; the model finds columns by their names"
        )
        raise TypeError(msg)
    return as_pandas(table)
