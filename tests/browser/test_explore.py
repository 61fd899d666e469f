"""The main job in a real browser: type a text, switch the computation, read the numbers out of what is drawn."""

import numpy as np
import pytest

from attention_core.from_scratch import MaskChoice, ScratchConfig, run_from_scratch
from attention_core.pretrained import Model, Switches

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("minilm_folder")]

GRID = "explore_grid_chart"
MOST_BYTES = 300_000  # of one switch at 12 heads x 32 tokens: websocket messages and media
TEXT_OF_32 = (
    "The quick brown fox jumps over the lazy dog while the old cat sleeps in the warm sun and the small birds now sing "
    "in the tall green trees."
)


def assert_drawn(drawn: np.ndarray, weights: np.ndarray) -> None:
    """The figure sends float32 as it is; two processes may round a dot product differently in the last place."""
    np.testing.assert_allclose(drawn, weights, rtol=0, atol=1e-6)


def grid(visitor) -> np.ndarray:
    """(heads, q_len, k_len) weights as the browser holds them."""
    tiles = [trace for trace in visitor.traces(GRID) if trace["type"] == "heatmap" and "Head" in trace.get("name", "")]
    return np.array([trace["z"] for trace in tiles], dtype=np.float32)


def changed(visitor, act) -> None:
    """Does something that changes the grid, and waits until the new one is drawn."""
    before = visitor.meta(GRID)
    act()
    visitor.page.wait_for_function(
        """([selector, before]) => {
             const plot = document.querySelector(selector);
             return plot?._fullLayout && plot.layout.meta !== before && plot.querySelector('.heatmaplayer image');
           }""",
        arg=[f".st-key-{GRID} .js-plotly-plot", before],
        timeout=30_000,
    )
    visitor.settle()


def choose(visitor, label: str, option: str) -> None:
    box = visitor.page.get_by_role("combobox", name=label, exact=True)
    box.click()
    visitor.page.get_by_role("option", name=option, exact=True).click()


def expected(model: Model, text: str, layer: int = 0, **switches) -> np.ndarray:
    run = model.run(text, switches=Switches(**switches))
    return run.trace(run.calls[layer]).weights[0].numpy()


def test_switches_on_a_real_model_change_what_is_drawn(visit, minilm):
    visitor = visit()
    page = visitor.page
    text = page.get_by_role("textbox", name="Text")
    text.fill("The bank of the river")
    changed(visitor, lambda: text.press("Control+Enter"))
    assert_drawn(grid(visitor), expected(minilm, "The bank of the river"))

    changed(visitor, lambda: page.get_by_role("radio", name="Off", exact=True).click())
    assert_drawn(grid(visitor), expected(minilm, "The bank of the river", scaling=False))

    changed(visitor, lambda: choose(visitor, "Mask", "Causal"))
    drawn = grid(visitor)
    assert_drawn(drawn, expected(minilm, "The bank of the river", scaling=False, mask="causal"))
    assert not np.triu(drawn, 1).any()
    assert "Differs from the model: scaling off, causal mask" in page.locator(".run-differs").inner_text()

    changed(visitor, lambda: choose(visitor, "Layer", "4"))
    assert_drawn(grid(visitor), expected(minilm, "The bank of the river", 4, scaling=False, mask="causal"))

    changed(visitor, lambda: page.locator(".st-key-explore_reset_here button").click())
    assert_drawn(grid(visitor), expected(minilm, "The bank of the river", 4))

    page.reload()
    visitor.settle()
    assert text.input_value() == "The bank of the river"
    assert_drawn(grid(visitor), expected(minilm, "The bank of the river", 4))


