"""Sizes, colours and marks of every figure: the one place where they are written down.

Backgrounds are transparent and the font colour is left to the page, so that a figure looks right in light and in dark.
"""

import plotly.graph_objects as go

from viz.figures.labels import TokenAxis, display_width, escape

# Lightness (Oklab L) rises evenly from 0.24 to 0.95 while the hue goes from indigo over teal to yellow: even steps for
# the eye, readable in grey, and without red against green.
SEQUENTIAL: tuple[str, ...] = (
    "#1e0d52",
    "#192566",
    "#013c77",
    "#00527b",
    "#006782",
    "#007c8a",
    "#059190",
    "#1ca791",
    "#54b98e",
    "#81c98b",
    "#abd889",
    "#d5e58c",
    "#fef295",
)
DIVERGING: tuple[str, ...] = (
    "#0b4a8f",
    "#2f77b5",
    "#6fa6cf",
    "#b3cfe3",
    "#ececec",
    "#eac9a6",
    "#dc9a5d",
    "#bb6a24",
    "#7f3f05",
)
ACCENT = "#12909a"
ACCENT_DEEP = "#6b7fd6"  # raw scores beside scaled ones; reads on white and on near-black
NEUTRAL = "#7b808a"  # cells without a number, theory lines
LEAK = "#e2500a"  # vermilion
BLOCKED = "#f0a30a"  # amber
# Lines beside each other: at least 3 to 1 on white and on the dark page, apart for eyes that lack any kind of cone.
CURVES: tuple[str, ...] = (ACCENT, LEAK, "#7755cc", "#aa4455", "#aa77ff")
GRID_LINE = "rgba(128,128,128,0.22)"

TICK_SIZE = 10
SMALL_TICK_SIZE = 9
FONT_SIZE = 12
TITLE_SIZE = 15
TINY = 1e-6  # a weight below it and not 0 is marked as tiny

COLOUR_BAR = {"thickness": 9, "outlinewidth": 0, "x": 1.0, "xpad": 8, "ypad": 0, "tickfont": {"size": TICK_SIZE}}
COLOUR_BAR |= {"lenmode": "pixels", "len": 180, "y": 1, "yanchor": "top"}


def colorscale(colours: tuple[str, ...]) -> list[list]:
    """Evenly spaced stops in Plotly's form."""
    last = len(colours) - 1
    return [[i / last, colour] for i, colour in enumerate(colours)]


def flat(colour: str) -> list[list]:
    """A scale of one colour."""
    return [[0, colour], [1, colour]]


def heading(title: str, notes: list[str], *, width: int, colour: str | None = None) -> tuple[dict, int]:
    """Title and a smaller line of notes under it, wrapped to the width.

    Args:
        title: plain text, may be empty.
        notes: plain texts, joined by middle dots.
        width: expected width of the figure in pixels.
        colour: of the notes; None: the page's.

    Returns:
        Plotly's title settings, and the height in pixels that they need.
    """
    lines = wrap(notes, columns=max(24, int(width / 6.4)))
    small = "<br>".join(escape(line) for line in lines)
    height = (24 if title else 0) + 16 * len(lines)
    text = escape(title)
    look = f"color:{colour}" if colour else "opacity:0.8"
    if small:
        small = f'<span style="font-size:11.5px;font-weight:400;{look}">{small}</span>'
        text = f"{text}<br>{small}" if text else small
    settings = {
        "text": text,
        "x": 0,
        "xref": "container",
        "xanchor": "left",
        "y": 1,
        "yref": "container",
        "yanchor": "top",
        "pad": {"t": 22 if title else 14, "l": 4},
        "font": {"size": TITLE_SIZE if title else FONT_SIZE},
        "automargin": False,
    }
    return settings, height + 14


def wrap(parts: list[str], *, columns: int) -> list[str]:
    """Joins parts with middle dots into lines of at most ``columns`` half-width columns; a part is never broken."""
    lines: list[str] = []
    for part in filter(None, parts):
        if lines and display_width(lines[-1]) + 3 + display_width(part) <= columns:
            lines[-1] += " · " + part
        else:
            lines.append(part)
    return lines


def figure(data: list[dict], layout: dict, *, height: int, margin: dict, revision: str | int | None) -> go.Figure:
    """Builds the figure: transparent ground, fixed margins, ``layout.meta`` as the revision.

    One call on plain dicts: setting the parts one by one takes several times as long. The template stays the default
    one, which under Streamlit carries the colours of the page.
    """
    common = {
        "height": height,
        "margin": {"pad": 0, **margin},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"size": FONT_SIZE},
        "hovermode": "closest",
        "hoverlabel": {"font": {"size": FONT_SIZE}, "align": "left"},
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": "rgba(128,128,128,0.7)", "activecolor": ACCENT},
        "meta": revision,
    }
    return go.Figure({"data": data, "layout": common | layout})


def token_axis_layout(
    axis: TokenAxis, step: int, *, cells: int, size: float, title: str, angle: int | None = None, reverse: bool = False
) -> dict:
    """Settings of one axis of tokens.

    Args:
        axis: the categories.
        step: each ``step``-th place carries a tick.
        cells: length of the axis in places.
        size: of the tick font.
        title: plain text.
        angle: of the tick labels in degrees. None: horizontal.
        reverse: True puts place 0 at the top.
    """
    span = [-0.5, cells - 0.5]
    settings = axis.layout(step) | {
        "range": span[::-1] if reverse else span,
        "tickfont": {"size": size},
        "title": {"text": escape(title), "standoff": 4, "font": {"size": 11}},
    }
    return settings if angle is None else settings | {"tickangle": angle}


def legend(*, y: float, pixels: int) -> dict:
    """A legend in one row above the plot that cannot hide anything by a click."""
    return {
        "orientation": "h",
        "x": 0,
        "xanchor": "left",
        "y": y + 4 / max(pixels, 1),
        "yanchor": "bottom",
        "itemclick": False,
        "itemdoubleclick": False,
        "font": {"size": 11},
        "bgcolor": "rgba(0,0,0,0)",
        "tracegroupgap": 0,
    }
