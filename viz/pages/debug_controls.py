"""Controls of the Debug page: what is brought, what each array is, what was meant."""

from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attention_core.exchange import Arrays
from attention_core.intake import Intake, known_names
from viz.pages import debug_state as state
from viz.pages.debug_state import get, key
from viz.services.debug import EXPECTATIONS, SIZED
from viz.services.debug_examples import EXAMPLES, RECORDING, SAVING
from viz.services.debug_files import ENDINGS, MOST_MEGABYTES, ROLES, array_lines, named_file, shapes_said
from viz.text import t
from viz.text.markdown import literal

Slots = dict[str, DeltaGenerator]


def subject() -> Slots:
    """The choice of example, file or paste; returns where messages about each control go."""
    slots: Slots = {}
    sources = state.SOURCES if named_file() is None else (state.NAMED, *state.SOURCES)
    left, right = st.columns([2, 5], vertical_alignment="top", gap="medium")
    with left:
        st.segmented_control(
            t("debug.source"), sources, key=key("source"), format_func=lambda code: t(f"debug.source_{code}"),
            help=t("debug.source_help"), required=True, on_change=state.change_source,
        )  # fmt: skip
    with right:
        _SUBJECTS[str(get("source"))]()
        slots["file"] = st.empty()
    return slots


def _example() -> None:
    st.selectbox(
        t("debug.example"), EXAMPLES, key=key("example"), format_func=lambda code: t(f"debug.example_{code}"),
        help=t("debug.example_help"), on_change=state.use_example,
    )  # fmt: skip


def _file() -> None:
    st.file_uploader(
        t("debug.file", most=MOST_MEGABYTES), type=list(ENDINGS), key=key("upload"), help=t("debug.file_help"),
        max_upload_size=MOST_MEGABYTES, on_change=state.look_afresh,
    )  # fmt: skip
    with st.expander(t("debug.how_to_save")):
        st.markdown(t("debug.how_to_save_text"))
        st.code(SAVING, language="python")
        st.code(RECORDING, language="python")


def _paste() -> None:
    st.text_area(
        t("debug.paste"), key=key("pasted"), height=150, help=t("debug.paste_help"),
        placeholder="■⬚⬚\n■■⬚\n■■■", on_change=state.look_afresh,
    )  # fmt: skip
    st.selectbox(
        t("debug.paste_role"), [role for role in ROLES if role not in ("query", "key", "value", "output", "sinks")],
        key=key("paste_role"), format_func=_role_or_guess, help=t("debug.paste_role_help"),
    )  # fmt: skip


def _named() -> None:
    st.markdown(t("debug.named", name=literal(str(named_file()))))


_SUBJECTS = {"example": _example, "file": _file, "paste": _paste, state.NAMED: _named}


def uploaded() -> Any:
    """The uploaded file, or None."""
    return st.session_state.get(key("upload"))


def arrays(origin: tuple[str, ...], loaded: Arrays | None) -> tuple[dict[str, str], dict[str, str]]:
    """What each array of a file is taken for, open to correction; (roles, axes) where they were said."""
    lines = () if loaded is None or origin[0] == "paste" else array_lines(loaded)
    roles: dict[str, str] = {}
    axes: dict[str, str] = {}
    if not lines:
        return roles, axes
    unknown = [line.name for line in lines if not line.role]
    said = [t("debug.array_as", name=line.name, role=t(f"debug.role_{line.role}")) for line in lines if line.role]
    title = t("debug.arrays", said=t("debug.join").join(literal(part) for part in said[:6]) or t("debug.nothing_known"))
    with st.expander(title, expanded=bool(unknown)):
        if unknown:
            names = t("debug.join").join(literal(name[:40]) for name in unknown[:8])
            st.warning(t("debug.unknown", names=names))
            st.caption(literal(known_names()))
        for index, line in enumerate(lines[:24]):
            name, role, order = st.columns([2, 2, 2], vertical_alignment="center")
            name.markdown(f"**{literal(line.name[:40])}** · {shapes_said(line.shape)} · {literal(line.dtype)}")
            place = f"{key('role')}_{'_'.join(origin)[-24:]}_{index}"
            chosen = role.selectbox(
                t("debug.role"), ROLES, index=ROLES.index(line.role), key=place, format_func=_role,
                label_visibility="collapsed",
            )  # fmt: skip
            if chosen != line.role:
                roles[line.name] = chosen
            if line.axes:
                picked = order.selectbox(
                    t("debug.axes"), line.axes, key=f"{place}_axes", format_func=lambda code: t(f"debug.axes_{code}"),
                    label_visibility="collapsed",
                )  # fmt: skip
                if picked != line.axes[0]:
                    axes[line.name] = picked
    return roles, axes


def intent(slots: Slots) -> None:
    """What was meant: a mask in words, with what the word needs."""
    with st.container(key=key("intent"), horizontal=True, vertical_alignment="bottom", gap="medium"):
        st.selectbox(
            t("debug.expect"), EXPECTATIONS, key=key("expect"), format_func=lambda code: t(f"debug.expect_{code}"),
            help=t("debug.expect_help"), width=280,
        )  # fmt: skip
        expect = str(get("expect"))
        if expect in SIZED:
            st.number_input(t(f"debug.size_{expect}"), 0 if expect == "prefix" else 1, 100_000, key=key("size"),
                            help=t("debug.size_help"), width=150)  # fmt: skip
        if expect not in ("mask", "cache"):
            st.toggle(t("debug.padding"), key=key("padding"), help=t("debug.padding_help"))
        if (get("padding") and expect != "mask") or expect == "cache":
            st.text_input(
                t("debug.lengths"), key=key("lengths"), help=t("debug.lengths_help"),
                placeholder=t("debug.lengths_placeholder"), width=200,
            )  # fmt: skip
            if expect != "cache":
                st.selectbox(t("debug.side"), ("right", "left"), key=key("side"), help=t("debug.side_help"),
                             format_func=lambda code: t(f"debug.side_{code}"), width=130)  # fmt: skip
        st.number_input(t("debug.scale"), 0.0, 64.0, key=key("scale"), help=t("debug.scale_help"), format="%g",
                        step=0.05, placeholder=t("debug.scale_placeholder"), width=170)  # fmt: skip
    if get("expect") == "packed":
        st.text_area(t("debug.documents"), key=key("documents"), help=t("debug.documents_help"), height=68)
    if get("expect") == "mask":
        st.text_area(t("debug.drawing"), key=key("drawing"), help=t("debug.drawing_help"), height=150)
    slot = st.empty()
    for name in ("lengths", "documents", "drawing", "refused"):
        slots[name] = slot


def call(intake: Intake) -> int:
    """The choice of one call, where there are several; its number."""
    last = len(intake.cases) - 1
    chosen = state.clamp("call", last)
    if last == 0:
        return 0

    def name(index: int) -> str:
        case = intake.cases[index]
        return f"{case.name} · {case.place}" if case.place else case.name

    st.selectbox(t("debug.call"), range(last + 1), key=key("call"), format_func=name, help=t("debug.call_help"))
    return chosen


def _role(role: str) -> str:
    return t(f"debug.role_{role}") if role else t("debug.role_none")


def _role_or_guess(role: str) -> str:
    return t(f"debug.role_{role}") if role else t("debug.role_guess")
