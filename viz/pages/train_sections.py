"""What the train page shows of a run: the example, the curves, the maps, and all of it in words."""

from html import escape

import streamlit as st

from viz.figures.curves import Curve, curves
from viz.figures.training import heads_over_time, training_maps
from viz.pages import frame
from viz.pages import train_state as state
from viz.pages.charts import chart
from viz.pages.explore_sections import figure_words, sideways
from viz.pages.train_state import Shown, key
from viz.services.training import Lane, Seen
from viz.services.training_views import (
    ExampleView,
    difference,
    example,
    generated,
    may_see,
    over_time,
    steps_to_show,
)
from viz.text import t

_WIDE, _HALF = 1040, 510  # pixels that a figure has, alone and beside another


def lane_name(shown: Shown, place: int) -> str:
    """What sets a model apart from the one beside it; "" where it is alone."""
    if not shown.preset:
        return ""
    return t(f"train.{shown.preset}_one" if place == 0 else f"train.{shown.preset}_two")


def what_is_run(shown: Shown) -> None:
    """One line per model: its settings."""
    for place, lane in enumerate(shown.run.lanes):
        config, model = lane.config, lane.trainer.model.config
        name = lane_name(shown, place)
        line = t(
            "train.what", task=t(f"train.task_{config.task}"), layers=config.num_layers, heads=config.num_heads,
            d_model=config.d_model, d_k=model.key_width, position=t(f"train.position_{config.position}"),
            scaling=t("train.scaled") if config.scaling else t("train.unscaled"), rate=config.learning_rate,
            seed=config.seed,
        )  # fmt: skip
        if lane.trainer.task.causal and not config.causal_mask:
            line = f"{line}, {t('train.mask_forgotten')}"
        st.caption(f"**{name}**: {line}" if name else line)


def at_step(shown: Shown, step: int, *, live: bool) -> None:
    """Numbers in words, curves, maps and answers at one step of the run."""
    lanes = shown.run.lanes
    for place, lane in enumerate(lanes):
        seen, _ = lane.at(step)
        _words(lane_name(shown, place), seen)
    if shown.run.step:
        left, right = st.columns(2)
        with left:
            _curve(shown, "accuracy", step, live=live)
        with right:
            _curve(shown, "loss", step, live=live)
    st.subheader(t("train.maps"), anchor=False)
    st.caption(t("train.maps_note"))
    for place, (column, lane) in enumerate(zip(st.columns(len(lanes)), lanes, strict=True)):
        with column:
            _maps(shown, place, lane, step)


@st.fragment
@frame.calm
def scrubbed() -> None:
    """A slider over the checkpoints, and what was seen there; works by arrow keys too."""
    shown = state.shown()
    steps = steps_to_show(shown.run)
    step = steps[-1]
    if len(steps) > 1:
        if st.session_state.get(key("checkpoint")) not in steps:
            st.session_state[key("checkpoint")] = step
        step = st.select_slider(
            t("train.checkpoint"), steps, key=key("checkpoint"), help=t("train.checkpoint_help"),
        )  # fmt: skip
    at_step(shown, step, live=False)


def outcome(shown: Shown) -> None:
    """How it came out: one sentence for a run alone, what differs for two, and what a forgotten mask does."""
    lanes = shown.run.lanes
    if len(lanes) == 1:
        lane = lanes[0]
        if lane.reached:
            st.success(t("train.learned", step=lane.reached, goal=lane.goal))
        elif lane.state == "limit":
            st.info(t("train.limit", step=lane.trainer.steps, right=lane.seen[-1].accuracy, goal=lane.goal))
    else:
        code, values = difference(shown.run)
        st.info(t(f"train.differ_{code}", one=lane_name(shown, 0), two=lane_name(shown, 1), **values))
    if any(lane.trainer.task.causal and not lane.config.causal_mask for lane in lanes):
        _alone(shown)


