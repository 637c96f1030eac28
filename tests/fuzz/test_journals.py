"""Journals with random damage, names of classes from a list of traps, and bodies of requests."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmargin._errors import InputError
from graphmargin.labeling.labeling_task import read_task, relabel, task_of
from graphmargin.studio.journal import journal_path, open_journal, session_from_journal
from graphmargin.studio.journal_file import NotSavedError
from graphmargin.studio.journal_lines import JournalError, entry_values, journal_bytes
from graphmargin.studio.session import ACTIONS, Decision, decide, label_names, new_session
from graphmargin.tables.row_hashes import hash_rows
from graphmargin.tables.target import check_class_name
from graphmargin.tables.writing import table_writer
from tests.studio.conftest import open_studio, serve

N_ROWS = 20
TABLE = pd.DataFrame({"x": np.arange(N_ROWS) + 0.5, "kind": ["cat", "dog", *[None] * 18]})
DECISIONS = (
    Decision("label", (4,), 1, by="key", suggested=0),
    Decision("add_class", name="größe ☃"),
    Decision("label", (7, 8, 9), 2, by="lasso"),
    Decision("undo"),
    Decision("redo"),
    Decision("rename_class", label=0, name="kitten"),
    Decision("skip", (11,)),
    Decision("merge_classes", label=1, into=0),
    Decision("clear", (8,)),
)
TRAPS = [
    "NA",
    "NULL",
    "-",
    "?",
    "nan",
    "None",
    "",
    " ",
    "1",
    "2",
    "1.0",
    "1.5",
    "True",
    "1e3",
    "007",
]
TRAPS += [
    "-1",
    "inf",
    "1e400",
    "=1+1",
    "1,5",
    "1,000",
    "5%",
    "2020-01-01",
    "\ud800",
    "a\0",
    "\u202ea",
]
TRAPS += ["\u200b", "x" * 200, "x" * 201, "a | b", "cat", "Cat", "_x0041_", "'1", "٣", "1_000"]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return the paths of a table and of a journal, its bytes, the task and all of its states."""
    path = tmp_path_factory.mktemp("journals") / "pets.csv"
    TABLE.to_csv(path, index=False)
    task = read_task(path, "kind", min_classes=0)
    hashes = hash_rows(task.table, leave_out="kind")
    opened = open_journal(path, task, hashes)
    states = [opened.session]
    for decision in DECISIONS:
        states.append(decide(states[-1], decision))
        opened.journal.append(entry_values(decision, hashes))
    opened.close()
    journal = journal_path(path)
    return path, journal, journal.read_bytes(), task, [view_of(state) for state in states]


def view_of(session):
    return label_names(session).tolist(), session.marks.tolist()


def check_damaged(written, content):
    """Check that a damaged journal is refused, or that all is there, or that a note says not."""
    _, journal, whole, task, states = written
    journal.write_bytes(content)
    try:
        session, notes = session_from_journal(journal, task)
    except JournalError:
        return
    if not notes:
        n_lines = content.count(b"\n")
        assert whole.startswith(content), "a changed journal was taken for a right one"
        assert view_of(session) == states[n_lines - 1]
    else:
        assert "incomplete and was dropped" in notes[0]
        assert view_of(session) in states


@given(bit=st.integers(0, 10**6))
def test_a_flipped_bit_is_refused_or_announced(written, count_case, bit):
    content = bytearray(written[2])
    bit %= 8 * len(content)
    content[bit // 8] ^= 1 << bit % 8
    check_damaged(written, bytes(content))
    count_case("journals with a flipped bit")


@given(start=st.floats(0, 1), length=st.integers(0, 300), noise=st.binary(max_size=60))
def test_damaged_parts_are_refused_or_announced(written, count_case, start, length, noise):
    content = written[2]
    at = int(start * len(content))
    check_damaged(written, content[:at] + noise + content[at + length :])
    count_case("journals with a damaged part")


@given(order=st.lists(st.integers(0, len(DECISIONS)), max_size=14))
def test_lines_in_another_order_are_refused(written, count_case, order):
    lines = written[2].splitlines(keepends=True)
    check_damaged(written, b"".join(lines[number] for number in order))
    count_case("journals with other lines")


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 25)
    | st.sampled_from([2**31, 2**63, -(2**70), 10**400, 1.5, float("nan"), *TRAPS])
    | st.text(max_size=5),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.text(max_size=4), parts),
    max_leaves=5,
)
ENTRIES = st.fixed_dictionaries(
    {"at": st.just("2026"), "action": st.sampled_from(ACTIONS) | VALUES},
    optional={
        name: VALUES | st.lists(st.integers(0, N_ROWS), max_size=3)
        for name in ("rows", "class", "name", "into", "by", "suggested", "hashes")
    },
)


@given(
    header=st.dictionaries(st.sampled_from(["rows", "classes", "table"]), VALUES), data=st.data()
)
def test_values_of_any_type_with_right_checksums_are_an_error_of_journals(
    written, count_case, header, data
):
    _, journal, whole, task, _ = written
    first = json.loads(whole.splitlines()[0])
    del first["check"]
    entries = data.draw(st.lists(ENTRIES, max_size=3))
    journal.write_bytes(journal_bytes([{**first, **header}, *entries]))
    try:
        session, _ = session_from_journal(journal, task)
    except InputError:
        pass  # its message is one line in any case
    else:
        assert len(session.labels) == N_ROWS
    count_case("journals with other values")


