"""Displays: the numbers that they compute, and their drawings."""

import sys

import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from sklearn.exceptions import NotFittedError

from graphmargin import HarmonicClassifier, MaxMarginGraphCut
from graphmargin.datasets import load_digits, make_lattices, mask_labels
from graphmargin.harmonic import harmonic_solution
from graphmargin.plotting import (
    ConfidenceDisplay,
    CutDisplay,
    GammaPathDisplay,
    HarmonicDisplay,
)
from graphmargin.plotting._matplotlib import (
    BAND_COLOR,
    CLASS_COLORS,
    NO_CLASS_COLOR,
    mix_with_white,
)

EPS = 0.002


@pytest.fixture(scope="module")
def lattice_cut():
    """Return a cut of the lattices that leaves out points in far corners, and its X."""
    X, y, _, W = make_lattices()
    model = MaxMarginGraphCut(kernel="linear", gamma_g=0.3, C=10.0, eps=EPS)
    return model.fit(X, y, W=W), X


@pytest.fixture(scope="module")
def digits_cut():
    """Return a cut with chosen parameters, and the true labels."""
    X, y = load_digits()
    few = mask_labels(y[:400], per_class=4, random_state=0)
    return MaxMarginGraphCut(random_state=0).fit(X[:400], few), y[:400]


def axes():
    return Figure().subplots()


def legend_texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


class TestCutDisplay:
    def test_grid_holds_what_the_estimator_predicts(self, lattice_cut):
        model, X = lattice_cut
        display = CutDisplay.from_estimator(model, X, resolution=11, margin=0.1)
        assert display.x1[[0, -1]] == pytest.approx([-12, 12])
        assert display.x2[[0, -1]] == pytest.approx([-5.4, 5.4])
        for row, column in ((0, 0), (10, 3), (4, 9)):
            point = [[display.x1[column], display.x2[row]]]
            assert display.classes[display.regions[row, column]] == model.predict(point)[0]

    def test_confidence_is_one_step_of_the_walk_further(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(60, 2)) + np.repeat([[0.0], [3.0]], 30, axis=0)
        y = np.full(60, -1)
        y[[0, 30]] = 0, 1
        model = MaxMarginGraphCut(gamma_g=0.2, C=1.0).fit(X, y)
        walk = HarmonicClassifier(gamma_g=0.2).fit(X, y)
        display = CutDisplay.from_estimator(model, X, resolution=9)
        grid = np.column_stack([axis.ravel() for axis in np.meshgrid(display.x1, display.x2)])
        P = walk.predict_proba(grid)
        assert display.confidence.ravel() == pytest.approx(np.abs(P[:, 1] - P[:, 0]), abs=1e-12)

    def test_points_that_were_left_out_are_hollow(self, lattice_cut):
        model, X = lattice_cut
        display = CutDisplay.from_estimator(model, X, resolution=20).plot(axes())
        assert 0 < model.training_mask_.sum() < len(X)
        for code, drawn in enumerate(display.points_):
            mine = display.codes == code
            assert np.array_equal(drawn.get_offsets(), X[mine])
            faces = drawn.get_facecolors()[:, :3]
            filled = model.training_mask_[mine]
            assert np.allclose(faces[filled], to_rgb(CLASS_COLORS[code]))
            assert np.allclose(faces[~filled], 1.0)
            assert to_hex(drawn.get_edgecolors()[0]) == CLASS_COLORS[code]

    def test_the_band_is_where_confidence_is_below_eps(self, lattice_cut):
        model, X = lattice_cut
        display = CutDisplay.from_estimator(model, X, resolution=40).plot(axes())
        assert display.band_.levels.tolist() == [-1.0, EPS]
        assert to_hex(display.band_.get_facecolors()[0]) == BAND_COLOR
        (inside,) = display.band_.get_paths()
        vertices = inside.vertices
        assert display.x1[0] <= vertices[:, 0].min() < vertices[:, 0].max() <= display.x1[-1]
        assert f"confidence < {EPS}" in legend_texts(display.ax_)

    def test_no_band_is_drawn_without_low_confidence(self, lattice_cut):
        model, X = lattice_cut
        display = CutDisplay.from_estimator(model, X, resolution=12)
        display.eps = 0.0
        display.plot(axes())
        assert display.band_ is None
        assert legend_texts(display.ax_) == ["0", "1", "given label"]

    def test_the_boundary_is_between_the_regions(self, lattice_cut):
        model, X = lattice_cut
        display = CutDisplay.from_estimator(model, X, resolution=60).plot(axes())
        (boundary,) = display.boundaries_
        (line,) = boundary.get_paths()
        step = display.x1[1] - display.x1[0]
        for x1, x2 in line.vertices[::7]:
            sides = model.predict([[x1 - step, x2], [x1 + step, x2]])
            assert set(sides) == {0, 1}

    def test_given_labels_have_a_ring(self, lattice_cut):
        model, X = lattice_cut
        display = CutDisplay.from_estimator(model, X, resolution=12).plot(axes())
        assert display.given_.get_offsets().tolist() == [[-5.0, 4.5], [5.0, -4.5]]

    def test_many_classes_have_a_boundary_each(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(90, 2)) + 8 * np.repeat([[0, 0], [1, 0], [0, 1]], 30, axis=0)
        y = np.full(90, "", dtype=object)
        y[[0, 30, 60]] = "a", "b", "c"
        model = MaxMarginGraphCut(gamma_g=0.1, C=1.0, n_neighbors=12).fit(X, y)
        display = CutDisplay.from_estimator(model, X, resolution=30).plot(axes())
        assert len(display.boundaries_) == 3
        colors = display.surface_.get_array().reshape(30, 30, 3)
        expected = mix_with_white(CLASS_COLORS[:3], np.full(3, 0.22))
        assert np.allclose(colors, expected[display.regions])

    def test_a_choice_among_lists_shows_its_heaviest_candidate(self, lattice_cut):
        _, X = lattice_cut
        _, _, y_true, W = make_lattices()
        few = mask_labels(y_true, per_class=4, random_state=0)
        model = MaxMarginGraphCut(gamma_g=[0.1, 10.0], C=1.0, kernel="linear", eps=0.01)
        display = CutDisplay.from_estimator(model.fit(X, few, W=W), X, resolution=10)
        assert np.array_equal(display.learned, model.training_mask_)
        best = MaxMarginGraphCut(gamma_g=model.choice_.best_params["gamma_g"], C=1.0, eps=0.01)
        expected = CutDisplay.from_estimator(best.fit(X, few, W=W), X, resolution=10)
        np.testing.assert_allclose(display.confidence, expected.confidence)

    def test_rows_with_more_than_two_features_are_refused(self, digits_cut):
        with pytest.raises(ValueError, match=r"`X` must have shape \(400, 2\).*got \(400, 64\)"):
            CutDisplay.from_estimator(digits_cut[0], np.zeros((400, 64)))

    def test_an_estimator_that_is_not_fitted_is_refused(self):
        with pytest.raises(NotFittedError):
            CutDisplay.from_estimator(MaxMarginGraphCut(), np.zeros((3, 2)))


