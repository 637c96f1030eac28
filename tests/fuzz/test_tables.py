"""Random tables as bytes through `label` and `predict`: all rows come out, or one line says why.

Tables of every format, with texts that some formats cannot store, are read as they were written.

The standard library's csv module reads input and output once more, as a second opinion on what a
row and a cell are.
"""

import csv
import io
import tempfile
import zipfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import openpyxl
import pandas as pd
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from graphmargin import SemiSupervisedEnsemble, label_table, load_model, save_model
from graphmargin.cli import main
from graphmargin.labels import encode_labels
from graphmargin.tables import TableError, read_table
from graphmargin.tables.column_parsing import MISSING_TEXTS
from graphmargin.tables.file_formats import FORMATS
from graphmargin.tables.target import read_target
from graphmargin.tables.writing import table_writer

FEW = settings().max_examples // 4
"""Number of examples: each of them is several commands."""
NUMBERS = st.sampled_from(["1.50", "-2", "0.25", "1e3", "3.0", "12345678901234567.09", "007", "+4"])
WORDS = st.sampled_from(["TRUE", "FALSE", "unknown", "NA", "n.a.", "1.50", "2.00", "red", " red "])
DATES = st.sampled_from(["2024-05-01", "2023-11-30", "1999-01-02", "2024-05-01T10:00:00"])
TEXTS = st.text(st.sampled_from("ab \t,;|'\"\r\n\\=é\u2028€"), max_size=8)
COLUMNS = (NUMBERS, WORDS, DATES, TEXTS)
CLASSES = (["cat", "dog"], ["1.0", "2", "30"], ["TRUE", "FALSE"], ["a,b", 'c"d', "e\rf"])


@st.composite
def tables(draw):
    """Return the header and the rows of a table; a third or so of its rows have a label."""
    n_rows = draw(st.integers(9, 24))
    classes = draw(st.sampled_from(CLASSES))
    columns = [
        draw(st.lists(draw(st.sampled_from(COLUMNS)), min_size=n_rows, max_size=n_rows))
        for _ in range(draw(st.integers(1, 3)))
    ]
    numbers = [f"{draw(st.integers(-300, 300)) / 100:.2f}" for _ in range(n_rows)]
    labels = [classes[i % len(classes)] if i < 6 or i % 4 == 0 else "" for i in range(n_rows)]
    header = ["kind", "size", *(f"column {i}" for i in range(len(columns)))]
    return header, list(zip(labels, numbers, *columns, strict=True))


@st.composite
def layouts(draw):
    """Return how a table becomes bytes: separator, line ends, quotes, byte order mark."""
    return {
        "delimiter": draw(st.sampled_from(",;\t|")),
        "lineterminator": draw(st.sampled_from(["\n", "\r\n"])),
        "quoting": draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])),
        "bom": draw(st.booleans()),
    }


def as_bytes(header, rows, layout):
    text = io.StringIO(newline="")
    options = {name: value for name, value in layout.items() if name != "bom"}
    if any("\r" in cell for row in rows for cell in row):  # which older writers do not quote
        options["quoting"] = csv.QUOTE_ALL
    csv.writer(text, **options).writerows([header, *rows])
    return text.getvalue().encode("utf-8-sig" if layout["bom"] else "utf-8")


def cells(content, delimiter):
    """Return the cells of a file as the csv module reads them, blank lines left out."""
    text = io.StringIO(content.decode("utf-8-sig"), newline="")
    return [row for row in csv.reader(text, delimiter=delimiter, strict=True) if row]


def run(*words):
    """Return the exit code of a command and the lines that it wrote to stderr."""
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as err:
        code = main([*map(str, words), "-q"])
    return code, err.getvalue().splitlines()


@pytest.fixture(scope="module")
def folder():
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def fresh(folder):
    for file in folder.iterdir():
        file.unlink()
    return folder / "in.csv", folder / "out.csv", folder / "model.graphmargin"


