"""Controls of the mask lab: sizes, parts and what each part takes."""

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from viz.pages import mask_lab_state as state
from viz.pages.mask_lab_state import get, key
from viz.services.mask_lab import LONGEST, PARTS
from viz.text import t

_NARROW, _WIDE = 128, 260  # pixels


def controls() -> Mapping[str, DeltaGenerator]:
    """Draws them all, and returns where a message about a part goes: right below its controls."""
    with st.container(key=key("sizes"), horizontal=True, vertical_alignment="bottom", gap="small"):
        _number("q_len", 1)
        _number("k_len", 1)
        _choice("place", state.PLACES)
        if get("place") == "custom":
            _number("offset", -LONGEST)
        st.button(
            t("mask_lab.reset"), key=key("reset"), help=t("mask_lab.reset_help"), on_click=_reset, type="tertiary",
            icon=":material/restart_alt:",
        )  # fmt: skip
    slots = {"sizes": st.empty()}
    st.pills(
        t("mask_lab.parts"),
        PARTS,
        selection_mode="multi",
        key=key("parts"),
        help=t("mask_lab.parts_help"),
        format_func=lambda name: t(f"part.{name}"),
    )
    chosen = [name for name in PARTS if name in get("parts")]
    if not chosen:
        st.caption(t("mask_lab.parts_none"))
    with st.container(key=key("settings"), horizontal=True, gap="small"):
        for name in chosen:
            if name in _WIDGETS:
                with st.container(key=key(f"part_{name}"), border=True, width="content", gap="xxsmall"):
                    st.markdown(f"**{t(f'part.{name}')}**")
                    with st.container(horizontal=True, gap="small"):
                        _WIDGETS[name]()
                    slots[name] = st.empty()
    return slots


def _number(name: str, low: int) -> None:
    st.number_input(
        t(f"mask_lab.{name}"), low, LONGEST, key=key(name), help=t(f"mask_lab.{name}_help"), step=1, width=_NARROW
    )


def _limit(name: str) -> None:
    """A number that may be left empty."""
    st.number_input(
        t(f"mask_lab.{name}"), 0, LONGEST, value=None, key=key(name), help=t("mask_lab.window_help"), step=1,
        width=_NARROW, placeholder=t("mask_lab.no_limit"),
    )  # fmt: skip


def _choice(name: str, codes: tuple[str, ...]) -> None:
    st.segmented_control(
        t(f"mask_lab.{name}"), codes, key=key(name), help=t(f"mask_lab.{name}_help"), required=True, width="content",
        format_func=lambda code: t(f"mask_lab.{name}_{code}"),
    )  # fmt: skip


def _text(name: str, *, placeholder: str | None = None) -> None:
    st.text_input(
        t(f"mask_lab.{name}"), key=key(name), help=t(f"mask_lab.{name}_help"), placeholder=placeholder, width=_WIDE
    )


def _lines(name: str, *, placeholder: str | None = None) -> None:
    st.text_area(
        t(f"mask_lab.{name}"), key=key(name), help=t(f"mask_lab.{name}_help"), placeholder=placeholder, width=_WIDE,
        height=84,
    )  # fmt: skip


def _all(*draws: Callable[[], Any]) -> Callable[[], None]:
    def draw() -> None:
        for one in draws:
            one()

    return draw


_WIDGETS: Mapping[str, Callable[[], None]] = {
    "padding": _all(lambda: _text("lengths"), lambda: _choice("side", state.SIDES)),
    "window": _all(lambda: _limit("left"), lambda: _limit("right")),
    "chunked": lambda: _number("chunk", 1),
    "dilated": _all(lambda: _number("dilated_window", 1), lambda: _number("step", 1)),
    "strided": lambda: _number("stride", 1),
    "global_local": _all(lambda: _number("local_window", 1), lambda: _text("global_keys")),
    "block_sparse": _all(
        lambda: _number("block_size", 1),
        lambda: _lines("block_map", placeholder=t("mask_lab.block_map_placeholder")),
    ),
    "prefix": lambda: _number("prefix", 0),
    "packed": lambda: _lines("documents"),
}


def _reset() -> None:
    for name, setting in state.SETTINGS.items():
        state.put(name, setting.default)
    state.clear()
