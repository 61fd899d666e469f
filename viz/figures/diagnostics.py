"""Numbers per head: score variance against theory, scores before and after scaling, entropy, saturation.

    from viz.figures.diagnostics import entropy_and_top_weight
    entropy_and_top_weight(entropy, top_weight).show()      # one number per head each

Every function takes one number per head; NaN is written as "n/a", never drawn as 0.
"""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from viz.figures import theme
from viz.figures.labels import escape, invisible
from viz.figures.words import FigureWords

_HEIGHT = 250
_BINS = 48
_NARROW = 340  # a phone in pixels


def variance_per_head(
    raw_measured: np.ndarray,
    raw_theory: np.ndarray,
    scaled_measured: np.ndarray,
    scaled_theory: np.ndarray,
    *,
    scaled_on: bool = True,
    heads: Sequence[str] | None = None,
    title: str = "",
    width: int = 520,
    words: FigureWords | None = None,
    revision: str | int | None = None,
) -> go.Figure:
    """Variance of raw and of scaled scores per head, measured (filled) and in theory (open), on a log axis.

    With scaling off the raw points turn vermilion, since they are what softmax gets, the scaled ones fade, and a
    sentence gives both medians.

    Args:
        raw_measured: (heads,) float, variance of the scores.
        raw_theory: (heads,) float.
        scaled_measured: (heads,) float, variance of the scores times the model's own factor.
        scaled_theory: (heads,) float.
        scaled_on: False where the run left out the scaling.
        heads: names. None: "Head 0", ...
        title: plain text.
        width: expected width in pixels, for spacing only.
        words: the words on the figure. None: English.
        revision: goes to ``layout.meta``.

    Raises:
        ValueError: if there is not one number per head everywhere.
    """
    words = words or FigureWords()
    series = [np.asarray(array, dtype=float) for array in (raw_measured, raw_theory, scaled_measured, scaled_theory)]
    names = _categories(heads, series, words)
    raw_colour = theme.ACCENT_DEEP if scaled_on else theme.LEAK
    looks = (
        (words.raw_measured if scaled_on else words.unscaled_input, raw_colour, "circle", 1.0),
        (words.raw_theory, raw_colour, "circle-open", 1.0),
        (words.scaled_measured, theme.ACCENT, "diamond", 1.0 if scaled_on else 0.4),
        (words.scaled_theory, theme.ACCENT, "diamond-open", 1.0 if scaled_on else 0.4),
    )
    data = [
        _points(values, names, name=name, colour=colour, symbol=symbol, opacity=opacity, positive=True)
        for values, (name, colour, symbol, opacity) in zip(series, looks, strict=True)
    ]
    usable = np.concatenate([values[np.isfinite(values) & (values > 0)] for values in series])
    low, high = (float(usable.min()), float(usable.max())) if usable.size else (1.0, 1.0)
    span = [np.log10(min(low, 1.0)) - 0.35, np.log10(max(high, 1.0)) + 0.25]
    missing = _missing(series, names, words, y=10 ** (span[0] + 0.12), positive=True)
    notes = []
    if not scaled_on:
        got, would = _median(series[0]), _median(series[2])
        if got is not None and would is not None:
            notes = [words.scaling_off.format(value=f"{got:.3g}"), words.scaling_would.format(scaled=f"{would:.3g}")]
    layout = {
        "xaxis": _head_axis(names, words),
        "yaxis": _value_axis(words.variance_axis)
        | {"type": "log", "range": span, "dtick": 1, "exponentformat": "power"},
        "shapes": [_level(1.0)],
        "annotations": [_level_name(0.0, words.unit_variance)],  # on a log axis annotations count in powers of 10
    }
    return _finish(data + missing, layout, title=title, notes=notes, width=width, revision=revision, warn=not scaled_on)


