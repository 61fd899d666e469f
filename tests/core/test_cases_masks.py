"""Reported mistakes with masks, reduced to small inputs; named after the list of cases."""

import math

import pytest
import torch
from torch import Tensor

from attention_core import AttentionTrace, masks, scaled_dot_product_attention
from attention_core.masks import draw

T, F = True, False
ROUNDED = 1e-3  # the list gives four decimals and asks for this absolute tolerance


def uniform(
    allowed: Tensor | None, q_len: int, k_len: int, *, batch: int = 1, heads: int = 1, **options
) -> AttentionTrace:
    """All scores 0 and V = identity, so that the output is the weights."""
    query, key = torch.zeros(batch, heads, q_len, 4), torch.zeros(batch, heads, k_len, 4)
    value = torch.eye(k_len).expand(batch, heads, k_len, k_len)
    trace = scaled_dot_product_attention(query, key, value, allowed=allowed, **options)
    torch.testing.assert_close(trace.output, trace.weights, rtol=1e-6, atol=0)  # one float32 product by 1
    return trace


def shares(allowed: Tensor | None, q_len: int, k_len: int, **options) -> Tensor:
    """The rows of the only sample and head."""
    weights = uniform(allowed, q_len, k_len, **options).weights
    assert weights is not None
    return weights[0, 0]


def check(actual: Tensor, rows: list[list[float]], *, atol: float = ROUNDED) -> None:
    torch.testing.assert_close(actual, torch.tensor(rows, dtype=actual.dtype), rtol=0, atol=atol)


def test_c01_true_means_may_attend() -> None:
    future = torch.ones(4, 4).triu(1).bool()
    check(shares(future, 4, 4), [[0, 1 / 3, 1 / 3, 1 / 3], [0, 0, 1 / 2, 1 / 2], [0, 0, 0, 1], [0, 0, 0, 0]])
    right = masks.from_blocked(future)
    assert torch.equal(right, masks.causal(4))
    assert ((right != future).all(), int((future & ~right).sum()), int((right & ~future).sum())) == (True, 6, 10)
    check(
        shares(right, 4, 4),
        [[1, 0, 0, 0], [1 / 2, 1 / 2, 0, 0], [1 / 3, 1 / 3, 1 / 3, 0], [1 / 4, 1 / 4, 1 / 4, 1 / 4]],
    )


def test_c02_one_mask_two_conventions() -> None:
    flags = torch.tensor([[F, F, F, T]])
    imported = masks.from_key_padding_mask(flags)
    assert imported.tolist() == [[[[T, T, T, F]]]]
    check(shares(imported, 4, 4), [[1 / 3, 1 / 3, 1 / 3, 0]] * 4)
    check(shares(masks.from_attention_mask(flags), 4, 4), [[0, 0, 0, 1]] * 4)
    assert torch.equal(masks.to_key_padding_mask(imported), flags)
    attention = torch.nn.MultiheadAttention(2, 1, batch_first=True)
    x = torch.zeros(1, 4, 2)
    torch.testing.assert_close(
        attention(x, x, x, key_padding_mask=flags)[1][0], shares(imported, 4, 4), rtol=1e-6, atol=0
    )  # float32


@pytest.mark.parametrize("hidden", [-math.inf, -10000.0, torch.finfo(torch.float32).min])
def test_c03_additive_masks_are_not_truth_values(hidden: float) -> None:
    additive = torch.tensor([[[[0, 0, hidden]]]])
    allowed = masks.from_additive(additive)
    assert allowed.flatten().tolist() == [T, T, F]
    check(shares(allowed, 3, 3), [[1 / 2, 1 / 2, 0]] * 3)
    assert additive.bool().flatten().tolist() == [F, F, T]  # the plain cast says the opposite


