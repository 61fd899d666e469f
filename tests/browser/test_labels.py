"""What a person sees of tokens in a real browser: ticks and hover, character by character."""

import unicodedata
from io import BytesIO

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page

from tests.browser.label_app import GRID_TOKENS, softmax_rows
from tests.figures.nasty import NASTY
from viz.figures.labels import hover_text, visible

pytestmark = pytest.mark.browser

INSIDE_OF_CELL = """([x, y]) => {
    const gd = document.querySelector('.js-plotly-plot'), box = gd.getBoundingClientRect(), trace = gd._fullData[0];
    const across = gd._fullLayout.xaxis, down = gd._fullLayout.yaxis;
    return {
        x: box.left + across._offset + across.c2p(trace.x0 + x - 0.35),
        y: box.top + down._offset + down.c2p(trace.y0 + y - 0.35),
        width: 0.7 * (across.c2p(1) - across.c2p(0)),
        height: 0.7 * (down.c2p(1) - down.c2p(0)),
    };
}"""
DRAWN = "() => document.querySelector('.js-plotly-plot .heatmaplayer image')"
# Characters that the figures add and nobody sees; joiners inside emoji belong to the token and stay.
ADDED = dict.fromkeys(map(ord, "\u2068\u2069\u2060\u200b\u200c"))


def seen(text: str) -> str:
    return text.translate(ADDED)


def open_case(page: Page, server, case: str) -> None:
    page.goto(f"{server('tests/browser/label_app.py')}/?case={case}")
    page.wait_for_function(DRAWN, timeout=60_000)
    page.wait_for_timeout(300)
    assert page.locator("[data-testid=stException]").count() == 0


def ticks(page: Page, axis: str) -> list[str]:
    """Labels in the order of the axis; slanted ones end at their place."""
    found = page.evaluate(
        """axis => [...document.querySelectorAll(`.${axis}tick text`)].map(text => {
            const box = text.getBoundingClientRect();
            return [axis === 'x' ? box.right : box.top + box.height / 2, text.textContent];
        })""",
        axis,
    )
    return [seen(text) for _, text in sorted(found)]


def move_to(page: Page, x: float, y: float) -> None:
    """Puts the mouse at these places of the axes, after nothing was under it."""
    place = page.evaluate(
        """([x, y]) => {
            const gd = document.querySelector('.js-plotly-plot'), box = gd.getBoundingClientRect();
            const across = gd._fullLayout.xaxis, down = gd._fullLayout.yaxis;
            return [box.left + across._offset + across.c2p(x), box.top + down._offset + down.c2p(y)];
        }""",
        [x, y],
    )
    page.mouse.move(5, 5)
    page.wait_for_function("() => !document.querySelector('.hoverlayer .hovertext')")
    page.mouse.move(*place)


def hover(page: Page, x: int, y: int) -> list[str]:
    """Lines of the hover label over the cell at these places of the axes."""
    move_to(page, x, y)
    page.wait_for_selector(".hoverlayer .hovertext text.nums", state="attached")
    return page.evaluate(
        """() => {
            const text = document.querySelector('.hoverlayer .hovertext text.nums');
            const lines = [...text.querySelectorAll('tspan.line')];
            return (lines.length ? lines : [text]).map(line => line.textContent);
        }"""
    )


def test_every_spoilt_token_reads_right_on_both_axes(page: Page, streamlit_server) -> None:
    """C139, C140, C141, C142, C143, C146, C148, C152."""
    open_case(page, streamlit_server, "nasty")
    for axis in ("x", "y"):
        shown = ticks(page, axis)
        expected = [f"{i} {seen(visible(token))}" for i, token in enumerate(NASTY)]
        assert len(shown) == len(expected)
        assert shown == expected


def test_hover_names_the_exact_token(page: Page, streamlit_server) -> None:
    """C139, C140, C141, C142, C143, C145, C146; the first, last and every other place, also the long token."""
    open_case(page, streamlit_server, "nasty")
    last = len(NASTY) - 1
    for i, token in enumerate(NASTY):
        lines = [seen(line) for line in hover(page, i, last - i)]
        assert lines[1] == f"key {i} {seen(hover_text(token))}"
        assert lines[0] == f"query {last - i} {seen(hover_text(NASTY[last - i]))}"


def test_the_title_is_text(page: Page, streamlit_server) -> None:
    open_case(page, streamlit_server, "nasty")
    assert "<b>Head</b> $1$ &amp; #000001" in page.locator(".gtitle").text_content()


def test_right_to_left_tokens_do_not_move_the_index(page: Page, streamlit_server) -> None:
    """C148: the index stands left of the token, and order on the axis is token order."""
    open_case(page, streamlit_server, "nasty")
    index = NASTY.index("שלום")
    positions = page.evaluate(
        """prefix => {
            const labels = [...document.querySelectorAll('.ytick text')];
            const text = labels.find(label => label.textContent.startsWith(prefix));
            return [0, prefix.length + 2].map(place => text.getStartPositionOfChar(place).x);
        }""",
        f"{index} ",
    )
    assert positions[0] < positions[1]


