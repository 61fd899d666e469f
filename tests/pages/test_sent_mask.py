"""From the mask lab to the explore page: the mask that is sent is the mask that is drawn, and no text is lost."""

from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from attention_core.drawn_masks import pack
from attention_core.from_scratch import MaskChoice, ScratchConfig, run_from_scratch, tokenize
from attention_core.mask_parts import Causal, MaskRecipe, Window
from tests.pages.test_explore import choose, control, grid_weights, html, visit
from viz.services.sent_masks import fitting_text

pytestmark = pytest.mark.usefixtures("minilm_folder")

THREE = "100/110/011"
SCRATCH = {"source": "from-scratch", "mask": "custom", "mask_rows": pack(THREE)}


def press(app: AppTest, key: str) -> AppTest:
    app.button(key=key).click().run()
    assert not app.exception
    return app


def lab(app: AppTest | None = None, **link: str) -> AppTest:
    """Goes to the mask lab; the tool has no public way to a page that is a function."""
    app = visit() if app is None else app
    app._page_hash = calc_hash("mask_lab")
    app.query_params.clear()
    for name, value in link.items():
        app.query_params[name] = value
    app.run()
    app._page_hash = ""  # from now on where the app itself goes
    assert not app.exception
    return app


def link_of(app: AppTest) -> dict[str, Any]:
    return {name: value if isinstance(value, str) else value[0] for name, value in app.query_params.items()}


def weights_of(rows: str, text: str) -> np.ndarray:
    mask = MaskChoice("custom", rows=rows)
    run = run_from_scratch(text, ScratchConfig(num_heads=4, d_model=64, d_k=16, mask=mask))
    weights = run.trace(run.calls[0]).weights
    assert weights is not None
    return weights[0].numpy()


def test_the_language_is_kept_on_the_way():
    app = lab(lang="en")
    app.button_group(key="frame_language").set_value("zh").run()
    press(app, "mask_lab_send")
    assert app.button_group(key="frame_language").value == "zh"
    assert "来自掩码实验室" in control(app, "mask").options


def earlier(app: AppTest) -> bool:
    return any(button.key == "explore_earlier" for button in app.button)


def test_the_mask_that_is_sent_is_the_mask_that_is_drawn():
    app = press(lab(parts="causal window", left="3", q_len="7", k_len="7"), "mask_lab_send")
    recipe = MaskRecipe(7, 7, (Causal(), Window(3, 0)))
    drawn = grid_weights(app)
    np.testing.assert_array_equal(drawn > 0, np.broadcast_to(recipe.allowed()[0, 0].numpy(), (4, 7, 7)))
    assert control(app, "source").value == "from-scratch" and control(app, "mask").value == "custom"
    assert "From the mask lab" in control(app, "mask").options
    assert control(app, "text").value == "the quick brown fox jumps over a"
    assert not app.error and not earlier(app)  # nobody typed the text that was there
    again = visit(**link_of(app))
    np.testing.assert_array_equal(grid_weights(again), drawn)


def test_of_a_batch_the_sample_shown_is_sent():
    app = press(lab(parts="padding", lengths="3, 2", sample="1", q_len="3", k_len="3"), "mask_lab_send")
    np.testing.assert_array_equal(grid_weights(app), weights_of("110/110/110", "the quick brown"))


def test_what_was_typed_comes_back_on_a_click():
    app = choose(visit(), text="my own words")
    press(lab(app, q_len="4", k_len="4"), "mask_lab_send")
    assert control(app, "text").value == "the quick brown fox"
    lab(app)
    app.number_input(key="mask_lab_q_len").set_value(5)
    app.number_input(key="mask_lab_k_len").set_value(5).run()
    press(app, "mask_lab_send")  # the example is not what was typed
    assert control(app, "text").value == "the quick brown fox jumps"
    press(app, "explore_earlier")
    assert control(app, "text").value == "my own words" and not earlier(app)
    assert "the mask is 5 × 5 and the text has 3 tokens" in app.error[0].value


def test_a_text_that_fits_stays():
    app = choose(visit(), text="my own, words")
    press(lab(app, q_len="4", k_len="4", parts=""), "mask_lab_send")
    assert control(app, "text").value == "my own, words" and not earlier(app)
    np.testing.assert_array_equal(grid_weights(app), weights_of("1111/1111/1111/1111", "my own, words"))


def test_a_text_of_another_size_is_said_and_the_picture_stays():
    app = visit(**SCRATCH, text="a b c")
    good = grid_weights(app)
    np.testing.assert_array_equal(good, weights_of(THREE, "a b c"))
    choose(app, text="a b c d e f")
    assert len(app.error) == 2  # below the text and beside the mask
    for error in app.error:
        assert "the mask is 3 × 3 and the text has 6 tokens. Edit the text" in error.value
        assert "last good picture stays" in error.value
    np.testing.assert_array_equal(grid_weights(app), good)
    choose(app, text="x y z")
    assert not app.error
    np.testing.assert_array_equal(grid_weights(app), weights_of(THREE, "x y z"))


@pytest.mark.parametrize(("rows", "count"), [("100/000/011", 1), ("000/000/000", 3)])
def test_empty_rows_are_shown_by_the_checks(rows: str, count: int):
    app = visit(**{**SCRATCH, "mask_rows": pack(rows)}, text="a b c")
    assert not app.exception and not app.error
    np.testing.assert_array_equal(grid_weights(app), weights_of(rows, "a b c"))
    assert f"{count * 4} of real tokens" in html(app) or f"{count} of real tokens" in html(app)


def test_the_mask_is_offered_only_while_there_is_one():
    app = visit(source="from-scratch")
    assert "From the mask lab" not in control(app, "mask").options
    app = choose(visit(**SCRATCH, text="a b c"), mask="causal")
    assert "From the mask lab" in control(app, "mask").options
    choose(app, mask="custom")
    np.testing.assert_array_equal(grid_weights(app), weights_of(THREE, "a b c"))


@pytest.mark.parametrize("rows", [None, "3.x", "3.gMDgcDgcDgc"])
def test_a_faulty_link_is_named_and_leaves_no_mask(rows: str | None):
    given = {} if rows is None else {"mask_rows": rows}
    app = visit(source="from-scratch", mask="custom", text="a b c", **given)
    assert control(app, "mask").value == "none" and not app.exception
    named = "mask" if rows is None else "mask_rows, mask"
    assert app.warning[0].value.endswith(f": {named}.")


def test_a_mask_that_is_not_square_cannot_be_sent():
    app = lab(q_len="3", k_len="5")
    assert app.button(key="mask_lab_send").disabled
    assert any("got 3 queries and 5 keys" in caption.value for caption in app.caption)
    app.number_input(key="mask_lab_k_len").set_value(3).run()
    assert not app.button(key="mask_lab_send").disabled
    assert not any("as many queries as keys" in caption.value for caption in app.caption)


@pytest.mark.parametrize("rule", ["words", "characters", "spaces"])
@pytest.mark.parametrize("size", [1, 9, 10, 11, 64])
def test_the_example_has_as_many_tokens_as_the_mask(rule: str, size: int):
    mask = pack("/".join(["1" * size] * size))
    assert len(tokenize(fitting_text("", mask, rule), rule)) == size
    own = "x" * size if rule == "characters" else " ".join("x" * size)
    assert fitting_text(own, mask, rule) == own
