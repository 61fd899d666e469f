"""One head enlarged, at any stage of the computation.

from viz.figures.head import head_heatmap
figure = head_heatmap(weights, query_tokens=tokens, key_tokens=tokens)      # weights: (q_len, k_len)
figure.show()
"""

from collections.abc import Sequence
from dataclasses import replace
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
from viz.figures.labels import escape, token_axis
from viz.figures.marks import CellMarks, classify, overlay
from viz.figures.words import FigureWords

STAGES = ("scores", "scaled", "capped", "logits", "weights")
EXACT_TOKENS = 256  # up to here hover gives the float32 value; above, cells are pooled
_STAGES_CELLS = 64 * 64  # up to here hover gives the other stages too
_NUMBERS = 12  # up to so many tokens the number stands in the cell
_GLYPH_CELL = 6.0  # pixels below which zero and tiny cannot be seen


def head_heatmap(
    values: np.ndarray,
    *,
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    stage: str = "weights",
    scale: str = "fixed",
    scores: np.ndarray | None = None,
    scaled: np.ndarray | None = None,
    capped: np.ndarray | None = None,
    logits: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    allowed: np.ndarray | None = None,
    intended: np.ndarray | None = None,
    padded_queries: Sequence[bool] | np.ndarray | None = None,
    padded_keys: Sequence[bool] | np.ndarray | None = None,
    first_query: int = 0,
    first_key: int = 0,
    numbers_in_cells: bool = True,
    title: str = "",
    width: int = 760,
    words: FigureWords | None = None,
    revision: str | int | None = None,
) -> go.Figure:
    """Heatmap of one stage of one head. Rows are queries, columns are keys, row 0 is at the top.

    The first trace is the map: up to 256 tokens its ``z`` is the float32 value (of weights: on the fixed scale) and
        hover
    gives it exactly; above, a cell is the value of largest magnitude in a block of tokens, and the figure says so.

    Args:
        values: (q_len, k_len) float, the stage to be coloured; any values.
        query_tokens: q_len strings, any content.
        key_tokens: k_len strings.
        stage: which stage ``values`` is: "scores", "scaled", "capped", "logits" or "weights".
        scale: of weights: "fixed" (0 to 1), "row-max" or "log". The other stages are always centred on 0.
        scores: (q_len, k_len) for hover, up to 64 x 64 cells.
        scaled: as ``scores``.
        capped: as ``scores``.
        logits: as ``scores``.
        weights: as ``scores``; also needed to mark leaks at stages other than weights.
        allowed: bool, broadcastable to the values: the mask that was applied, True = may attend.
        intended: bool, broadcastable: the mask that was meant, where it differs.
        padded_queries: one bool per query, True = padding; striped, label dimmed.
        padded_keys: the same for the keys.
        first_query: number of the first row, where the map is a part of a larger one.
        first_key: number of the first column, likewise.
        numbers_in_cells: write the numbers up to 12 tokens.
        title: plain text.
        width: expected width in pixels, for spacing only; the figure stretches.
        words: the words on the figure. None: English.
        revision: goes to ``layout.meta``.

    Raises:
        TypeError: if a mask is not bool.
        ValueError: if shapes do not fit, or a stage or scale is unknown.
    """
    words = words or FigureWords()
    if stage not in STAGES:
        raise ValueError(f"stage must be one of {', '.join(STAGES)}: got {stage!r}")
    if scale not in scales.SCALES:
        raise ValueError(f"scale must be one of {', '.join(scales.SCALES)}: got {scale!r}")
    values = np.asarray(values, dtype=np.float32)
    if values.ndim != 2 or 0 in values.shape:
        raise ValueError(f"values must be (q_len, k_len), neither of them 0: got {values.shape}; choose one head")
    q_len, k_len = values.shape
    queries = check_tokens("query", query_tokens, q_len, "row")
    keys = check_tokens("key", key_tokens, k_len, "column")
    allowed = check_mask("allowed", allowed, values.shape)
    intended = check_mask("intended", intended, values.shape)
    pad_q = check_padding("padded_queries", padded_queries, q_len)
    pad_k = check_padding("padded_keys", padded_keys, k_len)
    others = {"scores": scores, "scaled": scaled, "capped": capped, "logits": logits, "weights": weights}
    others = {
        name: _same_shape(name, array, values.shape)
        for name, array in others.items()
        if array is not None and name != stage
    }

    marks = _marks(values, stage, others.get("weights"), allowed, intended)
    outside = int(((values < 0) | (values > 1 + 1e-5)).sum()) if stage == "weights" else 0
    if stage == "weights":
        coloured = scales.colour_weights(values, scale=scale, words=words)
    else:
        coloured = scales.colour_signed(values, stage=_word(stage, words), words=words)
    z = coloured.z
    block_q, block_k = ceil(q_len / EXACT_TOKENS), ceil(k_len / EXACT_TOKENS)
    pooled = (block_q, block_k) != (1, 1)
    if pooled:
        z = scales.pool(z, block_q, block_k, signed=stage != "weights")
        values = scales.pool(values, block_q, block_k, signed=stage != "weights")
        marks, others = marks.pooled(block_q, block_k), {}
        pad_q = ~scales.pool(~pad_q[:, None], block_q, 1)[:, 0]
        pad_k = ~scales.pool(~pad_k[None, :], 1, block_k)[0]
    rows, columns = z.shape
    if z.size > _STAGES_CELLS:
        others = {name: array for name, array in others.items() if name == "weights" and z.size <= 4 * _STAGES_CELLS}

    x_axis = token_axis(keys, dimmed=pad_k, block=block_k, offset=first_key)
    y_axis = token_axis(queries, dimmed=pad_q, block=block_q, offset=first_query)
    left_guess = 24 + label_width(y_axis.categories, size=theme.TICK_SIZE)
    cell_x = max(80, width - left_guess - 56) / columns
    cell_y = max(min(cell_x, 46.0, 760 / rows), 60 / rows)
    x_step, x_font = _ticks(cell_x)
    y_step, y_font = _ticks(cell_y)
    left = 24 + label_width(y_axis.categories, size=y_font)
    bottom = 26 + label_width(x_axis.categories, size=x_font)
    cell = min(cell_x, cell_y)
    glyphs = cell >= _GLYPH_CELL

    state = StateText(marks, known=allowed is not None or intended is not None, words=words)
    data = _map(values, z, marks, others, stage=stage, exact=coloured.exact, state=state, words=words)
    if numbers_in_cells and max(rows, columns) <= _NUMBERS:
        data[0] |= {"text": _numbers(values, marks), "texttemplate": "%{text}", "textfont": {"size": 11}}
    present = marks.present()
    entries = legend_entries(
        present if glyphs else present - {"zero", "tiny"}, padding=bool(pad_q.any() or pad_k.any()), words=words
    )
    image = overlay(
        [(0, 0, marks)],
        width=columns,
        height=rows,
        cell=cell,
        glyphs=glyphs,
        padded=[(0, int(i), columns, 1) for i in np.flatnonzero(pad_q)]
        + [(int(j), 0, 1, rows) for j in np.flatnonzero(pad_k)],
    )
    notes = [coloured.name, words.thinning(y_step if rows > 1 else 1, x_step if columns > 1 else 1)]
    shortened = x_axis.shortened if queries == keys else x_axis.shortened + y_axis.shortened
    if shortened:
        notes.append(words.shortened.format(count=shortened))
    if pooled:
        notes.append(words.pooled.format(rows=block_q, columns=block_k))
    if not glyphs and present & {"zero", "tiny"}:
        notes.append(words.marks_hidden)
    if outside:
        notes.append(words.outside.format(count=outside))

    heading, top = theme.heading(title, notes, width=width)
    top += legend_height(entries, width=width - left - 60) + 6
    plot_height = round(rows * cell_y)
    coloured.axis["colorbar"]["len"] = max(60, min(180, plot_height))
    layout = {
        "title": heading,
        "coloraxis": coloured.axis,
        "showlegend": bool(entries),
        "legend": theme.legend(y=1.0, pixels=plot_height),
        "images": [image] if image else [],
        "xaxis": theme.token_axis_layout(
            x_axis, x_step, cells=columns, size=x_font, title=words.columns, angle=-60 if cell_x > 18 else -90
        ),
        "yaxis": theme.token_axis_layout(y_axis, y_step, cells=rows, size=y_font, title=words.rows, reverse=True),
    }
    margin = {"l": left, "r": 56, "t": top, "b": bottom}
    return theme.figure([*data, *entries], layout, height=plot_height + top + bottom, margin=margin, revision=revision)


