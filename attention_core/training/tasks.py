"""Small tasks whose right attention is known: what goes in, what must come out, and where a head must look for it.

All examples are synthetic, drawn from a given generator. Every task has one length, so a batch needs no padding.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import torch
from torch import Tensor

IGNORED = -1  # a place of the targets that does not count


@dataclass(frozen=True, eq=False)
class Examples:
    """A batch of a task.

    Attributes:
        ids: (batch, len) int64 tokens.
        targets: (batch, len) int64, what the model must say at each place; ``IGNORED`` where nothing is asked.
        sources: (batch, len) int64, the key that holds the answer for each query; ``IGNORED`` where there is none.
    """

    ids: Tensor
    targets: Tensor
    sources: Tensor


class Task(ABC):
    """A task: its words, its length, and examples without end.

    Attributes:
        name: code.
        words: the token of each id.
        length: of every example, in tokens.
        causal: whether a model for it may only look back.
        classes: names of the answers; None means that the answers are tokens.
        goal: share of right answers that counts as learned.
    """

    name: str
    words: tuple[str, ...]
    length: int
    causal: bool = True
    classes: tuple[str, ...] | None = None
    goal: float = 0.95

    @abstractmethod
    def draw(self, batch: int, generator: torch.Generator) -> Examples:
        """A batch of new examples."""

    def labels(self, ids: Tensor) -> list[str]:
        """The tokens of one example, (len,)."""
        return [self.words[int(i)] for i in ids]


_LETTERS = tuple("abcdefghijklmnop")


class Copy(Task):
    """Letters, a bar, and the same letters again, or the other way round.

    At the bar and at each letter behind it the model says what comes next; the answer stands in front of the bar.
    """

    def __init__(self, *, letters: int = 8, backwards: bool = False) -> None:
        self.name = "reverse" if backwards else "copy"
        self.words = (*_LETTERS, "|")
        self.length = 2 * letters
        self._letters = letters
        self._backwards = backwards

    def draw(self, batch: int, generator: torch.Generator) -> Examples:
        """See ``Task.draw``."""
        n = self._letters
        given = torch.randint(len(_LETTERS), (batch, n), generator=generator)
        order = torch.arange(n).flip(0) if self._backwards else torch.arange(n)
        said = given[:, order]
        bar = torch.full((batch, 1), len(_LETTERS))
        ids = torch.cat([given, bar, said[:, :-1]], dim=1)  # the last answer need not be read
        targets, sources = torch.full_like(ids, IGNORED), torch.full_like(ids, IGNORED)
        targets[:, n:] = said
        sources[:, n:] = order
        return Examples(ids, targets, sources)


class Lookup(Task):
    """Pairs of a letter and a digit, then letters: the model says the digit of each, ``a 3 c 0 b 7 | b a c``."""

    name = "lookup"

    def __init__(self, *, pairs: int = 6) -> None:
        self.words = (*_LETTERS, *"0123456789", "|")
        self.length = 3 * pairs + 1
        self._pairs = pairs

    def draw(self, batch: int, generator: torch.Generator) -> Examples:
        """See ``Task.draw``."""
        n, letters = self._pairs, len(_LETTERS)
        keys = torch.rand(batch, letters, generator=generator).argsort(dim=1)[:, :n]
        values = letters + torch.randint(10, (batch, n), generator=generator)
        asked = torch.rand(batch, n, generator=generator).argsort(dim=1)
        pairs = torch.stack([keys, values], dim=2).flatten(1)  # (batch, 2 n)
        bar = torch.full((batch, 1), letters + 10)
        ids = torch.cat([pairs, bar, keys.gather(1, asked)], dim=1)
        targets, sources = torch.full_like(ids, IGNORED), torch.full_like(ids, IGNORED)
        targets[:, 2 * n + 1 :] = values.gather(1, asked)
        sources[:, 2 * n + 1 :] = 2 * asked + 1
        return Examples(ids, targets, sources)


class Induction(Task):
    """Letters without order, then a stretch of them again: the model says what followed last time.

    The stretch starts anywhere, so that no fixed distance helps. Its first letter cannot be known; from then on, at
    each letter the answer stands right behind its earlier place. All letters in front differ.
    """

    name = "induction"

    def __init__(self, *, letters: int = 12, repeated: int = 6) -> None:
        self.words = _LETTERS
        self.length = letters + repeated
        self._letters, self._repeated = letters, repeated

    def draw(self, batch: int, generator: torch.Generator) -> Examples:
        """See ``Task.draw``."""
        n, again = self._letters, self._repeated
        first = torch.rand(batch, len(_LETTERS), generator=generator).argsort(dim=1)[:, :n]
        start = torch.randint(n - again, (batch, 1), generator=generator)  # the letter behind the last is there too
        places = start + torch.arange(again)  # (batch, repeated)
        ids = torch.cat([first, first.gather(1, places)], dim=1)
        targets, sources = torch.full_like(ids, IGNORED), torch.full_like(ids, IGNORED)
        targets[:, n:] = first.gather(1, places + 1)
        sources[:, n:] = places + 1
        return Examples(ids, targets, sources)


class Brackets(Task):
    """Nested brackets of three kinds whose closing ones are all written ``)``: the model says which kind is closed."""

    name = "brackets"
    goal = 0.90

    def __init__(self, *, pairs: int = 6) -> None:
        self.words = ("(", "[", "{", ")")
        self.classes = (")", "]", "}")
        self.length = 2 * pairs
        self._pairs = pairs

    def draw(self, batch: int, generator: torch.Generator) -> Examples:
        """See ``Task.draw``."""
        n = self._pairs
        ids = torch.full((batch, 2 * n), 3)
        targets, sources = torch.full_like(ids, IGNORED), torch.full_like(ids, IGNORED)
        kinds = torch.randint(3, (batch, 2 * n), generator=generator)
        coins = torch.rand(batch, 2 * n, generator=generator)
        stack = torch.zeros(batch, n, dtype=torch.int64)  # places of the brackets that are open
        depth, opened = torch.zeros(batch, dtype=torch.int64), torch.zeros(batch, dtype=torch.int64)
        rows = torch.arange(batch)
        for place in range(2 * n):
            opens = (opened < n) & ((depth == 0) | (coins[:, place] < 0.5))
            top = stack[rows, (depth - 1).clamp(min=0)]
            closes = ~opens
            ids[opens, place] = kinds[opens, place]
            targets[closes, place] = ids[rows, top][closes]
            sources[closes, place] = top[closes]
            stack[rows[opens], depth[opens]] = place
            depth += opens.long() - closes.long()
            opened += opens.long()
        return Examples(ids, targets, sources)


class Sentiment(Task):
    """Short sentences about things, good or bad, some of them negated; an encoder says which at the first token.

    ``[CLS] the old film was not dull``: the word that judges decides, and "not" or "never" turns it round.
    """

    name = "sentiment"
    causal = False

    def __init__(self) -> None:
        good = ("good", "great", "lovely", "clever", "warm", "funny")
        bad = ("bad", "dull", "awful", "cold", "silly", "boring")
        nots, fillers = ("not", "never"), ("really", "just", "so", "quite")
        things, verbs = ("film", "book", "song", "meal", "play"), ("was", "is", "seemed")
        marks, sizes = ("the", "this", "that"), ("old", "new", "long", "short")
        self.words = ("[CLS]", *marks, *sizes, *things, *verbs, *nots, *fillers, *good, *bad, ".")
        self.classes = ("negative", "positive")
        self.length = 8
        self._groups = {
            name: torch.tensor([self.words.index(word) for word in group])
            for name, group in (
                ("mark", marks), ("size", sizes), ("thing", things), ("verb", verbs), ("not", nots),
                ("filler", fillers), ("good", good), ("bad", bad),
            )
        }  # fmt: skip

    def draw(self, batch: int, generator: torch.Generator) -> Examples:
        """See ``Task.draw``."""

        def any_of(group: str) -> Tensor:
            words = self._groups[group]
            return words[torch.randint(len(words), (batch,), generator=generator)]

        judged_good = torch.rand(batch, generator=generator) < 0.5
        negated = torch.rand(batch, generator=generator) < 0.5
        columns = [
            torch.zeros(batch, dtype=torch.int64),
            any_of("mark"),
            any_of("size"),
            any_of("thing"),
            any_of("verb"),
            torch.where(negated, any_of("not"), any_of("filler")),
            torch.where(judged_good, any_of("good"), any_of("bad")),
            torch.full((batch,), len(self.words) - 1),
        ]
        ids = torch.stack(columns, dim=1)
        targets, sources = torch.full_like(ids, IGNORED), torch.full_like(ids, IGNORED)
        targets[:, 0] = (judged_good ^ negated).long()
        sources[:, 0] = 6
        return Examples(ids, targets, sources)


TASKS: Mapping[str, Task] = MappingProxyType(
    {task.name: task for task in (Copy(), Copy(backwards=True), Lookup(), Induction(), Brackets(), Sentiment())}
)
