"""Lesson 14 in a real browser, in both languages, by keyboard alone; how long a switch of lessons 9 and 12 takes."""

import re
import time

import numpy as np
import pytest

from tests.browser.test_learn import TOO_WIDE, cells, open_lesson, say, tab_to, text_of
from viz.services import lessons_bill, lessons_bugs, lessons_softmax
from viz.text import TEXTS
from viz.text.markdown import literal

pytestmark = pytest.mark.browser

COLUMN = {"en": 0, "zh": 1}


def choose(visitor, game: int, place: int, code: str, codes: tuple[str, ...]) -> None:
    """One answer to a round, with Tab, arrows and Enter."""
    stem = f".st-key-learn_bugs_game{game}round{place + 1}"
    tab_to(visitor, f"{stem} input")
    visitor.page.keyboard.press("Space")
    for _ in range(codes.index(code)):
        visitor.page.keyboard.press("ArrowDown")
    visitor.settle()
    visitor.page.wait_for_function("s => !document.querySelector(s).disabled", arg=f"{stem}_check button")
    visitor.settle()
    tab_to(visitor, f"{stem}_check button")
    visitor.page.keyboard.press("Enter")


@pytest.mark.parametrize(("language", "width"), [("en", 1440), ("zh", 390)])
def test_rounds_are_played_by_keyboard_alone(visit, language, width):
    game, text = 3, TEXTS["lesson.bugs.text.default"][COLUMN[language]]
    visitor = open_lesson(visit, "bugs", language, f"&game={game}", width=width)
    page, hidden = visitor.page, lessons_bugs.solution(game)
    for place in range(2):
        made, codes = lessons_bugs.shown(game, place, text), lessons_bugs.answers(game, place, text)
        page.locator(f".st-key-learn_bugs_game{game}round{place + 1}").first.wait_for()
        visitor.settle()
        finite = np.isfinite(made.wrong[made.head])
        np.testing.assert_array_equal(cells(visitor, "learn_bugs_wrong_chart")[finite], made.wrong[made.head][finite])
        if place == 1:  # a wrong answer first: it gets its reason, and the round no longer counts
            wrong = next(code for code in codes if code != hidden[place])
            choose(visitor, game, place, wrong, codes)
            page.locator("[data-testid=stAlert]").wait_for()
            visitor.settle()
            page.keyboard.press("Escape")
        choose(visitor, game, place, hidden[place], codes)
        found = place + 1 - (place >= 1)
        page.get_by_text(say("learn.score", language, right=found, asked=place + 1, count=10)).wait_for()
        visitor.settle()
        assert f"game={game}" in page.url
        page.keyboard.press("n")
        page.wait_for_url(f"**round={place + 2}*")
        visitor.settle()
    assert page.evaluate(TOO_WIDE) == []
    assert page.evaluate("() => document.documentElement.scrollWidth") == width
    chinese = bool(re.search(r"[\u3400-\u9fff]", re.sub(r"简体中文", "", text_of(visitor))))
    assert chinese is (language == "zh")
    assert literal(text) == literal(page.locator(".st-key-learn_bugs_text input").input_value())


def test_a_switch_of_the_later_lessons_redraws_soon(visit):
    visitor = open_lesson(visit, "softmax", "en", "&temperature=0.05", width=1440)
    visitor.page.locator(".st-key-learn_softmax_tempered_show button").click()
    waits = {"softmax": [], "bill": []}
    text = TEXTS["lesson.softmax.text.default"][0]
    visitor.plot("learn_softmax_tempered_chart")
    tab_to(visitor, ".st-key-learn_softmax_temperature input")
    for temperature in lessons_softmax.TEMPERATURES[1:]:
        made = lessons_softmax.tempered(text, temperature)
        assert made is not None
        start = time.perf_counter()
        visitor.page.keyboard.press("ArrowRight")
        while not np.array_equal(cells(visitor, "learn_softmax_tempered_chart"), made.weights.astype(np.float32)):
            assert time.perf_counter() - start < 20
        waits["softmax"].append(time.perf_counter() - start)
        visitor.settle()
    visitor = open_lesson(visit, "bill", "en", width=1440)
    visitor.page.locator(".st-key-learn_bill_patterns_show button").click()
    visitor.plot("learn_bill_pattern_chart")
    visitor.settle()
    for pattern in lessons_bill.PATTERNS[2:]:
        weights = lessons_bill.patterns("near")[pattern].weights.astype(np.float32)
        name = TEXTS[f"lesson.bill.pattern.{pattern}"][0]
        start = time.perf_counter()
        visitor.page.locator(".st-key-learn_bill_pattern").get_by_role("radio", name=name, exact=True).click()
        while not np.array_equal(cells(visitor, "learn_bill_pattern_chart"), weights):
            assert time.perf_counter() - start < 20
        waits["bill"].append(time.perf_counter() - start)
        visitor.settle()
    for lesson, found in waits.items():
        median = sorted(found)[len(found) // 2]
        print(f"{lesson}: {median * 1000:.0f} ms from a switch to the figure, median of {len(found)}")
