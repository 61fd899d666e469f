"""What a model answers with the switches and without them: words and their probabilities, surprise, similarity."""

import json
import math
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import combinations
from pathlib import Path

import torch
from torch import Tensor

from attention_core.pretrained import Model, Switches, answers
from attention_core.runs import Run
from attention_core.scratch_config import ControlError
from viz.services.attention import ModelRequest, run, text_of
from viz.services.models import loaded_model

WORDS = 10
FORETELLING = ("next-token", "seq2seq")  # tasks whose last token rates what comes after it
SLOW_TOKENS = 128  # above it the numbers of a whole text take seconds, so they are made on request
MOST_PAIRS = 10  # of the visitor's own lines

_PAIRS = Path(__file__).resolve().parents[2] / "assets" / "examples" / "pairs.json"


@dataclass(frozen=True)
class Word:
    """A word of the vocabulary with its probability without and with the switches."""

    text: str
    before: float
    after: float

    @property
    def points(self) -> float:
        """What was gained, in percentage points."""
        return 100 * (self.after - self.before)


@dataclass(frozen=True)
class Prediction:
    """What is foretold at one place.

    Attributes:
        place: index of the mask token; None: what comes behind the text.
        before: the likeliest words of the model as it is, in order.
        after: those with the switches.
        kl: KL(as it is || with the switches), nats.
    """

    place: int | None
    before: tuple[Word, ...]
    after: tuple[Word, ...]
    kl: float


@dataclass(frozen=True)
class Foretold:
    """One token of a text: how surprising it is, and how far apart the two runs are in what comes next, in nats.

    NaN where there is no such number.
    """

    text: str
    before: float
    after: float
    change: float
    kl: float


@dataclass(frozen=True)
class TextNumbers:
    """The words of a whole text.

    Attributes:
        predicted: number of tokens that are foretold.
        nll_before, nll_after: mean negative log-likelihood, nats per token.
        perplexity_before, perplexity_after: exp of them.
        kl: KL(as it is || with the switches), mean over the tokens, nats.
        tokens: one by one.
    """

    predicted: int
    nll_before: float
    nll_after: float
    perplexity_before: float
    perplexity_after: float
    kl: float
    tokens: tuple[Foretold, ...]


@dataclass(frozen=True)
class Pair:
    """Two sentences and the cosine of their embeddings; ``after`` is None where the switches do not fit them."""

    first: str
    second: str
    before: float
    after: float | None

    @property
    def change(self) -> float | None:
        return None if self.after is None else self.after - self.before


def task_of(request: ModelRequest) -> str:
    """What the model answers with, as ``Model.task``."""
    return loaded_model(request.model).task


def mask_word(model_name: str) -> str | None:
    """How the mask token of a model is typed; None where it has none."""
    model = loaded_model(model_name)
    return None if model.mask_id is None else model.written(model.mask_id)


@lru_cache(maxsize=16)
def predictions(request: ModelRequest, sample: int) -> tuple[Prediction, ...]:
    """The likeliest words behind the text (in an encoder-decoder: behind the target), or at each of its mask tokens.

    Raises:
        LoadError, BusyError, ValueError: as ``run``.
    """
    model, own, changed = _runs(request)
    if model.task in FORETELLING:
        places = [int(answers.last_positions(_real(own, sample)))]
    elif model.task == "fill-mask":
        places = answers.masked_positions(own.tokens["self"][sample], model.mask_id)
    else:
        places = []
    if not places:
        return ()
    before, after = (
        answers.log_probabilities(model.head(made.output[sample : sample + 1, places]))[0] for made in (own, changed)
    )
    apart = answers.kl_divergence(before, after).tolist()
    return tuple(
        Prediction(
            place=None if model.task in FORETELLING else place,
            before=_words(model, before[row], before[row], after[row]),
            after=_words(model, after[row], before[row], after[row]),
            kl=apart[row],
        )
        for row, place in enumerate(places)
    )