def score_histogram(
    before: np.ndarray,
    after: np.ndarray,
    *,
    scaled_on: bool = True,
    title: str = "",
    width: int = 520,
    words: FigureWords | None = None,
    revision: str | int | None = None,
) -> go.Figure:
    """Distribution of scores before and after scaling, as densities over 48 bins each.

    Args:
        before: raw scores of the pairs that count, any shape; what is not finite is left out and counted in a note.
        after: the same times the model's own factor.
        scaled_on: False where the run left out the scaling: the raw scores turn vermilion, the scaled ones fade.
        title: plain text.
        width: expected width in pixels, for spacing only.
        words: the words on the figure. None: English.
        revision: goes to ``layout.meta``.
    """
    words = words or FigureWords()
    data, left_out = [], 0
    looks = (
        (
            before,
            words.before_scaling if scaled_on else words.unscaled_input,
            theme.ACCENT_DEEP if scaled_on else theme.LEAK,
            1.0,
        ),
        (after, words.after_scaling, theme.ACCENT, 1.0 if scaled_on else 0.35),
    )
    for values, name, colour, opacity in looks:
        flat = np.asarray(values, dtype=float).ravel()
        finite = flat[np.isfinite(flat)]
        left_out += flat.size - finite.size
        if finite.size:
            data.append(_steps(finite, name=name, colour=colour, opacity=opacity))
    notes = [words.left_out.format(count=left_out)] if left_out else []
    layout = {
        "xaxis": _value_axis(words.score_axis) | {"zeroline": True, "zerolinecolor": theme.GRID_LINE},
        "yaxis": _value_axis(words.density_axis) | {"rangemode": "tozero", "nticks": 4},
    }
    if not data:
        notes.append(words.no_values)
    return _finish(data, layout, title=title, notes=notes, width=width, revision=revision)


def entropy_and_top_weight(
    entropy: np.ndarray,
    top_weight: np.ndarray,
    *,
    entropy_nats: np.ndarray | None = None,
    heads: Sequence[str] | None = None,
    title: str = "",
    width: int = 520,
    words: FigureWords | None = None,
    revision: str | int | None = None,
) -> go.Figure:
    """Entropy (as a share of its maximum) and top weight per head, both from 0 to 1.

    Args:
        entropy: (heads,) float in [0, 1]: entropy / log(number of allowed keys), mean over queries.
        top_weight: (heads,) float in [0, 1]: largest weight of a row, mean over queries.
        entropy_nats: (heads,) float, for hover. None: not shown.
        heads: names. None: "Head 0", ...
        title: plain text.
        width: expected width in pixels, for spacing only.
        words: the words on the figure. None: English.
        revision: goes to ``layout.meta``.

    Raises:
        ValueError: if there is not one number per head everywhere.
    """
    words = words or FigureWords()
    series = [np.asarray(entropy, dtype=float), np.asarray(top_weight, dtype=float)]
    if entropy_nats is not None:
        series.append(np.asarray(entropy_nats, dtype=float))
    names = _categories(heads, series, words)
    first = _points(series[0], names, name=words.entropy_normalised, colour=theme.ACCENT, symbol="circle")
    if entropy_nats is not None:
        first["customdata"] = _present(series[0], series[2])
        nats = escape(words.entropy_nats).replace("{value}", "%{customdata:.4~g}")
        first["hovertemplate"] = first["hovertemplate"].replace("<extra>", f"<br>{nats}<extra>")
    second = _points(series[1], names, name=words.top_weight, colour=theme.ACCENT_DEEP, symbol="diamond-open")
    layout = {
        "xaxis": _head_axis(names, words),
        "yaxis": _value_axis(words.entropy_axis) | {"range": [-0.06, 1.06], "tickvals": [0, 0.25, 0.5, 0.75, 1]},
    }
    missing = _missing(series[:2], names, words, y=0.0)
    return _finish([first, second, *missing], layout, title=title, notes=[], width=width, revision=revision)


