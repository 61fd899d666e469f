"""TransformerBlock against nn.TransformerEncoderLayer."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.testing import assert_close

from attention_core import masks, positions
from attention_core.modules import MultiHeadAttention, TransformerBlock

BATCH, HEADS, LEN, D_MODEL, D_FF = 2, 3, 5, 33, 41

# float64 on both sides, sums of at most a few hundred terms.
EXACT: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-11}


def seeded(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def torch_layer(**options: Any) -> nn.TransformerEncoderLayer:
    """Not in eval mode: torch's fast path would then take over; dropout 0 gives the same numbers."""
    settings: dict[str, Any] = {
        "dim_feedforward": D_FF,
        "dropout": 0.0,
        "batch_first": True,
        "dtype": torch.float64,
        **options,
    }
    layer = nn.TransformerEncoderLayer(D_MODEL, HEADS, **settings)
    with torch.no_grad():
        for seed, (name, parameter) in enumerate(layer.named_parameters()):
            width = parameter.shape[-1] if parameter.dim() > 1 else 9.0
            shift = 1.0 if name in ("norm1.weight", "norm2.weight") else 0.0
            parameter.copy_(3 * seeded(*parameter.shape, seed=seed) / width**0.5 + shift)
    return layer


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("activation", [functional.relu, functional.gelu])
@pytest.mark.parametrize("bias", [True, False])
class TestAgainstTorchLayer:
    def test_values_and_gradients(self, norm_first: bool, activation, bias: bool):
        theirs = torch_layer(norm_first=norm_first, activation=activation, bias=bias, layer_norm_eps=1e-3)
        ours = TransformerBlock.from_torch(theirs)
        causal = torch.tril(torch.ones(LEN, LEN, dtype=torch.bool))
        is_padding = torch.tensor([[False, False, False, True, True], [False] * 5])
        results, gradients = [], []
        for attend in (
            lambda x: theirs(x, src_mask=~causal, src_key_padding_mask=is_padding),
            lambda x: ours(x, allowed=causal & masks.from_key_padding_mask(is_padding))[0],
        ):
            leaf = seeded(BATCH, LEN, D_MODEL).requires_grad_()
            results.append(attend(leaf))
            (results[-1] * seeded(BATCH, LEN, D_MODEL, seed=7)).sum().backward()
            gradients.append(leaf.grad)
        assert_close(results[1], results[0], **EXACT)
        assert_close(gradients[1], gradients[0], rtol=1e-9, atol=1e-9)  # layer norm divides by small deviations
        assert_close(ours.up_proj.weight.grad, theirs.linear1.weight.grad, rtol=1e-9, atol=1e-9)
        their_packed = theirs.self_attn.in_proj_weight.grad
        assert their_packed is not None
        assert_close(ours.attention.k_proj.weight.grad, their_packed.chunk(3)[1], rtol=1e-9, atol=1e-9)

    def test_trace_is_of_the_attention_inside(self, norm_first: bool, activation, bias: bool):
        theirs = torch_layer(norm_first=norm_first, activation=activation, bias=bias)
        x = seeded(BATCH, LEN, D_MODEL)
        inner = theirs.norm1(x) if norm_first else x
        _, weights = theirs.self_attn(inner, inner, inner, average_attn_weights=False)
        _, trace = TransformerBlock.from_torch(theirs)(x)
        assert_close(trace.weights, weights, **EXACT)
        assert weights.max() > 0.9, "weights close to uniform would hide a mistake"


def test_every_option_reaches_the_attention():
    block = TransformerBlock(
        29, 6, d_k=10, d_v=7, num_kv_heads=2, d_ff=11, generator=torch.Generator().manual_seed(0), dtype=torch.float64
    )
    x = seeded(BATCH, LEN, 29)
    options: dict[str, Any] = {
        "allowed": torch.tril(torch.ones(LEN, LEN, dtype=torch.bool)),
        "bias": seeded(6, LEN, LEN, seed=3),
        "sinks": seeded(6, seed=4),
        "scale": 0.7,
        "softcap": 2.0,
        "rotary": positions.rotation(positions.rotary_angles(torch.arange(LEN), 10)),
        "keep": {"weights"},
    }
    output, trace = block(x, **options)
    attended, expected = block.attention(block.attention_norm(x), **options)
    assert_close(trace.weights, expected.weights, rtol=0, atol=0)
    assert trace.logits is None
    middle = x + attended
    assert_close(output, middle + block.feed_forward(block.feed_forward_norm(middle)), rtol=0, atol=0)


def test_seeded_weights():
    before = torch.get_rng_state()
    built = TransformerBlock(6, 3, generator=torch.Generator().manual_seed(1))
    reset = TransformerBlock(6, 3, generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        reset.attention_norm.weight.fill_(5.0)
    reset.reset_parameters(torch.Generator().manual_seed(1))
    assert torch.equal(torch.get_rng_state(), before)
    assert_close(dict(reset.state_dict()), dict(built.state_dict()), rtol=0, atol=0)
    assert built.up_proj.out_features == 24


def test_what_does_not_fit_is_named():
    with pytest.raises(TypeError, match=r"takes an nn\.TransformerEncoderLayer: got MultiHeadAttention"):
        TransformerBlock.from_torch(MultiHeadAttention(6, 3))  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match=r"x must be \(batch, len, 6\): got shape \(5, 6\); add a batch axis"):
        TransformerBlock(6, 3)(torch.zeros(5, 6))
    with pytest.raises(ValueError, match="d_ff must be at least 1: got 0"):
        TransformerBlock(6, 3, d_ff=0)