def test_c06_a_triangle_of_float_ones_hides_nothing() -> None:
    triangle = torch.ones(8, 8).tril()
    with pytest.raises(TypeError, match=r"allowed must be a bool tensor.*got torch.float32"):
        uniform(triangle, 8, 8)
    with pytest.raises(ValueError, match=r"only 0 and 1, which hide nothing when added; did you mean bool"):
        masks.from_additive(triangle)
    added = shares(None, 8, 8, bias=triangle)
    check(added[:1], [[0.2797] + [0.1029] * 7])
    check(added[7:], [[0.125] * 8])
    assert int((added[masks.causal(8).logical_not()] > 0).sum()) == 28
    torch.testing.assert_close(
        shares(masks.from_attention_mask(triangle[None, None]), 8, 8), shares(masks.causal(8), 8, 8)
    )


def test_c07_a_boolean_4d_mask_is_applied() -> None:
    mask = torch.ones(1, 1, 5, 5).tril().bool()
    weights = shares(mask, 5, 5)
    assert (weights[~mask[0, 0]] == 0).all()
    check(weights[2:3], [[1 / 3, 1 / 3, 1 / 3, 0, 0]])
    with pytest.raises(TypeError, match=r"bias must be float.*torch.bool; a mask goes to allowed"):
        uniform(None, 5, 5, bias=mask)


def test_c08_integers_become_flags_before_they_are_inverted() -> None:
    flags = torch.tensor([1, 1, 0])
    assert masks.from_blocked(flags).tolist() == [F, F, T]
    assert (~flags).bool().tolist() == [T, T, T]  # bitwise: what must not happen


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8])
def test_c09_integer_masks_convert_or_are_refused_with_their_value(dtype: torch.dtype) -> None:
    flags = torch.tensor([[1, 1, 0]], dtype=dtype)
    with pytest.raises(TypeError, match=rf"allowed must be a bool tensor.*got {dtype}.*from_attention_mask"):
        uniform(flags, 3, 3)
    check(shares(masks.from_attention_mask(flags), 3, 3), [[1 / 2, 1 / 2, 0]] * 3)
    with pytest.raises(ValueError, match=r"only 0 and 1: got 2 at \(0, 1\)"):
        masks.from_attention_mask(torch.tensor([[1, 2, 0]], dtype=dtype))


def test_c13_a_tiny_fill_is_refused() -> None:
    scores, allowed = torch.tensor([[1.0, 2.0, 0.7]]), torch.tensor([[T, T, F]])
    with pytest.raises(ValueError, match=r"at most -1000 \(hidden\): got -1e-12 at \(0, 2\)"):
        masks.from_additive(torch.tensor([[0.0, 0.0, -1e-12]]))
    trace = scaled_dot_product_attention(scores, torch.eye(3), torch.eye(3), allowed=allowed, scale=1.0)
    check(trace.output, [[0.2689, 0.7311, 0]])
    assert trace.output[0, 2] == 0


def test_c15_padding_hides_columns() -> None:
    real = torch.tensor([[T, T, F, F]])
    allowed = masks.from_attention_mask(real)
    assert allowed.shape == (1, 1, 1, 4)
    check(shares(allowed, 4, 4), [[1 / 2, 1 / 2, 0, 0]] * 4)
    check(shares(real.reshape(1, 1, 4, 1), 4, 4), [[1 / 4] * 4, [1 / 4] * 4, [0] * 4, [0] * 4])  # what rows would give


def test_c16_a_mask_per_sample_never_passes_for_a_mask_of_pairs() -> None:
    keep = torch.tensor([[1, 1, 1], [1, 1, 0], [1, 0, 0]])
    weights = uniform(masks.from_attention_mask(keep), 3, 3, batch=3, heads=2).weights
    assert weights is not None
    right = torch.tensor([[1 / 3, 1 / 3, 1 / 3], [1 / 2, 1 / 2, 0], [1, 0, 0]])[:, None, None].expand(3, 2, 3, 3)
    torch.testing.assert_close(weights, right, rtol=0, atol=ROUNDED)
    assert torch.equal(masks.padding([3, 2, 1], 3), masks.from_attention_mask(keep))
    with pytest.raises(ValueError, match=r"batch == q_len == 3.*\(q_len, k_len\).*\(batch, k_len\)"):
        masks.place_two_axes(keep.bool(), batch=3, q_len=3, k_len=3)


