"""Explore: a text, all heads of a layer, one head in full, and what the switches do to it."""

from pathlib import Path

import streamlit as st

from attention_core.pretrained import Model
from attention_core.runs import Run
from viz.figures.labels import visible
from viz.pages import explore_answer
from viz.pages import explore_controls as controls
from viz.pages import explore_inputs as inputs
from viz.pages import explore_messages as messages
from viz.pages import explore_models as models
from viz.pages import explore_sections as sections
from viz.pages import explore_stacks as stacks
from viz.pages import explore_state as state
from viz.pages import explore_take_away as take_away
from viz.pages import explore_views as views
from viz.pages.explore_state import bounded, clamp, get, key
from viz.services.attention import (
    SCRATCH,
    ModelRequest,
    Request,
    ScratchRequest,
    Typed,
    model_switches,
    run,
    samples_of,
    scratch_config,
    targets_of,
    typed,
)
from viz.services.examples import examples
from viz.services.models import ModelError, model_is_here, model_names
from viz.services.views import view
from viz.text import t

_STYLES = Path(__file__).resolve().parents[2] / "assets" / "styles" / "explore.css"
OPTION_WIDTH = 60  # of a sample in its chooser, in columns; more characters than that only where they are very narrow
OPTION_CHARACTERS = 500
_LAST_GOOD = state.PREFIX + "last_good"


def render() -> None:
    """Draws the page from top to bottom: text, what was run, verdict, all heads, one head, diagnostics, answer."""
    default_source = model_names()[0] if model_is_here(model_names()[0]) else SCRATCH
    default_text = examples()[0].text
    st.html(_STYLES)
    sources = models.known_sources(st.query_params.get("source", ""))
    state.restore(text=default_text, source=default_source, sources=sources)
    places = controls.Places()
    controls.text_input(places)
    with st.sidebar:
        models.source_choice()
    model = models.chosen_model(str(get("source")))
    inputs.choice(model)
    stacks.target_input(model)
    with st.sidebar:
        if model is not None:
            controls.model_controls(model, places)
        else:
            controls.scratch_controls(places)
    if not state.publish(default_text=default_text, default_source=default_source):
        st.caption(t("explore.link_too_long"))
    link = st.empty()
    written = typed(str(get("text")), lines=model is not None and bool(get("lines")))
    request, made = _run(model, written, places)
    if request is not None and made is not None:
        messages.notes(made, written)
        _picture(request, made)
    state.arrived()
    if state.ignored():
        link.warning(t("explore.link_ignored", names=", ".join(state.ignored())))


def _run(model: Model | None, written: Typed, places: controls.Places) -> tuple[Request | None, Run | None]:
    """What is asked for and its run; where that is refused, a message and the last picture that was good."""
    try:
        request = _request(model, written)
        with st.spinner(t("explore.running"), show_time=False):
            made = run(request)
    except (ValueError, *ModelError) as error:
        last, made = _last_good()
        messages.refuse(error, places, model=str(get("source")), kept=made is not None)
        return last, made
    st.session_state[_LAST_GOOD] = request
    return request, made


def _last_good() -> tuple[Request | None, Run | None]:
    last: Request | None = st.session_state.get(_LAST_GOOD)
    try:
        return (None, None) if last is None else (last, run(last))
    except ModelError:  # its model is gone meanwhile
        return None, None


def _request(model: Model | None, written: Typed) -> Request:
    values = controls.values()
    if model is None:
        return ScratchRequest(written.text, scratch_config(values))
    targets = targets_of(model.name, values["target"], lines=values["lines"])
    return ModelRequest(model.name, samples_of(model.name, values), values["side"], model_switches(values), targets)


def _opening(text: str) -> str:
    return visible(text[:OPTION_CHARACTERS], OPTION_WIDTH)


def _picture(request: Request, made: Run) -> None:
    clamp("sample", 0, len(made.texts) - 1)
    call = made.calls[bounded("layer", len(made.calls) - 1)]
    if len(made.texts) > 1:
        st.selectbox(
            t("explore.sample"),
            range(len(made.texts)),
            key=key("sample"),
            help=t("explore.sample_help"),
            format_func=lambda index: t("explore.sample_option", index=index, text=_opening(made.texts[index])),
        )
    shown = view(request, call.name, bounded("sample", len(made.texts) - 1))
    sections.what_was_run(request, made, shown)
    sections.verdicts(shown)
    inputs.padding_effects(request, made)
    take_away.begin()
    views.draw(request, made, shown)
    if isinstance(request, ModelRequest):
        explore_answer.draw(request, shown)
    take_away.draw(request, shown, sections.run_lines(request, made, shown))
