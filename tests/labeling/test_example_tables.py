import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from graphmargin.labeling.example_tables import compare_with_truth, demo_table
from graphmargin.labeling.table_labeling import label_table


@pytest.fixture(scope="module")
def labeled():
    table, truth = demo_table(1)
    return label_table(table, "species", method="harmonic"), truth


def test_rivals_learn_from_the_same_labels_and_features(labeled):
    result, truth = labeled
    comparison = compare_with_truth(result.table, result.model(), truth)
    given, X = result.task.target.labeled, result.task.X
    hidden = truth[~given]
    expected = {"graphmargin": np.sum(result.table["species"].to_numpy()[~given] != hidden)}
    for classifier in (LogisticRegression(), SVC()):
        predicted = classifier.fit(X[given], truth[given]).predict(X[~given])
        expected[type(classifier).__name__] = np.sum(predicted != hidden)
    expected["always Adelie"] = np.sum(hidden != "Adelie")
    assert comparison.n_wrong == expected
    assert comparison.is_wrong.sum() == expected["graphmargin"]
    assert comparison.estimate.accuracy == result.summary.estimate.accuracy


def test_another_seed_labels_other_penguins():
    (first, truth), (second, other) = demo_table(0), demo_table(1)
    assert sorted(truth) == sorted(other)
    assert not first.equals(second)
    labeled = first["species"].notna().to_numpy()
    assert first["species"][labeled].tolist() == truth[labeled].tolist()
    assert first.isna().sum()["body_mass_g"] == 2