def assert_refused(code, lines, folder):
    """Check that a failure is one line of the user's words, and that nothing was written."""
    assert code == 2, lines
    assert len(lines) == 1
    assert {file.name for file in folder.iterdir()} == {"in.csv"}


@settings(max_examples=FEW)
@given(table=tables(), layout=layouts(), data=st.data())
def test_cells_are_written_unchanged_and_predictions_do_not_depend_on_other_rows(
    folder, count_case, table, layout, data
):
    count_case("tables")
    (header, rows), delimiter = table, layout["delimiter"]
    source, out, model = fresh(folder)
    content = as_bytes(header, rows, layout)
    source.write_bytes(content)
    code, lines = run("label", source, "-t", "kind", "--out", out, "--model", model)
    event("refused" if code else "labeled")
    if code:
        assert_refused(code, lines, folder)
        return
    given, written = cells(content, delimiter), cells(out.read_bytes(), delimiter)
    assert len(given) == len(rows) + 1
    assert written[0] == [*header, "kind_confidence", "kind_source"]
    assert [row[1 : len(header)] for row in written] == [row[1:] for row in given]
    for before, after in zip(given[1:], written[1:], strict=True):
        if before[0].strip():
            assert (after[0], after[-1]) == (before[0], "given")
        else:
            assert after[0]
            assert after[-1] == "predicted"
    again = folder / "again.csv"
    assert run("label", source, "-t", "kind", "--out", again)[0] == 0
    assert again.read_bytes() == out.read_bytes()
    predicted = predictions(model, header[1:], [row[1:] for row in given[1:]], layout, folder)
    indices = data.draw(
        st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=6, unique=True)
    )
    part = [given[1 + i][1:] for i in indices]
    assert predictions(model, header[1:], part, layout, folder) == [predicted[i] for i in indices]


def predictions(model, header, rows, layout, folder):
    """Return the labels and confidences of new rows, whose own cells come out untouched."""
    source, out = folder / "new.csv", folder / "predicted.csv"
    content = as_bytes(header, rows, layout)
    source.write_bytes(content)
    code, lines = run("predict", model, source, "--out", out)
    assert code == 0, lines
    given, written = (
        cells(content, layout["delimiter"]),
        cells(out.read_bytes(), layout["delimiter"]),
    )
    assert [row[: len(header)] for row in written] == given
    assert written[0][len(header) :] == ["kind", "kind_confidence"]
    return [row[len(header) :] for row in written[1:]]


@settings(max_examples=2 * FEW)
@given(table=tables(), layout=layouts(), data=st.data())
def test_damaged_bytes_are_refused_in_one_line_or_all_rows_are_labeled(
    folder, count_case, table, layout, data
):
    count_case("damaged tables")
    source, out, _ = fresh(folder)
    content = bytearray(as_bytes(*table, layout))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(content) - 1))
        noise = data.draw(
            st.binary(max_size=3) | st.sampled_from([b'"', b"\n", b",", b"\0", b"\r"])
        )
        content[place : place + data.draw(st.integers(0, 3))] = noise
    source.write_bytes(content)
    code, lines = run("label", source, "-t", "kind", "--out", out)
    event("refused" if code else "labeled")
    if code:
        assert_refused(code, lines, folder)
        return
    with out.open(encoding="utf-8-sig", newline="") as file:
        width = len(next(csv.reader(file, delimiter=separator_of(out))))
    written = cells(out.read_bytes(), separator_of(out))
    assert all(len(row) == width for row in written)
    try:
        given = cells(bytes(content), separator_of(out))
    except (csv.Error, UnicodeDecodeError):
        return
    if all(len(row) == len(given[0]) for row in given):
        # Rows of empty cells at the end of a file do not count.
        while len(given) > 1 and not any(given[-1]):
            given.pop()
        assert len(written) == len(given)


def separator_of(path):
    """Return the separator of a file that was written: the one between its last two columns."""
    header = path.read_text(encoding="utf-8-sig").split("kind_source")[0].rstrip('"')
    return header[-1]


