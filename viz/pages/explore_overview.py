"""The overview: all heads of all layers in one picture; a click opens a head below it."""

from collections.abc import Sequence

import streamlit as st

from attention_core.diagnostics import PATTERNS
from attention_core.runs import Run
from viz.figures import Figure, head_overview, number_overview
from viz.figures.head import EXACT_TOKENS
from viz.pages import explore_sections as sections
from viz.pages import explore_state as state
from viz.pages.charts import chart, offer
from viz.pages.explore_state import clamp, get, key, put
from viz.services import overview as service
from viz.services.attention import Request
from viz.services.overview import Overview
from viz.services.python_views import overview_code
from viz.services.view_numbers import overview_numbers
from viz.services.views import CallView, part_of
from viz.text import t

TOP = 8  # heads that are named in words
_ROWS = state.PREFIX + "overview_rows"  # row of the picture -> index of its call in the run


def draw(request: Request, made: Run, shown: CallView) -> None:
    """Controls, the picture with the highest scores in words, and the chosen head."""
    st.header(t("overview.title"))
    _controls(made, shown)
    bar, picture, names = st.empty(), st.container(), st.container()
    # The head comes first: after a click the picture above it stays as it is, and the browser keeps it.
    _chosen_head(made, shown)
    overview = _made(request, shown, bar)
    st.session_state[_ROWS] = [service.call_index(made, overview, row) for row in range(len(overview.calls))]
    with picture:
        _picture(request, overview)
    with names:
        _highest(overview)
    offer(
        "overview",
        numbers=lambda: overview_numbers(request, overview, sample=shown.sample),
        code=lambda: overview_code(request, overview, sample=shown.sample, colour=str(get("overview_colour"))),
    )


def name_of(number: str) -> str:
    """A pattern or statistic in words."""
    return t(f"pattern.{number}", distance=service.LOCAL) if number == "local" else t(f"pattern.{number}")


def _controls(made: Run, shown: CallView) -> None:
    found = service.kinds(made)
    if get("overview_kind") not in found:
        put("overview_kind", shown.call.kind)
    if len(found) > 1:
        st.segmented_control(
            t("overview.kind"), found, key=key("overview_kind"), help=t("overview.kind_help"), required=True,
            format_func=lambda kind: t(f"overview.kind_{kind}"),
        )  # fmt: skip
    left, middle, right = st.columns(3)
    left.selectbox(
        t("overview.colour"), state.OVERVIEW_COLOURS, key=key("overview_colour"), help=t("overview.colour_help"),
        format_func=lambda code: t("overview.colour_weights") if code == "weights" else name_of(code),
    )  # fmt: skip
    pattern = str(get("pattern"))
    middle.selectbox(
        t("overview.pattern"), PATTERNS, key=key("pattern"), format_func=name_of,
        help=t("overview.pattern_help", meaning=t(f"pattern.{pattern}_means")),
    )  # fmt: skip
    right.slider(t("overview.least"), 0.0, 1.0, step=0.05, key=key("pattern_least"), help=t("overview.least_help"))


def _made(request: Request, shown: CallView, place) -> Overview:
    def moved(done: int, count: int) -> None:
        if len(shown.query_tokens) > service.QUICK_TOKENS:
            place.progress(done / count, t("overview.making", done=done + 1, all=count))

    made = service.overview(
        request, service.kind_of(str(get("overview_kind"))), shown.sample, step=shown.call.step, progress=moved
    )
    place.empty()
    return made


def _picture(request: Request, overview: Overview) -> None:
    colour, pattern, least = str(get("overview_colour")), str(get("pattern")), float(str(get("pattern_least")))
    figure = _figure(overview, colour, pattern, least)
    layers, heads = overview.leaks.shape
    with st.container(key=key("overview")):
        chart(
            figure,
            key=key("overview_chart"),
            title=t("overview.title"),
            alt=t("overview.alt", layers=layers, heads=heads),
            on_select=_open_clicked,
            selection_mode="points",
        )


