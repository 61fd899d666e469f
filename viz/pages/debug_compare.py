"""The part of the Debug page that holds what was brought against a second file."""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import replace
from html import escape
from typing import Any

import streamlit as st

from attention_core.exchange import FileRefused
from attention_core.intake import Intake
from viz.figures import head_heatmap
from viz.figures.level import levelled
from viz.pages import debug_state as state
from viz.pages.charts import chart
from viz.pages.debug_sections import NO_TOKEN, named
from viz.pages.debug_state import get, key
from viz.pages.explore_sections import figure_words
from viz.services.debug import CellView, DebugError, Examined
from viz.services.debug_compare import Comparison, Line, MapPair, compare, examine_second, map_pair
from viz.services.debug_files import ENDINGS, MOST_MEGABYTES, cases, read_file, shapes_said
from viz.text import t
from viz.text.markdown import literal

_WIDTH = 400


def section(subject: object, first: Intake | None, found: Examined, said: tuple[Mapping, Mapping]) -> None:
    """A second upload, and where the two differ; a file that cannot be used is told below it, the rest stays.

    Args:
        subject: what identifies the first.
        first: its calls; None while it cannot be examined.
        found: the call that is shown.
        said: roles and axes that the reader chose for arrays of the first; they hold for the same names here.
    """
    st.subheader(t("debug.compare"))
    uploaded = st.file_uploader(
        t("debug.compare_file", most=MOST_MEGABYTES), type=list(ENDINGS), key=key("compare_upload"),
        max_upload_size=MOST_MEGABYTES, help=t("debug.compare_help"),
    )  # fmt: skip
    if uploaded is None or first is None:
        return
    content = uploaded.getvalue()
    asked = (subject, uploaded.name, hashlib.sha256(content).hexdigest())
    try:
        known = state.remembered("compared", asked)
        if known is None:
            with st.spinner(t("debug.comparing")):
                second = cases(read_file(content, uploaded.name), *said)
                known = (second, compare(first, second))
            state.remember("compared", asked, known)
    except (FileRefused, DebugError, TypeError, ValueError) as error:
        st.error(_refused(error))
        return
    second, comparison = known
    if second.unknown:
        st.caption(t("debug.compare_unknown", names=t("debug.join").join(literal(n[:40]) for n in second.unknown[:8])))
    _sentence(comparison)
    _maps(asked, second, found)
    _table(comparison)


def _sentence(comparison: Comparison) -> None:
    total, worst = len(comparison.lines), comparison.worst
    if not comparison.wrong:
        st.success(t("debug.compare_same", total=total))
        return
    said = t("debug.compare_differ", wrong=comparison.wrong, total=total)
    if worst is not None:
        said += " " + t("debug.compare_worst", what=literal(_what(worst)), largest=_size(worst.found.difference),
                        place=literal(worst.worst))  # fmt: skip
    st.warning(said)


def _maps(asked: object, second: Intake, found: Examined) -> None:
    """The shown map in both files and their difference, where there is one."""
    wish = state.wish()
    which = (asked, wish, get("call"))
    try:
        other = state.remembered("second", which)
        if other is None:
            with st.spinner(t("debug.looking")):
                other = examine_second(second, int(get("call")), wish)
            state.remember("second", which, other)
        pair = map_pair(found, other, int(get("sample")), int(get("head")))
    except (DebugError, TypeError, ValueError) as error:
        st.info(t("debug.compare_no_map", reason=_refused(error)))
        return
    place = {"sample": get("sample"), "head": get("head")}
    figures = levelled([_map(pair, pair.first), _map(pair, pair.second), _difference(pair)])
    names = ("first", "second", "difference")
    for column, name, figure in zip(st.columns(3, gap="medium"), names, figures, strict=True):
        with column:
            st.markdown(f"**{t(f'debug.compare_{name}')}**")
            alt = t(f"debug.compare_{name}_alt", **place)
            chart(figure, key=key(f"compare_{name}_chart"), title=t(f"debug.compare_{name}"), alt=alt)
    if not pair.cells:
        st.html(f'<div class="debug-cell"><p>{escape(t("debug.compare_map_same", **place))}</p></div>')
        return
    where = t("debug.cell", query=named(pair.query, pair.first.query_tokens),
              key=named(pair.key, pair.first.key_tokens))  # fmt: skip
    told = t("debug.compare_map", **place, cells=pair.cells, total=pair.total, largest=_size(pair.largest), where=where)
    st.html(f'<div class="debug-cell"><p><bdi>{escape(told)}</bdi></p></div>')


def _map(pair: MapPair, view: CellView) -> Any:
    return head_heatmap(
        view.values, allowed=view.shown_applied, intended=view.intended, words=figure_words(), **_around(pair)
    )


def _difference(pair: MapPair) -> Any:
    """Second minus first, centred on 0."""
    words = replace(figure_words(), scores=t("debug.compare_word"))
    return head_heatmap(pair.difference, stage="scores", words=words, **_around(pair))


def _around(pair: MapPair) -> dict[str, Any]:
    view = pair.first
    return {
        "query_tokens": [token or NO_TOKEN for token in view.query_tokens],
        "key_tokens": [token or NO_TOKEN for token in view.key_tokens],
        "padded_queries": view.padded_queries,
        "padded_keys": view.padded_keys,
        "numbers_in_cells": pair.numbers,
        "width": _WIDTH,
    }


def _table(comparison: Comparison) -> None:
    lines = comparison.lines
    st.dataframe(
        {
            t("debug.column_array"): [_what(line) for line in lines],
            t("debug.column_verdict"): [_outcome(line) for line in lines],
            t("debug.column_largest"): [_size(line.found.difference) for line in lines],
            t("debug.column_first_places"): [" | ".join(line.places) for line in lines],
        },
        hide_index=True,
        key=key("compare_table"),
    )


def _what(line: Line) -> str:
    role = t(f"debug.role_{line.found.role}") if line.found.role else t("debug.compare_calls")
    return f"{line.call} · {role}" if line.call else role


def _outcome(line: Line) -> str:
    found = line.found
    shapes = {f"shape_{i}": shapes_said(shape) for i, shape in enumerate(found.shapes)}
    said = t(f"debug.outcome_{found.kind.replace(' ', '_')}", cells=found.cells, total=found.total, **shapes)
    return f"{said} · {t('debug.count_nan', count=found.nan)}" if found.nan else said


def _size(difference: float | None) -> str:
    if difference is None:
        return ""
    return f"{difference:.3g}" if math.isfinite(difference) else "∞"


def _refused(error: Exception) -> str:
    if isinstance(error, DebugError):
        values = {name: literal(v) if isinstance(v, str) else v for name, v in error.values_of_text.items()}
        return t(f"debug.error_{error.code}", **values)
    return t("debug.error_sentence", reason=literal(str(error)))
