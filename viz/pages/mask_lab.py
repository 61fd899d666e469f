"""Mask lab: a mask out of parts, painted by clicking, seen as a picture, a drawing, numbers and code."""

from dataclasses import fields
from html import escape
from pathlib import Path

import streamlit as st

from attention_core.mask_code import CONVENTIONS
from attention_core.mask_parts import MaskRecipe, PartError
from viz.figures.mask import MaskWords, mask_figure, reach_figure
from viz.pages import explore_sent, frame, take_away
from viz.pages import mask_lab_state as state
from viz.pages.charts import chart
from viz.pages.mask_lab_controls import controls
from viz.pages.mask_lab_state import clamp, get, key
from viz.services.mask_lab import Coverage, MaskView, compose, mask_view, reasons, snippets
from viz.services.sent_masks import packed
from viz.text import t, template
from viz.text.markdown import literal

_STYLES = Path(__file__).resolve().parents[2] / "assets" / "styles" / "mask_lab.css"
_LAST_GOOD = state.PREFIX + "last_good"
_NAMED = 8  # rows or cells that a message names


def render() -> None:
    """Draws the page from top to bottom: sizes and parts, the mask, its code, its reach through layers."""
    st.html(_STYLES)
    state.restore()
    st.caption(t("mask_lab.line"))
    slots = controls()
    try:
        recipe = compose(state.values(), state.cells())
    except PartError as error:
        shown_values = {
            name: literal(value) if isinstance(value, str) else value for name, value in error.values.items()
        }
        reason = t(f"mask_lab.error_{error.code}", **shown_values)
        last: MaskRecipe | None = st.session_state.get(_LAST_GOOD)
        message = reason if last is None else t("mask_lab.refused", reason=reason)
        slots.get(error.part, slots["sizes"]).error(message)
        recipe = last
    else:
        st.session_state[_LAST_GOOD] = recipe
    if not state.publish():
        st.caption(t("mask_lab.link_too_long"))
    if state.ignored():
        st.warning(t("mask_lab.link_ignored", names=", ".join(state.ignored())))
    if recipe is None:
        return
    take_away.begin(state.PREFIX)
    sample = clamp("sample", 0, recipe.batch - 1)
    shown = mask_view(recipe, sample)
    _mask(recipe, sample, shown)
    _code(recipe)
    _reach(shown)
    take_away.fold(state.PREFIX, (t("mask_lab.title"),))


def _mask(recipe: MaskRecipe, sample: int, shown: MaskView) -> None:
    with st.container(key=key("verdicts"), horizontal=True, vertical_alignment="center", gap="small"):
        if recipe.batch > 1:
            st.segmented_control(
                t("mask_lab.sample"), range(recipe.batch), key=key("sample"), help=t("mask_lab.sample_help"),
                required=True, width="content", format_func=lambda index: t("mask_lab.sample_name", index=index),
                label_visibility="collapsed",
            )  # fmt: skip
        _verdicts(shown)
    left, right = st.columns(2, gap="large")
    with left:
        _picture(sample, shown)
        _painting(recipe)
    with right:
        _forms(shown)
        _send(shown)
    _warnings(recipe, shown)


def _verdicts(shown: MaskView) -> None:
    chips = [
        _chip("info", t("mask_lab.count", count=shown.count, total=shown.allowed.size, share=shown.share)),
        _chip("info", t("mask_lab.per_query", low=shown.fewest, high=shown.most)),
    ]
    if shown.empty:
        chips.append(_chip("failed", t("mask_lab.empty", rows=_listed([str(row) for row in shown.empty]))))
    else:
        chips.append(_chip("passed", t("mask_lab.no_empty")))
    if shown.empty_padding:
        rows = _listed([str(row) for row in shown.empty_padding])
        chips[-1:] = [*([chips[-1]] if shown.empty else []), _chip("info", t("mask_lab.empty_padding", rows=rows))]
    st.html(f'<div class="mask-verdicts">{"".join(chips)}</div>')


