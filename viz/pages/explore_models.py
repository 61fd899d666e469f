"""Which model the explore page runs: the chooser, and what is seen while one is on its way or cannot be used."""

import uuid

import streamlit as st

from attention_core.pretrained import Model
from viz.pages.explore_state import PREFIX, get, key, put, put_next
from viz.services.attention import SCRATCH
from viz.services.model_jobs import Job, model_jobs
from viz.services.models import (
    about_model,
    could_be_model,
    download_megabytes,
    error_code,
    is_bundled,
    loads_at_once,
    model_is_here,
    model_names,
    ready_model,
)
from viz.services.trained import trained_name
from viz.text import TEXTS, t
from viz.text.markdown import literal

PATIENCE = 60.0  # seconds that a small model that is here is waited for
GRACE = 0.5  # seconds after which a larger one is shown on its way
_EVERY = 0.5  # seconds between two looks at a job
_NO_DOWNLOAD_HELPS = ("too-large", "no-weights", "no-tokenizer", "incomplete", "unsupported")
_TYPED = PREFIX + "typed_sources"  # models that the visitor named, beside those of the catalog
_VISITOR = PREFIX + "visitor"


def known_sources(wanted: str = "") -> tuple[str, ...]:
    """All sources to choose from: the catalog, what the visitor named, the core; ``wanted`` too if it can be one."""
    typed: list[str] = st.session_state.setdefault(_TYPED, [])
    if wanted and wanted not in (*model_names(), SCRATCH, *typed) and could_be_model(wanted):
        typed.append(wanted)
    return (*model_names(), *typed, SCRATCH)


def source_choice() -> None:
    """The chooser of the source, and a box for a model that is not in the list."""
    st.selectbox(
        t("explore.source"), known_sources(), key=key("source"), format_func=source_title,
        help=t("explore.source_help"),
    )  # fmt: skip
    st.text_input(
        t("explore.another"), key=key("another"), help=t("explore.another_help"), on_change=_use_another,
        placeholder=t("explore.another_placeholder"),
    )  # fmt: skip
    refused = st.session_state.get(key("another_refused"))
    if refused:
        st.error(t("explore.another_refused", name=literal(str(refused))))


def source_title(source: str) -> str:
    """Name of a source; a model that is not here says so."""
    if source == SCRATCH:
        return t("explore.source_scratch")
    if is_bundled(source):
        return t("explore.source_bundled", name=source)
    if trained_name(source):
        return t("explore.source_trained", name=trained_name(source))
    return source if model_is_here(source) else t("explore.source_missing", name=source)


def chosen_model(source: str) -> Model | None:
    """The chosen model, loaded; None, with what can be done about it on the page, where it cannot be used now."""
    if source == SCRATCH:
        if not model_is_here(model_names()[0]) and not _on_its_way(model_names()[0]):
            _offer(model_names()[0])
        return None
    model = ready_model(source)
    if model is not None:
        return model
    job = model_jobs.find(source)
    if job is not None and job.ended.is_set():
        _offer(source, job.error)
        return None
    if job is None and not model_is_here(source):
        _offer(source)
        return None
    job = model_jobs.ask(source, _visitor(), bring=False)
    with st.spinner(t("explore.model_loading", name=literal(source))):
        job.ended.wait(PATIENCE if loads_at_once(source) else GRACE)
    model = ready_model(source)
    if model is None and job.error is not None:
        _offer(source, job.error)
    elif model is None:
        _watch(source)
    return model


def model_reason(error: Exception, name: str) -> str:
    """Why a model cannot be used, and the remedy, as one or two sentences."""
    known = f"model_error.{error_code(error)}"
    values = {"name": literal(name), **getattr(error, "values", {})}
    return t(known, **values) if known in TEXTS else t("explore.refused_other", reason=literal(str(error)))


def _on_its_way(name: str) -> bool:
    job = model_jobs.find(name)
    if job is None or _visitor() not in job.visitors:
        return False
    if job.ended.is_set():
        _offer(name, job.error)
    else:
        _watch(name)
    return True


def _offer(name: str, error: Exception | None = None) -> None:
    shown = literal(name)
    if error is None:
        st.info(t("explore.model_missing", name=shown))
    else:
        st.error(t("explore.model_failed", name=shown, reason=model_reason(error, name)))
    _about(name)
    megabytes = download_megabytes(name)
    if error is not None and error_code(error) in _NO_DOWNLOAD_HELPS:
        label = t("explore.model_again", name=shown)
    elif megabytes is None:
        label = t("explore.model_fetch_unknown", name=shown)
    else:
        label = t("explore.model_fetch", name=shown, megabytes=megabytes)
    st.button(label, key=key("fetch"), on_click=_bring, args=(name,))


def _about(name: str) -> None:
    about = about_model(name)
    if about is None:
        return
    origin = t(f"explore.origin_{about.origin}", place=literal(about.place))
    family = t(f"explore.family_{about.family}")
    numbers = {"layers": about.layers, "heads": about.heads, "millions": about.millions, "licence": about.licence}
    st.caption(t("explore.model_about", family=family, origin=origin, **numbers))


def _bring(name: str) -> None:
    model_jobs.ask(name, _visitor(), bring=True)
    put("source", name)


@st.fragment(run_every=_EVERY)
def _watch(name: str) -> None:
    """How far a model is, looked at again and again while the rest of the page stays as it is."""
    job = model_jobs.find(name)
    if job is None or job.ended.is_set():
        st.rerun()
    left, right = st.columns([5, 1], vertical_alignment="center")
    left.progress(job.fraction, _how_far(job))
    right.button(t("explore.model_cancel"), key=key("cancel"), on_click=_cancel, args=(name,), width="stretch")
    st.caption(t("explore.model_meanwhile"))


def _how_far(job: Job) -> str:
    if job.stage == "download" and not job.done:
        return t("explore.model_stage_start", name=literal(job.name))
    return t(f"explore.model_stage_{job.stage}", name=literal(job.name), done=job.done, total=job.total)


def _cancel(name: str) -> None:
    model_jobs.leave(name, _visitor())
    put_next("source", model_names()[0] if ready_model(model_names()[0]) is not None else SCRATCH)
    st.toast(t("explore.model_cancelled", name=literal(name)))


def _use_another() -> None:
    typed = str(get("another")).strip()
    st.session_state[key("another_refused")] = None
    if not typed:
        return
    if not could_be_model(typed):
        st.session_state[key("another_refused")] = typed
        return
    known_sources(typed)
    put("source", typed)
    put("another", "")


def _visitor() -> str:
    return st.session_state.setdefault(_VISITOR, uuid.uuid4().hex)
