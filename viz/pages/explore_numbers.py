"""How the views of the explore page write numbers, and the styles of their tables."""

import math
from pathlib import Path

import streamlit as st

from viz.pages.explore_state import SETTINGS, clamp, get, put

_STYLES = Path(__file__).resolve().parents[2] / "assets" / "styles" / "explore_numbers.css"


def styles() -> None:
    """Brings the styles of ``.numbers`` and ``.changes`` onto the page."""
    st.html(_STYLES)


def number(value: float, digits: int = 7, *, sign: bool = False) -> str:
    """A number with so many digits (seven are what float32 holds) and a minus as mathematics writes it."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "−∞" if value < 0 else "+∞" if sign else "∞"
    return f"{value:{'+' if sign and value else ''}.{digits}g}".replace("-", "−")


def inside(name: str, size: int) -> int:
    """Keeps a setting among ``size`` places and returns it.

    One from a link that is not there is named among the ignored; the default moves without a word.
    """
    if get(name) == SETTINGS[name].default:
        put(name, min(int(str(get(name))), size - 1))
    else:
        clamp(name, 0, size - 1)
    return int(str(get(name)))
