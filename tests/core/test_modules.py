"""MultiHeadAttention and SelfAttention against torch's own modules."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from attention_core import masks, positions
from attention_core.attention import scaled_dot_product_attention
from attention_core.modules import MultiHeadAttention, SelfAttention

BATCH, HEADS, Q_LEN, K_LEN, D_K, D_V, D_MODEL, KEY_DIM, VALUE_DIM = 2, 3, 5, 7, 11, 13, 33, 17, 19

# float64 on both sides, sums of at most a few hundred terms of size 1.
EXACT: dict[str, Any] = {"rtol": 1e-12, "atol": 1e-12}


def seeded(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def sharpen(module: nn.Module, seed: int = 100) -> None:
    """Weights three times their usual size and biases that are not zero, so that attention is far from uniform."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            values = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            width = parameter.shape[-1] if parameter.dim() > 1 else 9.0
            parameter.copy_(3 * values / width**0.5 + (1.0 if "norm" in name and "weight" in name else 0.0))


def torch_attention(**options: Any) -> nn.MultiheadAttention:
    settings: dict[str, Any] = {"batch_first": True, "dtype": torch.float64, **options}
    module = nn.MultiheadAttention(D_MODEL, HEADS, **settings).eval()
    sharpen(module)
    return module


def gradient_of(parameter: Tensor) -> Tensor:
    assert parameter.grad is not None
    return parameter.grad


def causal_without_key_2() -> Tensor:
    allowed = torch.tril(torch.ones(Q_LEN, Q_LEN, dtype=torch.bool))
    allowed[3:, 2] = False
    return allowed


