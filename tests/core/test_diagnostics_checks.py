"""The verdict strip: each check finds its fault, names the cells, and stays silent on honest rounding."""

import math
import time

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from attention_core import AttentionTrace, masks, scaled_dot_product_attention
from attention_core.diagnostics import CHECK_CODES, RowCheck, row_checks, row_sum_tolerance

NAN, INF = float("nan"), float("inf")


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def trace_of(weights: Tensor, allowed: Tensor | None = None, **stages: Tensor) -> AttentionTrace:
    everything = torch.ones(weights.shape[-2:], dtype=torch.bool)
    output = stages.pop("output", torch.zeros(*weights.shape[:-1], 2))
    return AttentionTrace(
        output=output, allowed=everything if allowed is None else allowed, scale=1.0, weights=weights, **stages
    )


def checks(trace: AttentionTrace, **masks_: Tensor | None) -> dict[str, RowCheck]:
    found = row_checks(trace, **masks_)
    assert tuple(check.code for check in found) == CHECK_CODES
    return {check.code: check for check in found}


def statuses(found: dict[str, RowCheck]) -> dict[str, str]:
    return {code: check.status for code, check in found.items()}


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_right_attention_passes_everything(dtype: torch.dtype):
    q, k, v = normal(2, 3, 5, 11, seed=1), normal(2, 3, 7, 11, seed=2), normal(2, 3, 7, 13, seed=3)
    allowed = masks.padding([4, 7], 7)
    trace = scaled_dot_product_attention(q.to(dtype), k.to(dtype), v.to(dtype), allowed=allowed)
    found = checks(trace, padded_keys=~allowed[:, 0, 0])
    assert set(statuses(found).values()) == {"passed"}
    assert found["forbidden_weight"].parts["forbidden_cells"] == 3 * 3 * 5


def test_a_row_of_1_in_2048_summing_to_2_fails():
    found = checks(trace_of(torch.full((1, 1, 1, 4096), 1 / 2048, dtype=torch.float16)))["row_sums"]
    assert found.status == "failed"
    assert found.where == ((0, 0, 0, None),)
    assert found.largest == pytest.approx(1.0)


def test_sums_are_not_rounded_to_the_dtype_of_the_weights():
    row = torch.tensor([[[[1.0, 0.0022]]]], dtype=torch.float16)
    assert row.sum() - 1 < row_sum_tolerance(torch.float16, 2) < row.double().sum() - 1
    assert checks(trace_of(row))["row_sums"].status == "failed"


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_honest_rounding_of_half_precision_passes(dtype: torch.dtype):
    rows = torch.full((1, 1, 1, 1000), 1 / 1000).to(dtype)
    assert rows.double().sum() != 1
    assert checks(trace_of(rows))["row_sums"].status == "passed"
    soft = normal(1, 3, 5, 300).softmax(-1).to(dtype)
    assert checks(trace_of(soft))["row_sums"].status == "passed"


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("k_len", [1, 7, 300, 4099])
def test_tolerance_lets_torchs_own_softmax_pass_and_nothing_much_larger(dtype: torch.dtype, k_len: int):
    logits = 3 * normal(1, 2, 13, k_len).to(torch.float64 if dtype == torch.float64 else torch.float32)
    weights = logits.softmax(-1).to(dtype)
    assert checks(trace_of(weights))["row_sums"].status == "passed"
    broken = weights.double()
    broken[0, 1, 11] *= 1 + 4 * row_sum_tolerance(dtype, k_len)
    found = checks(trace_of(broken.to(dtype)))["row_sums"]
    assert found.status == "failed" or dtype in (torch.bfloat16, torch.float16)  # rounding may undo so small a change
    assert row_sum_tolerance(dtype, k_len) < {torch.float64: 1e-12, torch.float32: 1e-4}.get(dtype, 2e-2)


def test_row_sum_reports_the_largest_deviation_and_its_rows():
    weights = torch.tensor([[[[0.5, 0.5], [0.5, 0.2]], [[1.0, 0.4], [0.0, 1.0]]]])
    found = checks(trace_of(weights))["row_sums"]
    assert (found.count, found.where) == (2, ((0, 0, 1, None), (0, 1, 0, None)))
    assert found.largest == pytest.approx(0.4)


