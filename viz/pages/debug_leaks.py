"""The part of the Debug page that tests a model at hand: one input changed at a time, and which outputs moved."""

from collections.abc import Mapping
from dataclasses import replace
from html import escape
from typing import Any

import streamlit as st

from viz.figures import FigureWords, head_heatmap
from viz.pages import debug_state as state
from viz.pages.charts import chart
from viz.pages.debug_state import get, key, put
from viz.pages.explore_sections import figure_words
from viz.pages.explore_state import LONGEST_LINK_TEXT, Setting, any_text, choice
from viz.services.examples import examples
from viz.services.leak_models import (
    CORE,
    CORE_MASKS,
    MODEL_MASKS,
    MOST_TOKENS,
    MOST_TOKENS_LARGE,
    can_differentiate,
    masks_of,
    models_at_hand,
)
from viz.services.leaks import (
    INTENTS,
    LONGEST_TEXT,
    METHODS,
    LeakError,
    LeakFound,
    LeakView,
    LeakWish,
    Said,
    leak_matrix,
    own_code,
)
from viz.services.models import ModelError
from viz.text import t
from viz.text.markdown import literal

_RESTORED = state.PREFIX + "leak_restored"
_IGNORED = state.PREFIX + "leak_ignored"
_FOUND = state.PREFIX + "leak_found"
_WIDTH = 620

SETTINGS: Mapping[str, Setting] = {
    "leak_model": Setting(CORE, any_text),
    "leak_core_mask": Setting("causal", choice(*CORE_MASKS)),
    "leak_model_mask": Setting("model", choice(*MODEL_MASKS)),
    "leak_intent": Setting("causal", choice(*INTENTS)),
    "leak_method": Setting("change", choice(*METHODS)),
    "leak_text": Setting(examples()[0].text, any_text),
}
KEPT = tuple(key(name) for name in (*SETTINGS, "leak_shown"))  # outlive a visit to another page


def section() -> None:
    """Controls, a button, and what the last test found; other settings leave it standing, and say so."""
    _restore()
    st.subheader(t("leak.heading"))
    st.caption(t("leak.line"))
    wish, start, slot = _controls()
    _publish()
    if st.session_state.get(_IGNORED):
        st.caption(t("leak.link_ignored", names=", ".join(st.session_state[_IGNORED])))
    if start:
        _run(wish, slot)
    found: LeakFound | None = st.session_state.get(_FOUND)
    left, right = st.columns([5, 7], gap="large")
    with left:
        if found is not None:
            if found.wish != wish:
                st.info(_earlier(found.wish))
            _verdict(found)
        _own(wish.intent)
    if found is not None:
        with right:
            _matrix(found)


def _controls() -> tuple[LeakWish, bool, Any]:
    with st.container(key=key("leak_controls"), horizontal=True, vertical_alignment="bottom", gap="small"):
        model = st.selectbox(
            t("leak.model"), models_at_hand(), key=key("leak_model"), help=t("leak.model_help"), width=270,
            format_func=_model_name,
        )  # fmt: skip
        which = "leak_core_mask" if model == CORE else "leak_model_mask"
        mask = st.selectbox(
            t("leak.mask"), masks_of(model), key=key(which), help=t("leak.mask_help"), width=270,
            format_func=lambda code: t(f"leak.mask_{code}"),
        )  # fmt: skip
        intent = st.selectbox(
            t("leak.intent"), INTENTS, key=key("leak_intent"), help=t("leak.intent_help"), width=270,
            format_func=lambda code: t(f"leak.intent_{code}"),
        )  # fmt: skip
        method = "change"
        if can_differentiate(model, mask):
            method = st.segmented_control(
                t("leak.method"), METHODS, key=key("leak_method"), help=t("leak.method_help"), required=True,
                format_func=lambda code: t(f"leak.method_{code}"),
            )  # fmt: skip
    text = st.text_input(
        t("leak.text"), key=key("leak_text"), max_chars=LONGEST_TEXT,
        help=t("leak.text_help", most=MOST_TOKENS, large=MOST_TOKENS_LARGE),
    )  # fmt: skip
    start = st.button(
        t("leak.run"), key=key("leak_run"), type="primary", icon=":material/play_arrow:", help=t("leak.run_help")
    )
    return LeakWish(model, text, mask, intent, str(method)), start, st.empty()


def _run(wish: LeakWish, slot: Any) -> None:
    bar = slot.progress(0.0, text=t("leak.running"))
    try:
        found = leak_matrix(wish, lambda share: bar.progress(share, text=t("leak.running")))
    except LeakError as error:
        slot.error(t(f"leak.error_{error.code}", reason=literal(error.reason)))
        return
    except ModelError as error:
        slot.error(t("leak.error_model", reason=literal(str(error))))
        return
    slot.empty()
    st.session_state[_FOUND] = found


def _earlier(wish: LeakWish) -> str:
    return t("leak.earlier", model=_model_name(wish.model), mask=t(f"leak.mask_{wish.mask}"),
             intent=t(f"leak.intent_{wish.intent}"))  # fmt: skip


