"""Example sentences: which there are, and which sources can read them."""

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
        sources: names of the sources that can read it.
        lines: each line is a sample of its own.
    """

    id: str
    text: str
    sources: tuple[str, ...]
    lines: bool = False


@cache
def examples() -> tuple[Example, ...]:
    """All examples in the order of the file."""
    entries = json.loads(_FILE.read_text(encoding="utf-8"))
    return tuple(Example(e["id"], e["text"], tuple(e["sources"]), e.get("lines", False)) for e in entries)
