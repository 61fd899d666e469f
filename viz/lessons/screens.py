"""A lesson cut into screens, for who shows it to a class: one live part, one question or one thought at a time."""

import re
from unicodedata import east_asian_width

from viz.lessons.words import Slot, Words

SHORT = 330  # half-width columns: a text up to it may stand above what it introduces


def screens(made: Words) -> tuple[tuple[str | Slot, ...], ...]:
    """What stands on each screen, in order; every piece of the lesson on exactly one.

    A heading begins a screen, a part or a question ends one, and has one to itself unless a short text leads to it.

    >>> [len(one) for one in screens(Words("Title", ("Short.", Slot("part", "a"), Slot("question", "b"), "End.")))]
    [2, 1, 1]
    """
    found: list[tuple[str | Slot, ...]] = []
    waiting: str | None = None
    for block in made.blocks:
        if isinstance(block, Slot):
            found.append((block,) if waiting is None else (waiting, block))
            waiting = None
            continue
        *before, last = (piece.strip() for piece in re.split(r"^(?=## )", block, flags=re.MULTILINE) if piece.strip())
        found += [(piece,) for piece in before]
        if _is_short(last):
            waiting = last
        else:
            found.append((last,))
    return tuple(found if waiting is None else [*found, (waiting,)])


def _is_short(text: str) -> bool:
    return "$$" not in text and sum(2 if east_asian_width(sign) in "WF" else 1 for sign in text) <= SHORT