@lru_cache(maxsize=16)
def text_numbers(request: ModelRequest, sample: int) -> TextNumbers | None:
    """Surprise of each token of the text or target, and divergence of what it foretells; None where it foretells none.

    Raises:
        LoadError, BusyError, ValueError: as ``run``.
    """
    model, own, changed = _runs(request)
    if model.task not in FORETELLING:
        return None
    tokens = own.tokens["self"][sample]
    real = _real(own, sample)
    ids = torch.tensor([[0 if token.id is None else token.id for token in tokens]])
    one = slice(sample, sample + 1)
    found = answers.text_change(model.head, own.output[one], changed.output[one], ids, real)
    rows = zip(tokens, found.nll_before[0].tolist(), found.nll_after[0].tolist(), found.kl[0].tolist(), strict=True)
    return TextNumbers(
        predicted=int(answers.predicted(real).sum()),
        nll_before=float(found.nll_before.nanmean()),
        nll_after=float(found.nll_after.nanmean()),
        perplexity_before=float(answers.perplexity(found.nll_before)),
        perplexity_after=float(answers.perplexity(found.nll_after)),
        kl=float(found.kl.nanmean()),
        tokens=tuple(
            Foretold(token.label, before, after, after - before, kl)
            for token, before, after, kl in rows
            if not token.padding
        ),
    )


def similarities(request: ModelRequest) -> tuple[tuple[Pair, ...], tuple[Pair, ...]]:
    """Pairs of sentences by cosine: the visitor's own lines, each with each, and the examples.

    Raises:
        LoadError, BusyError, ValueError: as ``run``.
    """
    own = tuple(combinations(map(text_of, request.texts), 2))[:MOST_PAIRS]
    return tuple(_pair(request, *pair) for pair in own), tuple(_pair(request, *pair) for pair in example_pairs())


@lru_cache(maxsize=16)
def output_change(request: ModelRequest, sample: int) -> float:
    """Norm of the difference of the last hidden states with and without the switches, over their norm without them."""
    _, own, changed = _runs(request)
    real = _real(own, sample)[0]
    before, after = (made.output[sample][real].double() for made in (own, changed))
    size = float(before.norm())
    return float((after - before).norm()) / size if size else math.nan


@cache
def example_pairs() -> tuple[tuple[str, str], ...]:
    """The pairs of sentences that come with the app."""
    return tuple((first, second) for first, second in json.loads(_PAIRS.read_text(encoding="utf-8")))


def _pair(request: ModelRequest, first: str, second: str) -> Pair:
    before = _cosine(request.model, Switches(), first, second)
    try:
        return Pair(first, second, before, _cosine(request.model, request.switches, first, second))
    except ControlError:  # a drawn mask is for texts of one length
        return Pair(first, second, before, None)


def _cosine(model: str, switches: Switches, first: str, second: str) -> float:
    return float(answers.cosines(_embedding(model, switches, first), _embedding(model, switches, second)))


@lru_cache(maxsize=256)
def _embedding(model: str, switches: Switches, text: str) -> Tensor:
    """(width,) of a text alone: beside others it would be padded, which some switches let be read."""
    answer = loaded_model(model).run(text, switches=switches, agreement=False).answer
    assert answer is not None  # every pretrained model answers
    return answer.values[0]


def _runs(request: ModelRequest) -> tuple[Model, Run, Run]:
    return loaded_model(request.model), run(request.neutral), run(request)


def _real(made: Run, sample: int) -> Tensor:
    return torch.tensor([[not token.padding for token in made.tokens["self"][sample]]])  # (1, len)


def _words(model: Model, order: Tensor, before: Tensor, after: Tensor) -> tuple[Word, ...]:
    ids = answers.top_tokens(order, WORDS).tolist()
    return tuple(Word(model.written(id_), math.exp(before[id_]), math.exp(after[id_])) for id_ in ids)
