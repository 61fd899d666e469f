"""The core by hand: every stage, empty rows, broken values, half precision, sinks, softcap, keep, refusals."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from attention_core import ALL_STAGES, STAGES, AttentionTrace, masks, scaled_dot_product_attention

ALL_DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)


def rows(logits: list[list[float]], **options: object) -> AttentionTrace:
    """Attention whose raw scores are ``logits``, unscaled, with V = identity, so that output = weights."""
    scores = torch.tensor(logits, dtype=torch.float64)
    return scaled_dot_product_attention(  # pyright: ignore[reportCallIssue]
        scores,
        torch.eye(scores.shape[1], dtype=torch.float64),
        torch.eye(scores.shape[1], dtype=torch.float64),
        **{"scale": 1.0, **options},  # pyright: ignore[reportArgumentType]
    )


def normal(*shapes: tuple[int, ...], dtype: torch.dtype = torch.float32) -> list[Tensor]:
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(shape, generator=generator).to(dtype) for shape in shapes]


def test_every_stage_by_hand() -> None:
    query = torch.tensor([[[[1.0, 0.0, 2.0, 1.0], [0.0, 2.0, 0.0, 0.0]]]], dtype=torch.float64)
    key = torch.tensor([[[[2.0, 0.0, 0.0, 0.0], [0.0, 1.0, 1.0, 0.0], [4.0, 0.0, 0.0, 0.0]]]], dtype=torch.float64)
    value = torch.tensor([[[[1.0, 0.0], [0.0, 1.0], [8.0, 8.0]]]], dtype=torch.float64)
    allowed = torch.tensor([[True, True, False], [True, True, True]])
    bias = torch.tensor([[0.0, math.log(3), 0.0], [0.0, 0.0, 0.0]], dtype=torch.float64)
    trace = scaled_dot_product_attention(query, key, value, allowed=allowed, bias=bias)

    def whole(stage: str, expected: list[list[float]]) -> None:
        # exact but for the rounding of exp and of one division
        torch.testing.assert_close(
            getattr(trace, stage), torch.tensor([[expected]], dtype=torch.float64), rtol=1e-15, atol=1e-15
        )

    e = math.e
    whole("scores", [[2, 2, 4], [0, 2, 0]])
    whole("scaled", [[1, 1, 2], [0, 1, 0]])
    whole("capped", [[1, 1, 2], [0, 1, 0]])
    whole("logits", [[1, 1 + math.log(3), -math.inf], [0, 1, 0]])
    whole("weights", [[1 / 4, 3 / 4, 0], [1 / (e + 2), e / (e + 2), 1 / (e + 2)]])
    whole("output", [[1 / 4, 3 / 4], [9 / (e + 2), (e + 8) / (e + 2)]])
    assert trace.scale == 0.5
    assert trace.allowed is allowed
    assert trace.capped is trace.scaled
    assert trace.sink_weight is None


def test_without_a_mask_allowed_is_all_true_over_queries_and_keys() -> None:
    query, key, value = normal((2, 3, 5, 11), (2, 3, 7, 11), (2, 3, 7, 13))
    trace = scaled_dot_product_attention(query, key, value)
    assert trace.allowed.shape == (5, 7)
    assert trace.allowed.all()
    assert trace.output.shape == (2, 3, 5, 13)


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
def test_stages_before_softmax_are_at_least_float32(dtype: torch.dtype) -> None:
    query, key, value = normal((2, 3, 5, 11), (2, 3, 7, 11), (2, 3, 7, 13), dtype=dtype)
    trace = scaled_dot_product_attention(query, key, value, sinks=torch.zeros(3))
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    got = {stage: getattr(trace, stage).dtype for stage in STAGES}
    assert got == {"scores": wide, "scaled": wide, "capped": wide, "logits": wide, "weights": dtype}
    assert trace.output.dtype == dtype
    assert trace.sink_weight is not None and trace.sink_weight.dtype == dtype


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
@pytest.mark.parametrize("way", ["allowed", "bias", "both"])
@pytest.mark.parametrize("grad", [False, True])
def test_empty_rows_are_exactly_zero_with_finite_gradients(dtype: torch.dtype, way: str, grad: bool) -> None:
    tensors = normal((2, 3, 5, 11), (2, 3, 7, 11), (2, 3, 7, 13), dtype=dtype)
    for tensor in tensors:
        tensor.requires_grad_(grad)
    allowed = torch.ones(5, 7, dtype=torch.bool)
    bias = torch.zeros(5, 7)
    if way == "allowed":
        allowed[3] = False
    elif way == "bias":
        bias[3] = -math.inf
    else:  # each hides a part; only together is the row empty
        allowed[3, :4] = False
        bias[3, 4:] = -math.inf
    trace = scaled_dot_product_attention(*tensors, allowed=allowed, bias=bias)
    others = [0, 1, 2, 4]
    assert trace.weights is not None and trace.logits is not None
    torch.testing.assert_close(trace.weights[:, :, 3], torch.zeros(2, 3, 7, dtype=dtype), rtol=0, atol=0)
    torch.testing.assert_close(trace.output[:, :, 3], torch.zeros(2, 3, 13, dtype=dtype), rtol=0, atol=0)
    assert torch.isneginf(trace.logits[:, :, 3]).all()
    full = scaled_dot_product_attention(*tensors)
    torch.testing.assert_close(trace.weights[:, :, others], full.weights[:, :, others], rtol=0, atol=0)  # pyright: ignore[reportOptionalSubscript]
    torch.testing.assert_close(trace.output[:, :, others], full.output[:, :, others], rtol=0, atol=0)
    if grad:
        gradients = torch.autograd.grad(trace.output.float().square().sum(), tensors)
        assert all(torch.isfinite(gradient).all() for gradient in gradients)
        assert (gradients[0][:, :, 3] == 0).all()
        assert (gradients[0][:, :, others] != 0).any()


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
@pytest.mark.parametrize("broken", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("shape", [(7,), (2, 1, 1, 7), (2, 3, 5, 7)])
def test_broken_keys_and_values_that_nobody_reads_do_no_harm(
    dtype: torch.dtype, broken: float, shape: tuple[int, ...]
) -> None:
    query, key, value = normal((2, 3, 5, 11), (2, 3, 7, 11), (2, 3, 7, 13), dtype=dtype)
    allowed = (torch.arange(7) < 5).expand(shape if len(shape) > 1 else (5, 7))
    clean = [t.clone().requires_grad_() for t in (query, key, value)]
    wanted = scaled_dot_product_attention(*clean, allowed=allowed)
    key[:, :, 5], value[:, :, 6] = broken, broken
    dirty = [t.clone().requires_grad_() for t in (query, key, value)]
    trace = scaled_dot_product_attention(*dirty, allowed=allowed)
    torch.testing.assert_close(trace.weights, wanted.weights, rtol=0, atol=0)
    torch.testing.assert_close(trace.output, wanted.output, rtol=0, atol=0)
    found = torch.autograd.grad(trace.output.float().square().sum(), dirty)
    expected = torch.autograd.grad(wanted.output.float().square().sum(), clean)
    for mine, other in zip(found, expected, strict=True):
        torch.testing.assert_close(mine, other, rtol=0, atol=0)


def test_broken_values_in_grouped_heads_and_behind_a_bias() -> None:
    query, key, value = normal((1, 4, 2, 3), (1, 2, 3, 3), (1, 2, 3, 5))
    key[0, 1, 2], value[0, 1, 2] = math.nan, math.inf
    bias = torch.tensor([0.0, 0.0, -math.inf]).expand(2, 3)
    trace = scaled_dot_product_attention(query, key, value, bias=bias, enable_gqa=True)
    assert torch.isfinite(trace.output).all()


def test_broken_value_reaches_only_the_queries_that_may_read_it() -> None:
    value = torch.eye(3, dtype=torch.float64)
    value[2, 0] = math.nan
    scores, key = torch.zeros(3, 1, dtype=torch.float64), torch.zeros(3, 1, dtype=torch.float64)
    trace = scaled_dot_product_attention(scores, key, value, allowed=masks.causal(3))
    third, nan = 1 / 3, math.nan
    expected = torch.tensor([[1, 0, 0], [0.5, 0.5, 0], [nan, third, third]], dtype=torch.float64)
    torch.testing.assert_close(trace.output, expected, rtol=1e-15, atol=1e-15, equal_nan=True)  # one rounding of 1/3


def test_broken_key_reaches_only_the_queries_that_may_read_it() -> None:
    key = torch.tensor([[0.0], [0.0], [math.nan]])
    trace = scaled_dot_product_attention(torch.ones(3, 1), key, torch.eye(3), allowed=masks.causal(3))
    nan = math.nan
    expected = torch.tensor([[1, 0, 0], [0.5, 0.5, 0], [nan, nan, nan]])
    torch.testing.assert_close(trace.weights, expected, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("empty_row_too", [False, True])
def test_a_row_of_infinite_keys_is_empty_with_and_without_other_empty_rows(empty_row_too: bool) -> None:
    allowed = torch.tensor([[True, False], [True, True], [not empty_row_too, False]])
    key = torch.tensor([[-math.inf], [1.0]])
    trace = scaled_dot_product_attention(torch.ones(3, 1), key, torch.tensor([[3.0], [4.0]]), allowed=allowed)
    torch.testing.assert_close(trace.weights, torch.tensor([[0.0, 0], [0, 1], [0, 0]]), rtol=0, atol=0)


def test_sinks_take_a_share_that_has_no_value() -> None:
    trace = rows([[0.0, 0.0], [0.0, math.log(2)]], sinks=torch.tensor([math.log(2)], dtype=torch.float64))
    weights = torch.tensor([[1 / 4, 1 / 4], [1 / 5, 2 / 5]], dtype=torch.float64)
    torch.testing.assert_close(trace.weights, weights, rtol=1e-15, atol=0)  # one division
    torch.testing.assert_close(trace.output, weights, rtol=1e-15, atol=0)
    torch.testing.assert_close(trace.sink_weight, torch.tensor([1 / 2, 2 / 5], dtype=torch.float64), rtol=1e-15, atol=0)


def test_each_head_has_its_own_sink_and_an_empty_row_goes_wholly_to_it() -> None:
    zeros = torch.zeros(1, 3, 2, 5)
    allowed = torch.tensor([[True] * 5, [False] * 5])
    sinks = torch.tensor([0.0, math.log(5), -math.inf])
    trace = scaled_dot_product_attention(
        zeros, zeros[:, :, :1].expand(1, 3, 5, 5), torch.ones(1, 3, 5, 2), allowed=allowed, sinks=sinks
    )
    expected = torch.tensor([[[1 / 6, 1.0], [1 / 2, 1.0], [0.0, 0.0]]])
    torch.testing.assert_close(trace.sink_weight, expected, rtol=1e-6, atol=0)  # float32
    output = torch.tensor([[[5 / 6, 0.0], [1 / 2, 0.0], [1.0, 0.0]]])[..., None].expand(1, 3, 2, 2)
    torch.testing.assert_close(trace.output, output, rtol=1e-6, atol=0)


def test_softcap_bounds_the_scaled_scores_before_bias_and_mask() -> None:
    trace = rows(
        [[0.0, 3.0, 1000.0, -1000.0]],
        softcap=2.0,
        bias=torch.tensor([[0.0, 0.0, 0.0, 5.0]], dtype=torch.float64),
        allowed=torch.tensor([[True, True, True, False]]),
    )
    capped = torch.tensor([[0.0, 2 * math.tanh(1.5), 2.0, -2.0]], dtype=torch.float64)
    torch.testing.assert_close(trace.capped, capped, rtol=1e-15, atol=0)  # rounding of tanh
    torch.testing.assert_close(trace.scaled, torch.tensor([[0.0, 3, 1000, -1000]], dtype=torch.float64), rtol=0, atol=0)
    torch.testing.assert_close(
        trace.logits, torch.tensor([[0.0, 2 * math.tanh(1.5), 2.0, -math.inf]], dtype=torch.float64), rtol=1e-15, atol=0
    )
    assert trace.capped is not trace.scaled


@pytest.mark.parametrize("keep", [(), ("weights",), ("scores", "logits"), ALL_STAGES, "weights"])
def test_keep_drops_stages_and_changes_nothing_else(keep: tuple[str, ...] | str) -> None:
    query, key, value = normal((2, 3, 5, 11), (2, 3, 7, 11), (2, 3, 7, 13))
    allowed = masks.causal(5, 7)
    whole = scaled_dot_product_attention(query, key, value, allowed=allowed)
    part = scaled_dot_product_attention(query, key, value, allowed=allowed, keep=keep)
    wanted = {keep} if isinstance(keep, str) else set(keep)
    assert {stage for stage in STAGES if getattr(part, stage) is not None} == wanted
    for stage in wanted:
        torch.testing.assert_close(getattr(part, stage), getattr(whole, stage), rtol=0, atol=0)
    torch.testing.assert_close(part.output, whole.output, rtol=0, atol=0)
    assert part.allowed is allowed and part.scale == whole.scale


def test_sizes_of_zero() -> None:
    query, key, value = torch.ones(2, 3, 0, 4), torch.ones(2, 3, 7, 4), torch.ones(2, 3, 7, 5)
    assert scaled_dot_product_attention(query, key, value, allowed=masks.causal(0, 7)).output.shape == (2, 3, 0, 5)
    none = scaled_dot_product_attention(torch.ones(2, 3, 5, 4), key[:, :, :0], value[:, :, :0])
    torch.testing.assert_close(none.output, torch.zeros(2, 3, 5, 5), rtol=0, atol=0)


def test_two_axes_are_enough_and_leading_axes_broadcast() -> None:
    query, key, value = normal((2, 3, 5, 11), (3, 7, 11), (7, 13))
    trace = scaled_dot_product_attention(query, key, value)
    whole = scaled_dot_product_attention(query, key.expand(2, 3, 7, 11), value.expand(2, 3, 7, 13))
    torch.testing.assert_close(trace.output, whole.output, rtol=1e-6, atol=1e-6)  # another matmul kernel
    single = scaled_dot_product_attention(query[1, 2], key[2], value)
    torch.testing.assert_close(single.output, whole.output[1, 2], rtol=1e-6, atol=1e-6)


def test_masks_fit_the_keys_that_a_shared_query_meets() -> None:
    query, key, value = normal((5, 11), (2, 3, 7, 11), (2, 3, 7, 13))
    allowed = masks.padding([4, 6], 7)
    trace = scaled_dot_product_attention(query, key, value, allowed=allowed)
    whole = scaled_dot_product_attention(query.expand(2, 3, 5, 11), key, value, allowed=allowed)
    torch.testing.assert_close(trace.weights, whole.weights, rtol=1e-6, atol=1e-6)  # another matmul kernel


def test_no_nan_on_the_way_back_from_empty_rows() -> None:
    # the final gradients could hide it: anomaly detection looks at every step, and a sink of -inf has no mask behind it
    tensors = [t.requires_grad_() for t in normal((2, 3, 5, 11), (2, 3, 7, 11), (2, 3, 7, 13))]
    sinks = torch.tensor([0.0, -math.inf, 1.0], requires_grad=True)
    allowed = masks.causal(5, 7).clone()
    allowed[3] = False
    with torch.autograd.set_detect_anomaly(True):
        trace = scaled_dot_product_attention(*tensors, allowed=allowed, sinks=sinks)
        gradients = torch.autograd.grad(trace.output.square().sum(), [*tensors, sinks])
        plain = scaled_dot_product_attention(*tensors, allowed=allowed)
        gradients += torch.autograd.grad(plain.output.square().sum(), tensors)
    assert all(torch.isfinite(gradient).all() for gradient in gradients)


def test_inputs_are_left_as_they_were() -> None:
    query, key, value = normal((2, 3, 5, 11), (2, 3, 7, 11), (2, 3, 7, 13))
    key[:, :, 6] = math.nan
    allowed = (torch.arange(7) < 6).expand(5, 7).clone()
    allowed[2] = False
    bias = torch.zeros(5, 7)
    before = [t.clone() for t in (query, key, value, allowed, bias)]
    scaled_dot_product_attention(query, key, value, allowed=allowed, bias=bias, softcap=3.0)
    for now, then in zip((query, key, value, allowed, bias), before, strict=True):
        torch.testing.assert_close(now, then, rtol=0, atol=0, equal_nan=True)


GOOD = {"query": torch.ones(2, 3, 5, 11), "key": torch.ones(2, 3, 7, 11), "value": torch.ones(2, 3, 7, 13)}


@pytest.mark.parametrize(
    "change, error, message",
    [
        ({"allowed": torch.ones(5, 7)}, TypeError, r"allowed must be a bool tensor.*got torch.float32.*from_additive"),
        ({"allowed": torch.ones(5, 7, dtype=torch.long)}, TypeError, r"got torch.int64.*from_attention_mask"),
        ({"allowed": np.ones((5, 7), bool)}, TypeError, r"allowed must be a bool tensor.*got ndarray"),
        ({"allowed": torch.ones(7, dtype=torch.bool)}, ValueError, r"allowed needs at least \(q_len, k_len\).*\(7,\)"),
        (
            {"allowed": torch.ones(2, 7, dtype=torch.bool)},
            ValueError,
            r"allowed must broadcast.*\(2, 3, 5, 7\).*\(2, 7\)",
        ),
        ({"allowed": torch.ones(4, 2, 3, 5, 7, dtype=torch.bool)}, ValueError, r"allowed must broadcast"),
        (
            {"bias": torch.ones(5, 7, dtype=torch.bool)},
            TypeError,
            r"bias must be float.*torch.bool; a mask goes to allowed",
        ),
        ({"bias": torch.ones(7, 5)}, ValueError, r"bias must broadcast"),
        ({"sinks": torch.ones(2)}, ValueError, r"sinks needs one logit per head, shape \(3,\): got \(2,\)"),
        ({"sinks": torch.ones(3, dtype=torch.long)}, TypeError, r"sinks must be float"),
        ({"softcap": 0.0}, ValueError, r"softcap must be positive and finite: got 0"),
        ({"softcap": math.inf}, ValueError, r"softcap must be positive and finite: got inf"),
        ({"softcap": math.nan}, ValueError, r"softcap must be positive and finite: got nan"),
        ({"scale": math.nan}, ValueError, r"scale must be finite: got nan"),
        ({"keep": ["weight"]}, ValueError, r"keep takes names of stages.*got \['weight'\]"),
        ({"query": torch.ones(2, 3, 5, 11, dtype=torch.long)}, TypeError, r"query must be float64.*got torch.int64"),
        ({"query": np.ones((2, 3, 5, 11), np.float32)}, TypeError, r"query must be a tensor: got ndarray"),
        (
            {"value": torch.ones(2, 3, 7, 13).double()},
            TypeError,
            r"one dtype: got torch.float32 and torch.float64 \(value\)",
        ),
        ({"key": torch.ones(11)}, ValueError, r"key needs at least \(len, d\): got shape \(11,\)"),
        ({"key": torch.ones(2, 3, 7, 10)}, ValueError, r"same d_k: got 11 and 10"),
        ({"value": torch.ones(2, 3, 6, 13)}, ValueError, r"same k_len: got 7 and 6"),
        ({"query": torch.ones(2, 3, 5, 0), "key": torch.ones(2, 3, 7, 0)}, ValueError, r"d_k must be at least 1"),
        ({"query": torch.ones(2, 6, 5, 11)}, ValueError, r"leading axes.*\(2, 6\), \(2, 3\).*pass enable_gqa=True"),
        (
            {"query": torch.ones(2, 4, 5, 11), "enable_gqa": True},
            ValueError,
            r"multiple of key/value heads: got 4 and 3",
        ),
        ({"value": torch.ones(2, 1, 7, 13), "enable_gqa": True}, ValueError, r"same number of heads: got 3 and 1"),
        (
            {"key": torch.ones(7, 11), "enable_gqa": True},
            ValueError,
            r"enable_gqa needs a heads axis: got key \(7, 11\)",
        ),
        ({"query": torch.ones(5, 11), "enable_gqa": True}, ValueError, r"enable_gqa needs a heads axis: got query"),
    ],
)
def test_refusals_name_the_rule_and_what_came(change: dict[str, object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        scaled_dot_product_attention(**{**GOOD, **change})  # pyright: ignore[reportArgumentType]
