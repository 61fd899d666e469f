"""The view of two beside each other: two settings, texts, heads or models, their difference, and what changed most."""

from collections.abc import Callable
from dataclasses import replace
from html import escape

import streamlit as st

from attention_core.runs import Run
from viz.figures import Figure, head_heatmap
from viz.figures.focus import framed
from viz.figures.labels import hover_text
from viz.figures.level import levelled
from viz.figures.tables import label
from viz.pages.charts import chart, offer
from viz.pages.explore_controls import source_title
from viz.pages.explore_kept import forget, keep, unpacked
from viz.pages.explore_numbers import inside, number, styles
from viz.pages.explore_sections import differences, figure_words, labels_of, words_of_maps
from viz.pages.explore_state import SETTINGS, get, key, put
from viz.services.attention import SCRATCH, ModelRequest, Request, ScratchRequest, revision, text_of
from viz.services.explore_compare import (
    NUMBERS,
    Change,
    Pair,
    Side,
    as_it_is,
    pair,
    request_of,
    side,
    size_of,
    with_text,
)
from viz.services.models import ModelError, model_is_here, model_names
from viz.services.python_views import compare_code
from viz.services.view_numbers import pair_numbers
from viz.services.views import CallView
from viz.text import t
from viz.text.markdown import literal

_WIDTH = 400
_NUMBERS_UP_TO = 8  # tokens up to which numbers fit into the cells of three maps beside each other
MODES = ("neutral", "kept", "text", "head", "model")


def draw(request: Request, made: Run, shown: CallView) -> None:
    """What A is, then A, B and B - A beside each other, and the difference in words."""
    styles()
    head = inside("head", shown.heads)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.segmented_control(
            t("compare.against"), MODES, key=key("against"), help=t("compare.against_help"), required=True,
            format_func=lambda code: t(f"compare.{code}"), width="content",
        )  # fmt: skip
        st.selectbox(t("compare.own_head"), range(shown.heads), key=key("head"), help=t("compare.head_help"), width=140)
    layer = made.calls.index(shown.call)
    try:
        first = _FIRST[str(get("against"))](request, shown.sample, layer, head)
    except (ValueError, *ModelError) as error:
        st.error(t("compare.refused", reason=literal(str(error))))
        return
    if first is None:
        return
    second = side(request, layer, shown.sample, head)
    found = pair(first, second)
    st.html(f'<p class="cell-name"><bdi>A: {escape(_title(first))}</bdi><br><bdi>B: {escape(_title(second))}</bdi></p>')
    _maps(found, revision(request, first.request, first.call.name, first.head, layer, head))
    _words(found)
    _numbers(found)
    offer("compare", numbers=lambda: pair_numbers(found), code=lambda: compare_code(found))


def _neutral(request: Request, sample: int, layer: int, head: int) -> Side | None:
    other = as_it_is(request)
    if other == request:
        st.info(t("compare.nothing_switched"))
        return None
    model = isinstance(request, ModelRequest)
    st.caption(t("compare.about_neutral" if model else "compare.about_neutral_scratch"))
    return side(other, layer, sample, head)


def _kept(request: Request, sample: int, layer: int, head: int) -> Side | None:
    with st.container(horizontal=True):
        st.button(t("compare.keep"), key=key("keep"), on_click=keep, help=t("compare.keep_help"))
        if get("kept"):
            st.button(t("compare.forget"), key=key("forget"), on_click=forget)
    if not get("kept"):
        st.info(t("compare.nothing_kept"))
        return None
    values = unpacked(str(get("kept")))
    return side(request_of(values), int(str(values["layer"])), int(str(values["sample"])), int(str(values["head"])))


def _text(request: Request, sample: int, layer: int, head: int) -> Side | None:
    st.text_input(t("compare.other_text"), key=key("other_text"), help=t("compare.other_text_help"))
    if not str(get("other_text")).strip():
        st.info(t("compare.no_text"))
        return None
    return side(with_text(request, str(get("other_text"))), layer, 0, head)


def _head(request: Request, sample: int, layer: int, head: int) -> Side | None:
    other_layer, other_head = _other(request)
    return side(request, other_layer, sample, other_head)


def _model(request: Request, sample: int, layer: int, head: int) -> Side | None:
    own = request.model if isinstance(request, ModelRequest) else SCRATCH
    sources = [name for name in (*model_names(), SCRATCH) if name != own and (name == SCRATCH or model_is_here(name))]
    if not sources:
        st.info(t("compare.no_model"))
        return None
    if get("other_source") not in sources:
        put("other_source", sources[0])
    st.selectbox(
        t("compare.other_source"), sources, key=key("other_source"), help=t("compare.other_source_help"),
        format_func=source_title, width=320,
    )  # fmt: skip
    st.caption(t("compare.about_model"))
    text = text_of(request.texts[sample]) if isinstance(request, ModelRequest) else request.text
    values = {name: setting.default for name, setting in SETTINGS.items()}
    other = request_of(values | {"source": get("other_source"), "text": text})
    with st.spinner(t("explore.running")):
        other_layer, other_head = _other(other)
        return side(other, other_layer, 0, other_head)


