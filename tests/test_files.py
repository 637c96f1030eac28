import pytest

from graphmargin._errors import InputError
from graphmargin._files import check_writable, replacing


def test_a_link_stays_a_link(tmp_path):
    target, link = tmp_path / "real" / "a.txt", tmp_path / "a.txt"
    link.symlink_to(target)
    for text in ("first", "second"):
        with replacing(link) as draft:
            draft.write_text(text)
        assert link.is_symlink()
        assert target.read_text() == text
    assert list(target.parent.iterdir()) == [target]


def test_a_failure_keeps_the_old_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), replacing(path) as draft:
        draft.write_text(str(1 / 0))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_output_that_can_be_written_leaves_nothing(tmp_path):
    table = tmp_path / "in.csv"
    table.write_text("x")
    check_writable(tmp_path / "new" / "deeper" / "out.parquet", inputs=[table])
    check_writable(tmp_path / "out.csv", inputs=[table])
    assert list(tmp_path.iterdir()) == [table]


def test_output_that_cannot_be_written(tmp_path):
    table = tmp_path / "in.csv"
    table.write_text("x")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "link.csv").symlink_to(table)
    (tmp_path / "hard.csv").hardlink_to(table)
    cases = {
        "folder.csv": "a folder, not a file",
        "in.csv": "is in use by this command already",
        "folder.csv/../in.csv": "is in use by this command already",
        "link.csv": "is in use by this command already",
        "hard.csv": "is in use by this command already",
        "in.csv/out.csv": "is a file, not a folder",
    }
    for name, message in cases.items():
        with pytest.raises(InputError, match=message):
            check_writable(tmp_path / name, inputs=[table])


def test_a_folder_without_permission(monkeypatch, tmp_path):
    def refused(**_):
        raise PermissionError(13, "Permission denied")

    # A superuser may write everywhere, so that only the system's answer can be made up.
    monkeypatch.setattr("graphmargin._files.TemporaryFile", refused)
    with pytest.raises(PermissionError, match=r"cannot be written: Permission denied: .*out\.csv"):
        check_writable(tmp_path / "out.csv", inputs=[])
