"""The course: every lesson in both languages, every text there, figures and answers made by the core as it is."""

import importlib
import json
import re
from typing import Any

import pytest
import torch
from streamlit.testing.v1 import AppTest

import viz.services
from attention_core import attention, variants
from tests.figures.spec import spec
from viz.lessons import LESSONS
from viz.lessons.lesson import Beside, Chart, Choice, Flag, Lesson, Pick, Say, Scale, Sentence, Shown, Span, Sum, Table
from viz.lessons.words import Slot, parse, words
from viz.pages.explore_state import SETTINGS as EXPLORE
from viz.pages.mask_lab_state import SETTINGS as MASK_LAB
from viz.services import attention as kept_runs
from viz.services import overview
from viz.text import LANGUAGES, TEXTS, t, use_language

SCRIPT = """
from viz.pages import explore, explore_state, frame, learn, learn_state, mask_lab, mask_lab_state
frame.show([
    frame.Page("learn", learn.render, learn_state.KEPT),
    frame.Page("explore", explore.render, tuple(map(explore_state.key, explore_state.SETTINGS))),
    frame.Page("mask_lab", mask_lab.render, mask_lab_state.KEPT),
])
"""
NAMES = [lesson.name for lesson in LESSONS]
BOTH = [(lesson, language) for lesson in LESSONS for language in LANGUAGES]
IDS = [f"{lesson.name}-{language}" for lesson, language in BOTH]


pytestmark = pytest.mark.usefixtures("minilm_folder")


@pytest.fixture(autouse=True)
def _own_language():
    yield
    use_language(None)


def visit(**link: str) -> AppTest:
    app = AppTest.from_string(SCRIPT, default_timeout=60)
    for name, value in {"lang": "en", **link}.items():
        app.query_params[name] = value
    return clean(app.run())


def clean(app: AppTest) -> AppTest:
    assert not app.exception
    assert not [error.value for error in app.error if "could not be drawn" in error.value]
    return app


def press(app: AppTest, *names: str) -> AppTest:
    [button] = [b for b in app.button if b.key == "learn_" + "_".join(names)]
    return clean(button.click().run())


def widget(app: AppTest, kind: str, *names: str) -> Any:
    [found] = [w for w in app.get(kind) if w.key == "learn_" + "_".join(names)]
    return found


def charts(app: AppTest) -> dict[str, dict]:
    found = {}
    for chart in app.get("plotly_chart"):
        name = chart.proto.id.rpartition("-learn_")[2].removesuffix("_chart")
        found[name] = json.loads(chart.proto.spec, parse_constant=lambda text: pytest.fail(f"{text} is not JSON"))
    return found


def said(app: AppTest) -> str:
    kinds = ("markdown", "caption", "success", "warning", "info", "error", "header", "code", "table")
    return "\n".join(str(getattr(element, "value", "")) for kind in kinds for element in app.get(kind))


def defaults(lesson: Lesson) -> dict[str, Any]:
    return {
        s.name: t(f"lesson.{lesson.name}.{s.name}.default") if isinstance(s, Sentence) else s.default
        for s in lesson.switches
    }


def leaves(shown: Any) -> list[Shown]:
    found: list[Shown] = []
    for one in shown:
        found += leaves([inner for column in one.columns for inner in column]) if isinstance(one, Beside) else [one]
    return found


# ---------------------------------------------------------------------------------------------------------------------
# words


@pytest.mark.parametrize(("lesson", "language"), BOTH, ids=IDS)
def test_the_words_are_there_with_every_slot(lesson: Lesson, language: str):
    made = words(lesson, language)
    chinese = re.compile(r"[\u3400-\u9fff]")
    prose = "".join(block for block in made.blocks if isinstance(block, str))
    assert bool(chinese.search(made.title + prose)) is (language == "zh")
    if language == "zh":  # no sentence left in English; code and formulas are no sentences
        plain = re.sub(r"\$[^$]*\$|`[^`]*`", "", prose)
        assert not re.search(r"[A-Za-z]{3,} [a-z]{3,} [a-z]{3,}", plain)
    assert "$" in prose, "a lesson has its formula"


