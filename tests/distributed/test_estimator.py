from __future__ import annotations

import linecache
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import dask.dataframe
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from sklearn.exceptions import ConvergenceWarning

from graphmargin import MaxMarginGraphCut, harmonic_solution, load_model, save_model
from graphmargin._errors import InputError
from graphmargin.confidence.held_out_predictions import expected_confusion
from graphmargin.distributed import ClusterError, DistributedGraphCut
from graphmargin.distributed.engine import memory_plan
from graphmargin.distributed.engine.cluster import Cluster
from graphmargin.distributed.engine.storage import Folder
from graphmargin.distributed.stages import harmonic_iteration, machine_training, pair_solver
from graphmargin.search.choice import Choice
from graphmargin.search.execution import UnreachedWarning
from tests.distributed.rows import assembled, mixture

N = 6_000
ROWS_PER_PARTITION = 2_000
"""So few that the table has three partitions."""
ROWS_PER_GROUP = 2_000
"""So few that the machine learns in three groups."""
FEATURES = [f"x{i}" for i in range(16)]
FIXED = {"gamma_g": 0.01, "C": 10.0}


@pytest.fixture(scope="module", autouse=True)
def _small_partitions():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory_plan, "MIN_ROWS", ROWS_PER_PARTITION)
        patch.setattr(machine_training, "rows_per_group", lambda *_: ROWS_PER_GROUP)
        yield


def few_of(y, share=0.03):
    return np.where(np.random.default_rng(1).random(len(y)) < share, y, -1)


def frame_of(X, few):
    table = pd.DataFrame(X, columns=FEATURES)
    table["kind"] = np.where(few == -1, None, np.array([f"k{i}" for i in range(3)])[few])
    table["name"] = [f"row {i}" for i in range(len(X))]
    return table


def write(table, folder, n_files=4):
    folder.mkdir()
    for i, rows in enumerate(np.array_split(np.arange(len(table)), n_files)):
        table.iloc[rows].to_parquet(folder / f"{i}.parquet")
    return folder


@pytest.fixture(scope="module")
def problem():
    X, y = mixture(N)
    return X, y, few_of(y)


@pytest.fixture(scope="module")
def files(problem, tmp_path_factory):
    X, _, few = problem
    return write(frame_of(X, few), tmp_path_factory.mktemp("files") / "table")


@pytest.fixture(scope="module")
def fitted(client, files, tmp_path_factory):
    cut = DistributedGraphCut(**FIXED)
    work = tmp_path_factory.mktemp("work")
    return cut.fit(files, label="kind", id="name", work_dir=work, client=client)


@pytest.fixture(scope="module")
def labels(fitted):
    return pd.read_parquet(fitted.transduction_)


@pytest.fixture(scope="module")
def one_machine(problem):
    X, _, few = problem
    return MaxMarginGraphCut(**FIXED, random_state=0).fit(X, few)


def test_labels_are_those_of_the_same_graph_on_one_machine(problem, fitted, labels):
    _, _, few = problem
    given = few != -1
    assert labels.columns.tolist() == ["name", "kind", "confidence"]
    assert labels["name"].tolist() == [f"row {i}" for i in range(N)]
    assert labels["kind"][given].tolist() == [f"k{code}" for code in few[given]]
    assert fitted.graph_recall_ > 0.97
    work = Folder(str(Path(fitted.transduction_).parent))
    W = assembled(work, fitted.n_partitions_, N)
    solution = harmonic_solution(W, few, gamma_g=0.01)
    reached = solution.codes >= 0
    assert fitted.n_partitions_ > 2
    assert reached.mean() > 0.99
    # Labels with a confidence below 1e-6 are not certain.
    is_certain = solution.confidence >= 1e-6
    np.testing.assert_array_equal(
        labels["kind"][is_certain], [f"k{code}" for code in solution.codes[is_certain]]
    )
    distributions = solution.label_distributions[np.arange(N), solution.codes]
    np.testing.assert_allclose(labels["confidence"][reached], distributions[reached], atol=1e-5)


def test_predictions_agree_with_those_of_one_machine(fitted, one_machine):
    X_new, y_new = mixture(10_000, seed=7)
    new = pd.DataFrame(X_new, columns=FEATURES)
    labels, codes = fitted.to_local().predict(new), one_machine.predict(X_new)
    assert (labels == [f"k{code}" for code in codes]).mean() > 0.995
    assert (codes == y_new).mean() > 0.95
    probabilities = fitted.to_local().predict_proba(new)
    assert np.abs(probabilities - one_machine.predict_proba(X_new)).mean() < 0.02


