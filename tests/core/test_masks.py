"""Mask builders compared as drawings, and what they refuse."""

import doctest
import sys

import pytest
import torch

from attention_core import masks
from attention_core.masks import draw


def drawing(text: str) -> str:
    return "\n".join(line.strip() for line in text.strip().splitlines())


@pytest.mark.parametrize("module", ["masks", "mask_conventions", "token_layout"])
def test_drawings_in_docstrings_are_what_the_code_draws(module: str) -> None:
    result = doctest.testmod(sys.modules[f"attention_core.{module}"])  # without whitespace normalised
    assert result.failed == 0
    assert result.attempted >= 5


def test_draw_rows_are_queries_and_columns_are_keys() -> None:
    mask = torch.tensor([[True, False, False], [True, True, False]])
    assert draw(mask) == "■⬚⬚\n■■⬚"
    assert draw(mask[None, None]) == "■⬚⬚\n■■⬚"
    assert draw(torch.stack([mask, ~mask])) == "■⬚⬚\n■■⬚\n\n⬚■■\n⬚⬚■"
    with pytest.raises(TypeError, match=r"mask must be a bool tensor.*got torch.int64"):
        draw(mask.long())
    with pytest.raises(ValueError, match=r"at least \(q_len, k_len\): got shape \(3,\)"):
        draw(mask[0])


@pytest.mark.parametrize(
    "mask, expected",
    [
        (masks.causal(3), "■⬚⬚\n■■⬚\n■■■"),
        (masks.causal(2, 5), "■■■■⬚\n■■■■■"),
        (masks.causal(2, 5, offset=0), "■⬚⬚⬚⬚\n■■⬚⬚⬚"),
        (masks.causal(3, 2), "⬚⬚\n■⬚\n■■"),  # more queries than keys: the first has no key
        (masks.causal(2, 3, offset=-1), "⬚⬚⬚\n■⬚⬚"),
        (masks.causal(2, 3, offset=9), "■■■\n■■■"),
        (masks.sliding_window(5, left=1, right=1), "■■⬚⬚⬚\n■■■⬚⬚\n⬚■■■⬚\n⬚⬚■■■\n⬚⬚⬚■■"),
        (masks.sliding_window(3, left=0, right=0), "■⬚⬚\n⬚■⬚\n⬚⬚■"),
        (masks.sliding_window(3), "■■■\n■■■\n■■■"),
        (masks.sliding_window(3, right=0), "■⬚⬚\n■■⬚\n■■■"),
        (masks.sliding_window(3, left=0), "■■■\n⬚■■\n⬚⬚■"),
        (masks.sliding_window(2, 5, left=2, right=0), "⬚■■■⬚\n⬚⬚■■■"),
        (masks.sliding_window(2, 5, left=2, right=0, offset=0), "■⬚⬚⬚⬚\n■■⬚⬚⬚"),
        (masks.chunked(5, size=2), "■■⬚⬚⬚\n■■⬚⬚⬚\n⬚⬚■■⬚\n⬚⬚■■⬚\n⬚⬚⬚⬚■"),
        (masks.chunked(2, 5, size=2), "⬚⬚■■⬚\n⬚⬚⬚⬚■"),
        (masks.chunked(2, 3, size=2, offset=-1), "⬚⬚⬚\n■■⬚"),  # position -1 lies in the chunk before the first
        (masks.dilated(5, window=2, step=2), "■⬚■⬚⬚\n⬚■⬚■⬚\n■⬚■⬚■\n⬚■⬚■⬚\n⬚⬚■⬚■"),
        (masks.dilated(4, window=2, step=1), "■■⬚⬚\n■■■⬚\n⬚■■■\n⬚⬚■■"),
        (masks.dilated(2, 7, window=3, step=2) & masks.causal(2, 7), "⬚■⬚■⬚■⬚\n⬚⬚■⬚■⬚■"),
        (masks.strided(5, stride=2), "■⬚■⬚■\n⬚■⬚■⬚\n■⬚■⬚■\n⬚■⬚■⬚\n■⬚■⬚■"),
        (masks.strided(2, 5, stride=3), "■⬚⬚■⬚\n⬚■⬚⬚■"),
        (masks.global_local(5, window=1, global_keys=[0, 3]), "■⬚⬚■⬚\n■■⬚■⬚\n■⬚■■⬚\n■⬚⬚■⬚\n■⬚⬚■■"),
        (masks.global_local(2, 5, window=2, global_keys=[0]), "■⬚■■■\n■⬚⬚■■"),
        (masks.block_sparse(torch.tensor([[True, False], [False, True]]), block_size=2), "■■⬚⬚\n■■⬚⬚\n⬚⬚■■\n⬚⬚■■"),
        (masks.block_sparse(torch.tensor([[True, False, True]]), block_size=1), "■⬚■"),
        (masks.prefix_lm(4, prefix=2), "■■⬚⬚\n■■⬚⬚\n■■■⬚\n■■■■"),
        (masks.prefix_lm(3, prefix=0), "■⬚⬚\n■■⬚\n■■■"),
        (masks.prefix_lm(3, prefix=3), "■■■\n■■■\n■■■"),
        (masks.padding([1, 3, 0], 3), "■⬚⬚\n\n■■■\n\n⬚⬚⬚"),
        (masks.padding(torch.tensor([1, 3, 0]), 3, side="left"), "⬚⬚■\n\n■■■\n\n⬚⬚⬚"),
        (masks.packed(torch.tensor([0, 0, 1])), "■■⬚\n■■⬚\n⬚⬚■"),
        (masks.packed(torch.tensor([[4, 7, 4]])), "■⬚■\n⬚■⬚\n■⬚■"),
        (masks.causal_in_cache(2, 5, valid_lengths=[3, 5]), "■■⬚⬚⬚\n■■■⬚⬚\n\n■■■■⬚\n■■■■■"),
    ],
)
def test_drawings(mask: torch.Tensor, expected: str) -> None:
    assert mask.dtype == torch.bool
    assert draw(mask) == expected


