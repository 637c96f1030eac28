"""Journals: all that was answered is there again, whatever happened to the process or the table."""

import json

import pandas as pd
import pytest

from graphmargin.labeling.labeling_task import read_task
from graphmargin.studio.journal import journal_path, open_journal, session_from_journal
from graphmargin.studio.journal_lines import JournalError, entry_values, parse_journal
from graphmargin.studio.session import Decision, decide, label_names
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


def test_a_journal_of_another_column_is_refused(write, table_file):
    write(*DECISIONS)
    task = read_task(table_file, "sort", min_classes=0, ignore=["note"])
    with pytest.raises(JournalError, match="--target kind"):
        session_from_journal(journal_path(table_file), task)
