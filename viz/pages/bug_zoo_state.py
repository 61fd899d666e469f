"""What the bug zoo remembers: one value per control, kept over reruns and in the link; the guesses, in the session."""

import secrets
from collections.abc import Mapping
from typing import Any

import streamlit as st

from viz.pages.explore_state import Setting, any_text, choice, whole
from viz.services.bug_zoo import FAULTS, HEADS
from viz.services.examples import examples

PREFIX = "bug_zoo_"
LONGEST_LINK_TEXT = 1500
LAST_QUESTION = 10**6
STRONGEST = -1  # the head in which the fault shows most
_RESTORED = PREFIX + "restored"
_IGNORED = PREFIX + "ignored"
_GUESSES = PREFIX + "guesses"  # question -> faults guessed, in order
_SHOWN = PREFIX + "shown"  # questions whose answer was asked for

MODES = ("browse", "exercise")

SETTINGS: Mapping[str, Setting] = {
    "mode": Setting("browse", choice(*MODES)),
    "fault": Setting("causal-mask-missing", choice(*FAULTS)),
    "question": Setting(0, whole(0, LAST_QUESTION)),
    "text": Setting(examples()[0].text, any_text),
    "seed": Setting(0, whole(0, 2**31 - 1)),
    "head": Setting(STRONGEST, whole(STRONGEST, HEADS - 1)),
}


def key(name: str) -> str:
    """Widget key of a setting."""
    return PREFIX + name


KEPT = tuple(key(name) for name in SETTINGS)  # keys that outlive a visit to another page


def get(name: str) -> Any:
    """Value of a setting."""
    return st.session_state[key(name)]


def put(name: str, value: Any) -> None:
    """Sets a setting; before its widget is drawn, or in a callback."""
    st.session_state[key(name)] = value


def restore() -> None:
    """Fills in what is missing: from the link on the first run, from the defaults otherwise."""
    if not st.session_state.get(_RESTORED):
        st.session_state[_RESTORED] = True
        st.session_state[_IGNORED] = _from_link()
    for name, setting in SETTINGS.items():
        value = st.session_state.get(key(name), setting.default)
        st.session_state[key(name)] = setting.default if value is None else value


def ignored() -> list[str]:
    """Names of settings in the link that could not be used."""
    return st.session_state.get(_IGNORED, [])


def publish() -> bool:
    """Writes what differs from the defaults into the address bar; False when the text is too long for it.

    In an exercise the link carries the number of the question, never the fault.
    """
    hidden = "fault" if get("mode") == "exercise" else "question"
    wanted = {
        name: str(get(name)) for name, setting in SETTINGS.items() if get(name) != setting.default and name != hidden
    }
    fitting = {name: text for name, text in wanted.items() if len(text) <= LONGEST_LINK_TEXT}
    for name in SETTINGS:
        if name in fitting:
            if st.query_params.get(name) != fitting[name]:
                st.query_params[name] = fitting[name]
        elif name in st.query_params:
            del st.query_params[name]
    return fitting == wanted


def surprise() -> None:
    """Goes to a new question: the first one by chance, then one after the other, so that none comes twice."""
    asked = [*guesses(), *st.session_state.get(_SHOWN, ())]
    put("question", (get("question") + 1) % LAST_QUESTION if asked else secrets.randbelow(LAST_QUESTION))
    put("mode", "exercise")
    put("head", STRONGEST)


def guesses() -> dict[int, tuple[str, ...]]:
    """Question -> what was guessed, in order."""
    return st.session_state.get(_GUESSES, {})


def guess(name: str) -> None:
    """Notes an answer to the question on screen."""
    question = get("question")
    earlier = guesses().get(question, ())
    if name not in earlier:
        st.session_state[_GUESSES] = {**guesses(), question: (*earlier, name)}


def show_answer() -> None:
    """Notes that the reader wants the answer to the question on screen."""
    st.session_state[_SHOWN] = {*st.session_state.get(_SHOWN, ()), get("question")}


def answer_is_shown() -> bool:
    """Whether the reader asked for the answer to the question on screen."""
    return get("question") in st.session_state.get(_SHOWN, ())


def _from_link() -> list[str]:
    bad = []
    for name, setting in SETTINGS.items():
        if name in st.query_params:
            try:
                put(name, setting.parse(st.query_params[name]))
            except (ValueError, KeyError, OverflowError):
                bad.append(name)
    return bad
