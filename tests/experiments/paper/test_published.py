from itertools import product

from graphmargin.experiments.paper.published import GC, KERNELS, MR, PERCENT, PUBLISHED, SVM
from graphmargin.experiments.paper.splits import TABLES


def test_there_are_36_settings_of_three_methods():
    assert list(PUBLISHED) == list(product(TABLES, PERCENT, KERNELS))
    assert {tuple(errors) for errors in PUBLISHED.values()} == {(SVM, MR, GC)}
    assert len(PUBLISHED) == 36


def test_the_cut_wins_as_often_as_the_paper_says():
    assert sum(errors[GC] < errors[SVM] for errors in PUBLISHED.values()) == 36
    assert sum(errors[GC] < errors[MR] for errors in PUBLISHED.values()) == 29


def test_errors_are_in_their_places():
    assert PUBLISHED["letter", 1, "linear"] == {SVM: 18.90, MR: 30.94, GC: 15.79}
    assert PUBLISHED["digits", 5, "cubic"] == {SVM: 3.04, MR: 2.27, GC: 2.36}
    assert PUBLISHED["image", 10, "rbf"] == {SVM: 3.84, MR: 4.81, GC: 3.73}


def test_two_labels_make_linear_and_rbf_machines_the_same():
    assert PUBLISHED["image", 1, "linear"][SVM] == PUBLISHED["image", 1, "rbf"][SVM]