def test_c17_masks_folded_into_batch_times_heads() -> None:
    blocked = masks.to_blocked(masks.padding([3, 1], 3)).expand(2, 1, 3, 3)
    folded = blocked[:, 0].repeat_interleave(2, dim=0)  # M0, M0, M1, M1
    allowed = masks.from_blocked(folded).unflatten(0, (2, 2))
    weights = uniform(allowed, 3, 3, batch=2, heads=2).weights
    assert weights is not None
    for head in range(2):
        check(weights[0, head], [[1 / 3, 1 / 3, 1 / 3]] * 3)
        check(weights[1, head], [[1, 0, 0]] * 3)
    x = torch.zeros(2, 3, 4)
    attention = torch.nn.MultiheadAttention(4, 2, batch_first=True)
    theirs = attention(x, x, x, attn_mask=folded, average_attn_weights=False)[1]
    torch.testing.assert_close(weights, theirs, rtol=1e-6, atol=0)  # float32


def test_c18_a_builder_takes_lengths_not_embeddings() -> None:
    x = torch.zeros(2, 5, 8)
    with pytest.raises(TypeError, match=r"got a tensor of shape \(2, 5, 8\).*causal\(5\), never the feature size 8"):
        masks.causal(x)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match=r"sliding_window takes lengths.*sliding_window\(5\)"):
        masks.sliding_window(x, left=1)  # pyright: ignore[reportArgumentType]
    assert masks.causal(x.shape[1]).shape == (5, 5)


def test_c22_both_alignments_have_a_name() -> None:
    check(shares(masks.causal(2, 5, offset=0), 2, 5), [[1, 0, 0, 0, 0], [1 / 2, 1 / 2, 0, 0, 0]])
    check(shares(masks.causal(2, 5), 2, 5), [[1 / 4] * 4 + [0], [1 / 5] * 5])
    assert torch.equal(masks.causal(2, 5), masks.causal(2, 5, offset=3))


def test_c23_the_newest_query_sees_the_whole_cache() -> None:
    check(shares(masks.causal(1, 6), 1, 6), [[1 / 6] * 6])
    check(shares(masks.causal(1, 6, offset=0), 1, 6), [[1, 0, 0, 0, 0, 0]])


def test_c24_the_second_chunk_keeps_its_history() -> None:
    allowed = masks.causal(3, 6)
    assert (int(allowed.sum()), int(masks.causal(3, 6, offset=0).sum())) == (15, 6)
    check(shares(allowed, 3, 6), [[1 / 4] * 4 + [0, 0], [1 / 5] * 5 + [0], [1 / 6] * 6])


def test_c25_each_sample_of_a_static_cache_has_its_own_offset() -> None:
    allowed = masks.causal_in_cache(2, 5, valid_lengths=torch.tensor([3, 5]))
    assert draw(allowed) == "■■⬚⬚⬚\n■■■⬚⬚\n\n■■■■⬚\n■■■■■"
    leaks = masks.causal(2, 5) & ~allowed
    assert leaks.nonzero().tolist() == [[0, 0, 0, 2], [0, 0, 0, 3], [0, 0, 1, 3], [0, 0, 1, 4]]


def test_c29_asking_for_stages_changes_no_output() -> None:
    generator = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(1, 2, 4, 8, generator=generator) for _ in range(3))
    seen = scaled_dot_product_attention(query, key, value, allowed=masks.causal(4))
    unseen = scaled_dot_product_attention(query, key, value, allowed=masks.causal(4), keep=())
    torch.testing.assert_close(seen.output, unseen.output, rtol=0, atol=0)
    rows = [[1 / (i + 1)] * (i + 1) + [0] * (3 - i) for i in range(4)]
    check(shares(masks.causal(4), 4, 4), rows)
    check(shares(None, 4, 4), [[1 / 4] * 4] * 4)


