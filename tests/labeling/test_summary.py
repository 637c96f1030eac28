import time
from dataclasses import replace

import numpy as np
import pytest

from graphmargin.confidence.held_out_predictions import estimate_accuracy
from graphmargin.labeling.labeling_task import task_of
from graphmargin.labeling.summary import summarize
from graphmargin.labeling.table_labeling import label_rows
from graphmargin.labeling.table_report import report_on


@pytest.fixture(scope="module")
def summary(labeled_pets):
    return summarize(labeled_pets)


def test_counts_are_those_of_the_labels(labeled_pets, summary):
    assert (summary.n_rows, summary.n_labels) == (150, 15)
    assert sum(summary.given_counts) == 15
    assert sum(summary.final_counts) == 150
    assert summary.n_predicted == 135
    filled = labeled_pets.table["kind"].value_counts()
    assert dict(zip(summary.classes, summary.final_counts, strict=True)) == filled.to_dict()


def test_candidates_are_those_of_the_choice(labeled_pets, summary):
    weights = [candidate.weight for candidate in summary.candidates]
    assert weights == sorted(weights, reverse=True)
    assert sum(weights) == pytest.approx(1.0)
    supervised = sum(c.weight for c in summary.candidates if np.isinf(c.gamma_g))
    assert summary.supervised_share == pytest.approx(supervised)
    assert len(summary.candidates) == len(labeled_pets.cut_choice.trials.params)


def test_members_are_those_of_the_ensemble(labeled_pets, summary):
    choice = labeled_pets.fitted.choice
    weights = [member.weight for member in summary.members]
    assert weights == sorted(choice.weights.tolist(), reverse=True)
    assert {member.name for member in summary.members} == set(choice.names)
    assert summary.assumptions == choice.assumption_weights
    assert sum(summary.assumptions.values()) == pytest.approx(1.0)


def test_the_estimate_is_that_of_the_held_out_labels(labeled_pets, summary):
    expected = estimate_accuracy(labeled_pets.fitted.held_out)
    estimate = summary.estimate
    assert estimate.n_held_out == 15
    assert (estimate.accuracy, estimate.interval) == (expected.accuracy, expected.interval)
    assert estimate.majority_accuracy == labeled_pets.fitted.held_out.class_shares.max()
    assert len(estimate.recall) == len(estimate.precision) == 3


def test_seconds_are_those_of_the_whole_call(mixed_table):
    task = task_of(mixed_table()[0], "kind")
    labeled = label_rows(task, method="supervised", began=time.perf_counter() - 1000)
    assert 1000 < labeled.seconds < 1500
    for summary in (summarize(labeled), report_on(labeled).summary):
        assert labeled.seconds < summary.seconds < 1500


def test_rows_that_are_not_sure_are_counted_apart(labeled_pets):
    is_given = labeled_pets.task.target.labeled
    threshold = float(np.median(labeled_pets.confidence[~is_given]))
    strict = replace(labeled_pets, min_confidence=threshold)
    summary, before = summarize(strict), summarize(labeled_pets)
    n_below = int((labeled_pets.confidence < threshold).sum())
    assert summary.n_left_empty == n_below > 0
    assert sum(summary.final_counts) == 15 + summary.n_predicted == 150 - n_below
    assert summary.min_confidence == threshold
    assert summary.estimate.accuracy == before.estimate.accuracy
    assert before.n_left_empty == 0
