"""The Debug page as a person meets it: a file dropped, a verdict read, a cell jumped to, a report taken home."""

import json
import re

import numpy as np
import pytest
import torch

from attention_core import masks, scaled_dot_product_attention

pytestmark = pytest.mark.browser


@pytest.fixture
def leaking(tmp_path):
    """Query, key and weights of a program that forgot the causal mask, with an array that nobody knows."""
    generator = torch.Generator().manual_seed(5)
    query, key = (torch.randn(2, 3, 7, 11, generator=generator) for _ in range(2))
    weights = scaled_dot_product_attention(query, key, key, allowed=masks.padding([7, 5], 7)).weights
    assert weights is not None
    path = tmp_path / "leaking.npz"
    np.savez(
        path, allow_pickle=False, q=query.numpy(), k=key.numpy(), attn=weights.numpy(),
        lengths=np.array([7, 5]), banana=np.zeros(3, np.float32),
    )  # fmt: skip
    return path, weights


def test_a_dropped_file_is_diagnosed_shown_and_taken_home(visit, leaking):
    path, weights = leaking
    visitor = visit("debug", height=1400)  # an open chooser closes when the page is scrolled to it
    page = visitor.page
    page.get_by_role("radio", name="File").click()
    visitor.settle()
    page.locator(".st-key-debug_upload input[type=file]").set_input_files(path)
    page.get_by_text("These names are not known and are left out: banana").wait_for()
    visitor.settle()
    page.locator(".st-key-debug_expect input").click()
    page.get_by_role("option", name="causal: keys up to the query").click()
    page.locator(".st-key-debug_padding label").first.click()
    verdict = page.locator(".debug-verdict")
    verdict.get_by_text("causal-mask-missing").wait_for()
    assert "Meant: causal, right padding" in verdict.inner_text()

    finding = page.locator(".st-key-debug_finding_error_1")
    assert "Future keys visible" in finding.inner_text()
    finding.get_by_role("button").click()
    finding.get_by_text("At cell 0 of").first.wait_for()
    visitor.settle()
    finding.get_by_role("button").click()
    page.get_by_text("query 0, key 2").wait_for()
    cell = page.locator(".debug-cell").inner_text()
    assert "leak" in cell and f"weight {float(weights[0, 0, 0, 2]):.6g}" in cell
    [shown] = [trace for trace in visitor.traces("debug_chart") if trace["type"] == "heatmap"]
    np.testing.assert_array_equal(np.array(shown["z"], np.float32), weights[0, 0].numpy())

    with page.expect_download() as started:
        page.locator(".st-key-debug_download_json button").click()
    report = json.loads(started.value.path().read_text(encoding="utf-8"))
    assert report["ok"] is False and "causal-mask-missing" in report["explained_by"]
    assert [f["code"] for f in report["findings"] if f["severity"] == "error"] == ["explained", "future-visible"]


def test_a_second_file_shows_where_the_two_differ(visit, leaking, tmp_path):
    path, weights = leaking
    other = weights.clone()
    other[0, 0, 3, 2] += 0.25
    with np.load(path) as arrays:
        np.savez(tmp_path / "other.npz", allow_pickle=False, **{**arrays, "attn": other.numpy()})
    (tmp_path / "broken.npz").write_bytes(b"PK")
    visitor = visit("debug")
    page = visitor.page
    page.get_by_role("radio", name="File").click()
    visitor.settle()
    page.locator(".st-key-debug_upload input[type=file]").set_input_files(path)
    page.get_by_text("These names are not known and are left out: banana").wait_for()
    visitor.settle()
    second = page.locator(".st-key-debug_compare_upload input[type=file]")
    second.set_input_files(tmp_path / "broken.npz")
    page.locator("[data-testid=stAlertContentError]").get_by_text("must be whole").wait_for()
    np.testing.assert_array_equal(shown_in(visitor, "debug_chart"), weights[0, 0].numpy())

    second.set_input_files(tmp_path / "other.npz")
    page.get_by_text(
        "The files differ in 1 of 4 comparisons. Largest difference: weights, 0.25 at (0, 0, 3, 2)."
    ).wait_for()
    page.get_by_text("1 of 49 cells differ, by up to 0.25 at query 3, key 2").wait_for()
    np.testing.assert_array_equal(shown_in(visitor, "debug_compare_second_chart"), other[0, 0].numpy())
    difference = shown_in(visitor, "debug_compare_difference_chart")
    np.testing.assert_array_equal(difference, (other.double() - weights.double())[0, 0].float().numpy())


def shown_in(visitor, key):
    [shown] = [trace for trace in visitor.traces(key) if trace["type"] == "heatmap"]
    return np.array(shown["z"], np.float32)


def test_the_page_fits_a_narrow_screen_in_chinese(visit):
    visitor = visit("debug", width=390, scheme="dark", locale="zh-CN")
    visitor.plot("debug_chart")
    assert "能看到未来的键" in visitor.page.locator(".stMain").inner_text()
    assert visitor.page.evaluate("document.documentElement.scrollWidth") <= 390


CELL = """(plot, [query, key]) => {
  const area = plot.getBoundingClientRect(), {xaxis, yaxis} = plot._fullLayout;
  return [area.left + xaxis._offset + xaxis.l2p(key), area.top + yaxis._offset + yaxis.l2p(query)];
}"""


def test_a_clicked_cell_is_looked_at(visit):
    visitor = visit("debug?lang=en")
    told = visitor.page.locator(".debug-cell").first
    for query, key in ((3, 1), (1, 4)):
        visitor.plot("debug_chart").scroll_into_view_if_needed()
        visitor.page.mouse.click(*visitor.plot("debug_chart").evaluate(CELL, [query, key]))
        told.get_by_text(re.compile(f"query {query}.*, key {key}")).wait_for()
        visitor.settle()
        for name, place in (("query", query), ("key", key)):
            box = visitor.page.locator(f".st-key-debug_{name} input")
            assert box.input_value() == str(place)
    assert visitor.complaints == []
