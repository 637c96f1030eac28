"""All experiments of the paper: what computes and reports them, and a page of what is done."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from graphmargin._checks import check_choice
from graphmargin._typing import ProgressCallback
from graphmargin.experiments.paper.claims import Claim
from graphmargin.experiments.paper.settings import Settings
from graphmargin.experiments.parquet import write_parquet
from graphmargin.experiments.provenance import provenance
from graphmargin.experiments.storing import write_csv
from graphmargin.report.folder import (
    SEED_RULE,
    asked,
    check_folder,
    recorded_run,
    store_section,
    write_page,
)
from graphmargin.report.section import Section
from graphmargin.report.titles import TITLES

Tables: TypeAlias = Mapping[str, Sequence[Any]]
"""Records, which are dataclass instances of strings and numbers, by the name of their file."""


@dataclass(frozen=True)
class Experiment:
    """What computes an experiment, and what reports it.

    Attributes
    ----------
    title : str
        One line for the command's help.
    run : callable
        From settings to tables of records.
    section : callable
        From these tables to a section of the page.
    """

    title: str
    run: Callable[[Settings], Tables]
    section: Callable[[Tables], Section]


@dataclass(frozen=True)
class Reproduction:
    """What a run has left: claims by experiment, and the page in two formats."""

    claims: Mapping[str, tuple[Claim, ...]]
    markdown: Path
    html: Path


def reproduce(
    names: Sequence[str],
    settings: Settings,
    *,
    command: str = "",
    watch: Callable[[str], ProgressCallback] | None = None,
    experiments: Mapping[str, Experiment] | None = None,
) -> Reproduction:
    """Run experiments; after each, store its records and section, and rewrite the page.

    The page shows all sections that the folder has, also those of earlier runs. Cells that are
    finished are in ``cells/`` and not computed again.

    Parameters
    ----------
    names : sequence of str
        Keys of `experiments`; each is run once, in the order of the page.
    settings : Settings
        `folder` is where everything goes. `progress` is not used.
    command : str, default=""
        As it was typed, for ``run.json``.
    watch : callable, optional
        From the name of an experiment that begins to what is told its progress.
    experiments : mapping, optional
        `EXPERIMENTS` by default.

    Raises
    ------
    ValueError
        Before anything is computed, where a name is not known or the folder is no good.

    Examples
    --------
    >>> import tempfile
    >>> claim = Claim("One is one", "1", "1", holds=True)
    >>> one = Experiment("One", lambda _: {"one": [claim]}, lambda _: Section("One", "1 = 1"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     settings = Settings(Path(folder), quick=True)
    ...     done = reproduce(["one"], settings, experiments={"one": one})
    ...     sorted(file.name for file in Path(folder).iterdir() if file.is_file())
    ['one.csv', 'one.parquet', 'reproduction.html', 'reproduction.md', 'run.json']
    """
    experiments = EXPERIMENTS if experiments is None else experiments
    for name in names:
        check_choice("names", name, tuple(experiments))
    check_folder(settings.folder)
    ordered = [name for name in experiments if name in names]
    claims: dict[str, tuple[Claim, ...]] = {}
    with recorded_run(settings.folder, command, ordered, settings) as work_on:
        # What keeps a page from being written is better known before hours of work.
        pages = write_page(settings.folder, tuple(experiments))
        for name in ordered:
            progress = None if watch is None else watch(name)
            with work_on(name):
                section = _run_one(name, experiments[name], replace(settings, progress=progress))
            claims[name] = section.claims
            pages = write_page(settings.folder, tuple(experiments))
            if progress is not None:
                progress(1.0, "finished")
    return Reproduction(claims, *pages)


def _run_one(name: str, experiment: Experiment, settings: Settings) -> Section:
    """Return the section of an experiment whose records and section are stored."""
    # What experiments keep for themselves has other rows, perhaps more, than what they return.
    tables = experiment.run(replace(settings, folder=settings.folder / "cells"))
    section = experiment.section(tables)
    source = provenance() | {"settings": asked(settings), "seed": SEED_RULE}
    for table, records in tables.items():
        write_parquet(settings.folder / f"{table}.parquet", records, source)
        write_csv(settings.folder / f"{table}.csv", records)
    store_section(settings.folder, name, section, settings)
    return section


# Imports are inside: names and titles are known without matplotlib, as the command's help needs.


def _run_figure1(settings: Settings) -> Tables:
    from graphmargin.experiments.paper.lattices import figure1

    return {"figure1": figure1(settings)}


def _report_figure1(tables: Tables) -> Section:
    from graphmargin.report.figures import figure1_section

    return figure1_section(tables["figure1"])


def _run_figure2(settings: Settings) -> Tables:
    from graphmargin.experiments.paper.lattices import figure2, separations, sweep

    return {
        "figure2": figure2(settings.part(0, 3)),
        "figure2-sweep": sweep(settings.part(1, 3)),
        "figure2-widths": separations(settings.part(2, 3)),
    }


def _report_figure2(tables: Tables) -> Section:
    from graphmargin.report.figures import figure2_section

    return figure2_section(tables["figure2"], tables["figure2-sweep"], tables["figure2-widths"])


def _run_figure3(settings: Settings) -> Tables:
    from graphmargin.experiments.paper.bounds import bounds
    from graphmargin.experiments.paper.thresholds import figure3

    thresholds = figure3(settings.part(0, 2))
    return {"figure3": thresholds, "bounds": bounds(settings.part(1, 2))}


def _report_figure3(tables: Tables) -> Section:
    from graphmargin.report.figures import figure3_section

    return figure3_section(tables["figure3"], tables["bounds"])


def _run_table(settings: Settings) -> Tables:
    from graphmargin.experiments.paper.speed import speed
    from graphmargin.experiments.paper.table import table

    return {"table": table(settings), "table-speed": speed(settings)}


def _report_table(tables: Tables) -> Section:
    from graphmargin.report.table import table_section

    return table_section(tables["table"], tables["table-speed"])


def _run_soft_labels(settings: Settings) -> Tables:
    from graphmargin.experiments.paper.soft_labels import soft_labels

    return {"soft-labels": soft_labels(settings)}


def _report_soft_labels(tables: Tables) -> Section:
    from graphmargin.report.soft_labels import soft_labels_section

    return soft_labels_section(tables["soft-labels"])


def _run_protocol(settings: Settings) -> Tables:
    from graphmargin.experiments.paper.protocol import protocol

    return {"protocol": protocol(settings)}


def _report_protocol(tables: Tables) -> Section:
    from graphmargin.report.protocol import protocol_section

    return protocol_section(tables["protocol"])


_PARTS = {
    "figure1": (_run_figure1, _report_figure1),
    "figure2": (_run_figure2, _report_figure2),
    "figure3": (_run_figure3, _report_figure3),
    "table": (_run_table, _report_table),
    "soft-labels": (_run_soft_labels, _report_soft_labels),
    "protocol": (_run_protocol, _report_protocol),
}
EXPERIMENTS: Mapping[str, Experiment] = {
    name: Experiment(title, *_PARTS[name]) for name, title in TITLES.items()
}
"""By name, in the order of the page."""