def _figure(overview: Overview, colour: str, pattern: str, least: float) -> Figure:
    layers, heads = overview.leaks.shape
    shared = {
        "layers": [call.layer for call in overview.calls],
        "leaks": overview.leaks,
        "broken": overview.broken,
        "off": overview.off,
        "faded": service.below(overview, pattern, least) if least else None,
        "hover": [[_hover(overview, row, head, colour) for head in range(heads)] for row in range(layers)],
        "clickable": True,
        "words": sections.figure_words(),
    }
    if colour == "weights":
        return head_overview(
            overview.weights,
            block=overview.block,
            forbidden=overview.forbidden,
            padded_queries=service.padding(overview.query_tokens, overview.block[0]),
            padded_keys=service.padding(overview.key_tokens, overview.block[1]),
            **shared,
        )
    high = 1.0 if colour in service.BOUNDED else None
    return number_overview(overview.numbers[colour], name=name_of(colour), high=high, **shared)


def _hover(overview: Overview, row: int, head: int, colour: str) -> str:
    lines = []
    if colour != "weights":
        lines.append(t("overview.hover_number", name=name_of(colour), value=overview.numbers[colour][row, head]))
    for name, score, chance in service.strongest(overview, row, head):
        lines.append(t("overview.hover_pattern", pattern=name_of(name), score=score, chance=chance))
    keys, top = (overview.numbers[name][row, head] for name in ("effective_keys", "top_weight"))
    lines.append(t("overview.hover_entropy", keys=keys, top=top))
    if overview.leaks[row, head]:
        lines.append(t("overview.hover_leaks", count=overview.leaks[row, head]))
    if overview.broken[row, head]:
        lines.append(t("overview.hover_broken"))
    if overview.off[row, head]:
        lines.append(t("overview.hover_off"))
    return "\n".join(lines)


def _highest(overview: Overview) -> None:
    """The heads with the highest scores in words, each a button that opens it."""
    pattern, least = str(get("pattern")), float(str(get("pattern_least")))
    name = name_of(pattern)
    heads = service.ranked(overview, pattern, at_least=least)
    if not heads:
        possible = bool(service.ranked(overview, pattern, most=1))
        st.caption(
            t("overview.none_reach", pattern=name, least=least) if possible else t("overview.none", pattern=name)
        )
    else:
        reach = "overview.top_reach" if least else "overview.top"
        st.caption(t(reach, pattern=name, count=len(heads), all=overview.leaks.size, least=least))
        with st.container(key=key("overview_top"), horizontal=True, gap="small"):
            for place, one in enumerate(heads[:TOP]):
                st.button(
                    t("overview.top_head", layer=one.layer, head=one.head, pattern=name, score=one.value),
                    key=key(f"overview_top_{place}"),
                    help=t("overview.top_help", chance=one.chance),
                    on_click=_open,
                    args=(one.row, one.head),
                )
    st.caption(t("overview.scores") + " " + t("explore.not_explanations"))


def _chosen_head(made: Run, shown: CallView) -> None:
    clamp("head", 0, shown.heads - 1)
    drawn = shown
    longest = max(len(shown.query_tokens), len(shown.key_tokens))
    if longest > EXACT_TOKENS:
        st.toggle(t("overview.exact"), key=key("exact"), help=t("overview.exact_help", most=EXACT_TOKENS))
        if get("exact"):
            last = longest - EXACT_TOKENS
            clamp("from_token", 0, last)
            st.number_input(t("overview.exact_from"), 0, last, key=key("from_token"), step=EXACT_TOKENS // 2, width=200)
            drawn = part_of(shown, int(str(get("from_token"))), EXACT_TOKENS)
            st.caption(
                t(
                    "overview.exact_shown",
                    first=drawn.first_query,
                    last=drawn.last_query,
                    all=len(shown.query_tokens),
                    first_key=drawn.first_key,
                    last_key=drawn.last_key,
                    all_keys=len(shown.key_tokens),
                )
            )
    title = t("overview.chosen", layer=shown.call.layer, head=get("head"))
    sections.one_head(made, shown, sections.head_figure(drawn), title=title)


def _open(row: int, head: int) -> None:
    rows: Sequence[int] = st.session_state.get(_ROWS, [])
    if row < len(rows):
        put("layer", rows[row])
        put("head", head)


def _open_clicked() -> None:
    drawn = st.session_state.get(key("overview_chart"))
    for point in drawn["selection"]["points"] if drawn else []:
        chosen = point.get("customdata")
        if isinstance(chosen, list) and len(chosen) == 2:
            _open(int(chosen[0]), int(chosen[1]))
