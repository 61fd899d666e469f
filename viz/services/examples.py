"""Example sentences: which there are, and which sources cannot read them."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FILE = Path(__file__).resolve().parents[2] / "assets" / "examples" / "sentences.json"


@dataclass(frozen=True)
class Example:
    """One example.

    Attributes:
        id: language-free code; its title is the text ``example.<id>``.
        text: the sentence; several lines are several samples where ``lines`` is set.
        unread_by: names of the sources that cannot read it: their tokens have no word for it.
        lines: each line is a sample of its own.
    """

    id: str
    text: str
    unread_by: tuple[str, ...] = ()
    lines: bool = False


@cache
def examples() -> tuple[Example, ...]:
    """All examples in the order of the file."""
    entries = json.loads(_FILE.read_text(encoding="utf-8"))
    return tuple(Example(e["id"], e["text"], tuple(e.get("unread_by", ())), e.get("lines", False)) for e in entries)