def test_sixty_tokens_have_sixty_labels(page: Page, streamlit_server) -> None:
    """C145: at 900 pixels every label is drawn, and the figure says so."""
    open_case(page, streamlit_server, "sixty")
    for axis in ("x", "y"):
        assert ticks(page, axis) == [f"{i} tok{i}" for i in range(60)]
    assert "every label shown" in page.locator(".gtitle").text_content()
    assert hover(page, 41, 59)[:2] == ["query 59 tok59", "key 41 tok41"]


def test_the_grid_names_head_tokens_weight_and_mask_of_each_cell(page: Page, streamlit_server) -> None:
    """C144 and the first rule of truth: a leak of 2e-9 is neither drawn nor printed as 0."""
    open_case(page, streamlit_server, "grid")
    length = len(GRID_TOKENS)
    allowed = np.tril(np.ones((length, length), bool))
    weights, scores = softmax_rows(5, length, allowed)
    starts = page.evaluate(
        """() => document.querySelector('.js-plotly-plot')._fullData.filter(t => t.meta && t.meta.head !== undefined
            && t.coloraxis).map(t => [t.x0, t.y0])"""
    )
    for head, query, key in [(0, 0, 0), (0, 0, 10), (1, 6, 3), (3, 10, 6), (4, 9, 9)]:
        left, top = starts[head]
        lines = [seen(line) for line in hover(page, left + key, top + query)]
        assert lines[0] == f"Head {head}"
        assert lines[1] == f"query {query} {seen(hover_text(GRID_TOKENS[query]))}"
        assert lines[2] == f"key {key} {seen(hover_text(GRID_TOKENS[key]))}"
        assert np.float32(lines[3].removeprefix("weight: ")) == weights[head, query, key]
        assert np.float32(lines[4].removeprefix("score: ").replace("−", "-")) == scores[head, query, key]
        assert lines[5] == f"may attend: {'yes' if key <= query else 'no'}"
    left, top = starts[2]
    leak = hover(page, left + 7, top + 3)
    assert np.float32(leak[3].removeprefix("weight: ").replace("−", "-")) == np.float32(2e-9)
    assert leak[5] == "may attend: leak"
    left, top = starts[4]
    assert hover(page, left + 1, top + 5)[3] == "weight: NaN"
    left, top = starts[0]
    move_to(page, left + length + 0.4, top + 4)  # between two maps: no cell, so nothing may be said
    page.wait_for_timeout(300)
    assert page.locator(".hoverlayer .hovertext").count() == 0
    assert page.evaluate("() => document.querySelector('.js-plotly-plot').layout.meta") == "grid"


def test_row_zero_is_at_the_top(page: Page, streamlit_server) -> None:
    """C144."""
    open_case(page, streamlit_server, "sixty")
    first, last = page.evaluate(
        "() => { const y = document.querySelector('.js-plotly-plot')._fullLayout.yaxis; return [y.c2p(0), y.c2p(59)]; }"
    )
    assert first < last


def test_a_click_on_a_head_name_gives_its_index(page: Page, streamlit_server) -> None:
    open_case(page, streamlit_server, "grid")
    place = page.evaluate(
        """() => { const gd = document.querySelector('.js-plotly-plot'), layout = gd._fullLayout,
            box = gd.getBoundingClientRect(), trace = gd._fullData.find(t => t.name === 'heads');
            return [box.left + layout.xaxis._offset + layout.xaxis.d2p(trace.x[3]),
                    box.top + layout.yaxis._offset + layout.yaxis.d2p(trace.y[3])]; }"""
    )
    page.mouse.move(place[0] - 2, place[1])
    page.mouse.move(*place)
    page.wait_for_timeout(200)
    page.mouse.click(*place)
    page.wait_for_selector("text=picked [3]")


def test_the_marks_are_drawn_over_the_map(page: Page, streamlit_server) -> None:
    """The vector layer arrives, decodes and lies in its place: a hatched cell has lines, an allowed one is flat."""
    open_case(page, streamlit_server, "grid")
    colours = {}
    for name, (x, y) in {"allowed": (2, 8), "forbidden": (8, 2)}.items():
        clip = page.evaluate(INSIDE_OF_CELL, [x, y])
        pixels = np.array(Image.open(BytesIO(page.screenshot(clip=clip))).convert("RGB"))
        colours[name] = len(np.unique(pixels.reshape(-1, 3), axis=0))
    assert colours["allowed"] == 1
    assert colours["forbidden"] > 2


def test_nothing_invisible_is_mistaken_for_a_token() -> None:
    """The helper above must not hide what it should compare."""
    assert all(unicodedata.category(chr(code)) == "Cf" for code in ADDED)
    assert seen("3 \u2068👩\u200d👧\u2069\u200c\u200b") == "3 👩\u200d👧"
