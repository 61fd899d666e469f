"""Reading a real model: where a pronoun looks, what becomes of a word with two meanings, and weight against effect."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

import numpy as np
import torch
from torch import Tensor

from attention_core.diagnostics import weighted_norms
from attention_core.runs import Run
from viz.services.attention import ModelRequest, run
from viz.services.models import model_is_here, model_names

SENTENCES: Mapping[str, tuple[str, str, str]] = MappingProxyType(
    {
        "bank": (
            "We sat on the bank of the river.",
            "We fished from the bank of the stream.",
            "We went to the bank for a loan.",
        ),
        "bat": (
            "The player swung the bat at the ball.",
            "The boy dropped the bat after the game.",
            "The cave hid the bat during the day.",
        ),
    }
)  # each word stands at the same place in all three: once, again in the same sense, in the other one
WORDS = tuple(SENTENCES)


@dataclass(frozen=True, eq=False)
class Pronoun:
    """How much one token gives to two others, in every head.

    Attributes:
        tokens: of the model.
        first, second: (layers, heads) weight that goes to each.
    """

    tokens: tuple[str, ...]
    first: np.ndarray
    second: np.ndarray

    @property
    def lead(self) -> np.ndarray:
        """(layers, heads) how much more goes to the first."""
        return self.first - self.second

    @property
    def most(self) -> tuple[int, int]:
        """(layer, head) of the largest difference, either way."""
        layer, head = np.unravel_index(int(np.abs(self.lead).argmax()), self.lead.shape)
        return int(layer), int(head)


@dataclass(frozen=True, eq=False)
class Senses:
    """Cosine between the keys of one word in two sentences, layer by layer: (layers,) each."""

    same: np.ndarray
    other: np.ndarray


@dataclass(frozen=True, eq=False)
class Shares:
    """What goes to the model's own separators, mean over heads and queries, layer by layer.

    Attributes:
        weight: (layers,) share of the weights.
        norm: (layers,) share once each weight is multiplied by the length of the value that it fetches.
        separators: their labels.
    """

    weight: np.ndarray
    norm: np.ndarray
    separators: tuple[str, ...]


def model_name() -> str:
    """The pretrained model of this lesson."""
    return model_names()[0]


def tokens(text: str) -> tuple[str, ...]:
    """The model's tokens of a text; none where the model is not here."""
    made = _run(text)
    return () if made is None else tuple(token.label for token in made.tokens["self"][0])


def pronoun(text: str, asks: int, first: int, second: int) -> Pronoun | None:
    """Measures a text; None where the model is not on this machine.

    Args:
        text: any.
        asks: place of the token whose rows are read.
        first: place of a token that it looks at.
        second: of the other one.

    Raises:
        LoadError, BusyError: if the model cannot be used now.
    """
    made = _run(text)
    if made is None:
        return None
    weights = _weights(made)[:, :, asks]  # (layers, heads, k_len)
    return Pronoun(tokens(text), weights[..., first].numpy(), weights[..., second].numpy())


@lru_cache(maxsize=4)
def senses(word: str) -> Senses | None:
    """Compares the keys of a word of ``SENTENCES``; None where the model is not here.

    Raises:
        LoadError, BusyError: if the model cannot be used now.
    """
    keys = []
    for text in SENTENCES[word]:
        made = _run(text)
        if made is None:
            return None
        place = tokens(text).index(word)
        keys.append([made.inputs[call.name].key[0, :, place].flatten().double() for call in made.calls])
    once, again, other = keys
    return Senses(_cosines(once, again), _cosines(once, other))


def shares(text: str) -> Shares | None:
    """Weight against weight times value on a text; None where the model is not here.

    Raises:
        LoadError, BusyError: if the model cannot be used now.
    """
    made = _run(text)
    if made is None:
        return None
    special = torch.tensor([token.special for token in made.tokens["self"][0]])
    weight, norm = [], []
    for call in made.calls:
        weights = made.trace(call, keep="weights").weights
        assert weights is not None
        norms = weighted_norms(weights, made.inputs[call.name].value)  # (1, heads, q_len, k_len)
        norms = norms / norms.sum(dim=-1, keepdim=True)
        weight.append(float(weights[..., special].sum(dim=-1).mean()))
        norm.append(float(norms[..., special].sum(dim=-1).mean()))
    labels = tuple(token.label for token in made.tokens["self"][0] if token.special)
    return Shares(np.array(weight), np.array(norm), labels)


def _run(text: str) -> Run | None:
    name = model_name()
    return run(ModelRequest(name, (text,))) if model_is_here(name) else None


def _weights(made: Run) -> Tensor:
    found = [made.trace(call, keep="weights").weights for call in made.calls]
    return torch.stack([one[0] for one in found if one is not None])  # (layers, heads, q_len, k_len)


def _cosines(left: list[Tensor], right: list[Tensor]) -> np.ndarray:
    return np.array([float(torch.cosine_similarity(a, b, dim=0)) for a, b in zip(left, right, strict=True)])
