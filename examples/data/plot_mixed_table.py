"""
A table with numbers, categories, dates and text
================================================

Most tables are not matrices. This example labels a table with a column of each kind, and
with missing cells, in one call. It also shows how the columns are used, how much every kind
of column helps, and how encoders and classifier are saved as one model.

The table is scikit-learn's own inventory, with a row for each public class or function of
eight modules. The label is the module, which is known for every fifth row.
"""

import importlib
import inspect
import re
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.metrics import DistanceMetric  # compiled, so without a signature

from graphmargin import SemiSupervisedEnsemble, label_table, load_model
from graphmargin.datasets import mask_labels

MODULES = ["cluster", "covariance", "datasets", "decomposition"]
MODULES += ["ensemble", "linear_model", "metrics", "preprocessing"]


def describe(module, thing):
    """Return the row of a class or function."""
    text, arguments = inspect.getdoc(thing), list(inspect.signature(thing).parameters)
    years = re.findall(r"\b(?:19|20)\d\d\b", text)
    return {
        "kind": "class" if inspect.isclass(thing) else "function",
        "first_argument": arguments[0] if arguments else None,
        "n_arguments": len(arguments),
        "n_words": len(text.split()),
        "oldest_source": pd.Timestamp(min(years)) if years else pd.NaT,
        "summary": text.split("\n\n")[0].replace(module, " "),
        "module": module,
    }


rows = []
for module in MODULES:
    package = importlib.import_module(f"sklearn.{module}")
    public = {getattr(package, name) for name in package.__all__} - {DistanceMetric}
    public = sorted(filter(callable, public), key=lambda thing: thing.__name__)
    rows += [describe(module, thing) for thing in public]
table = pd.DataFrame(rows)
y_true = table["module"].to_numpy(str)
few = mask_labels(y_true, fraction=0.2, random_state=0)
hidden = few == ""
table["module"] = few
print(table.sample(5, random_state=3).drop(columns="summary").to_string(index=False))

# %%
# One call
# --------
# :func:`~graphmargin.label_table` recognizes columns by their cells and predicts the missing
# labels. The result has the labeled table, an estimate of its accuracy, and what the other
# commands of the terminal show. The truth is known here, so the estimate can be checked.

labeled = label_table(table, "module")
estimate = labeled.summary.estimate
low, high = estimate.interval
right = labeled.table["module"].to_numpy(str)[hidden] == y_true[hidden]
print(f"estimated accuracy: {estimate.accuracy:.0%} ({low:.0%} to {high:.0%})")
print(f"true accuracy: {right.mean():.0%}")
print(labeled.table.iloc[:3, -3:].to_string())

# %%
# How each column is used
# -----------------------
# Numbers are scaled. A category becomes a feature for each value, a date becomes its time and
# its position in the calendar, and text becomes 30 coordinates of a latent semantic analysis.

for use in labeled.summary.columns:
    print(f"{use.name:16}{use.role:10}{use.n_features:3} features  {use.remarks}")
print(labeled.summary.scaling)

# %%
# How much each kind of column helps
# ----------------------------------
# Leave one kind of column out, and count errors on the unlabeled rows. The classifier takes
# the frame as it is.

KINDS = {
    "numbers": ["n_arguments", "n_words"],
    "categories": ["kind", "first_argument"],
    "date": ["oldest_source"],
    "text": ["summary"],
}


def error(unused):
    """Return the error on unlabeled rows if some columns are left out."""
    rows = table.drop(columns=["module", *unused])
    labels = SemiSupervisedEnsemble().fit(rows, few).transduction_
    return 100 * np.mean(labels[hidden] != y_true[hidden])


errors = {"all columns": error([])}
errors |= {f"without {kind}": error(columns) for kind, columns in KINDS.items()}
errors["text alone"] = error([name for kind in list(KINDS)[:-1] for name in KINDS[kind]])

figure, ax = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
colors = ["#2a6fb0" if name == "all columns" else "0.7" for name in errors]
bars = ax.barh(list(errors), list(errors.values()), color=colors)
ax.bar_label(bars, fmt="%.0f %%", padding=4)
ax.invert_yaxis()
ax.set(xlabel=f"error with {np.sum(~hidden)} labels, {len(MODULES)} classes [%]")
ax.spines[["top", "right"]].set_visible(False)
ax.margins(x=0.12)
plt.show()

# %%
# One model for tables
# --------------------
# The file of a model has the encoders of the columns and the classifier, and no code. New
# rows may lack cells or have their columns in another order.

with tempfile.TemporaryDirectory() as folder:
    labeled.save(Path(folder) / "inventory.graphmargin")
    loaded = load_model(Path(folder) / "inventory.graphmargin")

new = pd.DataFrame(
    {
        "summary": ["Compute the mean error between labels and predictions.",
                    "Linear model with a penalty on its coefficients."],
        "first_argument": ["y_true", "alpha"],
        "kind": ["function", "class"],
        "n_arguments": [4, 9],
        "n_words": [310, None],
        "oldest_source": [None, None],
    }
)  # fmt: skip
for label, confidence in zip(*loaded.label(new), strict=True):
    print(f"{label:14} confidence {confidence:.2f}")

# %%
# The same without Python
# -----------------------
# One line does the same, and writes the labeled table, the model and a report:
#
# .. code-block:: console
#
#    $ graphmargin label inventory.csv --target module --model inventory.graphmargin
#
# Summary
# -------
# Pass the table as it is, and look at ``summary.columns`` to see how it was read. Every column
# influences the neighbors, so ``ignore`` those that have nothing to do with the label.
# :doc:`/command-line` has the rules for columns and all commands.
