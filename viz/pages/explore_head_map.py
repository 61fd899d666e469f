"""The head map: each head of a model switched off in turn, with a button to start, a bar that moves and a way out."""

from dataclasses import replace

import streamlit as st

from attention_core.pretrained.head_map import Measure
from attention_core.runs import Run
from viz.figures.effects import head_effects
from viz.pages import explore_state as state
from viz.pages.charts import chart, offer
from viz.pages.explore_sections import figure_words
from viz.pages.explore_stacks import call_title, head_title
from viz.pages.explore_state import get, key, put
from viz.services import head_map as service
from viz.services.answers import mask_word
from viz.services.attention import ModelRequest, Request, revision
from viz.services.head_map import MapJob, MapRequest, MapResult
from viz.services.models import loaded_model
from viz.services.python_views import head_map_code
from viz.services.view_numbers import head_map_numbers
from viz.services.views import CallView
from viz.text import t, template
from viz.text.markdown import literal

POLL = 0.7  # seconds between two looks at how far a map is
TOP = 6
_JOB = state.PREFIX + "head_map_job"


def draw(request: Request, made: Run, shown: CallView) -> None:
    """The map of the shown text, or the way to it."""
    st.header(t("head_map.title"))
    if not isinstance(request, ModelRequest):
        st.info(t("head_map.models_only"))
        return
    if not loaded_model(request.model).switchable:
        st.info(t("head_map.recorded"))
        return
    two = "source" in made.tokens
    st.caption(t("head_map.intro_target" if two else "head_map.intro"))
    switches = replace(request.switches, heads_off=frozenset())
    asked = MapRequest(request.model, request.texts[shown.sample], switches, _measure(request))
    if two and request.targets:
        asked = replace(asked, target=request.targets[shown.sample])
    if asked.measure == "nll":
        st.caption(t("measure.nll_note"))
    job = _job_of(asked)
    found = service.finished(asked)
    if found is not None:
        _map(found, request)
        offer(
            "head_map",
            numbers=lambda: head_map_numbers(request, found, sample=shown.sample),
            code=lambda: head_map_code(found),
        )
    elif job is not None and job.state == "running":
        _progress(job)
    else:
        _offer(asked, job, made)


def _measure(request: ModelRequest) -> Measure:
    known = service.measures(request.model)
    if get("map_measure") not in known:
        put("map_measure", known[0])
    st.segmented_control(
        t("head_map.measure"), known, key=key("map_measure"), help=t("head_map.measure_help"), required=True,
        format_func=lambda code: t(f"measure.{code}"),
    )  # fmt: skip
    return next(code for code in known if code == get("map_measure"))


def _job_of(asked: MapRequest) -> MapJob | None:
    """The visitor's job where it is of what is asked for now; one of something else is ended."""
    job: MapJob | None = st.session_state.get(_JOB)
    if job is not None and job.request != asked:
        job.cancel()
        del st.session_state[_JOB]
        return None
    return job


def _offer(asked: MapRequest, job: MapJob | None, made: Run) -> None:
    obstacle = service.obstacle(asked)
    if obstacle:
        st.info(t(f"head_map.no_{obstacle}", mask=mask_word(asked.model)))
        return
    if job is not None and job.state == "cancelled":
        st.info(t("head_map.cancelled"))
    if job is not None and job.error is not None:
        st.error(t("head_map.failed", reason=literal(str(job.error))))
    st.caption(t("head_map.start_note", layers=len(made.calls)))
    st.button(
        t("head_map.start"), key=key("head_map_start"), type="primary", icon=":material/play_arrow:",
        on_click=_start, args=(asked,),
    )  # fmt: skip


def _start(asked: MapRequest) -> None:
    st.session_state[_JOB] = MapJob(asked, wanted=service.visitor_is_here())


