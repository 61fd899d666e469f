"""Masks as pictures: who may look where, and how far a stack of layers with one mask reaches.

from viz.figures.mask import mask_figure
mask_figure(np.tril(np.ones((5, 5), bool))).show()
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
import plotly.graph_objects as go

from viz.figures import theme
from viz.figures.cells import check_mask, check_padding, label_width, legend_height
from viz.figures.labels import TokenAxis, escape
from viz.figures.marks import CellMarks, overlay

LARGEST_CELL = 46.0  # pixels
_NARROWEST = 300  # pixels of a figure, for its legend
_GAP_CELL = 9.0  # pixels from which cells stand apart


@dataclass(frozen=True)
class MaskWords:
    """The words on the pictures of masks, plain text, English by default; those with braces are templates."""

    rows: str = "rows: queries"
    columns: str = "columns: keys"
    query: str = "query"
    key: str = "key"
    allowed: str = "may attend"
    blocked: str = "blocked"
    painted: str = "flipped by hand"
    padding: str = "padding"
    blocked_by: str = "blocked by: {parts}"
    flip: str = "click to flip"
    reached: str = "layers needed: {layers}"
    itself: str = "itself"
    later: str = "not yet reached"
    never: str = "never reached"
    layers: str = "layers needed"
    thinned: str = "one label in {step} shown"


def mask_figure(
    allowed: np.ndarray,
    *,
    painted: np.ndarray | None = None,
    reasons: Sequence[Sequence[str]] | np.ndarray | None = None,
    padded_queries: Sequence[bool] | np.ndarray | None = None,
    padded_keys: Sequence[bool] | np.ndarray | None = None,
    clickable: bool = False,
    title: str = "",
    width: int = 620,
    words: MaskWords | None = None,
    revision: str | int | None = None,
) -> go.Figure:
    """One mask: filled cells may be read, hatched ones not; rows are queries, columns are keys, row 0 is at the top.

    The first trace is the map, its ``z`` 1 where allowed and 0 where not. Painted cells carry a ring. With
    ``clickable`` every cell is a point whose ``customdata`` is (query, key).

    Args:
        allowed: (q_len, k_len) bool, True = may attend.
        painted: (q_len, k_len) bool, the cells flipped by hand.
        reasons: (q_len, k_len) plain texts, for hover: what blocks the cell, "" where nothing does.
        padded_queries: one bool per query, True = padding; striped, label dimmed.
        padded_keys: the same for the keys.
        clickable: lay a point over each cell.
        title: plain text.
        width: largest width in pixels; ``layout.width`` is what square cells need, up to it. Where the page gives
            less, cells are higher than wide.
        words: the words on the figure. None: English.
        revision: goes to ``layout.meta``.

    Raises:
        TypeError: if a mask is not bool.
        ValueError: if shapes do not fit.
    """
    words = words or MaskWords()
    allowed = _square_of_bools("allowed", allowed)
    rows, columns = allowed.shape
    touched = np.zeros(allowed.shape, bool)
    if painted is not None:
        touched = np.broadcast_to(check_mask("painted", painted, allowed.shape), allowed.shape)  # type: ignore[arg-type]
    plan = _Plan(rows, columns, padded_queries, padded_keys, width=width)
    hover = _hover(allowed, touched, reasons, words)
    template = f"{escape(words.query)} %{{y}}<br>{escape(words.key)} %{{x}}<br>%{{hovertext}}<extra></extra>"
    if clickable:
        template = template.replace("<extra>", f"<br>{escape(words.flip)}<extra>")
    data = [
        _map(allowed.astype(np.uint8), plan, zmin=0, zmax=1, colorscale=_TWO, showscale=False)
        | ({"hoverinfo": "skip"} if clickable else {"hovertext": hover, "hovertemplate": template})
    ]
    if touched.any():
        query, key = np.nonzero(touched)
        data.append(_rings(key, query, plan, name=words.painted))
    if clickable:
        data.append(_points(plan, hover, template))
    entries = [_box(words.allowed, theme.ACCENT)] if allowed.any() else []
    entries += [] if allowed.all() else [_hatch(words.blocked)]
    entries += [_stripe(words.padding)] if plan.padded else []
    shown = [name for name, there in ((words.painted, touched.any()),) if there]
    return plan.figure(
        data, entries, forbidden=~allowed, also=shown, notes=[], title=title, words=words, revision=revision
    )


def reach_figure(
    first: np.ndarray,
    *,
    layers: int,
    padded: Sequence[bool] | np.ndarray | None = None,
    title: str = "",
    width: int = 620,
    words: MaskWords | None = None,
    revision: str | int | None = None,
) -> go.Figure:
    """How many layers it takes until a key's content arrives at a query.

    The first trace is the map: its ``z`` is the number of layers, NaN where ``layers`` are not enough.

    Args:
        first: (len, len) int, layers needed; 0 for itself, -1 for never.
        layers: the layers that there are, >= 0.
        padded: one bool per position, True = padding.
        title: plain text.
        width: largest width in pixels.
        words: the words on the figure. None: English.
        revision: goes to ``layout.meta``.

    Raises:
        ValueError: if shapes do not fit.
    """
    words = words or MaskWords()
    first = np.asarray(first)
    if first.ndim != 2 or first.shape[0] != first.shape[1] or 0 in first.shape:
        raise ValueError(f"first must be (len, len): got {first.shape}")
    plan = _Plan(first.shape[0], first.shape[1], padded, padded, width=width)
    there = (first >= 0) & (first <= layers)
    never, later = first < 0, first > layers
    z = np.where(there, first, np.nan).astype(np.float32)
    texts = np.where(never, words.never, words.later).astype(object)
    for number in range(layers + 1):
        texts[first == number] = words.itself if number == 0 else words.reached.format(layers=number)
    hover = np.vectorize(escape, otypes=[object])(texts)
    template = f"{escape(words.query)} %{{y}}<br>{escape(words.key)} %{{x}}<br>%{{hovertext}}<extra></extra>"
    most = max(1, int(first.max()))
    bar = theme.COLOUR_BAR | {
        "title": {"text": escape(words.layers), "font": {"size": 11}, "side": "right"},
        "dtick": max(1, ceil(most / 6)),
        "len": max(80, min(180, round(plan.height))),
    }
    data = [
        _map(z, plan, zmin=0, zmax=most, colorscale=theme.colorscale(_NEAR_TO_FAR), colorbar=bar)
        | {"hovertext": hover, "hovertemplate": template, "hoverongaps": True}
    ]
    entries = [_hatch(words.never)] if never.any() else []
    if later.any():
        flat = np.where(later, 1, np.nan).astype(np.float32)
        grey = _map(flat, plan, zmin=0, zmax=1, colorscale=theme.flat(_LATER), showscale=False)
        data.append(grey | {"hoverinfo": "skip"})
        entries.append(_box(words.later, _LATER))
    entries += [_stripe(words.padding)] if plan.padded else []
    return plan.figure(data, entries, forbidden=never, also=[], notes=[], title=title, words=words, revision=revision)


_TWO = [[0, "rgba(128,134,143,0.10)"], [1, theme.ACCENT]]
_NEAR_TO_FAR = theme.SEQUENTIAL[2:-1]
_LATER = "rgba(128,134,143,0.20)"


class _Plan:
    """Sizes, axes and stripes of one map."""

    def __init__(self, rows: int, columns: int, padded_queries, padded_keys, *, width: int) -> None:
        self.rows, self.columns = rows, columns
        self.pad_q = check_padding("padded_queries", padded_queries, rows)
        self.pad_k = check_padding("padded_keys", padded_keys, columns)
        self.padded = bool(self.pad_q.any() or self.pad_k.any())
        self.left = 26 + label_width([str(rows)], size=theme.TICK_SIZE)
        self.width = width
        self.cell = min(LARGEST_CELL, max(4.0, (width - self.left - 64) / columns))
        self.height = rows * self.cell
        self.step = max(1, ceil(15 / self.cell))
        self.x, self.y = _categories(self.pad_k), _categories(self.pad_q)

    def figure(self, data, entries, *, forbidden, also, notes, title, words: MaskWords, revision) -> go.Figure:
        nobody = np.zeros(forbidden.shape, bool)
        marks = CellMarks(forbidden, *(nobody for _ in range(7)))
        stripes = [(0, int(i), self.columns, 1) for i in np.flatnonzero(self.pad_q)]
        stripes += [(int(j), 0, 1, self.rows) for j in np.flatnonzero(self.pad_k)]
        image = overlay([(0, 0, marks)], width=self.columns, height=self.rows, cell=self.cell, padded=stripes)
        notes = [*notes, *([words.thinned.format(step=self.step)] if self.step > 1 else [])]
        heading, top = theme.heading(title, notes, width=self.width)
        named = [{"name": name} for name in also]
        top += legend_height([*entries, *named], width=self.width - self.left) + 8
        x = self._axis(self.x, title=words.columns)
        y = self._axis(self.y, title=words.rows, reverse=True)
        layout = {
            "title": heading,
            "showlegend": bool(entries or also),
            "legend": theme.legend(y=1.0, pixels=round(self.height)),
            "images": [image] if image else [],
            "xaxis": x,
            "yaxis": y,
            "dragmode": False,
            "hoverdistance": 40,
        }
        right = 72 if any("colorbar" in trace for trace in data) else 16
        margin = {"l": self.left, "r": right, "t": top, "b": 44}
        height = round(self.height) + top + 44
        layout["width"] = max(_NARROWEST, round(self.columns * self.cell) + self.left + right)
        return theme.figure([*data, *entries], layout, height=height, margin=margin, revision=revision)

    def _axis(self, names: list[str], *, title: str, reverse: bool = False) -> dict:
        axis = TokenAxis(names, [0], len(names), {}, 0)
        return theme.token_axis_layout(
            axis, self.step, cells=len(names), size=theme.TICK_SIZE, title=title, angle=0, reverse=reverse
        )


def _categories(padded: np.ndarray) -> list[str]:
    """The numbers of the places; those of padding dimmed."""
    return [f'<span style="opacity:0.5">{i}</span>' if dim else str(i) for i, dim in enumerate(padded.tolist())]


def _square_of_bools(name: str, mask: np.ndarray) -> np.ndarray:
    array = np.asarray(mask)
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"{name} must be (q_len, k_len), neither of them 0: got {array.shape}; choose one sample")
    checked = check_mask(name, array, array.shape)
    assert checked is not None
    return checked


def _hover(allowed: np.ndarray, painted: np.ndarray, reasons, words: MaskWords) -> np.ndarray:
    """(q_len, k_len) escaped texts: the state of each cell, and why."""
    texts = np.where(allowed, words.allowed, words.blocked).astype(object)
    if reasons is not None:
        given = np.array(reasons, dtype=object)
        if given.shape != allowed.shape:
            raise ValueError(f"need one reason per cell {allowed.shape}: got {given.shape}")
        known = ~allowed & (given != "")
        texts[known] = [words.blocked_by.format(parts=parts) for parts in given[known]]
    texts = np.vectorize(escape, otypes=[object])(texts)
    texts[painted] = [f"{text}<br>{escape(words.painted)}" for text in texts[painted]]
    return texts


def _map(z: np.ndarray, plan: _Plan, **scale) -> dict:
    gap = 1 if plan.cell >= _GAP_CELL else 0
    place = {"x0": 0, "dx": 1, "y0": 0, "dy": 1, "xgap": gap, "ygap": gap}
    return {"type": "heatmap", "z": z, **place, **scale}


def _rings(key: np.ndarray, query: np.ndarray, plan: _Plan, *, name: str) -> dict:
    """A light disc with a dark rim: shows on the filled cell and on the hatch, in light and in dark."""
    return {
        "type": "scatter",
        "mode": "markers",
        "name": escape(name),
        "x": [plan.x[i] for i in key.tolist()],
        "y": [plan.y[i] for i in query.tolist()],
        "marker": {
            "symbol": "circle",
            "size": max(3.0, min(11.0, plan.cell * 0.42)),
            "color": "#ffffff",
            "line": {"color": theme.BLOCKED, "width": max(1.0, min(3.0, plan.cell * 0.1))},
        },
        "hoverinfo": "skip",
        "showlegend": True,
        "meta": {"layer": "painted"},
        "selected": {"marker": {"opacity": 1}},
        "unselected": {"marker": {"opacity": 1}},
    }


def _points(plan: _Plan, hover: np.ndarray, template: str) -> dict:
    cells = [(query, key) for query in range(plan.rows) for key in range(plan.columns)]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [plan.x[key] for _, key in cells],
        "y": [plan.y[query] for query, _ in cells],
        "customdata": cells,  # a typed array would come back as an object
        "hovertext": hover.ravel(),
        "hovertemplate": template,
        "marker": {"size": 6, "opacity": 0},
        "selected": {"marker": {"opacity": 0}},
        "unselected": {"marker": {"opacity": 0}},
        "showlegend": False,
        "meta": {"layer": "cells"},
    }


def _entry(name: str, **looks) -> dict:
    return {"name": escape(name), "x": [None], "y": [None], "hoverinfo": "skip", "showlegend": True, **looks}


def _box(name: str, colour: str) -> dict:
    return _entry(name, type="bar", marker={"color": colour})


def _hatch(name: str) -> dict:
    pattern = {"shape": "/", "fgcolor": "rgb(128,133,142)", "bgcolor": "rgba(150,150,150,0.18)", "size": 4}
    return _entry(name, type="bar", marker={"pattern": pattern | {"solidity": 0.3}, "color": "rgb(150,150,150)"})


def _stripe(name: str) -> dict:
    pattern = {"shape": "-", "fgcolor": "rgb(128,133,142)", "size": 4, "solidity": 0.4}
    return _entry(name, type="bar", marker={"pattern": pattern, "color": "rgba(0,0,0,0)"})
