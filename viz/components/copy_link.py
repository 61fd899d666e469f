"""A button that copies the address of the page as it stands when it is pressed."""

from collections.abc import Mapping

from viz.components.frames import component

WORDS = ("copy", "copied", "by_hand")
_mount = component("copy_link")


def copy_link(*, words: Mapping[str, str], key: str) -> None:
    """The button; what is copied is shown beside it, and marked for copying by hand where the browser forbids it.

    Args:
        words: ``WORDS``: on the button, after copying, where it did not work.
        key: of the element.

    Raises:
        KeyError: if a word is missing.
    """
    _mount(data={name: words[name] for name in WORDS}, key=key)