@pytest.mark.parametrize("lesson", LESSONS, ids=NAMES)
def test_both_languages_have_the_slots_in_one_order(lesson: Lesson):
    assert words(lesson, "en").slots == words(lesson, "zh").slots


def test_numbers_and_names_are_in_order_and_once():
    numbers = [lesson.number for lesson in LESSONS]
    assert numbers == sorted(set(numbers)) and len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("No title\n[[part a]]", "begins with its title, '# Title': got 'No title'"),
        ("# T\n", r"each slot of the lesson once: missing, unknown or twice: \['part a'\]"),
        ("# T\n[[part a]]\n[[part a]]", "each slot of the lesson once"),
        ("# T\n[[part a]]\n[[question b]]", r"twice: \['question b'\]"),
    ],
)
def test_faulty_words_are_refused(text: str, message: str):
    with pytest.raises(ValueError, match=message):
        parse(text, frozenset({Slot("part", "a")}))


def test_words_are_cut_at_their_slots():
    made = parse("# T\n\none\n\n[[part a]]\n\ntwo\nthree\n", frozenset({Slot("part", "a")}))
    assert (made.title, made.blocks) == ("T", ("one", Slot("part", "a"), "two\nthree"))


def test_a_lesson_in_one_language_only_is_refused(tmp_path, monkeypatch):
    from viz.lessons import words as module

    (tmp_path / "en").mkdir()
    (tmp_path / "en" / f"{LESSONS[0].number:02d}_{LESSONS[0].name}.md").write_text("# T\n")
    monkeypatch.setattr(module, "_FOLDER", tmp_path)
    module._read.cache_clear()
    with pytest.raises(FileNotFoundError):
        words(LESSONS[0], "zh")
    module._read.cache_clear()


def needed(lesson: Lesson) -> set[str]:
    stem = f"lesson.{lesson.name}."
    keys = {f"{stem}go", f"{stem}go.why"}
    for switch in lesson.switches:
        keys |= {stem + switch.name, f"{stem}{switch.name}.help"}
        if isinstance(switch, Sentence):
            keys.add(f"{stem}{switch.name}.default")
        if isinstance(switch, Choice) and not isinstance(switch, Scale):
            keys |= {f"{stem}{switch.name}.{code}" for code in switch.codes if isinstance(code, str)}
    for question in lesson.questions:
        keys.add(f"{stem}{question.name}.ask")
        for code in question.ask().codes:
            keys |= {f"{stem}{question.name}.{code}", f"{stem}{question.name}.{code}.why"}
    return keys


@pytest.mark.parametrize("lesson", LESSONS, ids=NAMES)
def test_every_text_of_a_lesson_is_there(lesson: Lesson):
    assert needed(lesson) - TEXTS.keys() == set()


@pytest.mark.parametrize(("lesson", "language"), BOTH, ids=IDS)
def test_questions_are_asked_with_one_right_answer_and_a_reason_for_each(lesson: Lesson, language: str):
    use_language(language)
    assert len(lesson.questions) >= 2
    for question in lesson.questions:
        asked = question.ask()
        assert asked.answer in asked.codes and len(set(asked.codes)) == len(asked.codes) >= 2
        stem = f"lesson.{lesson.name}.{question.name}"
        for key in (f"{stem}.ask", *(f"{stem}.{code}{end}" for code in asked.codes for end in ("", ".why"))):
            assert "{" not in t(key, **asked.values)


# ---------------------------------------------------------------------------------------------------------------------
# parts, without the page


