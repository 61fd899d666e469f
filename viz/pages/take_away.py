"""The foot of a page: its charts as pictures and as pages of their own, while somebody wants them."""

from collections.abc import Callable, Mapping

import streamlit as st

from viz.components.picture_buttons import picture_buttons
from viz.figures import standalone_html
from viz.pages import charts
from viz.text import language, t

_OPEN = "take_away_open"


def begin(prefix: str) -> None:
    """Before the first chart of a page; ``prefix`` stands before the keys of the page."""
    charts.start(remember=opened(prefix))


def opened(prefix: str) -> bool:
    """True while the fold is open: only then charts are remembered."""
    return bool(st.session_state.get(prefix + _OPEN))


def fold(prefix: str, told: tuple[str, ...] = ()) -> None:
    """The switch, and behind it each chart of the page; below the last chart.

    Args:
        prefix: as in ``begin``.
        told: lines that say what is shown, for the heads of exported pages.
    """
    st.divider()
    st.toggle(t("take.charts"), key=prefix + _OPEN, help=t("take.charts_help"))
    if opened(prefix):
        pictures(prefix, told)


def pictures(prefix: str, told: tuple[str, ...]) -> None:
    """Each remembered chart with its buttons."""
    found = charts.drawn()
    st.caption(t("take.pictures_note") if found else t("take.no_pictures"))
    for one in tuple(found.values()):
        name, buttons, page = st.columns([3, 2, 1], vertical_alignment="center")
        name.markdown(one.title)
        with buttons:
            picture_buttons(
                one.key,
                filename=one.key,
                words={name: t(f"take.{name}") for name in ("png", "svg", "gone")},
                key=f"{prefix}take_picture_{one.key}",
            )
        page.download_button(
            t("take.html"),
            _page(found, one.key, told, language()),
            f"{one.key}.html",
            "text/html",
            key=f"{prefix}take_html_{one.key}",
            on_click="ignore",
        )


def _page(found: Mapping[str, charts.Drawn], key: str, told: tuple[str, ...], code: str) -> Callable[[], str]:
    """Makes the page of a chart as it stands when it is asked for: a part of the page may have drawn it anew."""
    return lambda: standalone_html(found[key].figure, title=found[key].title, lines=told, language=code)