class TestAgainstTorchModule:
    @pytest.mark.parametrize("bias", [True, False])
    @pytest.mark.parametrize("batch_first", [True, False])
    def test_self_attention(self, bias: bool, batch_first: bool):
        theirs = torch_attention(bias=bias, batch_first=batch_first)
        ours = MultiHeadAttention.from_torch(theirs)
        x = seeded(BATCH, Q_LEN, D_MODEL)
        their_x = x if batch_first else x.transpose(0, 1)
        expected, weights = theirs(their_x, their_x, their_x, average_attn_weights=False)
        output, trace = ours(x)
        assert_close(output, expected if batch_first else expected.transpose(0, 1), **EXACT)
        assert_close(trace.weights, weights, **EXACT)
        assert weights.max() > 0.9, "weights close to uniform would hide a mistake"

    @pytest.mark.parametrize("bias", [True, False])
    @pytest.mark.parametrize("widths", [{}, {"kdim": KEY_DIM, "vdim": VALUE_DIM}, {"kdim": KEY_DIM}])
    def test_cross_attention(self, bias: bool, widths: dict[str, int]):
        theirs = torch_attention(bias=bias, **widths)
        ours = MultiHeadAttention.from_torch(theirs)
        query = seeded(BATCH, Q_LEN, D_MODEL)
        key = seeded(BATCH, K_LEN, widths.get("kdim", D_MODEL), seed=1)
        value = seeded(BATCH, K_LEN, widths.get("vdim", D_MODEL), seed=2)
        expected, weights = theirs(query, key, value, average_attn_weights=False)
        output, trace = ours(query, key, value)
        assert_close(output, expected, **EXACT)
        assert_close(trace.weights, weights, **EXACT)

    def test_bool_attn_mask(self):
        theirs, allowed, x = torch_attention(), causal_without_key_2(), seeded(BATCH, Q_LEN, D_MODEL)
        expected, weights = theirs(x, x, x, attn_mask=masks.to_blocked(allowed), average_attn_weights=False)
        output, trace = MultiHeadAttention.from_torch(theirs)(x, allowed=allowed)
        assert_close(output, expected, **EXACT)
        assert_close(trace.weights, weights, **EXACT)

    def test_float_attn_mask_is_a_bias(self):
        theirs, x = torch_attention(), seeded(BATCH, Q_LEN, D_MODEL)
        added = seeded(Q_LEN, Q_LEN, seed=5).masked_fill(~causal_without_key_2(), -torch.inf)
        expected, weights = theirs(x, x, x, attn_mask=added, average_attn_weights=False)
        output, trace = MultiHeadAttention.from_torch(theirs)(x, bias=added)
        assert_close(output, expected, **EXACT)
        assert_close(trace.weights, weights, **EXACT)

    def test_per_head_attn_mask(self):
        theirs, x = torch_attention(), seeded(BATCH, Q_LEN, D_MODEL)
        allowed = seeded(BATCH, HEADS, Q_LEN, Q_LEN, seed=6) > 0
        allowed |= torch.eye(Q_LEN, dtype=torch.bool)
        expected, weights = theirs(x, x, x, attn_mask=(~allowed).flatten(0, 1), average_attn_weights=False)
        output, trace = MultiHeadAttention.from_torch(theirs)(x, allowed=allowed)
        assert_close(output, expected, **EXACT)
        assert_close(trace.weights, weights, **EXACT)

    def test_key_padding_mask_with_causal(self):
        theirs, x = torch_attention(), seeded(BATCH, Q_LEN, D_MODEL)
        is_padding = torch.tensor([[False, False, False, True, True], [False] * 5])
        causal = torch.tril(torch.ones(Q_LEN, Q_LEN, dtype=torch.bool))
        expected, weights = theirs(x, x, x, attn_mask=~causal, key_padding_mask=is_padding, average_attn_weights=False)
        output, trace = MultiHeadAttention.from_torch(theirs)(
            x, allowed=causal & masks.from_key_padding_mask(is_padding)
        )
        assert_close(output, expected, **EXACT)
        assert_close(trace.weights, weights, **EXACT)

    @pytest.mark.parametrize("separate", [False, True])
    def test_gradients(self, separate: bool):
        widths = {"kdim": KEY_DIM, "vdim": VALUE_DIM} if separate else {}
        theirs = torch_attention(**widths)
        ours = MultiHeadAttention.from_torch(theirs)
        shapes = [(Q_LEN, D_MODEL), (K_LEN, widths.get("kdim", D_MODEL)), (K_LEN, widths.get("vdim", D_MODEL))]
        inputs = [seeded(BATCH, *shape, seed=i) for i, shape in enumerate(shapes)]
        allowed = torch.tril(torch.ones(Q_LEN, K_LEN, dtype=torch.bool), diagonal=2)
        upstream = seeded(BATCH, Q_LEN, D_MODEL, seed=9)

        def gradients(attend: Callable[[list[Tensor]], Tensor]) -> list[Tensor]:
            leaves = [x.clone().requires_grad_() for x in inputs]
            (attend(leaves) * upstream).sum().backward()
            return [leaf.grad for leaf in leaves if leaf.grad is not None]

        expected = gradients(lambda leaves: theirs(*leaves, attn_mask=~allowed)[0])
        assert_close(gradients(lambda leaves: ours(*leaves, allowed=allowed)[0]), expected, **EXACT)
        packed = [theirs.q_proj_weight, theirs.k_proj_weight, theirs.v_proj_weight] if separate else []
        their_weights = [w.grad for w in packed] if separate else list(gradient_of(theirs.in_proj_weight).chunk(3))
        their_biases = list(gradient_of(theirs.in_proj_bias).chunk(3))
        ours_inputs = (ours.q_proj, ours.k_proj, ours.v_proj)
        assert_close([linear.weight.grad for linear in ours_inputs], their_weights, **EXACT)
        assert_close([linear.bias.grad for linear in ours_inputs], their_biases, **EXACT)
        assert_close(ours.out_proj.weight.grad, theirs.out_proj.weight.grad, **EXACT)
        assert_close(ours.out_proj.bias.grad, theirs.out_proj.bias.grad, **EXACT)

    @pytest.mark.parametrize(
        "dtype, tolerance",
        [
            (torch.float32, 3e-5),  # a few units in the last place of outputs up to 30; measured 5e-6
            (torch.bfloat16, 0.3),  # q, k, v of 8 bits, outputs up to 30; measured 0.10, torch's own module 0.14
        ],
    )
    def test_lower_precision(self, dtype: torch.dtype, tolerance: float):
        theirs = torch_attention(dtype=dtype)
        x = seeded(BATCH, Q_LEN, D_MODEL, dtype=dtype)
        output, trace = MultiHeadAttention.from_torch(theirs)(x)
        assert output.dtype == trace.weights.dtype == trace.output.dtype == dtype
        exact = theirs.double()(x.double(), x.double(), x.double())[0]
        assert_close(output.double(), exact, rtol=0, atol=tolerance)

    def test_the_copy_is_a_copy(self):
        theirs = torch_attention()
        ours = MultiHeadAttention.from_torch(theirs)
        before = copy.deepcopy(theirs.state_dict())
        with torch.no_grad():
            for parameter in ours.parameters():
                parameter.add_(1.0)
        assert_close(dict(theirs.state_dict()), dict(before), rtol=0, atol=0)

    @pytest.mark.parametrize("option", ["add_bias_kv", "add_zero_attn"])
    def test_refuses_keys_that_are_no_tokens(self, option: str):
        with pytest.raises(ValueError, match=f"got {option}=True; build the module without it"):
            MultiHeadAttention.from_torch(nn.MultiheadAttention(D_MODEL, HEADS, **{option: True}))

    def test_refuses_other_modules(self):
        with pytest.raises(TypeError, match=r"takes an nn\.MultiheadAttention: got Linear"):
            MultiHeadAttention.from_torch(nn.Linear(3, 3))  # pyright: ignore[reportArgumentType]


