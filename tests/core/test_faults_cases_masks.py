"""Faults of masks and positions on tiny inputs worked by hand; reported ones are named after the list of cases."""

from dataclasses import replace

import pytest
import torch

from attention_core import masks
from attention_core.faults import CATALOGUE, CannotCommit, Situation, commit, correct
from tests.core.tiny_situations import NAN, check, even, keys_per_row, of_scores, uniform

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


def test_a_row_that_both_masks_block_wholly() -> None:
    situation = even(2, 1, causal=masks.causal(2, 1), padding=masks.padding([0], 1))
    check(commit("masks-summed-overflow", situation), [[NAN], [1.0]])


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
    scaled = commit("no-scaling", situation)  # another fault does not bring this one along
    check(scaled.output, [[1.0, 2], [1, 2]])


# padding


def test_c15_padding_on_the_query_axis() -> None:
    situation = even(4, padding=masks.padding([2], 4))
    check(commit("padding-on-query-axis", situation), [[1 / 4] * 4] * 2 + [[0.0] * 4] * 2)
    check(commit("padding-on-query-axis", situation, empty="uniform"), [[1 / 4] * 4] * 4)  # invisible with -1e4


def test_padding_side_swapped() -> None:
    right = replace(even(4, padding=masks.padding([3], 4)), lengths=torch.tensor([3]))
    check(commit("padding-side-swapped", right), uniform(*[".xxx"] * 4))
    left = even(4, padding=masks.padding([2], 4, side="left"))  # the length is counted
    check(commit("padding-side-swapped", replace(left, side="left")), uniform(*["xx.."] * 4))


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


def test_no_ending_for_empty_rows_where_there_are_none() -> None:
    with pytest.raises(CannotCommit, match="no row is empty"):
        commit("causal-transposed", even(3, causal=masks.causal(3)), empty="nan")


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


def test_as_many_slots_as_the_fullest_sample_has() -> None:
    cache = masks.padding([2, 3], 5)  # the same slots for both queries
    zeros = torch.zeros(2, 1, 5, 1)
    situation = Situation(zeros[:, :, :2], zeros, zeros, cache, {"cache": cache})
    check(commit("cache-slots-unmasked", situation, how="longest"), [[uniform("xxx..", "xxx..")]] * 2)


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
