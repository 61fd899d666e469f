"""Charts of a page: all drawn with the same tools, and remembered while somebody wants to take them away."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from viz.figures import Figure
from viz.services.export_tables import Numbers

CHART = {
    "displaylogo": False,
    "modeBarButtonsToRemove": ["sendChartToCloud", "lasso2d", "select2d", "autoScale2d"],
    "toImageButtonOptions": {"format": "svg", "filename": "headscope", "scale": 2},
}
_DRAWN = "charts_drawn"
_OFFERED = "charts_offered"


@dataclass(frozen=True, eq=False)
class Drawn:
    """A chart of this page: its widget key, what it shows in words, the figure."""

    key: str
    title: str
    figure: Figure


@dataclass(frozen=True, eq=False)
class Offer:
    """What a view gives to take along beside its charts; made only where it is wanted.

    Attributes:
        view: name of the view, of ``take.numbers_<view>``.
        numbers: makes the numbers that it shows.
        code: makes the lines of Python that compute and draw the same.
    """

    view: str
    numbers: Callable[[], Numbers]
    code: Callable[[], str]


def start(*, remember: bool) -> None:
    """Forgets the charts of the last run of the script; from now on they are remembered, or not."""
    st.session_state[_DRAWN] = {} if remember else None
    st.session_state[_OFFERED] = None


def offer(view: str, *, numbers: Callable[[], Numbers], code: Callable[[], str]) -> None:
    """Says what a view gives to take along; see ``Offer``."""
    if st.session_state.get(_DRAWN) is not None:
        st.session_state[_OFFERED] = Offer(view, numbers, code)


def offered() -> Offer | None:
    """What the view of this run gives to take along; None where it said nothing."""
    return st.session_state.get(_OFFERED)


def drawn() -> Mapping[str, Drawn]:
    """The charts drawn since ``start`` by their keys, in order; what a part of the page draws anew is in it at once."""
    return st.session_state.get(_DRAWN) or {}


def chart(
    figure: Figure, *, key: str, title: str, alt: str, place: DeltaGenerator | None = None, **options: Any
) -> Any:
    """Draws a figure.

    Args:
        figure: to draw.
        key: of the widget.
        title: what it is, in few words of the current language; its name where it is taken away.
        alt: what it shows, for who cannot see it.
        place: where; None: here.
        options: further ones of ``st.plotly_chart``, as ``on_select`` or ``width``.
    """
    remembered = st.session_state.get(_DRAWN)
    if remembered is not None:
        remembered[key] = Drawn(key, title, figure)
    return (st if place is None else place).plotly_chart(figure, key=key, config=CHART, alt=alt, **options)