class TestHarmonicDisplay:
    def test_edges_join_the_vertices_of_the_graph(self, path_graph):
        places = np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 1.0]])
        solution = harmonic_solution(path_graph(3), ["a", "", "b"])
        display = HarmonicDisplay.from_solution(solution, places).plot(axes())
        segments = [segment.tolist() for segment in display.edges_.get_segments()]
        assert segments == [places[:2].tolist(), places[1:].tolist()]

    def test_colors_fade_with_confidence(self, path_graph):
        # Masses at the second of four vertices are 2/3 and 1/3.
        solution = harmonic_solution(path_graph(4), ["a", "", "", "b"])
        places = np.arange(8.0).reshape(4, 2)
        display = HarmonicDisplay.from_solution(solution, places).plot(axes())
        first = display.vertices_[0]
        assert first.get_offsets().tolist() == places[:2].tolist()
        strength = [1.0, 0.15 + 0.85 / 3]
        assert first.get_facecolors()[:, :3] == pytest.approx(
            mix_with_white(CLASS_COLORS[:1] * 2, strength)
        )
        assert display.given_.get_offsets().tolist() == places[[0, 3]].tolist()

    def test_vertices_that_no_label_reaches_are_gray(self):
        W = np.kron(np.eye(2), [[0.0, 1.0], [1.0, 0.0]])
        solution = harmonic_solution(W, ["a", "b", "", ""])
        display = HarmonicDisplay.from_solution(solution, np.eye(4)[:, :2]).plot(axes())
        assert to_hex(display.vertices_[0].get_edgecolors()[0]) == NO_CLASS_COLOR
        assert len(display.vertices_[0].get_offsets()) == 2
        assert legend_texts(display.ax_) == ["no label", "a", "b", "given label"]

    def test_an_estimator_shows_its_solution(self, digits_cut):
        model, _ = digits_cut
        places = np.random.default_rng(0).random((400, 2))
        display = HarmonicDisplay.from_estimator(model, places)
        assert display.edges.shape == (model.graph_.nnz // 2, 2)
        assert np.array_equal(display.confidence, model.harmonic_solution_.confidence)

    def test_colors_repeat_with_another_marker(self):
        n = 14
        solution = harmonic_solution(np.ones((n, n)) - np.eye(n), [f"{i:02}" for i in range(n)])
        display = HarmonicDisplay.from_solution(solution, np.zeros((n, 2))).plot(axes())
        looks = {
            (to_hex(drawn.get_edgecolors()[0]), len(drawn.get_paths()[0].vertices))
            for drawn in display.vertices_
        }
        assert len(looks) == n

    def test_a_position_for_each_vertex_is_needed(self, path_graph):
        solution = harmonic_solution(path_graph(3), ["a", "", "b"])
        with pytest.raises(ValueError, match=r"`coordinates` must have shape \(3, 2\)"):
            HarmonicDisplay.from_solution(solution, np.zeros((2, 2)))


class TestGammaPathDisplay:
    def test_display_draws_the_path_of_the_estimator(self, digits_cut):
        model, _ = digits_cut
        path = model.gamma_g_path_
        display = GammaPathDisplay.from_estimator(model).plot(axes())
        for name, line in display.lines_.items():
            np.testing.assert_array_equal(line.get_ydata(), path[name])
        assert [bar.get_height() for bar in display.bars_] == path["weight"].tolist()
        ticks = [text.get_text() for text in display.ax_.get_xticklabels()]
        assert len(ticks) == len(path["gamma_g"])
        assert ticks[-1] == "supervised"

    def test_scores_that_are_unknown_leave_a_gap(self):
        display = GammaPathDisplay(
            gamma_g=np.array([0.1, np.inf]),
            fold_score=np.array([0.9, 0.8]),
            graph_score=np.array([0.7, np.nan]),
            confidence=np.array([0.5, 0.0]),
            weight=np.array([0.6, 0.4]),
        ).plot(axes())
        assert np.isnan(display.lines_["graph_score"].get_ydata()[1])
        assert len(legend_texts(display.ax_)) == 4

    def test_a_fixed_gamma_g_has_no_path(self, lattice_cut):
        with pytest.raises(ValueError, match="gamma_g='auto'"):
            GammaPathDisplay.from_estimator(lattice_cut[0])


class TestConfidenceDisplay:
    def test_unlabeled_rows_are_counted(self, digits_cut):
        model, _ = digits_cut
        display = ConfidenceDisplay.from_estimator(model).plot(axes(), bins=8)
        unlabeled = ~model.harmonic_solution_.problem.labels.labeled
        counts, _ = np.histogram(model.confidence_[unlabeled], 8, (0, 1))
        assert [bar.get_height() for bar in display.bars_] == counts.tolist()
        assert display.line_ is None

    def test_the_line_is_the_share_that_is_right(self):
        display = ConfidenceDisplay(
            confidence=np.array([0.1, 0.2, 0.9, 1.0]),
            right=np.array([False, True, True, True]),
        ).plot(axes(), bins=4)
        assert display.line_.get_xdata().tolist() == [0.125, 0.875]
        assert display.line_.get_ydata().tolist() == [0.5, 1.0]

    def test_true_labels_are_compared_with_the_predicted_ones(self, digits_cut):
        model, y = digits_cut
        display = ConfidenceDisplay.from_estimator(model, y)
        unlabeled = ~model.harmonic_solution_.problem.labels.labeled
        assert np.array_equal(display.right, (model.transduction_ == y)[unlabeled])

    def test_a_true_label_for_each_row_is_needed(self, digits_cut):
        with pytest.raises(ValueError, match=r"`y_true` must have shape \(400,\), got \(3,\)"):
            ConfidenceDisplay.from_estimator(digits_cut[0], [1, 2, 3])


def test_without_axes_pyplot_makes_them(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    from matplotlib import pyplot

    pyplot.switch_backend("agg")
    display = ConfidenceDisplay(confidence=np.array([0.5])).plot()
    assert display.figure_ is pyplot.gcf()
    assert display.ax_ is display.figure_.axes[0]
    pyplot.close(display.figure_)


def test_a_missing_matplotlib_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    display = ConfidenceDisplay(confidence=np.array([0.5]))
    with pytest.raises(ImportError, match=r"graphmargin\[plot\]"):
        display.plot()
