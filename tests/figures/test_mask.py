"""Pictures of masks: what is drawn is the mask, cell by cell, and every mark stands where it belongs."""

import numpy as np
import pytest

from tests.figures.spec import array, notes, overlay, spec
from viz.figures import theme
from viz.figures.mask import MaskWords, mask_figure, reach_figure

ALLOWED = np.tril(np.ones((5, 7), bool), k=2)


def layer(drawn: dict, name: str) -> dict:
    [found] = [trace for trace in drawn["data"] if (trace.get("meta") or {}).get("layer") == name]
    return found


def legend(drawn: dict) -> list[str]:
    return [trace["name"] for trace in drawn["data"] if trace.get("showlegend") and "name" in trace]


def test_the_map_is_the_mask_with_row_0_at_the_top() -> None:
    drawn = spec(mask_figure(ALLOWED, revision="r1"))
    z = array(drawn["data"][0]["z"])
    np.testing.assert_array_equal(z, ALLOWED.astype(np.uint8))
    assert drawn["data"][0]["colorscale"][1][1] == theme.ACCENT
    assert (drawn["data"][0]["zmin"], drawn["data"][0]["zmax"]) == (0, 1)
    assert drawn["layout"]["yaxis"]["range"] == [4.5, -0.5] and drawn["layout"]["xaxis"]["range"] == [-0.5, 6.5]
    assert drawn["layout"]["yaxis"]["title"]["text"] == "rows: queries"
    assert drawn["layout"]["xaxis"]["title"]["text"] == "columns: keys"
    assert drawn["layout"]["yaxis"]["categoryarray"] == ["0", "1", "2", "3", "4"]
    assert drawn["layout"]["meta"] == "r1"
    assert legend(drawn) == ["may attend", "blocked"]


def test_the_hatch_lies_on_blocked_cells() -> None:
    svg = overlay(spec(mask_figure(np.array([[True, False], [True, True]]))))
    assert "M1 0h1v1h-1z" in svg and "url(#forbidden)" in svg
    assert overlay(spec(mask_figure(np.ones((2, 2), bool)))) == ""


def test_painted_cells_carry_a_ring() -> None:
    painted = np.zeros((5, 7), bool)
    painted[0, 6] = painted[4, 1] = True
    drawn = spec(mask_figure(ALLOWED, painted=painted, padded_keys=[False] * 6 + [True]))
    rings = layer(drawn, "painted")
    assert rings["y"] == ["0", "4"] and rings["x"] == ['<span style="opacity:0.5">6</span>', "1"]
    assert set(rings["x"]) <= set(drawn["layout"]["xaxis"]["categoryarray"])  # else the ring would lie elsewhere
    assert legend(drawn) == ["flipped by hand", "may attend", "blocked", "padding"]


def test_every_cell_can_be_clicked() -> None:
    drawn = spec(mask_figure(ALLOWED, clickable=True, padded_queries=[False] * 4 + [True]))
    cells = layer(drawn, "cells")
    assert [tuple(cell) for cell in cells["customdata"]] == [(q, k) for q in range(5) for k in range(7)]
    for (query, key), x, y in zip(cells["customdata"], cells["x"], cells["y"], strict=True):
        assert drawn["layout"]["xaxis"]["categoryarray"][key] == x
        assert drawn["layout"]["yaxis"]["categoryarray"][query] == y
    assert cells["marker"]["opacity"] == 0 and cells["unselected"]["marker"]["opacity"] == 0
    assert drawn["data"][0]["hoverinfo"] == "skip" and "click to flip" in cells["hovertemplate"]
    assert not [trace for trace in spec(mask_figure(ALLOWED))["data"] if trace["type"] == "scatter"]


def test_hover_says_why() -> None:
    reasons = [["", "a <b>"], ["x", ""]]
    mask = np.array([[True, False], [True, False]])
    painted = np.array([[True, False], [False, True]])
    for clickable in (False, True):
        drawn = spec(mask_figure(mask, reasons=reasons, painted=painted, clickable=clickable))
        rows = [layer(drawn, "cells")["hovertext"]] if clickable else drawn["data"][0]["hovertext"]
        texts = [text for row in rows for text in row]
        assert texts == [
            "may attend<br>flipped by hand",
            "blocked by: a &lt;b&gt;",
            "may attend",
            "blocked<br>flipped by hand",
        ]