@pytest.mark.parametrize("keep", [(), ("weights",)])
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("rank", [2, 3, 4])
def test_c30_causality_has_one_path(keep: tuple[str, ...], padded: bool, rank: int) -> None:
    shape = (1,) * (rank - 2)
    allowed = masks.causal(3) & masks.padding([3], 3)[0, 0] if padded else masks.causal(3)
    trace = scaled_dot_product_attention(
        torch.zeros(*shape, 3, 4),
        torch.zeros(*shape, 3, 4),
        torch.eye(3).expand(*shape, 3, 3),
        allowed=allowed,
        keep=keep,
    )
    check(trace.output.reshape(3, 3), [[1, 0, 0], [1 / 2, 1 / 2, 0], [1 / 3, 1 / 3, 1 / 3]])


def test_c33_a_query_with_no_key() -> None:
    allowed = masks.causal(6, 10, offset=0)
    allowed[5] = False
    weights = shares(allowed, 6, 10)
    check(weights, [[1 / (i + 1)] * (i + 1) + [0] * (9 - i) for i in range(5)] + [[0] * 10])
    assert (weights[5] == 0).all()
    assert torch.isfinite(weights).all()


def test_c34_left_padding_and_causal_leave_pad_rows_empty() -> None:
    allowed = masks.causal(5) & masks.from_attention_mask(torch.tensor([[0, 0, 0, 1, 1]]))
    check(shares(allowed, 5, 5), [[0] * 5, [0] * 5, [0] * 5, [0, 0, 0, 1, 0], [0, 0, 0, 1 / 2, 1 / 2]])


@pytest.mark.parametrize("fill", [-1e9, torch.finfo(torch.float32).min])
def test_c35_an_empty_row_is_not_the_mean_of_v(fill: float) -> None:
    scores, value = torch.tensor([[3.0, 1.0, 0.0]]), torch.tensor([[1.0, 0.0], [0.0, 1.0], [4.0, 4.0]])
    hidden = masks.from_additive(torch.full((1, 3), fill))
    trace = scaled_dot_product_attention(scores, torch.eye(3), value, allowed=hidden, scale=1.0)
    check(trace.output, [[0, 0]], atol=0)
    as_bias = scaled_dot_product_attention(scores, torch.eye(3), value, bias=torch.full((1, 3), fill), scale=1.0)
    check(as_bias.output, [[1.6667, 1.6667]])  # a finite number is a number: uniform, as asked


def test_c36_nan_in_v_at_a_hidden_key() -> None:
    value = torch.tensor([[1.0, 2.0], [math.nan, 5.0]])
    allowed = torch.tensor([[T, F], [T, F]])
    trace = scaled_dot_product_attention(torch.zeros(2, 3), torch.zeros(2, 3), value, allowed=allowed)
    check(trace.output, [[1, 2], [1, 2]], atol=0)
    assert trace.weights is not None
    check(trace.weights, [[1, 0], [1, 0]], atol=0)


def test_c37_zero_times_infinity() -> None:
    keep = torch.tensor([1.0, 1.0, 0.0])
    with pytest.raises(ValueError, match=r"got NaN at 0, 1; 0 \* inf is NaN.*masked_fill"):
        masks.from_additive((1 - keep) * -math.inf)
    check(masks.to_additive(keep.bool()[None]), [[0, 0, -math.inf]], atol=0)


def test_c42_rows_of_padding_queries_stay() -> None:
    real = masks.attention_mask_from_ids(torch.tensor([[1, 2, 3, 0, 0]]), pad_id=0)
    allowed = masks.causal(5) & masks.from_attention_mask(real)
    assert draw(allowed) == "■⬚⬚⬚⬚\n■■⬚⬚⬚\n■■■⬚⬚\n■■■⬚⬚\n■■■⬚⬚"


def test_c44_no_fill_that_float16_cannot_hold() -> None:
    key = torch.zeros(2, 4, dtype=torch.float16)
    trace = scaled_dot_product_attention(key[:1], key, torch.eye(2).half(), allowed=torch.tensor([[F, T]]))
    check(trace.output, [[0, 1]], atol=0)
    for finite in (False, True):
        mask = masks.to_additive(torch.tensor([F, T]), dtype=torch.float16, finite=finite)
        assert mask.dtype == torch.float16 and torch.equal(masks.from_additive(mask), torch.tensor([F, T]))


