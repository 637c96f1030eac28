"""A small model in a file, and the tools to change it."""

import io
import json
import zipfile

import numpy as np
import pytest
from scipy import sparse

from graphmargin import SupervisedSVC
from graphmargin.models import save_model
from graphmargin.models.archive import DESCRIPTION, OBJECTS, pack


@pytest.fixture(scope="session")
def data():
    """Return rows around a center for each of three classes, and a few labels."""
    rng = np.random.default_rng(0)
    codes = np.arange(60) % 3
    X = 3 * rng.normal(size=(3, 4))[codes] + rng.normal(size=(60, 4))
    return X, np.where(np.arange(60) < 12, codes, -1)


@pytest.fixture
def saved(tmp_path, data):
    """Return the file of a small model."""
    path = tmp_path / "model.skops"
    save_model(SupervisedSVC().fit(*data), path)
    return path


@pytest.fixture(scope="session")
def entries_of():
    """Return the contents of an archive by name."""

    def read(path):
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}

    return read


@pytest.fixture(scope="session")
def as_archive():
    """Return an archive of contents by name."""

    def write(entries):
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            for name, content in entries.items():
                archive.writestr(name, content)
        return stream.getvalue()

    return write


@pytest.fixture
def forge(entries_of, as_archive):
    """Change the tree of objects of a file and compute its digest again."""

    def change(path, edit=None, *, kind=None, entries=None):
        found = {**entries_of(path), **(entries or {})}
        description = json.loads(found.pop(DESCRIPTION))
        del description["digest"]
        if kind is not None:
            description["kind"] = kind
        objects = json.loads(found[OBJECTS])
        if edit is not None:
            objects = edit(objects) or objects
        found[OBJECTS] = json.dumps(objects).encode()
        path.write_bytes(pack(as_archive(found), description))
        return path

    return change


@pytest.fixture(params=["dense", "single", "csr_array", "csr_matrix"])
def as_input(request):
    """Return rows in each form that classifiers take."""
    forms = {
        "dense": np.asarray,
        "single": lambda X: X.astype(np.float32),
        "csr_array": sparse.csr_array,
        "csr_matrix": sparse.csr_matrix,
    }
    return forms[request.param]
