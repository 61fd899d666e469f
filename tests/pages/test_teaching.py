"""For the teacher: screens, links that carry everything, hand-outs that hold the lesson and nothing of the network."""

import re
from html import unescape
from xml.etree import ElementTree

import pytest

from tests.pages.test_learn_page import link_of
from tests.pages.test_lessons import BOTH, IDS, NAMES, clean, press, visit
from viz.figures.standalone import figure_block
from viz.handout import handout_html
from viz.handout.prose import formulas, mathml, to_html
from viz.lessons import LESSONS
from viz.lessons.lesson import Beside, Chart, Choice, Flag, Lesson, Pick, Say, Sentence, Span
from viz.lessons.screens import screens
from viz.lessons.words import words
from viz.pages import learn_state
from viz.text import LANGUAGES, TEXTS, t, use_language

pytestmark = pytest.mark.usefixtures("minilm_folder")
SCALING = learn_state.BY_NAME["scaling"]
STEPS = learn_state.BY_NAME["steps"]


@pytest.fixture(autouse=True)
def _own_language():
    use_language("en")
    yield
    use_language(None)


def defaults(lesson: Lesson) -> dict:
    return {switch.name: learn_state.default(lesson, switch) for switch in lesson.switches}


def body(text: str) -> str:
    return unescape(text.partition("</head>")[2])


# ---------------------------------------------------------------------------------------------------------------------
# screens


@pytest.mark.parametrize(("lesson", "language"), BOTH, ids=IDS)
def test_every_piece_of_a_lesson_is_on_one_screen_in_order(lesson: Lesson, language: str):
    made = words(lesson, language)
    cut = screens(made)
    pieces = [piece for screen in cut for piece in screen]
    assert [piece for piece in pieces if not isinstance(piece, str)] == list(made.slots)
    squeezed = ["".join("".join(p for p in some if isinstance(p, str)).split()) for some in (pieces, made.blocks)]
    assert squeezed[0] == squeezed[1]
    for screen in cut:
        assert [isinstance(piece, str) for piece in screen] in ([True], [False], [True, False])


def test_presenting_goes_screen_by_screen_into_the_next_lesson_and_back():
    app = visit(lesson="steps", present="1")
    seen = []
    while app.session_state["learn_lesson"] == "steps":
        bar = clean(app).get("progress")[0].proto.text
        seen.append(bar)
        press(app, "screen_forward")
    count = len(screens(words(STEPS, "en")))
    title = f"3. {words(STEPS, 'en').title}"
    assert seen == [t("learn.screen", title=title, place=place, count=count) for place in range(1, count + 1)]
    assert link_of(app) == {"lang": "en", "present": "1", "lesson": "scaling"}
    press(app, "screen_forward")
    assert link_of(app)["screen"] == "2"
    press(app, "screen_back")
    press(app, "screen_back")
    assert app.session_state["learn_lesson"] == "steps"


def test_a_link_opens_the_screen_and_leaving_shows_the_whole_lesson():
    app = visit(lesson="scaling", present="1", screen="2")
    assert len(app.get("radio")) == 1 and not [b for b in app.button if b.key == "learn_forward_above"]
    [leave] = [button for button in app.button if button.key == "frame_present"]
    clean(leave.click().run())
    assert link_of(app) == {"lang": "en", "lesson": "scaling"}
    assert len(app.get("radio")) == 4 and [b for b in app.button if b.key == "learn_forward_above"]


@pytest.mark.parametrize("screen", ["0", "x", "-1", "1e3", "99999"])
def test_a_screen_that_is_none_is_named(screen: str):
    app = visit(lesson="scaling", present="1", screen=screen)
    assert app.warning[0].value == t("learn.link_ignored", names="screen")


def test_a_screen_past_the_last_is_the_last():
    bar = visit(lesson="scaling", present="1", screen="999").get("progress")[0].proto.text
    count = len(screens(words(SCALING, "en")))
    assert f"screen {count} of {count}" in bar


# ---------------------------------------------------------------------------------------------------------------------
# links


def other(switch) -> str:
    """A value that is not the default, as it stands in a link."""
    if isinstance(switch, Flag):
        return "0" if switch.default else "1"
    if isinstance(switch, Choice):
        return str(next(code for code in reversed(switch.codes) if code != switch.default))
    if isinstance(switch, Span):
        value = switch.low + switch.step if switch.default != switch.low + switch.step else switch.high
        return f"{value:.12g}"
    return "1 0 1" if not isinstance(switch, Sentence | Pick) else "go on then" if isinstance(switch, Sentence) else "1"


@pytest.mark.parametrize("lesson", [lesson for lesson in LESSONS if lesson.switches], ids=lambda lesson: lesson.name)
def test_every_setting_of_every_lesson_travels(lesson: Lesson):
    wanted = {switch.name: other(switch) for switch in lesson.switches}
    picks = [switch for switch in lesson.switches if isinstance(switch, Pick) and switch.default == 1]
    wanted |= {switch.name: "0" for switch in picks}
    app = visit(lesson=lesson.name, **wanted)
    for part in lesson.parts:  # a part that waits draws no switches; its settings travel all the same
        if f"learn_{lesson.name}_{part.name}_show" in {button.key for button in app.button}:
            press(app, lesson.name, part.name, "show")
    assert not [box.value for box in app.warning if "of the link" in box.value]
    link = link_of(app)
    assert {name: link.get(name) for name in wanted} == wanted
    for switch in lesson.switches:
        assert app.session_state[f"learn_{lesson.name}_{switch.name}"] == switch.parse(wanted[switch.name])


