"""Settings sent here from another page: the mask lab opens with them; what was painted can be brought back."""

from collections.abc import Mapping

from viz.pages import mask_lab_state as state
from viz.pages.mask_lab_state import SETTINGS, put


def receive_settings(settings: Mapping[str, str]) -> None:
    """Sets the page to these settings, written as in its link, and to the defaults elsewhere; before it is drawn.

    Raises:
        KeyError, ValueError: if a setting or a value is unknown.
    """
    unknown = settings.keys() - SETTINGS.keys()
    if unknown:
        raise KeyError(f"the mask lab has no settings {sorted(unknown)}")
    for name, setting in SETTINGS.items():
        put(name, setting.parse(settings[name]) if name in settings else setting.default)
    state.clear()
