"""Reported mistakes between scores and weights, reduced to small inputs; named after the list of cases."""

import math

import pytest
import torch
from torch import Tensor

from attention_core import masks, scaled_dot_product_attention

T, F = True, False
ROUNDED = 1e-3  # the list gives four decimals and asks for this absolute tolerance


def weights(scores: list[list[float]], **options) -> Tensor:
    """Weights of given raw scores, unscaled unless said otherwise."""
    table = torch.tensor(scores)
    eye = torch.eye(table.shape[1])
    trace = scaled_dot_product_attention(table, eye, eye, **{"scale": 1.0, **options})
    assert trace.weights is not None
    return trace.weights


def check(actual: Tensor, rows: list[list[float]]) -> None:
    torch.testing.assert_close(actual, torch.tensor(rows, dtype=actual.dtype), rtol=0, atol=ROUNDED)


def test_c46_float16_scores_do_not_overflow() -> None:
    query = torch.full((2, 64), 40.0, dtype=torch.float16)
    trace = scaled_dot_product_attention(query, query, torch.eye(2).half())
    assert trace.scores is not None and trace.scaled is not None and trace.weights is not None
    check(trace.scores, [[102400, 102400]] * 2)
    check(trace.scaled, [[12800, 12800]] * 2)
    check(trace.weights, [[1 / 2, 1 / 2]] * 2)
    assert trace.weights.dtype == torch.float16


@pytest.mark.parametrize(
    "dtype, keys, total", [(torch.float16, 4096, 1.0), (torch.float16, 1000, 1.0004), (torch.bfloat16, 1000, 0.99945)]
)
def test_c52_rows_of_half_precision_sum_to_one_but_for_honest_rounding(
    dtype: torch.dtype, keys: int, total: float
) -> None:
    zeros = torch.zeros(1, 4, dtype=dtype)
    row = scaled_dot_product_attention(zeros, zeros.expand(keys, 4), torch.zeros(keys, 1, dtype=dtype)).weights
    assert row is not None and row.dtype == dtype
    assert row.double().sum().item() == pytest.approx(total, abs=1e-5)  # five decimals are given


def test_c52_uneven_rows_of_float16() -> None:
    generator = torch.Generator().manual_seed(0)
    query, key = torch.randn(5, 16, generator=generator).half(), torch.randn(300, 16, generator=generator).half()
    rows = scaled_dot_product_attention(query, key, key).weights
    assert rows is not None
    torch.testing.assert_close(rows.double().sum(dim=1), torch.ones(5, dtype=torch.float64), rtol=0, atol=ROUNDED)


def test_c54_masked_before_normalising() -> None:
    check(weights([[0.0] * 3] * 3, allowed=masks.causal(3)), [[1, 0, 0], [1 / 2, 1 / 2, 0], [1 / 3, 1 / 3, 1 / 3]])


def test_c55_masking_after_softmax_with_renormalising_is_the_same_until_it_underflows() -> None:
    allowed = torch.tensor([[T, T, F]])
    ours = weights([[2.0, 1.0, 0.0]], allowed=allowed)
    check(ours, [[0.7311, 0.2689, 0]])
    after = torch.softmax(torch.tensor([[2.0, 1.0, 0.0]]), dim=-1) * allowed
    torch.testing.assert_close(ours, after / after.sum(dim=-1, keepdim=True), rtol=1e-6, atol=0)  # float32
    check(weights([[0.0, 0.0, 200.0]], allowed=allowed), [[1 / 2, 1 / 2, 0]])


def test_c58_hidden_scores_are_removed_not_zeroed() -> None:
    check(weights([[3.0, 1.0, 2.0, -1.0]], allowed=torch.tensor([[T, F, T, F]])), [[0.7311, 0, 0.2689, 0]])


def test_c60_softmax_runs_over_keys() -> None:
    rows = weights([[0.0, 1.0, 2.0], [0.0, 0.0, 0.0], [3.0, 0.0, 0.0]])
    check(rows, [[0.0900, 0.2447, 0.6652], [1 / 3, 1 / 3, 1 / 3], [0.9094, 0.0453, 0.0453]])


