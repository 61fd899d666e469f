"""The lines view: queries left, keys right, and a line for each weight of the heads that are on."""

import streamlit as st

from attention_core.runs import Run
from viz.components.lines_view import EXACT_TOKENS, WORDS, lines_view
from viz.pages.explore_state import bounded, get, key
from viz.pages.explore_text import heads_off, window, words
from viz.services.attention import Request
from viz.services.text_maps import line_maps, most_lines
from viz.services.views import CallView
from viz.text import t


def draw(request: Request, made: Run, shown: CallView) -> None:
    """What is shown, and the two columns."""
    found = line_maps(made, shown, start=int(str(get("from_token"))))
    st.caption(t("lines_view.shows", layer=shown.call.layer))
    heads_off(made, shown)
    window(found, most_lines(shown.heads))
    with st.container(key=key("lines_box")):
        lines_view(
            found.weights,
            queries=found.queries,
            keys=found.keys,
            allowed=found.allowed,
            intended=found.intended,
            outside=found.outside,
            first_query=found.first_query,
            first_key=found.first_key,
            head=bounded("head", shown.heads - 1),
            words=words(WORDS),
            key=key("lines_view"),
        )
    exact = max(len(found.queries), len(found.keys)) <= EXACT_TOKENS
    st.caption(t("text_view.exact" if exact else "text_view.rounded") + " " + t("explore.not_explanations"))
