"""Files of a run that were removed or damaged are computed again, or the run is refused."""

from __future__ import annotations

import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import dask.dataframe
import numpy as np
import pandas as pd
import pytest

from graphmargin._errors import InputError
from graphmargin.distributed import DistributedGraphCut
from graphmargin.distributed.cluster_errors import WorkDirError
from graphmargin.distributed.engine import memory_plan
from graphmargin.distributed.engine.run import locked
from graphmargin.distributed.engine.storage import Folder
from graphmargin.distributed.stages import harmonic_iteration
from graphmargin.tables.table_errors import TableError

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
    print(sorted(kinds.values()))
