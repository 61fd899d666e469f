"""Views that Plotly cannot draw: they run in the browser, and pointing at a token asks nothing of the server."""
