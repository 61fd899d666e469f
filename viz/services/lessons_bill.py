"""What attention costs: measured on this machine, tile by tile, and what cheaper patterns leave out."""

import math
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from attention_core import masks, positions
from attention_core.attention import scaled_dot_product_attention
from attention_core.from_scratch import embed, tokenize
from attention_core.variants import (
    attention_multiplications,
    linear_attention,
    linear_attention_multiplications,
    linear_weights,
    tiled_attention,
)

LENGTHS = (64, 128, 256, 512, 1024)
WAYS = ("full", "tiled", "linear")
TILE = 64
TILES = (2, 3, 4, 6)
STEPS = ("1", "2", "3", "4", "5", "6")
MOST = 12
PATTERNS = ("full", "window", "dilated", "strided", "global_local", "block_sparse", "linear")
CONTENTS = ("near", "anywhere")
PATTERN_LENGTH = 24
_TIMES = 3
_D_K = 32


@dataclass(frozen=True, eq=False)
class Measured:
    """Time and memory of one head of d_k 32 against the length, one thread.

    Attributes:
        milliseconds: way -> (len(LENGTHS),) the best of three.
        largest: way -> (len(LENGTHS),) kB of the largest tensor that was made.
        square, square_largest: (len(LENGTHS),) n^2 through the last point of "full".
    """

    milliseconds: Mapping[str, np.ndarray]
    largest: Mapping[str, np.ndarray]
    square: np.ndarray
    square_largest: np.ndarray


@dataclass(frozen=True, eq=False)
class Tiled:
    """A sentence after some tiles of keys.

    Attributes:
        tokens: of rows and columns.
        logits: (len, seen) those of the tiles read so far.
        seen: keys of these tiles.
        tile: cells of the tile in hand.
        top, total, correction: (len,) the running numbers of each row.
        apart: largest difference between the output so far and full attention.
        step, count: which tile of how many.
        held: numbers of scores held at a time; ``full``: those of the whole map.
    """

    tokens: tuple[str, ...]
    logits: np.ndarray
    seen: int
    tile: tuple[tuple[int, int], ...]
    top: np.ndarray
    total: np.ndarray
    correction: np.ndarray
    apart: float
    step: int
    count: int
    held: int
    full: int


@dataclass(frozen=True, eq=False)
class Pattern:
    """One way to read fewer keys.

    Attributes:
        allowed, weights: (len, len).
        pairs: cells that are read; 0 where none are.
        multiplications: of one head.
        error: of the output, relative to full attention (norm of the difference over norm).
    """

    allowed: np.ndarray
    weights: np.ndarray
    pairs: int
    multiplications: int
    error: float


@lru_cache(maxsize=8)
def measured(turn: int) -> Measured:
    """Measures once per turn: some tenths of a second.

    Args:
        turn: another number measures anew.
    """
    generator = torch.Generator().manual_seed(turn)
    milliseconds: dict[str, list[float]] = {way: [] for way in WAYS}
    largest: dict[str, list[float]] = {way: [] for way in WAYS}
    with torch.inference_mode():
        for length in LENGTHS:
            query, key, value = (torch.randn(1, 1, length, _D_K, generator=generator) for _ in range(3))
            for way in WAYS:
                work = _work(way, query, key, value)
                with _Largest() as seen:
                    work()  # the first one warms up, so it is not timed
                largest[way].append(seen.bytes / 1000)
                milliseconds[way].append(min(_seconds(work) for _ in range(_TIMES)) * 1000)
    growth = np.array(LENGTHS, float) ** 2 / LENGTHS[-1] ** 2
    return Measured(
        milliseconds={way: np.array(found) for way, found in milliseconds.items()},
        largest={way: np.array(found) for way, found in largest.items()},
        square=growth * milliseconds["full"][-1],
        square_largest=growth * largest["full"][-1],
    )


@lru_cache(maxsize=64)
def tiled(text: str, tile: int, step: int) -> Tiled | None:
    """The first tokens of a text after so many tiles, all of them where there are fewer; None where it has none.

    Args:
        text: any.
        tile: keys per tile.
        step: tiles read, from 1.
    """
    tokens = tuple(token.label for token in tokenize(text)[:MOST])
    if not tokens:
        return None
    length = len(tokens)
    key, other = embed(tokens, _D_K, seed=0), embed(tokens, _D_K, seed=1)
    query, value = (key + other) / math.sqrt(2), other
    full = scaled_dot_product_attention(query, key, value)
    states = list(tiled_attention(query, key, value, tile=tile))
    step = min(step, len(states))
    now = states[step - 1]
    return Tiled(
        tokens=tokens,
        logits=np.concatenate([state.logits.numpy() for state in states[:step]], axis=1),
        seen=now.last,
        tile=tuple((row, column) for row in range(length) for column in range(now.first, now.last)),
        top=now.top.numpy(),
        total=now.total.numpy(),
        correction=now.correction.numpy(),
        apart=float((now.output - full.output).abs().max()),
        step=step,
        count=len(states),
        held=length * min(tile, length),
        full=length * length,
    )


