"""Draws the live parts of a lesson: switches, then what they make; a part redraws itself alone."""

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import streamlit as st

from viz.figures.enlarge import enlarged
from viz.lessons.lesson import (
    Asked,
    Beside,
    Chart,
    Choice,
    Flag,
    Lesson,
    LessonError,
    Part,
    Pick,
    Question,
    Quiz,
    Say,
    Scale,
    Sentence,
    Shown,
    Span,
    Sum,
    Switch,
    Table,
    Walk,
)
from viz.pages import frame
from viz.pages import learn_state as state
from viz.pages.charts import chart as drawn_chart
from viz.pages.learn_state import key
from viz.text import t

_FOR_A_CLASS = 1.5  # how many times larger a class sees a figure
_SHORT = {"caption": st.caption, "info": st.info, "warning": st.warning, "text": st.markdown}


def part(lesson: Lesson, shown: Part) -> None:
    """A part, or what stands in its place until its question is answered."""
    waits = shown.after and not state.is_open(lesson, shown.name)
    if waits and not state.answers(lesson, lesson.question(shown.after)):
        with st.container(key=key(lesson.name, shown.name, "waits"), horizontal=True, vertical_alignment="center"):
            st.caption(t("learn.predict_first"), width="stretch")
            st.button(
                t("learn.show"), key=key(lesson.name, shown.name, "show"), type="tertiary",
                on_click=state.open_part, args=(lesson, shown.name),
            )  # fmt: skip
        return
    _live(lesson.name, shown.name)


@st.fragment
def _live(lesson_name: str, part_name: str) -> None:
    frame.calm(_draw)(lesson_name, part_name)


def _draw(lesson_name: str, part_name: str) -> None:
    lesson = state.BY_NAME[lesson_name]
    shown = lesson.part(part_name)
    _keep_picks(lesson, shown)
    with st.container(key=key(lesson.name, shown.name, "part"), border=True):
        _walks(lesson, shown)
        above = st.container() if frame.presenting() else None  # a class sees the figure first, then what sets it
        _switches(lesson, shown)
        with above or nullcontext():
            try:
                made = shown.draw(state.values(lesson))
            except LessonError as error:
                st.error(error.text)
            else:
                _all(lesson, shown, made)
    state.publish()


def _keep_picks(lesson: Lesson, shown: Part) -> None:
    """A place that is no longer there becomes the last one."""
    for switch in shown.switches:
        if isinstance(switch, Pick):
            there = len(switch.labels(state.values(lesson)))
            state.put(lesson, switch.name, max(0, min(state.get(lesson, switch.name), there - 1)))


def _walks(lesson: Lesson, shown: Part) -> None:
    for switch in shown.switches:
        if isinstance(switch, Walk):
            _walk(lesson, switch)


def _switches(lesson: Lesson, shown: Part) -> None:
    plain = [switch for switch in shown.switches if not isinstance(switch, Walk)]
    if plain:
        with st.container(
            key=key(lesson.name, shown.name, "switches"), horizontal=True, vertical_alignment="bottom", gap="medium"
        ):
            for switch in plain:
                _switch(lesson, switch)


def _switch(lesson: Lesson, switch: Switch) -> None:
    stem = f"lesson.{lesson.name}.{switch.name}"
    common: dict[str, Any] = {"key": key(lesson.name, switch.name), "help": t(f"{stem}.help")}
    label = t(stem)
    if isinstance(switch, Sentence):
        st.text_input(label, width=420, **common)
    elif isinstance(switch, Flag):
        st.toggle(label, **common)
    elif isinstance(switch, Span):
        st.slider(label, switch.low, switch.high, step=switch.step, width=260, **common)
    elif isinstance(switch, Pick):
        labels = list(switch.labels(state.values(lesson)))
        st.selectbox(label, range(len(labels)), format_func=labels.__getitem__, width=150, **common)
    elif isinstance(switch, Scale):
        st.select_slider(label, switch.codes, width=260, **common)
    elif isinstance(switch, Choice):
        st.segmented_control(
            label, switch.codes, required=True, width="content", **common,
            format_func=lambda code: t(f"{stem}.{code}") if isinstance(code, str) else str(code),
        )  # fmt: skip


