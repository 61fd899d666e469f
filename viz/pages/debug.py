"""Debug: bring a mask, weights, Q and K or a recording; leave with the name of the fault, the cells and the fix."""

import hashlib
from pathlib import Path

import streamlit as st

from attention_core.exchange import Arrays, FileRefused
from attention_core.intake import Intake
from viz.pages import debug_compare, debug_leaks, take_away
from viz.pages import debug_controls as controls
from viz.pages import debug_sections as sections
from viz.pages import debug_state as state
from viz.pages.debug_state import get
from viz.services.debug import DebugError, Examined, Wish, all_calls, can_list_calls, examine, worst_cell
from viz.services.debug_examples import example
from viz.services.debug_files import cases, named_file, read_file, read_named, read_paste
from viz.text import t
from viz.text.markdown import literal

_STYLES = Path(__file__).resolve().parents[2] / "assets" / "styles" / "debug.css"


def render() -> None:
    """Draws the page from top to bottom: what is brought, the verdict, the cells, the report; then a model at hand."""
    st.html(_STYLES)
    state.restore()
    st.caption(t("debug.line"))
    take_away.begin(state.PREFIX)
    _evidence()
    debug_leaks.section()
    take_away.fold(state.PREFIX, (t("debug.title"),))


def _evidence() -> None:
    slots = controls.subject()
    origin, loaded = _loaded(slots)
    roles, axes = controls.arrays(origin, loaded)
    controls.intent(slots)
    intake = None if loaded is None else _intake(loaded, roles, axes, slots)
    found = None if intake is None else _examined((origin, roles, axes), intake, slots)
    if found is None:
        found = state.last_good()
        if found is None:
            return
        st.info(t("debug.kept"))
        intake = None
    else:
        state.keep_last_good(found)
    sections.verdict(found)
    sections.findings_and_map(found)
    sections.masks(found)
    debug_compare.section((origin, roles, axes), intake, found, (roles, axes))
    sections.tables(found)
    sections.downloads(found)


def _loaded(slots: controls.Slots) -> tuple[tuple[str, ...], Arrays | None]:
    """What was brought and where it came from; None, with a message in its place, where it cannot be read."""
    source = str(get("source"))
    if source == "example":
        name = str(get("example"))
        return (source, name), example(name)[0]
    try:
        if source == state.NAMED:
            path = named_file()
            return ((source, str(path)), None if path is None else read_named(path))
        if source == "paste":
            return _pasted()
        return _uploaded()
    except FileRefused as error:
        slots["file"].error(_sentence(error))
        return (source,), None


def _pasted() -> tuple[tuple[str, ...], Arrays | None]:
    text, role = str(get("pasted")), str(get("paste_role"))
    origin = ("paste", role, text)
    if not text.strip():
        return origin, None
    known = state.loaded(origin)
    if known is None:
        known = read_paste(text, role)
        state.keep_loaded(origin, known)
    return origin, known


def _uploaded() -> tuple[tuple[str, ...], Arrays | None]:
    uploaded = controls.uploaded()
    if uploaded is None:
        return ("file",), None
    content = uploaded.getvalue()
    origin = ("file", uploaded.name, hashlib.sha256(content).hexdigest())
    known = state.loaded(origin)
    if known is None:
        state.look_afresh()
        known = read_file(content, uploaded.name)
        state.keep_loaded(origin, known)
    return origin, known


def _intake(loaded: Arrays, roles: dict[str, str], axes: dict[str, str], slots: controls.Slots) -> Intake | None:
    try:
        intake = cases(loaded, roles, axes)
    except (FileRefused, ValueError) as error:
        slots["file"].error(_sentence(error))
        return None
    if not intake.cases:
        slots["file"].warning(t("debug.no_calls"))
        return None
    for note in intake.notes:
        st.caption(literal(note))
    return intake


def _examined(subject: object, intake: Intake, slots: controls.Slots) -> Examined | None:
    wish = state.wish()
    call = controls.call(intake)
    asked = (subject, wish)
    _calls(asked, intake, wish)
    known = state.examined(asked, call)
    if known is not None:
        return known
    try:
        with st.spinner(t("debug.looking")):
            found = examine(intake.cases[call], wish)
    except DebugError as error:
        values = {name: literal(v) if isinstance(v, str) else v for name, v in error.values_of_text.items()}
        slots.get(error.control, slots["file"]).error(t(f"debug.error_{error.code}", **values))
        return None
    except (TypeError, ValueError) as error:
        slots["refused"].error(_sentence(error))
        return None
    state.keep_examined(asked, call, found)
    place = worst_cell(found)
    if place is not None:
        state.turn_to(place)
    return found


def _calls(asked: object, intake: Intake, wish: Wish) -> None:
    """All calls of a recording beside each other, while the reader wants them."""
    if not can_list_calls(intake, wish):
        return
    st.toggle(t("debug.calls", count=len(intake.cases)), key=state.key("calls_open"), help=t("debug.calls_help"))
    if not get("calls_open"):
        return
    reports = state.all_calls(asked)
    if reports is None:
        try:
            with st.spinner(t("debug.looking")):
                reports = all_calls(intake, wish)
        except (TypeError, ValueError):
            return  # what is wrong is said where the one call is examined
        state.keep_all_calls(asked, reports)
    sections.calls(reports, intake.cases)


def _sentence(error: Exception) -> str:
    return t("debug.error_sentence", reason=literal(str(error)))