def _verdict(found: LeakFound) -> None:
    blocks = []
    for name, view in found.views.items():
        where = t("leak.on", name=name) if len(found.views) > 1 else ""
        if view.passed:
            text = t("leak.passed_text", inputs=len(found.labels), moved=view.moved)
            blocks.append(_block("ok", "✓", where + t("leak.passed"), [text]))
            continue
        title = t("leak.failed", cells=view.leaked) if view.leaked else t("leak.failed_otherwise")
        blocks.append(_block("error", "✕", where + title, [_sentence(said) for said in view.said]))
    if len(found.views) > 1:
        blocks.append(_compared(found))
    st.html(f'<div role="status" class="debug-leaks">{"".join(blocks)}</div>')
    written = len(found.labels) - sum(found.padded)
    if found.total > written:
        st.caption(t("leak.cut", kept=written, total=found.total))


def _block(kind: str, sign: str, title: str, sentences: list[str]) -> str:
    head = f'<span class="debug-chip {kind}"><span class="debug-sign" aria-hidden="true">{sign}</span> {escape(title)}'
    lines = "".join(f"<p><bdi>{escape(sentence)}</bdi></p>" for sentence in sentences)
    return f'<div class="debug-finding">{head}</span>{lines}</div>'


def _sentence(said: Said) -> str:
    title = t(f"leak.code_{said.code}")
    if not said.moved:
        return t("leak.finding_alone", title=title)
    parts = [t("leak.moved", input=one.input, outputs=one.outputs, largest=one.largest) for one in said.moved]
    if said.more:
        parts.append(t("leak.more", count=said.more))
    return t("leak.finding", title=title, cells=said.cells, moved=t("leak.and").join(parts))


def _compared(found: LeakFound) -> str:
    first, second = list(found.views)[:2]
    values = {"first": first, "second": second, "apart": found.apart[second]}
    if found.differ or found.only[second]:
        said = t("leak.disagree", only=found.only[second], **values)
        return _block("error", "✕", t("leak.code_implementations-differ"), [said])
    return f'<div class="debug-finding"><p>{escape(t("leak.agree", **values))}</p></div>'


def _matrix(found: LeakFound) -> None:
    names = list(found.views)
    shown = names[0]
    if len(names) > 1:
        if get_shown() not in names:
            put("leak_shown", next((name for name in names if not found.views[name].passed), names[0]))
        shown = st.segmented_control(
            t("leak.implementations"), names, key=key("leak_shown"), help=t("leak.implementations_help"),
            required=True, format_func=lambda name: t(f"leak.implementation_{name}"),
        )  # fmt: skip
    view = found.views[str(shown)]
    with st.container(key=key("leak_matrix")):
        alt = t("leak.alt", cells=view.leaked)
        chart(_figure(found, view), key=key("leak_chart"), title=t("leak.heading"), alt=alt)


def get_shown() -> str | None:
    """The implementation whose matrix is shown; None before there was a choice."""
    return st.session_state.get(key("leak_shown"))


def _figure(found: LeakFound, view: LeakView) -> Any:
    return head_heatmap(
        view.share, scale="log", scores=view.change, query_tokens=found.labels, key_tokens=found.labels,
        allowed=view.allowed, intended=view.allowed, padded_queries=found.padded, padded_keys=found.padded,
        numbers_in_cells=False, words=_words(), width=_WIDTH,
    )  # fmt: skip


def _words() -> FigureWords:
    names = ("rows", "columns", "scale_log", "legend_forbidden", "legend_leak", "legend_zero", "legend_tiny")
    return replace(
        figure_words(), query=t("leak.output"), key=t("leak.input"), weight=t("leak.share"), scores=t("leak.change"),
        may_attend=t("leak.may_depend"), **{name: t(f"leak.{name}") for name in names},
    )  # fmt: skip


def _own(intent: str) -> None:
    st.markdown(f"**{t('leak.own')}**")
    st.caption(t("leak.own_text"))
    st.code(own_code(intent), language="python")


def _model_name(name: str) -> str:
    return t("leak.model_core") if name == CORE else name


def _restore() -> None:
    """Fills in what is missing: from the link on the first run, from the defaults otherwise."""
    if not st.session_state.get(_RESTORED):
        st.session_state[_RESTORED] = True
        bad = []
        for name, setting in SETTINGS.items():
            if name in st.query_params:
                try:
                    put(name, setting.parse(st.query_params[name]))
                except ValueError:
                    bad.append(name)
        if st.session_state.get(key("leak_model"), CORE) not in models_at_hand():
            put("leak_model", CORE)
            bad.append("leak_model")
        st.session_state[_IGNORED] = bad
    for name, setting in SETTINGS.items():
        value = st.session_state.get(key(name), setting.default)
        st.session_state[key(name)] = setting.default if value is None else value


def _publish() -> None:
    """Writes what differs from the defaults into the address bar; a text too long for it stays out."""
    for name, setting in SETTINGS.items():
        value = str(get(name))
        if value != setting.default and len(value) <= LONGEST_LINK_TEXT:
            if st.query_params.get(name) != value:
                st.query_params[name] = value
        elif name in st.query_params:
            del st.query_params[name]
