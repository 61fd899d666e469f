"""A figure for a large screen: every length grows by the factor, no number changes."""

import numpy as np
import pytest

from tests.figures.spec import spec
from viz.figures.curves import Curve, curves
from viz.figures.enlarge import enlarged
from viz.figures.matrix import matrix_heatmap
from viz.figures.words import FigureWords

WEIGHTS = np.array([[0.25, 0.75, 0.0], [0.5, 0.125, 0.375]], np.float32)


def heatmap():
    return matrix_heatmap(
        WEIGHTS, rows=["a", "b"], columns=["c", "d", "e"], row_title="r", column_title="c", kind="weights",
        picked=[(1, 2)], title="T", words=FigureWords(),
    )  # fmt: skip


def lines():
    return curves([Curve("m", [2, 3, 5], [7, 11, 13], spread=[1, 1, 1])], x_title="x", y_title="y", ticks=[2, 3, 5])


@pytest.mark.parametrize("figure", [heatmap, lines])
def test_lengths_grow_and_data_stay(figure):
    before, after = spec(figure()), spec(enlarged(figure(), 1.5))
    layout, grown = before["layout"], after["layout"]
    assert grown["height"] == pytest.approx(1.5 * layout["height"])
    for side in "lrtb":
        assert grown["margin"][side] == pytest.approx(1.5 * layout["margin"][side])
    assert grown["font"]["size"] == pytest.approx(1.5 * layout["font"]["size"])
    assert grown["xaxis"]["title"]["standoff"] == pytest.approx(1.5 * layout["xaxis"]["title"]["standoff"])
    assert grown["xaxis"]["tickfont"]["size"] == pytest.approx(1.5 * layout["xaxis"]["tickfont"]["size"])
    for name in ("tickvals", "ticktext", "range"):
        assert grown["xaxis"].get(name) == layout["xaxis"].get(name)
    for old, new in zip(before["data"], after["data"], strict=True):
        for name in ("x", "y", "z", "text", "customdata", "hovertemplate", "zmin", "zmax"):
            assert new.get(name) == old.get(name)


def test_signs_and_bars_grow_too():
    old, new = (spec(figure)["data"][0] for figure in (lines(), enlarged(lines(), 2)))
    assert new["marker"]["size"] == 2 * old["marker"]["size"]
    assert new["line"]["width"] == 2 * old["line"]["width"]
    assert new["error_y"]["thickness"] == 2 * old["error_y"]["thickness"]
    assert new["error_y"]["array"] == old["error_y"]["array"]


def test_the_figure_itself_is_left_as_it_is():
    figure = heatmap()
    before = spec(figure)
    enlarged(figure, 3)
    assert spec(figure) == before


def test_factor_one_changes_nothing():
    assert spec(enlarged(lines(), 1)) == spec(lines())


def test_letters_inside_a_title_grow():
    figure = lines()
    figure.layout.title.text = 'a<br><span style="font-size:11.5px;opacity:0.8">b</span>'
    assert "font-size:23px" in spec(enlarged(figure, 2))["layout"]["title"]["text"]


@pytest.mark.parametrize("factor", [0, -1, float("nan")])
def test_a_factor_is_positive(factor):
    with pytest.raises(ValueError, match="grows by a positive factor: got"):
        enlarged(lines(), factor)
