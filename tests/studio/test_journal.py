"""Journals: all that was answered is there again, whatever happened to the process or the table."""

import json
import os
import tracemalloc

import pandas as pd
import pytest

from graphmargin.cli import main
from graphmargin.labeling.labeling_task import read_task
from graphmargin.studio.journal import journal_path, open_journal, session_from_journal
from graphmargin.studio.journal_lines import (
    JournalError,
    entry_values,
    journal_bytes,
    parse_journal,
)
from graphmargin.studio.session import KEPT, SKIPPED, Decision, decide, label_names
from graphmargin.tables.row_hashes import hash_rows

DECISIONS = (
    Decision("label", (5,), 1, by="key", suggested=0),
    Decision("add_class", name="größe ☃"),
    Decision("label", (7, 8, 9), 3, by="lasso"),
    Decision("undo"),
    Decision("redo"),
    Decision("skip", (11,)),
    Decision("clear", (0,)),
)


@pytest.fixture
def write(table_file):
    """Return a function that opens the journal and appends decisions to it."""

    def append(*decisions):
        task = read_task(table_file, "kind", min_classes=0, ignore=["note"])
        hashes = hash_rows(task.table, leave_out="kind")
        opened = open_journal(table_file, task, hashes)
        session = opened.session
        for decision in decisions:
            session = decide(session, decision)
            opened.journal.append(entry_values(decision, hashes))
        opened.close()
        return session, opened.notes

    return append


def same(first, second):
    assert label_names(first).tolist() == label_names(second).tolist()
    assert first.marks.tolist() == second.marks.tolist()
    assert [step.text for step in first.done] == [step.text for step in second.done]


def test_a_session_is_continued(write):
    before, notes = write(*DECISIONS)
    assert notes == ()
    after, notes = write()
    same(before, after)
    assert notes == ()


def test_lines_say_when_what_and_how(write, table_file):
    write(*DECISIONS)
    header, first, *_ = map(json.loads, journal_path(table_file).read_text().splitlines())
    assert header["table"] == "pets.csv"
    assert (header["target"], header["rows"], header["format"]) == ("kind", 240, 3)
    assert first["at"].startswith("20")
    assert {k: first[k] for k in ("action", "rows", "class", "by", "suggested")} == {
        "action": "label",
        "rows": [5],
        "class": 1,
        "by": "key",
        "suggested": 0,
    }


@pytest.mark.parametrize("n_lost", [1, 17, 60])
def test_an_incomplete_last_line_is_dropped_with_a_note(write, table_file, n_lost):
    write(*DECISIONS)
    path = journal_path(table_file)
    path.write_bytes(path.read_bytes()[:-n_lost])
    session, notes = write()
    assert "incomplete and was dropped" in notes[0]
    assert session.can_undo == "skip row 12"
    again, notes = write(Decision("skip", (20,)))
    assert notes == ()
    assert again.can_undo == "skip row 21"


def test_labels_of_rows_that_are_still_there_are_used_after_the_table_changed(write, table_file):
    write(*DECISIONS)
    table = pd.read_csv(table_file)
    table.loc[8, "x"] = 99.5
    moved = pd.concat([table.iloc[100:101], table.drop(index=[9, 100])], ignore_index=True)
    moved.to_csv(table_file, index=False)
    session, notes = write()
    assert "has changed since" in notes[0]
    assert "4 of 6 decided rows" in notes[0]
    names = label_names(session)
    assert names[6] == "dog"
    assert names[8] == "größe ☃"
    assert names[1] is None  # cleared
    assert names[9] is None  # its row has another x
    kept = table_file.with_name("pets.csv.studio-1.jsonl")
    assert len(parse_journal(kept, kept.read_bytes()).entries) == len(DECISIONS)
    again, notes = write()
    assert notes == ()
    same(session, again)


def test_labels_that_were_written_into_the_table_are_no_change_of_rows(write, table_file):
    write(*DECISIONS)
    table = pd.read_csv(table_file)
    table.loc[20, "kind"] = "eel"
    table.to_csv(table_file, index=False)
    session, notes = write()
    assert "6 of 6 decided rows" in notes[0]
    assert label_names(session)[[5, 20]].tolist() == ["dog", "eel"]


