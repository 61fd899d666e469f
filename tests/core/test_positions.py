"""Position encodings against their formulas and against transformers' own functions."""

import math
from typing import Any

import pytest
import torch
from torch.testing import assert_close
from transformers import LlamaConfig, T5Config
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.gptj.modeling_gptj import apply_rotary_pos_emb as gptj_rotary
from transformers.models.gptj.modeling_gptj import create_sinusoidal_positions
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb
from transformers.models.t5.modeling_t5 import T5Attention

from attention_core import positions

# float32 against float64 of the same formula: a few units in the last place of numbers up to 1.
ROUNDING: dict[str, Any] = {"rtol": 0.0, "atol": 1e-6}


def seeded(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


class TestDocuments:
    def test_restart_where_the_document_changes(self):
        ids = torch.tensor([[4, 4, 4, 1, 1, 4, 4], [2, 3, 3, 3, 3, 3, 9]])
        expected = torch.tensor([[0, 1, 2, 0, 1, 0, 1], [0, 0, 1, 2, 3, 4, 0]])
        assert torch.equal(positions.from_documents(ids), expected)
        assert torch.equal(positions.from_documents(ids[0]), expected[0])

    def test_refuses_what_are_no_ids(self):
        with pytest.raises(TypeError, match=r"document_ids must be integers: got torch\.float32"):
            positions.from_documents(torch.zeros(3))
        with pytest.raises(ValueError, match="needs at least a len axis"):
            positions.from_documents(torch.tensor(3))


class TestAddedToTheEmbedding:
    def test_none_is_zero(self):
        encoding = positions.none(torch.arange(5), 7, dtype=torch.float64)
        assert_close(encoding, torch.zeros(5, 7, dtype=torch.float64), rtol=0, atol=0)

    @pytest.mark.parametrize("d_model", [1, 7, 10])
    def test_sinusoidal_by_the_formula(self, d_model: int):
        ids = torch.tensor([[0, 1, 2, 500, 4095], [3, 0, 7, 1, 11]])
        expected = torch.tensor(
            [
                [
                    [
                        (math.sin, math.cos)[column % 2](position / 10000 ** ((column - column % 2) / d_model))
                        for column in range(d_model)
                    ]
                    for position in row
                ]
                for row in ids.tolist()
            ],
            dtype=torch.float64,
        )
        # float64 on both sides; the sine of an angle up to 4095 loses about 12 of 52 bits.
        assert_close(positions.sinusoidal(ids, d_model, dtype=torch.float64), expected, rtol=0, atol=1e-12)
        assert positions.sinusoidal(ids, d_model).dtype == torch.float32

    def test_learned_reads_its_table(self):
        learned = positions.LearnedPositions(11, 7, generator=torch.Generator().manual_seed(3))
        ids = torch.tensor([[0, 10, 3], [3, 3, 1]])
        assert_close(learned(ids), torch.stack([learned.table[row] for row in ids]), rtol=0, atol=0)

    def test_learned_names_the_position_it_lacks(self):
        learned = positions.LearnedPositions(11, 7, generator=torch.Generator())
        with pytest.raises(IndexError, match=r"go from 0 to 10: got 0 to 11; shorten"):
            learned(torch.arange(12))
        with pytest.raises(IndexError, match="got -1 to 4"):  # plain indexing would wrap around to the last row
            learned(torch.arange(-1, 5))

    def test_seeded_draw_leaves_the_global_generator_alone(self):
        before = torch.get_rng_state()
        first, second = (
            positions.LearnedPositions(5, 3, generator=torch.Generator().manual_seed(1), dtype=dtype)
            for dtype in (torch.float32, torch.float64)
        )
        positions.T5RelativeBias(3, bidirectional=True, generator=torch.Generator().manual_seed(1))
        assert torch.equal(torch.get_rng_state(), before)
        assert_close(first.table, second.table.float(), rtol=0, atol=0)  # one seed, every dtype

    @pytest.mark.parametrize("encode", [positions.none, positions.sinusoidal, positions.rotary_angles])
    def test_positions_must_be_integers(self, encode):
        with pytest.raises(TypeError, match="must be integers"):
            encode(torch.zeros(5), 4)


class TestRotary:
    def test_by_hand(self):
        x = torch.tensor([[1.0, 10.0, 2.0, 20.0]], dtype=torch.float64)  # (len 1, d 4)
        angles = torch.tensor([[math.pi / 2, 0.0]], dtype=torch.float64)
        # The first pair makes a quarter turn: (a, b) -> (-b, a). The second pair stays.
        half_split = torch.tensor([[-2.0, 10.0, 1.0, 20.0]], dtype=torch.float64)
        interleaved = torch.tensor([[-10.0, 1.0, 2.0, 20.0]], dtype=torch.float64)
        assert_close(positions.apply_rotary(x, angles), half_split)
        assert_close(positions.apply_rotary_interleaved(x, angles), interleaved)

    @pytest.mark.parametrize("base", [10000.0, 500000.0])
    def test_half_split_is_llama(self, base: float):
        batch, heads, length, d_k = 2, 3, 5, 14
        ids = torch.tensor([[0, 0, 0, 1, 2], [0, 1, 2, 3, 11]])
        config = LlamaConfig(
            hidden_size=heads * d_k,
            num_attention_heads=heads,
            rope_parameters={"rope_type": "default", "rope_theta": base},
        )
        query, key = seeded(batch, heads, length, d_k), seeded(batch, 1, length, d_k, seed=1)
        cos, sin = LlamaRotaryEmbedding(config)(query, ids)
        theirs = apply_rotary_pos_emb(query, key, cos, sin)
        ours = positions.rotation(positions.rotary_angles(ids, d_k, base=base))(query, key)
        assert_close(ours[0], theirs[0], rtol=0, atol=1e-5)  # Llama's angles are float32, ours float64
        assert_close(ours[1], theirs[1], rtol=0, atol=1e-5)

    def test_interleaved_is_gpt_j(self):
        batch, heads, length, d_k = 2, 3, 7, 10
        x = seeded(batch, heads, length, d_k)
        sin, cos = create_sinusoidal_positions(length, d_k).chunk(2, dim=-1)
        theirs = gptj_rotary(x.transpose(1, 2), sin.expand(batch, -1, -1), cos.expand(batch, -1, -1)).transpose(1, 2)
        ours = positions.apply_rotary_interleaved(x, positions.rotary_angles(torch.arange(length), d_k))
        assert_close(ours, theirs, rtol=0, atol=1e-5)  # float32 angles on their side

    def test_interleaved_is_half_split_in_another_order(self):
        d_k = 10
        x, angles = seeded(2, 3, 5, d_k, dtype=torch.float64), positions.rotary_angles(torch.arange(5), d_k)
        order = torch.cat([torch.arange(0, d_k, 2), torch.arange(1, d_k, 2)])
        assert_close(
            positions.apply_rotary_interleaved(x, angles)[..., order], positions.apply_rotary(x[..., order], angles)
        )
        assert (positions.apply_rotary_interleaved(x, angles) - positions.apply_rotary(x, angles)).abs().max() > 0.5

    @pytest.mark.parametrize("apply", [positions.apply_rotary, positions.apply_rotary_interleaved])
    def test_scores_know_the_distance_only(self, apply):
        query, key = seeded(1, 2, 7, 6, dtype=torch.float64), seeded(1, 2, 7, 6, seed=1, dtype=torch.float64)

        def scores(shift: int) -> torch.Tensor:
            turned = positions.rotation(positions.rotary_angles(torch.arange(7) + shift, 6), apply=apply)(query, key)
            return turned[0] @ turned[1].transpose(-2, -1)

        assert_close(scores(0), scores(1000))
        assert (scores(0) - query @ key.transpose(-2, -1)).abs().max() > 0.5

    @pytest.mark.parametrize("apply", [positions.apply_rotary, positions.apply_rotary_interleaved])
    def test_features_beyond_the_angles_stay(self, apply):
        x, angles = seeded(2, 3, 5, 11), positions.rotary_angles(torch.arange(5), 4)
        turned = apply(x, angles)
        assert_close(turned[..., 4:], x[..., 4:], rtol=0, atol=0)
        assert_close(turned[..., :4], apply(x[..., :4], angles), rtol=0, atol=0)

    def test_queries_and_keys_turn_by_their_own_angles(self):
        query, key = seeded(1, 2, 1, 6), seeded(1, 2, 5, 6, seed=1)
        last, all_five = positions.rotary_angles(torch.tensor([4]), 6), positions.rotary_angles(torch.arange(5), 6)
        turned = positions.rotation(last, all_five)(query, key)
        assert_close(turned[0], positions.apply_rotary(query, last), rtol=0, atol=0)
        assert_close(turned[1], positions.apply_rotary(key, all_five), rtol=0, atol=0)

    @pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
    def test_half_precision_rounds_once(self, dtype: torch.dtype):
        x, angles = seeded(2, 3, 5, 6).to(dtype), positions.rotary_angles(torch.arange(5) + 4000, 6)
        expected = positions.apply_rotary(x.double(), angles).to(dtype)
        assert positions.apply_rotary(x, angles).dtype == dtype
        # The exact result, rounded once: sine and cosine in half precision would leave other last bits.
        assert_close(positions.apply_rotary(x, angles), expected, rtol=0, atol=0)

    def test_shapes_that_do_not_fit_are_named(self):
        x = seeded(2, 3, 5, 6)
        with pytest.raises(ValueError, match="d_k must be even and positive: got 7"):
            positions.rotary_angles(torch.arange(5), 7)
        with pytest.raises(ValueError, match="turn 8 features: got x with 6"):
            positions.apply_rotary(x, positions.rotary_angles(torch.arange(5), 8))
        with pytest.raises(ValueError, match="got 7 positions for len 5"):
            positions.apply_rotary(x, positions.rotary_angles(torch.arange(7), 6))
        with pytest.raises(ValueError, match="got 1 positions for len 5"):
            positions.apply_rotary(x, positions.rotary_angles(torch.arange(1), 6))
        with pytest.raises(ValueError, match=r"need x of \(batch, heads, len, d\)"):
            positions.apply_rotary(x[0], positions.rotary_angles(torch.arange(5).expand(2, 5), 6))
        with pytest.raises(ValueError, match="got 3 rows for batch 2"):
            positions.apply_rotary(x, positions.rotary_angles(torch.arange(5).expand(3, 5), 6))


class TestAlibi:
    @pytest.mark.parametrize("heads", [1, 2, 3, 5, 8, 11, 12, 16, 40, 71, 112])
    def test_softmax_sees_what_bloom_gives(self, heads: int):
        is_token = torch.tensor([[0, 0, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 1]])
        ids = (is_token.cumsum(-1) - 1) * is_token
        theirs = build_alibi_tensor(is_token, heads, torch.float32).view(2, heads, 1, 7)
        ours = positions.alibi_bias(positions.alibi_slopes(heads), ids)
        causal = torch.tril(torch.ones(7, 7, dtype=torch.bool))
        hidden = ~(causal & is_token.bool()[:, None, None, :])
        valid = is_token.bool()[:, None, :].expand(2, heads, 7)
        weights = [torch.softmax(bias.masked_fill(hidden, -1e30), dim=-1)[valid] for bias in (ours, theirs)]
        assert_close(*weights, **ROUNDING)

    def test_by_hand_between_other_positions(self):
        bias = positions.alibi_bias(torch.tensor([0.5, 0.25]), torch.tensor([3, 4]), torch.arange(5))
        distance = torch.tensor([[3.0, 2.0, 1.0, 0.0, 1.0], [4.0, 3.0, 2.0, 1.0, 0.0]])
        assert_close(bias, torch.stack([-0.5 * distance, -0.25 * distance]), rtol=0, atol=0)

    def test_shapes(self):
        slopes = positions.alibi_slopes(3, dtype=torch.float64)
        batched = positions.alibi_bias(slopes, torch.arange(5).expand(2, 5), torch.arange(7).expand(2, 7))
        assert batched.shape == (2, 3, 5, 7)
        assert batched.dtype == torch.float64
        with pytest.raises(ValueError, match=r"slopes must be \(heads,\): got shape \(3, 1\)"):
            positions.alibi_bias(slopes[:, None], torch.arange(5))
        with pytest.raises(ValueError, match="heads must be at least 1: got 0"):
            positions.alibi_slopes(0)


class TestT5:
    @pytest.mark.parametrize("bidirectional", [True, False])
    @pytest.mark.parametrize("num_buckets, max_distance", [(32, 128), (32, 20), (8, 31), (14, 100), (6, 7), (18, 128)])
    # With 18 buckets, distances 8, 16 and 64 fall elsewhere if the logarithm is taken in float64.
    def test_buckets_are_t5s(self, bidirectional: bool, num_buckets: int, max_distance: int):
        relative = torch.arange(-300, 301)
        theirs = T5Attention._relative_position_bucket(
            relative, bidirectional=bidirectional, num_buckets=num_buckets, max_distance=max_distance
        )
        ours = positions.t5_buckets(
            relative, bidirectional=bidirectional, num_buckets=num_buckets, max_distance=max_distance
        )
        assert torch.equal(ours, theirs)

    @pytest.mark.parametrize("is_decoder", [False, True])
    def test_bias_is_t5s(self, is_decoder: bool):
        heads, q_len, k_len, past = 3, 5, 37, 31
        config = T5Config(d_model=6, d_kv=2, num_heads=heads, relative_attention_max_distance=23)
        config.is_decoder = is_decoder
        theirs = T5Attention(config, has_relative_attention_bias=True, layer_idx=0)
        ours = positions.T5RelativeBias(heads, bidirectional=not is_decoder, max_distance=23)
        with torch.no_grad():
            theirs.relative_attention_bias.weight.copy_(seeded(32, heads))
            ours.table.copy_(seeded(32, heads))
        expected = theirs.compute_bias(q_len, k_len, past_seen_tokens=past)
        bias = ours(torch.arange(q_len) + past, torch.arange(k_len))
        assert_close(bias, expected[0], rtol=0, atol=0)
        batched = ours((torch.arange(q_len) + past).expand(2, -1), torch.arange(k_len).expand(2, -1))
        assert_close(batched, expected.expand(2, -1, -1, -1), rtol=0, atol=0)

    def test_too_few_buckets(self):
        for numbers in ({"num_buckets": 3}, {"num_buckets": 32, "max_distance": 8}):
            with pytest.raises(ValueError, match="need room for near and far"):
                positions.t5_buckets(torch.arange(3), bidirectional=True, **numbers)
