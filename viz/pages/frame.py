"""What stands around every page: name, language, and a calm end for whatever goes wrong inside."""

import functools
import logging
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, ParamSpec

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from viz.services.startup import prepare_process
from viz.text import DEFAULT_LANGUAGE, LANGUAGES, follow_language, language_of_locale, t

_ASSETS = Path(__file__).resolve().parents[2] / "assets"
_LANGUAGE = "frame_language"  # state of the switch: a code
_SHARED = "frame_language_shared"  # True once the link should carry the language
_PARAMETER = "lang"
_PRESENTING = "frame_presenting"  # True while the page is shown to a class
_PRESENT = "present"
_AT_HOME = "frame_at_home"  # True once the visitor has been where the app starts
_PAGES = "frame_pages"  # the pages of this run by name, for ``go``

Parameters = ParamSpec("Parameters")

_log = logging.getLogger("headscope")


@dataclass(frozen=True)
class Page:
    """One page of the app.

    Attributes:
        name: its address and the prefix of its texts; ``<name>.title`` is what the navigation shows.
        render: draws it, with neither arguments nor result.
        keeps: keys of the state that outlive a visit to another page; Streamlit forgets those of widgets.
        home: a visitor who comes to the bare address is taken here, instead of staying on the first page.
    """

    name: str
    render: Callable[[], None]
    keeps: tuple[str, ...] = ()
    home: bool = False


def show(pages: Sequence[Page]) -> None:
    """Draws the frame and, inside it, the page that the address names; the first one has the bare address."""
    prepare_process()
    follow_language(_language_of_session)
    _settle_language()
    _settle_presenting()
    _keep([_LANGUAGE, *(key for page in pages for key in page.keeps)])  # ``go`` would forget the language too
    st.set_page_config(
        page_title=t("frame.name"),
        page_icon=str(_ASSETS / "icon.svg"),
        layout="wide",
        menu_items={"About": t("frame.about")},
    )
    st.html(_ASSETS / "styles" / "frame.css")
    if presenting():
        st.html(_ASSETS / "styles" / "present.css")
    known = {
        page.name: st.Page(page.render, title=t(f"{page.name}.title"), url_path=page.name, default=page is pages[0])
        for page in pages
    }
    st.session_state[_PAGES] = known
    chosen = st.navigation(list(known.values()), position="top")
    _take_home(pages, chosen is known[pages[0].name])
    _header()
    calm(chosen.run)()


def _take_home(pages: Sequence[Page], bare: bool) -> None:
    """Once per visitor: from the bare address to the page that is home, which keeps an address of its own."""
    if st.session_state.get(_AT_HOME):
        return
    st.session_state[_AT_HOME] = True
    home = next((page.name for page in pages if page.home), None)
    if bare and home is not None and home != pages[0].name:
        go(home)


def go(name: str) -> NoReturn:
    """Ends this run and opens another page of ``show``; the link starts anew there."""
    st.switch_page(st.session_state[_PAGES][name])


def presenting() -> bool:
    """Whether the page is shown to a class: large letters, nothing beside the matter."""
    return bool(st.session_state.get(_PRESENTING))


def calm(draw: Callable[Parameters, None]) -> Callable[Parameters, None]:
    """Wraps ``draw`` so that a fault inside ends in a message with a reference, and its trace in the server's log.

    Every page is drawn through it. Fragments and callbacks run without the frame and need it for themselves, below
    ``st.fragment``.
    """

    @functools.wraps(draw)
    def drawn(*args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
        try:
            draw(*args, **kwargs)
        except Exception:  # every fault of a page ends here; Streamlit's own signals are no Exceptions
            reference = secrets.token_hex(4)
            _log.exception("drawing failed, reference %s", reference)
            st.error(t("frame.failed") + "\n\n" + t("frame.failed_detail", reference=reference))

    return drawn


def _header() -> None:
    with st.container(
        key="frame_header", horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"
    ):
        st.markdown(f"# {t('frame.name')}\n\n{t('frame.line')}", width="content")
        with st.container(horizontal=True, width="content", vertical_alignment="center", gap="small"):
            name = "leave" if presenting() else "present"
            st.button(
                t(f"frame.{name}"),
                key="frame_present",
                help=t(f"frame.{name}_help"),
                shortcut="Esc" if presenting() else None,
                type="tertiary",
                icon=":material/close_fullscreen:" if presenting() else ":material/slideshow:",
                on_click=_present,
                args=(not presenting(),),
            )
            st.segmented_control(
                t("frame.language"),
                list(LANGUAGES),
                format_func=LANGUAGES.__getitem__,
                key=_LANGUAGE,
                required=True,
                label_visibility="collapsed",
                on_change=_share_language,
                width="content",
            )


def _keep(keys: Sequence[str]) -> None:
    """Writes values back where they stand: what is written is no longer a widget's alone."""
    for key in keys:
        if key in st.session_state:
            st.session_state[key] = st.session_state[key]


def _settle_language() -> None:
    """Chooses the language of a new visitor (link, else browser), and keeps a chosen one in the link.

    Going to another page empties the link, so it is written again here.
    """
    linked = st.query_params.get(_PARAMETER)
    if st.session_state.get(_LANGUAGE) not in LANGUAGES:
        st.session_state[_SHARED] = linked in LANGUAGES
        from_link = linked if linked in LANGUAGES else None
        st.session_state[_LANGUAGE] = from_link or language_of_locale(st.context.locale) or DEFAULT_LANGUAGE
    code = st.session_state[_LANGUAGE]
    if st.session_state.get(_SHARED) and linked != code:
        st.query_params[_PARAMETER] = code


def _settle_presenting() -> None:
    """Follows the link of a new visitor, and keeps it in the link from page to page."""
    linked = st.query_params.get(_PRESENT)
    if _PRESENTING not in st.session_state:
        st.session_state[_PRESENTING] = linked == "1"
    if presenting() and linked != "1":
        st.query_params[_PRESENT] = "1"
    elif not presenting() and linked is not None:
        del st.query_params[_PRESENT]


def _present(on: bool) -> None:
    st.session_state[_PRESENTING] = on


def _share_language() -> None:
    st.session_state[_SHARED] = True


def _language_of_session() -> str | None:
    if get_script_run_ctx(suppress_warning=True) is None:
        return None
    return st.session_state.get(_LANGUAGE)
