"""The figure of the head map: a colour per head on the right scale, a frame around the chosen one."""

import numpy as np
import pytest

from tests.figures.spec import array, notes, spec
from viz.figures import theme
from viz.figures.effects import head_effects

VALUES = np.array([[0.5, 0.0, 2.0], [0.25, np.nan, 1e-9]])


def drawn(**options) -> dict:
    return spec(head_effects(VALUES, name="KL, nats", **options))


def trace(figure: dict, layer: str) -> dict:
    return next(one for one in figure["data"] if (one.get("meta") or {}).get("layer") == layer)


def test_effects_are_coloured_from_zero_to_the_largest():
    figure = drawn()
    np.testing.assert_array_equal(array(trace(figure, "numbers")["z"]), VALUES.astype(np.float32))
    axis = figure["layout"]["coloraxis"]
    assert (axis["cmin"], axis["cmax"]) == (0.0, 2.0)
    assert [colour for _, colour in axis["colorscale"]] == list(theme.SEQUENTIAL)
    assert "KL, nats" in notes(figure)
    texts = trace(figure, "heads")["text"]
    assert len(texts) == 5 or len(texts) == 6
    assert texts[0] == "<b>Layer 0, head 0</b><br>KL, nats: 0.5"
    assert any("1e-09" in text for text in texts)  # small is not 0


def test_effects_that_go_both_ways_are_centred_on_zero():
    figure = spec(head_effects(np.array([[-0.5, 0.125]]), name="change", signed=True))
    axis = figure["layout"]["coloraxis"]
    assert (axis["cmin"], axis["cmax"]) == (-0.5, 0.5)
    assert [colour for _, colour in axis["colorscale"]] == list(theme.DIVERGING)


def test_the_chosen_head_has_a_frame_and_others_have_none():
    (frame,) = drawn(chosen=(1, 2))["layout"]["shapes"]
    assert [frame[side] for side in ("x0", "x1", "y0", "y1")] == [1.5, 2.5, 0.5, 1.5]
    assert not drawn()["layout"].get("shapes")


def test_points_name_their_place():
    figure = drawn(clickable=True, layers=[3, 7], revision="r1")
    points = trace(figure, "heads")
    places = [tuple(place) for place in array(points["customdata"]).tolist()]
    assert set(places) >= {(0, 0), (0, 1), (0, 2), (1, 0), (1, 2)}
    assert "Layer 7, head 2" in points["text"][places.index((1, 2))]
    assert figure["layout"]["meta"] == "r1"


def test_heads_without_any_effect_are_drawn_all_the_same():
    axis = spec(head_effects(np.zeros((2, 3)), name="KL"))["layout"]["coloraxis"]
    assert (axis["cmin"], axis["cmax"]) == (0.0, 1.0)
    with pytest.raises(ValueError, match=r"must be \(layers, heads\), neither of them 0: got \(3,\)"):
        head_effects(np.zeros(3), name="KL")
