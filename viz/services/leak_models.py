"""Models that the Debug page tests for leaks: the core with a mask of choice, and the pretrained ones at hand."""

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from attention_core import masks, positions
from attention_core.from_scratch import embed, tokenize
from attention_core.modules import TransformerBlock
from attention_core.pretrained import Model, Switches
from attention_core.segmentation import sentence_indices
from viz.services.models import loaded_model, model_is_here, model_names

CORE = "from-scratch"
CORE_MASKS = ("causal", "none", "window", "documents", "causal+documents", "padding", "causal+padding")
MODEL_MASKS = ("model", "causal", "none")
WINDOW = 3  # keys of the core's causal window, the query's own included
MOST_TOKENS = 32
MOST_TOKENS_LARGE = 16
_LARGE = 60_000_000  # parameters
_FILLER = 2  # tokens of padding
_WIDTH, _HEADS, _LAYERS = 32, 2, 2
_OTHERS = 64  # made-up tokens that a changed input may become


@dataclass(frozen=True, eq=False)
class Subject:
    """What is tested: ids, and what stands at them.

    Attributes:
        ids: (1, len) int64. real: (1, len) bool, False = padding. documents: (1, len) int64, counted from 0.
        labels: one string per position.
        total: tokens that the text has, before it was cut.
        vocabulary: number of ids that an input may become.
        models: implementation -> module or function, in the order in which they are tested.
    """

    ids: Tensor
    real: Tensor
    documents: Tensor
    labels: tuple[str, ...]
    total: int
    vocabulary: int
    models: dict[str, Callable[..., Any]]


class CoreModel(nn.Module):
    """Two blocks of our own attention over seeded embeddings of a text's tokens; the weights are random.

    Args:
        labels: the tokens, id 1 is the first distinct one; id 0 is the filler.
        mask: one of ``CORE_MASKS``: what every layer applies.
        documents: (1, len) int64.
        seed: of embeddings and weights.
    """

    def __init__(self, labels: list[str], mask: str, documents: Tensor, *, seed: int = 0) -> None:
        super().__init__()
        self.parts = frozenset(mask.split("+"))
        self.words = list(dict.fromkeys(labels))
        self.config = SimpleNamespace(pad_token_id=0)
        vectors = embed(["\0filler", *self.words, *(f"\0other {i}" for i in range(_OTHERS))], _WIDTH, seed=seed)
        self.embedding = nn.Embedding.from_pretrained(vectors.float())
        generator = torch.Generator().manual_seed(seed)
        blocks = [TransformerBlock(_WIDTH, _HEADS, generator=generator) for _ in range(_LAYERS)]
        self.blocks = nn.ModuleList(blocks)
        self.documents = documents
        self.requires_grad_(False).eval()

    def forward(self, ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """(batch, len) ids, and (batch, len) with 1 = real token -> (batch, len, width)."""
        real = torch.ones_like(ids) if attention_mask is None else attention_mask.long()
        place = positions.sinusoidal(masks.position_ids(real), _WIDTH)  # (batch, len, width)
        x = self.embedding(ids) + place.to(self.embedding.weight.dtype)
        allowed = self.allowed(ids.shape[1], real)
        for block in self.blocks:
            x, _ = block(x, allowed=allowed, keep=())
        return x

    def allowed(self, length: int, real: Tensor) -> Tensor:
        """The mask that is applied, broadcastable to (batch, heads, len, len)."""
        allowed = torch.ones(1, 1, length, length, dtype=torch.bool)
        if "causal" in self.parts:
            allowed = allowed & masks.causal(length)
        if "window" in self.parts:
            allowed = allowed & masks.sliding_window(length, left=WINDOW - 1, right=0)
        if "documents" in self.parts:
            allowed = allowed & masks.packed(self.documents[:, :length])
        if "padding" in self.parts:
            allowed = allowed & real.bool()[:, None, None, :]
        return allowed


def models_at_hand() -> tuple[str, ...]:
    """The core, then the pretrained models that are on this machine."""
    return (CORE, *(name for name in model_names() if model_is_here(name)))


def masks_of(model: str) -> tuple[str, ...]:
    """The masks that a model can be run with."""
    return CORE_MASKS if model == CORE else MODEL_MASKS


def can_differentiate(model: str, mask: str) -> bool:
    """Whether gradients flow: our attention inside a pretrained model runs without them."""
    return model == CORE or mask == "model"


def implementations_of(model: str, mask: str) -> tuple[str, ...]:
    """What a model can run on: the core and a switched model run our attention alone."""
    return ("eager", "sdpa") if model != CORE and mask == "model" else ("headscope",)


def prepare(model: str, text: str, mask: str, *, padded: bool) -> Subject:
    """A model with the text as its input, cut to what is quick; ``padded`` adds filler at the end.

    Raises:
        ValueError: if the text has no token, or cannot be read.
        LoadError: if the model cannot be used.
    """
    return _core(text, mask, padded) if model == CORE else _pretrained(loaded_model(model), text, mask, padded)


def _core(text: str, mask: str, padded: bool) -> Subject:
    found = tokenize(text)
    tokens = found[:MOST_TOKENS]
    labels = [token.label for token in tokens]
    if not labels:
        return _subject([], [], [], 0, 0, {}, padded)
    documents = [token.document or 0 for token in tokens]
    length = len(labels) + (_FILLER if padded else 0)
    network = CoreModel(labels, mask, torch.tensor([_filled(documents, length, documents[-1])]))
    ids = [network.words.index(label) + 1 for label in labels]
    size = network.embedding.num_embeddings
    return _subject(ids, labels, documents, len(found), size, {"headscope": network}, padded)


def _pretrained(model: Model, text: str, mask: str, padded: bool) -> Subject:
    most = MOST_TOKENS if model.parameters < _LARGE else MOST_TOKENS_LARGE
    total = len(model.read(text).tokens[0])
    batch = model.read(text, max_tokens=most)
    tokens = batch.tokens[0]
    models: dict[str, Callable[..., Any]] = {}
    if mask == "model":
        models = {name: model.network(name) for name in implementations_of(model.name, mask)}
    else:
        switches = Switches(mask="causal" if mask == "causal" else "none")

        def ours(ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
            return model.outputs(ids, attention_mask, switches=switches)

        models = {"headscope": ours}
    spans = [token.span for token in tokens]
    written = [span for span in spans if span is not None]
    numbers = iter(sentence_indices(text, written))
    documents, last = [], 0
    for span in spans:
        last = last if span is None else next(numbers)
        documents.append(last)
    ids, labels = batch.ids[0].tolist(), [token.label for token in tokens]
    return _subject(ids, labels, documents, total, model.vocabulary, models, padded)


def _subject(ids: list[int], labels: list[str], documents: list[int], total: int, vocabulary: int,
             models: dict[str, Callable[..., Any]], padded: bool) -> Subject:  # fmt: skip
    if not ids:
        raise ValueError("no token")
    length = len(ids) + (_FILLER if padded else 0)
    return Subject(
        ids=torch.tensor([_filled(ids, length, 0)]),
        real=torch.arange(length)[None] < len(ids),
        documents=torch.tensor([_filled(documents, length, documents[-1])]),
        labels=(*labels, *(["[PAD]"] * (length - len(ids)))),
        total=total,
        vocabulary=vocabulary,
        models=models,
    )


def _filled(values: list[int], length: int, filler: int) -> list[int]:
    return [*values, *([filler] * (length - len(values)))]
