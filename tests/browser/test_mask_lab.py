"""The mask lab in a real browser: compose, click a cell, read the drawing and the code; nothing typed is lost."""

import numpy as np
import pytest

from attention_core import masks
from attention_core.mask_code import mask_code
from attention_core.mask_parts import Causal, MaskRecipe, Padding, Window
from tests.browser.test_explore import GRID, grid

pytestmark = pytest.mark.browser

CHART = "mask_lab_chart"
PLACE = """(plot, [query, key]) => {
  const box = plot.getBoundingClientRect(), {xaxis, yaxis} = plot._fullLayout;
  return [box.x + xaxis._offset + xaxis.d2p(key), box.y + yaxis._offset + yaxis.d2p(query)];
}"""


def open_lab(visit, link: str = "lang=en", **options):
    visitor = visit(f"mask_lab?{link}", **options)
    visitor.plot(CHART)
    visitor.settle()
    return visitor


def drawing(visitor) -> str:
    return visitor.page.locator(".st-key-mask_lab_form code").inner_text()


def wait_for_drawing(visitor, recipe: MaskRecipe) -> None:
    visitor.page.wait_for_function(
        "text => document.querySelector('.st-key-mask_lab_form code')?.innerText.trim() === text",
        arg=masks.draw(recipe.allowed()[0, 0]),
        timeout=30_000,
    )
    visitor.settle()


def click_cell(visitor, query: int, key: int) -> None:
    visitor.settle()  # a new picture takes the place of the old one
    plot = visitor.plot(CHART)
    plot.scroll_into_view_if_needed()
    x, y = plot.evaluate(PLACE, [query, key])
    visitor.page.mouse.click(x - 11, y + 9)  # anywhere in the cell, not its centre


def test_compose_paint_and_read(visit):
    visitor = open_lab(visit)
    page = visitor.page
    for name in ("Sliding window", "Padding"):
        page.get_by_role("button", name=name, exact=True).click()
        visitor.settle()
    lengths = page.get_by_role("textbox", name="Lengths")
    lengths.fill("6, 3")
    lengths.press("Enter")
    parts = (Causal(), Padding((6, 3)))
    wait_for_drawing(visitor, MaskRecipe(8, 8, parts))

    click_cell(visitor, 2, 7)
    wait_for_drawing(visitor, MaskRecipe(8, 8, parts, painted=((0, 2, 7),)))
    click_cell(visitor, 5, 0)
    painted = MaskRecipe(8, 8, parts, painted=((0, 2, 7), (0, 5, 0)))
    wait_for_drawing(visitor, painted)
    code = page.locator(".st-key-mask_lab_code code").inner_text()
    assert code.strip() == mask_code(painted, "sdpa").code
    [rings] = [trace for trace in visitor.traces(CHART) if trace.get("name") == "flipped by hand"]
    assert (rings["x"], rings["y"]) == (['<span style="opacity:0.5">7</span>', "0"], ["2", "5"])

    click_cell(visitor, 2, 7)  # the same cell again takes the paint away, as often as one likes
    wait_for_drawing(visitor, MaskRecipe(8, 8, parts, painted=((0, 5, 0),)))
    click_cell(visitor, 2, 7)
    wait_for_drawing(visitor, painted)
    page.get_by_role("button", name="Undo").first.click()
    wait_for_drawing(visitor, MaskRecipe(8, 8, parts, painted=((0, 5, 0),)))

    page.get_by_role("radio", name="flex_attention").click()
    page.locator(".st-key-mask_lab_code code", has_text="def mask_mod(b, h, q_idx, kv_idx):").wait_for()
    visitor.settle()
    for part in ("parts=causal+padding", "lengths=6%2C+3", "cells=0.5.0", "convention=mask_mod"):
        assert part in page.url


def test_what_is_typed_outlives_a_visit_to_another_page(visit):
    visitor = open_lab(visit)
    page = visitor.page
    queries = page.get_by_role("spinbutton", name="Queries")
    queries.fill("5")
    queries.press("Enter")
    page.wait_for_url("**q_len=5*")
    visitor.settle()
    click_cell(visitor, 0, 7)
    page.wait_for_url("**cells=0.0.7*")
    visitor.settle()
    before = drawing(visitor)
    page.get_by_role("link", name="Explore").first.click()
    page.get_by_role("textbox", name="Text").wait_for()
    visitor.settle()
    page.get_by_role("link", name="Mask lab").first.click()
    visitor.plot(CHART)
    visitor.settle()
    assert drawing(visitor) == before and before.startswith("⬚■■■⬚⬚⬚■")
    assert queries.input_value() == "5"


@pytest.mark.usefixtures("minilm_folder")
def test_a_mask_is_sent_to_explore_and_outlives_a_reload(visit):
    visitor = open_lab(visit, "lang=en&parts=causal")
    page = visitor.page
    page.get_by_role("button", name="Sliding window", exact=True).click()
    recipe = MaskRecipe(8, 8, (Causal(), Window(2, 0)))
    wait_for_drawing(visitor, recipe)
    page.get_by_role("button", name="Send to Explore").click()
    allowed = np.broadcast_to(recipe.allowed()[0, 0].numpy(), (4, 8, 8))
    for again in (False, True):
        if again:
            page.reload()
        visitor.plot(GRID)
        visitor.settle()
        np.testing.assert_array_equal(grid(visitor) > 0, allowed)
        assert page.get_by_role("combobox", name="Mask", exact=True).input_value() == "From the mask lab"
        for part in ("/?", "mask=custom", "mask_rows=8.", "source=from-scratch", "lang=en"):
            assert part in page.url


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_nothing_sticks_out(visit, scheme, width):
    visitor = open_lab(visit, "lang=zh", width=width, scheme=scheme)
    assert visitor.page.evaluate("document.documentElement.scrollWidth") <= width
    assert visitor.page.locator("[data-testid=stException]").count() == 0
    box = visitor.plot(CHART).bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= width
