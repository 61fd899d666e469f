"""The foot of the explore page: pictures, numbers and code of what is shown, to take along."""

import streamlit as st

from viz.pages import charts, take_away
from viz.pages.explore_state import PREFIX, bounded, get, key
from viz.services.attention import Request, revision
from viz.services.export_tables import table_csv, tables_json, tables_npz
from viz.services.exports import as_csv, as_json, as_npz
from viz.services.python_code import as_python
from viz.services.views import CallView
from viz.text import t


def begin() -> None:
    """Before the first chart of the page."""
    take_away.begin(PREFIX)


def draw(request: Request, shown: CallView, told: tuple[str, ...]) -> None:
    """The fold: each chart as a picture and as a page, the numbers of the view, the code, the link.

    Args:
        request: what was run.
        shown: the call and sample on the page.
        told: lines that say what was run, for the heads of exported pages.
    """
    st.header(t("take.title"))
    st.toggle(t("take.open"), key=key("take_away_open"), help=t("take.open_help"))
    if not take_away.opened(PREFIX):
        return
    st.subheader(t("take.pictures"))
    take_away.pictures(PREFIX, told)
    st.subheader(t("take.numbers"))
    offered = charts.offered()
    if offered is None:
        code = _of_layer(request, shown)
    else:
        st.caption(t(f"take.numbers_{offered.view}"))
        _of_view(offered)
        code = offered.code()
    st.subheader(t("take.python"))
    st.caption(t("take.python_note"))
    st.code(code, language="python")
    st.caption(t("take.link"))


def _of_layer(request: Request, shown: CallView) -> str:
    """All heads of the layer; the lines of Python."""
    head = bounded("head", shown.heads - 1)
    name = f"headscope_{shown.call.name}_{revision(request, shown.call.name, shown.sample)}"
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
    return as_python(request, shown, head=head, stage=str(get("stage")))


def _of_view(offered: charts.Offer) -> None:
    """What the view shows: all of it at once, and each table by itself."""
    numbers = offered.numbers()
    with st.container(horizontal=True):
        st.download_button(
            t("take.npz_view"), lambda: tables_npz(numbers), f"{numbers.name}.npz", key=key("take_npz"),
            on_click="ignore",
        )  # fmt: skip
        for table in numbers.tables:
            st.download_button(
                t("take.csv_view", table=t(f"take.table_{table.code}")),
                lambda table=table: table_csv(table), f"{numbers.name}_{table.code}.csv", "text/csv",
                key=key(f"take_csv_{table.code}"), on_click="ignore",
            )  # fmt: skip
        st.download_button(
            t("take.json_view"), lambda: tables_json(numbers), f"{numbers.name}.json", "application/json",
            key=key("take_json"), on_click="ignore",
        )  # fmt: skip
