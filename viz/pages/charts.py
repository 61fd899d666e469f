"""Charts of a page: all drawn with the same tools, and remembered while somebody wants to take them away."""

from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from viz.figures import Figure

CHART = {
    "displaylogo": False,
    "modeBarButtonsToRemove": ["sendChartToCloud", "lasso2d", "select2d", "autoScale2d"],
    "toImageButtonOptions": {"format": "svg", "filename": "headscope", "scale": 2},
}
_DRAWN = "charts_drawn"


@dataclass(frozen=True, eq=False)
class Drawn:
    """A chart of this page: its widget key, what it shows in words, the figure."""

    key: str
    title: str
    figure: Figure


def start(*, remember: bool) -> None:
    """Forgets the charts of the last run of the script; from now on they are remembered, or not."""
    st.session_state[_DRAWN] = {} if remember else None


def drawn() -> tuple[Drawn, ...]:
    """The charts drawn since ``start``, in order."""
    return tuple((st.session_state.get(_DRAWN) or {}).values())


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
