"""A frame around one cell, row or column of a map, for what a reader jumps to.

from viz.figures.focus import framed
framed(head_heatmap(weights, query_tokens=tokens, key_tokens=tokens), query=2, key=5, shape=weights.shape).show()
"""

from math import ceil

import plotly.graph_objects as go

from viz.figures import theme
from viz.figures.head import EXACT_TOKENS

_LINE = {"color": theme.ACCENT, "width": 3}
_HALO = {"color": "rgba(255,255,255,0.9)", "width": 6}


def framed(figure: go.Figure, *, query: int | None, key: int | None, shape: tuple[int, ...]) -> go.Figure:
    """The figure of ``head_heatmap`` with a frame around a cell; blocks of pooled maps are framed as wholes.

    Args:
        figure: changed in place, and returned.
        query: row; None frames the whole column.
        key: column; None frames the whole row.
        shape: (q_len, k_len) of the map.

    Raises:
        IndexError: if there is no such row or column.
    """
    edges = []
    for name, index, size in (("query", query, shape[0]), ("key", key, shape[1])):
        if index is not None and not 0 <= index < size:
            raise IndexError(f"{name} must be one of {size}: got {index}")
        block = ceil(size / EXACT_TOKENS)
        first, last = (0, ceil(size / block) - 1) if index is None else (index // block, index // block)
        edges.append((first - 0.5, last + 0.5))
    (top, bottom), (left, right) = edges
    for line in (_HALO, _LINE):
        figure.add_shape(type="rect", x0=left, x1=right, y0=top, y1=bottom, line=line, layer="above", name="focus")
    return figure
