"""Explore: a text, all heads of a layer, one head in full, and what the switches do to it."""

from pathlib import Path

import streamlit as st

from attention_core.pretrained import Model
from attention_core.runs import Run
from viz.pages import explore_controls as controls
from viz.pages import explore_sections as sections
from viz.pages import explore_state as state
from viz.pages.explore_state import bounded, clamp, get, key
from viz.services.attention import (
    SCRATCH,
    ModelRequest,
    Request,
    ScratchRequest,
    model_switches,
    run,
    sample_texts,
    scratch_config,
)
from viz.services.examples import examples
from viz.services.models import ModelError, loaded_model, model_is_here, model_names
from viz.services.views import statistics, view
from viz.text import t

_STYLES = Path(__file__).resolve().parents[2] / "assets" / "styles" / "explore.css"
_LAST_GOOD = state.PREFIX + "last_good"


def render() -> None:
    """Draws the page from top to bottom: text, what was run, verdict, all heads, one head, diagnostics, answer."""
    default_source = model_names()[0] if model_is_here(model_names()[0]) else SCRATCH
    default_text = examples()[0].text
    st.html(_STYLES)
    state.restore(text=default_text, source=default_source)
    places = controls.Places()
    controls.text_input(places)
    with st.sidebar:
        controls.source_choice()
        model = _model(str(get("source")))
        if model is not None:
            controls.model_controls(model, places)
        else:
            controls.scratch_controls(places)
    if not state.publish(default_text=default_text, default_source=default_source):
        st.caption(t("explore.link_too_long"))
    if state.ignored():
        st.warning(t("explore.link_ignored", names=", ".join(state.ignored())))

    request, made = _run(model, places)
    if request is None or made is None:
        return
    sections.notes(made)
    _picture(request, made, model if isinstance(request, ModelRequest) else None)


def _model(source: str) -> Model | None:
    """The chosen model, loaded; None, with what can be done about it on the page, where it cannot be used."""
    if source not in model_names():
        return None
    if not model_is_here(source):
        sections.offer_model(source)
        return None
    try:
        with st.spinner(t("explore.model_loading", name=source)):
            return loaded_model(source)
    except ModelError as error:
        st.error(t("explore.model_failed", name=source, reason=str(error)))
        return None


def _run(model: Model | None, places: controls.Places) -> tuple[Request | None, Run | None]:
    """What is asked for and its run; where that is refused, a message and the last picture that was good."""
    try:
        request = _request(model)
        with st.spinner(t("explore.running"), show_time=False):
            made = run(request)
    except ValueError as error:
        control = getattr(error, "control", "text")
        places.refuse(control, t("explore.input_refused", reason=str(error)))
    except ModelError as error:
        places.refuse("text", t("explore.input_refused", reason=str(error)))
    else:
        st.session_state[_LAST_GOOD] = request
        return request, made
    last: Request | None = st.session_state.get(_LAST_GOOD)
    return (None, None) if last is None else (last, run(last))


def _request(model: Model | None) -> Request:
    values = controls.values()
    if model is None:
        return ScratchRequest(values["text"], scratch_config(values))
    texts = sample_texts(values["text"], lines=values["lines"])
    return ModelRequest(model.name, texts, values["side"], model_switches(values))


def _picture(request: Request, made: Run, model: Model | None) -> None:
    clamp("sample", 0, len(made.texts) - 1)
    call = made.calls[bounded("layer", len(made.calls) - 1)]
    if len(made.texts) > 1:
        st.selectbox(
            t("explore.sample"),
            range(len(made.texts)),
            key=key("sample"),
            help=t("explore.sample_help"),
            format_func=lambda index: t("explore.sample_option", index=index, text=made.texts[index]),
        )
    shown = view(request, call.name, bounded("sample", len(made.texts) - 1))
    sections.what_was_run(request, made, shown, model)
    sections.verdicts(shown)
    sections.all_heads(request, made, shown)
    sections.one_head(made, shown)
    sections.diagnostics(statistics(request, call.name, shown.sample))
    if isinstance(request, ModelRequest):
        sections.answer(request)
