"""All columns of the table, for all pairs, shares of labels and kernels."""

from __future__ import annotations

from reproduction.options import RunOptions
from reproduction.pairs.methods import GC_ALL, GC_AUTO, GC_WIDE, HARMONIC, MR_WITH_BIAS, S3VM
from reproduction.pairs.run import pair_settings, run_pairs, with_kernels
from reproduction.published import GC, MR, SVM
from reproduction.records import Tables
from reproduction.table.speed import run_speed

COLUMNS = (SVM, MR, MR_WITH_BIAS, S3VM, HARMONIC, GC, GC_AUTO, GC_WIDE, GC_ALL)


def run_table(options: RunOptions) -> Tables:
    """Return the records of the table: 10 draws of all pairs, or one of every third, and times."""
    settings = pair_settings(options, options.draws_or(quick=1, full=10))
    errors = run_pairs(options, with_kernels(COLUMNS), settings, stage="the table")
    return {"table": errors, "table-speed": run_speed(options)}
