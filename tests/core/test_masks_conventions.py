"""Masks of other conventions, in and out, and where tokens stand."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from attention_core import masks

FLAGS = [[1, 1, 0], [1, 0, 0]]
ALLOWED = torch.tensor([[[[True, True, False]]], [[[True, False, False]]]])
NUMBERS = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float32, torch.float16)


def same(actual: Tensor, expected: Tensor) -> None:
    """Equal in dtype, shape and every cell."""
    torch.testing.assert_close(actual, expected, rtol=0, atol=0)


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_flags_of_every_dtype_convert(dtype: torch.dtype) -> None:
    flags = torch.tensor(FLAGS).to(dtype)
    same(masks.from_attention_mask(flags), ALLOWED)
    same(masks.from_key_padding_mask(flags), ~ALLOWED)
    same(masks.from_blocked(flags), ~ALLOWED[:, 0, 0])


def test_every_convention_out() -> None:
    same(masks.to_attention_mask(ALLOWED), torch.tensor(FLAGS))
    same(masks.to_key_padding_mask(ALLOWED), torch.tensor([[False, False, True], [False, True, True]]))
    same(masks.to_blocked(ALLOWED), ~ALLOWED)
    inf = math.inf
    same(masks.to_additive(ALLOWED)[:, 0, 0], torch.tensor([[0, 0, -inf], [0, -inf, -inf]]))
    lowest = torch.finfo(torch.float16).min
    half = masks.to_additive(ALLOWED, dtype=torch.float16, finite=True)
    same(half[:, 0, 0], torch.tensor([[0, 0, lowest], [0, lowest, lowest]], dtype=torch.float16))


def test_key_masks_come_out_of_masks_that_are_the_same_for_every_head_and_query() -> None:
    same(masks.to_attention_mask(ALLOWED.expand(2, 3, 5, 3)), torch.tensor(FLAGS))
    same(masks.to_attention_mask(ALLOWED[0, 0].expand(5, 3)), torch.tensor(FLAGS[:1]))
    for convert in (masks.to_attention_mask, masks.to_key_padding_mask):
        with pytest.raises(ValueError, match=r"same for every head and query: got shape \(3, 3\)"):
            convert(masks.causal(3))
        with pytest.raises(ValueError, match=r"two to four axes.*got 1"):
            convert(torch.ones(3, dtype=torch.bool))
        with pytest.raises(ValueError, match=r"holds no query"):
            convert(torch.ones(0, 3, dtype=torch.bool))


@given(
    st.lists(st.lists(st.booleans(), min_size=5, max_size=5), min_size=1, max_size=4), st.sampled_from([True, False])
)
def test_round_trips(rows: list[list[bool]], finite: bool) -> None:
    allowed = torch.tensor(rows)
    over_keys = allowed[:, None, None]
    same(masks.from_attention_mask(masks.to_attention_mask(over_keys)), over_keys)
    same(masks.from_key_padding_mask(masks.to_key_padding_mask(over_keys)), over_keys)
    same(masks.from_blocked(masks.to_blocked(allowed)), allowed)
    for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.float16):
        additive = masks.to_additive(allowed, dtype=dtype, finite=finite)
        assert additive.dtype == dtype
        same(masks.from_additive(additive), allowed)


def test_four_axes_keep_their_shape() -> None:
    same(masks.from_attention_mask(masks.causal(3)[None, None].long()), masks.causal(3)[None, None])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_everything_that_hides_is_hidden(dtype: torch.dtype) -> None:
    additive = torch.tensor([0.0, -0.0, -math.inf, torch.finfo(dtype).min, -1e4], dtype=dtype)
    same(masks.from_additive(additive), torch.tensor([True, True, False, False, False]))


@pytest.mark.parametrize(
    "convert, mask, error, message",
    [
        (masks.from_attention_mask, torch.tensor([[1, 2, 0]]), ValueError, r"only 0 and 1: got 2 at \(0, 1\)"),
        (masks.from_attention_mask, torch.tensor([[1, -1234567]]), ValueError, r"got -1234567 at \(0, 1\)"),
        (masks.from_attention_mask, torch.tensor([[0.0, -1e4]]), ValueError, r"got -10000.0 at.*from_additive"),
        (
            masks.from_attention_mask,
            torch.tensor([1, 1, 0]),
            ValueError,
            r"\(batch, k_len\): got shape \(3,\).*mask\[None\]",
        ),
        (masks.from_attention_mask, torch.ones(2, 3, 3), ValueError, r"\(batch, k_len\): got shape \(2, 3, 3\)"),
        (masks.from_attention_mask, [[1, 0]], TypeError, r"bool, integer or float tensor: got list"),
        (masks.from_attention_mask, torch.ones(1, 2, dtype=torch.complex64), TypeError, r"got torch.complex64"),
        (masks.from_key_padding_mask, torch.tensor([[3]]), ValueError, r"key_padding_mask.*only 0 and 1: got 3"),
        (masks.from_key_padding_mask, torch.ones(1, 1, 1, 3), ValueError, r"\(batch, k_len\)"),
        (masks.from_blocked, torch.tensor([[0, 7]]), ValueError, r"blocked must hold only 0 and 1: got 7 at \(0, 1\)"),
        (masks.from_blocked, torch.tensor([math.nan]), ValueError, r"got nan at 0"),
        (masks.from_additive, torch.tensor([[1, 0]]), TypeError, r"float tensor: got torch.int64.*from_attention_mask"),
        (masks.from_additive, torch.tensor([True]), TypeError, r"float tensor: got torch.bool.*from_blocked"),
        (masks.from_additive, torch.tensor([0.0, -3.5]), ValueError, r"at most -1000.*got -3.5 at 1.*as bias"),
        (masks.from_additive, torch.tensor([0.0, 2.0]), ValueError, r"got 2 at 1"),
        (masks.from_additive, torch.tensor([0.0, math.inf]), ValueError, r"got inf at 1"),
        (masks.from_additive, torch.tensor([1.0, 1.0]), ValueError, r"only 0 and 1.*did you mean bool"),
        (masks.to_blocked, torch.tensor([1, 0]), TypeError, r"allowed must be a bool tensor"),
        (masks.to_additive, torch.tensor([1.0, 0]), TypeError, r"allowed must be a bool tensor"),
        (masks.to_attention_mask, torch.tensor([[1, 0]]), TypeError, r"allowed must be a bool tensor"),
    ],
)
def test_refusals(convert, mask: Tensor, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        convert(mask)


def test_additive_needs_a_float_dtype() -> None:
    with pytest.raises(TypeError, match=r"float dtype: got torch.int64"):
        masks.to_additive(ALLOWED, dtype=torch.int64)


def test_offending_cells_are_listed_up_to_a_limit() -> None:
    with pytest.raises(ValueError, match=r"got NaN at 0, 1, 2, 3, 4, 5, 6, 7 and 3 more"):
        masks.from_additive(torch.full((11,), math.nan))


def test_a_mask_without_a_hidden_key_is_a_mask() -> None:
    same(masks.from_additive(torch.zeros(2, 3)), torch.ones(2, 3, dtype=torch.bool))
    same(masks.from_additive(torch.full((2, 3), -math.inf)), torch.zeros(2, 3, dtype=torch.bool))


def test_two_axes_of_unstated_meaning() -> None:
    over_pairs = torch.ones(5, 7, dtype=torch.bool)
    assert masks.place_two_axes(over_pairs, batch=2, q_len=5, k_len=7).shape == (5, 7)
    assert masks.place_two_axes(over_pairs, batch=5, q_len=2, k_len=7).shape == (5, 1, 1, 7)
    # one sample with one query: both readings are the same mask
    assert masks.place_two_axes(over_pairs[:1], batch=1, q_len=1, k_len=7).shape == (1, 7)
    with pytest.raises(ValueError, match=r"\(q_len, k_len\) = \(3, 7\) or \(batch, k_len\) = \(2, 7\): got \(5, 7\)"):
        masks.place_two_axes(over_pairs, batch=2, q_len=3, k_len=7)
    with pytest.raises(TypeError, match=r"mask must be a bool tensor"):
        masks.place_two_axes(over_pairs.long(), batch=2, q_len=5, k_len=7)


def test_lengths_and_positions() -> None:
    attention_mask = torch.tensor([[0, 0, 1, 1], [1, 1, 1, 0], [0, 0, 0, 0]])
    same(masks.real_lengths(attention_mask), torch.tensor([2, 3, 0]))
    same(masks.position_ids(attention_mask), torch.tensor([[0, 0, 0, 1], [0, 1, 2, 2], [0, 0, 0, 0]]))
    with pytest.raises(ValueError, match=r"attention_mask must be \(batch, len\): got shape \(4,\)"):
        masks.real_lengths(attention_mask[0])
    with pytest.raises(ValueError, match=r"only 0 and 1: got 2"):
        masks.position_ids(attention_mask * 2)


def test_documents_from_positions_count_in_each_row() -> None:
    positions = torch.tensor([[0, 1, 0, 1, 2, 0], [3, 4, 5, 9, 0, 0]])
    same(masks.document_ids_from_positions(positions), torch.tensor([[0, 0, 1, 1, 1, 2], [0, 0, 0, 1, 2, 3]]))
    same(masks.document_ids_from_positions(torch.tensor([-1, 0, 1])), torch.tensor([0, 1, 1]))
    same(masks.document_ids_from_positions(positions[:, :0]), torch.zeros(2, 0, dtype=torch.long))
    with pytest.raises(TypeError, match=r"position_ids must be integers"):
        masks.document_ids_from_positions(positions.float())


def test_padding_from_ids_refuses_what_has_no_answer() -> None:
    same(masks.attention_mask_from_ids(torch.tensor([[0, 0], [0, 5]]), pad_id=0), torch.tensor([[0, 0], [0, 1]]))
    with pytest.raises(TypeError, match=r"ids must be integers: got torch.float32"):
        masks.attention_mask_from_ids(torch.ones(1, 2), pad_id=0)
    with pytest.raises(ValueError, match=r"ids must be \(batch, len\)"):
        masks.attention_mask_from_ids(torch.tensor([1, 0]), pad_id=0)


def test_band_with_global_columns() -> None:
    # columns: global keys 0 and 3, then the band of one key on each side; len 4
    banded = torch.tensor(
        [
            [0.1, 0.2, 0.0, 0.4, 0.3],
            [0.1, 0.2, 0.0, 0.4, 0.3],
            [0.1, 0.2, 0.3, 0.4, 0.0],
            [0.1, 0.2, 0.3, 0.4, 0.0],
        ]
    )
    expected = torch.tensor(
        [
            [0.5, 0.3, 0.0, 0.2],
            [0.1, 0.4, 0.3, 0.2],
            [0.1, 0.3, 0.4, 0.2],
            [0.1, 0.0, 0.3, 0.6],
        ]
    )
    square = masks.square_from_banded(banded.expand(2, 3, 4, 5), left=1, global_keys=[0, 3])
    torch.testing.assert_close(square, expected.expand(2, 3, 4, 4), rtol=1e-6, atol=0)  # one float32 sum
    with pytest.raises(ValueError, match=r"0 beyond the sequence: got 0.1 in row 0, column 0.*key -2 of 4.*left=2"):
        masks.square_from_banded(banded, left=2)
    with pytest.raises(ValueError, match=r"positions below len 4: got \[4\]"):
        masks.square_from_banded(banded, left=1, global_keys=[4])
    with pytest.raises(ValueError, match=r"needs 5 left columns"):
        masks.square_from_banded(banded, left=5)
