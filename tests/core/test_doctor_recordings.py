"""Recorded programs: one report per call, the strip of masks, the summary."""

import json
import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_core.capture import record
from attention_core.doctor import diagnose_recording


class Layer(nn.Module):
    """One attention with two heads, by the library or by hand, with what is wrong with it as arguments."""

    def __init__(self, *, window: int | None = None, divisor: float | None = None, causal: bool = True) -> None:
        super().__init__()
        self.project = nn.Linear(14, 42)
        self.window, self.divisor, self.causal = window, divisor, causal
        with torch.no_grad():
            weight = torch.randn(42, 14, generator=torch.Generator().manual_seed(3))
            self.project.weight.copy_(weight * 0.5)
            self.project.bias.zero_()

    def forward(self, x: Tensor) -> Tensor:
        batch, length, _ = x.shape
        query, key, value = self.project(x).view(batch, length, 3, 2, 7).permute(2, 0, 3, 1, 4)
        allowed = torch.ones(length, length, dtype=torch.bool)
        if self.causal:
            allowed = allowed.tril()
        if self.window is not None:
            allowed = allowed.triu(1 - self.window)
        if self.divisor is None:
            out = F.scaled_dot_product_attention(query, key, value, attn_mask=allowed)
        else:
            scores = query @ key.transpose(-1, -2) / self.divisor
            out = scores.masked_fill(~allowed, -math.inf).softmax(-1) @ value
        return x + out.transpose(1, 2).reshape(x.shape)


def recorded(*layers: Layer):
    x = torch.randn(3, 5, 14, generator=torch.Generator().manual_seed(4))
    with torch.no_grad(), record() as recording:
        nn.Sequential(*layers).eval()(x)
    return recording


def test_one_report_per_call_and_a_strip_of_masks():
    recording = recorded(Layer(), Layer(window=3), Layer(divisor=7.0), Layer(divisor=7**0.5), Layer(causal=False))
    result = diagnose_recording(recording, expect="causal")
    assert len(result) == len(recording) == 5 and [r.ok for r in result] == [True, False, False, True, False]
    assert [m.mask for m in result.strip] == ["causal", "causal, window=3", "causal", "causal", "bidirectional"]
    assert [m.allowed_cells for m in result.strip] == [15, 12, 15, 15, 25]
    assert "window-on-wrong-layers" in result[1].explained_by
    assert result[2].explained_by == ("scaled-by-d-k",)
    assert "causal-mask-missing" in result[4].explained_by
    assert "causal, window=3: calls 1" in result.findings[0].message
    assert not result.ok
    assert "5 calls, errors in calls 1-2, 4" in result.to_text()
    assert "| 1 |" in result.to_markdown() and "causal, window=3" in result.to_markdown()
    plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert [call["ok"] for call in plain["calls"]] == [True, False, False, True, False]


def test_without_a_word_the_masks_are_taken_as_meant():
    result = diagnose_recording(recorded(Layer(), Layer(causal=False)))
    assert result.ok and all(report.inferred for report in result)
    assert [report.intent for report in result] == ["causal", "bidirectional"]


def test_intent_by_module_and_cross_attention():
    model = nn.Transformer(16, 2, 1, 1, 32, batch_first=True).eval()
    generator = torch.Generator().manual_seed(5)
    source, target = torch.randn(2, 5, 16, generator=generator), torch.randn(2, 3, 16, generator=generator)
    with torch.no_grad(), record() as recording:
        model(source, target, tgt_mask=torch.ones(3, 3).triu(1).bool())
    meant = {"encoder*": "bidirectional", "decoder*self_attn": "causal"}
    assert diagnose_recording(recording, expect=meant).ok
    assert diagnose_recording(
        recording, expect=lambda r: "causal" if "decoder" in r.module and r.index == 1 else None
    ).ok
    wrong = diagnose_recording(recording, expect="causal")  # meant for every self-attention, so for the encoder as well
    assert [report.ok for report in wrong] == [False, True, True]


def test_a_factor_handed_to_a_library_is_meant():
    query, key, value = torch.randn(3, 2, 3, 5, 7, generator=torch.Generator().manual_seed(6))
    with record() as recording:
        F.scaled_dot_product_attention(query, key, value, scale=1.0)
    result = diagnose_recording(recording, expect="bidirectional")
    assert result.ok and result[0].explained_by == ()


def test_dropout_cannot_be_rebuilt_and_is_said():
    query, key, value = torch.randn(3, 2, 3, 5, 7, generator=torch.Generator().manual_seed(7))
    with record() as recording:
        F.scaled_dot_product_attention(query, key, value, dropout_p=0.2)
    report = diagnose_recording(recording, expect="bidirectional")[0]
    assert report.ok and report.finding("dropout-declared").evidence["p"] == pytest.approx(0.2)
    assert [c.status for c in report.checks] == ["not possible"]


def test_nothing_recorded_is_an_error():
    with record() as recording:
        pass
    result = diagnose_recording(recording, expect="causal")
    assert not result.ok and result.findings[0].code == "recording-empty"
