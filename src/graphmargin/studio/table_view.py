"""The view of a table on the page: cells as text, images, and rows by filter and order."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from graphmargin._typing import BoolArray, FloatArray, IntArray
from graphmargin.labeling.labeling_task import LabelingTask
from graphmargin.labels import UNLABELED
from graphmargin.studio.session import SKIPPED, UNSURE, DecisionError, read_integer, row_name
from graphmargin.studio.snapshot import Snapshot

MAX_LIST_COLUMNS = 8
MAX_CELL = 80
"""Largest number of characters of a cell in a list of rows."""
MAX_IMAGE_BYTES = 20_000_000
IMAGE_TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}
"""Files that are served; SVG can contain scripts."""
_PIXEL_NAMES = (r"row_?(\d+)_col_?(\d+)", r"(?:pixel|pix|px|p)_?(\d+)")
MAX_FRACTION = 10
"""Largest number of characters of a number that is shown with all digits."""


@dataclass(frozen=True)
class Pixels:
    """Columns that are the gray values of an image, row by row."""

    columns: tuple[str, ...]
    width: int
    height: int


@dataclass(frozen=True)
class TableView:
    """A table as text.

    Attributes
    ----------
    task : LabelingTask
    folder : Path
        Folder of the table, from which images are served.
    """

    task: LabelingTask
    folder: Path

    @property
    def names(self) -> list[str]:
        """Names of all columns but the target."""
        return [str(name) for name in self.task.table.columns if name != self.task.target.name]

    @cached_property
    def kinds(self) -> dict[str, str]:
        """Kind of each column: number, category, date, text, ignored or target."""
        roles = {use.name: use.role for use in self.task.columns}
        kinds = {
            name: "ignored" if role == "left out" else "text" if role == "embedding" else role
            for name, role in roles.items()
        }
        return {**kinds, self.task.target.name: "target"}

    @cached_property
    def pixels(self) -> Pixels | None:
        """The columns of an image, recognized by names such as row0_col0 or pixel0."""
        for pattern in _PIXEL_NAMES:
            found = {name: re.fullmatch(pattern, name) for name in self.names}
            places = {name: tuple(map(int, m.groups())) for name, m in found.items() if m}
            if len(places) < 16:
                continue
            order = tuple(sorted(places, key=places.__getitem__))
            side = round(len(places) ** 0.5)
            if pattern == _PIXEL_NAMES[0]:
                width = len({place[1] for place in places.values()})
            else:
                width = side if side * side == len(places) else 0
            if width and len(places) % width == 0:
                return Pixels(order, width, len(places) // width)
        return None

    @cached_property
    def image_column(self) -> str | None:
        """The first column whose cells are all names of images."""
        for name in self.names:
            cells = self.task.table[name].dropna()
            if len(cells) and all(
                isinstance(cell, str) and Path(cell).suffix.lower() in IMAGE_TYPES for cell in cells
            ):
                return name
        return None

    def cells(self, row: int) -> list[tuple[str, str]]:
        """Return the name and the text of all cells of a row but the target."""
        table = self.task.table
        return [(name, cell_text(table[name].iloc[row])) for name in self.names]

    @property
    def list_columns(self) -> list[str]:
        """Columns of lists of rows: all but pixels, unless there are no others."""
        hidden = set(self.pixels.columns) if self.pixels else set()
        return ([n for n in self.names if n not in hidden] or self.names)[:MAX_LIST_COLUMNS]

    def short_cells(self, row: int) -> list[str]:
        """Return the shortened cells of a row in the columns of a list."""
        table = self.task.table
        texts = [cell_text(table[name].iloc[row]) for name in self.list_columns]
        return [text if len(text) <= MAX_CELL else f"{text[: MAX_CELL - 1]}…" for text in texts]

    @cached_property
    def _joined(self) -> pa.Array:
        """The cells of each row as one text."""
        columns = [
            pa.array([cell_text(cell) for cell in self.task.table[name]], pa.large_string())
            for name in self.names
        ]
        return pc.binary_join_element_wise(*columns, pa.scalar("\n", pa.large_string()))

    def matches(self, text: str) -> BoolArray:
        """Return the mask of the rows that have a text in a cell, upper and lower case alike."""
        try:
            text.encode()
        except UnicodeEncodeError:  # half of a surrogate pair, which no cell has
            return np.zeros(len(self._joined), dtype=np.bool_)
        found = pc.match_substring(self._joined, text, ignore_case=True)
        return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.bool_)

    def order_by(self, name: str) -> Any:
        """Return sortable values of a column; missing cells come last."""
        column = self.task.table[name]
        if self.kinds[name] == "number":
            return pd.to_numeric(column, errors="coerce").to_numpy(np.float64)
        ranks = column.map(cell_text).rank(method="dense").to_numpy(np.float64)
        return np.where(column.notna(), ranks, np.nan)

    def image(self, row: int) -> tuple[bytes, str]:
        """Return the bytes and the type of the image of a row; raise `DecisionError` without one.

        A file must be inside the folder of the table, links resolved.
        """
        if self.pixels is not None:
            values = self.task.table[list(self.pixels.columns)].iloc[row]
            gray = pd.to_numeric(values, errors="coerce").fillna(0).to_numpy(np.float64)
            shape = self.pixels.height, self.pixels.width
            return gray_png(self._brightness(gray).reshape(shape)), "image/png"
        if self.image_column is None:
            msg = "the table has no images"
            raise DecisionError(msg)
        cell = self.task.table[self.image_column].iloc[row]
        folder = self.folder.resolve()
        try:
            path = (folder / str(cell)).resolve()
            kind = IMAGE_TYPES.get(path.suffix.lower())
            is_inside = path.is_relative_to(folder) and path.is_file()
            if kind and is_inside and path.stat().st_size <= MAX_IMAGE_BYTES:
                return path.read_bytes(), kind
        except (OSError, ValueError):  # a name that no file can have
            pass
        msg = f"{row_name(row)} has no image in the folder of the table"
        raise DecisionError(msg)

    def _brightness(self, gray: FloatArray) -> Any:
        low, high = self._gray_range
        return np.clip(255 * (gray - low) / (high - low), 0, 255).astype(np.uint8)

    @cached_property
    def _gray_range(self) -> tuple[float, float]:
        columns = self.pixels.columns if self.pixels else ()
        sample = self.task.table[list(columns)].iloc[:: max(1, len(self.task.table) // 1000)]
        values = sample.apply(pd.to_numeric, errors="coerce").to_numpy(np.float64)
        low, high = float(np.nanmin(values)), float(np.nanmax(values))
        return low, high if high > low else low + 1.0


def cell_text(cell: Any) -> str:
    """Return a cell as text, empty if it is missing; long fractions are rounded to 8 digits.

    Examples
    --------
    >>> cell_text(10.656474935076336), cell_text(0.5), cell_text(None), cell_text("a")
    ('10.656475', '0.5', '', 'a')
    """
    if cell is None or (np.ndim(cell) == 0 and pd.isna(cell)):
        return ""
    text = str(cell)
    if isinstance(cell, float | np.floating) and len(text) > MAX_FRACTION:
        return f"{cell:.8g}"
    return text


def gray_png(gray: Any) -> bytes:
    r"""Return a PNG file of gray values, an array of uint8 with a row for each line.

    Examples
    --------
    >>> gray_png(np.zeros((2, 3), dtype=np.uint8))[:8]
    b'\x89PNG\r\n\x1a\n'
    """

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)

    height, width = gray.shape
    lines = b"".join(b"\0" + line.tobytes() for line in gray)
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = (chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(lines)), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def select_rows(view: TableView, now: Snapshot, options: Mapping[str, Any]) -> IntArray:
    """Return the rows that pass a filter, in the order that it names.

    Options are `label`, `predicted`, `decision`, `max_confidence`, `text`, `sort` and
    `descending`, as texts; all can be left out.
    """
    session = now.session
    chosen = np.ones(len(session.labels), dtype=np.bool_)
    label, guess = str(options.get("label", "any")), str(options.get("predicted", "any"))
    if label != "any":
        chosen &= session.labels == (UNLABELED if label == "none" else read_integer("label", label))
    if guess != "any":
        chosen &= now.predicted == read_integer("predicted", guess)
    decision = str(options.get("decision", "any"))
    if decision == "question":
        chosen &= np.isin(np.arange(len(chosen)), [question.row for question in now.questions])
    elif decision != "any":
        flags = {"unsure": UNSURE, "skipped": SKIPPED}
        if decision not in flags:
            msg = f"`decision` must be any, unsure, skipped or question, got {decision!r}"
            raise DecisionError(msg)
        chosen &= (session.marks & flags[decision]) > 0
    limit = _real("max_confidence", options.get("max_confidence", 1))
    if limit < 1:
        chosen &= now.confidence <= limit
    if text := str(options.get("text", "")).strip():
        chosen &= view.matches(text)
    rows = np.flatnonzero(chosen)
    sort = str(options.get("sort", "row"))
    if sort == "row":
        keys: Any = rows
    elif sort in ("label", "predicted", "confidence"):
        columns: dict[str, Any] = {
            "label": session.labels,
            "predicted": now.predicted,
            "confidence": now.confidence,
        }
        keys = columns[sort][rows].astype(np.float64)
    elif sort in view.names:
        keys = view.order_by(sort)[rows]
    else:
        msg = f"there is no column {sort!r} to sort by"
        raise DecisionError(msg)
    if str(options.get("descending", "0")) in ("1", "true", "True"):
        keys = -keys
    return np.asarray(rows[np.argsort(keys, kind="stable")])


def _real(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        msg = f"`{name}` must be a number, got {value!r}"
        raise DecisionError(msg) from error