@pytest.mark.parametrize(
    "mask, shape",
    [
        (masks.causal(5, 7), (5, 7)),
        (masks.causal_in_cache(5, 7, valid_lengths=[5, 7, 6]), (3, 1, 5, 7)),
        (masks.sliding_window(5, 7, left=1), (5, 7)),
        (masks.chunked(5, 7, size=3), (5, 7)),
        (masks.dilated(5, 7, window=2, step=2), (5, 7)),
        (masks.strided(5, 7, stride=3), (5, 7)),
        (masks.global_local(5, 7, window=2, global_keys=[]), (5, 7)),
        (masks.block_sparse(torch.ones(3, 5, dtype=torch.bool), block_size=2), (6, 10)),
        (masks.prefix_lm(5, prefix=2), (5, 5)),
        (masks.padding([1, 2, 3], 7), (3, 1, 1, 7)),
        (masks.packed(torch.zeros(3, 5, dtype=torch.long)), (3, 1, 5, 5)),
        (masks.causal(0), (0, 0)),
        (masks.padding([], 7), (0, 1, 1, 7)),
    ],
)
def test_shapes(mask: torch.Tensor, shape: tuple[int, ...]) -> None:
    assert tuple(mask.shape) == shape


def test_parts_combine() -> None:
    both = masks.causal(4) & masks.padding([3], 4, side="left")
    assert draw(both) == "⬚⬚⬚⬚\n⬚■⬚⬚\n⬚■■⬚\n⬚■■■"
    symmetric = masks.global_local(4, window=1, global_keys=[1])
    assert draw(symmetric | symmetric.T) == "■■⬚⬚\n■■■■\n⬚■■⬚\n⬚■⬚■"


