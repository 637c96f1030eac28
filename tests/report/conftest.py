"""A labeled table to report on."""

from dataclasses import replace

import numpy as np
import pytest

from graphmargin.confidence.coverage import CoverageCurve, SurestRows
from graphmargin.confidence.held_out_predictions import AccuracyEstimate
from graphmargin.confidence.thresholds import ThresholdRow
from graphmargin.report.content import GraphMap, Report, RowNote
from graphmargin.report.summary import CandidateSummary, Summary
from graphmargin.tables.column_names import ColumnUse
from tests.report.changes import change


@pytest.fixture(scope="session")
def make_map():
    """Return a map of points on a circle, with an edge from each to the next."""

    def build(n_points, n_classes, cells=None):
        angles = np.arange(n_points) * 2 * np.pi / n_points
        return GraphMap(
            x=tuple((0.5 + 0.5 * np.cos(angles)).tolist()),
            y=tuple((0.5 + 0.5 * np.sin(angles)).tolist()),
            rows=tuple(range(101, 101 + n_points)),
            codes=tuple(i % n_classes for i in range(n_points)),
            confidence=tuple(i / n_points for i in range(n_points)),
            is_given=tuple(i % 3 == 0 for i in range(n_points)),
            cells=tuple(cells or {"size": f"{i} cm", "coat": "short"} for i in range(n_points)),
            edges=tuple((i, i + 1) for i in range(n_points - 1)),
            method="on a circle",
        )

    return build


@pytest.fixture(scope="session")
def report(make_map):
    """Return a report in which every part of the page has something to say."""
    summary = Summary(
        table="pets.csv",
        target="kind",
        n_rows=1797,
        n_labels=55,
        n_predicted=1742,
        classes=("cat", "dog", "eel"),
        given_counts=(30, 20, 5),
        final_counts=(1000, 700, 97),
        columns=(
            ColumnUse("id", "left out", 0, "a different value in every row"),
            ColumnUse("size", "number", 1),
            ColumnUse("weight", "number", 1),
            ColumnUse("coat", "category", 4),
        ),
        scaling="numbers are divided by their spread",
        candidates=(
            CandidateSummary(0.1, 10.0, 0.75, 0.96),
            CandidateSummary(float("inf"), 1.0, 0.25, None),
            CandidateSummary(0.01, 1.0, 0.0, 0.5),
        ),
        assumptions={"classes follow clusters": 0.75, "labels alone tell the classes": 0.25},
        supervised_share=0.25,
        estimate=AccuracyEstimate(
            n_held_out=55,
            n_right=53,
            accuracy=0.964,
            interval=(0.875, 0.996),
            majority_accuracy=0.55,
            balanced_accuracy=0.91,
            recall=np.array([0.98, 0.95, 0.8]),
            recall_interval=np.array([[0.9, 1.0], [0.8, 0.99], [0.4, 0.97]]),
            precision=np.array([0.97, 0.96, 0.9]),
            precision_interval=np.array([[0.89, 1.0], [0.82, 0.99], [0.5, 0.99]]),
            classes=np.array(["cat", "dog", "eel"]),
        ),
        surest=SurestRows(share=0.6, threshold=0.9612, accuracy=0.994, interval=(0.9, 1.0)),
        warnings=("Class 'eel' has 5 labels.",),
        seconds=2.8,
        version="9.9",
    )
    return Report(
        summary=summary,
        graph_lines=("graph: 1,797 points",),
        path={
            "gamma_g": (0.01, 0.1, float("inf")),
            "fold_score": (0.9, 0.96, 0.8),
            "graph_score": (0.91, 0.95, float("nan")),
            "confidence": (0.8, 0.6, 0.0),
            "weight": (0.0, 0.75, 0.25),
        },
        histogram=(140, 602, 1000),
        coverage=CoverageCurve(
            shares=np.array([0.3, 0.6, 1.0]),
            thresholds=np.array([0.99, 0.9612, 0.4]),
            mean_confidence=np.array([0.995, 0.994, 0.95]),
            n_held_out=np.array([20, 35, 55]),
            accuracy=np.array([0.997, 0.994, 0.964]),
            interval=np.array([[0.7, 1.0], [0.9, 1.0], [0.875, 0.996]]),
        ),
        rare_class="eel",
        thresholds=(
            ThresholdRow(0.5, n_rows=92, n_found=81.2, precision=0.883, recall=0.76),
            ThresholdRow(0.2, n_rows=140, n_found=99.6, precision=0.711, recall=0.93),
            ThresholdRow(0.05, n_rows=0, n_found=0.0, precision=float("nan"), recall=0.0),
        ),
        map=make_map(24, 3),
        least_certain=(RowNote(1234, "dog", "cat", 0.021, {"size": "31 cm"}),),
        suspicious_labels=(
            RowNote(7, "eel", "dog", 0.93, {"coat": "long ..."}, {"coat": "long and smooth"}),
        ),
        audit_note="1 of 55 held-out labels looks wrong.",
    )


@pytest.fixture(scope="session")
def hostile(report, make_map):
    """Return a report whose texts would run code, were they markup, and the text."""
    text = "</script><img src=x onerror=window.hacked=1><svg onload=window.hacked=1>&\u2028'\""
    cells = {text: text}
    return change(
        report,
        table=text,
        target=text,
        classes=(text, "dog", "{{ 7 * 7 }}"),
        assumptions={text: 1.0},
        graph_lines=(text,),
        warnings=(text,),
        map=replace(make_map(12, 3, cells), method=text),
        least_certain=(replace(report.least_certain[0], label=text, cells=cells),),
        suspicious_labels=(
            replace(report.suspicious_labels[0], other=text, cells=cells, texts=cells),
        ),
        columns=(replace(report.summary.columns[0], name=text, note=text),),
        rare_class=text,
    ), text
