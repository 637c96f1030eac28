import copy
import json
import pickle

import pytest
import skops.io
from sklearn.svm import SVC

from graphmargin.models import ModelFileError, load_model, model_info
from graphmargin.models.allowlist import PLAIN, allowed_in, strangers


def node(loader, name, **parts):
    module, _, short = name.rpartition(".")
    return {"__loader__": loader, "__module__": module, "__class__": short, **parts}


def plain(value):
    return node("JsonNode", "builtins.str", content=json.dumps(value), is_json=True)


def sequence(loader, name, *parts):
    return node(loader, name, content=list(parts))


def mapping(name="builtins.dict", key_type="builtins.str", **parts):
    keys = sequence("ListNode", "builtins.list", *[node("TypeNode", key_type) for _ in parts])
    return node("DictNode", name, content=parts, key_types=keys)


def touch(canary):
    """Return the arguments of a process that leaves a trace."""
    command = sequence("ListNode", "builtins.list", plain("touch"), plain(str(canary)))
    return sequence("TupleNode", "builtins.tuple", command)


def process(canary):
    return node("ConstructorFromReduceNode", "subprocess.Popen", content=touch(canary))


def write(canary):
    return f"open({str(canary)!r}, 'w').close()"


CANARY = "THE-CANARY"
"""Stands for the path of a file that no payload may create."""
ATTACKS = {
    "os.system": node("FunctionNode", "os.system"),
    "posix.system": node("FunctionNode", "posix.system"),
    "builtins.eval": node("FunctionNode", "builtins.eval"),
    "numpy._core._multiarray_umath.add": node("FunctionNode", "numpy._core._multiarray_umath.add"),
    "functools.partial": node(
        "PartialNode",
        "functools.partial",
        content={
            "func": node("FunctionNode", "os.system"),
            "args": sequence("TupleNode", "builtins.tuple", plain(f"touch {CANARY}")),
            "kwds": mapping(),
            "namespace": mapping(),
        },
    ),
    "graphmargin.margin.kernels.Kernel": node(
        "MethodNode",
        "graphmargin.margin.kernels.Kernel",
        content={
            "func": "diagonal",
            "obj": node("ObjectNode", "graphmargin.margin.kernels.Kernel"),
        },
    ),
    "operator.methodcaller": node(
        "OperatorFuncNode",
        "operator.methodcaller",
        attrs=sequence("TupleNode", "builtins.tuple", plain("touch")),
    ),
    "subprocess.Popen": process(CANARY),
    "os.popen": sequence("ListNode", "os.popen", plain(f"touch {CANARY}")),
    "builtins.exec": mapping(key_type="builtins.exec", **{write(CANARY): plain(1)}),
    "shutil.rmtree": node("NdArrayNode", "shutil.rmtree", type="json", content=[]),
    "builtins.map": node("TypeNode", "builtins.map"),
    "numpy.random.mtrand.RandomState": node(
        "RandomStateNode", "numpy.random.mtrand.RandomState", content=mapping()
    ),
    "sklearn.svm._classes.SVC": node("ObjectNode", "sklearn.svm._classes.SVC"),
    "sklearn.tree._tree.Tree": node("TreeNode", "sklearn.tree._tree.Tree"),
    "graphmargin.margin.kernels.np": node("ObjectNode", "graphmargin.margin.kernels.np"),
    "graphmargin.estimators.base.PartlyLabeledClassifier": node(
        "ObjectNode", "graphmargin.estimators.base.PartlyLabeledClassifier"
    ),
    "graphmargin.estimators.supervised_svc.SupervisedSVC.mro": node(
        "ObjectNode", "graphmargin.estimators.supervised_svc.SupervisedSVC.mro"
    ),
    "None.None": {"__loader__": "CachedNode", "__id__": 1},
}


class Evil:
    """Runs a process when it is unpickled."""

    def __init__(self, canary):
        self.canary = canary

    def __reduce__(self):
        return eval, (write(self.canary),)


@pytest.fixture
def canary(tmp_path):
    return tmp_path / "canary"


def as_parameter(payload):
    def edit(objects):
        objects["content"]["content"]["kernel"] = payload

    return edit


def as_model(payload):
    def edit(objects):
        return {**payload, "protocol": objects["protocol"], "_skops_version": "0.16.0"}

    return edit


def as_hidden_part(payload):
    """Replace an attribute by a node that claims to be one that is known already."""

    def edit(objects):
        attributes = objects["content"]["content"]
        attributes["width"] = {**payload, "__id__": attributes["C"]["__id__"]}

    return edit


@pytest.mark.parametrize("place", [as_parameter, as_model, as_hidden_part])
@pytest.mark.parametrize("kind", ["SupervisedSVC", "MaxMarginGraphCut"])
@pytest.mark.parametrize("name", ATTACKS)
def test_a_type_that_models_are_not_made_of_is_refused(name, kind, place, saved, forge, canary):
    payload = json.loads(json.dumps(ATTACKS[name]).replace(CANARY, str(canary)))
    forge(saved, place(payload), kind=kind)
    with pytest.raises(ModelFileError, match=r"model.skops names .*do not trust it$") as caught:
        load_model(saved)
    assert name in str(caught.value) or "os.system" in str(caught.value)  # part of the partial
    assert "\n" not in str(caught.value)
    assert not canary.exists()


def test_the_payload_is_alive(saved, forge, canary):
    """Whoever trusts the type runs it: it is the list that stands in between."""
    forge(saved, as_model(process(canary)))
    skops.io.loads(saved.read_bytes(), trusted=["subprocess.Popen"]).wait()
    assert canary.exists()


def test_what_skops_trusts_is_not_trusted_here(saved, forge):
    dump = skops.io.dumps(SVC())
    assert skops.io.get_untrusted_types(data=dump) == []
    forge(saved, as_model(node("ObjectNode", "sklearn.svm._classes.SVC", content=mapping())))
    with pytest.raises(ModelFileError, match=r"names 'sklearn\.svm\._classes\.SVC'"):
        load_model(saved)


def test_pickle_is_no_model_file(tmp_path, canary):
    path = tmp_path / "model.skops"
    path.write_bytes(pickle.dumps(Evil(canary)))
    for read in (load_model, model_info):
        with pytest.raises(ModelFileError, match="is no model file"):
            read(path)
    assert not canary.exists()


def test_pickle_in_the_place_of_an_array(saved, forge, entries_of, canary):
    array = next(name for name in entries_of(saved) if name.endswith(".npy"))
    forge(saved, entries={array: pickle.dumps(Evil(canary))})
    with pytest.raises(ModelFileError, match="is no model file"):
        load_model(saved)
    assert not canary.exists()


def test_description_is_read_without_making_anything(saved, forge, canary):
    forge(saved, as_model(process(canary)))
    assert model_info(saved).kind == "SupervisedSVC"
    assert not canary.exists()


def test_unknown_protocol(saved, forge):
    def edit(objects):
        objects["protocol"] = "1"

    forge(saved, edit)
    with pytest.raises(ModelFileError, match="protocol"):
        load_model(saved)


def test_strangers_are_found_anywhere_with_their_place():
    function = node("FunctionNode", "os.system")
    tree = node(
        "ObjectNode",
        "graphmargin.margin.kernels.Kernel",
        content=mapping(kind=function, width=mapping(a=copy.deepcopy(function))),
    )
    found = sorted(strangers(tree, allowed_in("SupervisedSVC")))
    assert [one.place for one in found] == ["kind", "width.a"]
    assert {one.name for one in found} == {"os.system"}
    assert [one.name for one in strangers({"__loader__": {"a": []}}, PLAIN)] == ["None.None"]
