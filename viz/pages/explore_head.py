"""The view of one head: every stage of it beside each other, one cell marked in all, and its arithmetic written out."""

from html import escape

import streamlit as st

from attention_core.diagnostics import CellSteps
from attention_core.runs import Run
from viz.components.cell_clicks import cell_clicks
from viz.figures.labels import hover_text
from viz.figures.stages import stage_panels
from viz.figures.tables import label
from viz.pages.charts import chart, offer
from viz.pages.explore_numbers import inside, number, styles
from viz.pages.explore_sections import heads_off_of, labels_of, sideways, words_of_maps
from viz.pages.explore_state import key, put
from viz.services.attention import Request, revision
from viz.services.head_stages import Cell, HeadStages, cell, head_stages
from viz.services.python_views import stages_code
from viz.services.view_numbers import stages_numbers
from viz.services.views import CallView
from viz.text import t
from viz.text.markdown import literal

_OPTION = 60  # characters of a token in a chooser


def draw(request: Request, made: Run, shown: CallView) -> None:
    """Choosers of head and cell, the maps of all stages, and the numbers of the cell."""
    styles()
    head = inside("head", shown.heads)
    query, to = inside("cell_query", len(shown.query_tokens)), inside("cell_key", len(shown.key_tokens))
    found = head_stages(request, shown.call.name, shown.sample, head)
    _choosers(shown)
    remarks = [t("explore.head_off")] if head in heads_off_of(made, shown) else []
    if shown.kv_heads != shown.heads:
        remarks.append(t("explore.kv_group", group=shown.kv_head(head)))
    if remarks:
        st.caption(" · ".join(remarks))
    figure = stage_panels(
        found.stages,
        query_tokens=labels_of(shown.query_tokens),
        key_tokens=labels_of(shown.key_tokens),
        selected=(query, to),
        allowed=shown.allowed[head],
        intended=shown.intended[head],
        padded_queries=[token.padding for token in shown.query_tokens],
        padded_keys=[token.padding for token in shown.key_tokens],
        words=words_of_maps(),
        revision=revision(request, shown.call.name, shown.sample, head, query, to),
    )
    title = t("head_view.chart", layer=shown.call.layer, head=head)
    sideways()
    with st.container(key=key("stages_box")):
        chart(figure, key=key("stages_chart"), title=title, alt=t("head_view.alt", stages=len(found.stages)))
    cell_clicks(key("stages_chart"), key=key("stages_clicks"), on_click=_choose)
    st.caption(t("head_view.norm_note"))
    _arithmetic(found, cell(found, query, to), shown, head)
    offer(
        "stages",
        numbers=lambda: stages_numbers(request, shown, found, head=head),
        code=lambda: stages_code(request, shown, head=head, cell=(query, to)),
    )


def _choosers(shown: CallView) -> None:
    left, middle, right = st.columns([1, 2, 2])
    left.selectbox(t("explore.head"), range(shown.heads), key=key("head"), help=t("head_view.head_help"))
    for column, name, tokens in (
        (middle, "cell_query", shown.query_tokens),
        (right, "cell_key", shown.key_tokens),
    ):
        column.selectbox(
            t(f"head_view.{name}"), range(len(tokens)), key=key(name), help=t("head_view.cell_help"),
            format_func=lambda index, tokens=tokens: f"{index} {hover_text(tokens[index].label, _OPTION)}",
        )  # fmt: skip


def _choose(query: int, to: int) -> None:
    put("cell_query", query)
    put("cell_key", to)


def _arithmetic(found: HeadStages, one: Cell, shown: CallView, head: int) -> None:
    steps = one.steps
    query = label(steps.query, shown.query_tokens[steps.query].label)
    to = label(steps.key, shown.key_tokens[steps.key].label)
    st.header(t("head_view.arithmetic"))
    st.html(f'<p class="cell-name"><bdi>{escape(t("head_view.cell", query=query, key=to))}</bdi></p>')
    left, right = st.columns([3, 2], gap="large")
    with left:
        st.html(f'<table class="numbers cell-steps">{"".join(_rows(steps, shown, head))}</table>')
        for note in _notes(steps, shown, head):
            st.caption(note)
    with right:
        st.html(_terms(one))
        st.caption(t("head_view.terms_note", total=number(one.total)))


