import re
import zipfile
from pathlib import Path

import openpyxl
import pandas as pd
import pytest

from graphmargin.cli import main
from graphmargin.tables import TableError, read_table
from graphmargin.tables.writing import table_writer

SHEET = "xl/worksheets/sheet1.xml"
N_ROWS = 40


def cats(path: Path, kind=lambda i: "cat" if i % 2 else "dog", n_labels: int = 20) -> Path:
    """Write a table of two classes, with a label in its first and last rows."""
    book = openpyxl.Workbook()
    book.active.append(["size", "weight", "kind"])
    for i in range(N_ROWS):
        is_labeled = min(i, N_ROWS - 1 - i) < n_labels // 2
        book.active.append([i % 2 + i / 100, i % 2 - i / 70, kind(i) if is_labeled else None])
    book.save(path)
    return path


def edit_sheet(path: Path, edit) -> Path:
    """Change the XML of the first sheet."""
    with zipfile.ZipFile(path) as archive:
        entries = {entry: archive.read(entry) for entry in archive.namelist()}
    entries[SHEET] = edit(entries[SHEET].decode()).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry, content in entries.items():
            archive.writestr(entry, content)
    return path


def with_dimension(new: str):
    return lambda sheet: re.sub(r"<dimension [^>]*>", new, sheet)


@pytest.mark.parametrize(
    "dimension",
    [
        '<dimension ref="A1:C21"/>',
        '<dimension ref="A1"/>',
        '<dimension ref="B7:B8"/>',
        '<dimension ref="A1:XFD1048576"/>',
        "",
    ],
)
def test_the_dimension_of_a_sheet_is_not_believed(tmp_path, dimension):
    right = read_table(cats(tmp_path / "cats.xlsx"))
    assert right.shape == (N_ROWS, 3)
    edit_sheet(tmp_path / "cats.xlsx", with_dimension(dimension))
    pd.testing.assert_frame_equal(read_table(tmp_path / "cats.xlsx"), right)


def test_all_rows_of_a_sheet_with_a_false_dimension_are_labeled_and_predicted(tmp_path, capsys):
    path = cats(tmp_path / "cats.xlsx")
    edit_sheet(path, with_dimension('<dimension ref="A1:C21"/>'))
    model, out = tmp_path / "cats.graphmargin", tmp_path / "out.csv"
    assert main([*f"label {path} -t kind --out {out} --model {model} -q".split()]) == 0
    assert len(read_table(out)) == N_ROWS
    assert main([*f"predict {model} {path} --out {out} -q".split()]) == 0
    assert len(read_table(out)) == N_ROWS
    assert main(["info", str(path)]) == 0
    assert f"{N_ROWS} rows" in capsys.readouterr().out


def test_cells_without_addresses_and_empty_rows_between_others_have_their_place(tmp_path):
    rows = '<row><c><v>1</v></c></row><row r="4"><c r="C4"><v>2</v></c></row><row/>'
    path = edit_sheet(
        cats(tmp_path / "a.xlsx"), lambda s: re.sub("<sheetData>.*</row>", f"<sheetData>{rows}", s)
    )
    table = read_table(path)
    assert list(table.columns) == ["1", "column 2", "column 3"]
    assert table["column 3"].tolist() == [None, None, 2]


def test_formulas_without_a_saved_value_are_refused_with_their_cells(tmp_path, capsys):
    path = cats(tmp_path / "cats.xlsx", kind=lambda i: f'=IF(A{i + 2}>1,"cat","dog")')
    message = "the first sheet has 20 formulas without a saved value, such as C2, C3, C4; open and"
    with pytest.raises(TableError, match=message):
        read_table(path)
    assert main(["label", str(path), "-t", "kind", "--out", str(tmp_path / "out.csv")]) == 2
    assert "20 formulas" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [path]


def test_saved_values_of_formulas_are_read_also_if_they_are_empty_texts(tmp_path):
    path = cats(tmp_path / "cats.xlsx", kind=lambda i: f"=B{i + 2}")
    saved = iter(range(100))

    def value(_match):
        number = next(saved)
        return "<v></v>" if number == 3 else f"<v>kind {number}</v>"

    edit_sheet(
        path, lambda s: re.sub(r"<v ?/>", value, re.sub(r'(r="C\d+")><f>', r'\1 t="str"><f>', s))
    )
    kinds = read_table(path)["kind"].dropna().tolist()
    assert kinds == [f"kind {i}" for i in range(20) if i != 3]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({'<row r="9">': '<row r="8">'}, "has row 8 after row 8; open and save it"),
        ({'<row r="9">': '<row r="1048577">'}, "has a cell in row 1,048,577, but Excel has"),
        ({'r="B9"': 'r="XFE9"'}, "has a cell in column 16,385, but Excel has 16,384"),
        ({'r="B9"': 'r="A9"'}, "has column 1 after column 1; open and save it"),
        (
            {'<row r="41">': '<row r="1048576">', 'r="C1"': 'r="XFD1"'},
            "has cells up to XFD1048576, more than 100,000,000 with the empty ones",
        ),
        ({"<worksheet": '<!DOCTYPE x [<!ENTITY a "b">]><worksheet'}, "declares entities"),
        ({"</sheetData>": ""}, "not an Excel file (.xlsx), or it is damaged: mismatched tag"),
    ],
)
def test_sheets_that_openpyxl_would_cut_or_inflate_are_refused(tmp_path, changes, message):
    def edit(sheet):
        for before, after in changes.items():
            assert sheet.count(before) == 1
            sheet = sheet.replace(before, after)
        return sheet

    path = edit_sheet(cats(tmp_path / "cats.xlsx"), edit)
    with pytest.raises(TableError, match=re.escape(message)):
        read_table(path)


def test_an_archive_that_unpacks_to_far_more_than_its_size_is_refused(tmp_path):
    path = cats(tmp_path / "cats.xlsx")
    edit_sheet(path, lambda s: s.replace("<sheetData>", "<sheetData>" + "<row/>" * 3_000_000))
    with pytest.raises(
        TableError, match=r"not an Excel file \(\.xlsx\): its .* bytes would unpack"
    ):
        read_table(path)


def test_a_large_table_of_equal_cells_is_written_and_read(tmp_path):
    table = pd.DataFrame({f"x{i}": ["the same text in all cells"] * 2_000 for i in range(20)})
    with table_writer(tmp_path / "a.xlsx") as write:
        write(table)
    assert read_table(tmp_path / "a.xlsx").equals(table.astype(object))