def test_padding_is_striped_and_dimmed() -> None:
    drawn = spec(mask_figure(ALLOWED, padded_keys=[False] * 5 + [True] * 2, padded_queries=[True] + [False] * 4))
    assert "url(#padding)" in overlay(drawn)
    assert drawn["layout"]["xaxis"]["categoryarray"][5:] == [f'<span style="opacity:0.5">{i}</span>' for i in (5, 6)]
    assert drawn["layout"]["yaxis"]["categoryarray"][:2] == ['<span style="opacity:0.5">0</span>', "1"]


@pytest.mark.parametrize(("size", "widest"), [(3, 300), (8, 460), (64, 620)])
def test_cells_are_square_and_the_figure_as_wide_as_they_need(size: int, widest: int) -> None:
    drawn = spec(mask_figure(np.ones((size, size), bool), width=620))
    layout = drawn["layout"]
    assert layout["width"] <= widest
    if size > 3:  # a smaller one is as wide as its legend
        across = (layout["width"] - layout["margin"]["l"] - layout["margin"]["r"]) / size
        down = (layout["height"] - layout["margin"]["t"] - layout["margin"]["b"]) / size
        assert abs(across - down) < 0.2  # whole pixels of the figure
    assert ("one label in 2 shown" in notes(drawn)) == (size == 64)
    assert drawn["data"][0]["xgap"] == (1 if size < 64 else 0)


def test_reach_shows_layers_needed_up_to_those_there_are() -> None:
    first = np.array([[0, -1, -1], [1, 0, -1], [2, 1, 0]])
    drawn = spec(reach_figure(first, layers=1))
    z = array(drawn["data"][0]["z"])
    np.testing.assert_array_equal(np.isnan(z), [[False, True, True], [False, False, True], [True, False, False]])
    assert z[1, 0] == 1 and z[2, 2] == 0 and drawn["data"][0]["zmax"] == 2
    assert [list(row) for row in drawn["data"][0]["hovertext"]][2] == ["not yet reached", "layers needed: 1", "itself"]
    assert legend(drawn) == ["never reached", "not yet reached"]
    later = array(drawn["data"][1]["z"])
    assert later[2, 0] == 1 and np.isnan(later).sum() == 8
    assert "M1 0h2v1h-2z" in overlay(drawn)
    assert legend(spec(reach_figure(first, layers=2))) == ["never reached"]


def test_words_of_another_language() -> None:
    words = MaskWords(rows="行", columns="列", allowed="可", blocked="禁", blocked_by="因 {parts}", thinned="每 {step}")
    drawn = spec(mask_figure(ALLOWED, reasons=np.full((5, 7), "x"), words=words))
    assert drawn["layout"]["yaxis"]["title"]["text"] == "行" and legend(drawn) == ["可", "禁"]
    assert drawn["data"][0]["hovertext"][0][6] == "因 x"


def test_errors() -> None:
    with pytest.raises(TypeError, match="allowed must be bool, True = may attend: got int64"):
        mask_figure(np.ones((2, 2), np.int64))
    with pytest.raises(ValueError, match=r"\(q_len, k_len\), neither of them 0: got \(1, 2, 2\); choose one sample"):
        mask_figure(np.ones((1, 2, 2), bool))
    with pytest.raises(ValueError, match=r"one reason per cell \(2, 2\): got \(1, 2\)"):
        mask_figure(np.ones((2, 2), bool), reasons=[["", ""]])
    with pytest.raises(ValueError, match=r"painted must broadcast to \(2, 2\)"):
        mask_figure(np.ones((2, 2), bool), painted=np.ones((3, 2), bool))
    with pytest.raises(ValueError, match=r"padded_keys must be one bool per token \(2\)"):
        mask_figure(np.ones((2, 2), bool), padded_keys=[True])
    with pytest.raises(ValueError, match=r"first must be \(len, len\): got \(2, 3\)"):
        reach_figure(np.zeros((2, 3), int), layers=1)
