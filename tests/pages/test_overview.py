"""The overview on the explore page: every head, ranked and filtered, and one click away."""

import numpy as np
import pytest

from attention_core.pretrained import Model
from tests.pages.test_explore import array, choose, control, figures, visit
from viz.services import overview as service
from viz.services.attention import ModelRequest

pytestmark = pytest.mark.usefixtures("minilm_folder")

TEXT = "the cat sat on the mat, and the cat sat still"


def buttons(app) -> dict[str, str]:
    return {button.key: button.label for button in app.button if button.key.startswith("explore_overview_top_")}


def points(app) -> dict:
    drawn = figures(app)["overview"]
    return next(trace for trace in drawn["data"] if (trace.get("meta") or {}).get("layer") == "heads")


def test_every_head_is_a_point_in_one_picture_and_the_chosen_one_is_drawn_below(minilm: Model):
    app = visit(view="overview", text=TEXT, layer="2", head="9")
    assert not app.exception
    drawn = figures(app)
    assert set(drawn) == {"overview", "head"}
    found = array(points(app)["customdata"])
    assert {tuple(place) for place in found.tolist()} == {(row, head) for row in range(6) for head in range(12)}
    run = minilm.run(TEXT)
    weights = run.trace(run.calls[2]).weights
    assert weights is not None
    np.testing.assert_array_equal(array(drawn["head"]["data"][0]["z"]), weights[0, 9].numpy())
    assert any(header.value == "Layer 2, head 9" for header in app.header)
    assert "Layer 2, head 9" in points(app)["text"][2 * 12 + 9]


def test_the_highest_scores_are_named_in_words_and_open_their_head(minilm: Model):
    app = visit(view="overview", text=TEXT, pattern="same-word")
    shown = service.overview(ModelRequest(minilm.name, (TEXT,)), "encoder", 0)
    best = service.ranked(shown, "same-word")[0]
    assert buttons(app)["explore_overview_top_0"] == (
        f"layer {best.layer} head {best.head}: same word {best.value:.2f}"
    )
    assert len(buttons(app)) == 8
    next(button for button in app.button if button.key == "explore_overview_top_0").click()
    app.run()
    assert (control(app, "layer").value, control(app, "head").value) == (best.layer, best.head)
    assert app.query_params.get("head") in (None, [str(best.head)], str(best.head))


def test_a_filter_veils_heads_and_says_how_many_reach_it(minilm: Model):
    app = visit(view="overview", text=TEXT, pattern="previous", pattern_least="0.5")
    shown = service.overview(ModelRequest(minilm.name, (TEXT,)), "encoder", 0)
    reach = int((shown.numbers["previous"] >= 0.5).sum())
    assert 0 < reach < 8 and len(buttons(app)) == reach
    assert any(f"{reach} of 72 heads reach 0.50" in caption.value for caption in app.caption)
    names = [trace.get("name") for trace in figures(app)["overview"]["data"]]
    assert "left out by the filter" in names
    nobody = visit(view="overview", text=TEXT, pattern="separator", pattern_least="1")
    assert any("separator: no head reaches 1.00" in caption.value for caption in nobody.caption)


def test_a_pattern_that_the_text_does_not_allow_says_so():
    app = visit(view="overview", text="one two three", pattern="induction")
    assert any("induction: not possible on this text" in caption.value for caption in app.caption)
    assert not buttons(app)


@pytest.mark.parametrize("name", service.CHOICES)
def test_each_number_colours_the_same_cells(minilm: Model, name: str):
    app = visit(view="overview", text=TEXT, overview_colour=name)
    assert not app.exception
    shown = service.overview(ModelRequest(minilm.name, (TEXT,)), "encoder", 0)
    drawn = figures(app)["overview"]
    np.testing.assert_array_equal(array(drawn["data"][0]["z"]), shown.numbers[name].astype(np.float32))
    high = drawn["layout"]["coloraxis"]["cmax"]
    assert high == (1 if name in service.BOUNDED else pytest.approx(np.nanmax(shown.numbers[name]), rel=1e-5))


def test_a_leak_outlines_heads_and_is_counted_on_hover():
    app = visit(view="overview", text="the cat\nthe cat sat on the old mat", lines="1", model_mask="padding-ignored")
    assert "leaks: " in points(app)["text"][0]
    names = [trace.get("name") for trace in figures(app)["overview"]["data"]]
    assert "leak: not allowed, yet weight is not 0" in names and "padding" in names


def test_the_from_scratch_core_has_an_overview_too():
    app = visit(view="overview", source="from-scratch", text="a b a c", lang="zh")
    assert not app.exception
    assert len(array(points(app)["customdata"])) == 4
    assert "第 0 层，头 0" in points(app)["text"][0]


def test_a_long_text_shows_a_part_exactly(minilm: Model):
    text = "the cat sat on the mat and the dog ran after it. " * 26
    app = visit(view="overview", text=text, layer="1", head="3")
    assert "largest of" in figures(app)["head"]["layout"]["title"]["text"]
    app = choose(app, exact=True)
    app = choose(app, from_token=40)
    run = minilm.run(text)
    weights = run.trace(run.calls[1]).weights
    assert weights is not None and weights.shape[-1] > 300
    drawn = figures(app)["head"]
    part = weights[0, 3, 40:296, 40:296].numpy()
    # above 64 cells a side hover gives the weight from z itself, which is the float32 number
    np.testing.assert_array_equal(array(drawn["data"][0]["z"]), part)
    assert drawn["layout"]["xaxis"]["categoryarray"][0].startswith("40 ")
    assert any("Queries 40 to 295" in caption.value for caption in app.caption)
