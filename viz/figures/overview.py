"""All heads of all layers in one figure: a thumbnail each, or one number each as a colour.

from viz.figures import head_overview
head_overview(weights).show()      # weights: (layers, heads, q_len, k_len)
"""

from collections.abc import Sequence
from math import ceil

import numpy as np
import plotly.graph_objects as go

from viz.figures import theme
from viz.figures.cells import legend_entries, legend_height
from viz.figures.labels import escape
from viz.figures.marks import CellMarks, overlay
from viz.figures.raster import data_uri, palette_png, ramp
from viz.figures.scales import pool
from viz.figures.words import FigureWords

THUMBNAIL = 48  # most cells along a side of a thumbnail
LEVELS = 120  # colours of the scale in the picture; 240 of 256 codes, once bright, once dimmed
FORBIDDEN, BROKEN, GAP = 2 * LEVELS, 2 * LEVELS + 1, 2 * LEVELS + 2
_GROUND = np.array([128, 130, 136])  # what padding is dimmed towards
_GREY, _VEIL = "rgba(150,152,158,0.35)", "rgba(128,128,128,0.55)"
_SHARP = 64  # pixels of a thumbnail that small maps are enlarged to
_BORDER = 0.06  # of a cell, between thumbnail and its edge


def head_overview(
    weights: Sequence[np.ndarray] | np.ndarray,
    *,
    block: tuple[int, int] = (1, 1),
    forbidden: Sequence[np.ndarray] | np.ndarray | None = None,
    padded_queries: Sequence[bool] | np.ndarray | None = None,
    padded_keys: Sequence[bool] | np.ndarray | None = None,
    layers: Sequence[int] | None = None,
    leaks: np.ndarray | None = None,
    broken: np.ndarray | None = None,
    off: np.ndarray | None = None,
    faded: np.ndarray | None = None,
    hover: Sequence[Sequence[str]] | None = None,
    clickable: bool = False,
    title: str = "",
    width: int = 1040,
    words: FigureWords | None = None,
    revision: str | int | None = None,
) -> go.Figure:
    """A thumbnail of every head: rows are layers, columns are heads, layer 0 at the top.

    One picture, drawn here, lies under one transparent point per head, which carries the hover text and takes clicks
    (``customdata``: row, head). In a thumbnail rows are queries and columns keys. The colour is the square root of the
    weight on the fixed range 0 to 1, so that small weights are seen; the figure says so. Maps of more than 48 tokens
    are pooled to the largest weight of each block, and the figure says that.

    Args:
        weights: (layers, heads, q_len, k_len) float, or one (heads, q_len, k_len) array per layer where layers have
            different numbers of heads.
        block: what a cell of ``weights`` stands for, in tokens, where they come pooled.
        forbidden: bool, one (heads or 1, q_len, k_len) array per layer: not to be read. Drawn grey where the weight is
            exactly 0. None: not known.
        padded_queries: one bool per row of a thumbnail, True = padding; dimmed.
        padded_keys: one bool per column.
        layers: number of each row. None: 0, 1, ...
        leaks: (layers, heads) number of forbidden cells with weight; heads with any are outlined.
        broken: (layers, heads) bool, some weight is not a number; marked. None: what is seen in ``weights``.
        off: (layers, heads) bool, heads that are switched off; veiled.
        faded: (layers, heads) bool, heads that a filter leaves out; veiled too.
        hover: per layer and head, plain text, lines parted by newlines. None: layer and head.
        clickable: hover says that a click opens the head.
        title: plain text.
        width: expected width in pixels, for spacing only; the figure stretches.
        words: the words on the figure. None: English.
        revision: goes to ``layout.meta``.

    Raises:
        ValueError: if shapes do not fit.
    """
    words = words or FigureWords()
    maps = [np.asarray(layer, dtype=np.float32) for layer in weights]
    if not maps or any(layer.ndim != 3 or layer.shape[1:] != maps[0].shape[1:] or 0 in layer.shape for layer in maps):
        raise ValueError(
            "weights must be one (heads, q_len, k_len) array per layer, of one q_len and k_len, none of them 0: got "
            f"{[layer.shape for layer in maps]}"
        )
    q_len, k_len = maps[0].shape[1:]
    masks = [np.zeros((1, q_len, k_len), bool)] * len(maps) if forbidden is None else [np.asarray(m) for m in forbidden]
    if len(masks) != len(maps):
        raise ValueError(f"forbidden must have one mask per layer: got {len(masks)} for {len(maps)}")
    masks = [np.broadcast_to(mask, layer.shape) for mask, layer in zip(masks, maps, strict=True)]
    pad_q = np.zeros(q_len, bool) if padded_queries is None else np.asarray(padded_queries, bool)
    pad_k = np.zeros(k_len, bool) if padded_keys is None else np.asarray(padded_keys, bool)
    if pad_q.shape != (q_len,) or pad_k.shape != (k_len,):
        raise ValueError(
            f"padding must be one bool per row ({q_len}) and column ({k_len}): got {pad_q.shape}, {pad_k.shape}"
        )
    more = ceil(q_len / THUMBNAIL), ceil(k_len / THUMBNAIL)
    if more != (1, 1):
        maps = [pool(layer, *more) for layer in maps]
        masks = [~pool(~mask, *more) for mask in masks]
        pad_q = ~pool(~pad_q[:, None], more[0], 1)[:, 0]
        pad_k = ~pool(~pad_k[None, :], 1, more[1])[0]
        block = block[0] * more[0], block[1] * more[1]
    widest = max(len(layer) for layer in maps)
    seen = np.zeros((len(maps), widest), bool)
    for row, layer in enumerate(maps):
        seen[row, : len(layer)] = ~np.isfinite(layer).all(axis=(1, 2))
    present = np.array([[head < len(layer) for head in range(widest)] for layer in maps])
    notes = [words.overview_scale]
    if block != (1, 1):
        notes.append(words.overview_pooled.format(rows=block[0], columns=block[1]))
    dimmed = pad_q[:, None] | pad_k
    tiles = [
        [_tile(values, mask, dimmed) for values, mask in zip(layer, layer_masks, strict=True)]
        for layer, layer_masks in zip(maps, masks, strict=True)
    ]
    picture = {
        "source": data_uri(palette_png(_sheet(tiles, widest), _palette())),
        "xref": "x",
        "yref": "y",
        "x": -0.5,
        "y": -0.5,
        "sizex": widest,
        "sizey": len(maps),
        "sizing": "stretch",
        "xanchor": "left",
        "yanchor": "top",
        "layer": "below",
    }
    ticks = [0, 0.01, 0.1, 0.25, 0.5, 1]
    bar = theme.COLOUR_BAR | {
        "tickvals": [value**0.5 for value in ticks],
        "ticktext": [f"{value:g}" for value in ticks],
    }
    axis = {"cmin": 0, "cmax": 1, "colorscale": theme.colorscale(theme.SEQUENTIAL), "colorbar": bar}
    scale = {"type": "scatter", "x": [None], "y": [None], "mode": "markers", "hoverinfo": "skip", "showlegend": False}
    scale["marker"] = {"color": [0], "coloraxis": "coloraxis"}
    grey = any(bool((mask & (values == 0)).any()) for values, mask in zip(maps, masks, strict=True))
    legend = [(words.legend_not_allowed, _GREY)] if grey else []
    return _grid(
        [scale], axis, [picture], present=present, layers=layers, leaks=leaks,
        broken=seen if broken is None else np.asarray(broken), off=off, faded=faded, hover=hover, clickable=clickable,
        title=title, notes=notes, legend=legend, padding=bool(dimmed.any()), width=width, words=words,
        revision=revision,
    )  # fmt: skip


