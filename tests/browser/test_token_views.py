"""Text view and lines view in a real browser: point, press, pin; the numbers come out of the page alone."""

import json
from typing import Any

import numpy as np
import pytest

from attention_core.pretrained import Model, Switches
from tests.browser.token_views_app import C151, MARKED, weights
from tests.browser.visitor import Visitor
from tests.figures.nasty import NASTY
from viz.components.packing import UNITS
from viz.figures.labels import hover_text, visible

pytestmark = pytest.mark.browser

TEXT = "The bank of the river was unbelievable"
READ_TEXT = """root => Array.from(root.querySelectorAll('.token[data-weight]'), token => [
  token.dataset.place, token.dataset.weight])"""
READ_LINES = """root => Array.from(root.querySelectorAll('.token[data-weights]'), token => [
  token.dataset.place, token.dataset.weights])"""

# Opacity at the right end of each key's line, from a canvas of 7 keys.
PAINTED = """canvas => {
  const step = canvas.height / 7, at = canvas.width - 3;
  const copy = document.createElement('canvas');
  [copy.width, copy.height] = [canvas.width, canvas.height];
  const pen = copy.getContext('2d', {willReadFrequently: true});
  pen.drawImage(canvas, 0, 0);
  const column = pen.getImageData(at, 0, 1, canvas.height).data;
  const alpha = row => column[4 * row + 3] / 255;
  const near = row => Math.max(...[-2, -1, 0, 1, 2].map(d => alpha(Math.round(row) + d)));
  return Array.from({length: 7}, (_, j) => near((j + 0.5) * step));
}"""


@pytest.fixture
def view(chromium, streamlit_server):
    """Opens a case of made-up numbers: ``view("small", width=390, scheme="dark", lang="zh")``."""
    address = streamlit_server("tests/browser/token_views_app.py")
    opened: list[Visitor] = []

    def new(case: str, *, width: int = 1280, scheme: str = "light", lang: str = "en", touch: bool = False) -> Visitor:
        context = chromium.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, locale="en-US", has_touch=touch
        )
        opened.append(Visitor(context.new_page(), address))
        opened[-1].open(f"?case={case}&lang={lang}")
        opened[-1].page.locator("[data-place]").first.wait_for()
        return opened[-1]

    yield new
    complaints = [complaint for visitor in opened for complaint in visitor.complaints]
    for visitor in opened:
        visitor.page.context.close()
    assert complaints == []


def token(visitor: Visitor, side: int, index: int, key: str = "") -> Any:
    return visitor.page.locator(f'{f".st-key-{key} " if key else ""}.token[data-place="{side}:{index}"]')


def shaded(visitor: Visitor) -> dict[str, float]:
    """Weight by place, as the text view shades."""
    found = visitor.page.locator(".root").first.evaluate(READ_TEXT)
    return {place: float(weight.replace("Infinity", "inf")) for place, weight in found}


def striped(visitor: Visitor) -> dict[str, dict[int, float]]:
    """Weight by place and head, as the lines view stripes."""
    found = visitor.page.locator(".root").first.evaluate(READ_LINES)
    return {
        place: {int(pair.split(":")[0]): float(pair.split(":")[1]) for pair in numbers.split()}
        for place, numbers in found
    }


def listed(visitor: Visitor, direction: str = "") -> list[tuple[str, str]]:
    where = f'.panel ol[data-direction="{direction}"] li' if direction else ".panel ol:not([hidden]) li"
    items = visitor.page.locator(where)
    return [
        (item.locator(".name").inner_text(), item.locator(".number").inner_text())
        for item in (items.nth(i) for i in range(items.count()))
    ]


class Silence:
    """Fails if a single frame goes to the server meanwhile."""

    def __init__(self, visitor: Visitor) -> None:
        self.visitor = visitor

    def __enter__(self) -> None:
        self.visitor.page.wait_for_timeout(300)
        self.visitor.forget_frames()

    def __exit__(self, *problem: object) -> None:
        self.visitor.page.wait_for_timeout(300)
        if problem[0] is None:
            assert self.visitor.sent == [] and self.visitor.received == 0


