"""Lessons 3, 4 and 5 in a real browser, in English and Chinese, by mouse and by keyboard alone."""

import re
import time

import numpy as np
import pytest

from tests.browser.test_mask_lab import PLACE
from viz.services import lessons_masks, lessons_scaling, lessons_steps
from viz.text import TEXTS

pytestmark = pytest.mark.browser

COLUMN = {"en": 0, "zh": 1}
TOO_WIDE = """() => {
  const wide = [];
  for (const element of document.querySelectorAll('.st-key-learn_page *')) {
    const box = element.getBoundingClientRect();
    const scrolls = element.closest('.katex-display, .katex-mathml, [data-testid=stTable], svg');
    if (box.width && box.right > innerWidth + 1 && !scrolls)
      wide.push(element.tagName + ' ' + element.className + ' ' + box.right);
  }
  return wide.slice(0, 5);
}"""


def say(key: str, language: str, **values: object) -> str:
    return TEXTS[key][COLUMN[language]].format(**values)


def open_lesson(visit, name: str, language: str, link: str = "", **options):
    visitor = visit(f"learn?lang={language}&lesson={name}{link}", **options)
    visitor.page.locator(".st-key-learn_page").wait_for()
    visitor.settle()
    return visitor


def text_of(visitor) -> str:
    return visitor.page.locator("[data-testid=stMain]").inner_text()


def cells(visitor, key: str) -> np.ndarray:
    return np.array(visitor.traces(key)[0]["z"], np.float32)


def arithmetic(visitor) -> str:
    return visitor.page.locator(".st-key-learn_steps_stages_sum code").inner_text()


def tab_to(visitor, selector: str) -> None:
    """Presses Tab until the focus is inside what the selector names."""
    for _ in range(120):
        if visitor.page.evaluate("s => !!document.activeElement?.closest(s)", selector):
            return
        visitor.page.keyboard.press("Tab")
    raise AssertionError(f"Tab never reaches {selector}")


def answer_by_keys(visitor, lesson: str, question: str, place: int) -> None:
    """Chooses an answer with the arrow keys, and checks it."""
    page = visitor.page
    tab_to(visitor, f".st-key-learn_{lesson}_{question} input")
    page.keyboard.press("Space")
    for _ in range(place):
        page.keyboard.press("ArrowDown")
    visitor.settle()
    button = f".st-key-learn_{lesson}_{question}_check button"
    page.wait_for_function("s => !document.querySelector(s).disabled", arg=button)
    visitor.settle()
    tab_to(visitor, button)
    page.keyboard.press("Enter")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_step_by_step_by_keyboard_alone(visit, language):
    visitor = open_lesson(visit, "steps", language, width=1440)
    page = visitor.page
    made = lessons_steps.steps(TEXTS["lesson.steps.text.default"][COLUMN[language]], 3, "causal", True)
    assert made is not None
    for place, stage in enumerate(lessons_steps.STAGES):
        name = say(f"lesson.steps.stage.{stage}", language)
        page.get_by_text(say("learn.stage", language, place=place + 1, count=9, name=name)).wait_for()
        visitor.settle()
        shown = cells(visitor, "learn_steps_result_chart")
        np.testing.assert_array_equal(np.isnan(shown), np.isinf(made.matrices[stage]))
        finite = np.isfinite(made.matrices[stage])
        np.testing.assert_array_equal(shown[finite], made.matrices[stage][finite].astype(np.float32))
        if place < 8:
            page.keyboard.press("n")
    page.keyboard.press("p")
    page.get_by_text(re.compile(r"exp\(")).first.wait_for()
    visitor.settle()
    tab_to(visitor, ".st-key-learn_steps_row input")  # another cell, by keys
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_function("() => /row=\\d/.test(location.search)")
    visitor.settle()
    assert arithmetic(visitor).count("exp(") == 2 + int(re.search(r"row=(\d+)", page.url)[1])  # type: ignore[index]
    answer_by_keys(visitor, "steps", "first", 0)
    why = say("lesson.steps.first.one.why", language, weight="1.00")
    page.get_by_text(say("learn.right", language, why=why)).wait_for()
    page.keyboard.press("Shift+N")
    page.get_by_text(re.compile(r"^4\. ")).first.wait_for()