def _walk(lesson: Lesson, switch: Walk) -> None:
    stem = f"lesson.{lesson.name}.{switch.name}"
    place = switch.codes.index(state.get(lesson, switch.name))
    name = t(f"{stem}.{switch.codes[place]}")
    st.progress(
        (place + 1) / len(switch.codes), text=t("learn.stage", place=place + 1, count=len(switch.codes), name=name)
    )
    with st.container(
        key=key(lesson.name, switch.name, "walk"), horizontal=True, vertical_alignment="bottom", gap="small"
    ):
        for step, word, shortcut in ((-1, "step_back", "p"), (1, "step_forward", "n")):
            there = place + step
            inside = 0 <= there < len(switch.codes)
            st.button(
                t(f"learn.{word}"), key=key(lesson.name, switch.name, word), shortcut=shortcut, disabled=not inside,
                on_click=state.put, args=(lesson, switch.name, switch.codes[there] if inside else ""),
            )  # fmt: skip
        st.segmented_control(
            t(stem), switch.codes, key=key(lesson.name, switch.name), help=t(f"{stem}.help"), required=True,
            format_func=lambda code: t(f"{stem}.{code}"), width="content",
        )  # fmt: skip


def _all(lesson: Lesson, shown: Part, made: Sequence[Shown]) -> None:
    for one in made:
        if isinstance(one, Beside):
            for column, inside in zip(st.columns(one.widths or len(one.columns)), one.columns, strict=True):
                with column:
                    _all(lesson, shown, inside)
        elif isinstance(one, Chart):
            _chart(lesson, one)
        elif isinstance(one, Say):
            _SHORT[one.kind](one.text)
        elif isinstance(one, Sum):
            with st.container(key=key(lesson.name, shown.name, "sum")):
                st.code(one.text, language=None, wrap_lines=True)
        elif isinstance(one, Table):
            st.table(dict(one.columns), hide_index=True)
        elif isinstance(one, Quiz):
            _quiz(lesson, one)


def _quiz(lesson: Lesson, quiz: Quiz) -> None:
    """A question among others, its reasons, and how many were right at once."""
    own, right = Question(quiz.name, lambda: Asked((), "")), quiz.solutions[quiz.name]
    given = state.answers(lesson, own)
    with st.container(key=key(lesson.name, "quiz"), border=True):
        chosen = st.radio(
            quiz.ask, list(quiz.answers), index=None, key=key(lesson.name, quiz.name),
            format_func=quiz.answers.__getitem__, disabled=right in given,
        )  # fmt: skip
        st.button(
            t("learn.check"), key=key(lesson.name, quiz.name, "check"), on_click=state.answer, args=(lesson, own),
            disabled=chosen is None or right in given,
        )  # fmt: skip
        if given and given[-1] == right:
            st.success(t("learn.right", why=quiz.whys[right]))
            if quiz.rest:
                st.markdown(quiz.rest)
        elif given:
            st.warning(t("learn.wrong", why=quiz.whys[given[-1]]))
        firsts = {name: state.answers(lesson, Question(name, lambda: Asked((), "")))[:1] for name in quiz.solutions}
        found = sum(first == (quiz.solutions[name],) for name, first in firsts.items())
        asked = sum(bool(first) for first in firsts.values())
        st.caption(t("learn.score", right=found, asked=asked, count=len(quiz.solutions)))


def _chart(lesson: Lesson, chart: Chart) -> None:
    name = key(lesson.name, chart.name, "chart")
    clicks: dict[str, Any] = {}
    if chart.picks is not None:
        clicks = {"selection_mode": "points", "on_select": lambda: _pick(lesson, name, chart.picks)}
    figure = enlarged(chart.figure, _FOR_A_CLASS) if frame.presenting() else chart.figure
    drawn_chart(figure, key=name, title=chart.alt.rstrip(".。"), alt=chart.alt, **clicks)


def _pick(lesson: Lesson, name: str, picks: tuple[str, str] | None) -> None:
    chart = st.session_state.get(name)
    for point in chart["selection"]["points"] if chart else []:
        if "customdata" in point and picks is not None:
            for setting, place in zip(picks, point["customdata"], strict=True):
                state.put(lesson, setting, int(place))
            return
