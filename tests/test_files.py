import pytest

from graphmargin._files import replacing


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
