"""Files of a run that were removed or damaged are computed again, or the run is refused."""

from __future__ import annotations

import re
import resource
import shutil

import numpy as np
import pandas as pd
import pytest

from graphmargin._errors import InputError
from graphmargin.distributed import DistributedGraphCut
from graphmargin.distributed.cluster_errors import WorkDirError
from graphmargin.distributed.engine import memory_plan
from graphmargin.distributed.engine.run import locked
from graphmargin.distributed.engine.storage import Folder
from graphmargin.distributed.io import output
from graphmargin.distributed.stages import harmonic_iteration

N_ROWS = 240


@pytest.fixture(scope="module", autouse=True)
def _small_partitions():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory_plan, "MIN_ROWS", 100)
        patch.setattr(harmonic_iteration, "CHECKPOINT", 3)
        yield


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Return a folder of three Parquet files."""
    random = np.random.default_rng(0)
    group = np.arange(N_ROWS) % 2
    rows = pd.DataFrame(random.normal(4 * group[:, None], 1, (N_ROWS, 2)), columns=["a", "b"])
    rows["y"] = np.where(np.arange(N_ROWS) < 40, np.array(["cat", "dog"])[group], None)
    folder = tmp_path_factory.mktemp("table")
    for i, part in enumerate(np.array_split(np.arange(N_ROWS), 3)):
        rows.iloc[part].to_parquet(folder / f"{i}.parquet")
    return folder


@pytest.fixture(scope="module")
def finished(table, client, tmp_path_factory):
    """Return the folder of a finished run."""
    work = tmp_path_factory.mktemp("finished") / "work"
    fit(table, work, client)
    return work


@pytest.fixture
def work(finished, tmp_path):
    """Return a copy of the folder of a finished run."""
    return shutil.copytree(finished, tmp_path / "work")


def fit(data, work, client, *, resume=False):
    cut = DistributedGraphCut(random_state=0)
    return cut.fit(data, label="y", work_dir=work, client=client, resume=resume)


def results(folder):
    """Return the files that stages read and users get, without those of completed tasks."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix not in (".done", ".result")
    }


def test_one_file_of_each_kind_is_written_again(finished, table, client, work):
    before = results(finished)
    kinds = {re.sub(r"[\d.]+(e-\d+)?", "#", path): path for path in sorted(before)}
    settings = kinds.pop("run#json")
    assert len(kinds) > 15
    for path in kinds.values():
        (work / path).unlink()
        fit(table, work, client, resume=True)
        assert results(work) == before, path
    (work / settings).unlink()
    with pytest.raises(WorkDirError, match="which is not part of a run; choose an empty folder"):
        fit(table, work, client, resume=True)


def cut_short(path):
    path.write_bytes(path.read_bytes()[:-1])


def flip_a_bit(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 16
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [cut_short, flip_a_bit])
def test_damaged_files_are_written_again(finished, table, client, work, damage):
    for path in work.rglob("*"):
        if path.is_file() and path.stat().st_size and path.name != "run.json":
            damage(path)
    fit(table, work, client, resume=True)
    assert results(work) == results(finished)


def test_a_result_that_cannot_be_completed_is_not_called_complete(
    finished, table, client, work, monkeypatch
):
    def fail(*_):
        message = "no space"
        raise InputError(message)

    (work / "transduction" / "part-000001.parquet").unlink()
    with monkeypatch.context() as patch:
        patch.setattr(output, "_write_labels", fail)
        with pytest.raises(InputError, match="no space"):
            fit(table, work, client, resume=True)
    assert not (work / "transduction" / "_SUCCESS").exists()
    fit(table, work, client, resume=True)
    assert results(work) == results(finished)


def test_a_second_fit_in_the_same_folder_is_refused(table, client, work):
    before = results(work)
    with locked(Folder(str(work))), pytest.raises(WorkDirError, match=f"{work} is in use by proc"):
        fit(table, work, client, resume=True)
    assert results(work) == before


def limit_files(size):
    """Let writing fail in files of more than a number of bytes, as it does on a full disk."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))


@pytest.mark.parametrize(("size", "file"), [(500, "rows/000000"), (2000, "part-000000.parquet")])
def test_a_full_disk_is_reported_with_the_file(finished, table, client, work, size, file):
    removed = "rows" if file.startswith("rows") else "transduction"
    shutil.rmtree(work / removed)
    client.run(limit_files, size)
    try:
        with pytest.raises(InputError, match=rf"{file}.* cannot be written: File too large; free"):
            fit(table, work, client, resume=True)
    finally:
        client.run(limit_files, resource.RLIM_INFINITY)
    fit(table, work, client, resume=True)
    assert results(work) == results(finished)