def number_overview(
    numbers: np.ndarray,
    *,
    name: str,
    low: float = 0.0,
    high: float | None = None,
    layers: Sequence[int | str] | None = None,
    leaks: np.ndarray | None = None,
    broken: np.ndarray | None = None,
    off: np.ndarray | None = None,
    faded: np.ndarray | None = None,
    hover: Sequence[Sequence[str]] | None = None,
    clickable: bool = False,
    title: str = "",
    width: int = 1040,
    words: FigureWords | None = None,
    revision: str | int | None = None,
) -> go.Figure:
    """One number per head as a colour: rows are layers, columns are heads, layer 0 at the top.

    Args:
        numbers: (layers, heads) float; NaN where a head has none, left blank.
        name: what the number is, plain text.
        low: end of the colour range.
        high: the other end. None: the largest finite number; the figure says the range.
        layers: number or name of each row, as in ``head_overview``.
        leaks: (layers, heads), as there.
        broken: (layers, heads) bool, some weight is not a number; marked. None: none.
        off: (layers, heads) bool, as there.
        faded: (layers, heads) bool, as there.
        hover: as there.
        clickable: as there.
        title: plain text.
        width: expected width in pixels, for spacing only; the figure stretches.
        words: the words on the figure. None: English.
        revision: goes to ``layout.meta``.

    Raises:
        ValueError: if ``numbers`` is not (layers, heads).
    """
    words = words or FigureWords()
    numbers = np.asarray(numbers, dtype=np.float32)
    if numbers.ndim != 2 or 0 in numbers.shape:
        raise ValueError(f"numbers must be (layers, heads), neither of them 0: got {numbers.shape}")
    finite = numbers[np.isfinite(numbers)]
    top = high if high is not None else max(float(finite.max(initial=low)), low + 1e-6)
    axis = {
        "cmin": low,
        "cmax": top,
        "colorscale": theme.colorscale(theme.SEQUENTIAL),
        "colorbar": dict(theme.COLOUR_BAR),
    }
    rows, columns = numbers.shape
    shown = np.where(np.isfinite(numbers), numbers, np.float32(np.nan))
    heat = {
        "type": "heatmap", "z": shown, "x0": 0, "dx": 1, "y0": 0, "dy": 1, "xgap": 2, "ygap": 2,
        "coloraxis": "coloraxis", "hoverinfo": "skip", "meta": {"layer": "numbers"},
    }  # fmt: skip
    data = [heat]
    blank = np.isnan(shown)
    if blank.any():
        grey = np.where(blank, np.float32(1), np.float32(np.nan))
        data.append(
            heat | {"z": grey, "colorscale": theme.flat(theme.NEUTRAL), "zmin": 0, "zmax": 1, "showscale": False,
                    "opacity": 0.35, "coloraxis": None, "meta": {"layer": "none"}}
        )  # fmt: skip
    notes = [words.overview_number.format(name=name, low=f"{low:g}", high=f"{top:.3g}")]
    if blank.any():
        notes.append(words.overview_blank)
    return _grid(
        data, axis, [], present=np.ones((rows, columns), bool), layers=layers, leaks=leaks,
        broken=np.zeros((rows, columns), bool) if broken is None else np.asarray(broken), off=off, faded=faded,
        hover=hover, clickable=clickable, title=title, notes=notes, legend=[], padding=False, width=width,
        words=words, revision=revision,
    )  # fmt: skip


