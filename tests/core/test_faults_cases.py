"""Each fault on a tiny input worked by hand, most of them reported cases; those are named after the list of cases."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from attention_core import masks
from attention_core.faults import CATALOGUE, CannotCommit, Outcome, Situation, commit, correct

ROUNDED = 1e-3  # the list gives four decimals and asks for this absolute tolerance
NAN = math.nan


def of_scores(scores: list[list[float]], **parts: Tensor) -> Situation:
    """One sample, one head whose scores are given; V is the identity, so that the output equals the weights."""
    table = torch.tensor(scores)[None, None]
    eye = torch.eye(table.shape[-1])[None, None]
    allowed = torch.ones(table.shape[-2:], dtype=torch.bool)
    for part in parts.values():
        allowed = allowed & part
    return Situation(table, eye, eye, allowed, parts, scale=1.0)


def even(q_len: int, k_len: int | None = None, **parts: Tensor) -> Situation:
    """All scores 0: every allowed key gets the same weight."""
    return of_scores([[0.0] * (k_len or q_len)] * q_len, **parts)


def of_keys(query: list[float], *keys: list[float]) -> Situation:
    """One query over some keys, at the default scale."""
    key = torch.tensor(keys)[None, None]
    return Situation(torch.tensor([[[query]]]), key, key, torch.ones(1, len(keys), dtype=torch.bool))


def check(actual: Tensor | Outcome | None, rows: list) -> None:
    if isinstance(actual, Outcome):
        actual = actual.weights
    assert actual is not None
    expected = torch.tensor(rows, dtype=actual.dtype)
    while actual.dim() > expected.dim():
        assert actual.shape[0] == 1
        actual = actual[0]
    torch.testing.assert_close(actual, expected, rtol=0, atol=ROUNDED, equal_nan=True)


def keys_per_row(outcome: Outcome) -> list[int]:
    assert outcome.weights is not None
    return (outcome.weights[0, 0] > 0).sum(dim=-1).tolist()


def uniform(*rows: str) -> list[list[float]]:
    """Rows drawn with x for a key that shares the row evenly, and . for one without weight."""
    return [[1 / row.count("x") if cell == "x" else 0.0 for cell in row] for row in rows]


# scaling


def test_no_scaling() -> None:
    situation = of_keys([1.0] * 4, [1.0] * 4, [0.0] * 4)
    check(correct(situation).weights, [[0.8808, 0.1192]])  # softmax([2, 0])
    outcome = commit("no-scaling", situation)
    check(outcome, [[0.9820, 0.0180]])  # softmax([4, 0])
    assert outcome.note == {"scale": 1.0}


def test_scaled_by_d_k() -> None:
    check(commit("scaled-by-d-k", of_keys([1.0] * 4, [1.0] * 4, [0.0] * 4)), [[0.7311, 0.2689]])  # softmax([1, 0])


def test_scaled_twice() -> None:
    situation = replace(of_keys([1.0] * 4, [1.0] * 4, [0.0] * 4), scale=0.25)
    check(commit("scaled-by-d-k", situation, how="twice"), [[0.5622, 0.4378]])  # softmax([4 / 16, 0])


def test_c67_scaled_by_the_model_width() -> None:
    query = torch.ones(1, 4, 1, 16)
    key = torch.stack([torch.ones(16), torch.zeros(16)]).expand(1, 4, 2, 16)
    situation = Situation(query, key, key, torch.ones(1, 2, dtype=torch.bool))
    check(correct(situation).weights, [[[0.9820, 0.0180]]] * 4)
    outcome = commit("scaled-by-d-model", situation)
    check(outcome, [[[0.8808, 0.1192]]] * 4)
    assert outcome.note["scale"] == 0.125


def test_c68_divided_by_the_inverse() -> None:
    situation = of_keys([1.0] + [0.0] * 15, [1.0] + [0.0] * 15, [0.5] + [0.0] * 15, [0.0] * 16)
    check(correct(situation).weights, [[0.3758, 0.3316, 0.2926]])
    outcome = commit("divided-by-inverse", situation)
    check(outcome, [[0.8668, 0.1173, 0.0159]])
    assert outcome.note["scale"] == 4.0


def test_divided_by_a_given_scale() -> None:
    situation = replace(of_scores([[2.0, 0.0]]), scale=0.5)
    check(commit("divided-by-inverse", situation, of="scale"), [[0.9820, 0.0180]])  # softmax([4, 0])


def test_c70_bias_scaled_too() -> None:
    situation = of_keys([1.0] + [0.0] * 15, [8.0] + [0.0] * 15, [0.0] * 16)
    situation = replace(situation, bias=torch.tensor([[0.0, -4.0]]))
    check(correct(situation).weights, [[0.9975, 0.0025]])
    outcome = commit("bias-scaled-too", situation)
    check(outcome, [[0.9526, 0.0474]])
    assert outcome.note["share"] == 0.25


# heads and axes


def test_query_and_key_swapped() -> None:
    situation = of_scores([[0.0, 1.0], [2.0, 3.0]])
    check(correct(situation).weights, [[0.2689, 0.7311], [0.2689, 0.7311]])
    check(commit("query-key-swapped", situation), [[0.1192, 0.8808], [0.1192, 0.8808]])  # rows [0, 2] and [1, 3]


def test_c75_heads_split_by_view() -> None:
    packed = torch.arange(16.0).view(1, 4, 4)
    right = packed.view(1, 4, 2, 2).transpose(1, 2)
    situation = Situation(right, right, right, torch.ones(4, 4, dtype=torch.bool))
    changed = commit("heads-split-without-transpose", situation).changed
    assert changed is not None and changed.value is not None
    expected = [[[0.0, 1], [2, 3], [4, 5], [6, 7]], [[8.0, 9], [10, 11], [12, 13], [14, 15]]]
    for tensor in (changed.query, changed.key, changed.value):
        check(tensor, expected)


def test_c79_key_heads_tiled() -> None:
    query = torch.ones(1, 4, 1, 1)
    key = torch.tensor([0.0, 1.0]).view(1, 2, 1, 1).expand(1, 2, 1, 1)
    changed = commit("kv-heads-tiled", Situation(query, key, key, torch.ones(1, 1, dtype=torch.bool))).changed
    assert changed is not None
    assert changed.key.flatten().tolist() == [0, 1, 0, 1]  # right: 0, 0, 1, 1


def two_samples(lengths: list[int], heads: int = 1, q_len: int = 3) -> Situation:
    """All scores 0, padding alone."""
    batch, k_len = len(lengths), q_len
    zeros = torch.zeros(batch, heads, q_len, 1)
    padding = masks.padding(lengths, k_len)
    return Situation(zeros, zeros, zeros, padding, {"padding": padding}, lengths=torch.tensor(lengths))


def test_c17_masks_of_samples_repeated_over_heads() -> None:
    situation = two_samples([3, 1], heads=2)
    outcome = commit("head-masks-in-wrong-order", situation)
    full, first = [[1 / 3] * 3] * 3, [[1.0, 0, 0]] * 3
    check(outcome, [[full, first], [full, first]])
    assert outcome.weights is not None
    check(outcome.weights.mean(dim=1), [[[2 / 3, 1 / 6, 1 / 6]] * 3] * 2)


def test_masks_interleaved_where_heads_come_first() -> None:
    situation = two_samples([3, 1, 2], heads=2, q_len=3)
    outcome = commit("head-masks-in-wrong-order", situation, how="repeat_interleave")
    assert outcome.changed is not None
    # position h * 3 + b reads mask (h * 3 + b) // 2: samples 0, 0, 1 for head 0 and 1, 2, 2 for head 1
    lengths = outcome.changed.allowed[:, :, 0].sum(dim=-1)
    assert lengths.tolist() == [[3, 1], [3, 2], [1, 2]]


def test_c16_padding_read_as_query_by_key() -> None:
    outcome = commit("batch-axis-swapped", two_samples([3, 2, 1]), what="mask rows")
    check(outcome, [[uniform("xxx", "xx.", "x..")]] * 3)


def test_c81_attention_over_the_batch() -> None:
    zeros = torch.zeros(2, 1, 3, 4)
    outcome = commit(
        "batch-axis-swapped",
        Situation(zeros, zeros, zeros, torch.ones(3, 3, dtype=torch.bool)),
        what="attention over the batch",
    )
    assert outcome.weights is not None and outcome.output is not None
    assert outcome.weights.shape == (3, 1, 2, 2) and outcome.output.shape == (2, 1, 3, 4)
    check(outcome, [[[[1 / 2] * 2] * 2]] * 3)


def test_another_samples_mask_or_keys() -> None:
    situation = two_samples([3, 1])
    check(commit("batch-axis-swapped", situation, what="mask"), [[uniform(*["x.."] * 3)], [uniform(*["xxx"] * 3)]])
    check(commit("batch-axis-swapped", situation, what="first mask"), [[uniform(*["xxx"] * 3)]] * 2)
    key = torch.tensor([[0.0, math.log(3.0)], [0.0, 0.0]]).view(2, 1, 2, 1)
    situation = Situation(torch.ones(2, 1, 1, 1), key, key, torch.ones(1, 2, dtype=torch.bool))
    check(correct(situation).weights, [[[[0.25, 0.75]]], [[[0.5, 0.5]]]])
    check(commit("batch-axis-swapped", situation, what="keys"), [[[[0.5, 0.5]]], [[[0.25, 0.75]]]])


def test_c126_heads_averaged() -> None:
    scores = torch.tensor([[40.0, 0.0], [0.0, 40.0]])
    query = torch.stack([scores, scores.flip(0)])[None]  # one head is the identity, the other swaps
    eye = torch.eye(2).expand(1, 2, 2, 2)
    situation = Situation(query, eye, eye, torch.ones(2, 2, dtype=torch.bool), scale=1.0)
    half = [[1 / 2, 1 / 2], [1 / 2, 1 / 2]]
    outcome = commit("heads-averaged", situation)
    check(outcome, [half, half])
    check(outcome.output, [[[1.0, 0], [0, 1]], [[0.0, 1], [1, 0]]])  # what was computed is right
    alone = commit("heads-averaged", situation, shape="one map")
    assert alone.weights is not None and alone.weights.shape == (1, 2, 2)
    check(alone, half)


def test_c76_heads_merged_by_view() -> None:
    value = torch.tensor([[[1.0, 2], [3, 4]], [[5, 6], [7, 8]]])[None]
    scores = (40.0 * torch.eye(2)).expand(1, 2, 2, 2)  # each query reads its own key
    situation = Situation(scores, torch.eye(2).expand(1, 2, 2, 2), value, torch.ones(2, 2, dtype=torch.bool), scale=1.0)
    check(commit("heads-merged-without-transpose", situation, shape="merged").output, [[1.0, 2, 3, 4], [5, 6, 7, 8]])
    per_head = commit("heads-merged-without-transpose", situation)
    check(per_head.output, [[[1.0, 2], [5, 6]], [[3.0, 4], [7, 8]]])
    check(per_head, [[[1.0, 0], [0, 1]]] * 2)


# softmax


def test_c60_softmax_over_queries() -> None:
    outcome = commit("softmax-over-queries", of_scores([[0, 1, 2], [0, 0, 0], [3.0, 0, 0]]))
    check(outcome, [[0.0453, 0.5761, 0.7870], [0.0453, 0.2119, 0.1065], [0.9094, 0.2119, 0.1065]])
    assert outcome.weights is not None
    check(outcome.weights.sum(dim=-1), [1.4084, 0.3637, 1.2278])


def test_softmax_over_queries_with_keys_that_nobody_reads() -> None:
    situation = even(2, padding=masks.padding([1], 2))
    check(commit("softmax-over-queries", situation), [[1 / 2, 0], [1 / 2, 0]])
    check(commit("softmax-over-queries", situation, empty="nan"), [[1 / 2, NAN], [1 / 2, NAN]])
    check(commit("softmax-over-queries", situation, empty="uniform"), [[1 / 2, 1 / 2], [1 / 2, 1 / 2]])


def test_c61_softmax_over_an_axis_of_size_one() -> None:
    for axis in ("heads", "batch"):
        check(commit("softmax-over-heads", of_scores([[3, -2.0, 0, 1, 7]]), axis=axis), [[1.0] * 5])


def test_softmax_over_heads() -> None:
    query = torch.tensor([0.0, math.log(3.0)]).view(1, 2, 1, 1)
    situation = Situation(query, torch.ones(1, 2, 1, 1), None, torch.ones(1, 1, dtype=torch.bool))
    check(commit("softmax-over-heads", situation), [[[0.25]], [[0.75]]])


def test_c65_softmax_twice() -> None:
    situation = of_scores([[4.0, 1, 0]])
    check(correct(situation).weights, [[0.9362, 0.0466, 0.0171]])
    check(commit("double-softmax", situation), [[0.5526, 0.2270, 0.2204]])
    row = of_scores([[math.log(0.7), math.log(0.3), 0.0]], causal=torch.tensor([[True, True, False]]))
    check(commit("double-softmax", row), [[0.4615, 0.3093, 0.2292]])
    check(commit("double-softmax", row, mask="kept"), [[0.5987, 0.4013, 0.0]])  # softmax([0.7, 0.3])


def test_exp_without_the_maximum() -> None:
    situation = of_scores([[100.0, 0, 0], [-200, -200, -200], [2, 1, 0]], causal=torch.ones(3, 3).bool())
    check(commit("no-max-subtraction", situation), [[NAN, 0, 0], [NAN] * 3, [0.6652, 0.2447, 0.0900]])
    with pytest.raises(CannotCommit, match="result is right"):
        CATALOGUE["no-max-subtraction"].act(of_scores([[80.0, 0]]))
    half = of_scores([[12.0, 0]])
    half = replace(half, query=half.query.half(), key=half.key.half(), value=None)
    check(commit("no-max-subtraction", half), [[NAN, 0]])  # exp(12) is beyond 65504
    with pytest.raises(CannotCommit, match="result is right"):
        commit("no-max-subtraction", half, dtype="float32")


def test_c125_dropout_left_on() -> None:
    situation = even(3, causal=masks.causal(3))
    keep = torch.tensor([[True, False, False], [False, True, True], [True, True, False]])[None, None]
    outcome = commit("dropout-left-on", situation, p=0.2, keep=keep)
    check(outcome, [[1.25, 0, 0], [0, 0.625, 0], [0.4167, 0.4167, 0]])
    check(outcome.output, [[1.25, 0, 0], [0, 0.625, 0], [0.4167, 0.4167, 0]])  # V is the identity
    with pytest.raises(CannotCommit, match=r"got 1\.0"):
        commit("dropout-left-on", situation, p=1.0)


# masking


def test_c01_mask_inverted() -> None:
    outcome = commit("mask-inverted", even(4, causal=masks.causal(4)))
    check(outcome, [[0, 1 / 3, 1 / 3, 1 / 3], [0, 0, 1 / 2, 1 / 2], [0, 0, 0, 1], [0, 0, 0, 0]])
    check(commit("mask-inverted", even(2, causal=masks.causal(2)), empty="nan"), [[0, 1], [NAN, NAN]])
    check(commit("mask-inverted", even(2, causal=masks.causal(2)), empty="uniform"), [[0, 1], [1 / 2, 1 / 2]])


def test_c03_padding_inverted_beside_a_causal_mask() -> None:
    situation = even(3, causal=masks.causal(3), padding=masks.padding([2], 3))
    check(commit("mask-inverted", situation, part="padding"), [[0, 0, 0], [0, 0, 0], [0, 0, 1]])


def test_c29_causal_mask_missing() -> None:
    check(commit("causal-mask-missing", even(4, causal=masks.causal(4))), [[1 / 4] * 4] * 4)


def test_what_else_holds_back_the_future_is_lost() -> None:
    prefix = even(3, prefix=masks.prefix_lm(3, prefix=2))
    check(commit("causal-mask-missing", prefix), [[1 / 3] * 3] * 3)
    cache = even(2, 4, cache=masks.causal_in_cache(2, 4, valid_lengths=[3]))
    check(commit("causal-mask-missing", cache), uniform("xxx.", "xxx."))
    window = even(4, window=masks.sliding_window(4, left=1, right=0))
    check(commit("causal-mask-missing", window), uniform("xxxx", "xxxx", ".xxx", "..xx"))
    both_ways = even(4, window=masks.sliding_window(4, left=1, right=1))
    assert list(CATALOGUE["causal-mask-missing"].variants(both_ways)) == []
    decoding = even(1, 4, cache=masks.padding([3], 4))
    assert list(CATALOGUE["causal-mask-missing"].variants(decoding)) == []


def test_c88_padding_mask_missing() -> None:
    situation = even(6, padding=masks.padding([4], 6))
    check(commit("padding-mask-missing", situation), [[1 / 6] * 6] * 6)  # 2/6 on padding
    both = even(3, causal=masks.causal(3), padding=masks.padding([1], 3))
    check(commit("padding-mask-missing", both), uniform("x..", "xx.", "xxx"))


def test_mask_ignored() -> None:
    situation = even(3, causal=masks.causal(3), padding=masks.padding([1], 3))
    check(commit("mask-ignored", situation), [[1 / 3] * 3] * 3)


def test_c54_masked_after_softmax() -> None:
    outcome = commit("mask-after-softmax", even(3, causal=masks.causal(3)))
    check(outcome, [[1 / 3, 0, 0], [1 / 3, 1 / 3, 0], [1 / 3, 1 / 3, 1 / 3]])


def test_one_part_masked_after_softmax() -> None:
    situation = even(3, causal=masks.causal(3), padding=masks.padding([2], 3))
    check(commit("mask-after-softmax", situation, part="padding"), [[1, 0, 0], [1 / 2, 1 / 2, 0], [1 / 3, 1 / 3, 0]])


def test_c06_mask_added_as_zero_one() -> None:
    outcome = commit("mask-added-as-zero-one", even(8, causal=masks.causal(8)))
    assert outcome.weights is not None
    check(outcome.weights[0, 0, 0], [0.2797] + [0.1029] * 7)
    check(outcome.weights[0, 0, 7], [0.125] * 8)
    assert int((outcome.weights[0, 0].triu(1) > 0).sum()) == 28
    blocked = commit("mask-added-as-zero-one", even(2, causal=masks.causal(2)), ones="blocked")
    check(blocked, [[0.2689, 0.7311], [1 / 2, 1 / 2]])


def test_c58_scores_multiplied_by_mask() -> None:
    keep = torch.tensor([[True, False, True, False]])
    outcome = commit("scores-multiplied-by-mask", of_scores([[3.0, 1, 2, -1]], padding=keep))
    check(outcome, [[0.6815, 0.0339, 0.2507, 0.0339]])
    situation = replace(of_scores([[3.0, 1]], causal=torch.tensor([[True, False]])), bias=torch.tensor([[0.0, 2.0]]))
    check(commit("scores-multiplied-by-mask", situation), [[0.7311, 0.2689]])  # softmax([3, 0 + 2])
    check(commit("scores-multiplied-by-mask", situation, stage="logits"), [[0.9526, 0.0474]])  # softmax([3, 0])


def test_c13_fill_too_weak() -> None:
    situation = of_scores([[1.0, 2, 0.7]], causal=torch.tensor([[True, True, False]]))
    outcome = commit("fill-too-weak", situation, c=-1e-12)
    check(outcome, [[0.2447, 0.6652, 0.0900]])
    assert outcome.weights is not None
    fitted = CATALOGUE["fill-too-weak"].fit(situation, outcome.weights)
    assert fitted is not None and fitted.note["how"] == "replaced"
    assert fitted.note["c"] == pytest.approx(0.0, abs=1e-5)  # float32
    check(commit("fill-too-weak", situation, c=-1.0, how="added"), [[0.2506, 0.6811, 0.0683]])  # softmax([1, 2, -0.3])


# numbers


def test_c35_finite_fill_on_an_empty_row() -> None:
    situation = of_scores([[3.0, 1, 0]], padding=torch.zeros(1, 3, dtype=torch.bool))
    situation = replace(situation, value=torch.tensor([[[[1.0, 0], [0, 1], [4, 4]]]]))
    for how, fill in (("replaced", "min"), ("added", "min"), ("added", "-1e9")):
        outcome = commit("finite-fill-on-empty-row", situation, how=how, fill=fill)
        check(outcome, [[1 / 3, 1 / 3, 1 / 3]])
        check(outcome.output, [[1.6667, 1.6667]])
    check(commit("finite-fill-on-empty-row", situation, how="added", fill="-1e4"), [[0.8438, 0.1142, 0.0420]])


def test_c45_two_additive_masks_summed() -> None:
    situation = even(5, causal=masks.causal(5), padding=masks.padding([2], 5, side="left"))
    outcome = commit("masks-summed-overflow", situation)
    check(outcome, uniform("x..xx", "xx.xx", "xxxxx", "...x.", "...xx"))


def test_c46_products_beyond_float16() -> None:
    query = torch.full((1, 1, 2, 64), 40.0, dtype=torch.float16)
    situation = Situation(query, query, query, torch.ones(2, 2, dtype=torch.bool))
    check(correct(situation).weights, [[1 / 2, 1 / 2]] * 2)
    outcome = commit("half-precision-overflow", situation)
    check(outcome, [[NAN, NAN]] * 2)
    assert outcome.note["largest"] == 102400
    with pytest.raises(CannotCommit, match="fits float16"):
        commit("half-precision-overflow", replace(situation, query=query / 8), what="products")


def test_c47_a_fill_cast_to_float16() -> None:
    zeros = torch.zeros(1, 1, 2, 1, dtype=torch.float16)
    allowed = torch.tensor([[True, True], [False, False]])
    situation = Situation(zeros, zeros, zeros, allowed)
    check(commit("half-precision-overflow", situation, what="fill"), [[1 / 2, 1 / 2], [NAN, NAN]])


def test_c36_zero_times_nan() -> None:
    situation = even(2, padding=masks.padding([1], 2))
    situation = replace(situation, value=torch.tensor([[[[1.0, 2], [NAN, 5]]]]))
    outcome = commit("zero-times-nan", situation)
    check(outcome, [[1.0, 0], [1, 0]])
    check(outcome.output, [[NAN, 2], [NAN, 2]])
    check(correct(situation).output, [[1.0, 2], [1, 2]])
    assert outcome.note["key"] == 1


# padding


def test_c15_padding_on_the_query_axis() -> None:
    situation = even(4, padding=masks.padding([2], 4))
    check(commit("padding-on-query-axis", situation), [[1 / 4] * 4] * 2 + [[0.0] * 4] * 2)
    check(commit("padding-on-query-axis", situation, empty="uniform"), [[1 / 4] * 4] * 4)  # invisible with -1e4


def test_padding_side_swapped() -> None:
    right = replace(even(4, padding=masks.padding([3], 4)), lengths=torch.tensor([3]))
    check(commit("padding-side-swapped", right), uniform(*[".xxx"] * 4))
    left = even(4, padding=masks.padding([1], 4, side="left"))
    check(commit("padding-side-swapped", replace(left, side="left")), uniform(*["x..."] * 4))


def test_c86_first_padding_key_left_unmasked() -> None:
    situation = replace(even(6, padding=masks.padding([3], 6)), lengths=torch.tensor([3]))
    check(commit("padding-border-off-by-one", situation, by=1), uniform(*["xxxx.."] * 6))
    check(commit("padding-border-off-by-one", situation, by=-1), uniform(*["xx...."] * 6))


def test_padding_or_causal() -> None:
    situation = even(4, causal=masks.causal(4), padding=masks.padding([2], 4))
    check(commit("padding-or-causal", situation), uniform("xx..", "xx..", "xxx.", "xxxx"))


# where a query stands


def test_causal_strict() -> None:
    situation = even(3, causal=masks.causal(3))
    check(commit("causal-strict", situation), [[0, 0, 0], [1, 0, 0], [1 / 2, 1 / 2, 0]])
    check(commit("causal-strict", situation, empty="nan"), [[NAN] * 3, [1, 0, 0], [1 / 2, 1 / 2, 0]])


def test_causal_one_late() -> None:
    check(commit("causal-one-late", even(3, causal=masks.causal(3))), uniform("xx.", "xxx", "xxx"))
    check(commit("causal-one-late", even(2, 4, causal=masks.causal(2, 4))), uniform("xxxx", "xxxx"))
    short = even(4, 2, causal=masks.causal(4, 2))  # queries 0 and 1 stand before the first key
    check(commit("causal-one-late", short), [[0, 0], [1, 0], [1 / 2, 1 / 2], [1 / 2, 1 / 2]])


def test_the_border_of_a_prefix_or_a_cache_moves_too() -> None:
    prefix = even(5, prefix=masks.prefix_lm(5, prefix=3))
    check(commit("causal-one-late", prefix), uniform("xxx..", "xxx..", "xxxx.", "xxxxx", "xxxxx"))
    check(commit("causal-strict", prefix), uniform("xxx..", "xxx..", "xxx..", "xxx..", "xxxx."))
    assert list(CATALOGUE["causal-strict"].variants(even(3, prefix=masks.prefix_lm(3, prefix=1)))) == []
    cache = even(2, 5, cache=masks.causal_in_cache(2, 5, valid_lengths=[3]))
    check(commit("causal-one-late", cache), uniform("xxx..", "xxxx."))
    check(commit("causal-strict", cache), uniform("x....", "xx..."))


def test_causal_transposed() -> None:
    check(commit("causal-transposed", even(3, causal=masks.causal(3))), uniform("xxx", ".xx", "..x"))
    check(commit("causal-transposed", even(2, 4, causal=masks.causal(2, 4))), uniform("..xx", "...x"))


def test_c22_c23_c24_causal_at_the_top_left() -> None:
    check(commit("causal-top-left", even(2, 5, causal=masks.causal(2, 5))), uniform("x....", "xx..."))
    check(commit("causal-top-left", even(1, 6, causal=masks.causal(1, 6))), uniform("x....."))
    check(commit("causal-top-left", even(3, 6, causal=masks.causal(3, 6))), uniform("x.....", "xx....", "xxx..."))
    with pytest.raises(CannotCommit, match="agree where q_len equals k_len"):
        commit("causal-top-left", even(3, causal=masks.causal(3)), part="causal")


def windowed(q_len: int, width: int, k_len: int | None = None) -> Situation:
    """A causal window, with the causal part beside it."""
    window = masks.sliding_window(q_len, k_len, left=width - 1, right=0)
    return replace(even(q_len, k_len, causal=masks.causal(q_len, k_len), window=window), window=width)


@pytest.mark.parametrize("by, keys", [({}, [1, 2, 3, 4, 4, 4]), ({"end": "left", "by": -1}, [1, 2, 2, 2, 2, 2])])
def test_c92_one_key_more_or_less(by: dict, keys: list[int]) -> None:
    situation = windowed(6, 3)
    assert correct(situation).allowed.sum(dim=-1).tolist() == [1, 2, 3, 3, 3, 3]
    assert keys_per_row(commit("window-off-by-one", situation, **by)) == keys


def test_c92_a_window_on_both_sides() -> None:
    outcome = commit("window-off-by-one", windowed(6, 3), end="two-sided")
    check(outcome, uniform("xxxx..", "xxxxx.", "xxxxxx", "xxxxxx", ".xxxxx", "..xxxx"))


def test_c95_a_distance_of_w() -> None:
    assert keys_per_row(commit("window-off-by-one", windowed(5, 2))) == [1, 2, 3, 3, 3]


def test_the_right_end_of_a_two_sided_window() -> None:
    situation = even(5, window=masks.sliding_window(5, left=1, right=1))
    assert keys_per_row(commit("window-off-by-one", situation, end="right", by=1)) == [3, 4, 4, 3, 2]
    assert keys_per_row(commit("window-off-by-one", situation, end="both", by=-1)) == [1, 1, 1, 1, 1]
    with pytest.raises(CannotCommit, match="lose the query itself"):
        commit("window-off-by-one", situation, end="right", by=-2)


def test_c94_the_window_is_lost() -> None:
    check(commit("window-on-wrong-layers", windowed(1, 3, 7)), [[1 / 7] * 7])


def test_the_window_is_lost_and_took_the_causal_mask_along() -> None:
    situation = even(3, window=masks.sliding_window(3, left=1, right=0))
    check(commit("window-on-wrong-layers", situation), uniform("x..", "xx.", "xxx"))


def test_a_window_where_none_is_meant() -> None:
    situation = replace(even(4, causal=masks.causal(4)), window=2)
    outcome = commit("window-on-wrong-layers", situation)
    check(outcome, uniform("x...", "xx..", ".xx.", "..xx"))
    assert outcome.note["window"] == 2
    both_ways = replace(even(4), window=2)
    check(commit("window-on-wrong-layers", both_ways), uniform("xx..", "xxx.", ".xxx", "..xx"))


def test_the_window_is_estimated_where_none_is_known() -> None:
    situation = even(4, causal=masks.causal(4))
    fault = CATALOGUE["window-on-wrong-layers"]
    observed = commit("window-on-wrong-layers", replace(situation, window=3)).weights
    assert observed is not None
    fitted = fault.fit(situation, observed)
    assert fitted is not None and fitted.note["window"] == 3
    torch.testing.assert_close(fitted.weights, observed, rtol=0, atol=0)
    right = correct(situation).weights
    assert right is not None and fault.fit(situation, right) is None


def test_c101_chunks_and_windows() -> None:
    causal, chunk = masks.causal(7), masks.chunked(7, size=3)
    chunks = replace(even(7, causal=causal, chunk=chunk), chunk=3)
    assert keys_per_row(commit("chunk-as-window", chunks)) == [1, 2, 3, 3, 3, 3, 3]
    assert keys_per_row(commit("chunk-as-window", windowed(7, 3))) == [1, 2, 3, 1, 2, 3, 1]


def test_c106_documents_read_each_other() -> None:
    ids = torch.tensor([[0, 0, 0, 0, 1, 1]])
    situation = replace(even(6, causal=masks.causal(6), documents=masks.packed(ids)), document_ids=ids)
    right = correct(situation).weights
    assert right is not None
    check(right[0, 0, 4:], uniform("....x.", "....xx"))
    outcome = commit("packing-leak", situation)
    assert outcome.weights is not None
    check(outcome.weights[0, 0, :, :4].sum(dim=-1)[4:], [4 / 5, 4 / 6])


def test_c119_empty_slots_of_a_cache() -> None:
    key = torch.tensor([2.0] * 3 + [0.0] * 5).view(1, 1, 8, 1)
    cache = masks.padding([3], 8)
    situation = Situation(torch.ones(1, 1, 1, 1), key, key, cache, {"cache": cache}, lengths=torch.tensor([3]))
    check(correct(situation).weights, [[1 / 3] * 3 + [0.0] * 5])
    outcome = commit("cache-slots-unmasked", situation)
    check(outcome, [[0.2720] * 3 + [0.1840 / 5] * 5])


def test_c25_one_offset_for_samples_of_different_length() -> None:
    lengths = torch.tensor([3, 5])
    cache = masks.causal_in_cache(2, 5, valid_lengths=lengths)
    zeros = torch.zeros(2, 1, 5, 1)
    situation = Situation(zeros[:, :, :2], zeros, zeros, cache, {"cache": cache}, lengths=lengths)
    check(correct(situation).weights, [[uniform("xx...", "xxx..")], [uniform("xxxx.", "xxxxx")]])
    for how in ("shared offset", "longest"):
        outcome = commit("cache-slots-unmasked", situation, how=how)
        check(outcome, [[uniform("xxxx.", "xxxxx")]] * 2)
    check(commit("cache-slots-unmasked", situation), [[[[1 / 5] * 5] * 2]] * 2)
