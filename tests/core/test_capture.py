"""record() around plain PyTorch: every call is seen and rebuilt, and the program computes what it computed before."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.testing import assert_close

from attention_core import masks
from attention_core.capture import record

SAME = {"rtol": 0.0, "atol": 1e-6}  # the program, recorded and not: another kernel at most
REBUILT = {"rtol": 0.0, "atol": 1e-5}  # two orders of the same float32 sums
B, H, Q, K, D, V = 2, 3, 5, 7, 11, 13


def draw(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def heads() -> tuple[Tensor, Tensor, Tensor]:
    return draw(B, H, Q, D, seed=1), draw(B, H, K, D, seed=2), draw(B, H, K, V, seed=3)


def still(module: nn.Module) -> nn.Module:
    """The module with its own seeded weights, large enough for attention that is far from uniform."""
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(0.5 * torch.randn(parameter.shape, generator=generator))
    return module.eval()


def check_all(recording, kinds: list[str]) -> None:
    assert [record.kind for record in recording] == kinds
    assert [record.index for record in recording.calls] == list(range(len(kinds)))
    for found in recording:
        assert found.reproduces, str(found.reproduces)
        assert found.reproduces.passed is True and found.reproduces.difference <= found.reproduces.tolerance


# ---------------------------------------------------------------------------------------------------------------------
# F.scaled_dot_product_attention

BLOCKED = torch.tensor([[c > r + 2 for c in range(K)] for r in range(Q)])  # top left plus two: True = may not


@pytest.mark.parametrize("mode", [torch.enable_grad, torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize(
    ("options", "allowed", "bias"),
    [
        ({}, None, None),
        ({"is_causal": True}, masks.causal(Q, K, offset=0), None),
        ({"attn_mask": ~BLOCKED}, ~BLOCKED, None),
        ({"attn_mask": torch.zeros(Q, K).masked_fill(BLOCKED, -math.inf)}, ~BLOCKED, None),
        ({"attn_mask": torch.zeros(Q, K).masked_fill(BLOCKED, torch.finfo(torch.float32).min)}, ~BLOCKED, None),
        ({"attn_mask": draw(1, H, Q, K, seed=5)}, None, draw(1, H, Q, K, seed=5)),
        ({"attn_mask": draw(Q, K, seed=5).masked_fill(BLOCKED, -math.inf), "scale": 0.7}, ~BLOCKED,
         draw(Q, K, seed=5).masked_fill(BLOCKED, 0.0)),
    ],
)  # fmt: skip
def test_sdpa(mode, options, allowed, bias):
    query, key, value = heads()
    with mode():
        plain = F.scaled_dot_product_attention(query, key, value, **options)
        with record() as recording:
            out = F.scaled_dot_product_attention(query, key, value, **options)
    assert torch.equal(out, plain)
    check_all(recording, ["sdpa"])
    (found,) = recording
    for name, given in (("query", query), ("key", key), ("value", value), ("output", plain)):
        assert torch.equal(getattr(found, name), given), name
    for ours, expected in ((found.allowed, allowed), (found.bias, bias)):
        assert (ours is None) == (expected is None)
        if expected is not None:
            assert torch.equal(ours, expected)
    assert found.scale == pytest.approx(options.get("scale", D**-0.5))
    logits = query @ key.mT * found.scale + (0 if bias is None else bias)
    logits = logits if allowed is None else logits.masked_fill(~allowed, -math.inf)
    assert_close(found.weights, logits.softmax(-1), **REBUILT)
    given = options.get("attn_mask")
    assert (found.mask is None) == (given is None) and (given is None or torch.equal(found.mask, given))
    word = None if given is None else "allowed" if given.dtype == torch.bool else "additive"
    assert found.mask_convention == word and not found.best_effort and found.observed is None
