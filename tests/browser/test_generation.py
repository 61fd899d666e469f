"""A decoder writes in a real browser: Play adds tokens and rows by itself, Stop ends it."""

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.pages.test_explore_generation import SIZES, TEXT

pytestmark = pytest.mark.browser

WORDS = "document.querySelectorAll('.writing .word').length"
ROWS = "document.querySelector('.st-key-explore_writing_map .js-plotly-plot')?._fullData?.[0].z.length"


def test_play_writes_and_the_map_grows_until_it_is_stopped(visit: Callable, tiny_folder: Callable[..., Path]) -> None:
    folder = tiny_folder("LlamaForCausalLM", **SIZES)
    link = {"source": str(folder), "text": TEXT, "view": "generation", "new_tokens": "30", "lang": "en"}
    visitor = visit("?" + urlencode(link))
    page = visitor.page
    play = page.locator(".st-key-explore_writing_play button")
    play.wait_for(timeout=120_000)
    play.click()
    page.wait_for_function(f"() => {WORDS} >= 5", timeout=120_000)
    page.locator(".st-key-explore_writing_stop button").click()
    play.wait_for(timeout=120_000)
    visitor.settle()
    count = page.evaluate(WORDS)
    assert 5 <= count < 30
    page.wait_for_function(f"() => {ROWS} === {4 + count - 1}", timeout=30_000)
    page.wait_for_timeout(1000)
    assert page.evaluate(WORDS) == count  # nothing goes on
    page.locator(".st-key-explore_writing_step button").click()
    page.wait_for_function(f"() => {WORDS} === {count + 1} && {ROWS} === {4 + count}", timeout=30_000)
    visitor.settle()
    assert f"written={count + 1}" in page.url
