"""The overview in a browser: a click on a cell draws that head, hover names it, and few bytes travel."""

from collections.abc import Callable
from urllib.parse import urlencode

import pytest

from attention_core.pretrained import Model
from tests.browser.visitor import Visitor

pytestmark = pytest.mark.usefixtures("minilm_folder")

SENTENCE = "The cat sat on the mat, and the dog ran after the cat. "
LIMITS = {128: 2_000_000, 512: 4_000_000}  # bytes of a first view, by tokens

# Where the middle of a cell lies on the screen.
PLACE = """(plot, [row, head]) => {
  const {xaxis, yaxis} = plot._fullLayout, box = plot.getBoundingClientRect();
  return [box.left + xaxis._offset + xaxis.d2p(head), box.top + yaxis._offset + yaxis.d2p(row)];
}"""


def link(tokens: int, **settings: str) -> str:
    words = (SENTENCE * (tokens // 12 + 1)).split()
    return "?" + urlencode({"text": " ".join(words[: int(tokens * 0.87)]), **settings})


def point_at(visitor: Visitor, row: int, head: int) -> tuple[float, float]:
    plot = visitor.plot("explore_overview_chart")
    plot.scroll_into_view_if_needed()
    x, y = plot.evaluate(PLACE, [row, head])
    visitor.page.mouse.move(x, y)
    return x, y


def test_a_click_on_a_cell_draws_that_head(visit: Callable[..., Visitor], minilm: Model):
    visitor = visit("?view=overview&text=the+cat+sat+on+the+mat")
    assert visitor.page.get_by_role("heading", name="Layer 0, head 0").is_visible()
    # row 3, head 7: no two numbers alike, so that rows and columns cannot be taken for each other
    place = point_at(visitor, 3, 7)
    hover = visitor.page.locator(".st-key-explore_overview_chart .hoverlayer")
    hover.get_by_text("Layer 3, head 7").wait_for()
    visitor.forget_bytes()
    visitor.page.mouse.click(*place)
    visitor.page.get_by_role("heading", name="Layer 3, head 7").wait_for(timeout=30_000)
    visitor.settle()
    run = minilm.run("the cat sat on the mat")
    weights = run.trace(run.calls[3]).weights
    assert weights is not None
    drawn = next(trace for trace in visitor.traces("explore_head_chart") if trace["type"] == "heatmap")
    assert drawn["z"] == weights[0, 7].tolist()
    # the picture of all heads stands as it is: the browser has it already
    assert visitor.received < 120_000


def test_a_named_head_opens_by_the_keyboard_and_in_chinese(visit: Callable[..., Visitor]):
    visitor = visit("?view=overview&lang=zh&text=the+cat+sat+on+the+mat", width=390)
    button = visitor.page.locator(".st-key-explore_overview_top_0 button").last
    button.focus()
    visitor.page.keyboard.press("Enter")
    visitor.page.get_by_role("heading", name="第 0 层，头 2").wait_for(timeout=30_000)


@pytest.mark.parametrize("tokens", LIMITS)
def test_a_first_view_sends_few_bytes(visit: Callable[..., Visitor], tokens: int, minilm: Model):
    path = link(tokens, view="overview")
    visitor = visit(path)
    visitor.plot("explore_head_chart")
    visitor.plot("explore_overview_chart")
    visitor.settle()
    shown = visitor.page.locator(".run-line").inner_text()
    assert tokens <= int(shown.split(" tokens")[0].split()[-1]) <= 1.1 * tokens
    assert 50_000 < visitor.received <= LIMITS[tokens]


def test_all_heads_of_a_layer_at_512_tokens_send_few_bytes(visit: Callable[..., Visitor]):
    visitor = visit(link(512))
    visitor.plot("explore_grid_chart")
    visitor.settle()
    assert "512 tokens" in visitor.page.locator(".run-line").inner_text()
    assert 50_000 < visitor.received <= LIMITS[512]
