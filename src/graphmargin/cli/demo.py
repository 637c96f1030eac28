"""The command ``graphmargin demo``, which labels an example table."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from graphmargin.cli.label import label
from graphmargin.cli.options import Seed
from graphmargin.cli.printing import console, line, print_table

if TYPE_CHECKING:
    from graphmargin.labeling.example_tables import DemoComparison
    from graphmargin.models import TableModel

HELP = """Label an example table of penguins, and compare the labels with the truth.

The table is a CSV file of 344 penguins: the island, four measurements, the sex and the year, with
missing cells. Five penguins of each species have a label, and the command `label` predicts those of
the others. It writes the labeled table, a model and a report into the same folder.

As the species of all penguins are known, the errors are printed beside those of two supervised
classifiers of scikit-learn, and drawn. They learn from the same labels and the same features.
Another `--seed` chooses other penguins to be labeled.

Examples:

    graphmargin demo
    graphmargin demo --out penguins --seed 1
"""


def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the files.")] = Path(
        "graphmargin-demo"
    ),
    seed: Seed = 0,
) -> None:
    """Write a table, label it, and print and draw the errors."""
    from graphmargin.labeling.example_tables import DEMO_TARGET, compare_with_truth, demo_table
    from graphmargin.models import load_model
    from graphmargin.tables.reading import read_table
    from graphmargin.tables.writing import table_writer

    table, full = out / "penguins.csv", out / "penguins-labeled.csv"
    model, report = out / "penguins.graphmargin", out / "penguins.html"
    few, truth = demo_table(seed)
    with table_writer(table) as write:
        write(few)
    options = ["--target", DEMO_TARGET, "--model", model, "--report", report]
    options += ["--seed", seed] if seed else []
    words = ["graphmargin", "label", table, *options]
    console().print(line(f"$ {shlex.join(map(str, words))}", style="bold"))
    label(str(table), DEMO_TARGET, out=str(full), model=model, report=report, seed=seed)
    written = cast("TableModel", load_model(model))  # which `label` wrote
    comparison = compare_with_truth(read_table(full), written, truth)
    _print_comparison(comparison)
    picture = _draw(comparison, out / "penguins.png")
    console().print(line(f"picture   {picture}"))
    console().print(line(f"report    {report}, a page to open in a browser"))
    for name in ("suggest", "audit"):
        words = ["graphmargin", name, table, "--target", DEMO_TARGET]
        console().print(line(f"next: {shlex.join(map(str, words))}", style="dim"))


def _print_comparison(comparison: DemoComparison) -> None:
    """Print the errors of all methods, and the estimated accuracy beside the true one."""
    from graphmargin._texts import format_estimate, format_interval

    n_given, n_unlabeled = int(comparison.is_given.sum()), comparison.n_unlabeled
    console().print(
        line(
            f"The species are known. Errors on the {n_unlabeled} penguins without a label, beside "
            f"those of scikit-learn's classifiers, which learn from the same {n_given} labels and "
            "features:"
        )
    )
    rows = [
        [name, f"{comparison.n_wrong[name]}", f"{error:.1%}"]
        for name, error in comparison.errors.items()
    ]
    print_table(["labels by", "wrong", "error"], rows)
    console().print(line("The labeled penguins are a random choice; another --seed makes another."))
    estimate = comparison.estimate
    console().print(
        line(
            f"accuracy  {comparison.accuracy:.1%} of the predicted labels are right; the estimate "
            f"from {n_given} labels was {format_estimate(estimate.accuracy)} "
            f"({format_interval(estimate.interval)})"
        )
    )


def _draw(comparison: DemoComparison, path: Path) -> str:
    """Write the picture and return its path, or why there is none."""
    from graphmargin._files import atomic_path
    from graphmargin.plotting.demo_picture import demo_figure

    try:
        figure = demo_figure(comparison)
    except ImportError as error:
        return f"none: {error}"
    with atomic_path(path) as draft:
        figure.savefig(draft, format="png", dpi=120)
    return str(path)
