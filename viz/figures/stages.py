"""One head at every stage of the computation: small maps beside each other, one cell marked in all of them.

from viz.figures.stages import stage_panels
stage_panels({"scores": scores, "weights": weights}, query_tokens=tokens, key_tokens=tokens, selected=(2, 1)).show()
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil

import numpy as np
import plotly.graph_objects as go

from viz.figures import scales, theme
from viz.figures.cells import (
    NUMBER,
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

STAGES = ("scores", "scaled", "capped", "logits", "weights", "weighted")
EXACT_TOKENS = 64  # up to here every cell carries its float32 value
MOST_TOKENS = 128  # above, cells are pooled
STEPS = 254  # colours between the ends of a scale where cells carry their colour alone
_NO_NUMBER = 255
_SIGNED = ("scores", "scaled", "capped", "logits")
_LINE = {"color": theme.ACCENT, "width": 2.5}
_HALO = {"color": "rgba(255,255,255,0.9)", "width": 5}
_BAR = 54  # pixels beside a map for its colour bar
_ABOVE = 22  # pixels over a map for its name


def stage_panels(
    stages: Mapping[str, np.ndarray],
    *,
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    selected: tuple[int, int] | None = None,
    allowed: np.ndarray | None = None,
    intended: np.ndarray | None = None,
    padded_queries: Sequence[bool] | np.ndarray | None = None,
    padded_keys: Sequence[bool] | np.ndarray | None = None,
    columns: int = 3,
    width: int = 1040,
    words: FigureWords | None = None,
    revision: str | int | None = None,
) -> go.Figure:
    """Heatmaps of the stages of one head. Rows are queries, columns are keys, row 0 is at the top.

    One heatmap trace per stage first, in order; ``trace.meta["stage"]`` is its name, ``trace.meta["block"]`` the tokens
    per cell, as (rows, columns). Up to 64 tokens ``trace.z`` is the float32 value; above, a colour in 255 steps; above
    128 tokens a cell is the value of largest magnitude of a block. The figure says which.

    Args:
        stages: name of ``STAGES`` -> (q_len, k_len) float, any values; all of one shape.
        query_tokens: q_len strings, any content.
        key_tokens: k_len strings.
        selected: (query, key) to be framed in every map.
        allowed: bool, broadcastable: the mask that was applied, True = may attend.
        intended: bool, broadcastable: the mask that was meant, where it differs.
        padded_queries: one bool per query, True = padding; striped, label dimmed.
        padded_keys: the same for the keys.
        columns: maps beside each other.
        width: expected width in pixels, for spacing only; the figure stretches.
        words: the words on the figure. None: English.
        revision: goes to ``layout.meta``.

    Raises:
        TypeError: if a mask is not bool.
        ValueError: if shapes do not fit, or a stage is unknown.
        IndexError: if there is no such cell.
    """
    words = words or FigureWords()
    names, values = _checked(stages)
    q_len, k_len = values[0].shape
    queries = check_tokens("query", query_tokens, q_len, "row")
    keys = check_tokens("key", key_tokens, k_len, "column")
    allowed = check_mask("allowed", allowed, (q_len, k_len))
    intended = check_mask("intended", intended, (q_len, k_len))
    pad_q = check_padding("padded_queries", padded_queries, q_len)
    pad_k = check_padding("padded_keys", padded_keys, k_len)
    if selected is not None:
        for name, index, size in zip(("query", "key"), selected, (q_len, k_len), strict=True):
            if not 0 <= index < size:
                raise IndexError(f"{name} must be one of {size}: got {index}")

    weights = values[names.index("weights")] if "weights" in names else None
    marks = [_marks(name, part, weights, allowed, intended) for name, part in zip(names, values, strict=True)]
    block = (ceil(q_len / MOST_TOKENS), ceil(k_len / MOST_TOKENS))
    exact = max(q_len, k_len) <= EXACT_TOKENS
    pooled = block != (1, 1)
    if pooled:
        values = [scales.pool(part, *block, signed=True) for part in values]
        marks = [part.pooled(*block) for part in marks]
        pad_q = ~scales.pool(~pad_q[:, None], block[0], 1)[:, 0]
        pad_k = ~scales.pool(~pad_k[None, :], 1, block[1])[0]
    rows, cells = values[0].shape

    x_axis = token_axis(keys, dimmed=pad_k, block=block[1])
    y_axis = token_axis(queries, dimmed=pad_q, block=block[0])
    size = theme.SMALL_TICK_SIZE
    left = 24 + label_width(y_axis.categories, size=size)
    bottom = 26 + label_width(x_axis.categories, size=size)
    across = min(columns, len(names))
    down = ceil(len(names) / across)
    paper_width = max(160, width - left - 8)
    map_width = max(60, paper_width / across - _BAR)
    cell_x = map_width / cells
    map_height = round(min(max(rows * min(cell_x, 34.0), 90), 300))
    cell_y = map_height / rows
    glyphs = min(cell_x, cell_y) >= 6
    step_x, step_y = (max(1, ceil(10 / c)) for c in (cell_x, cell_y))

    present: set[str] = set().union(*(part.present() for part in marks))
    entries = legend_entries(
        present if glyphs else present - {"zero", "tiny"}, padding=bool(pad_q.any() or pad_k.any()), words=words
    )
    notes = [words.thinning(step_y if rows > 1 else 1, step_x if cells > 1 else 1)]
    if pooled:
        notes.append(words.pooled.format(rows=block[0], columns=block[1]))
    if not exact:
        notes.append(words.colour_steps)
    if not glyphs and present & {"zero", "tiny"}:
        notes.append(words.marks_hidden)
    heading, top = theme.heading("", notes, width=width)
    top += legend_height(entries, width=width - left - 60) + 6
    paper_height = down * (map_height + _ABOVE)

    layout: dict = {
        "title": heading,
        "showlegend": bool(entries),
        "legend": theme.legend(y=1.0, pixels=paper_height),
        "images": [],
        "shapes": [],
        "annotations": [],
    }
    data: list[dict] = []
    grey: list[dict] = []
    for number, (name, part, own) in enumerate(zip(names, values, marks, strict=True)):
        row, column = divmod(number, across)
        x, y = _axis("x", column), _axis("y", row)
        start = column / across
        end = start + map_width / paper_width
        above = 1 - (row * (map_height + _ABOVE) + _ABOVE) / paper_height
        coloured = _coloured(name, part, words)
        axis = coloured.axis
        z = coloured.z
        if not exact:
            z = _in_steps(z, axis)
        axis["colorbar"] |= {"x": end, "xpad": 4, "y": above, "thickness": 7, "len": min(map_height, 120)}
        axis["colorbar"]["tickfont"] = {"size": 9}
        layout[_axis("coloraxis", number)] = axis
        place = {"x0": 0, "dx": 1, "y0": 0, "dy": 1, "xaxis": x, "yaxis": y}
        hover = f"<b>{escape(_word(name, words))}</b><br>{escape(words.query)} %{{y}}<br>{escape(words.key)} %{{x}}"
        template = f"{hover}<br>{{value}}<extra></extra>"
        data.append(
            {
                "type": "heatmap",
                "z": z,
                "coloraxis": _axis("coloraxis", number),
                "hovertemplate": (
                    template.replace("{value}", f"%{{z{NUMBER}}}") if exact else f"{hover}<extra></extra>"
                ),
                "hoverongaps": False,
                "meta": {"stage": name, "block": list(block)},
                "name": escape(_word(name, words)),
                **place,
            }
        )
        if exact:
            grey += unplaced(part, coloured.z, place=place, template=template, hovertext=None, words=words)
        image = overlay(
            [(0, 0, own)], width=cells, height=rows, cell=min(cell_x, cell_y), glyphs=glyphs,
            padded=[(0, int(i), cells, 1) for i in np.flatnonzero(pad_q)]
            + [(int(j), 0, 1, rows) for j in np.flatnonzero(pad_k)],
        )  # fmt: skip
        if image:
            layout["images"].append(image | {"xref": x, "yref": y})
        layout["annotations"].append(
            {
                "text": f"<b>{escape(_word(name, words))}</b>", "xref": "paper", "yref": "paper",
                "x": start, "y": above, "xanchor": "left", "yanchor": "bottom", "showarrow": False,
                "font": {"size": theme.FONT_SIZE},
            }
        )  # fmt: skip
        if selected is not None:
            at_q, at_k = selected[0] // block[0], selected[1] // block[1]
            layout["shapes"] += [
                {
                    "type": "rect", "x0": at_k - 0.5, "x1": at_k + 0.5, "y0": at_q - 0.5, "y1": at_q + 0.5,
                    "xref": x, "yref": y, "line": line, "layer": "above", "name": "selected",
                }
                for line in (_HALO, _LINE)
            ]  # fmt: skip
        lowest = row == down - 1 or number + across >= len(names)
        if lowest:
            layout[_axis("xaxis", column)] = theme.token_axis_layout(
                x_axis, step_x, cells=cells, size=size, title=words.columns if column == 0 else "", angle=-90
            ) | {"domain": [start, end], "anchor": y}  # fmt: skip
        if column == 0:
            layout[_axis("yaxis", row)] = theme.token_axis_layout(
                y_axis, step_y, cells=rows, size=size, title=words.rows if row == 0 else "", reverse=True
            ) | {"domain": [max(0.0, above - map_height / paper_height), above], "anchor": "x"}  # fmt: skip
    margin = {"l": left, "r": 8, "t": top, "b": bottom}
    height = paper_height + top + bottom
    return theme.figure([*data, *grey, *entries], layout, height=height, margin=margin, revision=revision)


def _checked(stages: Mapping[str, np.ndarray]) -> tuple[list[str], list[np.ndarray]]:
    if not stages:
        raise ValueError("need at least one stage: got none")
    unknown = [name for name in stages if name not in STAGES]
    if unknown:
        raise ValueError(f"stages must be among {', '.join(STAGES)}: got {unknown[0]!r}")
    values = [np.asarray(part, dtype=np.float32) for part in stages.values()]
    shape = values[0].shape
    if len(shape) != 2 or 0 in shape:
        raise ValueError(f"a stage must be (q_len, k_len), neither of them 0: got {shape}; choose one head")
    for name, part in zip(stages, values, strict=True):
        if part.shape != shape:
            raise ValueError(f"stages need one shape: got {shape} and {part.shape} ({name})")
    return list(stages), values


def _axis(kind: str, number: int) -> str:
    return kind if number == 0 else f"{kind}{number + 1}"


def _word(name: str, words: FigureWords) -> str:
    return words.weight if name == "weights" else getattr(words, name)


def _marks(name: str, values: np.ndarray, weights: np.ndarray | None, allowed, intended) -> CellMarks:
    """Marks of what is shown: leaks from the weights, zero and tiny where they mean something."""
    shown = classify(values, allowed=allowed, intended=intended)
    nobody = np.zeros(values.shape, bool)
    if name == "weights":
        return shown
    leak = nobody if weights is None else classify(weights, allowed=allowed, intended=intended).leak
    if name == "weighted":
        return replace(shown, leak=leak)
    hidden = shown.neg_inf & shown.forbidden if name == "logits" else nobody
    return replace(shown, leak=leak, zero=nobody, tiny=nobody, neg_inf=shown.neg_inf & ~hidden)


def _coloured(name: str, values: np.ndarray, words: FigureWords) -> scales.Coloured:
    if name == "weights":
        return scales.colour_weights(values, scale="fixed", words=words)
    if name in _SIGNED:
        return scales.colour_signed(values, stage=_word(name, words), words=words)
    return scales.colour_length(values, name=_word(name, words), words=words)


def _in_steps(z: np.ndarray, axis: dict) -> np.ndarray:
    """Colours as whole numbers, uint8; the axis follows. What has no number becomes the last one, in grey."""
    low, high = axis["cmin"], axis["cmax"]
    share = np.clip((z - low) / (high - low), 0, 1)
    steps = np.where(np.isnan(z), _NO_NUMBER, np.rint(np.nan_to_num(share) * STEPS)).astype(np.uint8)
    bar = axis["colorbar"]
    bar["ticktext"] = bar.get("ticktext") or [f"{value:g}" for value in bar["tickvals"]]
    bar["tickvals"] = [(value - low) / (high - low) * STEPS for value in bar["tickvals"]]
    edge = STEPS / _NO_NUMBER
    stops = [[stop * edge, colour] for stop, colour in axis["colorscale"]]
    axis |= {"cmin": 0, "cmax": _NO_NUMBER}
    axis["colorscale"] = [*stops, [edge + 1e-4, theme.NEUTRAL], [1, theme.NEUTRAL]]
    return steps
