"""Lesson 14 in a real browser, in both languages, by keyboard alone; how long a switch of lessons 9 and 12 takes."""

import re

import numpy as np
import pytest

from tests.browser.test_learn import TOO_WIDE, cells, open_lesson, say, tab_to, text_of
from viz.services import lessons_bugs
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
