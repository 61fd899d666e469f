"""The leak test on a model at hand, in a real browser: sound, then leaking, with the matrix that is really drawn."""

import numpy as np
import pytest

pytestmark = pytest.mark.browser

TEXT = "Rain fell on it. The old cat slept."  # 10 tokens
HERE = "leak_text=Rain+fell+on+it.+The+old+cat+slept."


def run(visitor):
    visitor.page.locator(".st-key-debug_leak_run button:visible").click()
    visitor.settle()


def test_causal_is_sound_and_without_it_the_leak_is_named_with_its_places(visit):
    visitor = visit(f"debug?{HERE}", width=1440)
    page = visitor.page
    run(visitor)
    said = page.locator(".debug-leaks")
    said.get_by_text("No leak").wait_for()
    assert "Inputs tested: 10. Cells that moved: 55" in said.inner_text()
    cells = shares(visitor)
    assert (cells[np.tri(10, dtype=bool)] > 0).all() and (cells[~np.tri(10, dtype=bool)] == 0).all()

    page.locator(".st-key-debug_leak_core_mask input").click()
    page.get_by_role("option", name="none: every token sees every token").click()
    page.get_by_text("Below is the result for the settings before").wait_for()
    assert "No leak" in said.inner_text()
    run(visitor)
    said.get_by_text("Leak, cells: 45").wait_for()
    assert "input 1 fell moved outputs 0 (by up to" in said.inner_text()
    assert "input 2 on moved outputs 0-1" in said.inner_text() and "and 6 more inputs likewise" in said.inner_text()
    assert (shares(visitor) > 0).all() and "leak_core_mask=none" in page.url


def test_the_verdict_is_chinese_and_fits_a_narrow_screen(visit):
    visitor = visit(f"debug?lang=zh&leak_core_mask=none&leak_intent=causal%2Bpadding&{HERE}", width=390, scheme="dark")
    run(visitor)
    said = visitor.page.locator(".debug-leaks")
    said.get_by_text("泄漏，单元格：").wait_for()
    assert "填充被读取（20 个单元格）" in said.inner_text() and "能看到未来的词元（45 个单元格）" in said.inner_text()
    visitor.plot("debug_leak_chart")
    assert visitor.page.evaluate("document.documentElement.scrollWidth") <= 390


def shares(visitor):
    """(outputs, inputs) share of the largest change, as hover says it; 0 where nothing moved."""
    drawn = visitor.traces("debug_leak_chart")[0]
    return np.array(drawn["customdata"], np.float32)[..., 0]