@given(
    changes=st.lists(
        st.sampled_from(["label", "remove", "move", "empty", "cut", "copy", "second", "restart"]),
        max_size=10,
    )
)
def test_replaced_journals_and_second_studios_lose_no_answered_label(
    tmp_path_factory, count_case, changes
):
    path = tmp_path_factory.mktemp("replaced") / "pets.csv"
    TABLE.to_csv(path, index=False)
    task = read_task(path, "kind", min_classes=0)
    hashes = hash_rows(task.table, leave_out="kind")
    journal, answered, row = journal_path(path), [], 2
    opened, was_changed = open_journal(path, task, hashes), False

    def restart(opened):
        """End the studio, do what its message says, and start it again."""
        try:
            opened.close()
        except JournalError:
            copies = sorted(
                path.parent.glob("*.studio-*.jsonl"), key=lambda p: p.stat().st_mtime_ns
            )
            copies[-1].replace(journal)
            assert was_changed
        else:
            assert not was_changed
        return open_journal(path, task, hashes)

    for change in changes:
        if change == "label":
            try:
                opened.journal.append(entry_values(Decision("label", (row,), 0), hashes))
            except NotSavedError:
                assert was_changed
            else:
                assert not was_changed
                answered.append(row)
            row += 1
        elif change == "second":
            with pytest.raises(JournalError, match="in use by another studio"):
                open_journal(path, task, hashes)
        elif change == "restart":
            opened, was_changed = restart(opened), False
        elif not was_changed:
            content = journal.read_bytes()
            if change in ("remove", "copy"):
                journal.unlink()
            if change == "move":
                journal.rename(path.with_name("moved"))
            if change in ("empty", "cut"):
                with journal.open("r+b") as file:
                    file.truncate(0 if change == "empty" else len(content) - 1)
            if change == "copy":
                journal.write_bytes(content)
            was_changed = True
    opened = restart(opened)
    assert [each for each in range(2, N_ROWS) if opened.session.labels[each] == 0] == answered
    opened.close()
    count_case("sessions with replaced journals")


NAMES = st.lists(st.sampled_from(TRAPS) | st.text(max_size=4), min_size=2, max_size=8)
COLUMNS = {
    "new": None,
    "text": ["cat", "dog", *[None] * 18],
    "missing": ["NA", "dog", *[None] * 18],
    "numbers": pd.array([1, 2, *[None] * 18], dtype="Int64"),
    "booleans": pd.array([True, False, *[None] * 18], dtype="boolean"),
}


@given(
    names=NAMES,
    kind=st.sampled_from(sorted(COLUMNS)),
    ending=st.sampled_from([".csv", ".parquet", ".xlsx", ".jsonl"]),
    chosen=st.lists(st.integers(0, 9), min_size=2, max_size=10),
)
def test_accepted_names_are_labels_in_every_format(
    tmp_path_factory, count_case, names, kind, ending, chosen
):
    table = TABLE[["x"]].copy()
    if COLUMNS[kind] is not None:
        table["kind"] = COLUMNS[kind]
    task = task_of(table, "kind", min_classes=0)
    session = new_session([str(name) for name in task.target.classes.tolist()], task.target.codes)
    for name in names:
        try:
            after = decide(session, Decision("add_class", name=name))
            others = [known.name for known in session.active]
            check_class_name(after.classes[-1].name, others, task.target.rule)
        except InputError:
            continue
        session = after
    for row, code in enumerate(chosen):
        if session.classes:
            session = decide(session, Decision("label", (row,), code % len(session.classes)))
    labels = label_names(session)
    if len({*labels.tolist()} - {None}) < 2:
        return
    labeled = relabel(task, labels)
    path = tmp_path_factory.mktemp("names") / f"out{ending}"
    with table_writer(path) as write:
        write(labeled.table)
    for each in (labeled, read_task(path, "kind")):
        classes = [*map(str, each.target.classes.tolist()), None]
        assert [classes[code] for code in each.target.codes] == labels.tolist()
    count_case("names of classes")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "pets.csv"
    TABLE.to_csv(path, index=False)
    with open_studio(path) as studio, serve(studio) as client:
        yield client.log_in()


KEYS = ("action", "rows", "class", "name", "from", "into", "by", "suggested", "filter", "what")
FILTER = st.dictionaries(
    st.sampled_from(["label", "predicted", "decision", "max_confidence", "text", "sort"]), VALUES
)
BODIES = st.dictionaries(st.sampled_from(KEYS), VALUES | FILTER | st.sampled_from(ACTIONS))


@given(path=st.sampled_from(["decisions", "preview", "login", "export"]), body=BODIES)
def test_bodies_of_any_type_are_answered_or_refused_with_a_sentence(page, count_case, path, body):
    answer = page.post(f"/api/{path}", body)
    assert answer.status_code in (200, 400, 401), (answer.status_code, answer.text)
    if answer.status_code != 200:
        assert answer.json()["error"]
    count_case("bodies of requests")


@given(
    path=st.sampled_from(["list", "predictions", "rows/{}", "rows/{}/image", "exports/{}"]),
    name=st.sampled_from(["label", "predicted", "since", "offset", "limit", "sort", "text"]),
    value=st.sampled_from([*TRAPS, "²", "9" * 5000]) | st.text(max_size=8),
)
def test_queries_of_any_text_are_answered_or_refused_with_a_sentence(
    page, count_case, path, name, value
):
    value = "".join(f"%{byte:02x}" for byte in value.encode(errors="surrogatepass"))
    answer = page.get(f"/api/{path.format(value)}?{name}={value}")
    assert answer.status_code in (200, 400, 404), (answer.status_code, answer.text)
    count_case("queries")
