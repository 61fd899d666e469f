"""What the learn page remembers: the lesson, its settings, the answers; kept over reruns and in the link."""

from typing import Any
from urllib.parse import urlencode

import streamlit as st

from viz.lessons import LESSONS
from viz.lessons.lesson import Flag, Lesson, Question, Sentence, Span, Switch
from viz.pages import frame
from viz.text import TEXTS, t

PREFIX = "learn_"
LONGEST_LINK_TEXT = 1500
_LESSON = "lesson"
_SCREEN = "screen"
_RESTORED = PREFIX + "restored"
_IGNORED = PREFIX + "ignored"
_ANSWERS = PREFIX + "answers"  # (lesson, question) -> codes given, in order
_DRAWN = PREFIX + "drawn"  # the lesson and the screen of the last run
_SHARED = PREFIX + "shared"  # see ``shared``
_OPENED = PREFIX + "opened"  # (lesson, part) shown without a prediction


def key(*names: str) -> str:
    """Key of a widget: of a switch, by lesson and name, or of the page."""
    return PREFIX + "_".join(names)


BY_NAME = {lesson.name: lesson for lesson in LESSONS}
KEPT = (
    key(_LESSON),
    *(key(lesson.name, switch.name) for lesson in LESSONS for switch in lesson.switches),
    *(key(lesson.name, question.name) for lesson in LESSONS for question in lesson.questions),
)  # keys that outlive a visit to another page


def lesson() -> Lesson:
    """The lesson on screen."""
    return BY_NAME[st.session_state[key(_LESSON)]]


def open_lesson(name: str) -> None:
    """Goes to the first screen of a lesson; before its chooser is drawn, or in a callback."""
    st.session_state[key(_LESSON)] = name
    open_screen(0)


def screen() -> int:
    """The screen of the lesson that a class sees, from 0; there may be fewer."""
    return st.session_state.get(key(_SCREEN), 0)


def open_screen(place: int) -> None:
    """Goes to a screen of the lesson."""
    st.session_state[key(_SCREEN)] = place


def is_new() -> bool:
    """Whether another lesson or screen than before is drawn in this run; asked once in a run."""
    before, now = st.session_state.get(_DRAWN), (lesson().name, screen())
    st.session_state[_DRAWN] = now
    return before not in (None, now)


def neighbour(step: int) -> Lesson | None:
    """The lesson before (-1) or after (1) the one on screen; None where there is none."""
    place = LESSONS.index(lesson()) + step
    return LESSONS[place] if 0 <= place < len(LESSONS) else None


def get(of: Lesson, name: str) -> Any:
    """Value of a setting."""
    return st.session_state[key(of.name, name)]


def put(of: Lesson, name: str, value: Any) -> None:
    """Sets a setting; before its widget is drawn, or in a callback."""
    st.session_state[key(of.name, name)] = value


def values(of: Lesson) -> dict[str, Any]:
    """The settings of a lesson by name."""
    return {switch.name: get(of, switch.name) for switch in of.switches}


def restore() -> None:
    """Fills in what is missing: from the link on the first run, from the defaults otherwise."""
    if not st.session_state.get(_RESTORED):
        st.session_state[_RESTORED] = True
        st.session_state[_IGNORED] = _from_link()
    if st.session_state.get(key(_LESSON)) not in BY_NAME:
        open_lesson(LESSONS[0].name)
    for one in LESSONS:
        for switch in one.switches:
            value = st.session_state.get(key(one.name, switch.name))
            untouched = isinstance(switch, Sentence) and value in _openings(one, switch)
            put(one, switch.name, default(one, switch) if value is None or untouched else value)


def default(of: Lesson, switch: Switch) -> Any:
    """What a switch starts with; a text, in the reader's language."""
    return t(f"lesson.{of.name}.{switch.name}.default") if isinstance(switch, Sentence) else switch.default


def ignored() -> list[str]:
    """Names of settings in the link that could not be used."""
    return st.session_state.get(_IGNORED, [])


def publish() -> bool:
    """Writes the lesson and what differs from its defaults into the address bar; False when a text is too long."""
    now = lesson()
    wanted = {} if now is LESSONS[0] else {_LESSON: now.name}
    if frame.presenting() and screen():
        wanted[_SCREEN] = str(screen() + 1)
    for switch in now.switches:
        if get(now, switch.name) != default(now, switch):
            wanted[switch.name] = _to_link(switch, get(now, switch.name))
    fitting = {name: text for name, text in wanted.items() if len(text) <= LONGEST_LINK_TEXT}
    for name in {_LESSON, _SCREEN, *(switch.name for one in LESSONS for switch in one.switches)}:
        if name in fitting:
            if st.query_params.get(name) != fitting[name]:
                st.query_params[name] = fitting[name]
        elif name in st.query_params:
            del st.query_params[name]
    known = shared()
    known["values"] = values(now)
    known["address"] = f"{st.context.url or ''}?{urlencode(st.query_params.to_dict())}"
    return fitting == wanted


def shared() -> dict[str, Any]:
    """``values`` of the lesson and its ``address`` as ``publish`` left them.

    The same dict in all runs of a visitor, for who is asked later, outside of any run: a part that draws itself anew
    keeps it up to date.
    """
    return st.session_state.setdefault(_SHARED, {})


def answers(of: Lesson, question: Question) -> tuple[str, ...]:
    """What was answered, in order."""
    return st.session_state.get(_ANSWERS, {}).get((of.name, question.name), ())


def answer(of: Lesson, question: Question) -> None:
    """Notes the answer that is chosen now; in a callback."""
    code = st.session_state.get(key(of.name, question.name))
    if code is not None:
        given = st.session_state.get(_ANSWERS, {})
        st.session_state[_ANSWERS] = {**given, (of.name, question.name): (*answers(of, question), code)}


def open_part(of: Lesson, name: str) -> None:
    """Notes that a part is to be shown without a prediction."""
    st.session_state[_OPENED] = {*st.session_state.get(_OPENED, ()), (of.name, name)}


def is_open(of: Lesson, name: str) -> bool:
    """Whether a part is shown without a prediction."""
    return (of.name, name) in st.session_state.get(_OPENED, ())


def _openings(of: Lesson, switch: Switch) -> tuple[str, ...]:
    return TEXTS[f"lesson.{of.name}.{switch.name}.default"]


def _from_link() -> list[str]:
    bad = []
    linked = st.query_params.get(_LESSON)
    if linked in BY_NAME:
        open_lesson(linked)
    elif linked is not None:
        bad.append(_LESSON)
    now = BY_NAME[linked] if linked in BY_NAME else LESSONS[0]
    place = st.query_params.get(_SCREEN, "1")
    if place.isascii() and place.isdigit() and 0 < int(place) < 1000:
        open_screen(int(place) - 1)
    else:
        bad.append(_SCREEN)
    for switch in now.switches:
        if switch.name in st.query_params:
            try:
                put(now, switch.name, switch.parse(st.query_params[switch.name]))
            except (ValueError, KeyError, OverflowError):
                bad.append(switch.name)
    return bad


def _to_link(switch: Switch, value: Any) -> str:
    if isinstance(switch, Flag):
        return "1" if value else "0"
    return f"{value:.12g}" if isinstance(value, float) and isinstance(switch, Span) else str(value)
