"""Arrays in, Plotly figures out. No Streamlit, no torch, no state; three lines in a notebook.

from viz.figures import head_grid
head_grid(weights, query_tokens=tokens, key_tokens=tokens, allowed=mask).show()
"""

from viz.figures.grid import head_grid
from viz.figures.words import FigureWords

__all__ = ["FigureWords", "head_grid"]