def _picture(sample: int, shown: MaskView) -> None:
    names = {name: t(f"part.{name}") for name in shown.blockers}
    figure = mask_figure(
        shown.allowed,
        painted=shown.painted,
        reasons=reasons(shown, names, t("mask_lab.join")),
        padded_queries=shown.padded_queries,
        padded_keys=shown.padded_keys,
        clickable=True,
        words=mask_words(),
        revision=f"{sample}-{state.steps()}",  # no picture twice: else a click looks like a second one
    )
    alt = t("mask_lab.chart_alt", sample=sample, count=shown.count, total=shown.allowed.size)
    chart(
        figure, width="content", key=key("chart"), title=t("mask_lab.title"), alt=alt, on_select=_flip_clicked,
        selection_mode="points",
    )  # fmt: skip


def _painting(recipe: MaskRecipe) -> None:
    with st.container(key=key("painting"), horizontal=True, vertical_alignment="center", gap="small"):
        st.button(
            t("mask_lab.undo"), key=key("undo"), help=t("mask_lab.undo_help"), on_click=state.undo,
            disabled=not state.can_undo(), icon=":material/undo:",
        )  # fmt: skip
        st.button(
            t("mask_lab.clear"), key=key("clear"), help=t("mask_lab.clear_help"), on_click=state.clear,
            disabled=not state.cells(), icon=":material/ink_eraser:",
        )  # fmt: skip
        with st.popover(t("mask_lab.by_number"), help=t("mask_lab.by_number_help")):
            st.number_input(t("mask_lab.query"), 0, recipe.q_len - 1, key=key("by_query"), step=1)
            st.number_input(t("mask_lab.key"), 0, recipe.k_len - 1, key=key("by_key"), step=1)
            st.button(t("mask_lab.flip"), key=key("flip"), on_click=_flip_named)
    outside = len(state.cells()) - len(recipe.painted)
    remarks = [t("mask_lab.paint_hint")]
    if recipe.painted:
        remarks.append(t("mask_lab.painted_count", count=len(recipe.painted)))
    if outside:
        remarks.append(t("mask_lab.painted_outside", count=outside))
    st.caption(" · ".join(remarks))


def _send(shown: MaskView) -> None:
    mask = packed(shown.allowed)
    with st.container(key=key("sending"), horizontal=True, vertical_alignment="center", gap="small"):
        pressed = st.button(
            t("mask_lab.send"), key=key("send"), help=t("mask_lab.send_help"), disabled=mask is None,
            icon=":material/send:",
        )  # fmt: skip
        if mask is None:
            q_len, k_len = shown.allowed.shape
            st.caption(t("mask_lab.send_not", q_len=q_len, k_len=k_len), width="stretch")
    if pressed and mask is not None:
        explore_sent.receive(mask)
        frame.go("explore")


def _forms(shown: MaskView) -> None:
    st.segmented_control(
        t("mask_lab.shown"), state.SHOWN, key=key("shown"), help=t("mask_lab.shown_help"), required=True,
        format_func=lambda code: t(f"mask_lab.shown_{code}"),
    )  # fmt: skip
    if get("shown") == "rows":
        st.dataframe(
            {
                t("mask_lab.column_query"): list(range(len(shown.keys_per_query))),
                t("mask_lab.column_keys"): shown.keys_per_query,
                t("mask_lab.column_state"): [t(f"mask_lab.state_{code}") for code in shown.query_states],
            },
            hide_index=True,
            column_config={
                t("mask_lab.column_keys"): st.column_config.ProgressColumn(
                    min_value=0, max_value=shown.allowed.shape[1], format="%d"
                )
            },
        )
        return
    drawn = get("shown") == "drawing"
    with st.container(key=key("form" if drawn else "form_numbers")):
        st.code(shown.drawing if drawn else shown.numbers, language=None)
    st.caption(t("mask_lab.drawing_note") if drawn else t("mask_lab.numbers_note"))


