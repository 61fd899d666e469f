"""A lesson on paper: one HTML file that opens and prints with the network off."""

from viz.handout.page import handout_html

__all__ = ["handout_html"]