def test_c151_a_row_and_a_column_are_told_apart(view):
    visitor = view("small")
    with Silence(visitor):
        token(visitor, 0, 1).hover()
        assert shaded(visitor) == pytest.approx({f"0:{j}": float(C151[1, j]) for j in range(3)})
        assert listed(visitor, "row") == [("2 three", "0.5000"), ("1 two", "0.3000"), ("0 one", "0.2000")]
        assert listed(visitor, "column") == [("0 one", "0.9000"), ("2 three", "0.4000"), ("1 two", "0.3000")]
        text = visitor.page.locator(".panel").inner_text()
        assert "1 two looks at" in text and "1 two is looked at by" in text
        assert "Sum of all: 1.0000" in text and "Sum of all: 1.6000" in text
        visitor.page.get_by_role("button", name="what looks at it").click()
        token(visitor, 0, 1).hover()
        assert shaded(visitor) == pytest.approx({f"0:{i}": float(C151[i, 1]) for i in range(3)})


def test_what_is_pinned_stays_over_a_rerun_and_names_the_numbers_between(view):
    visitor = view("small")
    with Silence(visitor):
        token(visitor, 0, 1).click()
        assert token(visitor, 0, 1).get_attribute("aria-pressed") == "true"
        token(visitor, 0, 2).hover()
        assert shaded(visitor)["0:0"] == pytest.approx(0.2)  # still of the pinned one
        between = visitor.page.locator(".between").inner_text()
        assert "1 two looks at 2 three: 0.5000" in between and "2 three looks at 1 two: 0.4000" in between
    visitor.page.get_by_role("button", name="turn").click()
    visitor.settle()
    visitor.page.wait_for_timeout(300)
    assert token(visitor, 0, 1).get_attribute("aria-pressed") == "true"
    assert shaded(visitor) == pytest.approx({f"0:{j}": float(C151[j, 1]) for j in range(3)})
    with Silence(visitor):
        token(visitor, 0, 1).press("Escape")
        assert token(visitor, 0, 1).get_attribute("aria-pressed") == "false"
        visitor.page.keyboard.press("End")
        assert shaded(visitor) == pytest.approx({f"0:{j}": float(C151[j, 2]) for j in range(3)})
        visitor.page.keyboard.press("ArrowLeft")
        visitor.page.keyboard.press("Enter")
        visitor.page.keyboard.press("Home")
        assert shaded(visitor) == pytest.approx({f"0:{j}": float(C151[j, 1]) for j in range(3)})
    assert visitor.page.locator('.token[tabindex="0"]').count() == 1  # one stop for Tab, however long the text


def test_marks_are_told_apart_and_no_leak_is_hidden(view):
    visitor = view("marked")
    assert "leaks" in token(visitor, 0, 0).get_attribute("class")  # before anybody points at it

    def marks_of(query: int) -> list[str]:
        token(visitor, 0, query).hover()
        known = {"leak", "lost", "not_allowed", "zero", "tiny", "nan", "pos_inf"}
        return [
            " ".join(sorted(known & set(token(visitor, 0, key).get_attribute("class").split()))) for key in range(5)
        ]

    assert marks_of(0) == ["", "leak", "leak", "not_allowed", "not_allowed"]
    outline = token(visitor, 0, 1).evaluate("node => getComputedStyle(node).outlineColor")
    assert outline == "rgb(226, 80, 10)"  # vermilion
    assert marks_of(1) == ["", "", "not_allowed", "leak", "not_allowed"]
    assert MARKED[1, 3] == np.float32(1e-9) and listed(visitor, "row")[2] == ("3 d", "1.0e-9")
    assert marks_of(2) == ["nan", "pos_inf", "", "not_allowed", "not_allowed"]
    assert [number for _, number in listed(visitor, "row")[:2]] == ["NaN", "+infinity"]
    assert marks_of(3) == ["lost", "zero", "zero", "", "not_allowed"]
    assert marks_of(4) == ["", "", "", "tiny", ""]
    legend = visitor.page.locator(".legend").inner_text()
    assert "leak: not allowed, yet not 0 (3)" in legend and "NaN (1)" in legend