def settings_tried(lesson: Lesson) -> list[dict[str, Any]]:
    """The defaults, and each switch at its ends with the others at their defaults."""
    tried = [defaults(lesson)]
    for switch in lesson.switches:
        values: tuple = ()
        if isinstance(switch, Choice):
            values = switch.codes if len(switch.codes) < 10 else (switch.codes[0], switch.codes[-1])
        elif isinstance(switch, Span):
            values = (switch.low, switch.high)
        elif isinstance(switch, Flag):
            values = (not switch.default,)
        elif isinstance(switch, Sentence):
            values = ("我打你", "a", "a $x$ <b> *c* `d`", " ".join("abcdefghijklmnop"))
        tried += [{**tried[0], switch.name: value} for value in values]
    return tried


@pytest.mark.parametrize(("lesson", "language"), BOTH, ids=IDS)
def test_every_part_draws_at_every_setting(lesson: Lesson, language: str):
    use_language(language)
    for values in settings_tried(lesson) if language == "en" else [defaults(lesson)]:
        for part in lesson.parts:
            here = dict(values)
            for switch in part.switches:
                if isinstance(switch, Pick):
                    here[switch.name] = min(here[switch.name], len(switch.labels(here)) - 1)
            shown = leaves(part.draw(here))
            assert any(isinstance(one, Chart | Table) for one in shown)
            for one in shown:
                if isinstance(one, Chart):
                    assert one.alt and spec(one.figure)["data"]
                if isinstance(one, Table):
                    assert len({len(column) for column in one.columns.values()}) == 1
                if isinstance(one, Say | Sum):
                    assert one.text.strip()


@pytest.mark.parametrize("lesson", LESSONS, ids=NAMES)
def test_settings_travel_as_text(lesson: Lesson):
    names = [switch.name for switch in lesson.switches]
    taken = {"lesson", "lang", "go", *(question.name for question in lesson.questions)}
    assert len(set(names)) == len(names) and not taken & set(names)
    for values in settings_tried(lesson):
        for switch in lesson.switches:
            value = values[switch.name]
            text = ("1" if value else "0") if isinstance(switch, Flag) else str(value)
            assert switch.parse(text) == value
        for switch in lesson.switches:
            if not isinstance(switch, Sentence):
                with pytest.raises((ValueError, KeyError)):
                    switch.parse("-99999")


@pytest.mark.parametrize("lesson", LESSONS, ids=NAMES)
def test_a_lesson_leads_to_settings_that_are_known(lesson: Lesson):
    known = EXPLORE if lesson.leads_to.page == "explore" else MASK_LAB
    for name, text in lesson.leads_to.settings.items():
        known[name].parse(text)
    assert lesson.leads_to.page == "explore" or not lesson.leads_to.text
    assert not lesson.leads_to.text or lesson.leads_to.text in TEXTS


# ---------------------------------------------------------------------------------------------------------------------
# a broken core


class BrokenTorch:
    """torch with scores doubled and turned around, and a softmax that shares unevenly and too little."""

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)

    def matmul(self, left, right, *, out=None):
        return torch.matmul(left, right) * -3.0

    def softmax(self, logits, dim, out=None):
        return torch.softmax(logits, dim=dim) * 0.5


def forget() -> None:
    """Empties every cache of the lessons' services."""
    import pkgutil

    for info in pkgutil.iter_modules(viz.services.__path__):
        if info.name.startswith("lessons_"):
            for thing in vars(importlib.import_module(f"viz.services.{info.name}")).values():
                if hasattr(thing, "cache_clear"):
                    thing.cache_clear()
    kept_runs._runs.clear()
    overview._kept._entries.clear()


def print_of(lesson: Lesson) -> dict[str, str]:
    """Part or question -> what it shows, as one string."""
    made = {}
    for part in lesson.parts:
        if f"part {part.name}" in TIMED.get(lesson.name, set()):
            continue
        texts = []
        for one in leaves(part.draw({**defaults(lesson), **LATE_STAGE.get(lesson.name, {})})):
            texts.append(one.figure.to_json() if isinstance(one, Chart) else repr(one))
        made[f"part {part.name}"] = "\n".join(texts)
    for question in lesson.questions:
        made[f"question {question.name}"] = repr(question.ask())
    return made


