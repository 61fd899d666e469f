"""Small matrices, curves and the plane of the lessons: what they are given is what they draw."""

import numpy as np
import pytest

from tests.figures.spec import array, overlay, spec
from viz.figures.curves import Curve, curves
from viz.figures.matrix import matrix_heatmap
from viz.figures.plane import plane

VALUES = np.array([[0.25, -1.5, 0.001], [120.0, 0.0, -0.004]])
TITLES = {"row_title": "rows", "column_title": "columns"}


def test_a_matrix_is_drawn_with_its_numbers_and_none_that_is_not_0_reads_as_0():
    drawn = spec(matrix_heatmap(VALUES, rows=["a", "b"], **TITLES))
    np.testing.assert_array_equal(array(drawn["data"][0]["z"]), VALUES.astype(np.float32))
    assert drawn["data"][0]["text"] == [["0.25", "−1.50", "<.01"], ["120", "0", ">−.01"]]
    assert drawn["layout"]["coloraxis"]["cmin"] == -drawn["layout"]["coloraxis"]["cmax"] == -120
    assert drawn["layout"]["xaxis"]["range"] == [-0.5, 2.5] and drawn["layout"]["yaxis"]["range"] == [1.5, -0.5]


def test_minus_infinity_is_a_sign_of_its_own_and_a_forbidden_cell_is_hatched():
    logits = np.array([[1.0, -np.inf], [np.nan, np.inf]])
    drawn = spec(matrix_heatmap(logits, rows=["a", "b"], allowed=np.array([[True, False], [True, True]]), **TITLES))
    assert np.isnan(array(drawn["data"][0]["z"])).tolist() == [[False, True], [True, True]]
    assert drawn["data"][1]["text"] == [["", "−∞"], ["NaN", "∞"]]
    assert overlay(drawn) and any(trace.get("name") == "not allowed" for trace in drawn["data"])


def test_weights_are_on_0_to_1_and_picked_cells_are_outlined():
    drawn = spec(
        matrix_heatmap(
            np.array([[0.2, 0.8]]), rows=["a"], columns=["a", "b"], kind="weights", picked=[(0, 1)], **TITLES
        )
    )
    assert (drawn["layout"]["coloraxis"]["cmin"], drawn["layout"]["coloraxis"]["cmax"]) == (0, 1)
    [ring] = drawn["layout"]["shapes"]
    assert (ring["x0"], ring["x1"], ring["y0"], ring["y1"]) == (0.5, 1.5, -0.5, 0.5)


def test_every_cell_can_be_clicked():
    drawn = spec(matrix_heatmap(VALUES, rows=["a", "a"], clickable=True, **TITLES))
    points = drawn["data"][1]
    assert points["customdata"] == [[row, column] for row in range(2) for column in range(3)]
    assert len(set(zip(points["x"], points["y"], strict=True))) == 6, "equal tokens have places of their own"


@pytest.mark.parametrize(
    ("values", "more", "error", "message"),
    [
        (np.zeros((0, 2)), {"rows": []}, ValueError, r"must be \(rows, columns\), neither of them 0: got \(0, 2\)"),
        (np.zeros((2, 2)), {"rows": ["a"]}, ValueError, "need one row token per row: got 1 tokens for 2"),
        (np.zeros((1, 2)), {"rows": None, "kind": "odd"}, ValueError, "kind must be one of signed, weights: got 'odd'"),
        (np.zeros((1, 2)), {"rows": None, "allowed": np.ones((1, 2))}, TypeError, "allowed must be bool"),
    ],
)
def test_faulty_matrices_are_refused(values, more, error, message):
    with pytest.raises(error, match=message):
        matrix_heatmap(values, **more, **TITLES)


def test_curves_hold_their_numbers_and_spread_and_leave_gaps():
    lines = [Curve("a", [1, 2, 4], [3.0, np.nan, 0.0], spread=[0.1, 0.2, 0.3]), Curve("t", [1, 2], [5, 6], theory=True)]
    drawn = spec(curves(lines, x_title="x", y_title="y", log_y=True, mark=2, ticks=[1, 2, 4]))
    measured, theory = drawn["data"]
    assert measured["x"] == [1, 2, 4] and measured["y"] == [3.0, None, None]
    assert measured["error_y"]["array"] == [0.1, 0.2, 0.3] and theory["y"] == [5, 6]
    assert theory["mode"] == "lines" and theory["line"]["dash"] == "dot"
    assert drawn["layout"]["shapes"][0]["x0"] == 2 and drawn["layout"]["yaxis"]["type"] == "log"
    assert curves(lines[1:], x_title="x", y_title="y", log_y=True, y_range=(0.1, 10)).layout.yaxis.range == (-1, 1)


@pytest.mark.parametrize(
    ("lines", "message"),
    [([], "need at least one line: got none"), ([Curve("a", [1, 2], [1])], r"'a' has \(2,\) and \(1,\)")],
)
def test_faulty_curves_are_refused(lines, message):
    with pytest.raises(ValueError, match=message):
        curves(lines, x_title="x", y_title="y")


def test_the_plane_shows_points_by_weight_and_the_arrow_inside():
    drawn = spec(
        plane([[1, 0], [0, -1]], names=["a<b>", "$c$"], arrow=[30, -4], arrow_name="q", x_title="x", y_title="y",
              sizes=[1.0, 0.0])
    )  # fmt: skip
    dots, shaft = drawn["data"]
    assert (dots["x"], dots["y"]) == ([1, 0], [0, -1]) and dots["text"] == ["a&lt;b&gt;", "&#36;c&#36;"]
    assert dots["marker"]["size"] == [44.0, 9.0]
    assert 2.1 < shaft["x"][1] < 2.2 and shaft["y"][1] == pytest.approx(shaft["x"][1] * -4 / 30)
    with pytest.raises(ValueError, match="need a name and a size per point"):
        plane([[1, 0]], names=["a", "b"], arrow=[1, 1], arrow_name="q", x_title="x", y_title="y")
