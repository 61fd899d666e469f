"""The text view: the text as its tokens; the one pointed at shades the others."""

from collections.abc import Iterable

import streamlit as st

from attention_core.runs import Run
from viz.components.text_view import EXACT_TOKENS, WORDS, text_view
from viz.pages import charts
from viz.pages import explore_state as state
from viz.pages.explore_state import clamp, get, key
from viz.services.attention import Request
from viz.services.python_views import text_code
from viz.services.text_maps import MOST_TEXT, Maps, rollout_layers, text_map
from viz.services.view_numbers import text_numbers
from viz.services.views import CallView
from viz.text import t, template


def draw(request: Request, made: Run, shown: CallView) -> None:
    """Controls, what is shown, and the text."""
    layers = rollout_layers(made, shown.call)
    kind = _kind(rollout=bool(layers))
    clamp("head", 0, shown.heads - 1)
    head = int(str(get("head")))
    found = text_map(
        request, made, shown, kind=kind, head=head, words=bool(get("merge")), start=int(str(get("from_token")))
    )
    _controls(shown, kind, rollout=bool(layers))
    if kind == "head":
        st.caption(t("text_view.shows_head", layer=shown.call.layer, head=head))
    elif kind == "mean":
        st.caption(t("text_view.shows_mean", layer=shown.call.layer, heads=shown.heads))
    else:
        st.caption(t("text_view.shows_rollout", first=layers[0].layer, last=layers[-1].layer))
    heads_off(made, shown)
    window(found, MOST_TEXT)
    with st.container(key=key("text_box")):
        text_view(
            found.weights[0],
            queries=found.queries,
            keys=None if found.keys is found.queries else found.keys,
            allowed=found.allowed[0],
            intended=found.intended[0],
            outside=None if found.outside is None else found.outside[0],
            first_query=found.first_query,
            first_key=found.first_key,
            scale=str(get("colour")),
            words=words(WORDS),
            key=key("text_view"),
        )
    notes = [t("text_view.exact" if max(found.weights.shape) <= EXACT_TOKENS else "text_view.rounded")]
    if not layers:
        notes.append(t("text_view.no_rollout"))
    st.caption(" ".join([*notes, t("explore.not_explanations")]))
    asked = {"kind": kind, "head": head, "words": bool(get("merge"))}
    charts.offer(
        "text",
        numbers=lambda: text_numbers(request, shown, found, **asked),
        code=lambda: text_code(request, shown, found, **asked),
    )


def words(names: Iterable[str]) -> dict[str, str]:
    """The words of a component in the current language."""
    return {name: template(f"token_words.{name}") for name in names}


def window(found: Maps, most: int) -> None:
    """Which part of a long text is shown, and where it starts."""
    if not found.last_start:
        return
    clamp("from_token", 0, found.last_start)
    st.number_input(
        t("text_view.from_token"), 0, found.last_start, key=key("from_token"), step=most // 2, width=200,
        help=t("text_view.from_token_help"),
    )  # fmt: skip
    st.caption(
        t(
            "text_view.window",
            first=found.first_query,
            last=found.last_query,
            all=found.all_queries,
            first_key=found.first_key,
            last_key=found.last_key,
            all_keys=found.all_keys,
            most=most,
        )
    )


def heads_off(made: Run, shown: CallView) -> None:
    """Says that a head that is off still has weights."""
    count = sum(name == shown.call.name for name, _ in made.heads_off)
    if count:
        st.caption(t("text_view.off", count=count, heads=shown.heads))


def _kind(*, rollout: bool) -> str:
    if get("text_map") == "rollout" and not rollout:
        state.put("text_map", "head")
    return str(get("text_map"))


def _controls(shown: CallView, kind: str, *, rollout: bool) -> None:
    kinds = [code for code in state.TEXT_MAPS if code != "rollout" or rollout]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.segmented_control(
            t("text_view.map"), kinds, key=key("text_map"), help=t("text_view.map_help"), required=True,
            format_func=lambda code: t(f"text_view.map_{code}"), width="content",
        )  # fmt: skip
        if kind == "head":
            st.selectbox(t("explore.head"), range(shown.heads), key=key("head"), help=t("explore.head_help"), width=110)
        st.segmented_control(
            t("explore.colour"), state.COLOURS, key=key("colour"), help=t("explore.colour_help"), required=True,
            format_func=lambda code: t(f"colour.{code}"), width="content",
        )  # fmt: skip
        st.toggle(t("text_view.merge"), key=key("merge"), help=t("text_view.merge_help"))