def answer_in(printed: str) -> str:
    found = re.search(r"answer='(\w+)'", printed)
    assert found
    return found[1]


TURNED = {  # questions that a core broken in this way answers wrongly
    "lookup": {"question longer"},
    "steps": {"question first", "question sums"},
    "scaling": {"question gradient", "question top"},
    "masks": {"question hollow"},
    "cross": {"question blunt"},
    "bill": {"question exact", "question fits"},
    "reading": {"question fetch"},
    "checklist": {"question scaling"},
}
LATE_STAGE = {"steps": {"stage": "weights"}, "checklist": {"on": "right"}}
TIMED = {"bill": {"part measured"}}  # another number every time
UNTOUCHED = {  # what rests on torch alone, on sizes, or on a sum that the break leaves as it is
    "steps": {"question shape"},
    "masks": {"part meanings", "question true"},
    "paths": {"question layers", "question reach"},
    "heads": {"part bills", "question parameters", "question cache"},
    "cross": {"question shape"},
    "order": {"part pictures"},
    "cache": {"part bill", "question fresh", "question saved"},
    "bill": {"question doubled"},
    "bugs": {"question sums", "question evidence"},  # the faults compute by themselves
    "checklist": {"question gradient"},  # of an implementation that computes by itself
}


@pytest.mark.parametrize("lesson", LESSONS, ids=NAMES)
def test_a_broken_core_is_seen(lesson: Lesson, monkeypatch):
    use_language("en")
    forget()
    right = print_of(lesson)
    try:
        monkeypatch.setattr(attention, "torch", BrokenTorch())
        monkeypatch.setattr(variants, "torch", BrokenTorch())
        forget()
        broken = print_of(lesson)
    finally:
        monkeypatch.undo()
        forget()
    asked = [name for name in right if name.startswith("question")]
    wrong = {name for name in asked if answer_in(right[name]) != answer_in(broken[name])}
    assert wrong == TURNED.get(lesson.name, set())
    unchanged = {name for name in right if right[name] == broken[name]}
    assert unchanged == UNTOUCHED.get(lesson.name, set())
    assert print_of(lesson) == right  # and the same again from the core as it is


# ---------------------------------------------------------------------------------------------------------------------
# the page


@pytest.mark.parametrize(("lesson", "language"), BOTH, ids=IDS)
def test_every_lesson_is_drawn_answered_and_left(lesson: Lesson, language: str):
    app = visit(lang=language, lesson=lesson.name)
    use_language(language)
    assert words(lesson, language).title in said(app)
    for question in lesson.questions:
        asked = question.ask()
        wrong = next(code for code in asked.codes if code != asked.answer)
        for code in (wrong, asked.answer):
            radio = widget(app, "radio", lesson.name, question.name).set_value(code)
            if code == wrong:
                radio.run()  # until something is chosen, the button sleeps
            press(app, lesson.name, question.name, "check")
            why = t(f"lesson.{lesson.name}.{question.name}.{code}.why", **asked.values)
            right = code == asked.answer
            told = t("learn.right" if right else "learn.wrong", why=why)
            assert told in [box.value for box in (app.success if right else app.warning)]
    drawn = charts(app)
    shown = [one for part in lesson.parts for one in leaves(part.draw(defaults(lesson))) if isinstance(one, Chart)]
    for one in shown:
        assert drawn[f"{lesson.name}_{one.name}"]["data"] == spec(one.figure)["data"]
    done, count = len(lesson.questions), sum(len(one.questions) for one in LESSONS)
    assert t(
        "learn.progress", place=LESSONS.index(lesson) + 1, count=len(LESSONS), here=done, here_asked=done, right=done,
        asked=count,
    ) in [bar.proto.text for bar in app.get("progress")]  # fmt: skip
