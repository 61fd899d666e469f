"""What is seen of a model in training: all its heads on one example, with the keys that hold the answers outlined.

from viz.figures.training import training_maps
training_maps(weights, tokens=tokens, sources=[(4, 1)], names=names).show()      # weights: (layers, heads, len, len)
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from viz.figures import theme
from viz.figures.grid import head_grid
from viz.figures.labels import escape
from viz.figures.words import FigureWords

_ROW = 20  # pixels of a head's row over time


def training_maps(
    weights: np.ndarray,
    *,
    tokens: Sequence[str],
    sources: Sequence[tuple[int, int]],
    names: Sequence[str],
    allowed: np.ndarray | None = None,
    title: str = "",
    width: int = 1040,
    words: FigureWords | None = None,
    revision: str | int | None = None,
) -> go.Figure:
    """The maps of all heads, a row of maps per layer (two where a layer has more than four heads).

    Args:
        weights: (layers, heads, len, len) float in [0, 1].
        tokens: len strings.
        sources: (query, key) of the cells in which the answers stand; outlined in every map.
        names: one per head, layer by layer.
        allowed: bool, broadcastable to (len, len), True = may attend. None: hover says nothing of it.
        title: plain text.
        width: expected width in pixels, for spacing only.
        words: the words on the figure. None: English.
        revision: goes to ``layout.meta``.

    Raises:
        ValueError: if shapes do not fit, or a source lies outside the map.
    """
    if weights.ndim != 4:
        raise ValueError(f"weights must be (layers, heads, len, len): got {weights.shape}")
    layers, heads, q_len, k_len = weights.shape
    if any(not (0 <= query < q_len and 0 <= key < k_len) for query, key in sources):
        raise ValueError(f"a source must lie in a map of {q_len} x {k_len}: got {list(sources)}")
    figure = head_grid(
        weights.reshape(layers * heads, q_len, k_len),
        query_tokens=tokens,
        key_tokens=tokens,
        allowed=allowed,
        heads=names,
        columns=heads if heads <= 4 else -(-heads // 2),
        title=title,
        width=width,
        words=words,
        revision=revision,
    )
    maps: list[Any] = list(figure.select_traces({"type": "heatmap"}))
    corners = dict.fromkeys((trace.x0, trace.y0) for trace in maps)
    outline = "".join(_cell(x + key, y + query) for x, y in corners for query, key in sources)
    if outline:
        figure.add_shape(type="path", path=outline, line={"color": theme.LEAK, "width": 1.5}, layer="above")
    return figure


def heads_over_time(
    values: np.ndarray,
    *,
    heads: Sequence[str],
    steps: Sequence[int],
    head_title: str,
    step_title: str,
    last: float | None = None,
    title: str = "",
    width: int = 1040,
    revision: str | int | None = None,
) -> go.Figure:
    """One number per head and checkpoint, as a colour from 0 to 1; the first head at the top.

    Args:
        values: (heads, checkpoints) float in [0, 1].
        heads: a name for each row.
        steps: of each column, rising.
        head_title: plain text of the vertical axis.
        step_title: of the horizontal one.
        last: step at which the axis ends. None: at the last column.
        title: plain text.
        width: expected width in pixels, for spacing only.
        revision: goes to ``layout.meta``.

    Raises:
        ValueError: if there is not one name per row and one step per column.
    """
    if values.shape != (len(heads), len(steps)):
        raise ValueError(f"values must be (heads, checkpoints) = {(len(heads), len(steps))}: got {values.shape}")
    heading, top = theme.heading(title, [], width=width)
    place = f"{escape(head_title)} %{{customdata}}<br>{escape(step_title)} %{{x}}"
    rows = list(range(len(heads)))
    names = [escape(name) for name in heads]
    main = {
        "type": "heatmap", "z": np.asarray(values, np.float32), "x": list(steps), "y": rows, "coloraxis": "coloraxis",
        "customdata": [[name] * len(steps) for name in names],
        "hovertemplate": f"{place}: %{{z:.3f}}<extra></extra>",
    }  # fmt: skip
    axis = {"zeroline": False, "showgrid": False, "fixedrange": True, "tickfont": {"size": theme.TICK_SIZE}}
    height = max(90, _ROW * len(heads))
    bar = theme.COLOUR_BAR | {"len": min(180, height)}
    half = (steps[1] - steps[0]) / 2 if len(steps) > 1 else 0.5  # a column reaches to both sides of its step
    span = [steps[0] - half, max(steps[-1], last or 0) + half]
    layout = {
        "title": heading,
        "coloraxis": {"cmin": 0, "cmax": 1, "colorscale": theme.colorscale(theme.SEQUENTIAL), "colorbar": bar},
        "xaxis": axis | {"title": {"text": escape(step_title), "standoff": 4}, "range": span},
        "yaxis": axis
        | {"title": {"text": escape(head_title), "standoff": 6}, "tickvals": rows, "ticktext": names}
        | {"range": [len(heads) - 0.5, -0.5]},
    }
    margin = {"l": 62, "r": 52, "t": top, "b": 44}
    return theme.figure([main], layout, height=height + top + 44, margin=margin, revision=revision)


def _cell(x: float, y: float) -> str:
    left, right, top, bottom = x - 0.5, x + 0.5, y - 0.5, y + 0.5
    return f"M{left},{top}L{right},{top}L{right},{bottom}L{left},{bottom}Z"