def saturation_per_head(
    saturation: np.ndarray,
    *,
    heads: Sequence[str] | None = None,
    title: str = "",
    width: int = 520,
    words: FigureWords | None = None,
    revision: str | int | None = None,
) -> go.Figure:
    """Share of queries whose top weight exceeds 0.99, per head; vermilion from one half on.

    Args:
        saturation: (heads,) float in [0, 1].
        heads: names. None: "Head 0", ...
        title: plain text.
        width: expected width in pixels, for spacing only.
        words: the words on the figure. None: English.
        revision: goes to ``layout.meta``.
    """
    words = words or FigureWords()
    values = np.asarray(saturation, dtype=float)
    names = _categories(heads, [values], words)
    keep = np.isfinite(values)
    shown = values[keep].tolist()
    bars = {
        "type": "bar",
        "x": [name for name, kept in zip(names, keep, strict=True) if kept],
        "y": shown,
        "name": escape(words.saturation),
        "marker": {"color": [theme.LEAK if value >= 0.5 else theme.ACCENT for value in shown], "line": {"width": 0}},
        "hovertemplate": f"<b>%{{x}}</b><br>{escape(words.saturation)}: %{{y:.4~g}}<extra></extra>",
        "showlegend": False,
    }
    layout = {
        "xaxis": _head_axis(names, words),
        "yaxis": _value_axis(words.saturation_axis) | {"range": [0, 1.04], "tickvals": [0, 0.5, 1]},
        "bargap": 0.35,
    }
    missing = _missing([values], names, words, y=0.04)
    return _finish([bars, *missing], layout, title=title, notes=[], width=width, revision=revision)


def _categories(heads: Sequence[str] | None, series: list[np.ndarray], words: FigureWords) -> list[str]:
    """One unique, escaped category per head."""
    count = series[0].shape[0] if series[0].ndim == 1 else -1
    shapes = [array.shape for array in series]
    if any(shape != (count,) for shape in shapes):
        raise ValueError(f"need one number per head in every series: got shapes {', '.join(map(str, shapes))}")
    names = [words.head.format(index=i) for i in range(count)] if heads is None else [str(name) for name in heads]
    if len(names) != count:
        raise ValueError(f"need one name per head: got {len(names)} for {count}; pass heads=None for numbers")
    repeated = len(set(names)) < count
    return [escape(name) + (invisible(i) if repeated else "") for i, name in enumerate(names)]


def _present(values: np.ndarray, what: np.ndarray, positive: bool = False) -> list[float]:
    """The entries of ``what`` whose value can be drawn, as finite numbers."""
    keep = np.isfinite(values) & (values > 0) if positive else np.isfinite(values)
    return np.nan_to_num(what[keep], nan=0.0, posinf=0.0, neginf=0.0).tolist()


def _points(
    values, names, *, name: str, colour: str, symbol: str, opacity: float = 1.0, positive: bool = False
) -> dict:
    keep = np.isfinite(values) & (values > 0) if positive else np.isfinite(values)
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [head for head, kept in zip(names, keep, strict=True) if kept],
        "y": _present(values, values, positive),
        "name": escape(name),
        "opacity": opacity,
        "marker": {"color": colour, "symbol": symbol, "size": 9, "line": {"width": 1.6, "color": colour}},
        "hovertemplate": f"<b>%{{x}}</b><br>{escape(name)}: %{{y:.6~g}}<extra></extra>",
    }


def _missing(
    series: list[np.ndarray], names: list[str], words: FigureWords, *, y: float, positive: bool = False
) -> list[dict]:
    """Writes n/a at every head for which some number cannot be drawn."""
    absent = np.zeros(len(names), bool)
    for values in series:
        absent |= ~np.isfinite(values) | ((values <= 0) if positive else False)
    if not absent.any():
        return []
    return [
        {
            "type": "scatter",
            "mode": "text",
            "x": [name for name, gone in zip(names, absent, strict=True) if gone],
            "y": [y] * int(absent.sum()),
            "text": [escape(words.not_available)] * int(absent.sum()),
            "textfont": {"size": 10, "color": theme.NEUTRAL},
            "hoverinfo": "skip",
            "showlegend": False,
            "meta": {"layer": "not available"},
        }
    ]


