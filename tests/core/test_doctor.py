"""The doctor's report, intent in words, masks of unstated convention, errors, speed."""

import json
import math
import time
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import Tensor

from attention_core import masks
from attention_core.doctor import CODES, MESSAGES, Report, diagnose, fill
from attention_core.doctor.expectation import parse_expect
from attention_core.doctor.messages import number, spans
from attention_core.faults import CATALOGUE


def even(allowed: Tensor) -> Tensor:
    """Weights of scores that are all 0: each row spreads evenly over the keys that it may read."""
    return (allowed.double() / allowed.sum(-1, keepdim=True).clamp_min(1)).float()


def codes(report: Report) -> list[str]:
    return [f.code for f in report.findings]


def leaking() -> Report:
    query = torch.randn(2, 3, 5, 7, generator=torch.Generator().manual_seed(0))
    return diagnose(weights=torch.softmax(query @ query.mT * 7**-0.5, -1), query=query, key=query, expect="causal")


# ---------------------------------------------------------------------------------------------------------------------
# the report


def test_report_is_json_text_and_markdown():
    report = leaking()
    plain = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert plain["ok"] is False and plain["intent"] == "causal" and "mask-ignored" in plain["explained_by"]
    assert [f["code"] for f in plain["findings"]] == codes(report)
    assert plain["findings"][0]["title"] == MESSAGES[report.findings[0].code].title
    assert "future keys 1-4 visible: rows 0-3, 10 cells in 6 of 6 maps" in report.to_text()
    markdown = report.to_markdown()
    assert "- **error** `future-visible`" in markdown and "| recomputation | failed |" in markdown
    nan = diagnose(weights=torch.full((2, 2), math.nan), expect="causal")
    json.dumps(nan.to_dict(), allow_nan=False)


def test_findings_are_sorted_and_named_by_code():
    order = [("error", "warning", "info").index(f.severity) for f in leaking().findings]
    assert order == sorted(order)
    with pytest.raises(KeyError, match=r"no finding 'padding-visible' in this report: it has \['explained'"):
        leaking().finding("padding-visible")


def test_every_code_has_a_sentence_and_no_finding_is_without_one():
    assert set(CODES) == set(MESSAGES) and all(m.title and m.text for m in MESSAGES.values())
    for found in leaking().findings:
        assert found.code in MESSAGES and "{" not in found.message
        assert found.message == fill(MESSAGES[found.code].text, found.evidence)


def test_numbers_in_words():
    assert spans([5, 0, 1, 2]) == "0-2, 5"
    assert number(1e-9) == "1e-09" and number(0.25) == "0.25" and number(0.0) == "0"


def test_checks_say_what_was_not_possible_and_why():
    report = diagnose(weights=even(masks.causal(5)), expect="causal")
    missing = {c.name: c.reason for c in report.checks if c.status == "not possible"}
    assert missing["recomputation"].startswith("cannot tell without Q and K: no-scaling, scaled-by-d-k")
    for unseen in ("query-key-swapped", "heads-split-without-transpose", "kv-heads-tiled"):
        assert unseen in missing["recomputation"] and unseen in CATALOGUE
    report = diagnose(weights=torch.rand(3, 3).clamp_min(0.1) * torch.tensor([[1.0, 0, 1], [1, 1, 0], [0, 1, 1]]))
    assert {c.name for c in report.checks if c.status == "not possible"} >= {"intent", "forbidden cells", "empty rows"}


# ---------------------------------------------------------------------------------------------------------------------
# intent


@pytest.mark.parametrize(
    "words, drawing",
    [
        ("causal", "■⬚⬚⬚\n■■⬚⬚\n■■■⬚\n■■■■"),
        ("bidirectional", "■■■■\n■■■■\n■■■■\n■■■■"),
        ("window:2", "■⬚⬚⬚\n■■⬚⬚\n⬚■■⬚\n⬚⬚■■"),
        ("causal,window=2", "■⬚⬚⬚\n■■⬚⬚\n⬚■■⬚\n⬚⬚■■"),
        ({"bidirectional": True, "window": 2}, "■■⬚⬚\n■■■⬚\n⬚■■■\n⬚⬚■■"),
        ("prefix=2", "■■⬚⬚\n■■⬚⬚\n■■■⬚\n■■■■"),
        ("chunk = 3".replace(" ", ""), "■⬚⬚⬚\n■■⬚⬚\n■■■⬚\n⬚⬚⬚■"),
    ],
)
def test_words_mean_masks(words, drawing):
    allowed = torch.tensor([[cell == "■" for cell in line] for line in drawing.split("\n")])
    report = diagnose(weights=even(allowed), query=torch.zeros(4, 3), key=torch.zeros(4, 3), expect=words)
    assert report.ok and report.explained_by == () and not report.inferred
    other = allowed.clone()
    other[3, 0] = ~other[3, 0]
    report = diagnose(weights=even(other), query=torch.zeros(4, 3), key=torch.zeros(4, 3), expect=words)
    assert not report.ok


