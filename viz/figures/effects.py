"""What switching off each head does, one number per head.

from viz.figures.effects import head_effects
head_effects(values, name="KL, nats").show()      # values: (layers, heads)
"""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from viz.figures import theme
from viz.figures.overview import number_overview
from viz.figures.words import FigureWords


def head_effects(
    values: np.ndarray,
    *,
    name: str,
    signed: bool = False,
    layers: Sequence[int | str] | None = None,
    off: np.ndarray | None = None,
    chosen: tuple[int, int] | None = None,
    clickable: bool = False,
    title: str = "",
    width: int = 760,
    words: FigureWords | None = None,
    revision: str | int | None = None,
) -> go.Figure:
    """One effect per head as a colour: rows are layers, columns are heads, layer 0 at the top.

    Args:
        values: (layers, heads) float; NaN where a layer has no such head, left blank.
        name: what an effect is and its unit, plain text.
        signed: effects go both ways: a diverging scale centred on 0. False: a sequential one from 0.
        layers: numbers or names of the rows. None: 0, 1, ...
        off: (layers, heads) bool, heads that are off already; veiled.
        chosen: (row, head) with a frame around it.
        clickable: lay a point over each cell, ``customdata`` (row, head).
        title: plain text.
        width: expected width in pixels, for spacing only.
        words: the words on the figure. None: English.
        revision: goes to ``layout.meta``.

    Raises:
        ValueError: if ``values`` is not (layers, heads).
    """
    values = np.asarray(values, dtype=float)
    size = float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
    hover = [[f"{name}: {value:.4g}" for value in row] for row in values] if values.ndim == 2 else None
    figure = number_overview(
        values, name=name, low=-size if signed else 0.0, high=size, layers=layers, off=off, hover=hover,
        clickable=clickable, title=title, width=width, words=words, revision=revision,
    )  # fmt: skip
    if signed:
        figure.update_layout(coloraxis={"colorscale": theme.colorscale(theme.DIVERGING)})
    if chosen is not None:
        row, head = chosen
        frame = {"color": theme.LEAK, "width": 2}
        figure.add_shape(type="rect", x0=head - 0.5, x1=head + 0.5, y0=row - 0.5, y1=row + 0.5, line=frame)
    return figure
