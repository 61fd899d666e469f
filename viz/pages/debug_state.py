"""What the Debug page remembers: what was brought, what was meant, and which cell is looked at."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from attention_core.doctor import RecordingReport
from attention_core.exchange import Arrays
from viz.services.debug import Examined, Wish
from viz.services.debug_examples import EXAMPLES, example
from viz.services.debug_files import named_file

PREFIX = "debug_"
SOURCES = ("example", "file", "paste")
NAMED = "named"  # the file of the app's command line
_LOADED = PREFIX + "loaded"  # (what it came from, Arrays): the last thing that could be read
_EXAMINED = PREFIX + "examined"  # (what is asked, {call: Examined}) of the last subject
_CALLS = PREFIX + "calls_examined"  # (what is asked, reports of all calls)
_LAST_GOOD = PREFIX + "last_good"
_STEPS = PREFIX + "steps"  # how often each finding was jumped to
_WHOLE = PREFIX + "whole"  # "query" or "key" where a whole row or column is looked at

DEFAULTS: Mapping[str, Any] = {
    "source": "example",
    "example": EXAMPLES[0],
    "pasted": "",
    "paste_role": "",
    "expect": "infer",
    "size": 4,
    "padding": False,
    "lengths": "",
    "side": "right",
    "documents": "",
    "drawing": "",
    "scale": None,
    "call": 0,
    "sample": 0,
    "head": 0,
    "query": 0,
    "key": 0,
    "cells_open": False,
    "only_wrong": True,
    "checks_open": False,
    "calls_open": False,
}


def opened_with_a_file() -> bool:
    """Whether the app was started with a file to look at: ``streamlit run app.py -- FILE``."""
    return named_file() is not None


def key(name: str) -> str:
    """Widget key of a setting."""
    return PREFIX + name


KEPT = tuple(key(name) for name in DEFAULTS)  # outlive a visit to another page


def get(name: str) -> Any:
    """Value of a setting."""
    return st.session_state[key(name)]


def put(name: str, value: Any) -> None:
    """Sets a setting; before its widget is drawn, or in a callback."""
    st.session_state[key(name)] = value


def restore() -> None:
    """Fills in what is missing; a new visitor sees the file that the app was started with, else an example."""
    new = key("source") not in st.session_state
    for name, value in DEFAULTS.items():
        st.session_state.setdefault(key(name), value)
    if new and named_file() is not None:
        put("source", NAMED)
    elif new:
        use_example()


def use_example() -> None:
    """What the chosen example means, as if it had been typed."""
    _, wish = example(get("example"))
    for name in ("expect", "size", "padding", "lengths", "side", "documents", "drawing", "scale"):
        put(name, getattr(wish, name))
    look_afresh()


def change_source() -> None:
    """Another kind of subject: an example brings its intent along, one's own starts with none."""
    if get("source") == "example":
        use_example()
        return
    for name in ("expect", "padding", "lengths", "documents", "drawing", "scale"):
        put(name, DEFAULTS[name])
    look_afresh()


def look_afresh() -> None:
    """Back to the first call, map and cell."""
    for name in ("call", "sample", "head", "query", "key"):
        put(name, 0)
    st.session_state[_STEPS] = {}
    st.session_state[_WHOLE] = None


def wish() -> Wish:
    """What is meant, as it stands in the controls."""
    names = ("expect", "size", "padding", "lengths", "side", "documents", "drawing", "scale")
    return Wish(**{name: get(name) for name in names})


def clamp(name: str, highest: int) -> int:
    """Keeps an index inside what there is now, and returns it."""
    put(name, min(max(int(get(name) or 0), 0), highest))
    return get(name)


def jump(finding: int, place: tuple[int, int, int | None, int | None]) -> None:
    """Looks at a cell, and counts how often the finding with that number was asked for."""
    asked = steps(finding) + 1
    turn_to(place)
    st.session_state[_STEPS] = {finding: asked}


def turn_to(place: tuple[int, int, int | None, int | None]) -> None:
    """Looks at a cell; None stands for a whole row or column."""
    sample, head, query, key_ = place
    put("sample", sample)
    put("head", head)
    put("query", 0 if query is None else query)
    put("key", 0 if key_ is None else key_)
    st.session_state[_WHOLE] = ("key" if query is None else "query") if None in (query, key_) else None
    st.session_state[_STEPS] = {}


def choose(query: int, key_: int) -> None:
    """Looks at a cell of the sample and head that are looked at."""
    put("query", query)
    put("key", key_)
    point()


def point() -> None:
    """The reader chose a cell by hand."""
    st.session_state[_WHOLE] = None
    st.session_state[_STEPS] = {}


def steps(finding: int) -> int:
    """How often a finding was jumped to in a row."""
    return st.session_state.get(_STEPS, {}).get(finding, 0)


def focus() -> tuple[int | None, int | None]:
    """The cell that is looked at; None for the axis of which all is meant."""
    whole = st.session_state.get(_WHOLE)
    return (None if whole == "key" else get("query")), (None if whole == "query" else get("key"))


def loaded(origin: object) -> Arrays | None:
    """What was read from the same origin before."""
    known = st.session_state.get(_LOADED)
    return known[1] if known is not None and known[0] == origin else None


def keep_loaded(origin: object, arrays: Arrays) -> None:
    """Remembers what was read."""
    st.session_state[_LOADED] = (origin, arrays)


def examined(subject: object, call: int) -> Examined | None:
    """What was found before about the same thing, asked the same way."""
    known = st.session_state.get(_EXAMINED)
    return known[1].get(call) if known is not None and known[0] == subject else None


def keep_examined(subject: object, call: int, found: Examined) -> None:
    """Remembers what was found; earlier subjects are forgotten."""
    known = st.session_state.get(_EXAMINED)
    calls = known[1] if known is not None and known[0] == subject else {}
    st.session_state[_EXAMINED] = (subject, {**calls, call: found})
    st.session_state[_LAST_GOOD] = found


def all_calls(subject: object) -> RecordingReport | None:
    """The reports of all calls that were found before for the same thing, asked the same way."""
    known = st.session_state.get(_CALLS)
    return known[1] if known is not None and known[0] == subject else None


def keep_all_calls(subject: object, reports: RecordingReport) -> None:
    """Remembers them; earlier ones are forgotten."""
    st.session_state[_CALLS] = (subject, reports)


def remembered(name: str, asked: object) -> Any:
    """What was kept under that name for the same question, else None."""
    known = st.session_state.get(PREFIX + "kept_" + name)
    return known[1] if known is not None and known[0] == asked else None


def remember(name: str, asked: object, answer: object) -> None:
    """Keeps an answer, one per name."""
    st.session_state[PREFIX + "kept_" + name] = (asked, answer)


def last_good() -> Examined | None:
    """The last thing that could be examined."""
    return st.session_state.get(_LAST_GOOD)


def keep_last_good(found: Examined) -> None:
    """Remembers what is shown now."""
    st.session_state[_LAST_GOOD] = found
