"""More reported mistakes and what the doctor must say: scale, axes, padding, windows, documents, controls."""

import math

import pytest
import torch
from torch import Tensor

from attention_core import masks
from attention_core.doctor import Finding, diagnose

INF = math.inf


def even(allowed: Tensor) -> Tensor:
    """Weights of scores that are all 0: each row spreads evenly over the keys that it may read."""
    return (allowed.double() / allowed.sum(-1, keepdim=True).clamp_min(1)).float()


def zeros(q_len: int, k_len: int, batch: int = 1, width: int = 4) -> dict[str, Tensor]:
    return {"query": torch.zeros(batch, 1, q_len, width), "key": torch.zeros(batch, 1, k_len, width)}


def from_scores(scores: list[float], width: int) -> dict[str, Tensor]:
    """One query and as many keys as scores, whose dot products are these."""
    query = torch.zeros(1, width)
    query[0, 0] = 1.0
    key = torch.zeros(len(scores), width)
    key[:, 0] = torch.tensor(scores)
    return {"query": query, "key": key}


def near(found: Finding, **expected: object) -> None:
    """The numbers of the report, to the 1e-3 that the reports are given in."""
    for name, value in expected.items():
        inexact = isinstance(value, float) or (isinstance(value, list) and any(isinstance(v, float) for v in value))
        assert found.evidence[name] == (pytest.approx(value, abs=1e-3) if inexact else value), (name, found)


def test_c67_scaled_by_the_model_width():
    key = torch.zeros(4, 2, 16)
    key[:, 0] = 1.0
    weights = torch.softmax(torch.tensor([[2.0, 0.0]]), -1).expand(4, 1, 2)
    report = diagnose(weights=weights, query=torch.ones(4, 1, 16), key=key, expect="bidirectional")
    near(report.finding("scale"), estimated=0.125, expected=0.25)
    assert "estimated scale 0.125 = 1/sqrt(64), expected 0.25 = 1/sqrt(16)" in report.finding("scale").message
    assert report.explained_by == ("scaled-by-d-model",)
    assert report.estimates["scale"] == pytest.approx(0.125, abs=1e-4)


def test_c68_divided_by_the_inverse():
    inputs = from_scores([1.0, 0.5, 0.0], 16)
    weights = torch.softmax(torch.tensor([[4.0, 2.0, 0.0]]), -1)
    report = diagnose(weights=weights, expect="bidirectional", **inputs)
    assert "estimated scale 4 = sqrt(16), expected 0.25" in report.finding("scale").message
    assert report.explained_by == ("divided-by-inverse",)


def test_c69_control_attention_without_a_scale():
    inputs = from_scores([2.0, 0.0], 64)
    bias = torch.tensor([[0.0, 1.0]])
    weights = torch.softmax(torch.tensor([[2.0, 1.0]]), -1)
    declared = diagnose(weights=weights, bias=bias, scale=1.0, expect="bidirectional", **inputs)
    assert declared.ok and declared.explained_by == ()
    assert [f.severity for f in declared.findings] == ["info"]
    assert "estimated scale 1 (unscaled)" in declared.finding("scale").message
    undeclared = diagnose(weights=weights, bias=bias, expect="bidirectional", **inputs)
    assert undeclared.ok
    assert undeclared.explained_by == ("no-scaling",)
    assert undeclared.finding("explained").severity == "warning"


def test_c70_the_bias_is_scaled_too():
    inputs = from_scores([8.0, 0.0], 16)
    weights = torch.softmax(torch.tensor([[2.0, -1.0]]), -1)
    report = diagnose(weights=weights, bias=torch.tensor([[0.0, -4.0]]), expect="bidirectional", **inputs)
    assert report.explained_by == ("bias-scaled-too",)
    assert "bias is applied at 25% of its value = the 1/sqrt(16) factor" in report.finding("bias-factor").message


def test_c81_batch_first_was_forgotten():
    report = diagnose(weights=torch.full((3, 2, 2), 0.5), tokens=[["a", "b", "c"], ["d", "e", "f"]])
    found = report.finding("axes-swapped")
    assert found.severity == "error"
    assert "3 maps of 2x2, expected 2 maps of 3x3; was batch_first set?" in found.message


@pytest.mark.parametrize("extra", [{}, zeros(6, 6)])
def test_c86_the_first_padding_key_is_left_unmasked(extra):
    weights = even((torch.arange(6) < 4).expand(6, 6))
    report = diagnose(weights=weights, lengths=torch.tensor([[1, 1, 1, 0, 0, 0]]), **extra)
    found = report.finding("padding-visible")
    near(found, keys=[3], largest=0.25, rows=[0, 1, 2])
    assert "padding keys 4-5 have weight 0: off by one at the padding border" in found.message
    assert "padding-border-off-by-one" in report.explained_by


def test_c87_padding_without_a_mask():
    report = diagnose(weights=torch.full((24, 24), 1 / 24), lengths=torch.tensor([22]))
    near(report.finding("padding-visible"), keys=[22, 23], largest=2 / 24)
    tokens = [f"t{i}" for i in range(22)] + ["[PAD]", "[PAD]"]
    report = diagnose(weights=torch.full((24, 24), 1 / 24), tokens=tokens)
    near(report.finding("padding-visible"), keys=[22, 23], largest=0.0833)