def _warnings(recipe: MaskRecipe, shown: MaskView) -> None:
    if shown.empty:
        st.warning(t("mask_lab.warn_empty", rows=_queries(shown.empty)))
    if shown.opened:
        named = [
            t(
                "mask_lab.opened_cell",
                query=query,
                key=key_,
                parts=t("mask_lab.join").join(t(f"part.{p}") for p in parts),
            )
            for (query, key_), parts in shown.opened.items()
        ]
        st.warning(t("mask_lab.warn_opened", cells=_listed(named)))
    if recipe.start == 0 and recipe.q_len < recipe.k_len:
        st.warning(t("mask_lab.warn_top_left", q_len=recipe.q_len, k_len=recipe.k_len))
    if shown.empty_padding:
        st.info(t("mask_lab.info_empty_padding", rows=_queries(shown.empty_padding)))
    if shown.unread:
        st.info(t("mask_lab.info_unread", keys=_listed([str(index) for index in shown.unread])))
    if shown.homeless:
        st.info(t("mask_lab.info_homeless", rows=_queries(shown.homeless), offset=recipe.start))


def _code(recipe: MaskRecipe) -> None:
    st.subheader(t("mask_lab.code"))
    st.segmented_control(
        t("mask_lab.convention"), CONVENTIONS, key=key("convention"), help=t("mask_lab.convention_help"), required=True,
        format_func=lambda code: t(f"convention.{code}"),
    )  # fmt: skip
    convention = get("convention")
    snippet = snippets(recipe)[convention]
    st.caption(t(f"mask_lab.about_{convention}"))
    if snippet.code is None:
        st.info(t(f"mask_lab.cannot_{snippet.reason}"))
    else:
        with st.container(key=key("code")):
            st.code(snippet.code, language="python")


def _reach(shown: MaskView) -> None:
    st.subheader(t("mask_lab.coverage"))
    coverage = shown.coverage
    if coverage is None:
        st.info(t("mask_lab.coverage_not"))
        return
    layers = clamp("layers", 0, max(2, coverage.depth))
    left, right = st.columns(2, gap="large")
    with right:
        st.slider(
            t("mask_lab.layers"), 0, max(2, coverage.depth), key=key("layers"), help=t("mask_lab.layers_help"), step=1
        )
        _reached(coverage, layers)
    figure = reach_figure(coverage.first, layers=layers, padded=shown.padded_keys, words=mask_words())
    alt = t("mask_lab.coverage_alt", layers=layers)
    chart(figure, place=left, width="content", key=key("reach_chart"), title=t("mask_lab.coverage"), alt=alt)


def _reached(coverage: Coverage, layers: int) -> None:
    st.write(
        t(
            "mask_lab.coverage_text",
            layers=layers,
            reached=coverage.after(layers),
            pairs=coverage.pairs,
            share=coverage.shares[min(layers, coverage.depth)],
            most=coverage.reached[-1],
            depth=coverage.depth,
        )
    )
    st.dataframe(
        {
            t("mask_lab.column_layers"): list(range(len(coverage.reached))),
            t("mask_lab.column_reached"): coverage.reached,
            t("mask_lab.column_share"): coverage.shares,
        },
        hide_index=True,
        height=min(36 * (len(coverage.reached) + 1), 250),
        column_config={
            t("mask_lab.column_share"): st.column_config.ProgressColumn(min_value=0, max_value=1, format="percent")
        },
    )
    st.caption(t("mask_lab.coverage_note"))


def mask_words() -> MaskWords:
    """The words on the pictures of masks in the current language."""
    return MaskWords(**{field.name: template(f"mask_word.{field.name}") for field in fields(MaskWords)})


def _flip_clicked() -> None:
    clicked = st.session_state.get(key("chart"))
    for point in clicked["selection"]["points"] if clicked else []:
        if "customdata" in point:
            query, key_ = point["customdata"]
            state.flip((get("sample"), int(query), int(key_)))
            return


def _flip_named() -> None:
    state.flip((get("sample"), get("by_query"), get("by_key")))


def _queries(rows: tuple[int, ...]) -> str:
    return _listed([t("mask_lab.row", index=row) for row in rows])


def _listed(items: list[str]) -> str:
    named = t("mask_lab.join").join(items[:_NAMED])
    return named if len(items) <= _NAMED else t("mask_lab.and_more", items=named, count=len(items) - _NAMED)


def _chip(status: str, text: str) -> str:
    sign = {"passed": "✓", "failed": "✕", "info": "i"}[status]
    return (
        f'<span class="mask-verdict {status}"><span class="sign" aria-hidden="true">{sign}</span> {escape(text)}</span>'
    )