def _same_shape(name: str, array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    array = np.asarray(array, dtype=np.float32)
    if array.shape != shape:
        raise ValueError(f"{name} must have the shape of values {shape}: got {array.shape}")
    return array


def _marks(values: np.ndarray, stage: str, weights: np.ndarray | None, allowed, intended) -> CellMarks:
    """Marks of what is shown; leaks come from the weights, wherever they are known."""
    if stage == "weights":
        return classify(values, allowed=allowed, intended=intended)
    nobody = np.zeros(values.shape, bool)
    shown = classify(values, allowed=allowed, intended=intended)
    leak = nobody if weights is None else classify(weights, allowed=allowed, intended=intended).leak
    blocked_anyway = shown.neg_inf & shown.forbidden if stage == "logits" else nobody
    return replace(shown, leak=leak, zero=nobody, tiny=nobody, neg_inf=shown.neg_inf & ~blocked_anyway)


def _word(stage: str, words: FigureWords) -> str:
    return words.weight if stage == "weights" else getattr(words, stage)


def _map(
    values, z, marks, others: dict, *, stage: str, exact: bool, state: StateText, words: FigureWords
) -> list[dict]:
    start = f"{escape(words.query)} %{{y}}<br>{escape(words.key)} %{{x}}<br>{escape(_word(stage, words))}: "
    columns = list(others.values()) if exact else [values, *others.values()]
    value = f"%{{z{NUMBER}}}" if exact else f"%{{customdata[0]{NUMBER}}}"
    first = 0 if exact else 1
    end = "".join(
        f"<br>{escape(_word(name, words))}: %{{customdata[{i}]{NUMBER}}}" for i, name in enumerate(others, start=first)
    )
    end += state.line + "<extra></extra>"
    hovertext = state.cells(marks)
    customdata = np.stack(columns, axis=-1) if columns else None
    place = {"x0": 0, "dx": 1, "y0": 0, "dy": 1}
    main = {
        "type": "heatmap",
        "z": z,
        "customdata": customdata,
        "hovertext": hovertext,
        "coloraxis": "coloraxis",
        "hovertemplate": start + value + end,
        "hoverongaps": False,
        "meta": {"stage": stage},
        **place,
    }
    layers = unplaced(values, z, place=place, template=start + "{value}" + end, hovertext=hovertext, words=words)
    for layer in layers:
        layer["customdata"] = customdata
    return [main, *layers]


def _numbers(values: np.ndarray, marks: CellMarks) -> list[list[str]]:
    """What is written into the cells: two decimals, but never 0 for what is not 0, and nothing over a glyph."""
    silent = marks.nan | marks.pos_inf | marks.neg_inf | marks.zero | marks.tiny
    silent |= marks.forbidden & ((values == 0) | ~np.isfinite(values))
    return [
        ["" if quiet else _short(value) for value, quiet in zip(row, hidden, strict=True)]
        for row, hidden in zip(values.tolist(), silent.tolist(), strict=True)
    ]


def _short(value: float) -> str:
    if value != 0 and abs(value) < 0.005:
        return "<.01" if value > 0 else ">-.01"
    return f"{value:.2f}" if abs(value) < 100 else f"{value:.3g}"


def _ticks(cell: float) -> tuple[int, float]:
    """Every how manyth label fits, and the size of its font, for cells of this many pixels."""
    step = max(1, ceil(9 / cell))
    return step, round(max(7.5, min(theme.TICK_SIZE + 1, 0.86 * cell * step)), 1)
