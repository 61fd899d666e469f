"""Lines over a number: measured with its spread, beside theory.

from viz.figures.curves import Curve, curves
curves([Curve("measured", [4, 8], [4.1, 7.8])], x_title="d_k", y_title="variance").show()
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from viz.figures import theme
from viz.figures.labels import escape

COLOURS = theme.CURVES
_SYMBOLS = ("circle", "diamond", "square", "triangle-up", "x")
_DASHES = ("solid", "dash", "dashdot", "longdash", "longdashdot")
_HEIGHT = 300


@dataclass(frozen=True, eq=False)
class Curve:
    """One line.

    Attributes:
        name: plain text of its legend.
        x, y: as many numbers; a y that is not finite is a gap.
        spread: how far each y goes up and down, None for no error bars.
        theory: drawn dotted, without points.
    """

    name: str
    x: Sequence[float] | np.ndarray
    y: Sequence[float] | np.ndarray
    spread: Sequence[float] | np.ndarray | None = None
    theory: bool = False


def curves(
    lines: Sequence[Curve],
    *,
    x_title: str,
    y_title: str,
    log_x: bool = False,
    log_y: bool = False,
    y_range: tuple[float, float] | None = None,
    mark: float | None = None,
    ticks: Sequence[float] | None = None,
    title: str = "",
    width: int = 620,
    revision: str | int | None = None,
) -> go.Figure:
    """Lines on one pair of axes; colours, dashes and signs in the order of the lines, the same for everybody.

    Args:
        lines: at least one.
        x_title: plain text.
        y_title: likewise.
        log_x: a logarithmic axis.
        log_y: likewise; what is not positive is a gap.
        y_range: lowest and highest y. None: what is there.
        mark: an upright line at this x.
        ticks: of the x axis. None: as it comes.
        title: plain text.
        width: expected width in pixels, for spacing only.
        revision: goes to ``layout.meta``.

    Raises:
        ValueError: if there is no line, or one has not as many x as y.
    """
    if not lines:
        raise ValueError("need at least one line: got none")
    data, place = [], 0
    for line in lines:
        x, y = np.asarray(line.x, dtype=float), np.asarray(line.y, dtype=float)
        if x.shape != y.shape or x.ndim != 1:
            raise ValueError(f"a line has as many x as y: {line.name!r} has {x.shape} and {y.shape}")
        good = np.isfinite(y) & ((y > 0) | (not log_y))
        colour = theme.NEUTRAL if line.theory else COLOURS[place % len(COLOURS)]
        trace = {
            "type": "scatter",
            "x": x.tolist(),
            "y": [value if fine else None for value, fine in zip(y.tolist(), good.tolist(), strict=True)],
            "name": escape(line.name),
            "mode": "lines" if line.theory else "lines+markers",
            "line": {"color": colour, "width": 2, "dash": "dot" if line.theory else _DASHES[place % len(_DASHES)]},
            "hovertemplate": f"{escape(line.name)}<br>{escape(x_title)} %{{x}}: %{{y:.4~g}}<extra></extra>",
        }
        if not line.theory:
            trace["marker"] = {"color": colour, "symbol": _SYMBOLS[place % len(_SYMBOLS)], "size": 8}
            place += 1
        if line.spread is not None:
            spread = np.asarray(line.spread, dtype=float).tolist()
            trace["error_y"] = {"type": "data", "array": spread, "color": colour, "thickness": 1.5, "width": 4}
        data.append(trace)
    rows = -(-sum(50 + int(6.4 * len(line.name)) for line in lines) // max(1, width - 80))
    heading, top = theme.heading(title, [], width=width)
    top += 20 * rows + 8
    axis = {"gridcolor": theme.GRID_LINE, "zeroline": False, "tickfont": {"size": theme.TICK_SIZE + 1}}
    x_axis = axis | {"title": {"text": escape(x_title), "standoff": 6}, "type": "log" if log_x else "linear"}
    if ticks is not None:
        x_axis |= {"tickmode": "array", "tickvals": list(ticks), "ticktext": [f"{tick:g}" for tick in ticks]}
    y_axis = axis | {"title": {"text": escape(y_title), "standoff": 6}, "type": "log" if log_y else "linear"}
    y_axis |= {"exponentformat": "power", "dtick": 1} if log_y else {}
    if y_range is not None:
        y_axis |= {"range": [float(np.log10(v)) for v in y_range] if log_y else list(y_range)}
    layout = {
        "title": heading,
        "xaxis": x_axis,
        "yaxis": y_axis,
        "showlegend": True,
        "legend": theme.legend(y=1.0, pixels=_HEIGHT),
        "shapes": [] if mark is None else [_upright(mark)],
    }
    margin = {"l": 62, "r": 12, "t": top, "b": 48}
    return theme.figure(data, layout, height=_HEIGHT + top, margin=margin, revision=revision)


def _upright(x: float) -> dict:
    line = {"color": theme.NEUTRAL, "width": 1, "dash": "dash"}
    return {"type": "line", "x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1, "line": line, "layer": "below"}
