"""The view of rollout and flow: what each position holds after some layers, and where it came from."""

from html import escape

import streamlit as st

from attention_core.diagnostics import MOST_EDGES
from attention_core.runs import Run
from viz.figures import head_heatmap
from viz.figures.focus import framed
from viz.figures.labels import hover_text
from viz.figures.level import levelled
from viz.figures.tables import label
from viz.pages import explore_state as state
from viz.pages.charts import chart, offer
from viz.pages.explore_numbers import inside, number, styles
from viz.pages.explore_sections import figure_words
from viz.pages.explore_state import get, key, put
from viz.services.attention import Request, revision
from viz.services.flow import Flow, flow, flow_fits, flow_kinds, origins, row_flow, stack
from viz.services.python_views import flow_code
from viz.services.text_pieces import Piece
from viz.services.view_numbers import flow_numbers
from viz.services.views import CallView
from viz.text import t

_OPTION = 60  # characters of a token in a chooser
_WIDTH = 560


def draw(request: Request, made: Run, shown: CallView) -> None:
    """Controls, rollout and plain mean beside each other, and the origins of one token."""
    styles()
    kinds = flow_kinds(made)
    if not kinds:
        st.info(t("flow.none"))
        return
    kind = _kind(kinds, shown)
    all_layers = len(stack(made, "decoder" if kind == "cross" else kind))
    layers = _layers(all_layers)
    _controls(kinds, all_layers)
    residual, words = float(str(get("flow_residual"))), bool(get("merge"))
    found = flow(request, kind, sample=shown.sample, layers=layers, residual=residual, words=words)
    place = (kind, shown.sample, layers, residual, words)
    row = inside("flow_token", len(found.rows))
    st.caption(t(f"flow.about_{kind}", layers=layers, residual=residual))
    if len(made.texts) > 1:
        st.caption(t("flow.one_sample", sample=shown.sample))
    if any(call.step for call in made.calls):
        st.caption(t("flow.first_pass"))
    _maps(found, row, layers, revision(request, *place, row))
    _sums(found)
    _origins(request, found, kind, shown.sample, layers, residual, row, words=words)
    asked = {"kind": kind, "sample": shown.sample, "residual": residual, "words": words}
    offer(
        "flow",
        numbers=lambda: flow_numbers(request, found, **asked),
        code=lambda: flow_code(request, found, **asked),
    )


def _kind(kinds: tuple[str, ...], shown: CallView) -> str:
    if get("flow_kind") not in kinds:
        put("flow_kind", shown.call.kind if shown.call.kind in kinds else kinds[0])
    return str(get("flow_kind"))


def _layers(all_layers: int) -> int:
    if not get("flow_layers"):
        put("flow_layers", all_layers)
    state.clamp("flow_layers", 1, all_layers)
    return int(str(get("flow_layers")))


def _controls(kinds: tuple[str, ...], all_layers: int) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if len(kinds) > 1:
            st.segmented_control(
                t("flow.kind"), kinds, key=key("flow_kind"), help=t("flow.kind_help"), required=True,
                format_func=lambda code: t(f"flow.kind_{code}"), width="content",
            )  # fmt: skip
        if all_layers > 1:
            st.slider(t("flow.layers"), 1, all_layers, key=key("flow_layers"), help=t("flow.layers_help"), width=260)
        st.slider(
            t("flow.residual"), 0.0, 1.0, key=key("flow_residual"), help=t("flow.residual_help"), step=0.05, width=260
        )
        st.segmented_control(
            t("explore.colour"), state.COLOURS, key=key("colour"), help=t("explore.colour_help"), required=True,
            format_func=lambda code: t(f"colour.{code}"), width="content",
        )  # fmt: skip
        st.toggle(t("text_view.merge"), key=key("merge"), help=t("text_view.merge_help"))


def _maps(found: Flow, row: int, layers: int, name: str) -> None:
    around = {
        "query_tokens": [piece.text for piece in found.rows],
        "key_tokens": [piece.text for piece in found.columns],
        "padded_queries": [piece.kind == "padding" for piece in found.rows],
        "padded_keys": [piece.kind == "padding" for piece in found.columns],
        "words": figure_words(),
        "scale": str(get("colour")),
        "width": _WIDTH,
        "revision": name,
    }
    figures = levelled([head_heatmap(values, **around) for values in (found.rollout, found.mean)])
    titles = (t("flow.rollout_title", layers=layers), t("flow.mean_title", layer=found.layers[-1].layer))
    for column, figure, code, title in zip(st.columns(2), figures, ("flow", "flow_mean"), titles, strict=True):
        column.markdown(f"**{title}**")
        chart(
            framed(figure, query=row, key=None, shape=found.rollout.shape), key=key(f"{code}_chart"), title=title,
            alt=t("flow.alt", title=title), place=column,
        )  # fmt: skip
    if found.source:
        st.caption(t("flow.two_texts", source=found.source, target=len(found.columns) - found.source))


def _sums(found: Flow) -> None:
    error = number(found.largest_error, 2)
    if found.sums_to_one:
        st.caption(t("flow.sums_hold", error=error))
    else:
        st.warning(t("flow.sums_fail", error=error, tolerance=number(found.tolerance, 2)))
    if found.empty:
        st.caption(t("flow.empty", count=found.empty))


def _origins(
    request: Request, found: Flow, kind: str, sample: int, layers: int, residual: float, row: int, *, words: bool
) -> None:
    st.header(t("flow.origins"))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(
            t("flow.token"), range(len(found.rows)), key=key("flow_token"), help=t("flow.token_help"), width=320,
            format_func=lambda index: f"{index} {hover_text(found.rows[index].text, _OPTION)}",
        )  # fmt: skip
        possible = flow_fits(found) and not words
        st.toggle(t("flow.max_flow"), key=key("max_flow"), help=t("flow.max_flow_help"), disabled=not possible)
    flows = None
    if get("max_flow") and possible:
        try:
            with st.spinner(t("flow.computing")):
                flows = row_flow(request, kind, sample, layers, residual, row)
        except ValueError:
            st.warning(t("flow.not_finite"))
    if not possible:
        st.caption(t("flow.max_flow_limit", most=MOST_EDGES, layers=layers))
    names = ["flow.column_from", "flow.column_share", "flow.column_mean", *(["flow.column_flow"] if flows else [])]
    head = "".join(f"<th{_side(i)}>{escape(t(name))}</th>" for i, name in enumerate(names))
    lines = []
    for one in origins(found, row, flows):
        values = (one.share, one.mean) if one.flow is None else (one.share, one.mean, one.flow)
        cells = [_name(found, one.column), *(number(value, 4) for value in values)]
        lines.append("".join(f"<td{_side(i)}><bdi>{escape(cell)}</bdi></td>" for i, cell in enumerate(cells)))
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    st.html(f'<table class="numbers origins"><tr>{head}</tr>{body}</table>')
    if flows:
        st.caption(t("flow.max_flow_note"))


def _side(column: int) -> str:
    return ' class="right"' if column else ""


def _name(found: Flow, column: int) -> str:
    if not found.source:
        return _piece(column, found.columns[column])
    if column < found.source:
        return t("flow.from_source", token=_piece(column, found.columns[column]))
    return t("flow.from_target", token=_piece(column - found.source, found.columns[column]))


def _piece(index: int, piece: Piece) -> str:
    return label(index, piece.text)
