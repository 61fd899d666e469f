"""For the teacher, in a real browser: presenting by keyboard alone, the hand-out with the network off, the link."""

import re

import pytest

from tests.browser.test_learn import open_lesson, say
from viz.lessons.screens import screens
from viz.lessons.words import words
from viz.pages.learn_state import BY_NAME

pytestmark = pytest.mark.browser

WIDER = """() => ['stMain', 'stApp'].map(name => document.querySelector(`[data-testid=${name}]`))
  .some(box => box.scrollWidth > box.clientWidth + 1)"""
DRAWN = """() => [...document.querySelectorAll('.js-plotly-plot')].map(plot => {
  const box = plot.querySelector('.main-svg').getBoundingClientRect();
  const marks = plot.querySelectorAll('.heatmaplayer image, .scatterlayer path, .barlayer path, .trace path').length;
  return box.width > 100 && box.height > 100 && marks > 0 && box.right <= 741;
})"""


@pytest.mark.parametrize(
    ("language", "width", "height", "scheme"), [("en", 1440, 900, "light"), ("zh", 1920, 1080, "dark")]
)
def test_a_lesson_is_presented_by_keyboard_alone(visit, language, width, height, scheme):
    visitor = open_screen(visit, "steps", language, width=width, height=height, scheme=scheme)
    page, made = visitor.page, words(BY_NAME["steps"], language)
    count = len(screens(made))
    for place in range(1, count + 1):
        line = say("learn.screen", language, title=f"3. {made.title}", place=place, count=count)
        page.get_by_text(line).wait_for()
        visitor.settle()
        assert not page.evaluate(WIDER)
        assert page.locator("[data-testid=stHeader]").is_hidden()
        if page.locator(".js-plotly-plot").count():
            assert letters(visitor) >= 15  # pixels; 10 outside
        if place < count:
            page.keyboard.press("PageDown")
    page.keyboard.press("PageUp")
    page.wait_for_function("place => location.search.includes(`screen=${place}`)", arg=count - 1)
    visitor.settle()
    page.keyboard.press("Escape")
    page.locator(".st-key-learn_which").wait_for()
    visitor.settle()
    assert "present" not in page.url and "screen" not in page.url


@pytest.mark.parametrize("path", ["", "mask_lab", "bug_zoo", "train"])
def test_other_pages_are_large_and_without_side_bar(visit, path):
    visitor = visit(f"{path}?lang=zh&present=1", width=1440)
    page = visitor.page
    assert float(page.evaluate("parseFloat(getComputedStyle(document.documentElement).fontSize)")) > 20
    assert page.locator("[data-testid=stSidebar]:visible").count() == 0
    assert not page.evaluate(WIDER)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_handout_opens_and_prints_with_the_network_off(visit, chromium, tmp_path, language):
    visitor = open_lesson(visit, "scaling", language, "&d_k=256", width=1440)
    page = visitor.page
    page.locator(".st-key-learn_teaching button").click()
    with page.expect_download() as download:
        page.locator(".st-key-learn_handout button").click()
    file = tmp_path / "handout.html"
    download.value.save_as(file)
    assert download.value.suggested_filename == f"headscope-04-scaling-{language}.html"
    assert file.stat().st_size < 6_000_000
    context = chromium.new_context(viewport={"width": 800, "height": 1000}, offline=True)
    paper, said = context.new_page(), []
    paper.on("console", lambda message: said.append(message.text))
    paper.on("pageerror", lambda error: said.append(str(error)))
    paper.on("request", lambda request: said.append(request.url) if re.match("http|ws", request.url) else None)
    paper.goto(file.as_uri())
    assert paper.evaluate(DRAWN) == [True] * 5
    paper.emulate_media(media="print")
    assert paper.evaluate(DRAWN) == [True] * 5
    printed = paper.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page[^s]", printed)) >= 3
    assert paper.locator("math").count() >= 10 and paper.locator("math").first.bounding_box()["width"] > 5
    assert "256" in paper.locator("[data-part=softmax] .settings").inner_text()
    assert "d_k=256" in paper.locator("footer").inner_text()
    context.close()
    assert said == []


def test_the_link_that_is_copied_is_that_of_now(visit):
    visitor = open_lesson(visit, "scaling", "en", width=1440)
    page = visitor.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator(".st-key-learn_scaling_sweep_part").get_by_text(
        say("lesson.scaling.measure.entropy", "en")
    ).first.click()
    page.wait_for_function("() => location.search.includes('measure=entropy')")
    visitor.settle()
    page.locator(".st-key-learn_teaching button").click()
    page.locator(".copy").click()
    page.get_by_text(say("learn.link_copied", "en")).wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == page.url
    assert "measure=entropy" in page.url


def open_screen(visit, name: str, language: str, **options):
    visitor = visit(f"learn?lang={language}&lesson={name}&present=1", **options)
    visitor.page.locator(".st-key-learn_screen").wait_for()
    visitor.settle()
    return visitor


def letters(visitor) -> float:
    """Smallest letters on the axes of the first figure, in pixels."""
    selector = ".js-plotly-plot .xtick text, .js-plotly-plot .ytick text"
    visitor.page.locator(selector).first.wait_for()
    return visitor.page.evaluate(
        "s => Math.min(...[...document.querySelectorAll(s)].map(text => parseFloat(getComputedStyle(text).fontSize)))",
        selector,
    )
