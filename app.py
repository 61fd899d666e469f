"""Headscope's list of pages. ``make run`` starts it; ``streamlit run app.py`` does so in a ready environment."""

from viz.pages import explore, frame

frame.show([frame.Page("explore", explore.render)])
