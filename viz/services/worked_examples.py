"""Worked examples: a text, switches and a view at once, and the numbers that were measured there."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

_FILE = Path(__file__).resolve().parents[2] / "assets" / "examples" / "worked.json"


@dataclass(frozen=True, eq=False)
class Worked:
    """One example.

    Attributes:
        id: language-free code; its title is the text ``worked.<id>``, what it shows ``worked.<id>_shows``.
        source: the model.
        settings: of the explore page, as in its link.
        measure: what was measured: its kind, and what that needs.
        values: the numbers in what it shows, as measured.
    """

    id: str
    source: str
    settings: Mapping[str, str]
    measure: Mapping[str, Any]
    values: Mapping[str, float]


@cache
def worked_examples() -> tuple[Worked, ...]:
    """All worked examples in the order of the file."""
    entries = json.loads(_FILE.read_text(encoding="utf-8"))
    return tuple(
        Worked(e["id"], e["source"], {"source": e["source"], **e["settings"]}, e["measure"], e["values"])
        for e in entries
    )
