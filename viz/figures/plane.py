"""Vectors of two numbers in a plane: named points, and one arrow that asks.

from viz.figures.plane import plane
plane([[1, 0], [0, 1]], names=["cat", "mat"], arrow=[2, 1], arrow_name="query", x_title="a", y_title="b").show()
"""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from viz.figures import theme
from viz.figures.labels import escape, visible

_HEIGHT = 340
_SMALLEST, _LARGEST = 9.0, 44.0  # pixels of a point


def plane(
    points: np.ndarray | Sequence[Sequence[float]],
    *,
    names: Sequence[str],
    arrow: np.ndarray | Sequence[float],
    arrow_name: str,
    x_title: str,
    y_title: str,
    sizes: np.ndarray | Sequence[float] | None = None,
    reach: float = 2.2,
    title: str = "",
    width: int = 460,
    revision: str | int | None = None,
) -> go.Figure:
    """Points in a square of half-width ``reach`` around 0, their areas by ``sizes``, and an arrow from 0.

    An arrow that is longer than the square is cut at its edge.

    Args:
        points: (count, 2) finite.
        names: plain texts.
        arrow: (2,) finite.
        arrow_name: plain text.
        x_title: of the first feature.
        y_title: of the second.
        sizes: (count,) from 0 to 1. None: all alike.
        reach: half-width of the square.
        title: plain text.
        width: expected width in pixels, for spacing only.
        revision: goes to ``layout.meta``.

    Raises:
        ValueError: if there is not one name, or one size, per point.
    """
    points, arrow = np.asarray(points, dtype=float), np.asarray(arrow, dtype=float)
    shares = np.full(len(points), 0.1) if sizes is None else np.asarray(sizes, dtype=float)
    if points.shape != (len(names), 2) or arrow.shape != (2,) or shares.shape != (len(points),):
        raise ValueError(
            f"need a name and a size per point of two numbers: got points {points.shape}, arrow {arrow.shape}, "
            f"{len(names)} names, {shares.shape} sizes"
        )
    tip = arrow * min(1.0, 0.98 * reach / max(float(np.abs(arrow).max()), 1e-9))
    pixels = _SMALLEST + (_LARGEST - _SMALLEST) * np.sqrt(np.clip(np.nan_to_num(shares), 0, 1))
    dots = {
        "type": "scatter", "mode": "markers+text", "x": points[:, 0].tolist(), "y": points[:, 1].tolist(),
        "text": [escape(visible(name)) for name in names], "textposition": "top center",
        "marker": {"size": pixels.tolist(), "color": theme.ACCENT, "opacity": 0.75, "line": {"width": 0}},
        "cliponaxis": False, "showlegend": False,
        "hovertemplate": "%{text}<br>(%{x:.2f}, %{y:.2f})<extra></extra>",
    }  # fmt: skip
    shaft = {
        "type": "scatter", "mode": "lines+markers", "x": [0, float(tip[0])], "y": [0, float(tip[1])],
        "line": {"color": theme.LEAK, "width": 3}, "name": escape(arrow_name), "showlegend": True,
        "marker": {"symbol": ["circle", "arrow"], "size": [5, 15], "angleref": "previous", "color": theme.LEAK},
        "hovertemplate": f"{escape(arrow_name)}<br>({arrow[0]:.2f}, {arrow[1]:.2f})<extra></extra>",
    }  # fmt: skip
    axis = {"range": [-reach, reach], "gridcolor": theme.GRID_LINE, "zeroline": True, "zerolinecolor": theme.NEUTRAL}
    axis |= {"tickfont": {"size": theme.TICK_SIZE}, "fixedrange": True}
    heading, top = theme.heading(title, [], width=width)
    top += 24
    layout = {
        "title": heading,
        "xaxis": axis | {"title": {"text": escape(x_title), "standoff": 4}},
        "yaxis": axis | {"title": {"text": escape(y_title), "standoff": 4}},
        "showlegend": True,
        "legend": theme.legend(y=1.0, pixels=_HEIGHT),
    }
    margin = {"l": 48, "r": 12, "t": top, "b": 44}
    return theme.figure([dots, shaft], layout, height=_HEIGHT + top, margin=margin, revision=revision)
