"""Figures below each other: every trace, axis, legend, line and title goes where its panel went."""

import numpy as np
import pytest

from viz.figures import entropy_and_top_weight, saturation_per_head, stacked, variance_per_head

HEADS = np.array([0.2, 0.5, 0.7])


def panels():
    first = variance_per_head(HEADS * 100, HEADS * 90, HEADS, HEADS * 0.9, scaled_on=False)
    second = entropy_and_top_weight(HEADS, 1 - HEADS)
    third = saturation_per_head(HEADS)
    return first, second, third


def test_nothing_is_lost_and_each_panel_has_its_own_axes():
    parts = panels()
    whole = stacked(parts)
    assert len(whole.data) == sum(len(part.data) for part in parts)
    assert whole.layout.height == sum(part.layout.height for part in parts)
    traces = iter(whole.data)
    for number, part in enumerate(parts, start=1):
        name = "" if number == 1 else str(number)
        for trace in part.data:
            moved = next(traces)
            assert (moved.xaxis, moved.yaxis, moved.legend) == (f"x{name}", f"y{name}", f"legend{name}")
            np.testing.assert_array_equal(np.asarray(moved.y, float), np.asarray(trace.y, float))
        own = part.layout.yaxis.title.text
        assert whole.layout[f"yaxis{name}"].title.text == own


def test_panels_keep_their_pixels():
    parts = panels()
    whole = stacked(parts)
    paper = whole.layout.height - whole.layout.margin.t - whole.layout.margin.b
    above = 0
    for number, part in enumerate(parts, start=1):
        low, high = whole.layout[f"yaxis{'' if number == 1 else number}"].domain
        inner = part.layout.height - part.layout.margin.t - part.layout.margin.b
        assert (high - low) * paper == pytest.approx(inner)
        assert whole.layout.margin.t + (1 - high) * paper == pytest.approx(above + part.layout.margin.t)
        above += part.layout.height


def test_lines_names_and_titles_move_with_their_panel():
    first, second, _ = panels()
    whole = stacked([second, first])
    assert [shape.yref for shape in whole.layout.shapes] == ["y2"] * len(first.layout.shapes)
    texts = [note.text for note in whole.layout.annotations]
    assert first.layout.annotations[0].text in texts  # the name of the line of variance 1
    assert first.layout.title.text in texts  # what scaling off does, as a title
    line = whole.layout.annotations[texts.index(first.layout.annotations[0].text)]
    assert line.yref == "y2"


def test_no_figure_is_refused():
    with pytest.raises(ValueError, match="at least one figure to stack: got none"):
        stacked([])
