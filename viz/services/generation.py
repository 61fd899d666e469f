"""Texts that models write on, step by step, kept by their whole request for all visitors together."""

import threading
from dataclasses import dataclass, replace

import numpy as np
import torch

from attention_core.pretrained import Generation, Sample, Switches
from attention_core.runs import Call, Token
from viz.services.attention import ModelRequest
from viz.services.kept import Kept
from viz.services.models import loaded_model

MOST_NEW = 200  # tokens that are written at most
MOST_PROMPT = 1_024  # tokens of the prompt; longer ones are cut, and the page says so
KEPT_WRITINGS = 6
KEPT_BYTES = 512 * 2**20


@dataclass(frozen=True)
class WritingRequest:
    """What is to be written on.

    Attributes:
        model: its name.
        sample: the text, pair or chat.
        switches: in every step.
        most: tokens to write at most.
        temperature: 0 takes the likeliest token each time.
        seed: of the generator that draws, with a temperature.
    """

    model: str
    sample: Sample
    switches: Switches = Switches()  # noqa: RUF009 - frozen
    most: int = 20
    temperature: float = 0.0
    seed: int = 0

    @property
    def neutral(self) -> "WritingRequest":
        """The same with every switch as in the model."""
        return replace(self, switches=Switches())


@dataclass(frozen=True)
class Candidate:
    """A word that could have come next, its probability, and whether it was taken."""

    word: str
    probability: float
    taken: bool


@dataclass(frozen=True)
class Word:
    """A token that was written: its label, whether it is a special one, its probability, and the likeliest then."""

    label: str
    special: bool
    probability: float
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True)
class Written:
    """What has been written after some steps.

    Attributes:
        prompt: labels of the tokens before it, special ones of the template and the tokenizer left out.
        words: one per step.
        end: why nothing follows: "stop", "length", "limit"; "" where more could follow.
        cut: tokens of the prompt that were left out.
    """

    prompt: tuple[str, ...]
    words: tuple[Word, ...]
    end: str
    cut: int


@dataclass(frozen=True, eq=False)
class GrownMap:
    """The map of one head after some steps: a row per token that has asked.

    Attributes:
        weights, allowed, intended: (rows, keys); float32, bool, bool.
        query_tokens, key_tokens: of rows and columns.
        first_new: row of the first token that was written; the number of rows where none has asked yet, or the rows are
            those of the source.
    """

    weights: np.ndarray
    allowed: np.ndarray
    intended: np.ndarray
    query_tokens: tuple[Token, ...]
    key_tokens: tuple[Token, ...]
    first_new: int


class Writing:
    """One text in the making; any number of visitors may ask for steps of it at once."""

    def __init__(self, request: WritingRequest) -> None:
        """Makes the first step, which reads the whole prompt."""
        self.request = request
        self._turn = threading.Lock()
        self._made: Generation = loaded_model(request.model).generate(
            request.sample,
            max_new_tokens=request.most,
            switches=request.switches,
            temperature=request.temperature,
            generator=torch.Generator().manual_seed(request.seed),
            max_tokens=MOST_PROMPT,
        )
        next(self._made)
        rows = self._made.run(1).output.shape[1]
        self.expected_bytes = int(self._made.held * (1 + request.most / rows))

    @property
    def count(self) -> int:
        """Steps made so far."""
        return len(self._made.steps)

    def advance(self, count: int) -> int:
        """Makes steps until there are so many, or no more follow; returns how many of them there are."""
        for _ in range(self.count, count):
            with self._turn:  # others may take their turn between two steps
                if not self._made.finished and self.count < count:
                    next(self._made)
        return min(count, self.count)

    def written(self, count: int) -> Written:
        """The first ``count`` words; fewer where it ended before."""
        with self._turn:
            made = self._made
            steps, tokens = made.steps[:count], made.tokens[:count]
            words = tuple(
                Word(
                    token.label,
                    token.special,
                    step.probability,
                    tuple(Candidate(made.model.written(id_), p, id_ == step.token_id) for id_, p in step.top),
                )
                for step, token in zip(steps, tokens, strict=True)
            )
            prompt = tuple(token.label for token in made.prompt.tokens[0] if not token.special)
            cut = sum(
                int(note.values["total"]) - int(note.values["kept"])
                for note in made.prompt.notes
                if note.code == "truncated"
            )
            return Written(prompt, words, steps[-1].end if steps else "", cut)

    def map_of(self, call: Call, head: int, count: int) -> GrownMap:
        """One head of one call after ``count`` steps, from 1."""
        with self._turn:
            run = self._made.run(count)
        given = run.inputs[call.name]
        weights = given.trace(keep=("weights",)).weights
        assert weights is not None  # asked for by keep
        shape = weights.shape
        rows = run.query_tokens(call)[0]
        asked = count - 1 if call.kind != "encoder" or "source" not in run.tokens else 0
        return GrownMap(
            weights=weights[0, head].float().numpy(),
            allowed=given.allowed.expand(shape)[0, head].numpy(),
            intended=given.intended.expand(shape)[0, head].numpy(),
            query_tokens=rows,
            key_tokens=run.key_tokens(call)[0],
            first_new=len(rows) - asked,
        )


_kept: Kept[Writing] = Kept(most=KEPT_WRITINGS, most_bytes=KEPT_BYTES, size=lambda made: made.expected_bytes)


def writing(request: WritingRequest) -> Writing:
    """The text of a request, with its first step made; the same object for the same request while it is kept.

    Raises:
        ValueError: if the model cannot write, or a setting is refused.
        LoadError, BusyError: if the model cannot be used now.
    """
    return _kept.get(request, lambda: Writing(request))


def steps_made(request: WritingRequest) -> int:
    """How many steps there are already; 0 where nothing is kept."""
    return writing(request).count if request in _kept else 0


def asked_for(request: ModelRequest, sample: int, *, most: int, temperature: float, seed: int) -> WritingRequest:
    """The request for a sample of the page."""
    return WritingRequest(request.model, request.texts[sample], request.switches, most, temperature, seed)


def obstacle(request: WritingRequest) -> str:
    """Why nothing can be written: "no_next" (the model foretells no next token), "recorded", "drawn"; "" otherwise."""
    model = loaded_model(request.model)
    if model.task not in ("next-token", "seq2seq"):
        return "no_next"
    if not model.can_write:
        return "recorded"
    return "drawn" if request.switches.mask == "custom" else ""


def first_difference(own: Written, changed: Written) -> int | None:
    """Place of the first word in which two texts differ, among those that both have; None where there is none."""
    pairs = zip(own.words, changed.words, strict=False)
    return next((place for place, (a, b) in enumerate(pairs) if a.label != b.label), None)
