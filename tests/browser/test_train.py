"""The train page as a person meets it: started, watched until it has learned, scrubbed by keys, opened in Explore."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser

from tests.browser.visitor import Visitor

NO_OVERFLOW = "() => document.documentElement.scrollWidth <= innerWidth"


@pytest.fixture
def watcher(chromium: Browser, streamlit_server: Callable[..., str], tmp_path: Path):
    """A visitor of a server whose cache is its own."""
    server = streamlit_server("app.py", HEADSCOPE_CACHE=str(tmp_path / "cache"))
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, locale="en-US")
    visitor = Visitor(context.new_page(), server)
    yield visitor
    context.close()
    assert visitor.complaints == []


def maps(visitor: Visitor, key: str) -> list[np.ndarray]:
    return [np.array(one["z"], float) for one in visitor.traces(key) if one["type"] == "heatmap"]


def test_it_learns_to_copy_is_scrubbed_and_opens_in_explore(watcher: Visitor) -> None:
    watcher.open("train?lang=en&layers=1&heads=2")
    page = watcher.page
    page.get_by_text("After 0 steps").wait_for()
    page.locator(".st-key-train_start button:visible").click()
    page.locator(".st-key-train_pause button:visible").wait_for(timeout=30_000)
    page.get_by_text("Learned: 95% right answers or more after").wait_for(timeout=120_000)
    watcher.settle()
    last = maps(watcher, "train_maps_0")
    assert len(last) == 2
    rows = np.arange(8, 16)
    assert max(one[rows, rows - 8].mean() for one in last) > 0.4  # a head looks where the answer stands

    slider = page.locator(".st-key-train_checkpoint input[type=range]")
    slider.focus()
    slider.press("Home")
    page.get_by_text("After 0 steps").wait_for(timeout=30_000)
    watcher.wait_for_meta("train_maps_0", 0)
    first = maps(watcher, "train_maps_0")
    assert max(one[rows, rows - 8].mean() for one in first) < 0.3
    assert page.evaluate(NO_OVERFLOW)

    page.locator(".st-key-train_explore_0 button:visible").click()
    page.locator(".st-key-explore_grid_chart .js-plotly-plot").wait_for(timeout=60_000)
    watcher.settle()
    text = page.locator(".st-key-explore_text textarea").input_value()
    assert len(text.split()) == 16
    opened = maps(
        watcher, "explore_grid_chart" if page.query_selector(".st-key-explore_grid_chart") else "explore_grid"
    )
    for one, drawn in zip(last, opened, strict=True):
        np.testing.assert_allclose(drawn, one, atol=2e-6)  # the same weights through other layers