def test_c88_an_all_ones_mask_beside_pad_tokens():
    tokens = ["[CLS]", "7", "8", "[SEP]", "[PAD]", "[PAD]"]
    weights = torch.full((6, 6), 1 / 6)
    report = diagnose(weights=weights, raw_mask=torch.ones(1, 6, dtype=torch.long), tokens=tokens)
    found = report.finding("padding-visible")
    assert found.severity == "warning"
    near(found, keys=[4, 5], largest=0.3333)
    assert report.finding("mask-differs").severity in ("warning", "error")


def test_c92_a_window_of_one_key_too_many():
    wide = masks.sliding_window(6, left=3, right=0)
    report = diagnose(weights=even(wide), expect="window=3", **zeros(6, 6))
    found = report.finding("outside-window-visible")
    near(found, rows=[3, 4, 5], read=4, window=3, cells=3)
    assert "rows 3-5 read up to 4 keys, the window is 3" in found.message
    assert "window-off-by-one" in report.explained_by
    both = diagnose(weights=even(masks.sliding_window(6, left=3, right=3)), expect="window=3", **zeros(6, 6))
    assert 0 in both.finding("future-visible").evidence["rows"]
    right = diagnose(weights=even(masks.sliding_window(6, left=2, right=0)), expect="window:3", **zeros(6, 6))
    assert right.ok and right.explained_by == ()


def test_c94_a_window_forgotten_while_decoding():
    report = diagnose(weights=torch.full((1, 7), 1 / 7), expect="causal,window=3", **zeros(1, 7))
    near(report.finding("outside-window-visible"), keys=[0, 1, 2, 3], read=7)
    assert "window-on-wrong-layers" in report.explained_by


def test_c95_the_two_definitions_differ_only_beyond_the_window():
    wide = even(masks.sliding_window(5, left=2, right=0))
    assert "window-off-by-one" in diagnose(weights=wide, expect="window=2", **zeros(5, 5)).explained_by
    short = even(masks.sliding_window(2, left=2, right=0))
    assert diagnose(weights=short, expect="window=2", **zeros(2, 2)).explained_by == ()


def test_c99_a_banded_layout():
    rows = torch.tensor([[0.2, 0.5, 0.3]]).expand(6, 3)
    report = diagnose(weights=rows, tokens=list("abcdef"))
    assert "weights are 6x3 but there are 6 keys: banded layout?" in report.finding("banded-layout").message
    report = diagnose(weights=rows, **zeros(6, 6))
    assert "weights are 6x3 but there are 6 keys" in report.finding("banded-layout").message


def test_c101_a_chunk_is_no_window():
    chunks = masks.chunked(7, size=3) & masks.causal(7)
    assert diagnose(weights=even(chunks), expect="chunk=3", **zeros(7, 7)).ok
    window = masks.sliding_window(7, left=2, right=0)
    report = diagnose(weights=even(window), expect="chunk=3", **zeros(7, 7))
    found = report.finding("outside-chunk-visible")
    assert "crosses the chunk border at 3, 6" in found.message
    assert (0, 0, 3, 2) in found.where
    assert report.explained_by == ("chunk-as-window",)


def test_c103_the_prefix_may_be_read_and_nothing_else_of_the_future():
    prefix = masks.prefix_lm(5, prefix=3)
    report = diagnose(weights=even(prefix), expect="prefix=3", **zeros(5, 5))
    assert report.ok and report.explained_by == ()
    wrong = prefix.clone()
    wrong[2, 3] = True
    found = diagnose(weights=even(wrong), expect="prefix=3", **zeros(5, 5)).finding("future-visible")
    near(found, rows=[2], keys=[3], cells=1)
    for size in (0, 1):
        assert diagnose(weights=even(masks.causal(5)), expect=f"prefix={size}", **zeros(5, 5)).ok
    assert diagnose(weights=torch.full((5, 5), 0.2), expect="prefix=5", **zeros(5, 5)).ok


def test_c104_opening_the_prefix_opens_the_padding():
    opened = masks.prefix_lm(6, prefix=4)
    lengths = torch.tensor([[0, 0, 1, 1, 1, 1]])
    report = diagnose(weights=even(opened), lengths=lengths, expect="prefix=4", **zeros(6, 6))
    near(report.finding("padding-visible"), keys=[0, 1], rows=[2, 3, 4, 5])
    right = opened & masks.padding([4], 6, side="left")
    assert diagnose(weights=even(right), lengths=lengths, expect="prefix=4", **zeros(6, 6)).ok


def test_c106_and_c108_packed_documents_read_each_other():
    for ids, rows, mass in (
        ([0, 0, 0, 0, 1, 1], [4, 5], [0.8, 4 / 6]),
        ([0, 0, 0, 1, 1], [3, 4], [0.75, 0.6]),
    ):
        size = len(ids)
        report = diagnose(
            weights=even(masks.causal(size)), document_ids=torch.tensor([ids]), expect="causal", **zeros(size, size)
        )
        found = report.finding("document-visible")
        near(found, rows=rows, mass=mass)
        assert "read document 0" in found.message
        assert "packing-leak" in report.explained_by


