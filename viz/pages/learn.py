"""Learn: lessons that run. The words come from files, every figure and every answer is computed when it is shown."""

from pathlib import Path

import streamlit as st

from viz.lessons import LESSONS
from viz.lessons.lesson import Lesson, LessonError, Question
from viz.lessons.screens import screens
from viz.lessons.words import Slot, Words, words
from viz.pages import explore_sent, frame, learn_parts, learn_teacher, mask_lab_sent, take_away
from viz.pages import learn_state as state
from viz.pages.learn_state import key
from viz.text import language, t

_STYLES = Path(__file__).resolve().parents[2] / "assets" / "styles" / "learn.css"

_TO_THE_TOP = "<script data-lesson='{name}'>document.querySelector('[data-testid=stMain]')?.scrollTo(0, 0)</script>"


def render() -> None:
    """Draws the page from top to bottom: which lesson, its words with its live parts and questions, where it leads."""
    st.html(_STYLES)
    state.restore()
    lesson = state.lesson()
    take_away.begin(state.PREFIX)
    made = words(lesson, language())
    if frame.presenting():
        _for_a_class(lesson, made)
    else:
        _whole(lesson, made)
    if state.is_new():
        st.html(_TO_THE_TOP.format(name=lesson.name), unsafe_allow_javascript=True)


def _whole(lesson: Lesson, made: Words) -> None:
    with st.container(key=key("page")):
        _which(lesson)
        _about_the_link()
        st.header(f"{lesson.number}. {made.title}", anchor=False)
        _blocks(lesson, made.blocks)
        _leads_to(lesson)
        _steps("below")
        take_away.fold(state.PREFIX, (made.title,))


def _for_a_class(lesson: Lesson, made: Words) -> None:
    """One screen of the lesson, and the way to the next."""
    cut = screens(made)
    learn_teacher.bar(lesson, made, len(cut))
    with st.container(key=key("screen")):
        _about_the_link()
        blocks, last = learn_teacher.shown(cut)
        if cut.index(blocks) == 0:
            st.header(f"{lesson.number}. {made.title}", anchor=False)
        _blocks(lesson, blocks)
        if last:
            _leads_to(lesson)


def _about_the_link() -> None:
    if not state.publish():
        st.caption(t("learn.link_too_long"))
    if state.ignored():
        st.warning(t("learn.link_ignored", names=", ".join(state.ignored())))


def _blocks(lesson: Lesson, blocks: tuple[str | Slot, ...]) -> None:
    for block in blocks:
        if isinstance(block, str):
            st.markdown(block)
        elif block.kind == "part":
            learn_parts.part(lesson, lesson.part(block.name))
        else:
            _question(lesson, lesson.question(block.name))


def _which(lesson: Lesson) -> None:
    with st.container(key=key("which"), horizontal=True, vertical_alignment="bottom", gap="small"):
        st.selectbox(
            t("learn.lesson"), [one.name for one in LESSONS], key=key("lesson"), help=t("learn.lesson_help"),
            width=420, format_func=_title,
        )  # fmt: skip
        _step(-1, "above")
        _step(1, "above")
        learn_teacher.tools(lesson)
    right, asked = _score(LESSONS)
    here, here_asked = _score((lesson,))
    line = t(
        "learn.progress", place=LESSONS.index(lesson) + 1, count=len(LESSONS), here=here, here_asked=here_asked,
        right=right, asked=asked,
    )  # fmt: skip
    st.progress((LESSONS.index(lesson) + 1) / len(LESSONS), text=line)


def _title(name: str) -> str:
    lesson = state.BY_NAME[name]
    return f"{lesson.number}. {words(lesson, language()).title}"


def _steps(place: str) -> None:
    with st.container(key=key(place), horizontal=True, gap="small"):
        _step(-1, place)
        _step(1, place)


def _step(step: int, place: str) -> None:
    """A button to the lesson before or after; those above listen to the keyboard too."""
    there = state.neighbour(step)
    name = "back" if step < 0 else "forward"
    st.button(
        t(f"learn.{name}"), key=key(name, place), on_click=state.open_lesson, args=(there.name if there else "",),
        disabled=there is None, icon=":material/arrow_back:" if step < 0 else ":material/arrow_forward:",
        help=None if there is None else _title(there.name),
        shortcut=("Shift+P" if step < 0 else "Shift+N") if place == "above" else None,
    )  # fmt: skip


def _question(lesson: Lesson, question: Question) -> None:
    """One question: its answers, a button, and a reason for what was chosen."""
    try:
        asked = question.ask()
    except LessonError as error:  # what it is about is not on this machine
        st.error(error.text)
        return
    stem = f"lesson.{lesson.name}.{question.name}"
    given = state.answers(lesson, question)
    found = asked.answer in given
    with st.container(key=key(lesson.name, question.name, "box"), border=True):
        st.caption(t("learn.predict"))
        chosen = st.radio(
            t(f"{stem}.ask", **asked.values), asked.codes, index=None, key=key(lesson.name, question.name),
            format_func=lambda code: t(f"{stem}.{code}", **asked.values),
        )  # fmt: skip
        st.button(
            t("learn.check"), key=key(lesson.name, question.name, "check"), on_click=state.answer,
            args=(lesson, question), disabled=chosen is None,
            type="secondary" if found or chosen is None else "primary",
        )  # fmt: skip
        if given:
            told = t(f"{stem}.{given[-1]}.why", **asked.values)
            if given[-1] == asked.answer:
                st.success(t("learn.right", why=told))
            else:
                st.warning(t("learn.wrong", why=told))


def _score(lessons: tuple[Lesson, ...]) -> tuple[int, int]:
    """(questions answered rightly at last, questions)."""
    pairs = [(lesson, question) for lesson in lessons for question in lesson.questions]
    given = [(question, state.answers(lesson, question)) for lesson, question in pairs]
    return sum(bool(codes) and question.ask().answer in codes for question, codes in given), len(pairs)


def _leads_to(lesson: Lesson) -> None:
    there = lesson.leads_to
    with st.container(key=key("go"), border=True):
        st.markdown(t(f"lesson.{lesson.name}.go.why"))
        pressed = st.button(t(f"lesson.{lesson.name}.go"), key=key(lesson.name, "go"), icon=":material/open_in_new:")
    if pressed:
        settings = dict(there.settings) | ({"text": t(there.text)} if there.text else {})
        (explore_sent if there.page == "explore" else mask_lab_sent).receive_settings(settings)
        frame.go(there.page)