def test_intent_as_a_dataclass():
    @dataclass
    class Meant:
        window: int = 3
        packed: bool = False

    assert parse_expect(Meant()) == parse_expect("window=3")


@pytest.mark.parametrize(
    "expect, message",
    [
        ("caussal", "expect knows the words causal, bidirectional.*got 'caussal'"),
        ("window", 'window needs a whole number from 1 on, as in "window=3": got no number'),
        ("window=0", "window needs a whole number from 1 on.*got '0'"),
        ("causal+bidirectional", "must not contradict itself: got direction causal and bidirectional"),
        ("bidirectional,prefix=2", "must not contradict itself"),
        ("padding", "padding needs lengths, the valid keys per sample: got none"),
        ("packed", "packed needs to know the documents"),
        ("padding=top", "padding is left or right: got 'top'"),
        ("causal=3", "causal takes no number: got '3'"),
        ("", "expect must say something"),
        ("prefix=9", "prefix needs as many queries as keys and at most k_len 4"),
    ],
)
def test_words_that_cannot_be_meant(expect, message):
    with pytest.raises(ValueError, match=message):
        diagnose(weights=even(masks.causal(4)), expect=expect)


def test_two_statements_that_disagree():
    weights = even(masks.causal(4))
    with pytest.raises(
        ValueError, match=r"must agree: expect means causal, allowed differs in 6 cells.*query 0, key 1"
    ):
        diagnose(weights=weights, expect="causal", allowed=torch.ones(4, 4, dtype=torch.bool))
    with pytest.raises(ValueError, match=r"permits keys beyond lengths \[2\] in samples \[0\]"):
        diagnose(weights=weights, lengths=torch.tensor([2]), allowed=masks.causal(4))
    with pytest.raises(ValueError, match="expect says left padding, lengths right"):
        diagnose(weights=weights, lengths=torch.tensor([[1, 1, 0, 0]]), expect="padding=left")
    with pytest.raises(ValueError, match="document_ids and position_ids split the row differently"):
        diagnose(weights=weights, document_ids=[[0, 0, 1, 1]], position_ids=[[0, 1, 2, 0]])


def test_statements_that_agree_are_taken_together():
    allowed = masks.causal(5) & masks.padding([3], 5)
    report = diagnose(weights=even(allowed), allowed=allowed, expect="causal", lengths=torch.tensor([3]))
    assert report.ok and report.intent == "causal, right padding"


@pytest.mark.parametrize(
    "allowed, words",
    [
        (masks.causal(6), "causal"),
        (torch.ones(6, 6, dtype=torch.bool), "bidirectional"),
        (masks.sliding_window(6, left=2, right=0), "causal, window=3"),
        (masks.sliding_window(6, left=1, right=1), "bidirectional, window=2"),
        (masks.chunked(7, size=3) & masks.causal(7), "causal, chunk=3"),
        (masks.prefix_lm(6, prefix=3), "causal, prefix=3"),
        (masks.padding([4], 6).expand(1, 1, 6, 6), "bidirectional, right padding"),
        (masks.causal(6) & masks.padding([4, 6], 6, side="left"), "causal, left padding"),
        (masks.packed(torch.tensor([[0, 0, 1, 1, 1, 2]])) & masks.causal(6), "causal, packed"),
    ],
)
def test_the_most_likely_intent_is_inferred_and_said(allowed, words):
    report = diagnose(weights=even(allowed))
    assert report.intent == words and report.inferred and report.ok
    assert words in report.finding("inferred").message
    stated = diagnose(weights=even(allowed), allowed=allowed)
    assert stated.intent == words and not stated.inferred


# ---------------------------------------------------------------------------------------------------------------------
# masks of unstated convention