def _rows(steps: CellSteps, shown: CallView, head: int) -> list[str]:
    """One line per step: what is done, with which numbers, what comes out."""
    score, scaled, capped, biased, logit = (
        number(value) for value in (steps.score, steps.scaled, steps.capped, steps.biased, steps.logit)
    )
    rows = [
        _row("score", t("head_view.sum", count=len(steps.products)), score),
        _row("scaled", f"{score} × {number(steps.scale)}", scaled),
    ]
    if steps.softcap is not None:
        cap = number(steps.softcap)
        rows.append(_row("capped", f"{cap} × tanh({scaled} / {cap})", capped))
    if steps.bias is not None:
        rows.append(_row("bias", f"{capped} + {number(steps.bias)}", biased))
    rows.append(_row("mask", t("head_view.allowed" if steps.allowed else "head_view.not_allowed"), logit))
    if steps.empty:
        rows.append(_row("softmax", t("head_view.empty_row", keys=steps.keys), number(steps.weight)))
    else:
        largest = number(steps.largest)
        rows.append(_row("exp", f"exp({logit} − {_operand(largest)})", number(steps.exponential)))
        total = number(steps.total)
        rows.append(_row("softmax", f"{number(steps.exponential)} / {total}", number(steps.weight)))
    norm = f"{number(steps.weight)} × {number(steps.value_norm)}"
    rows.append(_row("weighted", norm, number(steps.contribution)))
    return rows


def _row(step: str, formula: str, result: str) -> str:
    name = escape(t(f"head_view.step_{step}"))
    return f'<tr class="step-{step}"><th>{name}</th><td>{escape(formula)}</td><td>= {escape(result)}</td></tr>'


def _notes(steps: CellSteps, shown: CallView, head: int) -> list[str]:
    notes = []
    if steps.not_a_number:
        notes.append(t("head_view.nan_row"))
    elif not steps.empty:
        key_name = None if steps.largest_key is None else shown.key_tokens[steps.largest_key].label
        whose = t("head_view.of_sink") if key_name is None else label(steps.largest_key or 0, key_name)
        notes.append(t("head_view.largest", whose=literal(whose), readable=steps.readable, keys=steps.keys))
    if steps.sink_weight is not None:
        notes.append(t("head_view.sink", sink=number(steps.sink or 0.0), share=number(steps.sink_weight)))
    meant = bool(shown.intended[head, steps.query, steps.key])
    if meant != steps.allowed:
        notes.append(t("head_view.lost" if meant else "head_view.leak"))
    if shown.query_tokens[steps.query].padding:
        notes.append(t("head_view.padding"))
    return notes


def _terms(one: Cell) -> str:
    """The largest products as a table, and the sum."""
    names = (t("head_view.dim"), "q", "k", "q × k")
    head = "".join(f'<th class="right">{escape(name)}</th>' for name in names)
    rows = [(str(p.dim), *(number(value) for value in (p.query, p.key, p.product))) for p in one.largest]
    lines = "".join("<tr>" + "".join(f'<td class="right">{part}</td>' for part in row) + "</tr>" for row in rows)
    if one.others:
        others = escape(t("head_view.others", count=one.others))
        lines += f'<tr class="others"><td colspan="3">{others}</td><td class="right">{number(one.rest)}</td></tr>'
    total = escape(t("head_view.score"))
    lines += f'<tr class="total"><td colspan="3">{total}</td><td class="right">{number(one.steps.score)}</td></tr>'
    return f'<table class="numbers cell-terms"><tr>{head}</tr>{lines}</table>'


def _operand(number: str) -> str:
    return f"({number})" if number.startswith("−") else number
