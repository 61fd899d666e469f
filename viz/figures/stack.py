"""Several small figures as one: a browser draws one figure of two panels faster than two figures."""

from collections.abc import Sequence

import plotly.graph_objects as go

_AXIS_REFERENCES = ("xref", "yref")


def stacked(figures: Sequence[go.Figure], *, revision: str | int | None = None) -> go.Figure:
    """Figures of one plot each, below each other in one figure; each keeps its height, margins, legend and title.

    Args:
        figures: at least one; each with a fixed ``layout.height`` and margins, one x axis and one y axis.
        revision: goes to ``layout.meta``.

    Returns:
        One figure, as high as all of them together.

    Raises:
        ValueError: if there is no figure.
    """
    if not figures:
        raise ValueError("need at least one figure to stack: got none")
    parts = [figure.to_plotly_json() for figure in figures]
    layouts = [part["layout"] for part in parts]
    heights = [layout["height"] for layout in layouts]
    margins = [layout["margin"] for layout in layouts]
    top, bottom = margins[0]["t"], margins[-1]["b"]
    paper = sum(heights) - top - bottom  # pixels between the outermost margins

    data: list[dict] = []
    layout = {name: value for name, value in layouts[0].items() if name not in ("xaxis", "yaxis", "legend", "title")}
    layout |= {
        "height": sum(heights),
        "margin": margins[0] | {"b": bottom, "l": max(m["l"] for m in margins), "r": max(m["r"] for m in margins)},
        "meta": revision,
        "shapes": [],
        "annotations": [],
        "showlegend": True,
    }
    above = -top  # pixels from the top of the paper to the top of the panel
    for number, (part, own, height, margin) in enumerate(zip(parts, layouts, heights, margins, strict=True), start=1):
        name = "" if number == 1 else str(number)
        high = 1 - (above + margin["t"]) / paper
        low = 1 - (above + height - margin["b"]) / paper

        def place(y: float, low: float = low, high: float = high) -> float:
            return low + y * (high - low)

        hidden = {} if own.get("showlegend", True) else {"showlegend": False}
        for trace in part["data"]:
            data.append({**trace, "xaxis": f"x{name}", "yaxis": f"y{name}", "legend": f"legend{name}", **hidden})
        layout[f"xaxis{name}"] = own.get("xaxis", {}) | {"anchor": f"y{name}"}
        layout[f"yaxis{name}"] = own.get("yaxis", {}) | {"anchor": f"x{name}", "domain": [low, high]}
        if "legend" in own:
            layout[f"legend{name}"] = own["legend"] | {"y": place(own["legend"].get("y", 1))}
        for kind in ("shapes", "annotations"):
            layout[kind] += [_moved(item, name, place) for item in own.get(kind, ())]
        edges = (1 - above / paper, 1 - (above + height) / paper)
        layout["annotations"] += _title(own.get("title", {}), *edges, left=layout["margin"]["l"])
        above += height
    return go.Figure({"data": data, "layout": layout})


def _moved(item: dict, name: str, place) -> dict:
    """A shape or annotation of one panel, on the axes and at the height where the panel went."""
    moved = dict(item)
    for reference in _AXIS_REFERENCES:
        axis = reference[0]
        if item.get(reference, axis) == axis:
            moved[reference] = f"{axis}{name}"
        elif reference == "yref":  # the paper was the panel's own
            moved |= {part: place(item[part]) for part in ("y", "y0", "y1") if part in item}
    return moved


def _title(title: dict, high: float, low: float, *, left: int) -> list[dict]:
    """A figure's title as an annotation at the top or the bottom of its panel."""
    if not title.get("text"):
        return []
    at_top = title.get("yanchor", "top") == "top"
    pad = title.get("pad", {})
    return [
        {
            "text": title["text"],
            "font": title.get("font", {}),
            "xref": "paper",
            "x": 0,
            "xanchor": "left",
            "xshift": pad.get("l", 0) - left,
            "yref": "paper",
            "y": high if at_top else low,
            "yanchor": "top" if at_top else "bottom",
            "yshift": -pad.get("t", 0) if at_top else pad.get("b", 0),
            "align": "left",
            "showarrow": False,
        }
    ]