def test_the_local_model_is_saved_in_a_file(fitted, tmp_path):
    new = pd.DataFrame(mixture(200, seed=3)[0], columns=FEATURES)
    local = fitted.to_local()
    save_model(local, tmp_path / "cut.graphmargin")
    loaded = load_model(tmp_path / "cut.graphmargin")
    assert loaded.predict(new).tolist() == local.predict(new).tolist()


def test_predict_writes_labels_of_new_rows(fitted, client, tmp_path):
    X, y = mixture(3_000, seed=5)
    files = write(frame_of(X, np.where(np.arange(len(y)) < 100, y, -1)), tmp_path / "new", 2)
    predicted = fitted.predict(files, tmp_path / "out", client=client)
    written = pd.read_parquet(tmp_path / "out")
    labels, probabilities = fitted.predictor_.label(X)
    assert written.columns.tolist() == ["name", "kind", "confidence"]
    assert written["kind"].tolist() == labels.tolist()
    np.testing.assert_allclose(written["confidence"], probabilities.max(axis=1), atol=1e-6)
    assert (predicted.n_rows, predicted.n_checked) == (3_000, 100)
    assert predicted.n_right >= 95
    with pytest.raises(InputError, match="out"):
        fitted.predict(files, tmp_path / "out", client=client)


def test_a_dask_dataframe_gives_the_labels_of_its_files(client, tmp_path):
    X, y = mixture(3_000, seed=2)
    files = write(frame_of(X, few_of(y, 0.1)), tmp_path / "table", 3)
    cut = DistributedGraphCut(gamma_g=np.inf, C=10.0)
    options = {"label": "kind", "features": FEATURES, "client": client}
    first = cut.fit(files, work_dir=tmp_path / "a", **options).transduction_
    frame = dask.dataframe.read_parquet(files)
    second = cut.fit(frame, work_dir=tmp_path / "b", **options).transduction_
    pd.testing.assert_frame_equal(pd.read_parquet(first), pd.read_parquet(second))
    assert pd.read_parquet(first)["row"].tolist() == list(range(3_000))


def test_chosen_parameters_are_those_of_the_sample(client, tmp_path):
    X, y = mixture(1_000, seed=4)
    few = few_of(y, 0.2)
    files = write(frame_of(X, few), tmp_path / "table", 2)
    cut = DistributedGraphCut().fit(
        files, label="kind", id="name", work_dir=tmp_path / "work", client=client
    )
    choice = cut.choice_
    assert isinstance(choice, Choice)
    assert (cut.n_tried_labeled_, cut.n_tried_unlabeled_) == ((few != -1).sum(), (few == -1).sum())
    assert len({params["gamma_g"] for params in choice.trials.params}) == 5
    assert np.isclose(choice.weights.sum(), 1)
    assert 0 <= choice.error < 0.1
    single = MaxMarginGraphCut(random_state=0, class_mass_normalization=False).fit(X, few)
    assert [p["gamma_g"] for p in choice.trials.params] == [
        p["gamma_g"] for p in single.choice_.trials.params
    ]
    labels = pd.read_parquet(cut.transduction_)
    hidden = few == -1
    same = labels["kind"] == [f"k{code}" for code in single.transduction_]
    assert same[hidden].mean() > 0.98
    # Labels of rows without one are the machine's, as are their confidences.
    own, probabilities = cut.predictor_.label(X)
    assert (labels["kind"][hidden] == own[hidden]).all()
    confidence = probabilities.max(axis=1)[hidden]
    np.testing.assert_allclose(labels["confidence"][hidden], confidence, atol=1e-6)
    # The accuracy is that of the held-out labels of the sample, here of all labels.
    assert cut.accuracy_.n_held_out == single.accuracy_.n_held_out
    assert cut.accuracy_.accuracy == pytest.approx(single.accuracy_.accuracy, abs=0.03)
    shares = expected_confusion(probabilities[hidden]).sum(axis=1) / hidden.sum()
    np.testing.assert_allclose(cut.held_out_.class_shares, shares, atol=1e-6)
    sets = cut.to_local().predict_set(X, 0.9)
    assert sets[np.arange(len(X)), np.unique(y, return_inverse=True)[1]].mean() > 0.85


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_an_infinite_gamma_g_is_supervised_learning(client, tmp_path, kernel):
    X, y = mixture(2_000, seed=2)
    few = few_of(y, 0.1)
    files = write(frame_of(X, few), tmp_path / "table", 2)
    cut = DistributedGraphCut(kernel=kernel, gamma_g=np.inf, C=10.0)
    cut.fit(files, label="kind", id="name", work_dir=tmp_path / "work", client=client)
    labels = pd.read_parquet(cut.transduction_)
    assert cut.n_iter_ == 0
    single = MaxMarginGraphCut(kernel=kernel, gamma_g=np.inf, C=10.0, random_state=0).fit(X, few)
    same = labels["kind"] == [f"k{code}" for code in single.transduction_]
    assert same.mean() > 0.99
    assert cut.held_out_ is cut.accuracy_ is None
    assert (labels["confidence"][few != -1] == 1).all()
    assert (labels["confidence"] - single.confidence_).abs().mean() < 0.05


