import numpy as np
import pytest

from graphmargin.labeling.example_tables import compare_with_truth, demo_table
from graphmargin.labeling.table_labeling import label_table
from graphmargin.plotting.demo_picture import demo_figure


@pytest.fixture(scope="module")
def comparison():
    table, truth = demo_table(2)
    labeled = label_table(table, "species", method="harmonic")
    return compare_with_truth(labeled.table, labeled.model(), truth)


def test_panels_show_the_given_labels_and_mark_the_wrong_ones(comparison):
    left, right = demo_figure(comparison).axes
    no_label, *given = left.collections
    assert len(no_label.get_offsets()) == comparison.n_unlabeled
    assert [len(points.get_offsets()) for points in given] == [5, 5, 5]
    *predicted, wrong = right.collections
    assert sum(len(points.get_offsets()) for points in predicted) == comparison.n_unlabeled
    marked = np.ma.filled(wrong.get_offsets(), np.nan)
    np.testing.assert_array_equal(marked, comparison.points[comparison.is_wrong])
    assert 0 < len(marked) < comparison.n_unlabeled


def test_title_has_the_error_of_each_method(comparison):
    title = demo_figure(comparison).axes[1].get_title()
    for name, error in comparison.errors.items():
        assert f"{name} {error:.1%}" in title
