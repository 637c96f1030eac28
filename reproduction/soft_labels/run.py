"""Cuts with hard and soft labels on the pairs of the table.

The theory assumes the soft harmonic solution (eq. soft HFS) with c_l = 1 > c_u and, for a bound
that falls with the number of labels, gamma_g = n_l^1.5. The paper's experiments have hard labels.
"""

from __future__ import annotations

from reproduction.options import RunOptions
from reproduction.pairs.methods import GC_C10, GC_OF_THEORY, GC_SOFT, GC_WITHOUT_C_U
from reproduction.pairs.run import pair_settings, run_pairs, with_kernels
from reproduction.published import GC
from reproduction.records import Tables

SOFT = (GC_SOFT, GC_WITHOUT_C_U, GC_C10, GC_OF_THEORY)


def run_soft_labels(options: RunOptions) -> Tables:
    """Return the records of cuts with hard and soft labels, as many as those of the table."""
    settings = pair_settings(options, options.draws_or(quick=1, full=10))
    return {
        "soft-labels": run_pairs(options, with_kernels([GC, *SOFT]), settings, stage="soft labels")
    }