def test_c107_positions_that_restart_are_documents():
    scores = torch.randn(1, 2, 5, 5, generator=torch.Generator().manual_seed(1)) * 0.05
    weights = torch.softmax(scores.masked_fill(~masks.causal(5), -INF), -1)
    report = diagnose(weights=weights, position_ids=torch.tensor([[0, 1, 2, 0, 1]]))
    found = report.finding("document-visible")
    assert "documents [0-2],[3-4]" in found.message
    assert found.evidence["rows"] == [3, 4]
    assert found.evidence["mass"][0] == pytest.approx(0.75, abs=0.03)  # near uniform, as in the report
    assert "packing-leak" in report.explained_by


def test_c113_control_rows_of_target_padding():
    keep = torch.tensor([True, True, False, False])
    tokens = {"query": ["a", "b", "[PAD]"], "key": ["w", "x", "[PAD]", "[PAD]"]}
    report = diagnose(weights=even(keep.expand(3, 4)), tokens=tokens, lengths=torch.tensor([2]), **zeros(3, 4))
    assert report.ok and report.explained_by == ()
    assert "rows 2 are padding queries" in report.finding("padding-queries").message
    report = diagnose(weights=torch.full((3, 4), 0.25), tokens=tokens, lengths=torch.tensor([2]), **zeros(3, 4))
    near(report.finding("padding-visible"), keys=[2, 3], largest=0.5)


def test_c115_more_rows_than_tokens():
    weights = torch.zeros(8, 8)
    weights[:, :6] = 1 / 6
    found = diagnose(weights=weights, tokens=list("abcdef")).finding("token-count")
    assert "8" in found.message and "6 tokens" in found.message
    assert "columns 6-7 hold no mass: crop to 6" in found.message


def test_c119_unused_slots_of_a_static_cache():
    inputs = from_scores([4.0] * 3 + [0.0] * 5, 4)
    weights = torch.softmax(torch.tensor([[2.0] * 3 + [0.0] * 5]), -1)
    report = diagnose(weights=weights, lengths=torch.tensor([3]), **inputs)
    found = report.finding("cache-slots-visible")
    near(found, keys=[3, 4, 5, 6, 7], largest=0.1840)
    assert "their key vectors are all zero" in found.message
    assert "cache-slots-unmasked" in report.explained_by


def test_c125_dropout_is_on():
    generator = torch.Generator().manual_seed(2)
    scores = torch.randn(1, 2, 7, 7, generator=generator)
    right = torch.softmax(scores.masked_fill(~masks.causal(7), -INF), -1)
    keep = torch.rand(right.shape, generator=generator) >= 0.2
    keep[..., 0, 0] = True
    report = diagnose(weights=right * keep * 1.25, expect="causal")
    found = report.finding("dropout-active")
    near(found, factor=1.25, p=0.2)
    assert "switch to eval()" in found.remedy
    assert report.explained_by == ("dropout-left-on",)
    declared = diagnose(weights=right * keep * 1.25, expect="causal", dropout_p=0.2)
    assert declared.ok and declared.explained_by == ()


def test_c126_averaged_heads():
    key = torch.zeros(1, 2, 2, 4)
    key[:, 0, 0, 0] = key[:, 1, 1, 0] = 100.0
    query = torch.zeros(1, 2, 2, 4)
    query[:, :, 0, 0], query[:, :, 1, 0] = 10.0, -10.0
    report = diagnose(weights=torch.full((1, 2, 2), 0.5), query=query, key=key, expect="bidirectional")
    assert "already averaged over heads" in report.finding("heads-identical").message
    assert report.explained_by == ("heads-averaged",)


def test_c137_control_a_constant_shift_of_the_bias():
    inputs = from_scores([1.0, 0.0, 2.0, 1.0], 1)
    distance = torch.arange(4.0)
    weights = torch.softmax(torch.tensor([[1.0, 0.0, 2.0, 1.0]]) + 0.5 * (distance - 3), -1)
    for bias in (0.5 * (distance - 3), 0.5 * (distance - 4)):
        report = diagnose(weights=weights, bias=bias[None], scale=1.0, expect="causal", **inputs)
        assert report.ok and report.explained_by == ()


def test_c150_rows_with_nan_are_named():
    weights = torch.tensor([[math.nan, 1.0], [0.0, 0.0]])
    report = diagnose(weights=weights, allowed=torch.tensor([[True, True], [False, False]]))
    near(report.finding("nan-weights"), rows=[0], nan=1)
    assert "NaN" in report.finding("nan-weights").message


def test_c152_control_a_special_token_that_was_typed():
    tokens = ["[CLS]", "artery", "disease", "[PAD]", "is", "common", "[SEP]"]
    report = diagnose(weights=torch.full((7, 7), 1 / 7), tokens=tokens, expect="bidirectional")
    assert report.ok
    assert "padding-visible" not in [f.code for f in report.findings]
    assert "special-token string '[PAD]' typed in the text at index 3" in report.finding("typed-special").message
