"""Maps that stand beside each other start at the same height, and their legends have room on a narrow screen."""

from collections.abc import Sequence

import plotly.graph_objects as go

_ROW = 19  # pixels of one row of a legend
_IN_ONE_ROW = 1  # entries that a phone shows beside each other


def levelled(figures: Sequence[go.Figure]) -> list[go.Figure]:
    """Gives figures one top margin, that of the one which needs most; the plots keep their height.

    A narrow screen sets the entries of a legend below each other, upwards from the plot, so room is added for those.

    Args:
        figures: at least one, each with a fixed ``layout.height`` and top margin; they are changed and returned.
    """
    parts = [figure.to_plotly_json() for figure in figures]
    entries = max(sum(bool(trace.get("showlegend")) for trace in part["data"]) for part in parts)
    tops = [part["layout"]["margin"]["t"] for part in parts]
    top = max(tops) + _ROW * max(0, entries - _IN_ONE_ROW)
    for figure, part, own in zip(figures, parts, tops, strict=True):
        figure.update_layout({"height": part["layout"]["height"] + top - own, "margin": {"t": top}})
    return list(figures)
