"""Reading Excel files.

openpyxl reads the cells. A scan of the sheet comes first, in little memory, because openpyxl
believes what a file says about itself: it reads no further than the `dimension` of a sheet, which
some programs write wrongly, drops cells that are out of order, and reads formulas without a saved
value as empty cells.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import IO, BinaryIO, NoReturn
from xml.parsers import expat
from zipfile import ZipFile

import openpyxl
from openpyxl.reader.excel import ExcelReader
from openpyxl.utils.cell import column_index_from_string, get_column_letter
from openpyxl.xml.constants import SHEET_MAIN_NS

from graphmargin._archives import is_size_plausible, unpacked_size
from graphmargin._errors import one_line
from graphmargin.tables.file_formats import ARCHIVE_ERRORS
from graphmargin.tables.table_errors import TableError

MAX_ROWS, MAX_COLUMNS = 1_048_576, 16_384
"""Size of a sheet of Excel."""
MAX_CELLS = 100_000_000
"""Largest number of rows times columns; empty cells take memory, too."""
MAX_RATIO = 100
"""Largest ratio of the unpacked size to the size of a file; tables of zeros reach 16."""
_CELL, _ROW, _FORMULA = (f"{SHEET_MAIN_NS} {tag}" for tag in ("c", "row", "f"))
_VALUES = (f"{SHEET_MAIN_NS} v", f"{SHEET_MAIN_NS} is")
_DIGITS = "0123456789"
_BLOCK_BYTES = 1 << 16
_MAX_SHOWN = 3
_SAVE_AGAIN = "open and save it in a spreadsheet program, or export it as CSV"


def read_sheet(path: Path) -> list[tuple[object, ...]]:
    """Return the rows of the first sheet up to the last cell, all of the same length.

    Raises
    ------
    TableError
        If the file is no Excel file, is too large or out of order, or has a formula without a saved
        value. Nothing is read then.
    """
    try:
        with path.open("rb") as file, ZipFile(file) as archive:
            _check_size(archive, path)
            sheet = _SheetScan(path)
            if (entry := _first_sheet(file)) is not None:
                with archive.open(entry) as stream:
                    sheet.read(stream)
            sheet.check()
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            extent = {"max_row": sheet.n_rows, "max_col": sheet.n_columns}
            return list(book.worksheets[0].iter_rows(**extent, values_only=True))
    except TableError:
        raise
    except (*ARCHIVE_ERRORS, expat.ExpatError) as error:
        msg = f"{path}: not an Excel file (.xlsx), or it is damaged: {one_line(error)}"
        raise TableError(msg) from error


def _check_size(archive: ZipFile, path: Path) -> None:
    size, unpacked = path.stat().st_size, unpacked_size(archive)
    if not is_size_plausible(unpacked, size, MAX_RATIO):
        msg = (
            f"{path}: not an Excel file (.xlsx): its {size:,} bytes would unpack to {unpacked:,}; "
            "export the table as CSV"
        )
        raise TableError(msg)


def _first_sheet(file: BinaryIO) -> str | None:
    """Return the entry of the first sheet in the archive, None if there is no sheet."""
    reader = ExcelReader(file, read_only=True)
    reader.read_manifest()
    reader.read_workbook()
    sheets = [rel for _, rel in reader.parser.find_sheets() if "chartsheet" not in rel.Type]
    return next((rel.target for rel in sheets if rel.target in reader.valid_files), None)


@cache
def _number_of(column: str) -> int:
    """Return the number of a column such as AB."""
    number: int = column_index_from_string(column)
    return number


class _SheetScan:
    """The extent of the cells of a sheet, and the formulas whose values were not saved.

    Attributes
    ----------
    n_rows, n_columns : int
        Row and column of the last cells with a value.
    n_formulas : int
        Number of formulas without a saved value.
    formulas : list of str
        Addresses of the first ones.
    """

    def __init__(self, path: Path) -> None:
        self.n_rows = self.n_columns = self.n_formulas = 0
        self.formulas: list[str] = []
        self._path = path
        self._row = self._column = 0
        self._is_text = self._has_formula = self._has_value = False
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.StartDoctypeDeclHandler = self._refuse_entities

    def read(self, stream: IO[bytes]) -> None:
        """Scan the XML of a sheet, in constant memory."""
        while block := stream.read(_BLOCK_BYTES):
            self._parser.Parse(block)
        self._parser.Parse(b"", True)

    def check(self) -> None:
        """Raise `TableError` if the sheet is empty or too large, or lacks values of formulas."""
        if self.n_formulas:
            shown = ", ".join(self.formulas)
            noun = "formula" if self.n_formulas == 1 else "formulas"
            self._refuse(
                f"has {self.n_formulas:,} {noun} without a saved value, such as {shown}; "
                f"{_SAVE_AGAIN}"
            )
        if not self.n_rows:
            self._refuse("is empty")
        if self.n_rows * self.n_columns > MAX_CELLS:
            self._refuse(
                f"has cells up to {get_column_letter(self.n_columns)}{self.n_rows}, more than "
                f"{MAX_CELLS:,} with the empty ones; delete cells that are far away, or export the "
                "table as CSV"
            )

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if name == _CELL:
            address = attributes.get("r")
            column = _number_of(address.rstrip(_DIGITS)) if address else self._column + 1
            if not self._column < column <= MAX_COLUMNS:
                self._refuse_place("column", column, self._column, MAX_COLUMNS)
            self._column = column
            self._is_text = attributes.get("t") == "str"
            self._has_formula = self._has_value = False
        elif name in _VALUES:
            self.n_rows = self._row
            self.n_columns = max(self.n_columns, self._column)
            self._has_value = self._is_text  # the value of a formula may be an empty text
            if self._has_formula:
                self._parser.CharacterDataHandler = self._see_text
        elif name == _FORMULA:
            self._has_formula = True
        elif name == _ROW:
            row = int(float(attributes.get("r", self._row + 1)))
            if not self._row < row <= MAX_ROWS:
                self._refuse_place("row", row, self._row, MAX_ROWS)
            self._row, self._column = row, 0

    def _end(self, name: str) -> None:
        if not self._has_formula:
            return
        if name in _VALUES:
            self._parser.CharacterDataHandler = None
        elif name == _CELL:
            self._has_formula = False
            if not self._has_value:
                self.n_formulas += 1
                if len(self.formulas) < _MAX_SHOWN:
                    self.formulas.append(f"{get_column_letter(self._column)}{self._row}")

    def _see_text(self, _text: str) -> None:
        self._has_value = True

    def _refuse_place(self, what: str, number: int, previous: int, largest: int) -> None:
        if number > largest:
            self._refuse(f"has a cell in {what} {number:,}, but Excel has {largest:,}")
        self._refuse(f"has {what} {number:,} after {what} {previous:,}; {_SAVE_AGAIN}")

    def _refuse_entities(self, *_declaration: object) -> None:
        self._refuse(f"declares entities, which no spreadsheet program does; {_SAVE_AGAIN}")

    def _refuse(self, problem: str) -> NoReturn:
        msg = f"{self._path}: the first sheet {problem}"
        raise TableError(msg)