def test_two_studios_cannot_write_one_journal(table_file):
    task = read_task(table_file, "kind", min_classes=0, ignore=["note"])
    hashes = hash_rows(task.table, leave_out="kind")
    opened = open_journal(table_file, task, hashes)
    with pytest.raises(JournalError, match="in use by another studio"):
        open_journal(table_file, task, hashes)
    journal_path(table_file).rename(table_file.with_name("moved"))
    with pytest.raises(JournalError, match="in use by another studio"):
        open_journal(table_file, task, hashes)
    with pytest.raises(JournalError, match="moved, replaced or cut"):
        opened.close()
    open_journal(table_file, task, hashes).close()


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"hello\n", "not a journal"),
        (b'{"format": 1}\n', "not a journal"),
        (b"[]\n", "not a journal"),
        (b"no line", "not a journal"),
        (b"", "is empty"),
    ],
)
def test_other_files_are_refused(write, table_file, content, text):
    path = journal_path(table_file)
    path.write_bytes(content)
    with pytest.raises(JournalError, match=text):
        write()
    assert path.read_bytes() == content


def test_a_damaged_line_is_named(write, table_file):
    write(*DECISIONS)
    path = journal_path(table_file)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], b"{}\n", *lines[2:]]))
    with pytest.raises(JournalError, match="line 3 is damaged"):
        write()


def test_a_flipped_bit_is_named_and_labels_no_other_row(write, table_file):
    write(*DECISIONS)
    path = journal_path(table_file)
    content = path.read_bytes()
    number = content[: content.index(b'"rows":[5]')].count(b"\n") + 1
    path.write_bytes(content.replace(b'"rows":[5]', b'"rows":[7]'))
    with pytest.raises(JournalError, match=f"line {number} is damaged"):
        write()


def test_lines_cannot_be_removed_repeated_or_exchanged(write, table_file):
    write(*DECISIONS)
    path = journal_path(table_file)
    lines = path.read_bytes().splitlines(keepends=True)
    for changed in (
        [*lines[:2], *lines[3:]],  # the class of later labels would be another one
        [*lines[:3], lines[2], *lines[3:]],
        [*lines[:2], lines[3], lines[2], *lines[4:]],
    ):
        path.write_bytes(b"".join(changed))
        with pytest.raises(JournalError, match=r"line [34] is damaged.*first [23] lines only"):
            write()
    path.write_bytes(b"".join(lines[:3]))  # what the message advises
    assert write()[0].can_undo == "add class 'größe ☃'"


HEADER = {"format": 3, "table": "pets.csv", "target": "kind", "rows": 240, "fingerprint": "f"}
HEADER["classes"] = ["cat", "dog"]
LABEL = {"at": "2026", "action": "label", "rows": [4], "class": 0, "hashes": ["h"]}
DEEP = "[" * 100_000
WRONG_HEADERS = [
    {"rows": -5},
    {"rows": 2**70},
    {"rows": "240"},
    {"rows": True},
    {"classes": "cat"},
    {"classes": [1]},
    {"classes": [f"class {k}" for k in range(300)]},
    {"table": None},
    {"more": 1},
]
WRONG_LABELS = [
    {"rows": ["a"]},
    {"rows": [2**70]},
    {"rows": [-1]},
    {"rows": [240]},
    {"rows": [True]},
    {"rows": [4, 5]},
    {"rows": 4},
    {"rows": []},
    {"class": [1]},
    {"class": 2**40},
    {"class": 7},
    {"class": 1.0},
    {"name": 5},
    {"hashes": [5]},
    {"hashes": "h"},
    {"by": "magic"},
    {"by": {}},
    {"at": 5},
    {"action": "dance"},
    {"action": ["label"]},
    {"action": "undo", "rows": [], "hashes": []},
    {"action": "merge_classes", "into": 0},
    {"action": "add_class", "name": "\ud800"},
    {"action": "keep"},
    {"more": 1},
]


@pytest.mark.parametrize("wrong", WRONG_HEADERS, ids=str)
def test_headers_of_other_types_are_refused_in_one_line(refuse, wrong):
    refuse(journal_bytes([{**HEADER, **wrong}, LABEL]))


@pytest.mark.parametrize("wrong", WRONG_LABELS, ids=str)
def test_entries_of_other_types_are_refused_by_the_line(refuse, wrong):
    values = [{**HEADER, "classes": []}] if wrong == {"action": "keep"} else [HEADER]
    entry = {**LABEL, **wrong}
    if wrong == {"action": "keep"}:
        del entry["class"]
    assert "line 2 " in refuse(journal_bytes([*values, entry]))


