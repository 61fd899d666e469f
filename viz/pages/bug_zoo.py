"""Bug zoo: one known mistake, right beside wrong on the reader's text, as an exhibit or as a question."""

from pathlib import Path

import streamlit as st

from viz.pages import bug_zoo_sections as sections
from viz.pages import bug_zoo_state as state
from viz.pages import take_away
from viz.pages.bug_zoo_state import get, key
from viz.services.bug_zoo import FAULTS, HEADS, ZooError, choices, exhibit, family, hidden, score
from viz.text import t

_STYLES = Path(__file__).resolve().parents[2] / "assets" / "styles" / "bug_zoo.css"
_LAST_GOOD = state.PREFIX + "last_good"  # text and seed


def render() -> None:
    """Draws the page from top to bottom: which mistake, on what, the pictures, what is to be said about it."""
    st.html(_STYLES)
    state.restore()
    st.caption(t("bug_zoo.line", count=len(FAULTS)))
    _which()
    message = _controls()
    if not state.publish():
        st.caption(t("bug_zoo.link_too_long"))
    if state.ignored():
        st.warning(t("bug_zoo.link_ignored", names=", ".join(state.ignored())))
    asked = get("mode") == "exercise"
    fault = hidden(get("question")) if asked else get("fault")
    text, seed = get("text"), get("seed")
    try:
        shown = exhibit(fault, text, seed)
    except ZooError as error:
        last = st.session_state.get(_LAST_GOOD)
        message.error(t(f"bug_zoo.error_{error.code}") + ("" if last is None else " " + t("bug_zoo.kept")))
        if last is None:
            return
        text, seed = last
        try:
            shown = exhibit(fault, text, seed)
        except ZooError:
            return
    else:
        st.session_state[_LAST_GOOD] = (text, seed)
    head = shown.head if get("head") == state.STRONGEST else get("head")
    take_away.begin(state.PREFIX)
    solved = not asked or _question(fault, choices(get("question"), text, seed))
    if solved:
        sections.name_plate(fault)
    sections.what_was_run(shown, head, seed)
    sections.pictures(shown, head)
    sections.checks(shown, head)
    left, right = st.columns(2, gap="large")
    with left:
        sections.difference(shown, head)
    with right:
        if solved:
            sections.explanation(shown)
        else:
            st.info(t("bug_zoo.after_guess"))
    if solved:
        sections.doctor(fault, text, seed)
    take_away.fold(state.PREFIX, (t("bug_zoo.title"), *([t(f"fault.{fault}.title")] if solved else [])))


def _which() -> None:
    with st.container(key=key("which"), horizontal=True, vertical_alignment="bottom", gap="small"):
        st.segmented_control(
            t("bug_zoo.mode"), state.MODES, key=key("mode"), help=t("bug_zoo.mode_help"), required=True,
            width="content", format_func=lambda code: t(f"bug_zoo.mode_{code}"),
        )  # fmt: skip
        if get("mode") == "browse":
            st.selectbox(
                t("bug_zoo.fault"), FAULTS, key=key("fault"), help=t("bug_zoo.fault_help"), width=460,
                format_func=_name_in_list,
            )  # fmt: skip
        st.button(
            t("bug_zoo.surprise"), key=key("surprise"), on_click=state.surprise, icon=":material/casino:",
            help=t("bug_zoo.surprise_help", count=len(FAULTS)),
        )  # fmt: skip


def _controls():
    left, middle, right = st.columns([4, 1, 2], vertical_alignment="bottom")
    left.text_input(t("bug_zoo.text"), key=key("text"), help=t("bug_zoo.text_help"))
    middle.number_input(t("bug_zoo.seed"), 0, 2**31 - 1, key=key("seed"), help=t("bug_zoo.seed_help"), step=1)
    right.segmented_control(
        t("bug_zoo.head"), range(state.STRONGEST, HEADS), key=key("head"), help=t("bug_zoo.head_help"), required=True,
        format_func=lambda head: t("bug_zoo.head_strongest") if head == state.STRONGEST else str(head),
    )  # fmt: skip
    return st.empty()


def _question(fault: str, answers: tuple[str, ...]) -> bool:
    """The question with its answers; True once the name may be told."""
    guessed = state.guesses().get(get("question"), ())
    found, given_up = fault in guessed, state.answer_is_shown()
    right, asked = score(state.guesses())
    with st.container(key=key("question_box"), border=True):
        st.markdown(f"**{t('bug_zoo.ask')}**")
        columns = st.columns(2)
        for index, name in enumerate(answers):
            columns[index % 2].button(
                t(f"fault.{name}.title"), key=key(f"answer_{index}"), on_click=state.guess, args=(name,),
                disabled=found or given_up or name in guessed, width="stretch",
                icon=_mark(name, fault, told=found or given_up, guessed=guessed),
            )  # fmt: skip
        for name in guessed:
            if name != fault:
                title, symptom = t(f"fault.{name}.title"), t(f"fault.{name}.symptom")
                st.warning(t("bug_zoo.wrong", title=title, symptom=symptom))
        if found:
            st.success(t("bug_zoo.right" if guessed[0] == fault else "bug_zoo.right_later"))
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            if found or given_up:
                st.button(t("bug_zoo.next"), key=key("next"), on_click=state.surprise, type="primary")
            else:
                st.button(t("bug_zoo.give_up"), key=key("give_up"), on_click=state.show_answer, type="tertiary")
            if asked:
                st.caption(t("bug_zoo.score", right=right, asked=asked))
    return found or given_up


def _mark(name: str, fault: str, *, told: bool, guessed: tuple[str, ...]) -> str | None:
    if told and name == fault:
        return ":material/check:"
    return ":material/close:" if name in guessed else None


def _name_in_list(name: str) -> str:
    return t("bug_zoo.in_list", family=t(f"bug_zoo.family_{family(name)}"), title=t(f"fault.{name}.title"))
