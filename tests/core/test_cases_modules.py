"""Reported mistakes with heads, batches and positions, reduced to small inputs; named after the list of cases."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from attention_core import masks, positions
from attention_core.attention import ALL_STAGES, scaled_dot_product_attention
from attention_core.modules import MultiHeadAttention, merge_heads, split_heads

CAUSAL_3 = torch.tensor([[1.0, 0.0, 0.0], [1 / 2, 1 / 2, 0.0], [1 / 3, 1 / 3, 1 / 3]])


def seeded(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def seeded_attention(d_model: int, heads: int, **options: Any) -> MultiHeadAttention:
    generator = torch.Generator().manual_seed(100)
    module = MultiHeadAttention(d_model, heads, **options, generator=generator, dtype=torch.float64)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.mul_(3)
    return module


def uniform_attention(d_model: int) -> MultiHeadAttention:
    """One head whose scores are all 0 and whose values are the inputs."""
    module = MultiHeadAttention(d_model, 1, bias=False)
    with torch.no_grad():
        for linear, weight in (
            (module.q_proj, torch.zeros(d_model, d_model)),
            (module.v_proj, torch.eye(d_model)),
            (module.out_proj, torch.eye(d_model)),
        ):
            linear.weight.copy_(weight)
    return module


@pytest.mark.parametrize("keep", [ALL_STAGES, frozenset({"weights"}), frozenset()])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("with_padding_mask", [True, False])
def test_c30_causal_holds_whatever_else_is_asked_for(keep: frozenset[str], training: bool, with_padding_mask: bool):
    allowed = masks.causal(3)
    if with_padding_mask:
        allowed = allowed & masks.padding([3], 3)
    output, trace = uniform_attention(3).train(training)(torch.eye(3).unsqueeze(0), allowed=allowed, keep=keep)
    assert_close(output[0], CAUSAL_3)  # values are the identity, so the output is the weights
    if "weights" in keep:
        assert_close(trace.weights[0, 0], CAUSAL_3)
    else:
        assert trace.weights is None


def test_c30_torch_takes_is_causal_as_a_hint_only():
    x = torch.eye(3).unsqueeze(0)
    with pytest.raises(RuntimeError, match="Need attn_mask if specifying the is_causal hint"):
        nn.MultiheadAttention(3, 1, batch_first=True)(x, x, x, is_causal=True)


def test_c75_heads_are_cut_from_features_not_from_the_sequence():
    x = torch.arange(16).view(1, 4, 4)
    head_0 = [[0, 1], [4, 5], [8, 9], [12, 13]]
    head_1 = [[2, 3], [6, 7], [10, 11], [14, 15]]
    assert split_heads(x, 2).tolist() == [[head_0, head_1]]
    assert x.view(1, 2, 4, 2)[0, 0].tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]], "what the mistake gives"


def test_c75_a_token_reaches_no_row_but_its_own():
    module = seeded_attention(10, 2, num_kv_heads=1)
    x = seeded(1, 4, 10)
    changed = x.clone()
    changed[:, 3] += 1.0
    for before, after in zip(module.project(x), module.project(changed), strict=True):
        assert_close(after[:, :, :3], before[:, :, :3], rtol=0, atol=0)
        assert (after[:, :, 3] - before[:, :, 3]).abs().min() > 1e-3


def test_c76_heads_are_merged_token_by_token():
    heads = torch.tensor([[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]])
    assert merge_heads(heads).tolist() == [[[1, 2, 5, 6], [3, 4, 7, 8]]]
    assert heads.reshape(1, 2, 4).tolist() == [[[1, 2, 3, 4], [5, 6, 7, 8]]], "what the mistake gives"


def test_c75_c76_refuse_other_shapes():
    with pytest.raises(ValueError, match=r"split_heads needs \(batch, len, heads \* d\): got shape \(4, 4\)"):
        split_heads(torch.zeros(4, 4), 2)
    with pytest.raises(ValueError, match="multiple of heads: got width 4 and heads 3"):
        split_heads(torch.zeros(1, 4, 4), 3)
    with pytest.raises(ValueError, match=r"merge_heads needs \(batch, heads, len, d\): got shape \(2, 4, 4\)"):
        merge_heads(torch.zeros(2, 4, 4))


def test_c79_grouped_query_heads_share_keys_in_order():
    module = MultiHeadAttention(8, 4, d_k=1, num_kv_heads=2)
    with torch.no_grad():
        for linear, bias in ((module.q_proj, torch.ones(4)), (module.k_proj, torch.tensor([0.0, 1.0]))):
            linear.weight.zero_()
            linear.bias.copy_(bias)
        module.v_proj.weight.zero_()
        module.v_proj.bias.copy_(torch.tensor([0.0, 1.0]))
    _, trace = module(torch.zeros(1, 3, 8))
    assert trace.scores[0, :, 0, 0].tolist() == [0, 0, 1, 1]
    assert trace.output[0, :, 0, 0].tolist() == [0, 0, 1, 1]


def test_c81_attention_runs_over_the_sequence():
    x = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0))
    sequence_first = nn.MultiheadAttention(4, 1)
    assert sequence_first(x, x, x)[1].shape == (3, 2, 2), "the trap: three maps over the two samples"
    ours = MultiHeadAttention.from_torch(sequence_first)
    output, trace = ours(x)
    assert trace.weights.shape == (2, 1, 3, 3)
    changed = x.clone()
    changed[1] += 1.0
    assert_close(ours(changed)[0][0], output[0], rtol=0, atol=0)


def test_c83_left_padding_needs_positions_of_its_own():
    attention_mask = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
    ids = masks.position_ids(attention_mask)
    assert ids[0, 2:].tolist() == [0, 1, 2]
    assert ids[1].tolist() == [0, 1, 2, 3, 4]
    assert ids.min() >= 0
    assert masks.real_lengths(attention_mask).tolist() == [3, 5], "positions of the next tokens"

    module, embedded = seeded_attention(10, 2), seeded(2, 5, 10)
    alone, _ = module(embedded[:1, 2:] + positions.sinusoidal(torch.arange(3), 10), allowed=masks.causal(3))
    allowed = masks.from_attention_mask(attention_mask) & masks.causal(5)
    in_batch, _ = module(embedded + positions.sinusoidal(ids, 10), allowed=allowed)
    assert_close(in_batch[:1, 2:], alone)
    shared, _ = module(embedded + positions.sinusoidal(torch.arange(5), 10), allowed=allowed)
    assert (shared[:1, 2:] - alone).abs().max() > 0.1, "what positions 0 to 4 for every row would give"


def test_c83_learned_positions_take_the_filler():
    table = positions.LearnedPositions(5, 3, generator=torch.Generator())
    assert table(masks.position_ids(torch.tensor([[0, 0, 1, 1, 1]]))).shape == (1, 5, 3)


@pytest.mark.parametrize(
    "heads, expected",
    [
        (8, [0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625]),
        (12, [0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625, 0.7071, 0.3536, 0.1768, 0.0884]),
    ],
)
def test_c136_alibi_slopes(heads: int, expected: list[float]):
    # The reported numbers have four decimals.
    assert_close(positions.alibi_slopes(heads), torch.tensor(expected), rtol=0, atol=5e-5)


def test_c137_a_constant_in_a_row_of_bias_changes_nothing():
    scores = torch.tensor([1.0, 0.0, 2.0, 1.0])
    query, key = torch.ones(1, 1, 1, 1), scores.view(1, 1, 4, 1)
    expected = torch.tensor([0.0742, 0.0450, 0.5483, 0.3325])
    slopes = torch.tensor([0.5])
    for distance_from in (3, 4):
        bias = positions.alibi_bias(slopes, torch.tensor([distance_from]), torch.arange(4))
        trace = scaled_dot_product_attention(query, key, key, bias=bias, scale=1.0)
        assert trace.weights is not None
        assert_close(trace.weights[0, 0, 0], expected, rtol=0, atol=5e-5)  # the reported numbers have four decimals


def test_c106_restarted_positions_isolate_nothing():
    document_ids = torch.tensor([[0, 0, 0, 0, 1, 1]])
    x = torch.eye(6).unsqueeze(0)
    isolated = masks.causal(6) & masks.packed(document_ids)
    _, trace = uniform_attention(6)(x, allowed=isolated)
    assert trace.weights[0, 0, 4].tolist() == [0, 0, 0, 0, 1, 0]
    assert trace.weights[0, 0, 5].tolist() == [0, 0, 0, 0, 0.5, 0.5]
    _, leaking = uniform_attention(6)(x, allowed=masks.causal(6))
    assert leaking.weights is not None
    assert_close(leaking.weights[0, 0, 4:, :4].sum(-1), torch.tensor([4 / 5, 4 / 6]))

    module, tokens = seeded_attention(12, 2), seeded(1, 6, 12)
    turn = positions.rotation(positions.rotary_angles(positions.from_documents(document_ids), 6))
    other_first_document = torch.cat([seeded(1, 4, 12, seed=7), tokens[:, 4:]], dim=1)

    def second_document(x: Tensor, allowed: Tensor) -> Tensor:
        return module(x, allowed=allowed, rotary=turn)[0][:, 4:]

    assert_close(second_document(other_first_document, isolated), second_document(tokens, isolated), rtol=0, atol=0)
    moved = second_document(other_first_document, masks.causal(6)) - second_document(tokens, masks.causal(6))
    assert moved.abs().max() > 0.1


def test_c125_weights_are_those_before_dropout():
    theirs = nn.MultiheadAttention(10, 2, dropout=0.2, batch_first=True, dtype=torch.float64).train()
    ours = MultiHeadAttention.from_torch(theirs).train()
    x, causal = seeded(3, 7, 10), masks.causal(7)
    _, dropped = theirs(x, x, x, attn_mask=masks.to_blocked(causal), average_attn_weights=False)
    _, trace = ours(x, allowed=causal)
    assert_close(trace.weights.sum(-1), torch.ones(3, 2, 7, dtype=torch.float64))
    assert_close(torch.where(dropped == 0, 0.0, trace.weights * 1.25), dropped)
    assert set(dropped[:, :, 0, 0].flatten().tolist()) <= {0.0, 1.25}, "a row with one key"


def test_c126_every_head_is_there():
    far = 200.0  # of scores apart, so that softmax is 0 and 1 to the last bit of float32
    theirs = nn.MultiheadAttention(4, 2, bias=False, batch_first=True)
    identity, swap = torch.eye(2), torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    both = torch.zeros(2, 2)
    with torch.no_grad():
        theirs.in_proj_weight[:4] = far * torch.cat([torch.cat([identity, both], 1), torch.cat([identity, both], 1)])
        theirs.in_proj_weight[4:8] = torch.cat([torch.cat([identity, both], 1), torch.cat([swap, both], 1)])
    x = torch.eye(2, 4).unsqueeze(0)
    _, averaged = theirs(x, x, x)
    _, trace = MultiHeadAttention.from_torch(theirs)(x)
    assert_close(averaged[0], torch.full((2, 2), 0.5), rtol=0, atol=0)
    assert trace.weights.shape == (1, 2, 2, 2)
    assert_close(trace.weights[0], torch.stack([identity, swap]), rtol=0, atol=0)
