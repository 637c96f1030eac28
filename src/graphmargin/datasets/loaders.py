"""The three tables of the paper's experiments, and one with columns of several kinds.

`data/README.md` names their authors.
"""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from graphmargin._typing import AnyArray

if TYPE_CHECKING:
    import pandas as pd


def load_letter() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.str_]]:
    """Return the letter recognition table: 20,000 images of capital letters.

    Returns
    -------
    X : ndarray of shape (20000, 16)
        Statistical moments and edge counts of the image, scaled to integers in 0..15.
        1,332 rows repeat an earlier one.
    y : ndarray of shape (20000,)
        The letter, "A".."Z"; between 734 and 813 rows each.

    Examples
    --------
    >>> from graphmargin.datasets import load_letter
    >>> X, y = load_letter()
    >>> X.shape, str(y[0])
    ((20000, 16), 'Z')
    """
    return _load("letter")


def load_digits() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Return the optical recognition of handwritten digits table: 5,620 images of 8 x 8 pixels.

    `sklearn.datasets.load_digits` holds 1,797 of these rows, the test set of the original.

    Returns
    -------
    X : ndarray of shape (5620, 64)
        Ink in each pixel, an integer in 0..16, row by row.
    y : ndarray of shape (5620,)
        The digit, 0..9; between 554 and 572 rows each.

    Examples
    --------
    >>> from graphmargin.datasets import load_digits
    >>> X, y = load_digits()
    >>> X.shape, int(y[0])
    ((5620, 64), 0)
    """
    X, y = _load("digits")
    return X, y.astype(np.int64)


def load_segmentation() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.str_]]:
    """Return the image segmentation table: 2,310 patches of 3 x 3 pixels from outdoor images.

    Returns
    -------
    X : ndarray of shape (2310, 19)
        Position, edges and color of the patch, on very different scales: standardize before
        measuring distances. Column 2 is constant, and 224 rows repeat an earlier one.
    y : ndarray of shape (2310,)
        What the patch shows: "brickface", "cement", "foliage", "grass", "path", "sky" or
        "window"; 330 rows each.

    Examples
    --------
    >>> from graphmargin.datasets import load_segmentation
    >>> X, y = load_segmentation()
    >>> X.shape, str(y[0])
    ((2310, 19), 'path')
    """
    return _load("segmentation")


def load_penguins() -> tuple[pd.DataFrame, npt.NDArray[np.str_]]:
    """Return the Palmer penguins: 344 birds, in a raw table with columns of several kinds.

    Returns
    -------
    X : DataFrame of shape (344, 7)
        The island, the length and the depth of the bill and the length of the flipper in mm, the
        body mass in g, the sex and the year. 19 cells are missing.
    y : ndarray of shape (344,)
        The species: 152 "Adelie", 68 "Chinstrap" and 124 "Gentoo".

    Examples
    --------
    >>> from graphmargin.datasets import load_penguins
    >>> X, y = load_penguins()
    >>> X.shape, int(X.isna().sum().sum()), str(y[0])
    ((344, 7), 19, 'Adelie')
    >>> X.columns[:4].tolist()
    ['island', 'bill_length_mm', 'bill_depth_mm', 'flipper_length_mm']
    """
    try:
        import pandas as pd
    except ModuleNotFoundError as missing:
        msg = 'load_penguins needs the package pandas; pip install "graphmargin[cli]"'
        raise ModuleNotFoundError(msg, name=missing.name) from missing
    with (files("graphmargin.datasets") / "data" / "penguins.csv").open("rb") as file:
        X = pd.read_csv(file)
    return X, X.pop("species").to_numpy(dtype=np.str_)


def _load(name: str) -> tuple[npt.NDArray[np.float64], AnyArray]:
    path = files("graphmargin.datasets") / "data" / f"{name}.npz"
    with path.open("rb") as file, np.load(file, allow_pickle=False) as table:
        return table["X"].astype(np.float64, order="C"), table["y"]
