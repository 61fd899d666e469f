"""Assertions for other people's suites: they pass on what is right, and fail with the words of the report."""

import re

import pytest
import torch
from torch import Tensor

from attention_core import masks, scaled_dot_product_attention
from attention_core.testing import (
    assert_attention_close,
    assert_attention_valid,
    assert_causal,
    assert_implementations_agree,
    assert_no_document_leak,
    assert_no_padding_leak,
    attention_tolerance,
)

BATCH, HEADS, LENGTH = 2, 3, 7
CAUSAL = masks.causal(LENGTH)


def seeded(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


X = seeded(BATCH, LENGTH, 5)
QUERY, KEY, VALUE = (seeded(BATCH, HEADS, LENGTH, 11, seed=seed) for seed in (1, 2, 3))


def summing(allowed: Tensor):
    """Each output is the sum of the inputs that it may read, whatever the batch."""

    def forward(x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        may = allowed[..., : x.shape[1], : x.shape[1]].float()
        if attention_mask is not None:
            may = may * attention_mask[:, None, :]
        return may @ x

    return forward


def weights_of(allowed: Tensor | None = CAUSAL) -> Tensor:
    weights = scaled_dot_product_attention(QUERY, KEY, VALUE, allowed=allowed).weights
    assert weights is not None
    return weights


# ---------------------------------------------------------------------------------------------------------------------
# models


def test_causal():
    report = assert_causal(summing(CAUSAL), X)
    assert report.passed and report.moved.equal(CAUSAL.expand(BATCH, -1, -1))
    with pytest.raises(AssertionError, match=r"changing input 1 moved output 0 .*: future tokens are visible; apply"):
        assert_causal(summing(torch.ones(LENGTH, LENGTH)), X)
    with pytest.raises(AssertionError, match="output 0 depends on input 1 by gradient"):
        assert_causal(summing(masks.causal(LENGTH, offset=1)), X, method="gradient")
    with pytest.raises(AssertionError, match="the test proves nothing"):
        assert_causal(lambda x: 0 * x, X)


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding(side):
    everything = torch.ones(LENGTH, LENGTH)
    assert assert_no_padding_leak(summing(everything), X, lengths=[4, 7], side=side).passed
    mask = masks.padding([4, 7], LENGTH, side=side)[:, 0, 0].long()
    assert assert_no_padding_leak(summing(everything), X, attention_mask=mask).passed

    def forgets(x: Tensor, attention_mask: Tensor) -> Tensor:
        return summing(everything)(x)

    with pytest.raises(AssertionError, match=r"moved outputs .* in sample 0: padding is read; hide padded keys"):
        assert_no_padding_leak(forgets, X, attention_mask=mask)
    with pytest.raises(AssertionError, match="future tokens are visible"):
        assert_no_padding_leak(summing(everything), X, attention_mask=mask, expect="causal")


def test_padding_needs_padding():
    with pytest.raises(ValueError, match="padding must be stated: got neither"):
        assert_no_padding_leak(summing(CAUSAL), X)
    with pytest.raises(ValueError, match="needs padding: got samples of full length only"):
        assert_no_padding_leak(summing(CAUSAL), X, lengths=[7, 7])


def test_documents():
    documents = torch.tensor([0, 0, 0, 1, 1, 2, 2])
    packed = masks.packed(documents)[0, 0]
    assert assert_no_document_leak(summing(packed), X, document_ids=documents).passed
    assert assert_no_document_leak(lambda x: summing(packed)(x)[:, -3:], X, document_ids=documents).passed
    with pytest.raises(AssertionError, match="packed documents read each other"):
        assert_no_document_leak(summing(CAUSAL), X, document_ids=documents)
    with pytest.raises(AssertionError, match="future tokens are visible"):
        assert_no_document_leak(summing(packed), X, document_ids=documents, expect="causal")
    with pytest.raises(ValueError, match="needs two documents in a sample: got one in each"):
        assert_no_document_leak(summing(CAUSAL), X, document_ids=torch.zeros(BATCH, LENGTH).long())


def test_implementations():
    made = {"eager": summing(CAUSAL), "sdpa": summing(CAUSAL), "fast": summing(masks.causal(LENGTH, offset=1))}
    report = assert_implementations_agree(made.__getitem__, X, implementations=["eager", "sdpa"])
    assert report.differences == {"eager": 0.0, "sdpa": 0.0}
    with pytest.raises(AssertionError, match=r"(?s)eager: no leak.*fast: changing input 1.*under fast alone"):
        assert_implementations_agree(made.__getitem__, X, implementations=["eager", "fast"])
    with pytest.raises(AssertionError, match="gone: not run: 'gone'"):  # one alone agrees with nobody
        assert_implementations_agree(made.__getitem__, X, implementations=["eager", "gone"])


# ---------------------------------------------------------------------------------------------------------------------
# weights


def test_close_weights():
    right = weights_of()
    assert_attention_close(right, right.double())
    assert_attention_close(right + 0.9e-5, right)
    wrong = right.clone()
    wrong[1, 2, 5, 3] += 0.25
    wrong[0, 0, 0, 1] -= 0.125
    with pytest.raises(AssertionError, match="within 1e-05") as failure:
        assert_attention_close(wrong, right)
    got, wanted = float(wrong[1, 2, 5, 3]), float(right[1, 2, 5, 3])
    said = f"2 of 294 cells differ, most at sample 1, head 2, query 5, key 3: got {got:.4g}, expected {wanted:.4g}"
    assert said in str(failure.value)
    assert_attention_close(wrong, right, tolerance=0.3)


@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    [(torch.float64, 1e-9), (torch.float32, 1e-5), (torch.float16, 2 / 2**10), (torch.bfloat16, 2 / 2**7)],
)
def test_the_tolerance_follows_the_coarser_dtype(dtype, tolerance):
    assert attention_tolerance(dtype) == tolerance
    right = weights_of().double()
    assert_attention_close(right.to(dtype), right)
    off = right.clone().to(dtype)
    off[0, 0, 3, 1] += 4 * tolerance
    with pytest.raises(AssertionError, match="1 of 294 cells differ, most at sample 0, head 0, query 3, key 1"):
        assert_attention_close(right, off)


def test_rows_that_see_nothing_have_no_right_answer():
    allowed = CAUSAL & masks.padding([4, 7], LENGTH, side="left")
    zeros = weights_of(allowed)
    uniform = zeros.masked_fill(~allowed.any(-1, keepdim=True), 1 / LENGTH)
    assert_attention_close(uniform, zeros, allowed=allowed)
    with pytest.raises(AssertionError, match="63 of 294 cells differ"):
        assert_attention_close(uniform, zeros)
    zeros[1, 0, 3, 5] = 0.25  # forbidden, in a row that sees something
    with pytest.raises(AssertionError, match="1 of 294 cells differ, most at sample 1, head 0, query 3, key 5"):
        assert_attention_close(zeros, uniform, allowed=allowed)


def test_nan_is_close_to_nothing():
    right = weights_of()
    broken = right.index_fill(-1, torch.tensor([4]), torch.nan)
    for actual, expected in ((broken, right), (right, broken), (broken, broken)):
        with pytest.raises(AssertionError, match="42 of 294 cells differ, most at sample 0, head 0, query 0, key 4"):
            assert_attention_close(actual, expected)


def test_valid_weights():
    assert_attention_valid(weights_of(), allowed=CAUSAL)
    assert_attention_valid(weights_of()[0, 0], allowed=CAUSAL)
    assert_attention_valid(weights_of(None).half())
    empty = CAUSAL & masks.padding([4, 7], LENGTH, side="left")
    assert_attention_valid(weights_of(empty), allowed=empty)  # rows of 0 where nothing may be seen
    sinks = scaled_dot_product_attention(QUERY, KEY, VALUE, allowed=CAUSAL, sinks=torch.zeros(HEADS))
    assert sinks.weights is not None
    assert_attention_valid(sinks.weights, allowed=CAUSAL, sink_weight=sinks.sink_weight)
    with pytest.raises(AssertionError, match="rows must sum to 1"):
        assert_attention_valid(sinks.weights, allowed=CAUSAL)


SUMS = "rows must sum to 1, and to 0 where a query may see nothing"
FINITE = "weights must be finite"
NEGATIVE = "weights must not be negative"
FORBIDDEN = "forbidden cells must have weight 0"


def spoiled(cell: tuple[int, ...], value: float) -> Tensor:
    weights = weights_of().clone()
    weights[cell] = value
    return weights


@pytest.mark.parametrize(
    ("weights", "rule", "found"),
    [
        (spoiled((1, 2, 3, 5), 0.25), FORBIDDEN, "1 do not, first sample 1, head 2, query 3, key 5, worst 0.25"),
        (spoiled((1, 2, 3, 5), 0.25), SUMS, "1 do not, first sample 1, head 2, query 3, worst 0.25"),
        (spoiled((0, 1, 4, 2), -0.5), NEGATIVE, "1 do not, first sample 0, head 1, query 4, key 2, worst 0.5"),
        (spoiled((0, 1, 4, 2), torch.nan), FINITE, "1 do not, first sample 0, head 1, query 4, key 2, worst nan"),
        (weights_of()[1, 0] * 0.5, SUMS, "7 do not, first query 0, worst 0.5"),
    ],
)
def test_invalid_weights(weights, rule, found):
    with pytest.raises(AssertionError, match=re.escape(f"{rule}: {found}")):
        assert_attention_valid(weights, allowed=CAUSAL)


def test_rows_of_padding_are_not_judged():
    allowed = CAUSAL & masks.padding([4, 7], LENGTH, side="left")
    uniform = weights_of(allowed).masked_fill(~allowed.any(-1, keepdim=True), 1 / LENGTH)
    padded = ~masks.padding([4, 7], LENGTH, side="left")[:, 0, 0]
    assert_attention_valid(uniform, allowed=allowed, padded_queries=padded)
    with pytest.raises(AssertionError, match="forbidden cells must have weight 0: 63 do not"):
        assert_attention_valid(uniform, allowed=allowed)


def test_failures_carry_the_words_of_the_doctor():
    full = weights_of(None)
    with pytest.raises(AssertionError) as failure:
        assert_attention_valid(full, allowed=CAUSAL)
    lines = str(failure.value).splitlines()
    assert lines[0].startswith(f"{FORBIDDEN}: {BATCH * HEADS * 21} do not, first sample 0, head 0, query 0, key 1")
    assert any(line.startswith("error: future keys 1-6 visible") for line in lines[1:])
    with pytest.raises(AssertionError, match=r"(?s)cells differ.*future keys 1-6 visible"):
        assert_attention_close(full, weights_of(), allowed=CAUSAL)


def test_with_query_and_key_the_doctor_names_the_fault():
    unscaled = scaled_dot_product_attention(QUERY, KEY, VALUE, allowed=CAUSAL, scale=1.0).weights
    assert unscaled is not None
    with pytest.raises(AssertionError, match=r"(?s)cells differ.*explained by no-scaling"):
        assert_attention_close(unscaled, weights_of(), allowed=CAUSAL, query=QUERY, key=KEY)


def test_a_doctor_that_cannot_read_the_case_does_not_hide_the_failure():
    with pytest.raises(AssertionError, match=r"(?s)forbidden cells must have weight 0.*no diagnosis: "):
        assert_attention_valid(weights_of(None), allowed=CAUSAL, query=QUERY[:, :, :3], key=KEY)


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda w: assert_attention_valid(w.tolist()), TypeError, "weights must be a float tensor .*: got list"),
        (lambda w: assert_attention_valid(w > 0), TypeError, "got torch.bool"),
        (lambda w: assert_attention_valid(w[0, 0, 0]), ValueError, r"got shape \(7,\)"),
        (lambda w: assert_attention_valid(w, allowed=CAUSAL.float()), TypeError, "allowed"),
        (lambda w: assert_attention_valid(w, allowed=CAUSAL[:3]), ValueError, r"allowed must broadcast .* \(3, 7\)"),
        (lambda w: assert_attention_valid(w, padded_queries=w[:, 0, 0]), TypeError, "padded_queries must be bool"),
        (lambda w: assert_attention_close(w, w[:1]), ValueError, r"one shape: got actual \(2, .*, expected \(1,"),
        (lambda w: assert_attention_valid(w, heads=3), TypeError, r"those of doctor.diagnose: got \['heads'\]"),
        (lambda w: assert_attention_close(w, w, heads=3), TypeError, r"those of doctor.diagnose: got \['heads'\]"),
        (lambda w: assert_attention_close(w, w > 0), TypeError, "expected must be a float tensor"),
        (lambda w: assert_attention_close(w, w + 1, allowed=CAUSAL[:3]), ValueError, "allowed must broadcast"),
    ],
)  # fmt: skip
def test_wrong_questions(call, error, match):
    with pytest.raises(error, match=match):
        call(weights_of())
