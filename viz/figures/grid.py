"""All heads of one layer in one figure: small maps side by side on one pair of axes.

from viz.figures.grid import head_grid
figure = head_grid(weights, query_tokens=tokens, key_tokens=tokens)      # weights: (heads, q_len, k_len)
figure.show()
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
import plotly.graph_objects as go

from viz.figures import scales, theme
from viz.figures.cells import (
    NUMBER,
    StateText,
    check_mask,
    check_padding,
    check_tokens,
    label_width,
    legend_entries,
    legend_height,
    unplaced,
)
from viz.figures.labels import TokenAxis, escape, token_axis
from viz.figures.marks import CellMarks, classify, overlay
from viz.figures.words import FigureWords

EXACT_TOKENS = 32  # up to here every cell carries its float32 weight and score
EXACT_CELLS = 32 * EXACT_TOKENS**2
MOST_CELLS = 200_000  # above, cells are pooled
_MAX_LABEL = 12


def head_grid(
    weights: np.ndarray,
    *,
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    allowed: np.ndarray | None = None,
    intended: np.ndarray | None = None,
    scores: np.ndarray | None = None,
    heads: Sequence[str] | None = None,
    heads_off: Collection[int] = (),
    padded_queries: Sequence[bool] | np.ndarray | None = None,
    padded_keys: Sequence[bool] | np.ndarray | None = None,
    columns: int = 4,
    scale: str = "fixed",
    title: str = "",
    width: int = 1040,
    clickable: bool = False,
    words: FigureWords | None = None,
    revision: str | int | None = None,
) -> go.Figure:
    """Heatmaps of all heads of a layer on one colour scale. Rows are queries, columns are keys, row 0 is at the top.

    One heatmap trace per head, in order, named after it; ``trace.meta["head"]`` is its index. Up to 32 tokens
    ``trace.z`` is the float32 weight itself (on the fixed scale) and ``trace.customdata`` the float32 score; above,
    ``trace.z`` is the weight in whole 1/10000 and the figure says so; above 200 000 cells a cell is the largest weight
    of a block of tokens, and the figure says that. Cells whose value has no place on the scale lie in a grey trace of
    their own.

    Args:
        weights: (heads, q_len, k_len) float, any values; 1 to 96 heads.
        query_tokens: q_len strings, any content.
        key_tokens: k_len strings.
        allowed: bool, broadcastable to the weights: the mask that was applied, True = may attend. None: hover says
            nothing of it.
        intended: bool, broadcastable: the mask that was meant, where it differs.
        scores: (heads, q_len, k_len) float, for hover. None: not shown.
        heads: names. None: "Head 0", ...
        heads_off: indices of heads that are switched off; greyed.
        padded_queries: one bool per query, True = padding; striped, label dimmed.
        padded_keys: the same for the keys.
        columns: maps per row, at least 1.
        scale: "fixed" (0 to 1), "row-max" or "log".
        title: plain text.
        width: expected width in pixels, for spacing only; the figure stretches.
        clickable: hover on a head's name says that a click enlarges it; the names are points whose ``customdata`` is
            the index.
        words: the words on the figure. None: English.
        revision: goes to ``layout.meta``.

    Raises:
        TypeError: if a mask is not bool.
        ValueError: if shapes do not fit, or ``scale`` is unknown.
    """
    words = words or FigureWords()
    weights = np.asarray(weights, dtype=np.float32)
    if weights.ndim != 3 or 0 in weights.shape:
        raise ValueError(f"weights must be (heads, q_len, k_len), none of them 0: got {weights.shape}")
    n_heads, q_len, k_len = weights.shape
    queries = check_tokens("query", query_tokens, q_len, "row")
    keys = check_tokens("key", key_tokens, k_len, "column")
    allowed = check_mask("allowed", allowed, weights.shape)
    intended = check_mask("intended", intended, weights.shape)
    names = _names(heads, n_heads, heads_off, words)
    if scores is not None:
        scores = np.asarray(scores, dtype=np.float32)
        if scores.shape != weights.shape:
            raise ValueError(f"scores must have the shape of weights {weights.shape}: got {scores.shape}")
    pad_q = check_padding("padded_queries", padded_queries, q_len)
    pad_k = check_padding("padded_keys", padded_keys, k_len)

    outside = int(((weights < 0) | (weights > 1 + 1e-5)).sum())
    marks = classify(weights, allowed=allowed, intended=intended)
    coloured = scales.colour_weights(weights, scale=scale, words=words)
    block_q, block_k = _block(n_heads, q_len, k_len)
    pooled = (block_q, block_k) != (1, 1)
    exact = max(q_len, k_len) <= EXACT_TOKENS and weights.size <= EXACT_CELLS
    if pooled:
        weights, marks = scales.pool(weights, block_q, block_k), marks.pooled(block_q, block_k)
        pad_q = ~scales.pool(~pad_q[:, None], block_q, 1)[:, 0]
        pad_k = ~scales.pool(~pad_k[None, :], 1, block_k)[0]
        coloured = scales.Coloured(
            scales.pool(coloured.z, block_q, block_k), coloured.axis, coloured.name, coloured.exact
        )

    plan = _Plan.make(n_heads, weights.shape[1], weights.shape[2], columns=columns, width=width)
    x_axis = token_axis(keys, groups=plan.columns, after=plan.beside, max_len=_MAX_LABEL, dimmed=pad_k, block=block_k)
    y_axis = token_axis(queries, groups=plan.rows, before=plan.above, max_len=_MAX_LABEL, dimmed=pad_q, block=block_q)
    state = StateText(marks, known=allowed is not None or intended is not None, words=words)

    data: list[dict] = []
    glyphs = plan.cell >= 5
    for head in range(n_heads):
        data += _tile(
            weights[head],
            coloured.z[head],
            marks.part(head),
            None if scores is None or not exact else scores[head],
            place=plan.place(head),
            name=names[head],
            head=head,
            exact=exact,
            identity=coloured.exact,
            state=state,
            words=words,
        )
    if not exact and coloured.exact:
        _in_units(coloured.axis)
    data.append(_titles(names, plan, x_axis, y_axis, clickable=clickable, words=words))
    present = marks.present()
    entries = legend_entries(
        present if glyphs else present - {"zero", "tiny"}, padding=bool(pad_q.any() or pad_k.any()), words=words
    )
    data += entries

    notes = [coloured.name, words.thinning(plan.step_y if plan.q_len > 1 else 1, plan.step_x if plan.k_len > 1 else 1)]
    if x_axis.shortened or y_axis.shortened:
        notes.append(
            words.shortened.format(count=x_axis.shortened if keys == queries else x_axis.shortened + y_axis.shortened)
        )
    if pooled:
        notes.append(words.pooled.format(rows=block_q, columns=block_k))
    if not exact:
        notes.append(words.quantised)
    if not glyphs and present & {"zero", "tiny"}:
        notes.append(words.marks_hidden)
    if outside:
        notes.append(words.outside.format(count=outside))
    image = overlay(
        [(*plan.origin(head), marks.part(head)) for head in range(n_heads)],
        width=plan.x_cells,
        height=plan.y_cells,
        cell=plan.cell,
        glyphs=glyphs,
        padded=plan.stripes(n_heads, pad_q, pad_k),
        veiled=[(*plan.origin(head), plan.k_len, plan.q_len) for head in sorted(set(heads_off)) if head < n_heads],
    )

    size = theme.SMALL_TICK_SIZE
    left = 24 + label_width(y_axis.categories, size=size)
    bottom = 26 + label_width(x_axis.categories, size=size)
    heading, top = theme.heading(title, notes, width=width)
    top += legend_height(entries, width=width - left - 60)
    plot_height = round(plan.y_cells * plan.cell_y)
    coloured.axis["colorbar"]["len"] = max(60, min(180, plot_height))
    layout = {
        "title": heading,
        "coloraxis": coloured.axis,
        "showlegend": bool(entries),
        "legend": theme.legend(y=1.0, pixels=plot_height),
        "images": [image] if image else [],
        "xaxis": theme.token_axis_layout(
            x_axis, plan.step_x, cells=plan.x_cells, size=size, title=words.columns, angle=-90
        ),
        "yaxis": theme.token_axis_layout(
            y_axis, plan.step_y, cells=plan.y_cells, size=size, title=words.rows, reverse=True
        ),
    }
    margin = {"l": left, "r": 52, "t": top, "b": bottom}
    return theme.figure(data, layout, height=plot_height + top + bottom, margin=margin, revision=revision)


@dataclass(frozen=True)
class _Plan:
    """Where each map lies, in cells.

    Attributes:
        rows, columns: of maps.
        q_len, k_len: size of a map.
        above: blank rows over each map, room for its name; below the lowest there is none.
        left_over: blank columns right of each map.
        step_x, step_y: every how manyth label is shown.
        cell: expected size of a cell in pixels; cell_y its height.
    """

    rows: int
    columns: int
    q_len: int
    k_len: int
    above: int
    beside: int
    step_x: int
    step_y: int
    cell: float
    cell_y: float
    width: int

    @classmethod
    def make(cls, heads: int, q_len: int, k_len: int, *, columns: int, width: int) -> "_Plan":
        if columns < 1:
            raise ValueError(f"columns must be at least 1: got {columns}")
        columns = min(columns, heads)
        plot = max(120, width - 150)
        cell = plot / (columns * (k_len + max(1, k_len // 12)))
        step_x = max(1, ceil(11 / cell))
        beside = max(1, ceil(14 / cell))
        beside += -(k_len + beside) % step_x  # so that every map shows the labels of the same tokens
        cell = plot / (columns * (k_len + beside))
        cell_y = min(cell, 40.0) if q_len > 1 else 40.0
        cell_y = max(cell_y, 48 / q_len)  # never flatter than 48 pixels
        step_y = max(1, ceil(12 / cell_y))
        above = max(1, ceil(24 / cell_y))
        above += -(q_len + above) % step_y
        rows = -(-heads // columns)
        return cls(rows, columns, q_len, k_len, above, beside, step_x, step_y, min(cell, cell_y), cell_y, width)

    @property
    def x_cells(self) -> int:
        return self.columns * (self.k_len + self.beside)

    @property
    def y_cells(self) -> int:
        return self.rows * (self.q_len + self.above)

    def origin(self, head: int) -> tuple[int, int]:
        row, column = divmod(head, self.columns)
        return column * (self.k_len + self.beside), row * (self.q_len + self.above) + self.above

    def place(self, head: int) -> dict:
        x, y = self.origin(head)
        return {"x0": x, "dx": 1, "y0": y, "dy": 1}

    def stripes(self, heads: int, pad_q: np.ndarray, pad_k: np.ndarray) -> list[tuple[int, int, int, int]]:
        areas = []
        for head in range(heads):
            x, y = self.origin(head)
            areas += [(x, y + int(i), self.k_len, 1) for i in np.flatnonzero(pad_q)]
            areas += [(x + int(j), y, 1, self.q_len) for j in np.flatnonzero(pad_k)]
        return areas


def _names(heads: Sequence[str] | None, count: int, off: Collection[int], words: FigureWords) -> list[str]:
    names = [words.head.format(index=i) for i in range(count)] if heads is None else [str(name) for name in heads]
    if len(names) != count:
        raise ValueError(f"need one name per head: got {len(names)} for {count}; pass heads=None for numbers")
    return [words.head_off.format(head=name) if i in off else name for i, name in enumerate(names)]


def _block(heads: int, q_len: int, k_len: int) -> tuple[int, int]:
    """Smallest block, square where it can be, that brings the figure under the most cells."""
    block = 1
    while heads * ceil(q_len / block) * ceil(k_len / block) > MOST_CELLS:
        block += 1
    return min(block, q_len), min(block, k_len)


def _tile(
    weights,
    z,
    marks: CellMarks,
    scores,
    *,
    place: dict,
    name: str,
    head: int,
    exact: bool,
    identity: bool,
    state: StateText,
    words: FigureWords,
) -> list[dict]:
    """The map of one head, and its grey layer where some cells have no place on the scale."""
    start = f"<b>{escape(name)}</b><br>{escape(words.query)} %{{y}}<br>{escape(words.key)} %{{x}}<br>"
    extra = None
    score_at = "customdata"
    if not exact:
        label = escape(words.rounded_weight)
        value = "%{z}" if identity else "%{customdata}"
        extra = None if identity else scales.rounded(weights)
    else:
        label = escape(words.weight)
        value = f"%{{z{NUMBER}}}" if identity else f"%{{customdata[0]{NUMBER}}}"
        if identity:
            extra = scores
        else:
            extra = np.stack([weights] if scores is None else [weights, scores], axis=-1)
            score_at = "customdata[1]"
    end = f"<br>{escape(words.score)}: %{{{score_at}{NUMBER}}}" if scores is not None and exact else ""
    end += state.line + "<extra></extra>"
    hovertext = state.cells(marks)
    shown = scales.rounded(weights) if not exact and identity else z
    place_and_name = {**place, "name": escape(name)}
    traces = [
        {
            "type": "heatmap",
            "z": shown,
            "customdata": extra,
            "hovertext": hovertext,
            "coloraxis": "coloraxis",
            "hovertemplate": f"{start}{label}: {value}{end}",
            "hoverongaps": False,
            "meta": {"head": head},
            **place_and_name,
        }
    ]
    template = f"{start}{escape(words.weight)}: {{value}}{state.line}<extra></extra>"
    return traces + unplaced(weights, z, place=place_and_name, template=template, hovertext=hovertext, words=words)


def _in_units(axis: dict) -> None:
    """Turns the fixed scale into whole 1/10000; the bar keeps reading 0 to 1."""
    bar = axis["colorbar"]
    bar["ticktext"] = [f"{value:g}" for value in bar["tickvals"]]
    bar["tickvals"] = [value * scales.UNITS for value in bar["tickvals"]]
    axis["cmax"] = scales.UNITS


def _titles(names, plan: _Plan, x_axis: TokenAxis, y_axis: TokenAxis, *, clickable: bool, words: FigureWords) -> dict:
    """The names of the heads over their maps: text, and a point that can be clicked."""
    x, y = [], []
    for head in range(len(names)):
        left, top = plan.origin(head)
        x.append(x_axis.categories[left])
        y.append(y_axis.categories[top - max(1, round(12 / plan.cell_y))])
    trace = {
        "type": "scatter",
        "mode": "markers+text",
        "x": x,
        "y": y,
        "text": [f"<b>{escape(name)}</b>" for name in names],
        "textposition": "middle right",
        "textfont": {"size": theme.FONT_SIZE},
        "cliponaxis": False,
        "showlegend": False,
        "name": "heads",
        "customdata": list(range(len(names))),
        "meta": {"layer": "head names"},
    }
    if not clickable:
        return trace | {"mode": "text", "hoverinfo": "skip"}
    return trace | {
        "marker": {"symbol": "square", "size": 9, "color": theme.ACCENT},
        "selected": {"marker": {"opacity": 1}},
        "unselected": {"marker": {"opacity": 1}},
        "hovertemplate": f"%{{text}}<br>{escape(words.enlarge)}<extra></extra>",
    }
