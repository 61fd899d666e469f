"""Worked examples on the explore page: chosen with one click, and told in one sentence while they stand."""

import streamlit as st

from viz.pages import explore_state as state
from viz.pages.explore_sent import receive_settings
from viz.pages.explore_state import SETTINGS, get
from viz.services.worked_examples import Worked, worked_examples
from viz.text import t

_PREFIX = "worked:"
_CHOSEN = state.PREFIX + "worked"  # id of the example that was chosen last


def options() -> list[str]:
    """Codes for the chooser of examples."""
    return [_PREFIX + example.id for example in worked_examples()]


def is_worked(code: str) -> bool:
    """True for a code of ``options``."""
    return code.startswith(_PREFIX)


def title(code: str) -> str:
    """What the chooser says."""
    example = _example(code)
    return t("worked.option", title=t(f"worked.{example.id}"), source=example.source)


def use(code: str) -> None:
    """Puts text, switches and view in place; in a callback."""
    example = _example(code)
    receive_settings(example.settings)
    st.session_state[_CHOSEN] = example.id


def tell() -> None:
    """What the example shows, while every setting is as it put them."""
    chosen = st.session_state.get(_CHOSEN)
    example = next((one for one in worked_examples() if one.id == chosen), None)
    if example is None:
        return
    if all(get(name) == SETTINGS[name].parse(text) for name, text in example.settings.items()):
        st.info(t(f"worked.{example.id}_shows", **example.values), icon=":material/lightbulb:")


def _example(code: str) -> Worked:
    return next(one for one in worked_examples() if one.id == code.removeprefix(_PREFIX))