def _progress(job: MapJob) -> None:
    """A bar that looks at the job by itself; the page is drawn anew once it has ended."""

    @st.fragment(run_every=POLL)
    def look() -> None:
        if job.state != "running":
            st.rerun()
        if job.cancelling:
            said = t("head_map.cancelling")
        else:
            said = t("head_map.progress", done=job.done, total=job.total) if job.total else t("head_map.waiting")
        with st.container(key=key("head_map_progress")):
            st.progress(job.share, said)
        st.button(
            t("head_map.cancel"), key=key("head_map_cancel"), icon=":material/close:", on_click=job.cancel,
            disabled=job.cancelling,
        )  # fmt: skip

    look()


def _map(found: MapResult, request: ModelRequest) -> None:
    name = t(f"measure.{found.request.measure}_name")
    row, head = int(str(get("layer"))), int(str(get("head")))
    layers, heads = found.values.shape
    two = _two_stacks(found)
    figure = head_effects(
        found.values,
        name=name,
        signed=found.request.measure == "nll",
        layers=[call_title(call) if two else call.layer for call in found.calls],
        off=found.off(request.switches.heads_off),
        chosen=(row, head) if found.has(row, head) else None,
        clickable=True,
        words=replace(figure_words(), overview_head=template("head_map.call_head")) if two else figure_words(),
        revision=revision(request, found.request.measure, row, head),
    )
    with st.container(key=key("head_map")):
        chart(
            figure, key=key("head_map_chart"), title=t("head_map.title"), on_select=_clicked, selection_mode="points",
            alt=t("head_map.alt", layers=layers, heads=heads),
        )  # fmt: skip
    ablation = t(f"ablation.{found.request.switches.ablation}")
    st.caption(t("head_map.made", heads=found.count, seconds=found.seconds, ablation=ablation))
    _chosen(found, row, head)
    st.write(t("head_map.strongest"))
    with st.container(key=key("head_map_top"), horizontal=True, gap="small"):
        for place, (layer, one, value) in enumerate(found.strongest(TOP)):
            st.button(
                t("head_map.one_call", name=_head_name(found, layer, one), value=value),
                key=key(f"head_map_top_{place}"), on_click=_choose, args=(layer, one), type="tertiary",
            )  # fmt: skip
    if st.toggle(t("head_map.table"), key=key("head_map_table_open")):
        columns = {t("explore.layer"): [call_title(call) if two else call.layer for call in found.calls]}
        columns |= {t("explore.one_head", head=index): found.values[:, index] for index in range(heads)}
        st.dataframe(columns, hide_index=True)


def _chosen(found: MapResult, row: int, head: int) -> None:
    """What can be done with the chosen head."""
    if not found.has(row, head):
        return
    call = found.calls[row]
    name = f"{call.name}:{head}"
    off = get("heads_off")
    chosen = list(off) if isinstance(off, list) else []
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.markdown(f"**{_head_name(found, row, head)}**", width="content")
        st.button(t("head_map.open"), key=key("head_map_open"), on_click=put, args=("view", "heads"))
        if name in chosen:
            rest = [one for one in chosen if one != name]
            st.button(t("head_map.switch_on"), key=key("head_map_on"), on_click=put, args=("heads_off", rest))
        else:
            more = [*chosen, name]
            st.button(t("head_map.switch_off"), key=key("head_map_off"), on_click=put, args=("heads_off", more))


def _two_stacks(found: MapResult) -> bool:
    return any(call.kind == "cross" for call in found.calls)


def _head_name(found: MapResult, row: int, head: int) -> str:
    call = found.calls[row]
    if _two_stacks(found):
        return head_title(f"{call.name}:{head}", kinds=True)
    return t("head_map.chosen", layer=call.layer, head=head)


def _choose(row: int, head: int) -> None:
    put("layer", row)
    put("head", head)


def _clicked() -> None:
    picked = st.session_state.get(key("head_map_chart"))
    for point in picked["selection"]["points"] if picked else []:
        place = point.get("customdata")
        if place is not None:
            _choose(int(place[0]), int(place[1]))
