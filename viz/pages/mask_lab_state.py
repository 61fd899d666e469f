"""What the mask lab remembers: one value per control and the painted cells, kept over reruns and in the link."""

import re
from collections.abc import Mapping
from typing import Any

import streamlit as st

from attention_core.mask_code import CONVENTIONS
from attention_core.mask_parts import Cell
from viz.pages.explore_state import Setting, any_text, choice, whole
from viz.services.mask_lab import LONGEST, PARTS

PREFIX = "mask_lab_"
LONGEST_LINK_TEXT = 1500
_RESTORED = PREFIX + "restored"
_IGNORED = PREFIX + "ignored"
_CELLS = PREFIX + "cells"  # painted, in the order of painting
_HISTORY = PREFIX + "history"  # what was painted before each step
_CELLS_PARAMETER = "cells"

SHOWN = ("drawing", "numbers", "rows")
PLACES = ("end", "start", "custom")
SIDES = ("right", "left")
NO_LIMIT = "all"  # in the link, for a window without end


def _parts(text: str) -> Any:
    names = [name for name in text.split(" ") if name]
    if not set(names) <= set(PARTS):
        raise ValueError(text)
    return [name for name in PARTS if name in names]


def _limit(text: str) -> Any:
    return None if text == NO_LIMIT else whole(0, LONGEST)(text)


SETTINGS: Mapping[str, Setting] = {
    "q_len": Setting(8, whole(1, LONGEST)),
    "k_len": Setting(8, whole(1, LONGEST)),
    "place": Setting("end", choice(*PLACES)),
    "offset": Setting(0, whole(-LONGEST, LONGEST)),
    "parts": Setting(["causal", "window"], _parts),
    "lengths": Setting("5, 8", any_text),
    "side": Setting("right", choice(*SIDES)),
    "left": Setting(2, _limit),
    "right": Setting(0, _limit),
    "chunk": Setting(4, whole(1, LONGEST)),
    "dilated_window": Setting(3, whole(1, LONGEST)),
    "step": Setting(2, whole(1, LONGEST)),
    "stride": Setting(3, whole(1, LONGEST)),
    "local_window": Setting(2, whole(1, LONGEST)),
    "global_keys": Setting("0", any_text),
    "block_size": Setting(2, whole(1, LONGEST)),
    "block_map": Setting("", any_text),
    "prefix": Setting(3, whole(0, LONGEST)),
    "documents": Setting("0, 0, 0, 1, 1, 1, 2, 2", any_text),
    "sample": Setting(0, whole(0, 7)),
    "shown": Setting("drawing", choice(*SHOWN)),
    "convention": Setting("sdpa", choice(*CONVENTIONS)),
    "layers": Setting(2, whole(0, LONGEST)),
}
MAY_BE_NONE = ("left", "right")


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


def values() -> dict[str, Any]:
    """All settings by name."""
    return {name: get(name) for name in SETTINGS}


def restore() -> None:
    """Fills in what is missing: from the link on the first run, from the defaults otherwise."""
    if not st.session_state.get(_RESTORED):
        st.session_state[_RESTORED] = True
        st.session_state[_IGNORED] = _from_link()
    for name, setting in SETTINGS.items():
        value = st.session_state.get(key(name), setting.default)
        st.session_state[key(name)] = setting.default if value is None and name not in MAY_BE_NONE else value


def ignored() -> list[str]:
    """Names of settings in the link that could not be used."""
    return st.session_state.get(_IGNORED, [])


def clamp(name: str, low: int, high: int) -> int:
    """Keeps a number inside what its widget offers now, and returns it."""
    put(name, min(max(get(name), low), high))
    return get(name)


def cells() -> tuple[Cell, ...]:
    """The painted cells."""
    return st.session_state.get(_CELLS, ())


def steps() -> int:
    """How many steps of painting there were, undone ones included; no two pictures share a number."""
    return st.session_state.get(PREFIX + "steps", 0)


def flip(cell: Cell) -> None:
    """Paints a cell, or takes its paint away."""
    now = cells()
    _paint(tuple(one for one in now if one != cell) if cell in now else (*now, cell))


def clear() -> None:
    """Takes all paint away; a step like any other, so that it can be undone."""
    _paint(())


def undo() -> None:
    """Takes back the last step of painting."""
    history = st.session_state.get(_HISTORY, [])
    if history:
        st.session_state[_CELLS] = history[-1]
        st.session_state[_HISTORY] = history[:-1]
        st.session_state[PREFIX + "steps"] = steps() + 1


def can_undo() -> bool:
    """Whether there is a step to take back."""
    return bool(st.session_state.get(_HISTORY))


def publish() -> bool:
    """Writes what differs from the defaults into the address bar; False when something is too long for it."""
    wanted = {name: _to_link(get(name)) for name, setting in SETTINGS.items() if get(name) != setting.default}
    if cells():
        wanted[_CELLS_PARAMETER] = "_".join(".".join(map(str, cell)) for cell in cells())
    fitting = {name: text for name, text in wanted.items() if len(text) <= LONGEST_LINK_TEXT}
    for name in [*SETTINGS, _CELLS_PARAMETER]:
        if name in fitting:
            if st.query_params.get(name) != fitting[name]:
                st.query_params[name] = fitting[name]
        elif name in st.query_params:
            del st.query_params[name]
    return fitting == wanted


def _paint(now: tuple[Cell, ...]) -> None:
    if now != cells():
        st.session_state[_HISTORY] = [*st.session_state.get(_HISTORY, []), cells()]
        st.session_state[_CELLS] = now
        st.session_state[PREFIX + "steps"] = steps() + 1


def _from_link() -> list[str]:
    bad = []
    for name, setting in SETTINGS.items():
        if name in st.query_params:
            try:
                put(name, setting.parse(st.query_params[name]))
            except (ValueError, KeyError, OverflowError):
                bad.append(name)
    try:
        found = _cells(st.query_params.get(_CELLS_PARAMETER, ""))
    except ValueError:
        bad.append(_CELLS_PARAMETER)
    else:
        st.session_state[_CELLS] = found
    return bad


def _cells(text: str) -> tuple[Cell, ...]:
    found: dict[Cell, None] = {}
    for word in filter(None, text.split("_")):
        if not re.fullmatch(r"\d{1,2}\.\d{1,2}\.\d{1,2}", word):
            raise ValueError(text)
        sample, query, key_ = map(int, word.split("."))
        found[sample, query, key_] = None
    return tuple(found)


def _to_link(value: Any) -> str:
    if value is None:
        return NO_LIMIT
    return " ".join(value) if isinstance(value, list) else str(value)