@pytest.mark.parametrize(
    "mask, convention",
    [
        (masks.causal(5), "True = may attend"),
        (~masks.causal(5), "True = blocked"),
        (masks.causal(5).long(), "1 = may attend"),
        (masks.to_additive(masks.causal(5)), "additive"),
        (masks.to_additive(masks.causal(5), finite=True), "additive"),
    ],
)
def test_conventions_are_guessed_and_said(mask, convention):
    report = diagnose(raw_mask=mask)
    assert report.ok and report.intent == "causal"
    assert report.finding("mask-reading").message.startswith(f"mask read as {convention}")


def test_a_boolean_mask_over_keys_can_be_read_two_ways():
    mask = torch.tensor([[False, False, False, True]])
    with pytest.raises(ValueError, match=r"True = may attend \(scaled_dot_product_attention\) or True = blocked"):
        diagnose(raw_mask=mask)
    assert "True = blocked" in diagnose(raw_mask=mask, allowed=~mask).finding("mask-reading").message


def test_a_weak_fill_and_a_mask_that_is_not_the_one_meant():
    weak = torch.zeros(4, 4).masked_fill(~masks.causal(4), -1e-9)
    found = diagnose(raw_mask=weak).finding("mask-weak-fill")
    assert found.evidence["count"] == 6 and found.severity == "error"
    report = diagnose(raw_mask=masks.causal(4) | torch.eye(4).roll(1, 1).bool(), expect="causal")
    assert report.finding("mask-differs").evidence["extra"] == 3
    assert {cell[2:] for cell in report.finding("mask-differs").where} == {(0, 1), (1, 2), (2, 3)}


def test_three_axes_of_a_mask_are_placed_or_refused():
    per_head = torch.ones(3, 5, 5).tril().bool()
    assert diagnose(raw_mask=per_head, weights=even(per_head[None])).ok
    different = per_head.clone()
    different[0] = True
    with pytest.raises(ValueError, match=r"\(batch, q_len, k_len\) or \(heads, q_len, k_len\)"):
        diagnose(raw_mask=different, weights=torch.full((3, 3, 5, 5), 0.2))
    with pytest.raises(ValueError, match=r"raw_mask must fit .* = \(1, 1, 5, 5\): got \(4, 4\)"):
        diagnose(raw_mask=torch.ones(4, 4), weights=torch.full((5, 5), 0.2))


# ---------------------------------------------------------------------------------------------------------------------
# inputs


def test_numpy_lists_and_fewer_axes_are_taken():
    weights = even(masks.causal(4))
    expected = diagnose(weights=weights, expect="causal").to_dict()
    for form in (weights.numpy(), weights.tolist(), weights[None], weights[None, None].double().numpy()[:, :, ::1]):
        assert diagnose(weights=form, expect="causal").to_dict()["findings"] == expected["findings"]
    assert diagnose(weights=np.asfortranarray(weights.numpy())[::-1][::-1], expect="causal").ok


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ({}, ValueError, "needs something to look at: got none of weights"),
        ({"query": torch.zeros(2, 3)}, ValueError, "query and key come together: got query alone; pass key"),
        ({"weights": "abc"}, TypeError, "weights must be a tensor or an array of numbers: got str"),
        ({"weights": [[1.0], [0.5, 0.5]]}, ValueError, "weights must be an array of equal rows"),
        ({"weights": torch.zeros(2)}, ValueError, r"weights must be \(batch, heads, q_len, k_len\)"),
        ({"weights": torch.zeros(0, 2)}, ValueError, "weights must not be empty"),
        ({"weights": torch.eye(2, dtype=torch.complex64)}, TypeError, "weights must be real"),
        ({"weights": torch.eye(3), "allowed": torch.ones(3, 3)}, TypeError, "allowed must be bool.*raw_mask"),
        ({"weights": torch.eye(3), "allowed": torch.ones(2, 3).bool()}, ValueError, "allowed must broadcast"),
        ({"weights": torch.eye(3), "lengths": [4]}, ValueError, "lengths must lie within k_len 3: got 4"),
        ({"weights": torch.eye(3), "lengths": [1.5]}, TypeError, "lengths must be integers"),
        ({"weights": torch.eye(3), "lengths": [[1, 0, 1]]}, ValueError, "must pad at one end: got holes"),
        ({"weights": torch.eye(3), "lengths": [1, 2]}, ValueError, "one number per sample: got 2 for batch 1"),
        ({"weights": torch.eye(3), "dropout_p": 1.0}, ValueError, r"dropout_p must lie in \[0, 1\)"),
        ({"weights": torch.eye(3), "tokens": "abc"}, TypeError, "tokens must be a list"),
        ({"query": torch.zeros(2, 3), "key": torch.zeros(2, 4)}, ValueError, "same d_k: got 3 and 4"),
        (
            {"query": torch.zeros(3, 2, 4), "key": torch.zeros(2, 2, 4)},
            ValueError,
            "query heads a multiple of key heads",
        ),
    ],
)
def test_inputs_that_cannot_be(arguments, error, message):
    with pytest.raises(error, match=message):
        diagnose(**arguments)


