import subprocess
import sys

import numpy as np
import pytest

import convert_datasets

NAMES = ["letter.npz", "digits.npz", "segmentation.npz"]


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "letter.dat").write_text("2,15,Z\n4,7,P\n")
    (folder / "optdigits.dat").write_text("0,16,0\n3,4,7\n5,6,9\n")
    (folder / "segment.dat").write_text("218.0, -0.25, 6\n113.0, 0.31899637, 1\n")
    return folder


def read(path):
    with np.load(path, allow_pickle=False) as table:
        return table["X"], table["y"]


def test_converted_tables_are_those_of_the_sources(source, tmp_path):
    paths = convert_datasets.convert(source, tmp_path)
    assert [path.name for path in paths] == NAMES
    letter, digits, segmentation = (read(path) for path in paths)

    assert letter[0].tolist() == [[2, 15], [4, 7]]
    assert letter[1].tolist() == ["Z", "P"]
    assert digits[0].tolist() == [[0, 16], [3, 4], [5, 6]]
    assert digits[1].tolist() == [0, 7, 9]
    assert segmentation[0].tolist() == [[218.0, -0.25], [113.0, 0.31899637]]
    assert segmentation[1].tolist() == ["path", "brickface"]
    assert letter[0].dtype == digits[0].dtype == np.uint8
    assert segmentation[0].dtype == np.float64


def test_command_line_gives_the_same_bytes(source, tmp_path):
    once, again = tmp_path / "once", tmp_path / "again"
    once.mkdir()
    again.mkdir()
    convert_datasets.convert(source, once)
    subprocess.run([sys.executable, convert_datasets.__file__, source, again], check=True)
    for name in NAMES:
        assert (once / name).read_bytes() == (again / name).read_bytes()
