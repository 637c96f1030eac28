"""All combinations of what the paper does not say.

Features raw or standardized, products of linear and cubic kernels scaled or not, labels drawn at
random or balanced. Ties, and the class that is left out of image segmentation, need no more
machines.
"""

from __future__ import annotations

from functools import partial
from itertools import product

from reproduction.options import RunOptions
from reproduction.pairs.errors import COLUMNS
from reproduction.pairs.methods import GC_ALL, GC_AUTO, GC_WIDE, MR_WITH_BIAS
from reproduction.pairs.run import PLAIN, SCALED, pair_settings, run_pairs, with_kernels
from reproduction.pairs.splits import LABELINGS
from reproduction.published import GC, SVM
from reproduction.records import Tables

QUICK_STEP = 9
"""A quick run takes every ninth pair: there are ten combinations of them."""
FEATURE_KINDS = ("raw", "standardized")


def run_protocol(options: RunOptions) -> Tables:
    """Return the records of all combinations: one draw of all pairs, or of every ninth.

    Manifold regularization without a bias is left out for plain cubic products: it is too badly
    scaled to be solved, and cubic functions have a constant term anyway.
    """
    draws = options.draws_or(quick=1, full=1)
    plain = with_kernels(COLUMNS, ["linear"]) | with_kernels([SVM, MR_WITH_BIAS, GC], ["cubic"])
    methods = {SCALED: with_kernels(COLUMNS), PLAIN: plain}
    settings = partial(pair_settings, options, draws, quick_step=QUICK_STEP)
    runs = [
        (methods[products], settings(labels=labels, features=features, products=products))
        for labels, features, products in product(LABELINGS, FEATURE_KINDS, methods)
    ]
    # Our own choice beside the paper's, also when labels are balanced.
    runs += [
        (with_kernels([GC_AUTO, GC_WIDE, GC_ALL]), settings(labels=labels)) for labels in LABELINGS
    ]
    return {
        "protocol": [
            record
            for number, (chosen, where) in enumerate(runs, start=1)
            for record in run_pairs(
                options, chosen, where, stage=f"protocol, {number} of {len(runs)}"
            )
        ]
    }
