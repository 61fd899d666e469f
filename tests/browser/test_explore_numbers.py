"""One head step by step, two beside each other, and rollout, in a real browser: what is drawn and written agrees."""

import re

import numpy as np
import pytest

from attention_core.pretrained import Model, Switches

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("minilm_folder")]

LINK = "text=the+cat+sat+on+the+mat"
TEXT = "the cat sat on the mat"
CELL = """(plot, [panel, query, key]) => {
  const trace = plot._fullData[panel], layout = plot._fullLayout, box = plot.getBoundingClientRect();
  const x = layout[trace.xaxis.replace('x', 'xaxis')], y = layout[trace.yaxis.replace('y', 'yaxis')];
  return [box.left + x._offset + x.d2p(key), box.top + y._offset + y.d2p(query)];
}"""


def z(visitor, key: str) -> np.ndarray:
    return np.array(next(trace["z"] for trace in visitor.traces(key) if trace["type"] == "heatmap"), dtype=np.float32)


def weights(model: Model, head: int, **switches) -> np.ndarray:
    run = model.run(TEXT, switches=Switches(**switches))
    return run.trace(run.calls[0]).weights[0, head].numpy()


def test_a_cell_clicked_in_any_map_is_written_out(visit, minilm):
    visitor = visit(f"?view=stages&{LINK}&head=3", height=1400)
    maps = [trace for trace in visitor.traces("explore_stages_chart") if trace["type"] == "heatmap"]
    for panel, query, key in ((0, 4, 6), (3, 1, 2)):
        before = visitor.meta("explore_stages_chart")
        visitor.page.mouse.click(*visitor.plot("explore_stages_chart").evaluate(CELL, [panel, query, key]))
        visitor.page.wait_for_function(
            "before => document.querySelector('.st-key-explore_stages_chart .js-plotly-plot')?.layout?.meta !== before",
            arg=before,
        )
        visitor.settle()
        assert f"cell_query={query}&cell_key={key}" in visitor.page.url
        written = visitor.page.locator(".cell-steps td:last-child").all_inner_texts()
        numbers = [float(text.removeprefix("= ").replace("−", "-")) for text in written]
        score, scaled, logit, _, weight, weighted = numbers
        drawn = [trace["z"][query][key] for trace in maps]
        assert [score, scaled, logit, weight, weighted] == pytest.approx(drawn, rel=1e-6)  # seven digits
        assert weight == pytest.approx(float(weights(minilm, 3)[query, key]), rel=1e-5)


def test_the_difference_is_b_minus_a(visit, minilm):
    visitor = visit(f"?view=compare&{LINK}&scaling=off&head=5")
    first, second, difference = (
        z(visitor, f"explore_compare_{name}_chart") for name in ("first", "second", "difference")
    )
    np.testing.assert_allclose(first, weights(minilm, 5), atol=1e-6)
    np.testing.assert_allclose(second, weights(minilm, 5, scaling=False), atol=1e-6)
    np.testing.assert_allclose(difference, second - first, atol=1e-7)
    line = visitor.page.locator(".changes li").first.inner_text().replace("−", "-")
    query, key = (int(number) for number in re.findall(r"(?:row|key) (\d+) ", line))
    assert float(line.rpartition(", ")[2]) == pytest.approx(float(difference[query, key]), rel=6e-3)
    assert abs(difference[query, key]) == np.abs(difference).max()


def test_rows_of_the_rollout_sum_to_one_up_to_any_layer(visit):
    visitor = visit(f"?view=flow&{LINK}")
    whole = z(visitor, "explore_flow_chart")
    np.testing.assert_allclose(whole.sum(axis=1), 1, atol=1e-5)
    before = visitor.meta("explore_flow_chart")
    visitor.page.locator(".st-key-explore_flow_layers input[type=range]").press("ArrowLeft")
    visitor.page.wait_for_function(
        "before => document.querySelector('.st-key-explore_flow_chart .js-plotly-plot')?.layout?.meta !== before",
        arg=before,
    )
    visitor.settle()
    fewer = z(visitor, "explore_flow_chart")
    np.testing.assert_allclose(fewer.sum(axis=1), 1, atol=1e-5)
    assert np.abs(fewer - whole).max() > 1e-3 and "flow_layers=5" in visitor.page.url


@pytest.mark.parametrize("view", ["stages", "compare", "flow"])
def test_nothing_sticks_out_on_a_phone(visit, view):
    visitor = visit(f"?view={view}&{LINK}&scaling=off&lang=zh", width=390, scheme="dark")
    assert visitor.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert visitor.page.locator("[data-testid=stException]").count() == 0