def _grid(
    data: list[dict], axis: dict, images: list[dict], *, present: np.ndarray, layers: Sequence[int | str] | None,
    leaks: np.ndarray | None, broken: np.ndarray, off: np.ndarray | None, faded: np.ndarray | None,
    hover: Sequence[Sequence[str]] | None, clickable: bool, title: str, notes: list[str], legend: list[tuple[str, str]],
    padding: bool, width: int, words: FigureWords, revision: str | int | None,
) -> go.Figure:  # fmt: skip
    """Axes, marks, points and legend that both kinds of overview share."""
    rows, columns = present.shape
    numbers = list(range(rows)) if layers is None else list(layers)
    if len(numbers) != rows:
        raise ValueError(f"layers must name each row: got {len(numbers)} for {rows}")
    leaking = np.zeros((rows, columns), bool) if leaks is None else np.asarray(leaks) > 0
    dark = np.zeros((rows, columns), bool) if off is None else np.asarray(off, bool)
    away = np.zeros((rows, columns), bool) if faded is None else np.asarray(faded, bool)
    for name, array in (("leaks", leaking), ("broken", broken), ("off", dark), ("faded", away)):
        if array.shape != (rows, columns):
            raise ValueError(f"{name} must be (layers, heads) = {(rows, columns)}: got {array.shape}")

    left, right = 64 if all(isinstance(name, int) for name in numbers) else 118, 62
    cell_x = max(18.0, (width - left - right) / columns)
    cell_y = max(min(cell_x, 900 / rows, 92.0), 24.0)
    nothing = np.zeros((1, 1), bool)
    tiles = []
    for row, head in np.argwhere(leaking | broken):
        marks = CellMarks(
            forbidden=nothing, leak=leaking[row : row + 1, head : head + 1], blocked=nothing, zero=nothing,
            tiny=nothing, nan=broken[row : row + 1, head : head + 1], pos_inf=nothing, neg_inf=nothing,
        )  # fmt: skip
        tiles.append((int(head), int(row), marks))
    veiled = [(int(head), int(row), 1, 1) for row, head in np.argwhere(dark | away)]
    image = overlay(tiles, width=columns, height=rows, cell=min(cell_x, cell_y), veiled=veiled)
    found = {name for name, array in (("leak", leaking), ("nan", broken)) if array.any()}
    swatches = legend + [
        (name, _VEIL) for name, array in ((words.legend_off, dark), (words.legend_faded, away)) if array.any()
    ]
    entries = [_swatch(name, colour) for name, colour in swatches]
    entries += legend_entries(found, padding=padding, words=words)
    plot_height = round(rows * cell_y)
    heading, top = theme.heading(title, notes, width=width)
    top += legend_height(entries, width=width - left - right) + 6
    axis["colorbar"]["len"] = max(60, min(180, plot_height))
    points = _points(present, numbers, hover, clickable=clickable, cell=min(cell_x, cell_y), words=words)
    font = {"size": theme.TICK_SIZE}
    small = {"size": 11}
    layout = {
        "title": heading,
        "coloraxis": axis,
        "showlegend": bool(entries),
        "legend": theme.legend(y=1.0, pixels=plot_height),
        "images": [*images, *([image] if image else [])],
        "hoverdistance": ceil(max(cell_x, cell_y)),
        "xaxis": {
            "range": [-0.5, columns - 0.5], "tickvals": list(range(0, columns, max(1, ceil(20 / cell_x)))),
            "zeroline": False, "showgrid": False, "tickfont": font, "fixedrange": True,
            "title": {"text": escape(words.overview_columns), "standoff": 4, "font": small},
        },
        "yaxis": {
            "range": [rows - 0.5, -0.5], "tickvals": list(range(rows)), "ticktext": [str(n) for n in numbers],
            "zeroline": False, "showgrid": False, "tickfont": font, "fixedrange": True,
            "title": {"text": escape(words.overview_rows), "standoff": 4, "font": small},
        },
    }  # fmt: skip
    margin = {"l": left, "r": right, "t": top, "b": 44}
    return theme.figure(
        [*data, points, *entries], layout, height=plot_height + top + 44, margin=margin, revision=revision
    )