def test_c45_masks_combine_before_they_are_converted() -> None:
    padding, causal = masks.from_attention_mask(torch.tensor([[0, 0, 0, 1, 1]])), masks.causal(5)
    rows = [[0] * 5, [0] * 5, [0] * 5, [0, 0, 0, 1, 0], [0, 0, 0, 1 / 2, 1 / 2]]
    check(shares(padding & causal, 5, 5), rows)
    summed = masks.to_additive(padding, finite=True) + masks.to_additive(causal, finite=True)
    wrong = [[1 / 3, 0, 0, 1 / 3, 1 / 3], [1 / 4, 1 / 4, 0, 1 / 4, 1 / 4], [1 / 5] * 5, *rows[3:]]
    check(shares(None, 5, 5, bias=summed), wrong)  # the numbers of the report, from the mask of the report
    check(shares(masks.from_additive(summed), 5, 5), rows)  # read as a mask it is right again


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_c47_a_wholly_hidden_row_is_zero_in_every_dtype(dtype: torch.dtype) -> None:
    minimum = torch.tensor(torch.finfo(torch.float32).min).to(dtype)
    row = torch.zeros(1, 4, dtype=dtype)
    hidden = masks.from_additive(torch.stack([minimum, minimum])[None])
    trace = scaled_dot_product_attention(row, row.expand(2, 4), torch.eye(2).to(dtype), allowed=hidden)
    check(trace.output, [[0, 0]], atol=0)


def test_c83_positions_count_real_tokens() -> None:
    attention_mask = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
    positions = masks.position_ids(attention_mask)
    assert positions[0, 2:].tolist() == [0, 1, 2]
    assert positions[1].tolist() == [0, 1, 2, 3, 4]
    assert bool(((positions >= 0) & (positions < 5)).all())
    assert masks.real_lengths(attention_mask).tolist() == [3, 5]


def test_c84_pad_id_zero_on_both_sides() -> None:
    ids = torch.tensor([[5, 6, 2, 0, 0], [0, 0, 5, 6, 2]])
    assert masks.attention_mask_from_ids(ids, pad_id=0, eos_id=2).tolist() == [[1, 1, 1, 0, 0], [0, 0, 1, 1, 1]]


def test_c85_pad_equals_end() -> None:
    assert masks.attention_mask_from_ids(torch.tensor([[7, 9, 8]]), pad_id=9, eos_id=9).tolist() == [[1, 1, 1]]
    padded = torch.tensor([[7, 9, 8, 9, 9]])
    with pytest.raises(ValueError, match=r"pad id = eos id = 9: padding is ambiguous, sample 0"):
        masks.attention_mask_from_ids(padded, pad_id=9, eos_id=9)
    assert masks.attention_mask_from_ids(padded, pad_id=9).tolist() == [[1, 1, 1, 0, 0]]  # index 1 stays


def test_c86_the_first_pad_is_hidden() -> None:
    allowed = masks.padding([3], 6)
    assert allowed.flatten().tolist() == [T, T, T, F, F, F]
    check(shares(allowed, 6, 6), [[1 / 3, 1 / 3, 1 / 3, 0, 0, 0]] * 6)


def test_c87_without_a_mask_pads_take_their_share() -> None:
    check(shares(None, 24, 24), [[1 / 24] * 24] * 24)
    check(shares(masks.padding([22], 24), 24, 24), [[1 / 22] * 22 + [0, 0]] * 24)


def test_c88_the_pad_id_is_the_tokenizers() -> None:
    ids = torch.tensor([[101, 7, 8, 102, 0, 0]])
    assert masks.attention_mask_from_ids(ids, pad_id=0).tolist() == [[1, 1, 1, 1, 0, 0]]
    wrong = masks.attention_mask_from_ids(ids, pad_id=1)
    assert wrong.tolist() == [[1] * 6]
    check(shares(masks.from_attention_mask(wrong), 6, 6)[:, 4:].sum(dim=1)[None], [[2 / 6] * 6])


