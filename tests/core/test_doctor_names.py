"""Which names stand beside each other in a verdict, and which do not."""

import math

import torch

from attention_core import masks
from attention_core.doctor import diagnose


def test_a_mask_that_is_missing_is_not_called_a_fill_of_nothing():
    generator = torch.Generator().manual_seed(0)
    query, key = (torch.randn(2, 3, 5, 7, generator=generator) for _ in range(2))
    logits = query @ key.transpose(-2, -1) / math.sqrt(7)
    allowed = masks.causal(5)
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        report = diagnose(query=query, key=key, weights=torch.softmax(logits, -1).to(dtype), allowed=allowed)
        assert report.explained_by == ("causal-mask-missing", "mask-ignored")
    weak = torch.softmax(logits + ~allowed * -2.0, -1)
    assert diagnose(query=query, key=key, weights=weak, allowed=allowed).explained_by == ("fill-too-weak",)
