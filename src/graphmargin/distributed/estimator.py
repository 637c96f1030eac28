"""The max-margin graph cut on a Dask cluster, as an estimator."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np
from distributed import Client
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from graphmargin._progress import report_stage
from graphmargin.confidence.held_out_predictions import (
    AccuracyEstimate,
    HeldOutPredictions,
    estimate_accuracy,
)
from graphmargin.distributed.cluster_parameters import read_cluster_parameters
from graphmargin.distributed.engine.cluster import cluster_at
from graphmargin.distributed.engine.run import locked
from graphmargin.distributed.engine.storage import Folder
from graphmargin.distributed.io.label_column import LabelColumn
from graphmargin.distributed.io.output import check_names, id_layout
from graphmargin.distributed.io.row_encoder import NumberColumns
from graphmargin.distributed.io.row_prediction import RowPredictor, predict_parquet
from graphmargin.distributed.pipeline import FitRequest, FittedOnCluster, run_fit
from graphmargin.labeling.prediction import PredictionSummary
from graphmargin.labels import UNLABELED_IN_PYTHON
from graphmargin.margin.class_weights import check_class_weight
from graphmargin.models.array_model import ArrayModel, array_model_of
from graphmargin.search.choice import Choice

TRANSDUCTION = "transduction"


class DistributedGraphCut(BaseEstimator):
    """Max-margin graph cut of a table in Parquet files, on the workers of a Dask cluster.

    The method and its solvers are those of `MaxMarginGraphCut`. Table, graph and solutions are in
    files on storage that all workers see, and no machine has to hold them in memory. The
    differences are:

    - The neighbors of a row are found among the rows of its partition and replicas of others. Of
      the exact neighbors, 99 percent and more are found, which is measured (`graph_recall_`).
    - Labels are hard, and class masses are not normalized.
    - Harmonic systems are solved by conjugate gradients, until labels with a confidence of at
      least 1e-6 are certain.
    - An RBF or polynomial machine learns from the kernel values to 500 landmarks, of 200,000 rows
      that represent all others; a linear one learns from all rows.
    - gamma_g and C are chosen on a sample of 1,000 labeled rows, or ten of each class, and 20,000
      unlabeled ones. All candidates of the blend share their landmarks.

    Parameters
    ----------
    kernel : {"rbf", "linear", "poly"}, default="rbf"
    degree : int, default=3
    coef0 : float >= 0, default=1.0
    width : "paper" or positive float, default="paper"
    C : "auto" or float > 0, default="auto"
    class_weight : None, "balanced" or dict from class to float > 0, default=None
    gamma_g : "auto" or float >= 0, default="auto"
    eps : float in [0, 1), default=1e-6
    loss_weights : {"confidence", "equal"}, default="confidence"
    n_neighbors : int, default=5
    metric : {"euclidean", "cosine"}, default="euclidean"
        As in `MaxMarginGraphCut`.
    random_state : int, default=0
        Seed of samples and folds. The labels are the same for the same seed and table, if the
        workers have the same number, threads and memory.
    verbose : int, default=0
        1 prints every stage and its time; Dask's dashboard shows every task.

    Attributes
    ----------
    transduction_ : str
        Folder of Parquet files with the id, label and confidence of every row, in the order of the
        input. Labels and confidences are those that `MaxMarginGraphCut` has as `transduction_` and
        `confidence_`.
    classes_ : array of shape (c,)
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features,)
    predictor_ : Predictor
    choice_ : Choice or None
        If parameters were chosen: candidates, the evidence for each, their weights, and the
        estimated error, as in `MaxMarginGraphCut`.
    held_out_ : HeldOutPredictions or None
        Predictions for the held-out labels of the sample; None if no label was held out.
    accuracy_ : AccuracyEstimate or None
        Estimated accuracy on the unlabeled rows, from `held_out_`.
    n_tried_labeled_, n_tried_unlabeled_ : int
        Numbers of rows of the sample on which parameters were chosen; 0 if they were fixed.
    graph_recall_ : float
        Share of the exact neighbors in the graph, measured on a sample.
    n_partitions_ : int
        Number of partitions of the graph, one for each region of space.
    replication_ : float
        Average number of partitions that a row is in; 1 is the best, and larger values cost more.
    n_unreached_ : int
        Number of rows in components of the graph without a label.
    n_iter_ : int
        Largest number of iterations of a harmonic solution.
    seconds_ : dict from str to float
        Time of each stage in this call of `fit`.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> from distributed import Client
    >>> from graphmargin.datasets import load_digits, mask_labels
    >>> X, y = load_digits()
    >>> table = pd.DataFrame(X, columns=[f"pixel{i}" for i in range(64)])
    >>> table["digit"] = mask_labels(y, per_class=10, random_state=0)
    >>> with (
    ...     tempfile.TemporaryDirectory() as folder,
    ...     Client(processes=False, dashboard_address="localhost:0") as client,
    ... ):
    ...     table.to_parquet(f"{folder}/digits.parquet")
    ...     cut = DistributedGraphCut(gamma_g=0.01, C=10.0)
    ...     cut = cut.fit(f"{folder}/digits.parquet", label="digit", work_dir=f"{folder}/work")
    ...     labels = pd.read_parquet(cut.transduction_)["digit"]
    >>> bool((labels == y).mean() > 0.9)
    True
    >>> bool((cut.to_local().predict(table.drop(columns="digit")) == y).mean() > 0.9)
    True
    """

    def __init__(
        self,
        *,
        kernel: str = "rbf",
        degree: int = 3,
        coef0: float = 1.0,
        width: Any = "paper",
        C: Any = "auto",
        class_weight: Any = None,
        gamma_g: Any = "auto",
        eps: float = 1e-6,
        loss_weights: str = "confidence",
        n_neighbors: int = 5,
        metric: Any = "euclidean",
        random_state: int = 0,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.width = width
        self.C = C
        self.class_weight = class_weight
        self.gamma_g = gamma_g
        self.eps = eps
        self.loss_weights = loss_weights
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        data: Any,
        *,
        label: str,
        work_dir: str | PathLike[str],
        features: Sequence[str] | None = None,
        id: str | None = None,
        client: Client | str | None = None,
        resume: bool = False,
    ) -> DistributedGraphCut:
        """Label all rows of a table, and learn the max-margin function.

        Parameters
        ----------
        data : Dask DataFrame, path or URL, or a list of paths or URLs
            Parquet files, folders of them, or patterns, on storage that all workers see.
        label : str
            Column of the labels: text, integers or booleans; unlabeled is -1, null, NaN or "".
        work_dir : path or URL
            New or empty folder, on storage that all workers see, for all results.
        features : list of str, default=None
            Columns of numbers without missing values. None is all columns of numbers except for
            `label` and `id`.
        id : str, default=None
            Column with the IDs of the rows, which is copied to the labels. None is the number of
            the row.
        client : Client or str, default=None
            A Dask client, the address of a scheduler, or "local" for a process on every core of
            this machine. None is the current client, if there is one, and else "local".
        resume : bool, default=False
            Continue with the results of an earlier call of the same fit in `work_dir`.

        Raises
        ------
        ValueError
            If a parameter is not valid, or is a list of candidates; nothing is read then.
        InputError
            If the table, `work_dir` or the workers do not allow the fit; one line that says what
            to do. No existing file is overwritten.
        """
        parameters = read_cluster_parameters(self)
        names = [] if id is None else [id]
        check_names(label, names)
        request = FitRequest(
            data=data,
            features=features,
            label=LabelColumn(label, UNLABELED_IN_PYTHON),
            id=id,
            parameters=parameters,
            class_weight=check_class_weight(self.class_weight),
            seed=int(self.random_state),
            work_dir=Folder.at(work_dir),
            resume=resume,
            verbose=self.verbose,
        )
        with cluster_at(client) as cluster, locked(request.work_dir):
            fitted = run_fit(cluster, request)
            layout = id_layout(fitted.source.schema, label, names)
            fitted.write(layout, request.work_dir / TRANSDUCTION)
        for warning in fitted.warnings:
            warnings.warn(warning.text, warning.category, stacklevel=2)
        self._keep(request, fitted)
        return self

    def predict(
        self,
        data: Any,
        out: str | PathLike[str],
        *,
        client: Client | str | None = None,
    ) -> PredictionSummary:
        """Write labels and confidences of the rows of Parquet files, a file for each million rows.

        Parameters
        ----------
        data : path or URL, or a list of them
            Parquet files with the columns of the features, and the id if there was one in `fit`.
        out : path or URL
            New or empty folder for Parquet files with the id (or row number), the label, and the
            confidence, the probability that the label is right.
        client : Client or str, default=None
            As in `fit`.

        Returns
        -------
        PredictionSummary
            The number of rows of each class and, if the table has labels, the number of right
            predictions.
        """
        check_is_fitted(self)
        encoder = NumberColumns(tuple(self.feature_names_in_), np.dtype(np.float64))
        model = RowPredictor(encoder, self.predictor_, self._label)
        columns = [] if self._id is None else [self._id]
        with (
            cluster_at(client) as cluster,
            report_stage("prediction", self.verbose) as report_progress,
        ):
            return predict_parquet(
                cluster, model, data, Folder.at(out), columns=columns, progress=report_progress
            )

    def to_local(self) -> ArrayModel:
        """Return the model for predictions on one machine, which `save_model` writes to a file."""
        return array_model_of(self)

    def _keep(self, request: FitRequest, fitted: FittedOnCluster) -> None:
        """Set the attributes of the fitted estimator."""
        self.classes_ = fitted.table.classes
        self.n_features_in_ = fitted.table.n_features
        self.feature_names_in_ = np.array(fitted.encoder.columns, dtype=object)
        self.predictor_ = fitted.predictor
        self.graph_recall_ = fitted.graph.recall
        self.n_partitions_ = fitted.graph.n_partitions
        self.replication_ = fitted.replication
        self.n_unreached_ = fitted.n_unreached
        self.n_iter_ = max((report.iterations for report in fitted.reports.values()), default=0)
        self.seconds_ = dict(fitted.run.seconds)
        self.transduction_ = (request.work_dir / TRANSDUCTION).url
        self._label, self._id = request.label.name, request.id
        self.choice_: Choice | None = fitted.choice
        self.held_out_: HeldOutPredictions | None = fitted.held_out
        self.accuracy_: AccuracyEstimate | None = None
        if fitted.held_out is not None:
            self.accuracy_ = estimate_accuracy(fitted.held_out, self.classes_)
        self.n_tried_labeled_, self.n_tried_unlabeled_ = fitted.sample