def _steps(finite: np.ndarray, *, name: str, colour: str, opacity: float) -> dict:
    low, high = float(finite.min()), float(finite.max())
    if low == high:
        low, high = low - 0.5, high + 0.5
    density, edges = np.histogram(finite, bins=_BINS, range=(low, high), density=True)
    y = np.concatenate(([0.0], density, [0.0]))
    x = np.concatenate(([edges[0]], edges))
    variance = float(finite.var())
    return {
        "type": "scatter",
        "mode": "lines",
        "x": x.astype(np.float32),
        "y": y.astype(np.float32),
        "line": {"shape": "hv", "color": colour, "width": 1.6},
        "fill": "tozeroy",
        "opacity": opacity,
        "name": escape(name),
        "meta": {"variance": variance},
        "hovertemplate": f"{escape(name)}<br>%{{x:.3~g}}: %{{y:.3~g}}<extra></extra>",
    }


def _median(values: np.ndarray) -> float | None:
    finite = values[np.isfinite(values)]
    return float(np.median(finite)) if finite.size else None


def _head_axis(names: list[str], words: FigureWords) -> dict:
    many = len(names) > 16
    return {
        "type": "category",
        "categoryorder": "array",
        "categoryarray": names,
        "range": [-0.6, len(names) - 0.4],
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
        "tickfont": {"size": theme.TICK_SIZE},
        "tickmode": "linear",
        "tick0": 0,
        "dtick": max(1, -(-len(names) // 24)),
        "tickangle": -90 if many else -45 if len(names) > 6 else 0,
        "automargin": False,
    }


def _value_axis(title: str) -> dict:
    return {
        "title": {"text": escape(title), "standoff": 6, "font": {"size": 11}},
        "gridcolor": theme.GRID_LINE,
        "zeroline": False,
        "ticks": "",
        "tickfont": {"size": theme.TICK_SIZE},
        "automargin": False,
    }


def _level(y: float) -> dict:
    line = {"color": theme.NEUTRAL, "width": 1, "dash": "dot"}
    return {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": y, "y1": y, "line": line, "layer": "below"}


def _level_name(y: float, text: str) -> dict:
    return {
        "xref": "paper",
        "x": 1,
        "xanchor": "right",
        "y": y,
        "yanchor": "top",
        "text": escape(text),
        "showarrow": False,
        "font": {"size": 10, "color": theme.NEUTRAL},
    }


def _finish(
    data: list[dict], layout: dict, *, title: str, notes: list[str], width: int, revision, warn: bool = False
) -> go.Figure:
    # A warning stands below, on lines short enough for a phone: legends grow upwards there, over whatever is on top.
    below, deep = {}, 0
    if warn and notes and not title:
        below, deep = theme.heading("", notes, width=_NARROW, colour=theme.LEAK)
    heading, top = theme.heading(title, [] if deep else notes, width=width, colour=theme.LEAK if warn else None)
    named = [trace["name"] for trace in data if trace.get("showlegend", True)]
    rows = -(-sum(44 + int(6.2 * len(name)) for name in named) // max(1, width - 70)) if named else 0
    top += 20 * rows + 4
    bottom = 62 + deep
    layout |= {
        "title": below | {"y": 0, "yanchor": "bottom", "pad": {"b": 6, "l": 4}} if deep else heading,
        "showlegend": bool(named),
        "legend": theme.legend(y=1.0, pixels=_HEIGHT - 60),
    }
    margin = {"l": 56, "r": 12, "t": top, "b": bottom}
    return theme.figure(data, layout, height=_HEIGHT - 60 + top + bottom, margin=margin, revision=revision)
