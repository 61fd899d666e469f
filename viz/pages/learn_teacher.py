"""Learn, for the teacher: the link to copy, the hand-out to print, and the lesson screen by screen for a class."""

from collections.abc import Callable, Sequence

import streamlit as st

from viz.components.copy_link import WORDS, copy_link
from viz.handout import handout_html
from viz.lessons.lesson import Lesson
from viz.lessons.words import Slot, Words
from viz.pages import learn_state as state
from viz.pages.learn_state import key
from viz.text import language, t


def tools(lesson: Lesson) -> None:
    """What a teacher takes along, behind one button."""
    with st.popover(t("learn.teaching"), icon=":material/school:", key=key("teaching")):
        st.caption(t("learn.link_says"))
        copy_link(words={name: t(f"learn.link_{name}") for name in WORDS}, key=key("copy_link"))
        st.caption(t("learn.handout_says"))
        solutions = st.toggle(t("learn.handout_solutions"), value=True, key=key("handout_solutions"))
        st.download_button(
            t("learn.handout"), _handout(lesson, language(), solutions=solutions), f"{_file(lesson)}.html",
            "text/html", key=key("handout"), icon=":material/download:", on_click="ignore",
        )  # fmt: skip


def _file(lesson: Lesson) -> str:
    return f"headscope-{lesson.number:02d}-{lesson.name}-{language()}"


def _handout(lesson: Lesson, code: str, *, solutions: bool) -> Callable[[], str]:
    """Makes the file when it is asked for, with the settings as they are then."""
    known = state.shared()
    return lambda: handout_html(
        lesson, known["values"], code=code, solutions=solutions, address=known["address"]
    )  # fmt: skip


def bar(lesson: Lesson, made: Words, count: int) -> None:
    """Where one is among the screens, and the way on: keys PageUp and PageDown, as every remote control sends them."""
    place = min(state.screen(), count - 1)
    before, after = state.neighbour(-1), state.neighbour(1)
    with st.container(key=key("bar"), horizontal=True, vertical_alignment="center", gap="small"):
        title = f"{lesson.number}. {made.title}"
        st.progress((place + 1) / count, text=t("learn.screen", title=title, place=place + 1, count=count))
        st.button(
            t("learn.screen_back"), key=key("screen_back"), shortcut="PageUp", icon=":material/arrow_back:",
            disabled=place == 0 and before is None, on_click=_step, args=(place - 1, before),
        )  # fmt: skip
        st.button(
            t("learn.screen_forward"), key=key("screen_forward"), shortcut="PageDown",
            icon=":material/arrow_forward:", disabled=place == count - 1 and after is None,
            on_click=_step, args=(place + 1 if place < count - 1 else -1, after), type="primary",
        )  # fmt: skip


def _step(place: int, beyond: Lesson | None) -> None:
    """To a screen of this lesson; a place below 0 is past its end, where another lesson begins."""
    if place >= 0:
        state.open_screen(place)
    elif beyond is not None:
        state.open_lesson(beyond.name)


def shown(screens: Sequence[tuple[str | Slot, ...]]) -> tuple[tuple[str | Slot, ...], bool]:
    """The pieces on the screen, and whether it is the last one."""
    place = min(state.screen(), len(screens) - 1)
    return screens[place], place == len(screens) - 1