def test_c92_window_of_w_keys_with_the_querys_own() -> None:
    allowed = masks.sliding_window(6, left=2, right=0)
    assert allowed.sum(dim=1).tolist() == [1, 2, 3, 3, 3, 3]
    assert allowed[5].nonzero().flatten().tolist() == [3, 4, 5]
    assert masks.sliding_window(6, left=3, right=0).sum(dim=1).tolist() == [1, 2, 3, 4, 4, 4]
    assert masks.sliding_window(6, left=3, right=3)[0].nonzero().flatten().tolist() == [0, 1, 2, 3]
    assert masks.sliding_window(7, left=2, right=0).sum(dim=1).tolist() == [1, 2, 3, 3, 3, 3, 3]


def test_c93_two_sided_window() -> None:
    allowed = masks.sliding_window(5, left=1, right=1)
    assert allowed.sum(dim=1).tolist() == [2, 3, 3, 3, 2]
    assert [allowed[i].nonzero().flatten().tolist() for i in (0, 2)] == [[0, 1], [1, 2, 3]]
    assert torch.equal(masks.sliding_window(6, left=5, right=0), masks.causal(6))


def test_c94_decoding_one_token_honours_the_window() -> None:
    step = masks.sliding_window(1, 7, left=2, right=0)
    check(shares(step, 1, 7), [[0, 0, 0, 0, 1 / 3, 1 / 3, 1 / 3]])
    assert torch.equal(step[0], masks.sliding_window(7, left=2, right=0)[6])


def test_c95_distance_below_w() -> None:
    assert masks.sliding_window(5, left=1, right=0).sum(dim=1).tolist() == [1, 2, 2, 2, 2]
    assert masks.sliding_window(5, left=1, right=0)[4].nonzero().flatten().tolist() == [3, 4]
    assert torch.equal(masks.sliding_window(2, left=1, right=0), masks.sliding_window(2, left=2, right=0))


def test_c99_a_band_unrolls_to_one_column_per_key() -> None:
    band = torch.tensor([[0.2, 0.5, 0.3]]).repeat(6, 1)
    band[0], band[5] = torch.tensor([0.0, 0.6, 0.4]), torch.tensor([0.3, 0.7, 0.0])
    square = masks.square_from_banded(band, left=1)
    check(square[[0, 2, 5]], [[0.6, 0.4, 0, 0, 0, 0], [0, 0.2, 0.5, 0.3, 0, 0], [0, 0, 0, 0, 0.3, 0.7]], atol=0)
    torch.testing.assert_close(square.sum(dim=1), torch.ones(6), rtol=1e-6, atol=0)  # float32 sums


def test_c101_chunks_are_not_windows() -> None:
    allowed = masks.chunked(7, size=3) & masks.causal(7)
    assert allowed.sum(dim=1).tolist() == [1, 2, 3, 1, 2, 3, 1]
    assert [allowed[i].nonzero().flatten().tolist() for i in (3, 5, 6)] == [[3], [3, 4, 5], [6]]


@pytest.mark.parametrize("prefix, cells", [(0, 15), (1, 15), (3, 18), (5, 25)])
def test_c103_borders_of_the_prefix(prefix: int, cells: int) -> None:
    allowed = masks.prefix_lm(5, prefix=prefix)
    assert int(allowed.sum()) == cells
    if prefix < 2:
        assert torch.equal(allowed, masks.causal(5))
    if prefix == 3:
        assert draw(allowed) == "■■■⬚⬚\n■■■⬚⬚\n■■■⬚⬚\n■■■■⬚\n■■■■■"