def _points(
    present: np.ndarray, layers: Sequence[int | str], hover: Sequence[Sequence[str]] | None, *, clickable: bool,
    cell: float, words: FigureWords,
) -> dict:  # fmt: skip
    """One transparent square per head: hover and click."""
    places = [(int(row), int(head)) for row, head in np.argwhere(present)]
    texts = []
    for row, head in places:
        name = words.overview_head.format(layer=layers[row], head=head)
        more = "" if hover is None else "<br>".join(escape(line) for line in hover[row][head].splitlines())
        texts.append(f"<b>{escape(name)}</b>" + (f"<br>{more}" if more else ""))
    clear, chosen = "rgba(0,0,0,0)", theme.ACCENT
    ending = f"<br>{escape(words.enlarge)}" if clickable else ""
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [head for _, head in places],
        "y": [row for row, _ in places],
        "text": texts,
        "customdata": [list(place) for place in places],
        "marker": {"symbol": "square", "size": round(0.9 * cell), "color": clear},
        "selected": {"marker": {"color": chosen, "opacity": 0.45}},
        "unselected": {"marker": {"color": clear, "opacity": 0}},
        "hovertemplate": f"%{{text}}{ending}<extra></extra>",
        "showlegend": False,
        "name": "heads",
        "meta": {"layer": "heads"},
    }


def _tile(values: np.ndarray, forbidden: np.ndarray, dimmed: np.ndarray) -> np.ndarray:
    """Codes of one thumbnail, enlarged where it is small."""
    clean = np.clip(np.nan_to_num(values, nan=0.0, posinf=1.0, neginf=0.0), 0, 1)
    codes = np.rint(np.sqrt(clean) * (LEVELS - 1)).astype(np.uint8)
    codes[(clean > 0) & (codes == 0)] = 1  # no weight that is not 0 looks like 0
    codes[dimmed] += LEVELS
    codes[forbidden & (values == 0)] = FORBIDDEN
    codes[~np.isfinite(values)] = BROKEN
    rows, columns = codes.shape
    return codes.repeat(max(1, round(_SHARP / rows)), axis=0).repeat(max(1, round(_SHARP / columns)), axis=1)


def _sheet(tiles: list[list[np.ndarray]], widest: int) -> np.ndarray:
    """All thumbnails side by side, with gaps between them."""
    height, width = tiles[0][0].shape
    gap_y, gap_x = max(1, round(_BORDER * height)), max(1, round(_BORDER * width))
    step_y, step_x = height + 2 * gap_y, width + 2 * gap_x
    sheet = np.full((len(tiles) * step_y, widest * step_x), GAP, np.uint8)
    for row, line in enumerate(tiles):
        for head, tile in enumerate(line):
            y, x = row * step_y + gap_y, head * step_x + gap_x
            sheet[y : y + height, x : x + width] = tile
    return sheet


def _palette() -> np.ndarray:
    bright = ramp(theme.SEQUENTIAL, LEVELS).astype(np.float64)
    colours = [*bright, *(0.3 * bright + 0.7 * _GROUND), (150, 152, 158), (123, 128, 138), (0, 0, 0)]
    palette = np.full((len(colours), 4), 255, np.uint8)
    palette[:, :3] = np.rint(np.array(colours)).astype(np.uint8)
    palette[FORBIDDEN, 3] = 90
    palette[GAP, 3] = 0
    return palette


def _swatch(name: str, colour: str) -> dict:
    return {
        "type": "bar", "name": escape(name), "marker": {"color": colour}, "x": [None], "y": [None],
        "hoverinfo": "skip", "showlegend": True,
    }  # fmt: skip
