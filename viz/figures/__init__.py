"""Arrays in, Plotly figures out. No Streamlit, no torch, no state; three lines in a notebook.

from viz.figures import head_grid
head_grid(weights, query_tokens=tokens, key_tokens=tokens, allowed=mask).show()
"""

from plotly.graph_objects import Figure

from viz.figures.diagnostics import entropy_and_top_weight, saturation_per_head, score_histogram, variance_per_head
from viz.figures.grid import head_grid
from viz.figures.head import head_heatmap
from viz.figures.overview import head_overview, number_overview
from viz.figures.stack import stacked
from viz.figures.standalone import standalone_html
from viz.figures.tables import head_table, matrix_table, received_by, sent_by
from viz.figures.words import FigureWords

__all__ = [
    "Figure",
    "FigureWords",
    "entropy_and_top_weight",
    "head_grid",
    "head_heatmap",
    "head_overview",
    "head_table",
    "matrix_table",
    "number_overview",
    "received_by",
    "saturation_per_head",
    "score_histogram",
    "sent_by",
    "stacked",
    "standalone_html",
    "variance_per_head",
]
