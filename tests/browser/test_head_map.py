"""The head map as a person meets it: started, followed by a bar that moves, cancelled, made, clicked, acted on."""

from collections.abc import Callable

from tests.browser.visitor import Visitor

LONG = "The animal did not cross the street because it was too tired to walk any further on that day. " * 7
SHARE = """() => {
  const bar = document.querySelector('.st-key-explore_head_map_progress [role="progressbar"]');
  return bar ? Number(bar.getAttribute('aria-valuenow')) : null;
}"""


def test_a_map_is_started_moves_and_is_cancelled(visit: Callable[..., Visitor]) -> None:
    visitor = visit("?view=head_map&text=" + LONG.replace(" ", "%20"))
    page = visitor.page
    page.locator(".st-key-explore_head_map_start button").click()
    page.wait_for_function(f"() => ({SHARE})() > 0", timeout=60_000)
    first = page.evaluate(SHARE)
    page.wait_for_function(f"() => ({SHARE})() > {first}", timeout=60_000)
    page.locator(".st-key-explore_head_map_cancel button").click()
    page.get_by_text("Cancelled. Nothing of it is kept.").wait_for(timeout=60_000)
    visitor.settle()
    assert page.locator(".st-key-explore_head_map_chart").count() == 0
    assert page.locator(".st-key-explore_head_map_start button").count() == 1


def test_a_map_is_made_a_head_is_clicked_and_its_loss_is_shown(visit: Callable[..., Visitor]) -> None:
    visitor = visit("?view=head_map&text=A%20cat%20sleeps%20on%20the%20sofa.", width=1440)
    page = visitor.page
    page.locator(".st-key-explore_head_map_start button").click()
    visitor.plot("explore_head_map_chart")  # the page shows it by itself
    visitor.settle()
    numbers = next(trace["z"] for trace in visitor.traces("explore_head_map_chart") if trace["type"] == "heatmap")
    assert (len(numbers), len(numbers[0])) == (6, 12) and all(value > 0 for row in numbers for value in row)
    place = visitor.plot("explore_head_map_chart").evaluate(
        """plot => { plot.scrollIntoView({block: 'center', behavior: 'instant'});
                     const box = plot.getBoundingClientRect(), {xaxis, yaxis} = plot._fullLayout;
                     return [box.x + xaxis._offset + xaxis.d2p(7), box.y + yaxis._offset + yaxis.d2p(4)]; }"""
    )
    page.mouse.click(*place)
    page.get_by_text("Layer 4, head 7", exact=True).wait_for(timeout=30_000)
    visitor.settle()
    page.locator(".st-key-explore_head_map_off button").click()
    page.get_by_text("heads off: layer 4, head 7").wait_for(timeout=30_000)
    page.get_by_text("Example pairs").wait_for(timeout=30_000)
    visitor.settle()
    assert page.locator(".st-key-explore_head_map_chart").count() == 1  # of each head alone, so it stays
    assert "A kitten is napping on the couch." in page.locator("table.answer").last.inner_text()