TRAPS = (
    *("\0", "a\0b", "\x01", "\x0b", "\x1f", "\x7f", "\x85", "\r", "a\r\nb", "\n", "\t", "\ufeff"),
    *("\ufffe", "\uffff", "\ud800", "a\udfff", "\u2028", "\U0001f600", "é", " ", "  a ", ""),
    *("=1+1", "+1", "@x", "'a", '"', '""', '"a" b', ",", ";", "|", "\\", "\\N", "sep=;", "#N/A"),
    *("NA", "NULL", "nan", "None", "<NA>", "-", "?", "1", "1.5", "1.50", "007", "1e5", "TRUE"),
    *("_x000D_", "_x0041_", "&amp;", "<c>", "]]>", "[1, 2]", '{"a": 1}', "2024-05-01", "a" * 300),
)
"""Texts of cells, column names and classes that formats or parsers may change."""
TRAP_TEXTS = st.sampled_from(TRAPS) | st.text(st.characters(), max_size=6)
NESTED = st.lists(TRAP_TEXTS, max_size=2) | st.dictionaries(st.sampled_from("ab"), TRAP_TEXTS)


@st.composite
def frames(draw):
    """Return a table of texts, missing cells and lists of texts, in columns with any names."""
    n_rows = draw(st.integers(1, 4))
    names = TRAP_TEXTS.filter(str.strip)
    names = draw(st.lists(names, min_size=1, max_size=3, unique_by=str.strip))
    cells = st.one_of(st.none(), TRAP_TEXTS, TRAP_TEXTS, NESTED)
    columns = [draw(st.lists(cells, min_size=n_rows, max_size=n_rows)) for _ in names]
    frame = pd.DataFrame({i: pd.Series(column, dtype=object) for i, column in enumerate(columns)})
    return frame.set_axis(pd.Index(names, dtype=object), axis=1)


@settings(max_examples=8 * FEW)
@given(table=frames(), ending=st.sampled_from(sorted(FORMATS)))
def test_texts_are_read_as_they_were_written_or_refused(folder, count_case, table, ending):
    count_case("tables of every format")
    fresh(folder)
    path = folder / f"a{ending}"
    try:
        with table_writer(path) as write:
            write(table)
    except TableError:
        event("refused")
        assert not path.exists()
        return
    event("written")
    again = read_table(path)
    assert list(again.columns) == [name.strip() for name in table.columns]
    # Rows without any text at the end of a file do not count.
    again = again.reindex(range(len(table)))
    for i in range(table.shape[1]):
        for before, after in zip(table.iloc[:, i], again.iloc[:, i], strict=True):
            if before in (None, ""):
                assert after == "" or pd.isna(after)
            elif isinstance(before, str):
                assert after == before


@settings(max_examples=FEW)
@given(
    names=st.lists(TRAP_TEXTS.filter(str.strip), min_size=2, max_size=4, unique_by=str.strip),
    endings=st.tuples(*[st.sampled_from([".csv", ".tsv.gz", ".parquet", ".xlsx", ".jsonl"])] * 2),
)
def test_given_labels_of_any_name_are_kept_in_every_format_or_refused(
    folder, count_case, names, endings
):
    count_case("names of classes")
    fresh(folder)
    source, out = folder / f"in{endings[0]}", folder / f"out{endings[1]}"
    kinds = [names[i % len(names)] if i < 12 else None for i in range(20)]
    sizes = [i % len(names) + i / 50 for i in range(20)]
    columns = {"kind": pd.Series(kinds, dtype=object), "size": pd.Series(sizes, dtype=object)}
    try:
        with table_writer(source) as write:
            write(pd.DataFrame(columns))
        target = read_target(read_table(source), "kind")
    except TableError:
        event("not written, or no classes")
        return
    code, lines = run("label", source, "-t", "kind", "--out", out)
    event("refused" if code else "labeled")
    if code:
        assert (code, len(lines), out.exists()) == (2, 1, False)
        return
    written = read_table(out)
    assert len(written) == 20
    assert written["kind"].notna().all()
    assert (written["kind_source"] == "given").tolist() == target.labeled.tolist()
    for before, after, is_labeled in zip(kinds, written["kind"], target.labeled, strict=True):
        # Among numbers, a text such as NA means missing.
        assert after == before if is_labeled else before is None or before.strip() in MISSING_TEXTS