def over_time_charts(shown: Shown) -> None:
    """Weight on the answer and entropy of every head, and similarity of heads, against steps."""
    st.subheader(t("train.over_time"), anchor=False)
    lanes = shown.run.lanes
    width = _WIDE if len(lanes) == 1 else _HALF
    for kind in ("on_source", "entropy"):
        st.markdown(f"**{t(f'train.{kind}')}**", help=t(f"train.{kind}_help"))
        for place, (column, lane) in enumerate(zip(st.columns(len(lanes)), lanes, strict=True)):
            found = over_time(lane)
            values = found.on_source if kind == "on_source" else found.entropy
            figure = heads_over_time(
                values, heads=found.heads, steps=found.steps, head_title=t("train.head_axis"),
                step_title=t("train.steps"), last=shown.run.step, width=width, title=lane_name(shown, place),
                revision=len(found.steps),
            )  # fmt: skip
            title = t(f"train.{kind}")
            with column:
                chart(figure, key=key(f"{kind}_{place}"), title=title, alt=t("train.heads_alt", what=title))
    lines = []
    for place, lane in enumerate(lanes):
        found = over_time(lane)
        for layer in found.layers:
            name, alone = t("train.layer", layer=layer), lane_name(shown, place)
            lines.append(Curve(f"{alone}, {name}" if alone else name, found.steps, found.similarity[layer]))
    if lines:
        st.markdown(f"**{t('train.similarity')}**", help=t("train.similarity_help"))
        figure = curves(
            lines, x_title=t("train.steps"), y_title=t("train.similarity_axis"), y_range=(0.0, 1.02), width=_WIDE
        )
        chart(figure, key=key("similarity"), title=t("train.similarity"), alt=t("train.similarity_alt"))


def _words(name: str, seen: Seen) -> None:
    layer, head, weight = seen.best
    line = t(
        "train.now", step=seen.step, right=seen.accuracy, loss=seen.loss, head=f"{layer}.{head}", weight=weight
    )  # fmt: skip
    st.markdown(f"**{name}**: {line}" if name else line)


def _curve(shown: Shown, what: str, step: int, *, live: bool) -> None:
    lines = []
    for place, lane in enumerate(shown.run.lanes):
        seen = tuple(lane.seen)
        name = lane_name(shown, place) or t(f"train.{what}")
        lines.append(Curve(name, [one.step for one in seen], [getattr(one, what) for one in seen]))
    figure = curves(
        lines, x_title=t("train.steps"), y_title=t(f"train.{what}_axis"), mark=None if live else step,
        y_range=(0.0, 1.02) if what == "accuracy" else None, width=_HALF, revision=len(shown.run.lanes[0].seen),
    )  # fmt: skip
    chart(figure, key=key(what), title=t(f"train.{what}"), alt=t("train.curve_alt", what=t(f"train.{what}")))


def _maps(shown: Shown, place: int, lane: Lane, step: int) -> None:
    seen, weights = lane.at(step)
    view = example(lane.config.task, lane.config.seed)
    _example(view, seen.said, place)
    layers, heads = weights.shape[:2]
    names = [t("train.head_name", layer=layer, head=head) for layer in range(layers) for head in range(heads)]
    figure = training_maps(
        weights, tokens=view.tokens, sources=[(one.place, one.source) for one in view.asked], names=names,
        allowed=may_see(lane), title=lane_name(shown, place), words=figure_words(),
        width=_WIDE if len(shown.run.lanes) == 1 else _HALF, revision=seen.step,
    )  # fmt: skip
    sideways()
    with st.container(key=key(f"maps_box_{place}")):
        chart(
            figure, key=key(f"maps_{place}"), title=t("train.maps"),
            alt=t("train.maps_alt", layers=layers, heads=heads, step=seen.step),
        )  # fmt: skip


def _example(view: ExampleView, said: tuple[str, ...], place: int) -> None:
    """The tokens in, the answers asked below them, what the model says, and frames where the answers stand."""
    answers = {one.place: (one.answer, word) for one, word in zip(view.asked, said, strict=True)}
    sources = {one.source for one in view.asked}
    cells = []
    for index, token in enumerate(view.tokens):
        answer, word = answers.get(index, ("", ""))
        right = "right" if answer == word else "wrong"
        spoken = f'<i class="{right}">{escape(word)}</i>' if index in answers else "<i></i>"
        shown = f'<b class="token {"source" if index in sources else "plain"}">{escape(token)}</b>'
        cells.append(f'<span class="cell">{shown}<u>{escape(answer)}</u>{spoken}</span>')
    heads = f"<b>{t('train.row_in')}</b><u>{t('train.row_asked')}</u><i>{t('train.row_said')}</i>"
    with st.container(key=key(f"example_{place}")):
        st.html(f'<div class="train-example"><span class="cell names">{heads}</span>{"".join(cells)}</div>')


def _alone(shown: Shown) -> None:
    """What the models say when nothing of what follows is there."""
    st.markdown(t("train.alone"))
    for place, lane in enumerate(shown.run.lanes):
        made = generated(lane)
        name = lane_name(shown, place) or t("train.this_model")
        view = example(lane.config.task, lane.config.seed)
        st.markdown(
            t("train.alone_said", name=name, said=" ".join(made.said), asked=" ".join(one.answer for one in view.asked),
              alone=made.accuracy, right=lane.seen[-1].accuracy)
        )  # fmt: skip
