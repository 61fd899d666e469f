"""The foot of the explore page: pictures, numbers and code of what is shown, to take along."""

import streamlit as st

from viz.components.picture_buttons import picture_buttons
from viz.figures import standalone_html
from viz.pages import charts
from viz.pages.explore_state import bounded, get, key
from viz.services.attention import Request, revision
from viz.services.exports import as_csv, as_json, as_npz
from viz.services.python_code import as_python
from viz.services.views import CallView
from viz.text import language, t


def opened() -> bool:
    """True while the fold is open: only then charts are remembered."""
    return bool(st.session_state.get(key("take_away_open")))


def draw(request: Request, shown: CallView, told: tuple[str, ...]) -> None:
    """The fold: each chart as a picture and as a page, the numbers of the layer, the code, the link.

    Args:
        request: what was run.
        shown: the call and sample on the page.
        told: lines that say what was run, for the heads of exported pages.
    """
    st.header(t("take.title"))
    st.toggle(t("take.open"), key=key("take_away_open"), help=t("take.open_help"))
    if not opened():
        return
    _pictures(told)
    head = bounded("head", shown.heads - 1)
    name = f"headscope_{shown.call.name}_{revision(request, shown.call.name, shown.sample)}"
    st.subheader(t("take.numbers"))
    st.caption(t("take.numbers_note", layer=shown.call.layer, heads=shown.heads, head=head))
    with st.container(horizontal=True):
        st.download_button(
            t("take.npz"), lambda: as_npz(request, shown), f"{name}.npz", key=key("take_npz"), on_click="ignore"
        )
        st.download_button(
            t("take.csv", head=head), lambda: as_csv(shown, head), f"{name}_head{head}.csv", "text/csv",
            key=key("take_csv"), on_click="ignore",
        )  # fmt: skip
        st.download_button(
            t("take.json"), lambda: as_json(request, shown), f"{name}.json", "application/json",
            key=key("take_json"), on_click="ignore",
        )  # fmt: skip
    st.subheader(t("take.python"))
    st.caption(t("take.python_note"))
    st.code(as_python(request, shown, head=head, stage=str(get("stage"))), language="python")
    st.caption(t("take.link"))


def _pictures(told: tuple[str, ...]) -> None:
    st.subheader(t("take.pictures"))
    found = charts.drawn()
    st.caption(t("take.pictures_note") if found else t("take.no_pictures"))
    for one in found:
        name, pictures, page = st.columns([3, 2, 1], vertical_alignment="center")
        name.markdown(one.title)
        with pictures:
            picture_buttons(
                one.key,
                filename=one.key,
                words={name: t(f"take.{name}") for name in ("png", "svg", "gone")},
                key=key(f"take_picture_{one.key}"),
            )
        page.download_button(
            t("take.html"),
            lambda one=one: standalone_html(one.figure, title=one.title, lines=told, language=language()),
            f"{one.key}.html",
            "text/html",
            key=key(f"take_html_{one.key}"),
            on_click="ignore",
        )