def test_empty_rows_and_sinks_are_right_as_they_are():
    q, k, v = normal(1, 3, 5, 11, seed=1), normal(1, 3, 5, 11, seed=2), normal(1, 3, 5, 13, seed=3)
    allowed = masks.causal(5) & masks.padding([3], 5, side="left")
    plain = checks(scaled_dot_product_attention(q, k, v, allowed=allowed))
    assert plain["row_sums"].status == "passed"
    with_sink = scaled_dot_product_attention(q, k, v, allowed=allowed, sinks=torch.tensor([0.0, 1.0, -1.0]))
    assert checks(with_sink)["row_sums"].status == "passed"
    assert with_sink.weights is not None and with_sink.sink_weight is not None
    lost = trace_of(with_sink.weights, allowed)
    assert checks(lost)["row_sums"].count == 3 * 3  # without the sink's share the three other rows are short


def test_empty_rows_are_listed_and_forgiven_where_the_query_is_padding():
    q = normal(1, 2, 5, 11)
    allowed = masks.causal(5) & masks.padding([3], 5, side="left")
    trace = scaled_dot_product_attention(q, q, q, allowed=allowed)
    rows = ((0, 0, 0, None), (0, 0, 1, None), (0, 1, 0, None), (0, 1, 1, None))
    both = torch.tensor([[True, True, False, False, False]])
    assert checks(trace)["empty_rows"] == RowCheck("empty_rows", "failed", 4, rows, 0.0, {"real": 4, "padded": 0})
    forgiven = checks(trace, padded_queries=both)["empty_rows"]
    assert forgiven == RowCheck("empty_rows", "info", 4, rows, 0.0, {"real": 0, "padded": 4})
    one = checks(trace, padded_queries=torch.tensor([[True, False, False, False, False]]))["empty_rows"]
    assert (one.status, one.parts) == ("failed", {"real": 2, "padded": 2})
    assert one.where[0] == (0, 0, 1, None)  # real ones come first


def test_a_bias_of_minus_infinity_empties_a_row_too():
    q = normal(1, 1, 3, 5)
    bias = torch.zeros(3, 3)
    bias[1] = -INF
    found = checks(scaled_dot_product_attention(q, q, q, bias=bias))
    assert found["empty_rows"].where == ((0, 0, 1, None),)
    assert found["row_sums"].status == "passed"
    assert found["forbidden_weight"].parts["forbidden_cells"] == 3


def test_forbidden_weight_counts_cells_and_rows_and_names_the_largest():
    weights = torch.full((1, 2, 4, 4), 0.25)
    found = checks(trace_of(weights), intended=masks.causal(4))["forbidden_weight"]
    assert (found.status, found.count, found.largest) == ("failed", 12, 0.25)
    assert found.parts == {"rows": 6, "forbidden_cells": 12}
    assert found.where[:3] == ((0, 0, 0, 1), (0, 0, 0, 2), (0, 0, 0, 3))
    tiny = torch.eye(4).expand(1, 1, 4, 4).clone()
    tiny[0, 0, 1, 3] = 1e-38
    found = checks(trace_of(tiny, masks.causal(4)))["forbidden_weight"]
    assert (found.count, found.where) == (1, ((0, 0, 1, 3),))


def test_intended_goes_before_applied():
    weights = torch.eye(3).expand(1, 1, 3, 3)
    applied = masks.causal(3)
    strict = torch.ones(3, 3, dtype=torch.bool).tril(-1)
    assert checks(trace_of(weights, applied))["forbidden_weight"].status == "passed"
    assert checks(trace_of(weights, applied), intended=strict)["forbidden_weight"].count == 3


def test_the_list_of_cells_is_bounded_and_the_count_is_not():
    found = checks(trace_of(torch.full((2, 3, 11, 11), 1 / 11)), intended=masks.causal(11))["forbidden_weight"]
    assert found.count == 2 * 3 * 55
    assert len(found.where) == 20


def test_nan_and_infinity_are_counted_apart_and_scores_at_allowed_cells_only():
    weights = torch.full((1, 1, 3, 3), 1 / 3)
    weights[0, 0, 1, 2], weights[0, 0, 2, 0] = NAN, INF
    scores = torch.zeros(1, 1, 3, 3)
    scores[0, 0, 0, 1], scores[0, 0, 2, 1], scores[0, 0, 0, 2] = NAN, -INF, NAN
    allowed = torch.ones(3, 3, dtype=torch.bool)
    allowed[0, 2] = False
    output = torch.zeros(1, 1, 3, 2)
    output[0, 0, 1, 1] = NAN
    found = checks(trace_of(weights, allowed, scores=scores, output=output))["finite"]
    assert found.parts == {
        "nan_weights": 1,
        "inf_weights": 1,
        "nan_scores": 1,
        "inf_scores": 1,
        "nan_output": 1,
        "inf_output": 0,
    }
    assert (found.status, found.count) == ("failed", 5)
    assert found.where == ((0, 0, 1, 2), (0, 0, 2, 0), (0, 0, 0, 1), (0, 0, 2, 1), (0, 0, 1, None))
    assert math.isnan(found.largest)


