"""What a sample is on the explore page: a text, lines as a batch, a pair, a chat; and what padding does to a batch."""

from collections.abc import Sequence
from html import escape

import streamlit as st

from attention_core.pretrained import Model, PaddingEffect
from attention_core.runs import Run
from viz.pages import explore_state as state
from viz.pages.explore_numbers import number, styles
from viz.pages.explore_sections import differences
from viz.pages.explore_state import get, key, put
from viz.services.attention import ModelRequest, Request, forms_of
from viz.services.models import ModelError
from viz.services.padding import padding
from viz.text import t

_LINES = "lines"


def choice(model: Model | None) -> None:
    """The chooser of what the text box holds, as far as the model can take it, and the boxes that go with it."""
    if model is None:
        return
    forms = forms_of(model.name)
    offered = (forms[0], _LINES, *forms[1:])
    chosen = _LINES if get("lines") else str(get("form"))
    st.session_state[key("input")] = chosen if chosen in offered else forms[0]
    with st.container(horizontal=True, vertical_alignment="bottom", key=key("input_row")):
        st.segmented_control(
            t("inputs.form"), offered, key=key("input"), help=t("inputs.form_help"), required=True,
            format_func=lambda code: t(f"inputs.{code}"), on_change=_choose, width="content",
        )  # fmt: skip
        if get("lines"):
            st.segmented_control(
                t("explore.mask_side"), state.SIDES, key=key("side"), help=t("explore.mask_side_help"), required=True,
                format_func=lambda code: t(f"explore.side_{code}"), width="content",
            )  # fmt: skip
            st.toggle(t("inputs.padding"), key=key("padding_effect"), help=t("inputs.padding_help"))
    form = st.session_state[key("input")]
    if form in ("pair", "chat"):
        st.text_area(
            t(f"inputs.{form}_second"), key=key("second"), height=68, help=t(f"inputs.{form}_second_help"),
            placeholder=t(f"inputs.{form}_second_empty"),
        )  # fmt: skip


def _choose() -> None:
    chosen = st.session_state[key("input")]
    put("lines", chosen == _LINES)
    if chosen != _LINES:
        put("form", chosen)


def padding_effects(request: Request, made: Run) -> None:
    """The answer to "does padding change the result?", sample by sample, where it was asked."""
    if not isinstance(request, ModelRequest) or not get("lines") or not get("padding_effect"):
        return
    if len(made.texts) < 2:
        st.info(t("inputs.padding_one"))
        return
    styles()
    try:
        with st.spinner(t("explore.running")):
            own = padding(request.neutral)
            changed = None if request.switches.neutral else padding(request)
    except (ValueError, *ModelError) as error:
        st.info(str(error))
        return
    st.html(_table(own, changed))
    if any(one.changes for one in own):
        side = t(f"explore.side_{request.padding_side}")
        st.warning(t("inputs.padding_changes", side=side))
    else:
        st.caption(t("inputs.padding_unchanged"))
    if changed is not None and any(one.changes for one in changed):
        st.warning(t("inputs.padding_switched", switches=differences(request.switches)))


def _table(own: Sequence[PaddingEffect], changed: Sequence[PaddingEffect] | None) -> str:
    names = ["inputs.column_sample", "inputs.column_fillers", "inputs.column_own", "inputs.column_relative"]
    names += [] if changed is None else ["inputs.column_switched"]
    head = "".join(f"<th{_side(place)}>{escape(t(name))}</th>" for place, name in enumerate(names))
    rows = ""
    for sample, one in enumerate(own):
        cells = [str(sample), str(one.fillers), number(one.difference, 2), number(one.relative, 2)]
        cells += [] if changed is None else [number(changed[sample].difference, 2)]
        rows += f"<tr>{''.join(f'<td{_side(place)}>{cell}</td>' for place, cell in enumerate(cells))}</tr>"
    return f'<table class="numbers padding"><tr>{head}</tr>{rows}</table>'


def _side(place: int) -> str:
    return ' class="right"' if place else ""