# ---------------------------------------------------------------------------------------------------------------------
# hand-outs


def shown_texts(lesson: Lesson):
    """Every text that a part says with its first settings."""
    waiting = [one for part in lesson.parts for one in part.draw(defaults(lesson))]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Beside):
            waiting += [inside for column in one.columns for inside in column]
        elif isinstance(one, Say):
            yield one.text


@pytest.mark.parametrize(("lesson", "language"), BOTH, ids=IDS)
def test_every_formula_becomes_mathml(lesson: Lesson, language: str):
    use_language(language)
    column = list(LANGUAGES).index(language)
    texts = [block for block in words(lesson, language).blocks if isinstance(block, str)]
    texts += [both[column] for key, both in TEXTS.items() if key.startswith(f"lesson.{lesson.name}.")]
    texts += shown_texts(lesson)
    for latex, display in (found for text in texts for found in formulas(text)):
        made = ElementTree.fromstring(mathml(latex, display=display))
        assert made.tag.endswith("math") and made.get("display") == ("block" if display else "inline")
        drawn = "".join(made.itertext())
        assert drawn.strip() and "\\" not in drawn, latex


def test_prose_becomes_html_and_html_in_it_does_not():
    made = to_html("A **b** `$c$` \\$5 <i>d</i> $e_1$\n\n$$f < g$$\n\n- h")
    assert "<strong>b</strong>" in made and "<code>$c$</code>" in made and "$5" in made
    assert "&lt;i&gt;" in made and made.count("<math") == 2 and "<li>h</li>" in made
    assert mathml("<_", display=False) == "<code>&lt;_</code>"


@pytest.mark.parametrize(("name", "language"), [(n, code) for n in NAMES for code in LANGUAGES])
def test_a_handout_holds_the_whole_lesson(name: str, language: str):
    use_language(language)
    lesson = learn_state.BY_NAME[name]
    text = handout_html(lesson, defaults(lesson), code=language, solutions=True, address="http://a/learn?lesson=b")
    made = body(text)
    charts = [one for part in lesson.parts for one in flat(part.draw(defaults(lesson))) if isinstance(one, Chart)]
    assert text.count("Plotly.newPlot(") - text.partition("</head>")[0].count("Plotly.newPlot(") == len(charts)
    assert text.partition("</head>")[0].count("<script") == 1
    assert not re.search(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=", text)
    assert "http://a/learn?lesson=b" in made
    solved = made.partition('class="solutions"')[2]
    for question in lesson.questions:
        asked, stem = question.ask(), f"lesson.{name}.{question.name}"
        right = "ABCDEFGH"[asked.codes.index(asked.answer)]
        assert solved.count(plain(t(f"{stem}.ask", **asked.values)))
        place = solved.index(plain(t(f"{stem}.ask", **asked.values)))
        assert t("handout.right", letter=right) in solved[place:].partition("<ol>")[0]
        for code in asked.codes:
            assert plain(t(f"{stem}.{code}.why", **asked.values)) in solved


def flat(shown):
    for one in shown:
        if isinstance(one, Beside):
            yield from (inside for column in one.columns for inside in flat(column))
        else:
            yield one


def plain(text: str) -> str:
    return unescape(to_html(text)).strip().removeprefix("<p>").removesuffix("</p>")


def test_solutions_can_be_left_out():
    text = body(handout_html(SCALING, defaults(SCALING), code="en", solutions=False))
    why = plain(t("lesson.scaling.grows.four.why", **SCALING.question("grows").ask().values))
    assert 'class="solutions"' not in text and why not in text
    assert text.count('class="question"') == 4 and text.count('class="line"') == 8


def test_a_handout_shows_the_settings_of_the_page():
    first, second = (
        handout_html(SCALING, defaults(SCALING) | {"d_k": d_k}, code="en", solutions=False) for d_k in (64, 256)
    )
    assert "d_k: 64 ·" in body(first) and "d_k: 256 ·" in body(second)
    tables = [re.findall(r"<td>(.*?)</td>", body(text)) for text in (first, second)]
    assert tables[0] != tables[1]


def test_a_sentence_in_a_handout_runs_nothing():
    evil = "</script><script>alert(1)</script> <img src=x>"
    text = handout_html(STEPS, defaults(STEPS) | {"text": evil}, code="en", solutions=True)
    assert evil not in text.partition("</head>")[2] and "<script>alert" not in text.partition("</head>")[2]


def test_a_setting_that_cannot_be_used_is_said_in_the_handout():
    text = handout_html(STEPS, defaults(STEPS) | {"text": "  "}, code="zh", solutions=False)
    assert TEXTS["lesson.steps.no_token"][1] in body(text)


def test_the_language_of_a_handout_is_its_own():
    assert '<html lang="zh">' in handout_html(STEPS, defaults(STEPS), code="zh", solutions=False)
    assert t("learn.title") == "Learn"


def test_a_figure_on_paper_has_its_width():
    chart = next(one for one in flat(STEPS.parts[0].draw(defaults(STEPS))) if isinstance(one, Chart))
    block = figure_block(chart.figure, width=331)
    assert '"width":331' in block and '"responsive": false' in block and "cdn" not in block