def test_nan_rows_fail_the_row_sum_without_a_size():
    found = checks(trace_of(torch.full((1, 1, 1, 3), NAN)))["row_sums"]
    assert (found.status, found.count) == ("failed", 1)
    assert math.isnan(found.largest)


def test_nan_in_a_key_that_all_may_read_is_seen():
    k = normal(1, 1, 3, 5)
    k[0, 0, 1, 0] = NAN
    found = checks(scaled_dot_product_attention(normal(1, 1, 2, 5), k, k))["finite"]
    assert found.parts["nan_scores"] == 2


def test_negative_weights_are_found():
    weights = torch.tensor([[[[1.5, -0.5], [0.5, 0.5], [1.25, -0.25]]]])
    found = checks(trace_of(weights))["non_negative"]
    assert found == RowCheck("non_negative", "failed", 2, ((0, 0, 0, 1), (0, 0, 2, 1)), 0.5)
    assert checks(trace_of(weights))["row_sums"].status == "passed"


def test_padded_columns_read_by_real_queries():
    weights = torch.full((1, 1, 3, 3), 1 / 3)
    padded = torch.tensor([[False, False, True]])
    found = checks(trace_of(weights), padded_keys=padded, padded_queries=padded)["padded_columns"]
    assert (found.status, found.count, found.parts) == ("failed", 2, {"rows": 2})
    assert found.where == ((0, 0, 0, 2), (0, 0, 1, 2))
    assert found.largest == pytest.approx(1 / 3)
    assert checks(trace_of(weights), padded_keys=padded)["padded_columns"].count == 3
    none = torch.zeros(1, 3, dtype=torch.bool)
    assert checks(trace_of(weights), padded_keys=none)["padded_columns"].status == "passed"
    assert checks(trace_of(weights))["padded_columns"].status == "not possible"


def test_without_weights_nothing_is_possible():
    q = normal(1, 1, 3, 5)
    trace = scaled_dot_product_attention(q, q, q, keep=("scores",))
    assert {check.status for check in row_checks(trace)} == {"not possible"}


def test_fewer_leading_axes_count_as_one():
    q = normal(3, 5)
    found = checks(scaled_dot_product_attention(q, q, q, allowed=masks.causal(3)))
    assert set(statuses(found).values()) == {"passed", "not possible"}
    leak = checks(trace_of(torch.full((3, 3), 1 / 3), masks.causal(3)))["forbidden_weight"]
    assert leak.where == ((0, 0, 0, 1), (0, 0, 0, 2), (0, 0, 1, 2))


def test_masks_that_do_not_fit_are_refused():
    trace = trace_of(torch.full((2, 1, 3, 3), 1 / 3))
    with pytest.raises(TypeError, match="intended must be bool with True = may attend"):
        row_checks(trace, intended=torch.ones(3, 3))
    with pytest.raises(ValueError, match=r"intended must broadcast to the weights, \(2, 1, 3, 3\): got \(4, 4\)"):
        row_checks(trace, intended=masks.causal(4))
    with pytest.raises(ValueError, match=r"padded_keys must be \(batch, len\) = \(2, 3\): got \(3,\)"):
        row_checks(trace, padded_keys=torch.zeros(3, dtype=torch.bool))
    with pytest.raises(TypeError, match="padded_queries must be bool with True = padding"):
        row_checks(trace, padded_queries=torch.zeros(2, 3))


def test_twelve_heads_of_128_tokens_are_checked_at_once():
    q = normal(1, 12, 128, 32)
    allowed = masks.causal(128)
    trace = scaled_dot_product_attention(q, q, q, allowed=allowed)
    padded = torch.zeros(1, 128, dtype=torch.bool)
    threads, times = torch.get_num_threads(), []
    torch.set_num_threads(1)  # more threads spin while they wait, and their time counts
    try:
        for _ in range(9):
            start = time.thread_time()
            row_checks(trace, intended=allowed, padded_keys=padded, padded_queries=padded)
            times.append(time.thread_time() - start)
    finally:
        torch.set_num_threads(threads)
    assert min(times) < 0.01  # 2 ms on one core of the machine it was written on
    assert_close(trace.allowed, allowed)  # and the trace is left as it was
