"""Order: what attention makes of the same words in another order, without and with positions."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from attention_core import positions
from attention_core.attention import scaled_dot_product_attention
from attention_core.from_scratch import MaskChoice, ScratchConfig, run_from_scratch, tokenize

ENCODINGS = ("none", "sinusoidal", "learned", "rotary", "alibi")
MOST = 8
PLACES = 32  # on the pictures of the encodings
WIDTH = 32
EQUAL = 1e-6


@dataclass(frozen=True, eq=False)
class Permuted:
    """One text and the same words in another order.

    Attributes:
        tokens, turned: of the two.
        allowed: (len, len) bool.
        weights, turned_weights: (len, len) of the first head.
        difference: largest difference between the outputs, word by word.
        per_word: (len,) the same for each word of the second text.
        equal: the difference is at most ``EQUAL``.
    """

    tokens: tuple[str, ...]
    turned: tuple[str, ...]
    allowed: np.ndarray
    weights: np.ndarray
    turned_weights: np.ndarray
    difference: float
    per_word: np.ndarray
    equal: bool


@lru_cache(maxsize=64)
def permuted(text: str, encoding: str, turn: str = "reverse", causal: bool = False) -> Permuted | None:
    """Runs a text and the same words in another order; None where it has no token.

    Args:
        text: its first ``MOST`` tokens are used.
        encoding: of ``ENCODINGS``.
        turn: "reverse", or "rotate": the first word comes last.
        causal: no word sees a later one.
    """
    tokens = [token.label for token in tokenize(text)[:MOST]]
    if not tokens:
        return None
    order = list(range(len(tokens)))[::-1] if turn == "reverse" else [*range(1, len(tokens)), 0]
    config = ScratchConfig(
        tokens="spaces", num_heads=2, d_model=WIDTH, d_k=WIDTH // 2, position=encoding, dtype="float64",
        mask=MaskChoice("causal" if causal else "none"),
    )  # fmt: skip
    moved = [tokens[place] for place in order]
    plain, turned = (run_from_scratch(" ".join(words), config) for words in (tokens, moved))
    traces = [run.trace(run.calls[0]).weights for run in (plain, turned)]
    assert traces[0] is not None and traces[1] is not None
    per_word = (plain.output[0][order] - turned.output[0]).abs().amax(dim=-1)  # (len,)
    return Permuted(
        tokens=tuple(tokens),
        turned=tuple(moved),
        allowed=plain.inputs[plain.calls[0].name].allowed.expand(1, 1, len(tokens), len(tokens))[0, 0].numpy(),
        weights=traces[0][0, 0].numpy(),
        turned_weights=traces[1][0, 0].numpy(),
        difference=float(per_word.max()),
        per_word=per_word.numpy(),
        equal=float(per_word.max()) <= EQUAL,
    )


@lru_cache(maxsize=16)
def picture(encoding: str) -> np.ndarray:
    """What an encoding gives the model, as a matrix.

    "sinusoidal", "learned": (PLACES, WIDTH), added to the embeddings. "rotary": (PLACES, PLACES), the score of one
    query and one key, the same vectors everywhere, turned by their places. "alibi": (PLACES, PLACES), added to
    the scores. "none": (PLACES, WIDTH) zeros.
    """
    places = torch.arange(PLACES)
    if encoding == "sinusoidal":
        table = positions.sinusoidal(places, WIDTH)
    elif encoding == "learned":
        table = positions.LearnedPositions(PLACES, WIDTH, generator=torch.Generator().manual_seed(0)).table.detach()
    elif encoding == "rotary":
        table = _rotary_scores(places, places)
    elif encoding == "alibi":
        table = positions.alibi_bias(positions.alibi_slopes(4), places)[0]
    else:
        table = positions.none(places, WIDTH)
    return table.numpy()


@lru_cache(maxsize=2)
def shifted() -> tuple[float, float]:
    """How far scores move when all places move on by 7: (rotary, sinusoidal), largest differences."""
    places = torch.arange(MOST)
    rotary = _rotary_scores(places, places) - _rotary_scores(places + 7, places + 7)
    return float(rotary.abs().max()), float((_sinusoidal_scores(places) - _sinusoidal_scores(places + 7)).abs().max())


def _rotary_scores(query_places: Tensor, key_places: Tensor) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    vector = torch.randn(WIDTH, generator=generator, dtype=torch.float64)
    query, key = (vector.expand(1, 1, len(places), WIDTH) for places in (query_places, key_places))
    turn = positions.rotation(positions.rotary_angles(query_places, WIDTH), positions.rotary_angles(key_places, WIDTH))
    return _scores(*turn(query, key))


def _sinusoidal_scores(places: Tensor) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    words = torch.randn(len(places), WIDTH, generator=generator, dtype=torch.float64)
    x = words + positions.sinusoidal(places, WIDTH, dtype=torch.float64)
    return _scores(x[None, None], x[None, None])


def _scores(query: Tensor, key: Tensor) -> Tensor:
    trace = scaled_dot_product_attention(query, key, key, keep="scaled")
    assert trace.scaled is not None
    return trace.scaled[0, 0]
