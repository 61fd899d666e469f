"""A figure for a large screen: everything that has a size in pixels grows by one factor, its data stay."""

import re
from typing import Any

import numpy as np
import plotly.graph_objects as go

_FONT_OF_A_SPAN = re.compile(r"font-size:([\d.]+)px")
_LENGTHS = {
    "height", "width", "l", "r", "t", "b", "pad", "standoff", "thickness", "xpad", "ypad", "xgap", "ygap", "ticklen",
    "borderwidth", "xshift", "yshift", "tracegroupgap", "outlinewidth",
}  # fmt: skip
_SIZED = ("font", "marker")  # whose "size" is one in pixels
_DATA = {"x", "y", "z", "customdata", "text", "colorscale", "tickvals", "range", "domain", "meta"}


def enlarged(figure: go.Figure, factor: float) -> go.Figure:
    """The same figure, larger: a new one, with letters, lines, margins and height times ``factor``.

    Its width is the page's, so a page that is as many times wider shows it as if through a lens.

    Raises:
        ValueError: if ``factor`` is not positive.
    """
    if not factor > 0:
        raise ValueError(f"a figure grows by a positive factor: got {factor}; 1 leaves it as it is")
    drawn = figure.to_dict()
    return go.Figure(
        {
            "data": [_grown(trace, "trace", factor) for trace in drawn.get("data", [])],
            "layout": _grown(drawn.get("layout", {}), "layout", factor),
        }
    )


def _grown(part: Any, parent: str, factor: float) -> Any:
    if isinstance(part, dict):
        return {name: _entry(name, value, part, parent, factor) for name, value in part.items()}
    if isinstance(part, (list, tuple)):
        return [_grown(one, parent, factor) for one in part]
    return part


def _entry(name: str, value: Any, part: dict, parent: str, factor: float) -> Any:
    if name == "text" and isinstance(value, str):
        return _FONT_OF_A_SPAN.sub(lambda found: f"font-size:{float(found[1]) * factor:g}px", value)
    if name in _DATA or name == "template":
        return value
    pixels = name in _LENGTHS or (name == "size" and parent.endswith(_SIZED))
    if name == "len":
        pixels = part.get("lenmode") == "pixels"
    if pixels and isinstance(value, (int, float)) and not isinstance(value, bool):
        return value * factor
    if pixels and isinstance(value, (list, tuple, np.ndarray)):
        return (np.asarray(value, dtype=float) * factor).tolist()
    return _grown(value, name, factor)
