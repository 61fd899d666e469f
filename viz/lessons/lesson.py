"""What a lesson is made of: switches, parts (live figures), questions, and where it leads. Data only, no drawing.

A lesson's settings live under the names of its switches; functions of a lesson get them as ``Values``, every number
inside the bounds of its switch. What a part shows is a list of ``Shown`` things, and the page draws them.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from viz.figures import Figure

Values = Mapping[str, Any]

# ---------------------------------------------------------------------------------------------------------------------
# switches; their words are lesson.<lesson>.<switch>, .help for the one-line help, .<code> for each code


@dataclass(frozen=True)
class Choice:
    """One of a few codes, side by side; numbers speak for themselves, codes have texts."""

    name: str
    codes: tuple[str | int | float, ...]
    default: str | int | float

    def parse(self, text: str) -> str | int | float:
        """The code that reads like this; ValueError where there is none."""
        for code in self.codes:
            if str(code) == text:
                return code
        raise ValueError(text)


@dataclass(frozen=True)
class Walk(Choice):
    """Codes in order, with a step back, a step forward (keys p and n) and a line that says where one is."""


@dataclass(frozen=True)
class Scale(Choice):
    """One of many numbers in order, on a slider."""


@dataclass(frozen=True)
class Span:
    """A number between two, both included, on a slider; whole where the step is."""

    name: str
    low: float
    high: float
    default: float
    step: float = 1

    def parse(self, text: str) -> float:
        """The number, which must lie on a step; ValueError otherwise."""
        number = type(self.step)(text)
        if not (math.isfinite(number) and self.low <= number <= self.high):
            raise ValueError(text)
        return number


@dataclass(frozen=True)
class Flag:
    """On or off."""

    name: str
    default: bool = False

    def parse(self, text: str) -> bool:
        """1 or 0; KeyError otherwise."""
        return {"1": True, "0": False}[text]


@dataclass(frozen=True)
class Sentence:
    """The learner's own text; the one to start with is ``lesson.<lesson>.<switch>.default``, in either language."""

    name: str
    default: str = ""

    def parse(self, text: str) -> str:
        """The text itself."""
        return text


@dataclass(frozen=True)
class Pick:
    """One of as many places as there are now, by number; ``labels`` says what they are called."""

    name: str
    labels: Callable[[Values], Sequence[str]]
    default: int = 0

    def parse(self, text: str) -> int:
        """A number that is not negative; ValueError otherwise."""
        if not 0 <= int(text) < 1000:
            raise ValueError(text)
        return int(text)


Switch = Choice | Span | Flag | Sentence | Pick

# ---------------------------------------------------------------------------------------------------------------------
# what a part shows


@dataclass(frozen=True, eq=False)
class Chart:
    """A figure. ``picks`` names the two ``Pick`` switches that a click on a cell sets (row, column)."""

    name: str
    figure: Figure
    alt: str
    picks: tuple[str, str] | None = None


@dataclass(frozen=True)
class Say:
    """Text in Markdown, already in the reader's language; ``kind`` is "text", "caption", "info" or "warning"."""

    text: str
    kind: str = "text"


@dataclass(frozen=True)
class Sum:
    """Arithmetic written out, in lines of plain text."""

    text: str


@dataclass(frozen=True)
class Table:
    """Named columns of equal length, cells as text."""

    columns: Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Beside:
    """Columns beside each other, below each other on a phone; ``widths`` are shares."""

    columns: tuple[tuple["Shown", ...], ...]
    widths: tuple[int, ...] = ()


@dataclass(frozen=True)
class Quiz:
    """A question among several that count together; the first answer to each is what counts.

    Attributes:
        name: of this one, unlike those of the others and of the lesson's questions.
        ask: the question.
        answers: code -> text, in order.
        whys: code -> why it is right, or why it is not.
        solutions: name -> right code, of all that count together.
        rest: shown once the right answer has been found.
    """

    name: str
    ask: str
    answers: Mapping[str, str]
    whys: Mapping[str, str]
    solutions: Mapping[str, str]
    rest: str = ""


Shown = Chart | Say | Sum | Table | Beside | Quiz


@dataclass(frozen=True)
class Part:
    """A live piece of a lesson.

    Attributes:
        name: its slot in the text.
        draw: settings -> what is shown; LessonError where a setting cannot be used.
        switches: drawn above it.
        after: name of the question to be answered first, "" for none; a button shows the part all the same.
    """

    name: str
    draw: Callable[[Values], Sequence[Shown]]
    switches: tuple[Switch, ...] = ()
    after: str = ""


class LessonError(ValueError):
    """A setting that a part cannot use; ``text`` is for the reader, in the reader's language."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


@dataclass(frozen=True)
class Asked:
    """A question with its answer, computed.

    Attributes:
        codes: the answers to choose from, in order.
        answer: the right one.
        values: numbers for the placeholders in the question's texts.
    """

    codes: tuple[str, ...]
    answer: str
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Question:
    """Predict, then reveal.

    Its texts are ``lesson.<lesson>.<question>.ask``, ``.<code>`` for each answer and ``.<code>.why``: for the right
    one why it is, for a wrong one why not.

    Attributes:
        name: its slot in the text.
        ask: computes the answer by the core when it is asked; cheap or cached.
    """

    name: str
    ask: Callable[[], Asked]


@dataclass(frozen=True)
class Destination:
    """Where a lesson leads: "explore" or "mask_lab", with these settings, as they would stand in that page's link.

    The button's text is ``lesson.<lesson>.go``. ``text`` is a key whose text goes into the text box, "" for none.
    """

    page: str
    settings: Mapping[str, str]
    text: str = ""


@dataclass(frozen=True)
class Lesson:
    """One lesson; its words are ``assets/lessons/<language>/<number>_<name>.md``."""

    number: int
    name: str
    parts: tuple[Part, ...]
    questions: tuple[Question, ...]
    leads_to: Destination

    @property
    def switches(self) -> tuple[Switch, ...]:
        """Those of all parts."""
        return tuple(switch for part in self.parts for switch in part.switches)

    def part(self, name: str) -> Part:
        """The part of that name."""
        return next(part for part in self.parts if part.name == name)

    def question(self, name: str) -> Question:
        """The question of that name."""
        return next(question for question in self.questions if question.name == name)


def nearest(measured: float, choices: Mapping[str, float]) -> str:
    """The code whose number is nearest to what was measured; by ratio, so all of them positive.

    >>> nearest(3.9, {"two": 2, "four": 4, "sixteen": 16})
    'four'
    """
    return min(choices, key=lambda code: abs(math.log(choices[code] / measured)))