def test_c61_a_batch_of_one_is_not_an_axis_to_normalise() -> None:
    scores = torch.tensor([[[3.0, -2.0, 0.0, 1.0, 7.0]]])  # (batch 1, q_len 1, 5)
    eye = torch.eye(5)[None]
    trace = scaled_dot_product_attention(scores, eye, eye, scale=1.0)
    check(trace.output[0], [[0.0179, 0.0001, 0.0009, 0.0024, 0.9787]])


def test_c62_circulant_scores_are_doubly_stochastic() -> None:
    rows = weights([[0.0, 1.0, 2.0], [2.0, 0.0, 1.0], [1.0, 2.0, 0.0]])
    check(rows, [[0.0900, 0.2447, 0.6652], [0.6652, 0.0900, 0.2447], [0.2447, 0.6652, 0.0900]])
    torch.testing.assert_close(rows.sum(dim=0), torch.ones(3), rtol=1e-6, atol=0)  # float32


def test_c65_softmax_is_applied_once() -> None:
    check(weights([[4.0, 1.0, 0.0]]), [[0.9362, 0.0466, 0.0171]])
    row = weights([[math.log(0.7), math.log(0.3), 5.0]], allowed=torch.tensor([[T, T, F]]))
    check(row, [[0.7, 0.3, 0]])
    assert row[0, 2] == 0


def test_c67_scale_is_that_of_the_head_width() -> None:
    query, key = torch.ones(1, 4, 1, 16), torch.stack([torch.ones(16), torch.zeros(16)]).expand(1, 4, 2, 16)
    trace = scaled_dot_product_attention(query, key, key)
    assert trace.scale == 0.25 and trace.scaled is not None and trace.weights is not None
    check(trace.scaled[0, 0], [[4, 0]])
    check(trace.weights[0, 3], [[0.9820, 0.0180]])
    wrong = scaled_dot_product_attention(query, key, key, scale=64**-0.5).weights
    assert wrong is not None
    check(wrong[0, 0], [[0.8808, 0.1192]])


def test_c68_the_factor_multiplies() -> None:
    query, key = torch.zeros(1, 16), torch.zeros(3, 16)
    query[0, 0], key[:, 0] = 1.0, torch.tensor([1.0, 0.5, 0.0])
    right = scaled_dot_product_attention(query, key, torch.eye(3))
    check(right.output, [[0.3758, 0.3316, 0.2926]])
    check(scaled_dot_product_attention(query, key, torch.eye(3), scale=4.0).output, [[0.8668, 0.1173, 0.0159]])


def test_c69_a_given_scale_of_one_is_kept() -> None:
    query, key = torch.zeros(1, 64), torch.zeros(2, 64)
    query[0, 0], key[0, 0] = 1.0, 2.0
    bias = torch.tensor([[0.0, 1.0]])
    trace = scaled_dot_product_attention(query, key, torch.eye(2), bias=bias, scale=1.0)
    assert trace.scale == 1.0
    check(trace.output, [[0.7311, 0.2689]])
    check(scaled_dot_product_attention(query, key, torch.eye(2), bias=bias).output, [[0.3208, 0.6792]])


def test_c70_bias_is_added_after_scaling() -> None:
    query, key = torch.zeros(1, 16), torch.zeros(2, 16)
    query[0, 0], key[0, 0] = 1.0, 8.0
    trace = scaled_dot_product_attention(query, key, torch.eye(2), bias=torch.tensor([[0.0, -4.0]]))
    assert trace.logits is not None
    check(trace.logits, [[2, -4]])
    check(trace.output, [[0.9975, 0.0025]])


def test_c137_a_constant_shift_of_a_row_changes_nothing() -> None:
    scores, positions = [[1.0, 0.0, 2.0, 1.0]], torch.arange(4.0)
    first = weights(scores, bias=(0.5 * (positions - 3))[None])
    second = weights(scores, bias=(0.5 * (positions - 4))[None])
    check(first, [[0.0742, 0.0450, 0.5483, 0.3325]])
    torch.testing.assert_close(first, second, rtol=0, atol=1e-6)  # the tolerance of the case