def test_nothing_global_is_changed_and_inputs_are_left_alone():
    weights = even(masks.causal(4)).requires_grad_()
    before = weights.detach().clone()
    state = torch.random.get_rng_state()
    diagnose(weights=weights, query=torch.zeros(4, 2), key=torch.zeros(4, 2), expect="bidirectional")
    torch.testing.assert_close(weights.detach(), before, rtol=0, atol=0)  # untouched
    assert torch.equal(torch.random.get_rng_state(), state)


def test_rounded_numbers_are_taken_as_rounded():
    query = torch.randn(5, 8, generator=torch.Generator().manual_seed(4))
    weights = torch.softmax(query @ query.T * 8**-0.5, -1)
    report = diagnose(weights=(weights * 1e4).round() / 1e4, query=query, key=query, expect="bidirectional")
    assert report.ok and report.finding("rounded-numbers").evidence["decimals"] == 4


def test_two_faults_at_once_are_named_as_a_pair():
    query, key = torch.randn(2, 2, 3, 7, 11, generator=torch.Generator().manual_seed(5))
    allowed = masks.causal(7) & masks.padding([5, 7], 7)
    wrong = masks.causal(7)
    weights = torch.softmax((query @ key.mT).masked_fill(~wrong, -math.inf), -1)  # no scale, no padding mask
    report = diagnose(weights=weights, query=query, key=key, allowed=allowed, lengths=torch.tensor([5, 7]))
    assert report.explained_by[0] == "no-scaling+padding-mask-missing"
    assert "+" in report.finding("explained").message


def test_what_no_fault_explains_is_said():
    generator = torch.Generator().manual_seed(6)
    query = torch.randn(1, 2, 5, 4, generator=generator)
    weights = torch.softmax(torch.randn(1, 2, 5, 5, generator=generator), -1)
    report = diagnose(weights=weights, query=query, key=query, expect="bidirectional")
    assert report.explained_by == ()
    assert report.finding("unexplained").severity == "error"


def test_a_small_case_takes_under_50_ms():
    query, key = torch.randn(2, 2, 4, 8, 16, generator=torch.Generator().manual_seed(7))
    right = torch.softmax((query @ key.mT / 4).masked_fill(~masks.causal(8), -math.inf), -1)
    wrong = torch.softmax(query @ key.mT / 4, -1)
    for weights in (right, wrong):
        spent = []
        for _ in range(5):
            start = time.process_time()
            diagnose(weights=weights, query=query, key=key, expect="causal")
            spent.append(time.process_time() - start)
        assert min(spent) < 0.05  # CPU seconds: the machine may be busy


def test_a_leak_far_below_the_tolerance_is_still_a_leak():
    query = torch.randn(1, 2, 5, 7, generator=torch.Generator().manual_seed(8))
    scores = (query @ query.mT) * 7**-0.5
    weights = torch.softmax(scores.masked_fill(~masks.causal(5), -25.0), -1)
    report = diagnose(weights=weights, query=query, key=query, expect="causal")
    assert 0 < report.finding("future-visible").evidence["largest"] < 1e-8
    assert "fill-too-weak" in report.explained_by


def test_masked_cells_that_are_equal_are_no_second_softmax():
    weights = torch.softmax(torch.tensor([[0.3, 0.0, 0.2, 0.0]]), -1)
    report = diagnose(weights=weights, allowed=torch.tensor([[True, False, True, False]]))
    assert "equal-masked-weights" in codes(report) and "double-softmax" not in codes(report)


def test_short_rows_with_holes_are_no_late_mask():
    weights = torch.tensor([[0.5, 0, 0, 0], [0.3, 0.3, 0, 0], [0.4, 0, 0.3, 0], [0.25, 0.25, 0.25, 0.25]])
    report = diagnose(weights=weights, expect="causal")
    assert "row-sums" in codes(report) and "mask-after-softmax" not in codes(report)