def test_class_weights_are_those_of_one_machine(client, tmp_path):
    X, y = mixture(1_500)
    few = few_of(y, share=0.2)
    files = write(frame_of(X, few), tmp_path / "table", 2)
    options = {"gamma_g": np.inf, "C": 0.01, "kernel": "linear"}
    found = []
    for weight in (None, {"k1": 50.0}):
        cut = DistributedGraphCut(**options, class_weight=weight)
        work = tmp_path / f"work{len(found)}"
        cut.fit(files, label="kind", id="name", work_dir=work, client=client)
        by_number = None if weight is None else {1: 50.0}
        single = MaxMarginGraphCut(**options, class_weight=by_number, random_state=0).fit(X, few)
        local = cut.to_local().predict(pd.DataFrame(X, columns=FEATURES))
        agreed = local == np.char.add("k", single.predict(X).astype(str))
        assert agreed.mean() > 0.99
        found.append((local == "k1").sum())
    assert found[1] > found[0]
    cut.set_params(class_weight={"k9": 2.0})
    with pytest.raises(InputError, match="class 'k9', which no label has"):
        cut.fit(files, label="kind", id="name", work_dir=tmp_path / "bad", client=client)


def test_rows_that_no_label_reaches_are_counted_and_labeled_by_the_machine(
    client, tmp_path, monkeypatch
):
    monkeypatch.setattr(pair_solver, "MAX_EPOCHS", 2)
    X, y = mixture(1_000, seed=2)
    island = np.arange(1_000) % 10 == 0
    X[island] += 1_000
    few = np.where(island, -1, few_of(y, 0.1))
    files = write(frame_of(X, few), tmp_path / "table", 2)
    cut = DistributedGraphCut(kernel="linear", gamma_g=0.01, C=100.0)
    options = {"label": "kind", "id": "name", "work_dir": tmp_path / "work", "client": client}
    for resume in (False, True):
        with pytest.warns() as caught:
            cut.fit(files, resume=resume, **options)
        # Each is given once, and points to the line that calls `fit`.
        assert [warning.category for warning in caught] == [UnreachedWarning, ConvergenceWarning]
        assert "rows are in components of the graph without a label" in str(caught[0].message)
        for warning in caught:
            assert warning.filename == __file__
            assert "cut.fit(files, resume=resume" in linecache.getline(__file__, warning.lineno)
    labels = pd.read_parquet(cut.transduction_)
    assert cut.n_unreached_ >= island.sum()
    probabilities = cut.predictor_.probabilities(X[island]).max(axis=1)
    np.testing.assert_allclose(labels["confidence"][island], probabilities, atol=1e-6)
    assert labels["kind"].notna().all()


def kill_workers(monkeypatch, when):
    """Kill a worker when tasks of a name are submitted for some times; return the names."""
    submit, times, killed = Cluster.submit, Counter(), []

    def submit_and_kill(self, name, *arguments):
        futures = submit(self, name, *arguments)
        times[name] += 1
        if times[name] in when.get(name, ()):
            os.kill(next(iter(self.client.run(os.getpid).values())), signal.SIGKILL)
            killed.append(name)
        return futures

    monkeypatch.setattr(Cluster, "submit", submit_and_kill)
    return killed


def assert_same_results(cut, other):
    """Compare the labels of all rows and the machine to the last bit."""
    one, two = Path(cut.transduction_), Path(other.transduction_)
    names = [path.name for path in sorted(one.glob("*.parquet"))]
    assert names == [path.name for path in sorted(two.glob("*.parquet"))]
    for name in names:
        assert (one / name).read_bytes() == (two / name).read_bytes()
    assert (one.parent / "machine.pack").read_bytes() == (two.parent / "machine.pack").read_bytes()


def test_killed_workers_change_no_result(mortal_cluster, files, fitted, tmp_path, monkeypatch):
    iterations = (harmonic_iteration.CHECKPOINT - 2, harmonic_iteration.CHECKPOINT + 3)
    when = {"neighbors": (1,), "harmonic-0.01 product": iterations, "descend": (5,)}
    killed = kill_workers(monkeypatch, when)
    cut = DistributedGraphCut(**FIXED).fit(
        files, label="kind", id="name", work_dir=tmp_path / "work", client=mortal_cluster.client
    )
    assert killed == ["neighbors", *["harmonic-0.01 product"] * 2, "descend"]
    assert cut.n_partitions_ == fitted.n_partitions_
    assert_same_results(cut, fitted)


