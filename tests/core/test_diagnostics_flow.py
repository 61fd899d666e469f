"""Rollout, reach, words from pieces, and gradients through softmax."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional
from torch.testing import assert_close

from attention_core import masks
from attention_core.diagnostics import gradient_norms, merge_words, reach, reach_layers, rollout


def normal(*shape: int, seed: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_c131_rollout_divides_rows_not_columns():
    fused = torch.tensor([[0.6, 0.6], [0.2, 0.8]])
    expected = torch.tensor([[0.8 / 1.1, 0.3 / 1.1], [0.1, 0.9]])
    assert_close(rollout([fused]), expected)


def test_rollout_multiplies_later_layers_from_the_left_and_keeps_row_sums():
    layers = [normal(2, 3, 5, 5, seed=s).softmax(-1) for s in range(4)]
    eye = torch.eye(5, dtype=torch.float64)
    expected = eye.expand(2, 5, 5)
    for layer in layers:
        expected = (0.7 * layer.mean(1) + 0.3 * eye) @ expected
    found = rollout(layers, residual=0.3)
    assert_close(found, expected)
    assert_close(found.sum(-1), torch.ones(2, 5, dtype=torch.float64))


def test_rollout_carries_an_empty_row_through_the_residual():
    empty = torch.tensor([[0.0, 0.0], [0.5, 0.5]])
    assert_close(rollout([empty]), torch.tensor([[1.0, 0.0], [0.25, 0.75]]))
    assert_close(rollout([empty], residual=0), empty)


def test_rollout_refuses_what_it_cannot_multiply():
    with pytest.raises(ValueError, match="at least one layer"):
        rollout([])
    with pytest.raises(ValueError, match=r"square maps \(self-attention\): got \(2, 3\) at layer 0"):
        rollout([torch.zeros(2, 3)])
    with pytest.raises(ValueError, match="residual is a share, from 0 to 1: got 2"):
        rollout([torch.eye(2)], residual=2)


PIECES = torch.tensor([[0.2, 0.3, 0.5], [0.6, 0.2, 0.2], [0.1, 0.1, 0.8]])  # un | ##do | it


def test_c132_words_sum_over_key_pieces_and_average_over_query_pieces():
    assert_close(merge_words(PIECES, [0, 0, 1]), torch.tensor([[0.65, 0.35], [0.20, 0.80]]))


def test_words_of_a_cross_attention_map():
    weights = normal(2, 3, 5, 7, seed=1).softmax(-1)
    found = merge_words(weights, [0, 1, 1, 2, 2], key_groups=[0, 0, 1, 2, 2, 2, 3])
    rows = torch.stack([weights[..., 0, :], weights[..., 1:3, :].mean(-2), weights[..., 3:5, :].mean(-2)], -2)
    expected = torch.stack([rows[..., :2].sum(-1), rows[..., 2], rows[..., 3:6].sum(-1), rows[..., 6]], -1)
    assert_close(found, expected)
    assert_close(found.sum(-1), torch.ones(2, 3, 3, dtype=torch.float64))


def test_word_numbers_must_fit_the_pieces():
    with pytest.raises(ValueError, match="groups needs one word number per piece: got 2 for 3 pieces"):
        merge_words(PIECES, [0, 1])
    with pytest.raises(ValueError, match="groups must number the words 0 to 2 without gaps"):
        merge_words(PIECES, [0, 0, 2])
    with pytest.raises(ValueError, match="key_groups needs one word number"):
        merge_words(PIECES, [0, 0, 1], key_groups=[0])


def attention_inputs(kv_heads: int = 3) -> tuple[Tensor, Tensor, Tensor]:
    return (
        normal(2, 3, 5, 11, seed=1),
        normal(2, kv_heads, 7, 11, seed=2),
        normal(2, kv_heads, 7, 13, seed=3),
    )


def test_gradient_norms_are_those_of_torchs_attention():
    query, key, value = attention_inputs()
    allowed = torch.ones(5, 7, dtype=torch.bool).tril(2)
    direction = normal(2, 3, 5, 13, seed=4)
    found = gradient_norms(query, key, value, allowed=allowed, scale=0.4, direction=direction)
    q, k = query.clone().requires_grad_(), key.clone().requires_grad_()
    (functional.scaled_dot_product_attention(q, k, value, attn_mask=allowed, scale=0.4) * direction).sum().backward()
    assert q.grad is not None and k.grad is not None
    assert_close(found.query, q.grad.flatten(-2).norm(dim=-1))
    assert_close(found.key, k.grad.flatten(-2).norm(dim=-1))
    assert_close(found.query_per_token, q.grad.norm(dim=-1))
    assert_close(found.key_per_token, k.grad.norm(dim=-1))
    assert query.grad is None and not query.requires_grad


def test_gradients_work_where_gradients_are_off_and_touch_no_global_state():
    before = torch.get_rng_state()
    plain = gradient_norms(*attention_inputs(), allowed=torch.ones(5, 7, dtype=torch.bool).tril())
    with torch.inference_mode():
        bias = torch.zeros(5, 7, dtype=torch.float64)
        inside = gradient_norms(*attention_inputs(), allowed=torch.ones(5, 7, dtype=torch.bool).tril(), bias=bias)
        assert torch.is_inference_mode_enabled()
    assert_close(inside.query.clone(), plain.query)
    assert torch.equal(torch.get_rng_state(), before)
    again = gradient_norms(*attention_inputs(), allowed=torch.ones(5, 7, dtype=torch.bool).tril(), seed=1)
    assert not torch.equal(again.query, plain.query)


def test_leaves_of_the_caller_get_no_gradient():
    query, key, value = (t.requires_grad_() for t in attention_inputs())
    gradient_norms(query, key, value)
    assert query.grad is None and key.grad is None and value.grad is None


def test_grouped_heads_give_each_query_heads_share():
    query = normal(2, 6, 5, 11, seed=1)
    _, key, value = attention_inputs(kv_heads=2)
    direction = normal(2, 6, 5, 13, seed=4)
    found = gradient_norms(query, key, value, direction=direction)
    order = [0, 0, 0, 1, 1, 1]
    repeated = gradient_norms(query, key[:, order], value[:, order], direction=direction)
    assert_close(found.key, repeated.key)
    assert found.key.shape == (2, 6)


def test_queries_that_are_not_real_send_nothing_back():
    valid = torch.tensor([[True] * 4 + [False]] * 2)
    found = gradient_norms(*attention_inputs(), valid_queries=valid)
    assert (found.query_per_token[:, :, 4] == 0).all()
    assert (found.query_per_token[:, :, :4] > 0).all()


def test_saturated_rows_pass_no_gradient_on():
    query, key, value = attention_inputs()
    assert (gradient_norms(query, key, value, scale=1e6).query < 1e-6).all()


def test_half_precision_and_empty_rows_stay_finite():
    allowed = torch.ones(5, 7, dtype=torch.bool)
    allowed[2] = False
    found = gradient_norms(*(t.half() for t in attention_inputs()), allowed=allowed)
    assert found.query.dtype == torch.float32
    assert found.query.isfinite().all() and found.key.isfinite().all()
    assert (found.query_per_token[:, :, 2] == 0).all()


def test_a_direction_of_another_shape_is_refused():
    with pytest.raises(ValueError, match=r"direction must have the shape of the output, \(2, 3, 5, 13\)"):
        gradient_norms(*attention_inputs(), direction=torch.ones(5, 13, dtype=torch.float64))


def test_reach_is_a_boolean_power():
    generator = torch.Generator().manual_seed(5)
    allowed = torch.rand(2, 3, 11, 11, generator=generator) < 0.15
    step = allowed | torch.eye(11, dtype=torch.bool)
    power = torch.eye(11, dtype=torch.float64).expand(2, 3, 11, 11)
    for layers in range(13):
        assert torch.equal(reach(allowed, layers), power > 0)
        power = step.double() @ power
    first = reach_layers(allowed)
    assert first.dtype == torch.int64 and first.min() == -1
    last = int(first.max())
    assert torch.equal(reach(allowed, last), reach(allowed, 50))
    assert not torch.equal(reach(allowed, last - 1), reach(allowed, last))


def test_reach_through_windows_by_hand():
    window = masks.sliding_window(7, left=2, right=0)
    distance = torch.arange(7)[:, None] - torch.arange(7)
    assert torch.equal(reach(window, 3), (distance >= 0) & (distance <= 6))
    assert reach_layers(window)[6].tolist() == [3, 3, 2, 2, 1, 1, 0]
    nothing = torch.zeros(3, 3, dtype=torch.bool)
    assert torch.equal(reach(nothing, 4), torch.eye(3, dtype=torch.bool))  # what a position has, it keeps


def test_reach_refuses():
    with pytest.raises(ValueError, match=r"square mask \(self-attention\): got \(2, 3\)"):
        reach_layers(torch.ones(2, 3, dtype=torch.bool))
    with pytest.raises(ValueError, match="layers must be at least 0: got -1"):
        reach(torch.ones(2, 2, dtype=torch.bool), -1)
    with pytest.raises(TypeError, match="allowed must be a bool tensor"):
        reach(torch.ones(2, 2), 1)
