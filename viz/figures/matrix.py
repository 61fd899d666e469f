"""Small matrices with the numbers in their cells, and a cell that can be picked.

from viz.figures.matrix import matrix_heatmap
matrix_heatmap(np.eye(3), rows=["a", "b", "c"], row_title="tokens", column_title="features").show()
"""

from collections.abc import Collection, Sequence
from math import ceil

import numpy as np
import plotly.graph_objects as go

from viz.figures import scales, theme
from viz.figures.cells import check_mask, check_tokens, label_width, legend_entries, legend_height
from viz.figures.labels import TokenAxis, escape, token_axis
from viz.figures.marks import classify, overlay
from viz.figures.words import FigureWords

KINDS = ("signed", "weights")
_ROW = 30  # pixels
_GAP_FROM = 16  # pixels of a row from which cells stand apart
_NUMBERS_ACROSS = 26  # pixels of a cell below which a number does not fit
_FEW = 8  # columns up to which numbers have a size of their own; past that they fit themselves to the cell
_MINUS_INFINITY = "−∞"


def matrix_heatmap(
    values: np.ndarray,
    *,
    rows: Sequence[str] | None,
    columns: Sequence[str] | None = None,
    row_title: str,
    column_title: str,
    kind: str = "signed",
    allowed: np.ndarray | None = None,
    picked: Collection[tuple[int, int]] = (),
    clickable: bool = False,
    decimals: int = 2,
    limit: float | None = None,
    title: str = "",
    width: int = 520,
    row_height: int = _ROW,
    words: FigureWords | None = None,
    revision: str | int | None = None,
) -> go.Figure:
    """A matrix as a heatmap with its numbers in the cells; row 0 is at the top.

    The first trace is the map, its ``z`` the float32 values (NaN where not finite). With ``clickable`` every cell is a
    point whose ``customdata`` is (row, column).

    Args:
        values: (rows, columns) float.
        rows: a name for each row, any content; None numbers them from 0.
        columns: a name for each column, likewise.
        row_title: plain text of the vertical axis.
        column_title: of the horizontal one.
        kind: "signed" colours around 0, "weights" from 0 to 1.
        allowed: bool, broadcastable to the values, False = hatched.
        picked: (row, column) cells to be outlined.
        clickable: lay a point over each cell.
        decimals: of the numbers in the cells; a number that is not 0 never reads as 0.
        limit: where the signed colours end; None: at the largest magnitude.
        title: plain text.
        width: expected width in pixels, for spacing only.
        row_height: of one row in pixels.
        words: the words on the figure. None: English.
        revision: goes to ``layout.meta``.

    Raises:
        TypeError: if ``allowed`` is not bool.
        ValueError: if shapes do not fit or the kind is unknown.
    """
    words = words or FigureWords()
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}: got {kind!r}")
    values = np.asarray(values, dtype=np.float32)
    if values.ndim != 2 or 0 in values.shape:
        raise ValueError(f"values must be (rows, columns), neither of them 0: got {values.shape}")
    height, across = values.shape
    y_axis, _ = _axis("row", rows, height)
    x_axis, numbered = _axis("column", columns, across)
    allowed = check_mask("allowed", allowed, values.shape)

    if kind == "weights":
        coloured = scales.colour_weights(values, scale="fixed", words=words)
    else:
        coloured = scales.colour_signed(values, stage=title, words=words)
    axis = coloured.axis | {"showscale": False}
    if limit is not None and kind == "signed":
        axis |= {"cmin": -limit, "cmax": limit}
    left = 24 + label_width(y_axis.categories, size=theme.TICK_SIZE + 1)
    cell_x = max(60, width - left - 12) / across
    bottom = 42 if numbered else 30 + label_width(x_axis.categories, size=theme.TICK_SIZE + 1)
    template = f"{escape(row_title)} %{{y}}<br>{escape(column_title)} %{{x}}<br>%{{hovertext}}<extra></extra>"
    hover = [[_exact(value) for value in row] for row in values.tolist()]
    gap = 1 if row_height >= _GAP_FROM else 0
    main = {
        "type": "heatmap", "z": coloured.z, "coloraxis": "coloraxis", "hoverongaps": False,
        "x0": 0, "dx": 1, "y0": 0, "dy": 1, "xgap": gap, "ygap": gap,
    }  # fmt: skip
    main |= {"hoverinfo": "skip"} if clickable else {"hovertext": hover, "hovertemplate": template}
    if cell_x >= _NUMBERS_ACROSS and row_height >= _GAP_FROM:
        text = [[_short(value, decimals) for value in row] for row in values.tolist()]
        main |= {"text": text, "texttemplate": "%{text}"} | ({"textfont": {"size": 11}} if across <= _FEW else {})
    data: list[dict] = [main]
    if not np.isfinite(values).all():
        data.append(_grey(values))
    if clickable:
        data.append(_points(y_axis, x_axis, hover, template))

    marks = classify(np.zeros_like(values), allowed=allowed)
    image = overlay([(0, 0, marks)], width=across, height=height, cell=min(cell_x, row_height), glyphs=False, padded=[])
    entries = legend_entries(marks.present() - {"zero"}, padding=False, words=words)
    heading, top = theme.heading(title, [], width=width)
    top += legend_height(entries, width=width - left - 60) + 6
    layout = {
        "title": heading,
        "coloraxis": axis,
        "showlegend": bool(entries),
        "legend": theme.legend(y=1.0, pixels=height * row_height),
        "images": [image] if image else [],
        "shapes": [_ring(row, column) for row, column in picked],
        "xaxis": theme.token_axis_layout(
            x_axis, ceil(14 / cell_x), cells=across, size=theme.TICK_SIZE + 1, title=column_title,
            angle=0 if numbered else -60,
        ) | {"showgrid": False, "zeroline": False, "fixedrange": True},
        "yaxis": theme.token_axis_layout(
            y_axis, ceil(11 / row_height), cells=height, size=theme.TICK_SIZE + 1, title=row_title, reverse=True
        ) | {"showgrid": False, "zeroline": False, "fixedrange": True},
    }  # fmt: skip
    margin = {"l": left, "r": 12, "t": top, "b": bottom}
    return theme.figure(
        [*data, *entries], layout, height=height * row_height + top + bottom, margin=margin, revision=revision
    )


