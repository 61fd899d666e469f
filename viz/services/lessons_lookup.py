"""A lookup by hand: one query, four keys in a plane, four values."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch

from attention_core.attention import scaled_dot_product_attention

# Two features, "is a being" and "is a place"; a value is what the token tells whoever reads it.
KEYS = ((1.6, 0.2), (0.8, 0.1), (0.1, 1.5), (-1.2, -0.9))
VALUES = ((1.0, 0.0), (0.5, 0.0), (0.0, 1.0), (-1.0, -1.0))


@dataclass(frozen=True, eq=False)
class Lookup:
    """One query over all keys.

    Attributes:
        query: (2,).
        keys, values: (4, 2).
        scores, scaled, weights: (4,).
        output: (2,).
    """

    query: np.ndarray
    keys: np.ndarray
    values: np.ndarray
    scores: np.ndarray
    scaled: np.ndarray
    weights: np.ndarray
    output: np.ndarray


@lru_cache(maxsize=256)
def lookup(
    angle: float,
    length: float,
    keys: tuple[tuple[float, float], ...] = KEYS,
    values: tuple[tuple[float, float], ...] = VALUES,
) -> Lookup:
    """Asks with a query of that direction and length.

    Args:
        angle: of the query in degrees, 0 along the first feature, 90 along the second.
        length: of the query.
        keys: one pair per token.
        values: likewise.
    """
    turn = math.radians(angle)
    query = torch.tensor([[length * math.cos(turn), length * math.sin(turn)]], dtype=torch.float64)
    key, value = torch.tensor(keys, dtype=torch.float64), torch.tensor(values, dtype=torch.float64)
    trace = scaled_dot_product_attention(query, key, value)
    assert trace.scores is not None and trace.scaled is not None and trace.weights is not None
    return Lookup(
        query=query[0].numpy(),
        keys=key.numpy(),
        values=value.numpy(),
        scores=trace.scores[0].numpy(),
        scaled=trace.scaled[0].numpy(),
        weights=trace.weights[0].numpy(),
        output=trace.output[0].numpy(),
    )


@lru_cache(maxsize=4)
def towards(token: int, length: float) -> tuple[int, Lookup]:
    """Asks in the direction of a token's own key; the token that gets the largest weight, and all numbers."""
    x, y = KEYS[token]
    found = lookup(math.degrees(math.atan2(y, x)), length)
    return int(found.weights.argmax()), found


def alike() -> Lookup:
    """Asks where all keys are the same."""
    return lookup(30.0, 2.0, keys=(KEYS[0],) * len(KEYS))


def with_another_value(angle: float, length: float) -> tuple[float, float]:
    """How far the weights and the output move when the value of the first token is doubled: largest differences."""
    before = lookup(angle, length)
    doubled = ((2 * VALUES[0][0] + 1, 2 * VALUES[0][1] + 1), *VALUES[1:])
    after = lookup(angle, length, values=doubled)
    moved_weights = float(np.abs(after.weights - before.weights).max())
    return moved_weights, float(np.abs(after.output - before.output).max())
