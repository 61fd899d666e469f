"""Reported mistakes as small inputs, and what the doctor must say: the numbers of each report stand in the finding."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from attention_core import masks
from attention_core.doctor import Finding, Report, diagnose

INF = math.inf


def even(allowed: Tensor) -> Tensor:
    """Weights of scores that are all 0: each row spreads evenly over the keys that it may read."""
    return (allowed.double() / allowed.sum(-1, keepdim=True).clamp_min(1)).float()


def zeros(q_len: int, k_len: int, width: int = 4) -> dict[str, Tensor]:
    return {"query": torch.zeros(1, 1, q_len, width), "key": torch.zeros(1, 1, k_len, width)}


def errors(report: Report) -> list[str]:
    return [f.code for f in report.errors]


def numbers(found: Finding, **expected: object) -> None:
    """The numbers of the report, to the 1e-3 that the reports are given in."""
    for name, value in expected.items():
        inexact = isinstance(value, float) or (isinstance(value, list) and any(isinstance(v, float) for v in value))
        assert found.evidence[name] == (pytest.approx(value, abs=1e-3) if inexact else value), (name, found)


def test_c01_an_upper_triangle_handed_over_as_keep():
    applied = torch.ones(4, 4).triu(1).bool()
    report = diagnose(weights=even(applied), raw_mask=applied, expect="causal", **zeros(4, 4))
    numbers(report.finding("future-visible"), rows=[0, 1, 2], cells=6)
    numbers(report.finding("wrongly-blocked"), rows=[0, 1, 2, 3], cells=10)
    numbers(report.finding("rows-lost"), rows=[3])
    assert "exactly the complement of the intended causal mask" in report.finding("complement").message
    assert "invert" in report.finding("complement").remedy
    assert report.explained_by == ("mask-inverted",)
    assert diagnose(raw_mask=applied, expect="causal").finding("mask-complement").severity == "warning"


@pytest.mark.parametrize("fill", [-INF, -10000.0, torch.finfo(torch.float32).min])
def test_c03_an_additive_mask_cast_to_bool(fill):
    report = diagnose(weights=torch.tensor([[0.0, 0.0, 1.0]]), raw_mask=torch.tensor([[0.0, 0.0, fill]]))
    found = report.finding("mask-followed-inverted")
    assert found.severity == "error"
    assert "all attention mass is on keys" in found.message
    assert "additive mask is the most negative" in found.message
    numbers(found, keys=[2])


def test_c06_a_triangle_of_ones_is_added():
    mask = torch.ones(8, 8).tril()
    weights = torch.softmax(mask, -1)
    report = diagnose(weights=weights, raw_mask=mask, **zeros(8, 8))
    assert "float with only {0, 1} values and blocks nothing" in report.finding("mask-float-zero-one").message
    assert "boolean" in report.finding("mask-float-zero-one").remedy
    numbers(report.finding("future-visible"), cells=28, rows=list(range(7)))
    assert report.explained_by[0] == "mask-added-as-zero-one"


def test_c07_a_boolean_mask_is_added():
    mask = torch.ones(1, 1, 5, 5).tril().bool()
    scores = torch.randn(1, 2, 5, 5, generator=torch.Generator().manual_seed(3)) * 0.005
    report = diagnose(weights=torch.softmax(scores + mask, -1), raw_mask=mask, expect="causal")
    numbers(report.finding("future-visible"), rows=[0, 1, 2, 3], cells=10)
    assert report.finding("mask-bool-added").evidence["smallest"] > 0.08
    assert "mask dtype bool was added as 0/1" in report.finding("mask-bool-added").message
    assert "mask-added-as-zero-one" in report.explained_by


def test_c08_and_c09_integer_masks_are_converted_or_refused_with_the_value():
    report = diagnose(weights=torch.tensor([[0.5, 0.5, 0.0]]), raw_mask=torch.tensor([[1, 1, 0]]))
    assert "integer mask, values {0, 1}, converted" in report.finding("mask-integer").message
    assert report.ok
    for dtype in (torch.int64, torch.uint8):
        assert diagnose(raw_mask=torch.tensor([[1, 1, 0]], dtype=dtype)).ok
    with pytest.raises(ValueError, match="must hold 0 and 1: got 2"):
        diagnose(raw_mask=torch.tensor([[1, 2, 0]]))


def test_c13_a_fill_that_is_tiny_instead_of_hugely_negative():
    query, key = torch.tensor([[1.0]]), torch.tensor([[1.0], [2.0], [0.7]])
    allowed = torch.tensor([[True, True, False]])
    weights = torch.softmax(torch.tensor([[1.0, 2.0, -1e-12]]), -1)
    report = diagnose(weights=weights, query=query, key=key, allowed=allowed)
    numbers(report.finding("mask-offset"), key=2, weight=0.0900, offset=0.0)
    assert "fill-too-weak" in report.explained_by
    numbers(report.finding("forbidden-visible"), keys=[2], largest=0.0900)


def test_c15_a_padding_mask_on_the_query_axis():
    flags = torch.tensor([True, True, False, False])
    wrong = flags[:, None].expand(4, 4)
    report = diagnose(
        weights=even(wrong),
        raw_mask=flags[None, None, :, None],
        lengths=torch.tensor([2]),
        expect="padding",
        **zeros(4, 4),
    )
    found = report.finding("padding-visible")
    numbers(found, keys=[2, 3], rows=[0, 1], mass=[0.5, 0.5])
    numbers(report.finding("rows-lost"), rows=[2, 3])
    assert "mask is constant along keys" in report.finding("mask-query-axis").message
    assert "[batch, 1, 1, k_len]" in report.finding("mask-query-axis").remedy
    assert report.explained_by == ("padding-on-query-axis",)


def test_c16_a_mask_that_can_be_read_two_ways_is_refused():
    keep = torch.tensor([[1, 1, 1], [1, 1, 0], [1, 0, 0]])
    weights = even(keep.bool().expand(3, 2, 3, 3))
    with pytest.raises(ValueError, match=r"\(q_len, k_len\).*or \(batch, k_len\)"):
        diagnose(weights=weights, raw_mask=keep)
    report = diagnose(weights=weights, lengths=torch.tensor([3, 2, 1]))
    assert report.finding("padding-visible").severity == "error"
    numbers(report.finding("padding-visible"), keys=[1, 2], largest=2 / 3)


def test_c17_masks_per_head_in_the_wrong_order():
    full, short = torch.ones(3, 3).bool(), torch.tensor([True, False, False]).expand(3, 3)
    applied = torch.stack([torch.stack([full, short]), torch.stack([full, short])])
    inputs = {"query": torch.zeros(2, 2, 3, 4), "key": torch.zeros(2, 2, 3, 4)}
    report = diagnose(weights=even(applied), lengths=torch.tensor([3, 1]), expect="padding", **inputs)
    assert report.explained_by[0] == "head-masks-in-wrong-order"
    assert report.finding("mask-differs-between-heads").severity == "error"
    leak = report.finding("padding-visible")
    numbers(leak, keys=[1, 2])
    assert {(b, h) for b, h, _, _ in leak.where} == {(1, 0)}


def test_c22_a_causal_mask_in_the_top_left_without_a_word():
    weights = even(masks.causal(2, 5, offset=0))
    report = diagnose(weights=weights)
    assert "keys 2-4 are read by nobody" in report.finding("unread-keys").message
    assert "bottom-right" in report.finding("unread-keys").remedy
    assert diagnose(weights=weights, expect="causal").explained_by == ("causal-top-left",)


def test_c23_a_single_query_that_sees_the_first_key_only():
    weights = even(masks.causal(1, 6, offset=0))
    report = diagnose(weights=weights, expect="causal", **zeros(1, 6))
    assert "last query reads 1 of 6 keys although it is the newest token" in report.finding("top-left").message
    assert "causal-top-left" in report.explained_by


def test_c24_a_second_chunk_that_loses_its_history():
    report = diagnose(weights=even(masks.causal(3, 6, offset=0)), expect="causal", **zeros(3, 6))
    assert report.explained_by == ("causal-top-left",)
    numbers(report.finding("wrongly-blocked"), cells=9)


def test_c25_one_offset_for_samples_of_different_length():
    weights = even(masks.causal(2, 5).expand(2, 1, 2, 5))
    report = diagnose(weights=weights, lengths=torch.tensor([3, 5]), expect="causal")
    found = report.finding("cache-slots-visible")
    assert found.severity == "error"
    assert {(b, q, k) for b, _, q, k in found.where} == {(0, 0, 3), (0, 1, 3), (0, 1, 4)}
    numbers(report.finding("future-visible"), rows=[0], keys=[2])  # sample 0 writes key 2 only in its second query
    assert "[3, 5]" in found.message or "3, 5" in found.message


def test_c29_maps_without_the_causal_mask():
    report = diagnose(weights=torch.full((4, 4), 0.25), expect="causal", **zeros(4, 4))
    numbers(report.finding("future-visible"), rows=[0, 1, 2], cells=6, mass=[0.75, 0.5, 0.25], largest=0.75)
    assert "causal-mask-missing" in report.explained_by
    assert "mask-ignored" in report.explained_by
    assert "cannot be told apart here" in report.finding("explained").message


def test_c33_a_query_with_no_allowed_key():
    allowed = masks.causal(6, 10, offset=0) & (torch.arange(6) < 5)[:, None]
    nan = even(allowed)
    nan[5] = math.nan
    for weights, codes in ((even(allowed), []), (nan, ["nan-weights"])):
        report = diagnose(weights=weights, allowed=allowed, **zeros(6, 10))
        numbers(report.finding("empty-rows"), rows=[5], count=1)
        assert errors(report) == codes
    numbers(report.finding("nan-weights"), rows=[5])


def test_c34_left_padding_and_causal_leave_rows_empty():
    allowed = masks.causal(5) & masks.padding([2], 5, side="left")
    report = diagnose(weights=even(allowed), lengths=torch.tensor([[0, 0, 0, 1, 1]]), expect="causal", **zeros(5, 5))
    assert report.ok and report.explained_by == ()
    numbers(report.finding("empty-padding-rows"), rows=[0, 1, 2])
    assert "harmless, these queries are padding" in report.finding("empty-padding-rows").message
    uniform = even(allowed)
    uniform[:, :, :3] = 0.2
    report = diagnose(weights=uniform, lengths=torch.tensor([[0, 0, 0, 1, 1]]), expect="causal", **zeros(5, 5))
    assert report.ok
    numbers(report.finding("uniform-empty-rows"), rows=[0, 1, 2], largest=0.2)
    assert "uniform row from a finite mask value, no real leak" in report.finding("uniform-empty-rows").message
    assert report.explained_by == ("finite-fill-on-empty-row",)


def test_c35_a_finite_fill_on_an_empty_row():
    scores = torch.tensor([[3.0, 1.0, 0.0]])
    weights = torch.softmax(scores - 1e9, -1)
    report = diagnose(weights=weights, allowed=torch.zeros(1, 3, dtype=torch.bool))
    assert report.finding("uniform-empty-rows").severity == "error"
    numbers(report.finding("uniform-empty-rows"), largest=1 / 3)
    assert "finite-fill-on-empty-row" in report.explained_by


def test_c36_nan_in_a_value_that_nobody_may_read():
    value = torch.tensor([[1.0, 2.0], [math.nan, 5.0]])
    output = torch.tensor([[math.nan, 2.0], [math.nan, 2.0]])
    keep = torch.tensor([[True, False], [True, False]])
    report = diagnose(weights=keep.float(), value=value, output=output, allowed=keep, **zeros(2, 2))
    found = report.finding("nan-from-masked-value")
    numbers(found, keys=[1], features=[0])
    assert "0*NaN" in found.message and "zero masked V" in found.remedy
    assert report.explained_by == ("zero-times-nan",)
    fine = diagnose(
        weights=keep.float(), value=value, output=torch.tensor([[1.0, 2.0]]).expand(2, 2), allowed=keep, **zeros(2, 2)
    )
    assert fine.ok and fine.explained_by == ()


def test_c37_zero_times_infinity_makes_visible_cells_nan():
    report = diagnose(raw_mask=(1 - torch.tensor([[1.0, 1.0, 0.0]])) * -INF)
    found = report.finding("mask-nan")
    numbers(found, positions=[0, 1])
    assert "visible positions 0-1" in found.message and "multiplying with infinity" in found.message


def test_c42_rows_of_padding_queries_need_not_be_hidden():
    allowed = masks.causal(5) & masks.padding([3], 5)
    report = diagnose(weights=even(allowed), lengths=torch.tensor([3]), expect="causal", **zeros(5, 5))
    assert report.findings and all(f.severity == "info" for f in report.findings)
    numbers(report.finding("padding-queries"), rows=[3, 4])
    hidden = allowed & (torch.arange(5) < 3)[:, None]
    report = diagnose(weights=even(hidden), allowed=hidden)
    numbers(report.finding("empty-padding-rows"), rows=[3, 4])


def test_c45_two_finite_masks_are_added():
    low = torch.finfo(torch.float32).min
    later = torch.zeros(5, 5).masked_fill(~masks.causal(5), low)
    filler = torch.zeros(1, 5).masked_fill(torch.tensor([[True, True, True, False, False]]), low)
    mask = later + filler
    weights = torch.softmax(mask, -1)
    lengths = torch.tensor([[0, 0, 0, 1, 1]])
    report = diagnose(weights=weights, raw_mask=mask, lengths=lengths, expect="causal", **zeros(5, 5))
    found = report.finding("mask-mixed-fill")
    assert "mixes -inf and finfo.min" in found.message
    assert "rows 0-2 have no allowed key" in found.message
    assert "row 0 puts 0.6667 on future keys 3-4" in found.message
    assert report.explained_by == ("masks-summed-overflow",)


def test_c46_q_k_overflows_before_it_is_scaled():
    query = torch.full((2, 64), 40.0, dtype=torch.float16)
    found = diagnose(query=query, key=query).finding("score-overflow")
    numbers(found, largest=102400.0, limit=65504.0, scaled=12800.0)
    assert "exceeds float16 range 65504" in found.message.replace("6.55e+04", "65504")
    nan = torch.full((2, 2), math.nan, dtype=torch.float16)
    report = diagnose(query=query, key=query, weights=nan, expect="bidirectional")
    assert "half-precision-overflow" in report.explained_by
    fine = diagnose(query=query, key=query, weights=torch.full_like(nan, 0.5), expect="bidirectional")
    assert fine.ok and fine.explained_by == ()


def test_c47_the_float32_minimum_cast_to_half():
    mask = torch.full((1, 2), torch.finfo(torch.float32).min).half()
    found = diagnose(raw_mask=mask).finding("mask-cast")
    assert "-inf after a cast to float16" in found.message and "float32 minimum" in found.message


def test_c52_a_float16_running_sum_and_honest_rounding():
    report = diagnose(weights=torch.full((1, 4096), 1 / 2048, dtype=torch.float16))
    numbers(report.finding("row-sums"), worst=2.0)
    assert "row sum 2, expected 1" in report.finding("row-sums").message
    for dtype in (torch.float16, torch.bfloat16):
        assert diagnose(weights=torch.full((1, 1000), 1 / 1000).to(dtype)).ok
    scores = torch.randn(7, 300, generator=torch.Generator().manual_seed(0)) * 3
    assert diagnose(weights=torch.softmax(scores, -1).half()).ok
    assert diagnose(weights=torch.softmax(scores, -1).half().float()).ok


def test_c54_a_mask_after_softmax_is_repaired():
    weights = torch.full((3, 3), 1 / 3).tril()
    report = diagnose(weights=weights, expect="causal")
    found = report.finding("mask-after-softmax")
    numbers(found, rows=[0, 1], sums=[1 / 3, 2 / 3])
    torch.testing.assert_close(
        torch.tensor(found.evidence["repaired_rows"]), torch.tensor([[1.0, 0, 0], [0.5, 0.5, 0]])
    )
    assert "dividing by the row sum repairs it" in found.message
    assert report.explained_by == ("mask-after-softmax",)
    assert diagnose(weights=weights, expect="causal", **zeros(3, 3)).explained_by == ("mask-after-softmax",)


def test_c55_control_masked_afterwards_and_renormalised_is_right():
    query, key = torch.tensor([[1.0]]), torch.tensor([[2.0], [1.0], [0.0]])
    allowed = torch.tensor([[True, True, False]])
    late = torch.softmax(torch.tensor([[2.0, 1.0, 0.0]]), -1) * allowed
    late = late / late.sum(-1, keepdim=True)
    torch.testing.assert_close(late, torch.tensor([[0.7311, 0.2689, 0.0]]), atol=1e-4, rtol=0)  # four decimals
    for inputs in ({}, {"query": query, "key": key}):
        report = diagnose(weights=late, allowed=allowed, **inputs)
        assert report.ok and report.explained_by == ()
        assert all(f.severity == "info" for f in report.findings)


def test_c58_scores_multiplied_by_the_mask():
    query, key = torch.tensor([[1.0]]), torch.tensor([[3.0], [1.0], [2.0], [-1.0]])
    allowed = torch.tensor([[True, False, True, False]])
    weights = torch.softmax(torch.tensor([[3.0, 0.0, 2.0, 0.0]]), -1)
    report = diagnose(weights=weights, query=query, key=key, allowed=allowed)
    found = report.finding("equal-masked-weights")
    numbers(found, keys=[1, 3], example=0.0339)
    assert "exp(0)/Z" in found.message
    assert "scores-multiplied-by-mask" in report.explained_by


def test_c60_softmax_over_queries():
    scores = torch.tensor([[0.0, 1.0, 2.0], [0.0, 0.0, 0.0], [3.0, 0.0, 0.0]])
    weights = torch.softmax(scores, 0)
    inputs = {"query": torch.eye(3), "key": scores.T.contiguous(), "scale": 1.0}
    for extra in ({}, inputs):
        report = diagnose(weights=weights, expect="bidirectional", **extra)
        found = report.finding("columns-sum-to-one")
        numbers(found, smallest=0.3637, largest=1.4084)
        assert "columns sum to 1, rows do not" in found.message
        assert report.explained_by[0] == "softmax-over-queries"


def test_c61_every_weight_is_one():
    report = diagnose(weights=torch.ones(1, 1, 5), expect="bidirectional")
    found = report.finding("all-ones")
    numbers(found, k_len=5)
    assert "size-1 axis (batch or head)" in found.message


@pytest.mark.parametrize(
    "weights",
    [torch.softmax(torch.tensor([[0.0, 1, 2], [2, 0, 1], [1, 2, 0]]), -1), torch.eye(3), torch.full((3, 3), 1 / 3)],
)
def test_c62_control_rows_and_columns_sum_to_one(weights):
    report = diagnose(weights=weights, expect="bidirectional")
    assert report.ok and "columns-sum-to-one" not in [f.code for f in report.findings]


def test_c65_a_second_softmax():
    scores = torch.tensor([[4.0, 1.0, 0.0]])
    twice = torch.softmax(torch.softmax(scores, -1), -1)
    report = diagnose(weights=twice, query=torch.eye(1), key=scores.T.contiguous(), scale=1.0, expect="bidirectional")
    assert report.explained_by == ("double-softmax",)
    again = torch.softmax(torch.tensor([[0.7, 0.3, 0.0]]), -1)
    report = diagnose(weights=again, allowed=torch.tensor([[True, True, False]]))
    found = report.finding("double-softmax")
    assert found.evidence["ratio"] <= math.e
    assert "softmax applied twice" in found.message
    assert report.explained_by == ("double-softmax",)


def test_c180_an_array_of_objects_is_refused_unread():
    class Bomb:
        def __float__(self):
            raise AssertionError("executed")

    with pytest.raises(TypeError, match="weights must be a tensor or an array of numbers: got an array of object"):
        diagnose(weights=np.array([[Bomb()]], dtype=object))