@pytest.mark.parametrize(
    "build, error, message",
    [
        (lambda: masks.causal(-1), ValueError, r"q_len must be at least 0: got -1"),
        (lambda: masks.causal(3, -2), ValueError, r"k_len must be at least 0: got -2"),
        (lambda: masks.causal(3.0), TypeError, r"q_len must be an integer: got 3.0"),  # pyright: ignore[reportArgumentType]
        (lambda: masks.causal(True), TypeError, r"q_len must be an integer: got True"),
        (lambda: masks.causal(3, offset=0.5), TypeError, r"offset must be an integer"),  # pyright: ignore[reportArgumentType]
        (lambda: masks.sliding_window(3, left=-1), ValueError, r"left must be at least 0: got -1"),
        (lambda: masks.sliding_window(3, right=-1), ValueError, r"right must be at least 0: got -1"),
        (lambda: masks.chunked(3, size=0), ValueError, r"size must be at least 1: got 0"),
        (lambda: masks.dilated(3, window=0, step=1), ValueError, r"window must be at least 1: got 0"),
        (lambda: masks.dilated(3, window=1, step=0), ValueError, r"step must be at least 1: got 0"),
        (lambda: masks.strided(3, stride=0), ValueError, r"stride must be at least 1: got 0"),
        (lambda: masks.global_local(3, window=1, global_keys=[3]), ValueError, r"positions below k_len 3: got 3"),
        (
            lambda: masks.global_local(3, window=1, global_keys=[-1]),
            ValueError,
            r"global_keys must be at least 0: got -1",
        ),
        (lambda: masks.block_sparse(torch.ones(2, 2), block_size=1), TypeError, r"block_map must be a bool tensor"),
        (lambda: masks.block_sparse(torch.ones(2, dtype=torch.bool), block_size=1), ValueError, r"got shape \(2,\)"),
        (lambda: masks.prefix_lm(3, prefix=4), ValueError, r"prefix must lie between 0 and q_len 3: got 4"),
        (lambda: masks.prefix_lm(3, prefix=-1), ValueError, r"prefix must be at least 0: got -1"),
        (lambda: masks.padding([2, 5], 4), ValueError, r"lengths must lie between 0 and k_len 4: got 5 for sample 1"),
        (lambda: masks.padding([-1], 4), ValueError, r"got -1 for sample 0"),
        (lambda: masks.padding([1.5], 4), TypeError, r"lengths must be an integer: got 1.5"),  # pyright: ignore[reportArgumentType]
        (lambda: masks.padding(torch.tensor([[1, 1, 0]]), 3), ValueError, r"must be \(batch,\).*\(1, 3\)"),
        (lambda: masks.padding(torch.tensor([True]), 3), TypeError, r"integers, one per sample.*real_lengths"),
        (lambda: masks.padding([1], 3, side="middle"), ValueError, r'"left" or "right": got \'middle\''),  # pyright: ignore[reportArgumentType]
        (
            lambda: masks.packed(torch.tensor([0.0, 1.0])),
            TypeError,
            r"document_ids must be integers: got torch.float32",
        ),
        (lambda: masks.packed(torch.zeros(1, 2, 3, dtype=torch.long)), ValueError, r"got shape \(1, 2, 3\)"),
        (
            lambda: masks.causal_in_cache(2, 5, valid_lengths=[1]),
            ValueError,
            r"between 2 and k_len 5: got 1 for sample 0",
        ),
        (lambda: masks.causal_in_cache(2, 5, valid_lengths=[6]), ValueError, r"between 2 and k_len 5: got 6"),
    ],
)
def test_refusals(build, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        build()


def test_integers_of_any_kind_are_lengths() -> None:
    import numpy as np

    assert draw(masks.causal(np.int64(2))) == "■⬚\n■■"  # pyright: ignore[reportArgumentType]
    assert draw(masks.causal(torch.tensor(2))) == "■⬚\n■■"  # pyright: ignore[reportArgumentType]
    assert draw(masks.padding(np.array([1]), 2)) == "■⬚"  # pyright: ignore[reportArgumentType]
