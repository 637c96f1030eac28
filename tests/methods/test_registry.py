"""The registry of methods: names, defaults, assumptions, and the candidates of "auto"."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from graphmargin.labels import EncodedLabels
from graphmargin.methods import (
    DEFAULT_MEMBERS,
    METHODS,
    default_members,
    member_names,
    named_member,
)
from graphmargin.search.member import Method, View
from graphmargin.search.parameters import HAT_LOSS_GRID, c_grid, gamma_g_grid, gamma_u_grid
from tests.search.problems import CLASSIFIERS, clusters, data_of, folds_of, member_of


def test_methods_with_a_kernel_have_a_linear_variant():
    assert member_names() == (
        *("cut", "linear-cut", "harmonic", "low-density", "linear-low-density"),
        *("manifold", "linear-manifold", "supervised", "linear-supervised"),
    )
    for name in member_names():
        member = named_member(name, data_of(*clusters()).labels)
        assert member.name == name
        assert isinstance(member.method, METHODS[name.removeprefix("linear-")])
        kernel = getattr(member.method, "kernel", None)
        kind = "linear" if name.startswith("linear-") else "rbf"
        assert kernel is None or kernel.kernel.kind == kind


@pytest.mark.parametrize("name", ["linear-harmonic", "Cut", "svm", ""])
def test_unknown_names_are_refused(name):
    with pytest.raises(
        ValueError, match="`members` must be one of 'cut', 'linear-cut', 'harmonic'"
    ):
        named_member(name, data_of(*clusters()).labels)


def names_of_default_members(n_rows, per_class=2, **options):
    codes = np.full(n_rows, -1)
    codes[: 2 * per_class] = np.arange(2 * per_class) % 2
    views = View("one unit"), View("standardized", np.ones(64))
    labels = EncodedLabels(np.array(["a", "b"]), codes)
    members = default_members(labels, 64, views, **options)
    assert all(member.view is views[0] for member in members[: len(DEFAULT_MEMBERS) - 1])
    assert all(m.prior == 0.5 and m.method.is_coarse for m in members if m.view is views[1])
    return tuple(member.name for member in members)


def test_default_members_keep_rows_and_try_other_scales_in_small_tables_alone():
    assert names_of_default_members(2**18) == (*DEFAULT_MEMBERS, "cut-standardized")
    fewer = tuple(name for name in DEFAULT_MEMBERS if name != "harmonic")
    assert names_of_default_members(2**18 + 1) == fewer
    assert set(DEFAULT_MEMBERS) <= set(member_names())


def test_other_scales_need_labels_that_can_be_held_out():
    assert names_of_default_members(9, per_class=1) == DEFAULT_MEMBERS


def test_a_given_graph_has_no_harmonic_member():
    names = names_of_default_members(9, has_graph=True)
    assert "harmonic" not in names
    assert names[0] == "cut"


def test_every_method_states_its_assumption():
    labels = data_of(*clusters()).labels
    assumptions = {name: named_member(name, labels).method.assumption for name in member_names()}
    for name, text in assumptions.items():
        assert text
        assert not text.endswith(".")
        assert name.startswith("linear-") == (text == "classes are separated by a plane")
    assert assumptions["cut"] == assumptions["harmonic"] == "classes follow clusters"


def test_every_classifier_is_a_method_of_the_registry():
    data = data_of(*clusters())
    assert set(CLASSIFIERS) == set(METHODS)
    for name, method in METHODS.items():
        assert issubclass(method, Method)
        assert type(member_of(name, data).method) is method


def test_auto_means_the_grids():
    X, y = clusters(n_labeled=2)
    data = data_of(X, y, folds_of(y))
    auto = {"C": "auto", "gamma_g": "auto", "gamma_u": "auto", "class_mass_normalization": "auto"}

    def candidates(name, data=data, **changed):
        defaults = CLASSIFIERS[name].get_params()
        parameters = {key: value for key, value in {**auto, **changed}.items() if key in defaults}
        method = member_of(name, data, **parameters).method
        return [tuple(candidate.values()) for candidate in method.candidates(data)]

    cut = member_of("cut", data).method
    gammas = gamma_g_grid(data.problem(cut.walk).W)
    costs = c_grid(X, data.kernel(cut.kernel))
    shares = [False, (3, 3)]
    assert candidates("harmonic") == list(product(gammas[1:], shares)), "finite values"
    assert candidates("cut") == [
        (gamma_g, C, share)
        for gamma_g, C, share in product(gammas, costs, shares)
        if np.isfinite(gamma_g) or share is False
    ]
    assert candidates("cut", C=3.7, class_mass_normalization=[1.0, 3.0]) == [
        (gamma_g, 3.7, (1.0, 3.0)) for gamma_g in gammas
    ]
    assert candidates("supervised") == [(C,) for C in costs]
    assert candidates("manifold") == list(product(gamma_u_grid(60), costs))
    assert candidates("manifold", C=10.0) == list(product(gamma_u_grid(60), [10.0]))
    assert candidates("low-density") == list(product(HAT_LOSS_GRID, costs))
    for name in METHODS:
        defaults = candidates(name)
        method = named_member(name, data.labels).method
        assert [tuple(c.values()) for c in method.candidates(data)] == defaults, "of an ensemble"


def test_class_shares_of_fixed_parameters_are_not_chosen():
    data = data_of(*clusters(n_labeled=2))
    fixed = {"gamma_g": 0.1, "class_mass_normalization": "auto"}
    for name, expected in (("harmonic", [(0.1, False)]), ("cut", [(0.1, 5.0, False)])):
        method = member_of(name, data, **fixed).method
        assert [tuple(c.values()) for c in method.candidates(data)] == expected


def test_a_coarse_grid_has_the_middle_c_and_every_other_gamma_g():
    data = data_of(*clusters())
    cut = named_member("cut", data.labels).method
    full, coarse = (m.candidates(data) for m in (cut, replace(cut, is_coarse=True)))
    gammas, Cs = ([c[name] for c in full] for name in ("gamma_g", "C"))
    assert {c["C"] for c in coarse} == {sorted(set(Cs))[1]}
    assert {c["gamma_g"] for c in coarse} == set(sorted(set(gammas))[::2])
