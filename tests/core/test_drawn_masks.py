"""Masks drawn by hand: the run computes with the drawing itself, and refuses what is none or does not fit."""

import pickle

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from attention_core import masks
from attention_core.drawn_masks import drawn, pack, read_rows, size_of, unpack
from attention_core.from_scratch import DTYPES, ControlError, MaskChoice, ScratchConfig, run_from_scratch

FIVE = "one two three four five"
ODD = "10001/01100/00000/11101/01010"  # row 2 is empty


def allowed_in(mask: MaskChoice, text: str = FIVE) -> Tensor:
    run = run_from_scratch(text, ScratchConfig(mask=mask))
    length = len(run.tokens["self"][0])
    return run.inputs[run.calls[0].name].allowed.expand(1, 1, length, length)[0, 0]


def test_the_mask_of_the_run_is_the_drawing():
    assert masks.draw(allowed_in(MaskChoice("custom", rows=ODD))) == "■⬚⬚⬚■\n⬚■■⬚⬚\n⬚⬚⬚⬚⬚\n■■■⬚■\n⬚■⬚■⬚"


def test_weights_are_zero_exactly_where_the_drawing_forbids():
    run = run_from_scratch(FIVE, ScratchConfig(mask=MaskChoice("custom", rows=ODD)))
    weights = run.trace(run.calls[0]).weights
    assert weights is not None
    assert torch.equal(weights > 0, drawn(ODD).expand_as(weights))
    assert run.agreement is not None and run.agreement.passed


def test_equal_drawings_are_equal_choices():
    choice = MaskChoice("custom", rows="10/11")
    for other in ("■⬚/■■", "■⬚\n■■", " 10\n11\n"):
        assert MaskChoice("custom", rows=other) == choice
        assert hash(MaskChoice("custom", rows=other)) == hash(choice)
    assert choice != MaskChoice("custom", rows="11/11")
    assert pickle.loads(pickle.dumps(choice)) == choice


@pytest.mark.parametrize("position", ["none", "t5"])
def test_a_drawn_causal_window_is_the_causal_window(position: str):
    named = MaskChoice("window", size=3, causal=True)
    rows = masks.draw(allowed_in(named))
    mine = run_from_scratch(FIVE, ScratchConfig(mask=MaskChoice("custom", rows=rows), position=position))
    other = run_from_scratch(FIVE, ScratchConfig(mask=named, position=position))
    assert torch.equal(mine.output, other.output)
    assert [call.name for call in mine.calls] == [call.name for call in other.calls] == ["decoder.0"]


def test_a_drawing_that_looks_ahead_is_no_decoder():
    assert not MaskChoice("custom", rows=ODD).causal
    assert MaskChoice("custom", rows="100/010/111").causal


@pytest.mark.parametrize("dtype", DTYPES)
def test_nobody_may_see_anything(dtype: str):
    rows = "000/000/000"
    run = run_from_scratch("a b c", ScratchConfig(mask=MaskChoice("custom", rows=rows), dtype=dtype))
    assert not run.trace(run.calls[0]).weights.any()  # type: ignore[union-attr]
    assert run.agreement is not None and run.agreement.passed
    assert not run.output.any()


def test_filler_of_a_batch_is_not_read_where_the_drawing_allows_it():
    run = run_from_scratch(["a b c", "a b"], ScratchConfig(mask=MaskChoice("custom", rows="111/111/111")))
    allowed = run.inputs[run.calls[0].name].allowed.expand(2, 1, 3, 3)
    assert masks.draw(allowed) == "■■■\n■■■\n■■■\n\n■■⬚\n■■⬚\n■■⬚"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (None, "got a row ''"),
        ("10/1x", "rows of 1 and 0 .* got a row '1x'"),
        ("10//11", "got a row ''"),
        ("101/011", "must be square, as many columns as rows: got 2 rows and 3 columns in row 0"),
        ("10/111", "got 2 rows and 3 columns in row 1"),
        (11, "mask rows must be a string: got 11"),
        ("/".join(["1" * 257] * 257), "at most 256 rows: got 257; draw a smaller one"),
    ],
)
def test_what_is_no_square_drawing_is_refused(rows, message: str):
    with pytest.raises(ControlError, match=message) as caught:
        MaskChoice("custom") if rows is None else MaskChoice("custom", rows=rows)
    assert caught.value.control == "mask.rows"


@pytest.mark.parametrize("text", ["a b", "a b c d", ["a b", "a b c d"]])
def test_a_text_of_another_size_is_refused(text):
    tokens = 2 if text == "a b" else 4
    message = f"the mask is 3 x 3 and the text has {tokens} tokens; edit the text or the mask"
    with pytest.raises(ControlError, match=message) as caught:
        run_from_scratch(text, ScratchConfig(mask=MaskChoice("custom", rows="100/110/111")))
    assert caught.value.control == "mask.rows"
    assert caught.value.values == {"size": 3, "tokens": tokens}


@given(st.integers(1, 13).flatmap(lambda n: st.lists(st.booleans(), min_size=n * n, max_size=n * n)))
def test_packing_loses_nothing(cells: list[bool]):
    size = round(len(cells) ** 0.5)
    mask = torch.tensor(cells).view(size, size)
    rows = read_rows(masks.draw(mask))
    assert size_of(rows) == size and torch.equal(drawn(rows), mask)
    assert unpack(pack(rows)) == rows


def test_the_largest_mask_of_the_lab_fits_a_link():
    code = pack("/".join(["10" * 32] * 64))
    assert len(code) < 700 and code.replace("-", "").replace("_", "").replace(".", "").isalnum()


@pytest.mark.parametrize("code", ["", "sA", "0.sA", "257.sA", "2.s/A", "2.s", "3.sA", "2.sAAA", "2.", "²2.sA"])
def test_what_is_no_packed_mask_is_refused(code: str):
    with pytest.raises(ValueError, match="a packed mask"):
        unpack(code)