@pytest.mark.parametrize("line", [DEEP, "5", "null", '"text"', "{}", '{"format": ' + DEEP])
def test_lines_that_are_no_decisions_are_refused(refuse, line):
    refuse(journal_bytes([HEADER]) + line.encode() + b"\n")
    refuse(line.encode() + b"\n")


@pytest.fixture
def refuse(table_file, capsys):
    """Return a function that opens a journal by both commands, and returns their message."""

    def run(content):
        path = journal_path(table_file)
        path.write_bytes(content)
        words = [str(table_file), "--target", "kind", "--ignore", "note"]
        label = ["label", *words, "--journal", str(path), "--out", str(path.with_name("o.csv"))]
        assert main(label) == 2
        assert main(["studio", *words, "--no-browser"]) == 2
        assert path.read_bytes() == content
        first, second = capsys.readouterr().err.splitlines()
        assert first == second
        return first

    return run


def test_the_number_of_rows_in_a_header_takes_no_memory(table_file):
    path, table = journal_path(table_file), table_file.with_name("other.csv")
    path.write_bytes(journal_bytes([{**HEADER, "rows": 2**40}, {**LABEL, "rows": [2**40 - 1]}]))
    table.write_bytes(table_file.read_bytes())
    task = read_task(table, "kind", min_classes=0, ignore=["note"])
    tracemalloc.start()
    _, notes = session_from_journal(path, task)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "0 of 1 decided rows" in notes[0]
    assert peak < 10_000_000


def test_hashes_of_other_rows_are_refused_though_the_checksum_is_right(write, table_file):
    write()
    path = journal_path(table_file)
    header = json.loads(path.read_bytes())
    del header["check"]
    path.write_bytes(journal_bytes([header, LABEL]))
    with pytest.raises(JournalError, match="line 2 has the hashes of other rows"):
        write()


def change_table(table_file):
    with table_file.open("a") as file:
        file.write("0.5,0.5,a row more,\n")


def test_kept_labels_and_marks_are_carried_over_with_the_labels_before_them(write, table_file):
    keep = [Decision("keep", (row,)) for row in (0, 6, 5)]  # row 1 has its label from the table
    labels = [Decision("label", (5,), 1), Decision("label", (6,), 2)]
    write(*labels, *keep, Decision("label", (8,), 1), Decision("skip", (8,)))
    change_table(table_file)
    session, notes = write()
    assert "3 of 3 decided rows" in notes[0]
    assert label_names(session)[[0, 5, 6, 8]].tolist() == ["cat", "dog", "eel", "dog"]
    assert [bool(session.marks[row] & KEPT) for row in (5, 6)] == [True, True]
    assert session.marks[8] & SKIPPED


def test_renamed_and_merged_classes_of_the_table_are_carried_over(write, table_file):
    write(
        Decision("rename_class", label=0, name="kitten"),
        Decision("merge_classes", label=1, into=2),
        Decision("label", (5,), 0),
        Decision("rename_class", label=2, name="fish"),
    )
    change_table(table_file)
    session, _ = write()
    assert label_names(session)[[0, 1, 2, 5]].tolist() == ["kitten", "fish", "fish", "kitten"]
    again, notes = write()
    assert notes == ()
    same(session, again)


@pytest.mark.skipif(os.name != "posix", reason="permissions of Unix")
def test_the_journal_of_a_private_table_is_private(write, table_file):
    table_file.chmod(0o600)
    write(*DECISIONS)
    assert journal_path(table_file).stat().st_mode & 0o777 == 0o600
    change_table(table_file)
    write()
    for path in table_file.parent.iterdir():
        assert path.stat().st_mode & 0o777 == 0o600, path


def test_tables_with_the_same_stem_have_journals_of_their_own(write, table_file):
    write(*DECISIONS)
    before = journal_path(table_file).read_bytes()
    for name in ("pets.2025.csv", "pets.tsv"):
        other = table_file.with_name(name)
        other.write_bytes(table_file.read_bytes())
        assert not journal_path(other).exists()
        task = read_task(table_file, "kind", min_classes=0, ignore=["note"])
        open_journal(other, task, hash_rows(task.table, leave_out="kind")).close()
    assert journal_path(table_file).read_bytes() == before


def test_a_journal_of_another_column_is_refused(write, table_file):
    write(*DECISIONS)
    task = read_task(table_file, "sort", min_classes=0, ignore=["note"])
    with pytest.raises(JournalError, match="--target kind"):
        session_from_journal(journal_path(table_file), task)
