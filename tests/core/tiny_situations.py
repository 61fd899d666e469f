"""Tiny situations whose weights can be worked by hand, and the comparison with rows written down."""

import math

import torch
from torch import Tensor

from attention_core.faults import Outcome, Situation

ROUNDED = 1e-3  # the list gives four decimals and asks for this absolute tolerance
NAN = math.nan


def of_scores(scores: list[list[float]], **parts: Tensor) -> Situation:
    """One sample, one head whose scores are given; V is the identity, so that the output equals the weights."""
    table = torch.tensor(scores)[None, None]
    eye = torch.eye(table.shape[-1])[None, None]
    allowed = torch.ones(table.shape[-2:], dtype=torch.bool)
    for part in parts.values():
        allowed = allowed & part
    return Situation(table, eye, eye, allowed, parts, scale=1.0)


def even(q_len: int, k_len: int | None = None, **parts: Tensor) -> Situation:
    """All scores 0: every allowed key gets the same weight."""
    return of_scores([[0.0] * (k_len or q_len)] * q_len, **parts)


def of_keys(query: list[float], *keys: list[float]) -> Situation:
    """One query over some keys, at the default scale."""
    key = torch.tensor(keys)[None, None]
    return Situation(torch.tensor([[[query]]]), key, key, torch.ones(1, len(keys), dtype=torch.bool))


def check(actual: Tensor | Outcome | None, rows: list) -> None:
    if isinstance(actual, Outcome):
        actual = actual.weights
    assert actual is not None
    expected = torch.tensor(rows, dtype=actual.dtype)
    while actual.dim() > expected.dim():
        assert actual.shape[0] == 1
        actual = actual[0]
    torch.testing.assert_close(actual, expected, rtol=0, atol=ROUNDED, equal_nan=True)


def keys_per_row(outcome: Outcome) -> list[int]:
    assert outcome.weights is not None
    return (outcome.weights[0, 0] > 0).sum(dim=-1).tolist()


def uniform(*rows: str) -> list[list[float]]:
    """Rows drawn with x for a key that shares the row evenly, and . for one without weight."""
    return [[1 / row.count("x") if cell == "x" else 0.0 for cell in row] for row in rows]