def test_a_click_on_a_cell_writes_its_arithmetic(visit):
    visitor = open_lesson(visit, "steps", "en", "&stage=scores", width=1440)
    plot = visitor.plot("learn_steps_result_chart")
    plot.scroll_into_view_if_needed()
    x, y = plot.evaluate(PLACE, [4, 2])
    visitor.page.mouse.click(x - 9, y + 6)  # anywhere in the cell
    visitor.page.wait_for_url("**row=4*")
    visitor.settle()
    made = lessons_steps.steps("The cat sat on the mat.", 3, "causal", True)
    assert made is not None
    value = made.matrices["scores"][4, 2]
    assert arithmetic(visitor).replace("−", "-").endswith(f"≈ {value:.3f}".rstrip("0"))
    assert "column=2" in visitor.page.url


@pytest.mark.parametrize("language", ["en", "zh"])
def test_scaling_is_predicted_seen_and_switched(visit, language):
    visitor = open_lesson(visit, "scaling", language, width=1440)
    answer_by_keys(visitor, "scaling", "grows", 1)
    visitor.page.locator("[data-testid=stAlert]").wait_for()
    found = lessons_scaling.variance_sweep(1.0)
    measured = visitor.traces("learn_scaling_variance_chart")[0]
    np.testing.assert_allclose(measured["y"], found.mean)
    answer_by_keys(visitor, "scaling", "top", 2)
    visitor.plot("learn_scaling_chosen_map_chart")
    visitor.settle()
    tab_to(visitor, ".st-key-learn_scaling_d_k input")
    waits = []
    for d_k in (128, 256, 512):
        expected = lessons_scaling.softmaxed(d_k, 1.0)["one"].weights
        start = time.perf_counter()
        visitor.page.keyboard.press("ArrowRight")
        visitor.page.wait_for_url(f"**d_k={d_k}*")
        while not np.array_equal(cells(visitor, "learn_scaling_unscaled_map_chart"), expected):
            assert time.perf_counter() - start < 20
        waits.append(time.perf_counter() - start)
        visitor.settle()
    print(f"from a switch to the redrawn figure: {sorted(waits)[1] * 1000:.0f} ms median of {len(waits)}")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_masks_on_a_phone_by_keyboard(visit, language):
    visitor = open_lesson(visit, "masks", language, width=390)
    answer_by_keys(visitor, "masks", "after", 1)
    visitor.plot("learn_masks_placed_map_chart")
    text = TEXTS["lesson.masks.text.default"][COLUMN[language]]
    first = lessons_masks.placed(text, "after")
    assert first is not None
    visitor.page.get_by_text(f"{first.row_sums[0]:.3f}").first.wait_for()
    visitor.settle()
    tab_to(visitor, ".st-key-learn_masks_where [role=radio]")
    visitor.page.keyboard.press("ArrowRight")
    visitor.page.keyboard.press("Space")
    visitor.page.wait_for_url("**where=after*")
    visitor.settle()
    np.testing.assert_array_equal(cells(visitor, "learn_masks_placed_map_chart"), first.weights)
    answer_by_keys(visitor, "masks", "hollow", 2)
    visitor.page.get_by_text(say("lesson.masks.library_finite", language)).wait_for()
    visitor.settle()
    assert visitor.page.evaluate(TOO_WIDE) == []
    assert visitor.page.evaluate("() => document.documentElement.scrollWidth") == 390
    chinese = bool(re.search(r"[\u3400-\u9fff]", re.sub(r"简体中文", "", text_of(visitor))))
    assert chinese is (language == "zh")


def test_another_lesson_begins_at_its_top(visit):
    visitor = open_lesson(visit, "lookup", "en")
    page = visitor.page
    for number in (3, 4):
        page.locator(".st-key-learn_forward_below button").first.click()
        page.get_by_text(re.compile(rf"^{number}\. ")).first.wait_for()
        page.wait_for_function("() => document.querySelector('[data-testid=stMain]').scrollTop === 0")
        visitor.settle()


def test_the_language_switch_keeps_the_place(visit):
    visitor = open_lesson(visit, "order", "en", "&encoding=rotary")
    visitor.page.get_by_role("radio", name="简体中文").click()
    visitor.page.get_by_text("8. 顺序").first.wait_for()
    visitor.page.wait_for_url("**lang=zh*")
    visitor.settle()
    assert "encoding=rotary" in visitor.page.url and "lesson=order" in visitor.page.url
