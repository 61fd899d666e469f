"""Ten tests for any implementation of attention, run here on a right one and on one that each of them was made for."""

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

import numpy as np
import torch
from torch import Tensor

from attention_core import masks, scaled_dot_product_attention
from attention_core.testing import (
    assert_attention_close,
    assert_attention_valid,
    assert_causal,
    assert_no_document_leak,
    assert_no_padding_leak,
)

Attend = Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]
"""(query, key, value, allowed) -> (output, weights); (batch, heads, len, d), True = may attend."""

RIGHT = "right"
_LINES = 3  # of a complaint that are kept


@dataclass(frozen=True)
class Verdict:
    """What a test said: whether it passed, and the first lines of its complaint, "" where it has none."""

    passed: bool
    message: str


# ---------------------------------------------------------------------------------------------------------------------
# the tests


def _rows(attend: Attend) -> None:
    query, key, value = draw(5), draw(5, seed=1), draw(5, seed=2)
    _, weights = attend(query, key, value, masks.causal(5))
    torch.testing.assert_close(weights.sum(-1), torch.ones(1, 2, 5), atol=1e-5, rtol=0)


def _forbidden(attend: Attend) -> None:
    query, key, value = draw(5), draw(5, seed=1), draw(5, seed=2)
    allowed = masks.causal(5)
    _, weights = attend(query, key, value, allowed)
    assert_attention_valid(weights, allowed=allowed)


def _reference(attend: Attend) -> None:
    query, key, value = draw(5), draw(5, seed=1), draw(5, seed=2)
    allowed = masks.causal(5)
    _, weights = attend(query, key, value, allowed)
    expected = torch.softmax((query @ key.mT / math.sqrt(8)).masked_fill(~allowed, -math.inf), dim=-1)
    assert_attention_close(weights, expected, query=query, key=key, allowed=allowed)


def _causal(attend: Attend) -> None:
    x = draw(5)[:, 0]
    assert_causal(lambda x: attend(x[:, None], x[:, None], x[:, None], masks.causal(5))[0][:, 0], x)


def _padding(attend: Attend) -> None:
    def model(x: Tensor, attention_mask: Tensor) -> Tensor:
        allowed = masks.from_attention_mask(attention_mask)
        return attend(x[:, None], x[:, None], x[:, None], allowed)[0][:, 0]

    assert_no_padding_leak(model, torch.cat([draw(5)[:, 0], draw(5, seed=1)[:, 0]]), lengths=[5, 3])


def _documents(attend: Attend) -> None:
    ids = torch.tensor([0, 0, 0, 1, 1])
    x = draw(5)[:, 0]
    assert_no_document_leak(
        lambda x: attend(x[:, None], x[:, None], x[:, None], masks.packed(ids))[0][:, 0], x, document_ids=ids
    )


def _permutation(attend: Attend) -> None:
    query, key, value = draw(5), draw(5, seed=1), draw(5, seed=2)
    everything, order = torch.ones(5, 5, dtype=torch.bool), torch.tensor([3, 0, 4, 1, 2])
    output, _ = attend(query, key, value, everything)
    turned, _ = attend(query[:, :, order], key[:, :, order], value[:, :, order], everything)
    torch.testing.assert_close(turned, output[:, :, order], atol=1e-5, rtol=0)


def _cache(attend: Attend) -> None:
    query, key, value = draw(5), draw(5, seed=1), draw(5, seed=2)
    whole, _ = attend(query, key, value, masks.causal(5))
    last, _ = attend(query[:, :, 4:], key, value, masks.causal(1, 5))
    torch.testing.assert_close(last, whole[:, :, 4:], atol=1e-5, rtol=0)


def _half(attend: Attend) -> None:
    query, key, value = (6 * draw(5, seed=seed).half() for seed in range(3))
    _, weights = attend(query, key, value, masks.causal(5))
    assert_attention_valid(weights, allowed=masks.causal(5))


def _gradient(attend: Attend) -> None:
    query, key, value = (draw(5, seed=seed).requires_grad_() for seed in range(3))
    allowed = masks.causal(5, offset=-2)  # the first two queries may see nothing
    output, _ = attend(query, key, value, allowed)
    output.sum().backward()
    assert query.grad is not None and torch.isfinite(query.grad).all(), "gradients must be finite"


TESTS: Mapping[str, Callable[[Attend], None]] = MappingProxyType(
    {
        "rows": _rows,
        "forbidden": _forbidden,
        "reference": _reference,
        "causal": _causal,
        "padding": _padding,
        "documents": _documents,
        "permutation": _permutation,
        "cache": _cache,
        "half": _half,
        "gradient": _gradient,
    }
)


