"""Texts of the explore page."""

TEXTS: dict[str, tuple[str, str]] = {
    "explore.title": ("Explore", "探索"),
}
