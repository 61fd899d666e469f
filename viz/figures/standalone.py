"""A figure as one page that needs nothing else: no network, no server, no other file."""

from html import escape

import plotly.graph_objects as go

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
    drawn = go.Figure(figure)
    drawn.update_layout(template="plotly_white", font={"color": "#1f2430"})
    chart = drawn.to_html(full_html=False, include_plotlyjs=True, include_mathjax=False, config=_CONFIG)
    said = "".join(f"<p>{escape(line)}</p>" for line in lines)
    return (
        f'<!doctype html><html lang="{escape(language)}"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>{escape(title)}</title><style>{_STYLE}</style>'
        f"</head><body><h1>{escape(title)}</h1>{said}<main>{chart}</main></body></html>"
    )
