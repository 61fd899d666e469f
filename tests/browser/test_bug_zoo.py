"""The bug zoo in a real browser: look at a fault in Chinese; guess wrong, guess right, read the doctor."""

import numpy as np
import pytest

from attention_core.faults import CATALOGUE
from viz.services import bug_zoo
from viz.services.examples import examples
from viz.text import TEXTS

pytestmark = pytest.mark.browser

TEXT = examples()[0].text


def open_zoo(visit, link: str, **options):
    visitor = visit(f"bug_zoo?{link}", **options)
    visitor.plot("bug_zoo_difference_chart")
    visitor.settle()
    return visitor


def title(fault: str, language: int = 0) -> str:
    return TEXTS[f"fault.{fault}.title"][language]


def text_of(visitor) -> str:
    return visitor.page.locator("[data-testid=stMain]").inner_text()


def answer(visitor, question: int, fault: str) -> None:
    index = bug_zoo.choices(question, TEXT, 0).index(fault)
    visitor.page.locator(f".st-key-bug_zoo_answer_{index} button").click()
    visitor.settle()


def test_right_and_wrong_are_drawn_and_named_in_chinese(visit):
    visitor = open_zoo(visit, "lang=zh&fault=window-off-by-one", width=390, scheme="dark")
    shown = bug_zoo.exhibit("window-off-by-one", TEXT, 0)
    for name, values in (("right", shown.right), ("wrong", shown.wrong), ("difference", shown.difference)):
        cells = np.array(visitor.traces(f"bug_zoo_{name}_chart")[0]["z"], np.float32)
        np.testing.assert_array_equal(cells, values[shown.head])
    said = text_of(visitor)
    assert title("window-off-by-one", 1) in said and "可由此解释" in said
    assert visitor.page.evaluate("() => document.documentElement.scrollWidth") == 390


def test_a_question_is_guessed_wrong_then_right_then_the_next_one_comes(visit):
    question = 11
    truth = bug_zoo.hidden(question)
    visitor = open_zoo(visit, f"lang=en&mode=exercise&question={question}", width=1440)
    assert "The doctor's verdict\n" not in text_of(visitor) and truth not in visitor.page.url
    wrong = next(name for name in bug_zoo.choices(question, TEXT, 0) if name != truth)
    answer(visitor, question, wrong)
    visitor.page.get_by_text("Not “").wait_for()
    assert TEXTS[f"fault.{wrong}.symptom"][0] in text_of(visitor)
    answer(visitor, question, truth)
    visitor.page.get_by_text("Explained by").wait_for()
    assert title(truth) in visitor.page.get_by_text("Explained by").inner_text()
    visitor.page.locator(".st-key-bug_zoo_next button").click()
    visitor.page.wait_for_url(f"**question={question + 1}*")
    visitor.settle()
    answer(visitor, question + 1, bug_zoo.hidden(question + 1))
    visitor.page.get_by_text("Score: 1 of 2").wait_for()


def test_surprise_me_brings_every_fault_once_and_the_doctor_solves_each(visit):
    visitor = open_zoo(visit, "lang=en&mode=exercise&question=0&text=a+b+c+d+e+f", width=1000)
    page = visitor.page
    told = page.get_by_text("Explained by")
    solved = []
    for question in range(len(CATALOGUE)):
        truth = bug_zoo.hidden(question)
        assert told.count() == 0  # not before a guess
        page.locator(".st-key-bug_zoo_give_up button:visible").click()
        told.wait_for()
        names = told.inner_text()
        assert title(truth) in names, f"question {question}, {truth}: the doctor says {names}"
        solved.append(truth)
        page.locator(".st-key-bug_zoo_surprise button:visible").click()
        page.wait_for_url(f"**question={question + 1}*")
        told.wait_for(state="detached")
    assert sorted(solved) == sorted(CATALOGUE) and len(solved) == 42
