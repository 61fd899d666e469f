"""Buttons that save a chart of the page as a picture, made by the browser that drew it: no second renderer."""

from collections.abc import Mapping, Sequence

from viz.components.frames import component

FORMATS = ("png", "svg")
_mount = component("picture_buttons")


def picture_buttons(
    chart: str, *, filename: str, words: Mapping[str, str], key: str, formats: Sequence[str] = FORMATS
) -> None:
    """One button per format; a click downloads the chart as it stands, on the ground of the page.

    Args:
        chart: widget key of the chart on this page.
        filename: of the picture, without its ending.
        words: what the buttons say, by format, and "gone", said where the chart is no longer on the page.
        key: of the element.
        formats: of ``FORMATS``.

    Raises:
        KeyError: if a word is missing.
    """
    data = {
        "chart": chart,
        "filename": filename,
        "formats": [{"id": name, "label": words[name]} for name in formats],
        "gone": words["gone"],
    }
    _mount(data=data, key=key)
