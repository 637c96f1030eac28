"""The section on the open question: hard or soft labels."""

from __future__ import annotations

from collections.abc import Sequence

from reproduction.pairs.methods import (
    ALMOST_NOTHING,
    C_UNLABELED,
    GC_C10,
    GC_OF_THEORY,
    GC_SOFT,
    GC_WITHOUT_C_U,
)
from reproduction.pairs.run import PairRecord
from reproduction.section import Section, markdown_table
from reproduction.soft_labels.claims import PairedTest, paired_tests, soft_claims
from reproduction.soft_labels.draw import draw_soft_labels

HEAD = ("method", "pairs", "soft minus hard, points", "lower : higher", "p", "soft is")


def soft_labels_section(records: Sequence[PairRecord]) -> Section:
    """Return the section on the open question, answered by a paired test."""
    tests = paired_tests(records)
    rows = [
        [
            test.method,
            test.group,
            f"{test.difference:+.2f} ± {test.standard_error:.2f}",
            f"{test.lower} : {test.higher}",
            f"{test.p_value:.2g}",
            test.verdict,
        ]
        for test in tests
    ]
    return Section(
        "The open question: soft labels",
        "\n\n".join(
            [
                "**What the paper asks.** The theory of the paper assumes soft labels, and its "
                "experiments have hard ones. The paper leaves open whether soft labels work "
                "better in practice.",
                _answer(tests),
                f"{GC_SOFT} has c_l = 1 and {GC_C10} has c_l = 10. Both have c_u = {C_UNLABELED}, "
                f"and gamma_g is chosen as for hard labels. {GC_WITHOUT_C_U} has c_l = 1 and c_u "
                f"= {ALMOST_NOTHING:g}, because c_u acts like a larger gamma_g. {GC_OF_THEORY} "
                "has c_l = 1, the same c_u, and gamma_g = n_l^1.5, with which the bound falls "
                "with the number of labels. The protocol, rows, labels and rules are those of "
                "the table, with all 21 pairs of image segmentation. A pair of classes counts "
                "once, by the mean of its differences over kernels, draws and shares of labels. "
                "Pairs of digits share classes and are not quite independent. The p-values are "
                "those of Wilcoxon's signed-rank test and are not corrected for the number of "
                "tests.",
                "![Differences between soft and hard labels with intervals of two standard "
                "errors](images/soft-labels.png)",
                markdown_table(HEAD, rows),
            ]
        ),
        {"soft-labels": draw_soft_labels(tests)},
        tuple(soft_claims(records)),
    )


def _answer(tests: Sequence[PairedTest]) -> str:
    """Return the answer in a paragraph."""
    sentences = []
    for test in tests:
        if test.group != "all":
            continue
        words = {
            "better": "lower the error",
            "worse": "raise the error",
            "no clear difference": "make no clear difference",
        }[test.verdict]
        sentences.append(
            f"{test.method}: soft labels {words} ({test.difference:+.2f} ± "
            f"{test.standard_error:.2f} points over {test.n_pairs} pairs of classes, lower in "
            f"{test.lower} and higher in {test.higher}, p = {test.p_value:.2g})."
        )
    better = [test.method for test in tests if test.group == "all" and test.verdict == "better"]
    answer = f"Yes: {', '.join(better)}." if better else "No, none of the soft settings does."
    return " ".join([f"**What we see.** Do soft labels lower the error? {answer}", *sentences])
