"""Tables that ship with the package, generated problems, and masking of labels."""

from graphmargin.datasets.loaders import (
    load_digits,
    load_letter,
    load_penguins,
    load_segmentation,
)
from graphmargin.datasets.masking import mask_labels
from graphmargin.datasets.problems import make_lattices

__all__ = [
    "load_digits",
    "load_letter",
    "load_penguins",
    "load_segmentation",
    "make_lattices",
    "mask_labels",
]