@st.composite
def sheets(draw):
    """Return the XML of the rows of a sheet, what has to be read, and whether values are lacking.

    Some cells are formulas, with a saved value or without one.
    """
    rows, expected, lacks_value = [], [], False
    width = draw(st.integers(1, 4))
    for i in range(draw(st.integers(2, 6))):
        cells, values = [], []
        for j in range(width):
            kind = draw(st.sampled_from(["number"] * 6 + ["none", "formula", "unsaved"] * (i > 0)))
            value = None if kind in ("none", "unsaved") else 100 * i + j
            formula = "<f>A1+1</f>" if kind in ("formula", "unsaved") else ""
            saved = draw(st.sampled_from(["", "<v/>", "<v></v>"])) if value is None else None
            content = formula + (f"<v>{value}</v>" if saved is None else saved)
            lacks_value |= kind == "unsaved"
            if kind != "none":
                cells.append(f'<c r="{"ABCD"[j]}{i + 1}">{content}</c>')
            values.append(value)
        rows.append(f'<row r="{i + 1}">{"".join(cells)}</row>')
        expected.append(values)
    while all(value is None for value in expected[-1]):
        expected.pop()
    return "".join(rows), expected, lacks_value


@settings(max_examples=4 * FEW)
@given(
    sheet=sheets(),
    dimension=st.sampled_from(["", "A1", "A1:B2", "C3:C4", "A1:XFD1048576", "A1:D3", "nonsense"]),
)
def test_sheets_are_read_as_a_whole_or_refused(folder, count_case, sheet, dimension):
    count_case("sheets of Excel")
    rows, expected, lacks_value = sheet
    fresh(folder)
    path = folder / "a.xlsx"
    book = openpyxl.Workbook()
    book.save(path)
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    said = f'<dimension ref="{dimension}"/>' if dimension else ""
    namespace = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    entries["xl/worksheets/sheet1.xml"] = (
        f'<worksheet xmlns="{namespace}">{said}<sheetData>{rows}</sheetData></worksheet>'.encode()
    )
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    try:
        table = read_table(path)
    except TableError as error:
        event(f"refused: {dimension}")
        refusal = str(error)
    else:
        header = [str(value) for value in expected[0]]
        assert list(table.columns) == header
        assert table.astype(object).where(table.notna(), None).to_numpy().tolist() == expected[1:]
        refusal = ""
    assert ("without a saved value" in refusal) == lacks_value
    assert bool(refusal) == (lacks_value or dimension == "nonsense")


@pytest.mark.filterwarnings("ignore:column .* not a")
@settings(max_examples=max(FEW // 2, 1))
@given(table=tables(), data=st.data())
def test_a_frame_in_python_gets_what_the_command_gets(folder, count_case, table, data):
    """`label_table` and the ensemble agree with each other, and predict rows one by one."""
    count_case("frames")
    header, rows = table
    frame = pd.DataFrame(rows, columns=header)
    few = frame.pop("kind").mask(lambda kind: kind.str.strip() == "", None)
    try:
        model = SemiSupervisedEnsemble().fit(frame, few)
    except ValueError:
        event("refused")
        return
    event("labeled")
    labeled = label_table(frame.assign(kind=few), "kind")
    assert labeled.task.columns == model.features_.columns
    codes = labeled.task.target.codes
    if (codes == encode_labels(few).codes).all():  # numbers are sorted by value in tables
        expected = labeled.fitted.label_distributions
        assert (model.label_distributions_ == expected).all()
    save_model(model, folder / "model.graphmargin")
    some = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=4, unique=True))
    alone = load_model(folder / "model.graphmargin").predict(frame.iloc[some])
    assert alone.tolist() == model.predict(frame)[some].tolist()