def test_c104_padding_inside_the_prefix_stays_hidden() -> None:
    padding = masks.from_attention_mask(torch.tensor([[0, 0, 1, 1, 1, 1]]))
    allowed = masks.prefix_lm(6, prefix=4) & padding
    assert draw(allowed) == "⬚⬚■■⬚⬚\n⬚⬚■■⬚⬚\n⬚⬚■■⬚⬚\n⬚⬚■■⬚⬚\n⬚⬚■■■⬚\n⬚⬚■■■■"


def test_c106_packed_documents_do_not_read_each_other() -> None:
    ids = torch.tensor([[0, 0, 0, 0, 1, 1]])
    weights = shares(masks.packed(ids) & masks.causal(6), 6, 6)
    check(weights[4:], [[0, 0, 0, 0, 1, 0], [0, 0, 0, 0, 1 / 2, 1 / 2]])
    leak = shares(masks.causal(6), 6, 6)
    check(leak[4:, :4].sum(dim=1)[None], [[4 / 5, 4 / 6]])


def test_c107_documents_come_from_positions_whatever_else_is_given() -> None:
    documents = masks.packed(masks.document_ids_from_positions(torch.tensor([[0, 1, 2, 0, 1]])))
    for padding in (torch.ones(5, 5, dtype=torch.bool), masks.from_attention_mask(torch.ones(1, 5))):
        allowed = documents & masks.causal(5) & padding
        assert draw(allowed) == "■⬚⬚⬚⬚\n■■⬚⬚⬚\n■■■⬚⬚\n⬚⬚⬚■⬚\n⬚⬚⬚■■"


def test_c108_how_much_leaks_without_the_document_term() -> None:
    ids = torch.tensor([[0, 0, 0, 1, 1]])
    other = ~masks.packed(ids)[0, 0]
    check((shares(masks.causal(5), 5, 5) * other).sum(dim=1)[None], [[0, 0, 0, 0.75, 0.6]])
    check((shares(masks.causal(5) & masks.packed(ids), 5, 5) * other).sum(dim=1)[None], [[0] * 5], atol=0)


def test_c109_documents_of_restarting_positions() -> None:
    ids = masks.document_ids_from_positions(torch.tensor([0, 1, 2, 0, 1, 0]))
    assert ids.tolist() == [0, 0, 0, 1, 1, 2]
    assert torch.bincount(ids).tolist() == [3, 2, 1]
    assert int((masks.packed(ids) & masks.causal(6)).sum()) == 10


def test_c113_cross_attention_hides_source_pads_only() -> None:
    check(shares(masks.padding([2], 4), 3, 4), [[1 / 2, 1 / 2, 0, 0]] * 3)


def test_c114_each_token_list_has_its_own_pad_id() -> None:
    source, target = torch.tensor([[8, 9, 1, 1]]), torch.tensor([[5, 1, 6, 0]])
    assert masks.attention_mask_from_ids(source, pad_id=1).tolist() == [[1, 1, 0, 0]]
    assert masks.attention_mask_from_ids(target, pad_id=0).tolist() == [[1, 1, 1, 0]]


def test_c119_empty_slots_of_a_static_cache() -> None:
    key = torch.cat([torch.full((3, 1), 2.0), torch.zeros(5, 1)])
    query, value = torch.ones(1, 1), torch.eye(8)
    allowed = masks.causal_in_cache(1, 8, valid_lengths=[3])[0, 0]
    right = scaled_dot_product_attention(query, key, value, allowed=allowed, scale=1.0)
    check(right.output, [[1 / 3, 1 / 3, 1 / 3, 0, 0, 0, 0, 0]])
    unmasked = scaled_dot_product_attention(query, key, value, scale=1.0).output
    check(unmasked[:, :3], [[0.2720] * 3])
    check(unmasked[:, 3:].sum(dim=1)[None], [[0.1840]])


def test_c172_every_length_gets_its_own_mask() -> None:
    built = [masks.causal(4), masks.causal(6), masks.sliding_window(4, left=1, right=0)]
    assert [tuple(mask.shape) for mask in built] == [(4, 4), (6, 6), (4, 4)]
    assert [int(mask.sum()) for mask in built] == [10, 21, 7]