def test_head_count_d_k_and_masks_of_the_core_from_scratch(visit):
    visitor = visit("?source=from-scratch&text=one+two+three+four+two")
    page = visitor.page

    def core(**config) -> np.ndarray:
        run = run_from_scratch("one two three four two", ScratchConfig(**{"d_k": 16, **config}))
        return run.trace(run.calls[0]).weights[0].numpy()

    assert_drawn(grid(visitor), core())
    heads = page.locator(".st-key-explore_heads input[type=range]")
    changed(visitor, lambda: heads.press("ArrowRight"))
    assert_drawn(grid(visitor), core(num_heads=5))
    d_k = page.locator(".st-key-explore_d_k input[type=range]")
    changed(visitor, lambda: d_k.press("ArrowRight"))
    assert_drawn(grid(visitor), core(num_heads=5, d_k=32))
    changed(visitor, lambda: choose(visitor, "Mask", "Causal and padding"))
    mask = MaskChoice("causal+padding", count=3)
    drawn = grid(visitor)
    assert_drawn(drawn, core(num_heads=5, d_k=32, mask=mask))
    assert drawn.shape == (5, 8, 8) and not drawn[:, :, 5:].any()
    changed(visitor, lambda: page.get_by_role("radio", name="Off", exact=True).click())
    assert_drawn(grid(visitor), core(num_heads=5, d_k=32, mask=mask, scale="off"))


def test_a_switch_is_light_on_the_wire(visit, minilm):
    visitor = visit("?text=" + TEXT_OF_32.replace(" ", "+"))
    sizes = []
    for name in ("Off", "1/√d_k", "Off"):
        visitor.forget_bytes()
        changed(visitor, lambda name=name: visitor.page.get_by_role("radio", name=name, exact=True).click())
        visitor.page.wait_for_timeout(300)
        sizes.append(visitor.received)
    assert grid(visitor).shape == (12, 32, 32)
    assert 10_000 < max(sizes) <= MOST_BYTES


def test_a_head_opens_by_a_click_on_its_name(visit):
    visitor = visit()
    plot = visitor.plot(GRID)
    place = plot.evaluate(
        """plot => {
             const names = plot._fullData.find(trace => trace.type === 'scatter' && trace.customdata?.length > 5);
             const mark = plot.querySelectorAll('.scatterlayer .trace .points path')[5];
             mark.scrollIntoView({block: 'center', behavior: 'instant'});
             const point = mark.getBoundingClientRect();
             return [point.x + point.width / 2, point.y + point.height / 2];
           }"""
    )
    visitor.page.mouse.click(*place)
    visitor.page.wait_for_function("() => [...document.querySelectorAll('h2')].some(h => h.innerText === 'Head 5')")
    visitor.settle()
    assert "head=5" in visitor.page.url


def test_two_visitors_with_different_switches_do_not_mix(visit, minilm):
    first, second = visit("?text=the+cat+sat"), visit("?text=the+cat+sat&scaling=off")
    changed(first, lambda: choose(first, "Mask", "Causal"))
    changed(second, lambda: choose(second, "Layer", "2"))
    assert_drawn(grid(first), expected(minilm, "the cat sat", mask="causal"))
    assert_drawn(grid(second), expected(minilm, "the cat sat", 2, scaling=False))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_nothing_sticks_out(visit, scheme, width):
    visitor = visit("?lang=zh", width=width, scheme=scheme)
    visitor.plot(GRID)
    assert visitor.page.evaluate("document.documentElement.scrollWidth") <= width
    assert visitor.page.locator("[data-testid=stException]").count() == 0


def test_c153_nothing_is_fetched_from_elsewhere(visit):
    visitor = visit()
    visitor.plot(GRID)
    asked: list[str] = []
    visitor.page.route("**/*", lambda route: (asked.append(route.request.url), route.continue_()))
    visitor.page.reload()
    visitor.settle()
    visitor.plot(GRID)
    assert asked and all(url.startswith(visitor.server) for url in asked)


@pytest.mark.parametrize(("width", "narrow"), [(390, True), (1440, False)])
def test_on_a_phone_wide_pictures_say_so_and_numbers_do_not_run_into_each_other(visit, width, narrow):
    visitor = visit("?text=the+cat+sat+on+the+mat+because+it+was+tired&lang=en", width=width)
    visitor.plot("explore_head_chart").wait_for_selector(".heatmap-label", state="attached")
    page = visitor.page
    assert page.locator(".sideways").first.is_visible() == narrow
    numbers = page.locator(".st-key-explore_head_chart .heatmap-label")
    assert numbers.count() == 12 * 12 and numbers.nth(80).is_visible() != narrow
    room = page.locator(".st-key-explore_grid").evaluate("box => box.scrollWidth - box.clientWidth")
    assert (room > 100) == narrow, "the hint stands where there is something to swipe to"
