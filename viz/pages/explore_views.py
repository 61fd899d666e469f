"""The views of the explore page: one is drawn at a time, below the verdict.

A view is a function ``draw(request, made, shown)`` in a module of its own, one line in ``VIEWS``, its name in
``explore_state.VIEWS`` (the order of the chooser), and the text ``view.<name>``.
"""

import time
from collections.abc import Callable, Mapping
from types import MappingProxyType

import streamlit as st

from attention_core.runs import Run
from viz.pages import (
    explore_compare,
    explore_flow,
    explore_generation,
    explore_head,
    explore_head_map,
    explore_lines,
    explore_overview,
    explore_text,
)
from viz.pages import explore_sections as sections
from viz.pages import explore_state as state
from viz.pages.explore_state import get, key
from viz.services.attention import Request
from viz.services.views import CallView, statistics
from viz.text import t

_BREATH = 0.1  # seconds; the heads are painted 100 to 190 ms sooner for it, all else as much later


def draw(request: Request, made: Run, shown: CallView) -> None:
    """The chooser of views, and the chosen one."""
    if len(VIEWS) > 1:
        st.segmented_control(
            t("view.chooser"),
            state.VIEWS,
            key=key("view"),
            format_func=lambda name: t(f"view.{name}"),
            help=t("view.chooser_help"),
            required=True,
        )
    VIEWS[str(get("view"))](request, made, shown)


def _heads(request: Request, made: Run, shown: CallView) -> None:
    """All heads of the layer, one of them enlarged, and their numbers."""
    sections.all_heads(request, made, shown)
    # All that takes time is made before the next chart is sent, and a moment more is left: what arrives while the
    # browser draws the heads is drawn in the same breath, and they are seen only after it.
    enlarged = sections.head_figure(shown)
    numbers = statistics(request, shown.call.name, shown.sample)
    panels = sections.diagnostic_figures(numbers)
    time.sleep(_BREATH)
    sections.one_head(made, shown, enlarged)
    sections.diagnostics(numbers, panels)


VIEWS: Mapping[str, Callable[[Request, Run, CallView], None]] = MappingProxyType(
    {
        "heads": _heads,
        "overview": explore_overview.draw,
        "text": explore_text.draw,
        "lines": explore_lines.draw,
        "stages": explore_head.draw,
        "compare": explore_compare.draw,
        "flow": explore_flow.draw,
        "generation": explore_generation.draw,
        "head_map": explore_head_map.draw,
    }
)
