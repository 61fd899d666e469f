"""The words of a lesson: a Markdown file per language, cut at its slots.

A slot is a line of its own, ``[[part NAME]]`` or ``[[question NAME]]``. The first line is the title, ``# Title``.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from viz.lessons.lesson import Lesson

_FOLDER = Path(__file__).resolve().parents[2] / "assets" / "lessons"
_SLOT = re.compile(r"^\[\[(part|question) (\w+)\]\]$")


@dataclass(frozen=True)
class Slot:
    """Where a part or a question stands; ``kind`` says which."""

    kind: str
    name: str


@dataclass(frozen=True)
class Words:
    """A lesson's title, and its text in pieces with slots between."""

    title: str
    blocks: tuple[str | Slot, ...]

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The slots in order."""
        return tuple(block for block in self.blocks if isinstance(block, Slot))


def words(lesson: Lesson, language: str) -> Words:
    """The words of a lesson in a language.

    Raises:
        FileNotFoundError: if the lesson has no file in that language.
        ValueError: if the title is missing, or a slot is unknown, stands twice or is missing.
    """
    return _read(lesson.number, lesson.name, language, _expected(lesson))


def parse(text: str, expected: frozenset[Slot]) -> Words:
    """Cuts a text at its slots; ValueError as in ``words``."""
    title, _, body = text.partition("\n")
    if not title.startswith("# "):
        raise ValueError(f"a lesson begins with its title, '# Title': got {title[:40]!r}")
    blocks: list[str | Slot] = []
    for line in body.splitlines():
        found = _SLOT.match(line)
        if found is not None:
            blocks.append(Slot(found[1], found[2]))
        elif blocks and isinstance(blocks[-1], str):
            blocks[-1] += f"\n{line}"
        else:
            blocks.append(line)
    trimmed = (block if isinstance(block, Slot) else block.strip() for block in blocks)
    made = Words(title.removeprefix("# ").strip(), tuple(block for block in trimmed if block))
    if len(set(made.slots)) != len(made.slots) or set(made.slots) != expected:
        wrong = sorted(f"{slot.kind} {slot.name}" for slot in set(made.slots) ^ expected)
        raise ValueError(f"a lesson's text has each slot of the lesson once: missing, unknown or twice: {wrong}")
    return made


def _expected(lesson: Lesson) -> frozenset[Slot]:
    parts = {Slot("part", part.name) for part in lesson.parts}
    return frozenset(parts | {Slot("question", question.name) for question in lesson.questions})


@cache
def _read(number: int, name: str, language: str, expected: frozenset[Slot]) -> Words:
    file = _FOLDER / language / f"{number:02d}_{name}.md"
    return parse(file.read_text(encoding="utf-8"), expected)