def test_every_nasty_token_is_drawn_as_it_is_in_both_views(view):
    visitor = view("nasty")
    page = visitor.page
    count = len(NASTY)
    drawn = page.locator(".st-key-text .text .token").evaluate_all(
        "nodes => nodes.map(node => [node.textContent, node.getAttribute('aria-label'), node.children.length])"
    )
    assert len(drawn) == count
    for number, (nasty, (text, name, children)) in enumerate(zip(NASTY, drawn, strict=True)):
        assert children == 0 and text.strip()
        assert name == f"{number} {hover_text(nasty)}"
        if nasty == visible(nasty, None):
            assert text == nasty
    columns = page.locator(".st-key-lines .column .token").evaluate_all(
        "nodes => nodes.map(node => node.querySelector('bdi').textContent)"
    )
    assert columns == [visible(nasty) for nasty in NASTY] * 2
    assert page.locator(".root b, .root a, .root script").count() == 0
    expected = weights(1, count, count)[0]
    token(visitor, 0, 11, "text").hover()
    row = [shaded(visitor)[f"0:{j}"] for j in range(count)]
    np.testing.assert_allclose(row, expected[11], rtol=1e-6)


def test_c148_hebrew_runs_from_the_right_and_the_full_stop_ends_on_the_left(view):
    visitor = view("hebrew")
    left = [token(visitor, 0, i).bounding_box()["x"] for i in range(4)]
    assert left[0] > left[1] > left[2] > left[3]  # the added [CLS] has no say in the direction
    token(visitor, 0, 2).focus()
    visitor.page.keyboard.press("ArrowLeft")  # to the left is onward here
    assert token(visitor, 0, 3).evaluate("node => node === node.getRootNode().activeElement")
    assert sorted(name for name, _ in listed(visitor, "row")) == ["0 [CLS]", "1 שלום", "2 עולם", "3 ."]


def test_source_and_target_are_two_texts(view):
    visitor = view("cross")
    expected = weights(1, 3, 5)[0]
    with Silence(visitor):
        token(visitor, 0, 2).hover()
        assert shaded(visitor) == pytest.approx({f"1:{j}": float(expected[2, j]) for j in range(5)})
        assert "2 three looks at" in visitor.page.locator(".panel").inner_text()
        assert "is looked at by" not in visitor.page.locator(".panel").inner_text()
        token(visitor, 1, 4).hover()
        assert shaded(visitor) == pytest.approx({f"0:{i}": float(expected[i, 4]) for i in range(3)})
        assert "4 cinq is looked at by" in visitor.page.locator(".panel").inner_text()
    headings = visitor.page.locator(".block h3").all_inner_texts()
    assert headings == ["Queries (who looks)", "Keys (who is looked at)"]


def test_lines_of_several_heads(view):
    visitor = view("lines")
    page = visitor.page
    expected = weights(3, 5, 7)
    note = page.locator(".note-line")
    with Silence(visitor):
        assert [button.get_attribute("aria-pressed") for button in page.locator("[data-head]").all()] == [
            "true", "false", "false",
        ]  # fmt: skip
        assert int(note.get_attribute("data-drawn")) == (expected[0] >= 0.01).sum()
        assert "Lines under 0.01 are not drawn" in note.inner_text()
        page.get_by_role("button", name="head 1", exact=True).click()
        token(visitor, 0, 2).hover()
        found = striped(visitor)
        for j in range(7):
            assert found[f"1:{j}"][0] == pytest.approx(expected[0, 2, j])
            assert found[f"1:{j}"][1] == pytest.approx(1e-7 if j == 6 else expected[1, 2, j])
        page.locator("select").select_option("0.5")
        # the leak of 1e-7 is drawn whatever the threshold
        assert int(note.get_attribute("data-drawn")) == (expected[:2] >= 0.5).sum() + 1
        assert note.get_attribute("data-leaks") == "1" and "leak" in note.inner_text()
        token(visitor, 0, 2).hover()
        assert expected[0, 2, 6] < 0.5 and page.locator("canvas.above").evaluate(PAINTED)[6] > 0
        token(visitor, 1, 6).hover()
        assert {place.split(":")[0] for place in striped(visitor)} == {"0"}
        assert "leaking" in token(visitor, 0, 2).get_attribute("class")
        assert "6 G is looked at by" in page.locator(".panel").inner_text()
        page.get_by_role("button", name="None").click()
        assert note.get_attribute("data-drawn") == "0"
        page.locator("select").select_option("0.01")
        page.locator('[data-head="0"]').click()
        token(visitor, 0, 2).hover()
        painted = page.locator("canvas.above").evaluate(PAINTED)
        assert [alpha > 0 for alpha in painted] == [weight >= 0.01 for weight in expected[0, 2]]
        assert np.argmax(painted) == expected[0, 2].argmax()
        page.locator('[data-head="2"]').click()
        token(visitor, 1, 4).click()
        assert float(listed(visitor)[0][1]) == pytest.approx(
            max(expected[0, :, 4].max(), expected[2, :, 4].max()), abs=1e-4
        )
    page.get_by_role("button", name="turn").click()
    visitor.settle()
    page.wait_for_timeout(300)
    found = striped(visitor)  # heads and pin are kept, the numbers are new
    assert set(found["0:1"]) == {0, 2} and token(visitor, 1, 4).get_attribute("aria-pressed") == "true"
    assert found["0:1"][2] == pytest.approx(weights(3, 5, 7, 1)[2, 1, 4])