def draw(length: int, seed: int = 0) -> Tensor:
    """(1, 2, length, 8) normal numbers."""
    return torch.randn(1, 2, length, 8, generator=torch.Generator().manual_seed(seed))


# ---------------------------------------------------------------------------------------------------------------------
# implementations: one that is right, and for each test one that it catches


def _right(query: Tensor, key: Tensor, value: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
    trace = scaled_dot_product_attention(query, key, value, allowed=allowed)
    assert trace.weights is not None
    return trace.output, trace.weights


def _masked_after(query: Tensor, key: Tensor, value: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
    _, weights = _right(query, key, value, torch.ones_like(allowed))
    weights = weights * allowed
    return weights @ value, weights


def _mask_added(query: Tensor, key: Tensor, value: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
    weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]) + allowed.to(query.dtype), dim=-1)
    return weights @ value, weights


def _unscaled(query: Tensor, key: Tensor, value: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
    trace = scaled_dot_product_attention(query, key, value, allowed=allowed, scale=1.0)
    assert trace.weights is not None
    return trace.output, trace.weights


def _one_late(query: Tensor, key: Tensor, value: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
    later = torch.cat([torch.ones_like(allowed[..., :1]), allowed[..., :-1]], dim=-1)  # each key one place later
    return _right(query, key, value, allowed | later)


def _turned_around(query: Tensor, key: Tensor, value: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
    return _right(query, key, value, allowed if bool(allowed.all()) else ~allowed)


def _without_mask(query: Tensor, key: Tensor, value: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
    return _right(query, key, value, torch.ones_like(allowed))


def _viewed(query: Tensor, key: Tensor, value: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
    output, weights = _right(query, key, value, allowed)
    batch, heads, length, width = output.shape
    return output.reshape(batch, length, heads, width).transpose(1, 2), weights


def _top_left(query: Tensor, key: Tensor, value: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
    q_len, k_len = query.shape[-2], key.shape[-2]
    return _right(query, key, value, masks.causal(q_len, k_len, offset=0) if q_len < k_len else allowed)


def _exp_at_once(query: Tensor, key: Tensor, value: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
    powers = torch.exp(query @ key.mT / math.sqrt(query.shape[-1])) * allowed
    weights = powers / powers.sum(-1, keepdim=True).masked_fill(~allowed.any(-1, keepdim=True), 1.0)
    return weights @ value, weights


def _nan_to_zero(query: Tensor, key: Tensor, value: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
    never = torch.zeros(allowed.shape).masked_fill(~allowed, -math.inf)
    logits = (query @ key.mT / math.sqrt(query.shape[-1])).float() + never
    weights = torch.softmax(logits, dim=-1).nan_to_num(0.0).to(query.dtype)
    return weights @ value, weights


IMPLEMENTATIONS: Mapping[str, Attend] = MappingProxyType(
    {
        RIGHT: _right,
        "rows": _masked_after,
        "forbidden": _mask_added,
        "reference": _unscaled,
        "causal": _one_late,
        "padding": _turned_around,
        "documents": _without_mask,
        "permutation": _viewed,
        "cache": _top_left,
        "half": _exp_at_once,
        "gradient": _nan_to_zero,
    }
)
"""Name of a test -> an implementation that it catches; "right" -> one that passes all."""


@lru_cache(maxsize=256)
def verdict(test: str, implementation: str) -> Verdict:
    """Runs a test on an implementation.

    Args:
        test: of ``TESTS``.
        implementation: of ``IMPLEMENTATIONS``.
    """
    try:
        TESTS[test](IMPLEMENTATIONS[implementation])
    except AssertionError as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return Verdict(False, " · ".join(lines[:_LINES]) or type(error).__name__)
    return Verdict(True, "")


@lru_cache(maxsize=1)
def caught() -> np.ndarray:
    """(tests, implementations) 1 where the test fails, 0 where it passes; the first implementation is the right one."""
    found = [[float(not verdict(test, name).passed) for name in IMPLEMENTATIONS] for test in TESTS]
    return np.array(found)


def source(test: str) -> str:
    """The test as it is run, in Python."""
    return inspect.getsource(TESTS[test]).replace("def _", "def test_", 1)


def source_of_implementation(name: str) -> str:
    """An implementation, in Python."""
    return inspect.getsource(IMPLEMENTATIONS[name]).replace("def _", "def ", 1)
