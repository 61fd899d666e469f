"""What is taken away from the explore page, opened again in a real browser with the network blocked."""

import re
import struct
from pathlib import Path

import numpy as np
import pytest

from attention_core.from_scratch import ScratchConfig, run_from_scratch
from viz.figures import head_heatmap, standalone_html

pytestmark = pytest.mark.browser

LINK = "?lang=en&source=from-scratch&text=one+two+three+four+five"
HEAD = "explore_head_chart"


@pytest.fixture
def opened(visit):
    visitor = visit(LINK)
    visitor.page.locator(".st-key-explore_take_away_open label").click()
    visitor.settle()
    visitor.page.get_by_role("heading", name="Pictures").wait_for()
    return visitor


def saved(visitor, button) -> Path:
    with visitor.page.expect_download(timeout=30_000) as download:
        button.click()
    return Path(download.value.path())


def picture_button(visitor, name: str):
    return visitor.page.locator(f".st-key-explore_take_picture_{HEAD}").get_by_role("button", name=name, exact=True)


def test_png_has_a_picture_inside(opened):
    data = saved(opened, picture_button(opened, "PNG")).read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    assert width >= 600 and height >= 300
    assert len(data) > 10_000
    assert opened.complaints == []


def test_svg_shows_the_labels(opened):
    text = saved(opened, picture_button(opened, "SVG")).read_text(encoding="utf-8")
    assert text.startswith("<svg")
    for label in ("0 one", "4 five", "columns: keys", "rows: queries"):
        assert label in text
    assert opened.complaints == []


def test_a_page_of_its_own_draws_without_a_network(opened, page):
    button = opened.page.locator(f".st-key-explore_take_html_{HEAD} button")
    file = saved(opened, button)
    copy = file.with_suffix(".html")
    copy.write_bytes(file.read_bytes())
    asked: list[str] = []
    page.context.set_offline(True)
    page.on("request", lambda request: asked.append(request.url))
    page.goto(copy.as_uri())
    page.wait_for_selector(".heatmaplayer image", timeout=30_000)
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    drawn = page.evaluate(
        "() => document.querySelector('.js-plotly-plot')._fullData.filter(t => t.type === 'heatmap')"
        ".map(t => Array.from(t.z, row => Array.from(row)))[0]"
    )
    run = run_from_scratch("one two three four five", ScratchConfig())
    weights = run.trace(run.calls[0]).weights
    assert weights is not None
    np.testing.assert_allclose(np.array(drawn), weights[0, 0].numpy(), rtol=0, atol=1e-6)  # another process's sums
    assert "Share" not in page.content().partition("<main>")[0]
    assert page.locator("[data-title*='loud']").count() == 0


def test_c142_c153_labels_of_a_page_stay_text_without_a_network(page, tmp_path):
    tokens = ["$x$", "$5", "$$", "<b>bold</b>", "&lt;", "10"]
    figure = head_heatmap(np.eye(6, dtype=np.float32), query_tokens=tokens, key_tokens=tokens)
    text = standalone_html(figure, title="$x$ <b>", lines=("price $x and $y",))
    assert re.findall(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=", text) == []
    assert "MathJax.js" not in text.partition("<main>")[0] and "mathjax" not in text.rpartition("</script>")[2].lower()
    file = tmp_path / "page.html"
    file.write_text(text, encoding="utf-8")
    page.context.set_offline(True)
    page.goto(file.as_uri())
    page.wait_for_selector(".heatmaplayer image", timeout=30_000)
    for axis in ("xtick", "ytick"):
        shown = page.locator(f".{axis} text").all_text_contents()
        assert sorted(shown) == [f"{i} {one}" for i, one in enumerate(tokens)]
    assert page.locator("h1").inner_text() == "$x$ <b>"
    assert page.locator("p").first.inner_text() == "price $x and $y"
    assert page.evaluate("() => typeof window.MathJax") == "undefined"


def test_numbers_of_a_view_and_the_fold_of_another_page(visit):
    visitor = visit(LINK + "&view=flow&mask=causal")
    visitor.page.locator(".st-key-explore_take_away_open label").click()
    visitor.settle()
    file = saved(visitor, visitor.page.locator(".st-key-explore_take_npz button"))
    [drawn] = [trace for trace in visitor.traces("explore_flow_chart") if trace["type"] == "heatmap"]
    with np.load(file, allow_pickle=False) as arrays:
        np.testing.assert_array_equal(arrays["rollout"], np.array(drawn["z"], np.float32))
        assert arrays["row_token"].tolist() == ["one", "two", "three", "four", "five"]

    visitor = visit("mask_lab?lang=en")
    visitor.page.locator(".st-key-mask_lab_take_away_open label").click()
    visitor.settle()
    buttons = visitor.page.locator(".st-key-mask_lab_take_picture_mask_lab_chart")
    text = saved(visitor, buttons.get_by_role("button", name="SVG", exact=True)).read_text(encoding="utf-8")
    assert text.startswith("<svg") and "columns: keys" in text