class TestWidthsAndHeads:
    def make(self, **options: Any) -> MultiHeadAttention:
        settings: dict[str, Any] = {"d_k": D_K, "d_v": D_V, "dtype": torch.float64, **options}
        module = MultiHeadAttention(29, 6, **settings)
        sharpen(module)
        return module

    @pytest.mark.parametrize("kv_heads", [6, 3, 2, 1])
    def test_heads_one_by_one(self, kv_heads: int):
        """Each query head alone, with the key/value head of its group, by slices of the weight matrices."""
        module = self.make(num_kv_heads=kv_heads)
        query_input, key_input = seeded(BATCH, Q_LEN, 29), seeded(BATCH, K_LEN, 29, seed=1)
        output, trace = module(query_input, key_input)
        expected = module.out_proj.bias.expand(BATCH, Q_LEN, 29).clone()
        for head in range(6):
            shared = head // (6 // kv_heads)
            rows_q, rows_k = slice(head * D_K, (head + 1) * D_K), slice(shared * D_K, (shared + 1) * D_K)
            rows_v, columns = slice(shared * D_V, (shared + 1) * D_V), slice(head * D_V, (head + 1) * D_V)
            query = query_input @ module.q_proj.weight[rows_q].T + module.q_proj.bias[rows_q]
            key = key_input @ module.k_proj.weight[rows_k].T + module.k_proj.bias[rows_k]
            value = key_input @ module.v_proj.weight[rows_v].T + module.v_proj.bias[rows_v]
            weights = torch.softmax(query @ key.transpose(-2, -1) / D_K**0.5, dim=-1)
            assert_close(trace.weights[:, head], weights, **EXACT)
            assert_close(trace.output[:, head], weights @ value, **EXACT)
            expected += weights @ value @ module.out_proj.weight[:, columns].T
        assert_close(output, expected, **EXACT)
        assert trace.scores.shape == (BATCH, 6, Q_LEN, K_LEN)

    def test_parts_make_the_whole(self):
        module = self.make(num_kv_heads=2)
        x, allowed = seeded(BATCH, Q_LEN, 29), causal_without_key_2()
        angles = positions.rotary_angles(torch.arange(Q_LEN), D_K - 1)
        turn = positions.rotation(angles)
        query, key, value = module.project(x, rotary=turn)
        assert [t.shape for t in (query, key, value)] == [(2, 6, 5, 11), (2, 2, 5, 11), (2, 2, 5, 13)]
        parts = scaled_dot_product_attention(query, key, value, allowed=allowed, enable_gqa=True)
        output, trace = module(x, allowed=allowed, rotary=turn)
        assert_close(trace.weights, parts.weights, rtol=0, atol=0)
        assert_close(output, module.combine(parts.output), rtol=0, atol=0)

    def test_every_option_reaches_the_core(self):
        module = self.make()
        x, bias, sinks = seeded(BATCH, Q_LEN, 29), seeded(6, Q_LEN, Q_LEN, seed=3), seeded(6, seed=4)
        options: dict[str, Any] = {
            "bias": bias,
            "sinks": sinks,
            "scale": 0.7,
            "softcap": 2.0,
            "allowed": causal_without_key_2(),
        }
        _, trace = module(x, **options, keep={"logits", "weights"})
        expected = scaled_dot_product_attention(*module.project(x), **options)
        assert_close(trace.logits, expected.logits, rtol=0, atol=0)
        assert_close(trace.weights, expected.weights, rtol=0, atol=0)
        assert_close(trace.sink_weight, expected.sink_weight, rtol=0, atol=0)
        assert trace.scores is trace.scaled is trace.capped is None
        assert trace.scale == 0.7

    def test_value_input_defaults_to_key_input(self):
        module = self.make()
        query_input, key_input = seeded(BATCH, Q_LEN, 29), seeded(BATCH, K_LEN, 29, seed=1)
        assert_close(module(query_input, key_input)[0], module(query_input, key_input, key_input)[0], rtol=0, atol=0)

    def test_defaults(self):
        module = MultiHeadAttention(33, 3)
        assert (module.d_k, module.d_v, module.num_kv_heads) == (11, 11, 3)
        assert MultiHeadAttention(33, 3, d_k=5).d_v == 5
        assert MultiHeadAttention(33, 3, key_dim=7).value_dim == 7
        assert [p for p in MultiHeadAttention(33, 3, bias=False).state_dict() if "bias" in p] == []

    @pytest.mark.parametrize(
        "arguments, message",
        [
            ({"d_model": 10, "num_heads": 3}, "multiple of num_heads where d_k is not given: got 10 and 3; give d_k"),
            ({"d_model": 12, "num_heads": 6, "num_kv_heads": 4}, "multiple of num_kv_heads: got 6 and 4"),
            ({"d_model": 12, "num_heads": 0}, "num_heads must be at least 1: got 0"),
            ({"d_model": 12, "num_heads": 3, "d_v": 0}, "d_v must be at least 1: got 0"),
            ({"d_model": 12, "num_heads": 3, "num_kv_heads": 0}, "num_kv_heads must be at least 1: got 0"),
        ],
    )
    def test_sizes_that_do_not_fit(self, arguments: dict[str, Any], message: str):
        with pytest.raises(ValueError, match=message):
            MultiHeadAttention(**arguments)

    def test_inputs_that_do_not_fit(self):
        module = self.make()
        x = seeded(BATCH, Q_LEN, 29)
        with pytest.raises(
            ValueError, match=r"query_input must be \(batch, len, 29\): got shape \(5, 29\); add a batch"
        ):
            module(x[0])
        with pytest.raises(ValueError, match=r"must be \(batch, len, 29\): got shape \(1, 2, 5, 29\)$"):
            module(x[None])
        with pytest.raises(ValueError, match=r"key_input must have width 29 on its last axis: got shape \(2, 7, 31\)"):
            module(x, seeded(BATCH, K_LEN, 31))
        with pytest.raises(ValueError, match="got 2 for queries, 7 for keys, 7 for values"):
            module(x, seeded(K_LEN, BATCH, 29))
        with pytest.raises(ValueError, match="got value_input alone"):
            module(x, None, x)
        with pytest.raises(ValueError, match="same k_len: got 5 and 7"):
            module(x, x, seeded(BATCH, K_LEN, 29))
        with pytest.raises(TypeError, match=r"weights, torch\.float64: got torch\.float32; use \.to"):
            module(x.float())