def _axis(what: str, names: Sequence[str] | None, length: int) -> tuple[TokenAxis, bool]:
    """The axis, and whether its places are only numbered."""
    if names is None:
        return TokenAxis([str(place) for place in range(length)], [0], length, {}, 0), True
    return token_axis(check_tokens(what, names, length, what)), False


def _short(value: float, decimals: int) -> str:
    if value == -np.inf:
        return _MINUS_INFINITY
    if not np.isfinite(value):
        return "NaN" if np.isnan(value) else "∞"
    text = f"{value:.{decimals}f}" if abs(value) < 100 else f"{value:.3g}"
    if value != 0 and float(text) == 0:
        return f"<.{'0' * (decimals - 1)}1" if value > 0 else f">−.{'0' * (decimals - 1)}1"
    return "0" if value == 0 else text.replace("-", "−")


def _exact(value: float) -> str:
    return _MINUS_INFINITY if value == -np.inf else f"{value:.7g}"


def _grey(values: np.ndarray) -> dict:
    missing = np.where(np.isfinite(values), np.float32(np.nan), np.float32(1))
    return {
        "type": "heatmap", "z": missing, "colorscale": theme.flat("rgba(128,133,142,0.25)"), "zmin": 0, "zmax": 1,
        "text": [["" if np.isfinite(v) else _short(v, 0) for v in row] for row in values.tolist()],
        "texttemplate": "%{text}", "textfont": {"size": 11, "color": theme.NEUTRAL}, "showscale": False,
        "hoverinfo": "skip", "x0": 0, "dx": 1, "y0": 0, "dy": 1, "xgap": 1, "ygap": 1,
    }  # fmt: skip


def _points(y_axis: TokenAxis, x_axis: TokenAxis, hover: list[list[str]], template: str) -> dict:
    cells = [(row, column) for row in range(len(hover)) for column in range(len(hover[0]))]
    return {
        "type": "scatter", "mode": "markers",
        "x": [x_axis.categories[column] for _, column in cells],
        "y": [y_axis.categories[row] for row, _ in cells],
        "customdata": cells,  # a typed array would come back as an object
        "hovertext": [text for row in hover for text in row],
        "hovertemplate": template,
        "marker": {"size": 6, "opacity": 0},
        "selected": {"marker": {"opacity": 0}}, "unselected": {"marker": {"opacity": 0}},
        "showlegend": False, "meta": {"layer": "cells"},
    }  # fmt: skip


def _ring(row: int, column: int) -> dict:
    box = {"x0": column - 0.5, "x1": column + 0.5, "y0": row - 0.5, "y1": row + 0.5}
    return {"type": "rect", **box, "line": {"color": theme.LEAK, "width": 3}, "fillcolor": "rgba(0,0,0,0)"}
