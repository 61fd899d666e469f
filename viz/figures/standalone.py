"""A figure as one page that needs nothing else: no network, no server, no other file."""

from html import escape

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

_CONFIG = {
    "displaylogo": False,
    "responsive": True,
    "modeBarButtonsToRemove": ["sendChartToCloud", "lasso2d", "select2d", "autoScale2d"],
    "toImageButtonOptions": {"format": "svg", "filename": "headscope", "scale": 2},
}
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:1.5rem;background:#fff;color:#1f2430}"
    "h1{font-size:1.15rem;margin:0 0 .25rem}p{margin:.1rem 0;color:#555b66}main{margin-top:1rem;overflow-x:auto}"
)


def standalone_html(figure: go.Figure, *, title: str, lines: tuple[str, ...] = (), language: str = "en") -> str:
    """The figure with plotly.js inside (about 4.8 MB), as the text of an HTML file.

    Args:
        figure: any; it is not changed.
        title: plain text, heading and name of the page.
        lines: plain texts below the heading, as what was run and with which switches.
        language: code of the language of the texts.
    """
    chart = _on_white(figure).to_html(full_html=False, include_plotlyjs=True, include_mathjax=False, config=_CONFIG)
    said = "".join(f"<p>{escape(line)}</p>" for line in lines)
    return (
        f'<!doctype html><html lang="{escape(language)}"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>{escape(title)}</title><style>{_STYLE}</style>'
        f"</head><body><h1>{escape(title)}</h1>{said}<main>{chart}</main></body></html>"
    )


def plotly_script() -> str:
    """plotly.js as a script element (4.8 MB), once per page, above its ``figure_block``s."""
    return f"<script>{get_plotlyjs()}</script>"


def figure_block(figure: go.Figure, *, width: int) -> str:
    """A figure as HTML for a page of that width in pixels that holds ``plotly_script``; for white paper.

    The width is fixed: a figure that follows its window is redrawn while the page is being printed, too late.
    """
    drawn = _on_white(figure)
    drawn.update_layout(width=width, autosize=False)
    config = {"displayModeBar": False, "responsive": False}
    return drawn.to_html(full_html=False, include_plotlyjs=False, include_mathjax=False, config=config)


def _on_white(figure: go.Figure) -> go.Figure:
    drawn = go.Figure(figure)
    return drawn.update_layout(template="plotly_white", font={"color": "#1f2430"})