class TestSeededWeights:
    def test_one_seed_one_module_and_the_global_generator_untouched(self):
        before = torch.get_rng_state()
        first, second = (
            MultiHeadAttention(33, 3, generator=torch.Generator().manual_seed(5), dtype=dtype)
            for dtype in (torch.float32, torch.float64)
        )
        SelfAttention(33, 5, 7, generator=torch.Generator().manual_seed(5))
        MultiHeadAttention.from_torch(nn.MultiheadAttention(6, 2, device="meta").to_empty(device="cpu"))
        assert torch.equal(torch.get_rng_state(), before)
        assert_close(
            {name: value.double() for name, value in first.state_dict().items()},
            {name: value.float().double() for name, value in second.state_dict().items()},
            rtol=0,
            atol=0,
        )
        second.reset_parameters(torch.Generator().manual_seed(6))
        assert (first.q_proj.weight - second.q_proj.weight).abs().max() > 0.1

    @pytest.mark.parametrize("d_k", [4, 64])
    def test_unit_variance_in_gives_unit_variance_queries_and_keys(self, d_k: int):
        module = MultiHeadAttention(256, 4, d_k=d_k, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        query, key, _ = module.project(seeded(4, 64, 256, seed=1))
        # Sample variance over 256 tokens and at least 16 features: a spread of about sqrt(2 / (256 * 16)) and less.
        assert_close(torch.stack([query.var(), key.var()]), torch.ones(2, dtype=torch.float64), rtol=0, atol=0.1)


class TestSelfAttention:
    def test_is_the_formula(self):
        module = SelfAttention(D_MODEL, D_K, D_V, dtype=torch.float64)
        sharpen(module)
        x, allowed = seeded(BATCH, Q_LEN, D_MODEL), causal_without_key_2()
        output, trace = module(x, allowed=allowed)
        query, key, value = (
            x @ linear.weight.T + linear.bias for linear in (module.q_proj, module.k_proj, module.v_proj)
        )
        logits = (query @ key.transpose(-2, -1) / D_K**0.5).masked_fill(~allowed, -torch.inf)
        assert_close(trace.weights, torch.softmax(logits, dim=-1).unsqueeze(1), **EXACT)
        assert_close(output, torch.softmax(logits, dim=-1) @ value, **EXACT)
        assert output.shape == (BATCH, Q_LEN, D_V)

    def test_is_one_head_of_the_larger_module(self):
        single = SelfAttention(D_MODEL, D_K, D_V, dtype=torch.float64)
        many = MultiHeadAttention(D_MODEL, 1, d_k=D_K, d_v=D_V, dtype=torch.float64)
        sharpen(single)
        many.load_state_dict(single.state_dict(), strict=False)
        x = seeded(BATCH, Q_LEN, D_MODEL)
        options: dict[str, Any] = {
            "allowed": masks.padding([3, 5], Q_LEN),
            "bias": seeded(Q_LEN, Q_LEN, seed=2),
            "scale": 0.3,
            "softcap": 5.0,
            "rotary": positions.rotation(positions.rotary_angles(torch.arange(Q_LEN), 10)),
            "keep": {"logits"},
        }
        assert_close(single(x, **options)[1].logits, many(x, **options)[1].logits, rtol=0, atol=0)
        assert single(x, **options)[1].scores is None
        assert_close(single(x, **options)[0], many(x, **options)[1].output[:, 0], rtol=0, atol=0)

    def test_needs_three_axes(self):
        with pytest.raises(ValueError, match=r"x must be \(batch, len, 33\): got shape \(33,\)"):
            SelfAttention(D_MODEL, D_K, D_V)(torch.zeros(D_MODEL))