@lru_cache(maxsize=1)
def tiles_apart() -> float:
    """Largest difference between tiled and full attention, float32, 257 tokens in tiles of 32."""
    generator = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(1, 2, 257, _D_K, generator=generator) for _ in range(3))
    full = scaled_dot_product_attention(query, key, value).output
    return float((_last(query, key, value, 32) - full).abs().max())


@lru_cache(maxsize=1)
def doubled() -> tuple[int, int]:
    """Scores of one head for 32 and for 64 tokens, counted in what the core lays out."""
    sizes = []
    for length in (32, 64):
        x = torch.randn(1, 1, length, 8, generator=torch.Generator().manual_seed(0))
        scores = scaled_dot_product_attention(x, x, x).scores
        assert scores is not None
        sizes.append(scores.numel())
    return sizes[0], sizes[1]


@lru_cache(maxsize=2)
def patterns(content: str) -> Mapping[str, Pattern]:
    """Every pattern on the same queries, keys and values.

    Args:
        content: "near": each query resembles the keys around it; "anywhere": no key is more likely than another.
    """
    length = PATTERN_LENGTH
    generator = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(1, 1, length, _D_K, generator=generator, dtype=torch.float64) for _ in range(3))
    if content == "near":
        place = positions.sinusoidal(torch.arange(length), _D_K, base=100.0, dtype=torch.float64)
        query, key = 1.5 * place + 0.7 * query, 1.5 * place + 0.7 * key
    full = scaled_dot_product_attention(query, key, value).output
    found = {}
    for name, allowed in _masks(length).items():
        trace = scaled_dot_product_attention(query, key, value, allowed=allowed)
        assert trace.weights is not None
        pairs = int(allowed.sum())
        cost = attention_multiplications(pairs, _D_K, _D_K)
        found[name] = _pattern(allowed, trace.weights, pairs, cost, trace.output, full)
    everywhere = torch.ones(length, length, dtype=torch.bool)
    cost = linear_attention_multiplications(length, _D_K, _D_K)
    weights = linear_weights(query, key)
    found["linear"] = _pattern(everywhere, weights, 0, cost, linear_attention(query, key, value), full)
    return found


def _masks(length: int) -> dict[str, Tensor]:
    band = torch.eye(length // 4, dtype=torch.bool)
    blocks = band | band.roll(1, 0) | band.roll(-1, 0)
    return {
        "full": torch.ones(length, length, dtype=torch.bool),
        "window": masks.sliding_window(length, left=3, right=3),
        "dilated": _both_ways(masks.dilated(length, window=4, step=2)),
        "strided": _both_ways(masks.strided(length, stride=6)),
        "global_local": _both_ways(masks.global_local(length, window=3, global_keys=[0])),
        "block_sparse": masks.block_sparse(blocks, block_size=4),
    }


def _both_ways(back: Tensor) -> Tensor:
    return back | back.T


def _pattern(allowed: Tensor, weights: Tensor, pairs: int, cost: int, output: Tensor, full: Tensor) -> Pattern:
    error = float((output - full).norm() / full.norm())
    return Pattern(allowed.numpy(), weights[0, 0].numpy(), pairs, cost, error)


def _work(way: str, query: Tensor, key: Tensor, value: Tensor) -> Callable[[], Any]:
    if way == "full":
        return lambda: scaled_dot_product_attention(query, key, value, keep=())
    if way == "tiled":
        return lambda: _last(query, key, value, TILE)
    return lambda: linear_attention(query, key, value)


def _last(query: Tensor, key: Tensor, value: Tensor, tile: int) -> Tensor:
    return deque(tiled_attention(query, key, value, tile=tile), maxlen=1)[0].output


def _seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


class _Largest(TorchDispatchMode):
    """Notes the largest tensor that any operation gives back."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        for one in made if isinstance(made, tuple | list) else (made,):
            if isinstance(one, Tensor):
                self.bytes = max(self.bytes, one.numel() * one.element_size())
        return made
