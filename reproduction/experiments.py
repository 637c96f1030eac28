"""All experiments by name, and a page of those that are done."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from reproduction.claims import Claim
from reproduction.folder import check_folder, recorded_run, store_section, write_page
from reproduction.lattices.run import run_figure1, run_figure2
from reproduction.lattices.section import figure1_section, figure2_section
from reproduction.options import RunOptions
from reproduction.protocol.run import run_protocol
from reproduction.protocol.section import protocol_section
from reproduction.records import Tables, write_csv
from reproduction.section import Section
from reproduction.soft_labels.run import run_soft_labels
from reproduction.soft_labels.section import soft_labels_section
from reproduction.table.run import run_table
from reproduction.table.section import table_section
from reproduction.thresholds.run import run_figure3
from reproduction.thresholds.section import figure3_section


@dataclass(frozen=True)
class Experiment:
    """An experiment: the functions that compute and report it.

    Attributes
    ----------
    title : str
        One line for the help of the command.
    run : callable
        Function from options to tables of records.
    section : callable
        Function from these tables, in their order, to a section of the page.
    """

    title: str
    run: Callable[[RunOptions], Tables]
    section: Callable[..., Section]


EXPERIMENTS: Mapping[str, Experiment] = {
    "figure1": Experiment("harmonic solutions on two lattices", run_figure1, figure1_section),
    "figure2": Experiment("decision functions of MR and GC", run_figure2, figure2_section),
    "figure3": Experiment("thresholds, and the bounds", run_figure3, figure3_section),
    "table": Experiment("errors on pairs of classes of UCI tables", run_table, table_section),
    "soft-labels": Experiment(
        "whether soft labels work better", run_soft_labels, soft_labels_section
    ),
    "protocol": Experiment(
        "readings of what the paper leaves open", run_protocol, protocol_section
    ),
}
"""Experiments by name, in the order of the page."""


def reproduce(
    names: Sequence[str],
    options: RunOptions,
    *,
    command: str = "",
    experiments: Mapping[str, Experiment] = EXPERIMENTS,
) -> list[Claim]:
    """Run experiments; after each, store its records and section, and rewrite the page.

    The page shows all sections that the folder has, also those of earlier runs. Settings that are
    finished are in ``finished/`` and not computed again.

    Parameters
    ----------
    names : sequence of str
        Keys of `experiments`; each is run once, in the order of the page.
    options : RunOptions
        Options of all experiments.
    command : str, default=""
        Command as it was typed, for ``run.json``.
    experiments : mapping, default=EXPERIMENTS
        All sections that the page may have.

    Returns
    -------
    list of Claim
        Claims of the experiments that were run.

    Raises
    ------
    InputError
        Before anything is computed, if results cannot be kept in the folder.
    """
    check_folder(options.folder)
    chosen = [name for name in experiments if name in names]
    claims: list[Claim] = []
    with recorded_run(chosen, options, command) as work_on:
        # What keeps a page from being written is better known before hours of work.
        write_page(options.folder, tuple(experiments))
        for name in chosen:
            with work_on(name):
                section = _run_one(name, experiments[name], options)
            claims += section.claims
            write_page(options.folder, tuple(experiments))
    return claims


def _run_one(name: str, experiment: Experiment, options: RunOptions) -> Section:
    """Return the section of an experiment whose records and section are stored."""
    tables = experiment.run(options)
    section = experiment.section(*tables.values())
    for table, records in tables.items():
        write_csv(options.folder / f"{table}.csv", records)
    store_section(name, section, options)
    return section
