"""The core against numbers that we did not write: torch's own function (values and gradients) and frozen decimals."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from attention_core import masks, scaled_dot_product_attention

BATCH, HEADS, KV_HEADS, Q_LEN, K_LEN, D_K, D_V = 2, 6, 3, 5, 7, 11, 13
FROZEN = json.loads((Path(__file__).parents[1] / "references" / "attention_frozen.json").read_text(encoding="utf-8"))

# (relative, absolute): sums of up to 13 terms in another order than torch's kernel, about ten roundings of the dtype;
# bfloat16 in torch's kernel rounds the weights before the weighted sum, ours after it
TOLERANCES = {torch.float64: (1e-12, 1e-13), torch.float32: (2e-5, 2e-6), torch.bfloat16: (2e-2, 2e-2)}
GRADIENT_TOLERANCES = {torch.float64: (1e-11, 1e-12), torch.float32: (2e-4, 1e-5), torch.bfloat16: (5e-2, 5e-2)}
DTYPES = tuple(TOLERANCES)
Inputs = tuple[Tensor, Tensor, Tensor]


def inputs(dtype: torch.dtype, kv_heads: int = HEADS, q_len: int = Q_LEN, k_len: int = K_LEN) -> Inputs:
    generator = torch.Generator().manual_seed(11)

    def normal(*shape: int) -> Tensor:
        return torch.randn(BATCH, *shape, generator=generator).to(dtype).requires_grad_()

    return normal(HEADS, q_len, D_K), normal(kv_heads, k_len, D_K), normal(kv_heads, k_len, D_V)


def random_mask(*shape: int) -> Tensor:
    mask = torch.rand(*shape, generator=torch.Generator().manual_seed(5)) < 0.6
    mask[..., 0] = True  # no empty row: those have tests of their own
    return mask


def compare(dtype: torch.dtype, tensors: Inputs, ours: dict[str, Any], theirs: dict[str, Any], *also: Tensor) -> None:
    """Outputs, then gradients of a weighting of them that treats every cell differently."""
    expected = F.scaled_dot_product_attention(*tensors, **theirs)
    actual = scaled_dot_product_attention(*tensors, **ours).output
    assert actual.dtype == dtype
    rtol, atol = TOLERANCES[dtype]
    torch.testing.assert_close(actual, expected, rtol=rtol, atol=atol)
    weighting = torch.randn(expected.shape, generator=torch.Generator().manual_seed(2)).to(dtype)
    rtol, atol = GRADIENT_TOLERANCES[dtype]
    wanted = torch.autograd.grad((expected * weighting).sum(), (*tensors, *also))
    found = torch.autograd.grad((actual * weighting).sum(), (*tensors, *also))
    for mine, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(mine, other, rtol=rtol, atol=atol)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("scale", [None, 0.7])
def test_no_mask(dtype: torch.dtype, scale: float | None) -> None:
    compare(dtype, inputs(dtype), {"scale": scale}, {"scale": scale})


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    "shape",
    [(Q_LEN, K_LEN), (BATCH, 1, 1, K_LEN), (BATCH, 1, Q_LEN, K_LEN), (BATCH, HEADS, Q_LEN, K_LEN), (HEADS, 1, K_LEN)],
)
def test_bool_masks_of_every_broadcast_shape(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    mask = random_mask(*shape)
    compare(dtype, inputs(dtype), {"allowed": mask}, {"attn_mask": mask})


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_additive_mask_as_bias_and_as_converted_mask(dtype: torch.dtype) -> None:
    mask = random_mask(BATCH, 1, Q_LEN, K_LEN)
    additive = masks.to_additive(mask, dtype=dtype)
    tensors = inputs(dtype)
    compare(dtype, tensors, {"bias": additive}, {"attn_mask": additive})
    compare(dtype, tensors, {"allowed": masks.from_additive(additive)}, {"attn_mask": additive})


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_bias_with_gradients_of_its_own(dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(8)
    bias = torch.randn(1, HEADS, Q_LEN, K_LEN, generator=generator).to(dtype).requires_grad_()
    compare(dtype, inputs(dtype), {"bias": bias}, {"attn_mask": bias}, bias)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("q_len, k_len", [(Q_LEN, Q_LEN), (Q_LEN, K_LEN), (K_LEN, Q_LEN)])
def test_causal_flag_is_the_top_left_form(dtype: torch.dtype, q_len: int, k_len: int) -> None:
    tensors = inputs(dtype, q_len=q_len, k_len=k_len)
    compare(dtype, tensors, {"allowed": masks.causal(q_len, k_len, offset=0)}, {"is_causal": True})


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("kv_heads", [1, 2, KV_HEADS, HEADS])
def test_grouped_heads(dtype: torch.dtype, kv_heads: int) -> None:
    mask = random_mask(BATCH, 1, Q_LEN, K_LEN)
    compare(
        dtype,
        inputs(dtype, kv_heads=kv_heads),
        {"allowed": mask, "enable_gqa": True, "scale": 0.4},
        {"attn_mask": mask, "enable_gqa": True, "scale": 0.4},
    )


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
def test_empty_rows_as_torch_defines_them(dtype: torch.dtype) -> None:
    mask = random_mask(BATCH, 1, Q_LEN, K_LEN)
    mask[1, 0, 2] = False
    compare(dtype, inputs(dtype), {"allowed": mask}, {"attn_mask": mask})


def test_gradients_against_finite_differences() -> None:
    tensors = tuple(t[:1, :2].detach().double().requires_grad_() for t in inputs(torch.float64))
    mask = random_mask(Q_LEN, K_LEN)
    mask[3] = False
    generator = torch.Generator().manual_seed(4)
    bias = torch.randn(Q_LEN, K_LEN, generator=generator, dtype=torch.float64).requires_grad_()
    sinks = torch.randn(2, generator=generator, dtype=torch.float64).requires_grad_()

    def output(query: Tensor, key: Tensor, value: Tensor, bias: Tensor, sinks: Tensor) -> Tensor:
        return scaled_dot_product_attention(
            query, key, value, allowed=mask, bias=bias, sinks=sinks, softcap=1.5, scale=0.9
        ).output

    assert torch.autograd.gradcheck(output, (*tensors, bias, sinks))


@pytest.mark.parametrize("case", FROZEN["cases"], ids=lambda case: case["name"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_frozen_decimals(case: dict[str, Any], dtype: torch.dtype) -> None:
    query, key, value = (torch.tensor(FROZEN[name], dtype=dtype) for name in ("query", "key", "value"))
    options = dict(case["options"])
    for name in ("bias", "sinks"):
        if name in options:
            options[name] = torch.tensor(options[name], dtype=dtype)
    trace = scaled_dot_product_attention(
        query, key, value, allowed=torch.tensor(case["allowed"]), enable_gqa=True, **options
    )
    # the frozen numbers are exact to float64; what is left is our own rounding
    rtol, atol = (1e-14, 1e-15) if dtype == torch.float64 else (3e-6, 3e-7)
    torch.testing.assert_close(trace.weights, torch.tensor(case["weights"], dtype=dtype), rtol=rtol, atol=atol)
    torch.testing.assert_close(trace.output, torch.tensor(case["output"], dtype=dtype), rtol=rtol * 10, atol=atol)


def test_large_stages_in_given_memory_are_bit_equal_to_small_ones() -> None:
    # above 4 MB per stage the passes write into memory of their own unless autograd watches
    generator = torch.Generator().manual_seed(9)
    query, key, value = (torch.randn(1, 5, 491, 8, generator=generator) for _ in range(3))
    mask = masks.causal(491) & masks.padding([450], 491, side="left")
    with torch.inference_mode():
        plain = scaled_dot_product_attention(query, key, value, allowed=mask)
    watched = scaled_dot_product_attention(query.clone().requires_grad_(), key, value, allowed=mask)
    assert math.prod(plain.weights.shape) * 4 > 4 * 2**20  # pyright: ignore[reportOptionalMemberAccess]
    for stage in ("scores", "scaled", "capped", "logits", "weights", "output"):
        torch.testing.assert_close(getattr(plain, stage), getattr(watched, stage).detach(), rtol=0, atol=0)