SCRIPT = f"""
import sys
from graphmargin.distributed import DistributedGraphCut
from graphmargin.distributed.engine import memory_plan

memory_plan.MIN_ROWS = {ROWS_PER_PARTITION}
files, work, client = sys.argv[1:]
cut = DistributedGraphCut(gamma_g=0.01, C=10.0)
cut.fit(files, label="kind", id="name", work_dir=work, client=client)
"""


def test_a_run_whose_client_was_killed_goes_on_to_the_same_result(files, fitted, client, tmp_path):
    work = tmp_path / "work"
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(files), str(work), client.scheduler.address],
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + 120
        while not list((work / "graph").glob("*.done")):
            assert time.monotonic() < until
            assert process.poll() is None
            time.sleep(0.01)
    finally:
        process.kill()
        process.wait()
    done = {path: path.stat().st_mtime_ns for path in work.rglob("neighbors/*")}
    cut = DistributedGraphCut(**FIXED)
    options = {"label": "kind", "id": "name", "work_dir": work, "client": client}
    with pytest.raises(InputError, match="resume=True"):
        cut.fit(files, **options)
    cut.fit(files, resume=True, **options)
    assert_same_results(cut, fitted)
    assert done == {path: path.stat().st_mtime_ns for path in work.rglob("neighbors/*")}


def test_a_folder_among_the_data_is_refused(files, client):
    with pytest.raises(InputError, match=r"work is in .*, where it would be read as input"):
        DistributedGraphCut().fit(files, label="kind", work_dir=files / "work", client=client)
    assert not (files / "work").exists()


def test_a_finished_run_is_read_and_not_computed_again(files, fitted, client):
    work = Path(fitted.transduction_).parent
    again = DistributedGraphCut(**FIXED).fit(
        files, label="kind", id="name", work_dir=work, client=client, resume=True
    )
    new = pd.DataFrame(mixture(500, seed=6)[0], columns=FEATURES)
    assert again.to_local().predict(new).tolist() == fitted.to_local().predict(new).tolist()
    assert again.graph_recall_ == fitted.graph_recall_
    assert again.seconds_["neighbors"] < fitted.seconds_["neighbors"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "precomputed"}, "`kernel` must be one of 'rbf', 'linear', 'poly'"),
        ({"width": "wide"}, "`width` must be > 0, got 'wide'; use 'paper' or a positive number"),
        ({"n_neighbors": 0}, "`n_neighbors` must be an integer >= 1"),
        ({"random_state": None}, "`random_state` must be an integer >= 0"),
    ],
    ids=lambda value: "{}={}".format(*next(iter(value.items()))) if isinstance(value, dict) else "",
)
def test_parameters_are_checked_before_anything_is_read(tmp_path, parameters, message):
    with pytest.raises(ValueError, match=message):
        DistributedGraphCut(**parameters).fit("nowhere", label="y", work_dir=tmp_path / "work")
    assert not (tmp_path / "work").exists()


@pytest.mark.parametrize(
    ("label", "id", "message"),
    [
        ("confidence", "name", "two columns are named 'confidence'"),
        ("row", None, "two columns are named 'row'"),
        ("y", "y", "`label` and `id` are both 'y'"),
    ],
)
def test_names_of_the_result_are_checked_before_anything_is_read(tmp_path, label, id, message):
    with pytest.raises(InputError, match=message):
        DistributedGraphCut().fit("nowhere", label=label, id=id, work_dir=tmp_path / "work")


def test_fewer_rows_than_neighbors_are_refused(client, tmp_path):
    X, y = mixture(4)
    files = write(frame_of(X, y), tmp_path / "table", 1)
    with pytest.raises(InputError, match=r"n_neighbors=5 for 4 rows"):
        DistributedGraphCut().fit(files, label="kind", work_dir=tmp_path / "work", client=client)


def test_workers_with_too_little_memory_are_refused(files, tmp_path):
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            processes=False,
            memory_limit="300MiB",
            dashboard_address="localhost:0",
        ) as local,
        Client(local) as client,
        pytest.raises(
            ClusterError, match=r"300\.00 MiB of memory for 1 threads, but needs at least 578"
        ),
    ):
        DistributedGraphCut().fit(files, label="kind", work_dir=tmp_path / "w", client=client)
    assert not (tmp_path / "w").exists()
