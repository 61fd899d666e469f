"""Tells which cell of a heatmap was clicked; draws nothing itself."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.components.v2 import component as register

_JS = (Path(__file__).resolve().parent / "cell_clicks.js").read_text(encoding="utf-8")
_mount = register("headscope.cell_clicks", html="<span></span>", js=_JS)


def cell_clicks(chart: str, *, key: str, on_click: Callable[[int, int], None]) -> None:
    """Listens to a chart that is on the page.

    Args:
        chart: key of the chart; its heatmaps may carry ``meta["block"]``, the rows and columns that a cell stands for.
        key: of this element.
        on_click: called with row and column of the clicked cell, before the page is run again; of a block the first.
    """

    def clicked() -> None:
        told: Any = st.session_state.get(key)
        place = told.get("cell") if told else None
        if isinstance(place, dict) and all(isinstance(place.get(name), int) for name in ("query", "key")):
            on_click(place["query"], place["key"])

    _mount(data={"chart": chart}, key=key, on_cell_change=clicked)