def _other(request: Request) -> tuple[int, int]:
    """Layer and head of A, chosen."""
    layers, heads = size_of(request)
    layer = inside("other_layer", layers)
    head = inside("other_head", heads[layer])
    with st.container(horizontal=True):
        st.selectbox(t("compare.other_layer"), range(layers), key=key("other_layer"), width=140)
        st.selectbox(t("compare.other_head"), range(heads[layer]), key=key("other_head"), width=140)
    return layer, head


_FIRST: dict[str, Callable[[Request, int, int, int], Side | None]] = {
    "neutral": _neutral,
    "kept": _kept,
    "text": _text,
    "head": _head,
    "model": _model,
}


def _title(one: Side) -> str:
    source = one.request.model if isinstance(one.request, ModelRequest) else t("explore.source_scratch")
    parts = [source, t("explore.call_head", layer=one.call.layer, head=one.head)]
    if isinstance(one.request, ModelRequest) and not one.request.switches.neutral:
        parts.append(differences(one.request.switches))
    if isinstance(one.request, ScratchRequest):
        config = one.request.config
        usual = t("explore.scaling_off") if config.scale == "off" else number(config.factor, 3)
        window = "causal+window" if config.mask.kind == "window" and config.mask.causal else config.mask.kind
        parts += [f"{t('explore.scaling')}: {usual}", f"{t('explore.mask')}: {t(f'mask.{window}')}"]
    text = text_of(one.request.texts[0]) if isinstance(one.request, ModelRequest) else one.request.text
    return " · ".join([*parts, t("compare.quoted", text=hover_text(text, 80))])


def _maps(found: Pair, name: str) -> None:
    figures = [_map(one) for one in (found.first, found.second)]
    titles = ["A", "B"]
    if found.difference is not None:
        words = replace(figure_words(), scores=t("compare.difference"))
        third = head_heatmap(found.difference, stage="scores", words=words, **_around(found.second))
        if found.largest:
            worst = found.largest[0]
            third = framed(third, query=worst.query, key=worst.key, shape=found.difference.shape)
        figures.append(third)
        titles.append(t("compare.difference"))
    codes = ("first", "second", "difference")
    columns = st.columns(len(figures), gap="medium")
    for column, figure, title, code in zip(columns, levelled(figures), titles, codes, strict=False):
        figure.update_layout(meta=name)
        column.markdown(f"**{title}**")
        chart(
            figure, key=key(f"compare_{code}_chart"), title=t("compare.chart", which=title),
            alt=t(f"compare.{code}_alt"), place=column,
        )  # fmt: skip


def _map(one: Side) -> Figure:
    return head_heatmap(one.weights, allowed=one.allowed, intended=one.intended, words=words_of_maps(), **_around(one))


def _around(one: Side) -> dict:
    return {
        "query_tokens": labels_of(one.query_tokens),
        "key_tokens": labels_of(one.key_tokens),
        "padded_queries": [token.padding for token in one.query_tokens],
        "padded_keys": [token.padding for token in one.key_tokens],
        "numbers_in_cells": max(one.weights.shape) <= _NUMBERS_UP_TO,
        "width": _WIDTH,
    }


def _words(found: Pair) -> None:
    if found.alignment == "none":
        sizes = {"first": len(found.first.query_tokens), "second": len(found.second.query_tokens)}
        st.info(t("compare.no_cells", **sizes))
        return
    st.header(t("compare.largest"))
    if found.alignment == "positions":
        st.caption(t("compare.by_position", unlike=found.unlike))
    if not found.largest:
        st.success(t("compare.same", total=found.total))
        return
    st.caption(t("compare.cells", cells=found.cells, total=found.total))
    lines = "".join(f"<li><bdi>{escape(_line(found, change))}</bdi></li>" for change in found.largest)
    st.html(f'<ol class="changes">{lines}</ol>')


def _line(found: Pair, change: Change) -> str:
    return t(
        "compare.line",
        row=_name(change.query, found.first.query_tokens, found.second.query_tokens),
        key=_name(change.key, found.first.key_tokens, found.second.key_tokens),
        first=number(change.first, 3),
        second=number(change.second, 3),
        change=number(change.difference, 3, sign=True),
    )


def _name(index: int, first: tuple, second: tuple) -> str:
    one, other = first[index].label, second[index].label
    if one == other:
        return label(index, one)
    return t("compare.two_tokens", first=label(index, one), second=hover_text(other))


def _numbers(found: Pair) -> None:
    st.header(t("compare.numbers"))
    names = ("", "A", "B", t("compare.difference"))
    head = "".join(f'<th class="right">{escape(name)}</th>' if i else "<th></th>" for i, name in enumerate(names))
    differences = found.number_differences()
    lines = ""
    for name in NUMBERS:
        values = (number(found.first.numbers[name], 4), number(found.second.numbers[name], 4),
                  number(differences[name], 3, sign=True))  # fmt: skip
        cells = "".join(f'<td class="right">{value}</td>' for value in values)
        lines += f"<tr><td>{escape(t(f'column.{name}'))}</td>{cells}</tr>"
    st.html(f'<table class="numbers compared"><tr>{head}</tr>{lines}</table>')
