"""A mask sent here from the mask lab: it is put in place, with a text that fits and a way back to the one before."""

from collections.abc import Mapping

import streamlit as st

from viz.pages import explore_state as state
from viz.pages.explore_state import CUSTOM_MASK, SETTINGS, key, put
from viz.services.attention import SCRATCH
from viz.services.examples import examples
from viz.services.sent_masks import fits_model, fitting_text
from viz.text import t

_EARLIER = state.PREFIX + "earlier_text"  # typed before a mask was sent, while it is not brought back
_FITTED = state.PREFIX + "fitted_text"  # put there by the last mask that was sent


def receive(mask: str) -> None:
    """Sets the page to this mask; from another page, before this one is drawn.

    Where the text has as many tokens in the chosen model as the mask has rows, the model stays; else the from-scratch
    core takes over, with a text that fits.

    Args:
        mask: packed.
    """
    default_text = examples()[0].text
    text = st.session_state.get(key("text"), default_text)
    source, lines = st.session_state.get(key("source")), st.session_state.get(key("lines"))
    put("form", "text")
    if isinstance(source, str) and not lines and fits_model(source, text, mask):
        put("model_mask", CUSTOM_MASK)
        put("mask_rows", mask)
        return
    rule = st.session_state.get(key("tokens"), SETTINGS["tokens"].default)
    fitted = fitting_text(text, mask, rule)
    if fitted != text and text not in (default_text, st.session_state.get(_FITTED)):
        st.session_state[_EARLIER] = text
    if fitted != text:
        st.session_state[_FITTED] = fitted
    put("source", SCRATCH)
    put("mask", CUSTOM_MASK)
    put("mask_rows", mask)
    put("text", fitted)


def receive_settings(settings: Mapping[str, str]) -> None:
    """Sets the page to these settings, written as in its link, and to the defaults elsewhere; before it is drawn.

    Raises:
        KeyError, ValueError: if a setting or a value is unknown.
    """
    unknown = settings.keys() - SETTINGS.keys()
    if unknown:
        raise KeyError(f"the explore page has no settings {sorted(unknown)}")
    default_text = examples()[0].text
    text = st.session_state.get(key("text"), default_text)
    for name, setting in SETTINGS.items():
        put(name, setting.parse(settings[name]) if name in settings else setting.default)
    sent = settings.get("text", default_text)
    put("text", sent)
    if text not in (default_text, sent, st.session_state.get(_FITTED)):
        st.session_state[_EARLIER] = text
    st.session_state[_FITTED] = sent


def offer_earlier_text() -> None:
    """A small button below the text box, while a mask that was sent has replaced what was typed."""
    if _EARLIER in st.session_state:
        st.button(
            t("explore.earlier_text"), key=key("earlier"), help=t("explore.earlier_text_help"),
            on_click=_bring_back, type="tertiary", icon=":material/undo:",
        )  # fmt: skip


def _bring_back() -> None:
    put("text", st.session_state.pop(_EARLIER))
