"""What the explore page says about its input: cut, refused, missing; and the way out of it."""

import streamlit as st

from attention_core.runs import Run
from viz.pages.explore_controls import Places, values
from viz.pages.explore_models import model_reason
from viz.pages.explore_state import key, put
from viz.services.attention import MOST_CHARACTERS, MOST_SAMPLES, SCRATCH, Typed
from viz.text import TEXTS, t


def notes(made: Run, written: Typed) -> None:
    """What the reader must know about the input: cut, unknown to the model, typed like a special token."""
    if written.characters > MOST_CHARACTERS:
        st.warning(t("note.characters_cut", most=MOST_CHARACTERS, total=written.characters))
    if written.lines > MOST_SAMPLES:
        st.warning(t("note.lines_cut", most=MOST_SAMPLES, total=written.lines))
    told = [note for note in made.notes if note.code != "random_weights"]  # that stands with what was run
    for text in dict.fromkeys(t(f"note.{note.code}", **note.values) for note in told):  # samples may share a note
        st.warning(text)
    if any(note.code == "unknown_tokens" for note in told):
        st.button(t("note.use_scratch"), key=key("use_scratch"), on_click=put, args=("source", SCRATCH))


def refuse(error: Exception, places: Places, *, model: str, kept: bool) -> None:
    """Says why a request cannot be run, where the control is, and whether the picture below is an earlier one."""
    named = str(getattr(error, "control", ""))
    control = named.partition(".")[0]
    if f"refused.{named}" in TEXTS:
        reason = t(f"refused.{named}", **{**values(), **getattr(error, "values", {})})
    else:
        reason = model_reason(error, model)
    places.refuse(control, t("explore.refused" if kept else "explore.refused_bare", reason=reason))