def test_lines_by_keyboard_and_by_touch(view):
    visitor = view("lines", width=390, touch=True)
    page = visitor.page
    expected = weights(3, 5, 7)[0]
    top = token(visitor, 0, 3).bounding_box()["y"]
    with Silence(visitor):
        token(visitor, 0, 3).tap()
        assert token(visitor, 0, 3).get_attribute("aria-pressed") == "true"
        assert striped(visitor)["1:5"][0] == pytest.approx(expected[3, 5])
        token(visitor, 0, 3).press("Escape")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Home")
        assert striped(visitor)["0:4"][0] == pytest.approx(expected[4, 0])
    assert token(visitor, 0, 3).bounding_box()["y"] == top  # nothing moved under the finger
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_256_tokens_and_12_heads_answer_at_once(view):
    visitor = view("many")
    with Silence(visitor):
        visitor.page.get_by_role("button", name="All", exact=True).click()
        spent = token(visitor, 0, 40).evaluate(
            """async node => {
                 const start = performance.now();
                 node.dispatchEvent(new PointerEvent('pointerover', {bubbles: true, pointerType: 'mouse'}));
                 return performance.now() - start;
               }"""
        )
        assert spent < 1000  # measured: 20 to 60 ms on a busy machine
    found = striped(visitor)
    expected = weights(12, 256, 256)
    drawn = np.array([[found[f"1:{j}"][head] for j in range(256)] for head in range(12)])
    # half a step of rounding; a weight that is not 0 is at least one step
    np.testing.assert_allclose(drawn, expected[:, 40], atol=1.01 / UNITS)


@pytest.mark.parametrize(("case", "width", "scheme"), [("marked", 390, "dark"), ("lines", 1440, "light")])
def test_nothing_sticks_out_in_chinese(view, case, width, scheme):
    visitor = view(case, width=width, scheme=scheme, lang="zh")
    assert visitor.page.evaluate("document.documentElement.scrollWidth") <= width
    token(visitor, 0, 1).hover()
    assert "1 " in visitor.page.locator(".panel").inner_text() and "注意" in visitor.page.locator(".panel").inner_text()
    ink = token(visitor, 0, 0).evaluate("node => getComputedStyle(node.closest('.root')).color")
    assert (sum(json.loads("[" + ink[4:-1] + "]")) > 384) == (scheme == "dark")


@pytest.mark.usefixtures("minilm_folder")
def test_the_real_model_in_both_views_without_a_word_to_the_server(visit, minilm: Model):
    run = minilm.run(TEXT, switches=Switches(scaling=False))
    expected = run.trace(run.calls[3]).weights[0].numpy()
    link = TEXT.replace(" ", "+")
    visitor = visit(f"?view=text&layer=3&head=5&scaling=off&text={link}")
    token(visitor, 0, 2).wait_for()
    with Silence(visitor):
        for query in (2, 5, 8):
            token(visitor, 0, query).hover()
            row = [shaded(visitor)[f"0:{j}"] for j in range(len(expected[5]))]
            # float32 as sent; two processes may round a dot product differently in the last place
            np.testing.assert_allclose(row, expected[5, query], rtol=0, atol=1e-6)
        token(visitor, 0, 5).click()
    visitor.page.get_by_role("radio", name="Lines", exact=True).click()
    token(visitor, 1, 2).wait_for()
    visitor.settle()
    with Silence(visitor):
        token(visitor, 1, 2).hover()
        column = [striped(visitor)[f"0:{i}"][5] for i in range(len(expected[5]))]
        np.testing.assert_allclose(column, expected[5, :, 2], rtol=0, atol=1e-6)
    assert "view=lines" in visitor.page.url
