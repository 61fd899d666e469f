"""Train: a small model learns a task whose right attention is known, while one watches."""

from pathlib import Path

import streamlit as st

from attention_core.training import TASKS
from viz.pages import explore_models, explore_sent, frame
from viz.pages import train_sections as sections
from viz.pages import train_state as state
from viz.pages.train_state import Shown, get, key
from viz.services.trained import archive, explore_settings, file_name, obstacle
from viz.services.training import LAST_STEP, MOST_AT_ONCE, MOST_STEPS, Lane
from viz.services.training_views import POSITIONS, PRESETS
from viz.text import t
from viz.text.markdown import literal

_STYLES = Path(__file__).resolve().parents[2] / "assets" / "styles" / "train.css"
_EVERY = 1.0  # seconds between two looks at a run


def render() -> None:
    """Draws the page from top to bottom: task, example, start, what is seen of the run, what can be done with it."""
    st.html(_STYLES)
    state.restore()
    st.caption(t("train.line"))
    _which()
    with st.sidebar:
        _settings()
    state.publish()
    if state.ignored():
        st.warning(t("train.link_ignored", names=", ".join(state.ignored())))
    _start()
    shown = state.shown()
    run = shown.run
    sections.what_is_run(shown)
    if run.state == "running":
        _live()
        return
    _after(shown)
    sections.scrubbed()
    if run.step:
        sections.over_time_charts(shown)
        for place, lane in enumerate(run.lanes):
            _take_away(shown, place, lane)


def _which() -> None:
    st.segmented_control(
        t("train.task"), list(TASKS), key=key("task"), help=t("train.task_help"), required=True,
        format_func=lambda code: t(f"train.task_{code}"),
    )  # fmt: skip
    st.markdown(t(f"train.about_{get('task')}"))


def _settings() -> None:
    st.slider(t("train.layers"), 1, 4, key=key("layers"), help=t("train.layers_help"))
    st.slider(t("train.heads"), 1, 8, key=key("heads"), help=t("train.heads_help"))
    st.selectbox(
        t("train.d_k"), state.D_K, key=key("d_k"), help=t("train.d_k_help"),
        format_func=lambda width: t("train.d_k_usual") if width == 0 else str(width),
    )  # fmt: skip
    st.selectbox(
        t("train.position"), POSITIONS, key=key("position"), help=t("train.position_help"),
        format_func=lambda code: t(f"train.position_{code}"),
    )  # fmt: skip
    st.toggle(t("train.scaling"), key=key("scaling"), help=t("train.scaling_help"))
    st.toggle(
        t("train.forgotten"), key=key("forgotten"), help=t("train.forgotten_help"),
        disabled=not TASKS[get("task")].causal,
    )  # fmt: skip
    st.select_slider(t("train.rate"), state.RATES, key=key("rate"), help=t("train.rate_help"))
    st.number_input(t("train.seed"), 0, 2**31 - 1, key=key("seed"), help=t("train.seed_help"), step=1)


def _start() -> None:
    st.button(
        t("train.start"), key=key("start"), on_click=state.begin, args=("",), type="primary",
        icon=":material/play_arrow:",
    )  # fmt: skip
    st.caption(t("train.ends", goal=TASKS[get("task")].goal, steps=MOST_STEPS))
    st.markdown(f"**{t('train.side_by_side')}**", help=t("train.side_by_side_help"))
    with st.container(key=key("presets"), horizontal=True, gap="small"):
        for preset in PRESETS:
            st.button(
                t(f"train.preset_{preset}"), key=key(f"preset_{preset}"), on_click=state.begin, args=(preset,),
                help=t(f"train.preset_{preset}_help"),
            )  # fmt: skip
    if state.is_busy():
        st.warning(t("train.busy", most=MOST_AT_ONCE))


@st.fragment(run_every=_EVERY)
@frame.calm
def _live() -> None:
    """The run as it stands, looked at again and again while the rest of the page stays as it is."""
    shown = state.shown()
    if shown.run.state != "running":
        st.rerun()
    with st.container(key=key("controls"), horizontal=True, gap="small"):
        st.button(t("train.pause"), key=key("pause"), on_click=shown.run.pause, icon=":material/pause:")
        st.button(t("train.stop"), key=key("stop"), on_click=shown.run.stop, icon=":material/stop:")
    st.progress(min(1.0, shown.run.step / shown.run.limit), t("train.step", step=shown.run.step, last=shown.run.limit))
    sections.at_step(shown, shown.run.step, live=True)


def _after(shown: Shown) -> None:
    """How the run stands, and going on where that is possible."""
    run = shown.run
    for place, lane in enumerate(run.lanes):
        if lane.state == "broken":
            code = "train.broken" if lane.config.scaling else "train.broken_unscaled"
            told = t(code, step=lane.broken_at, rate=lane.config.learning_rate)
            st.error(told, title=sections.lane_name(shown, place) or None)
    if run.error is not None:
        st.error(t("train.failed", reason=literal(str(run.error))))
    if not run.step:
        return
    sections.outcome(shown)
    if run.can_go_on:
        st.button(
            t("train.go_on"), key=key("go_on"), on_click=state.go_on, icon=":material/resume:",
            help=t("train.go_on_help", last=LAST_STEP),
        )  # fmt: skip


def _take_away(shown: Shown, place: int, lane: Lane) -> None:
    """The model as a file, and into the explore page."""
    name = sections.lane_name(shown, place)
    st.subheader(t("train.keep") if not name else t("train.keep_named", name=name), anchor=False)
    reason = obstacle(lane)
    if reason:
        st.info(t(f"train.not_saved_{reason}"))
        return
    with st.container(key=key(f"keep_{place}"), horizontal=True, gap="small"):
        st.download_button(
            t("train.download"), archive(lane), f"{file_name(lane)}.zip", "application/zip",
            key=key(f"download_{place}"), on_click="ignore", icon=":material/download:", help=t("train.download_help"),
        )  # fmt: skip
        pressed = st.button(
            t("train.explore"), key=key(f"explore_{place}"), icon=":material/open_in_new:", help=t("train.explore_help")
        )
    if not pressed:
        return
    try:
        settings = explore_settings(lane)
    except OSError as error:
        st.error(t("train.cannot_write", reason=literal(str(error.strerror or error))))
        return
    explore_models.known_sources(settings["source"])
    explore_sent.receive_settings(settings)
    frame.go("explore")
