"""Assertions about attention for anybody's test suite; a failure says what the leak test or the doctor saw.

>>> import torch
>>> from attention_core import masks
>>> x = torch.randn(1, 3, 5, generator=torch.Generator().manual_seed(0))
>>> report = assert_causal(lambda x: x.cumsum(dim=1), x)
>>> assert_causal(lambda x: x.flip(1).cumsum(dim=1).flip(1), x, positions=[1])  # doctest: +ELLIPSIS
Traceback (most recent call last):
AssertionError: changing input 1 moved output 0 (largest ...): future tokens are visible; ...
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from attention_core import masks
from attention_core.attention import AttentionTrace
from attention_core.diagnostics import row_checks
from attention_core.doctor import diagnose
from attention_core.leaks import ImplementationsReport, LeakReport, leak_test, leak_test_implementations
from attention_core.mask_conventions import require_bool

__all__ = [
    "assert_attention_close",
    "assert_attention_valid",
    "assert_causal",
    "assert_implementations_agree",
    "assert_no_document_leak",
    "assert_no_padding_leak",
    "attention_tolerance",
]


def assert_causal(model: Callable[..., Any], inputs: Tensor, **options: Any) -> LeakReport:
    """No output may depend on an input after it.

    Args:
        model: a module or function, see ``leaks.leak_test``.
        inputs: (batch, len) token ids or (batch, len, ...) float.
        options: further arguments of ``leak_test``.

    Returns:
        The LeakReport.

    Raises:
        AssertionError: with the sentences of the report.
        TypeError, ValueError: as ``leak_test``.
    """
    __tracebackhide__ = True
    return _asserted(leak_test(model, inputs, expect="causal", **options))


def assert_no_padding_leak(
    model: Callable[..., Any],
    inputs: Tensor,
    *,
    attention_mask: Tensor | None = None,
    lengths: Tensor | Sequence[int] | None = None,
    side: masks.Side = "right",
    expect: Literal["causal", "full"] = "full",
    **options: Any,
) -> LeakReport:
    """What stands in the padding may move no real output, and real outputs equal those of the sample alone.

    Args:
        model: a module or function, see ``leaks.leak_test``.
        inputs: (batch, len) token ids or (batch, len, ...) float, with padding in one sample at least.
        attention_mask: (batch, len), 1 = real token; handed to the model under this name.
        lengths: (batch,) real tokens per sample, instead of ``attention_mask``.
        side: "left" or "right", where the padding of ``lengths`` stands.
        expect: "full" judges the padding alone; "causal" the future as well.
        options: further arguments of ``leak_test``.

    Returns:
        The LeakReport.

    Raises:
        AssertionError: with the sentences of the report.
        TypeError, ValueError: as ``leak_test``, and if nothing is padded.
    """
    __tracebackhide__ = True
    if attention_mask is None and lengths is None:
        raise ValueError("padding must be stated: got neither attention_mask nor lengths; pass one of them")
    report = leak_test(
        model, inputs, attention_mask=attention_mask, lengths=lengths, side=side, expect=expect, **options
    )
    if bool(report.judged.all()):
        raise ValueError("a test of padding needs padding: got samples of full length only; pad one of them")
    return _asserted(report)


def assert_no_document_leak(
    model: Callable[..., Any],
    inputs: Tensor,
    *,
    document_ids: Tensor,
    expect: Literal["causal", "full"] = "full",
    **options: Any,
) -> LeakReport:
    """Documents packed into one row do not read each other.

    Args:
        model: a module or function, see ``leaks.leak_test``; what tells it about documents goes into ``keywords``.
        inputs: (batch, len) token ids or (batch, len, ...) float.
        document_ids: (batch, len) or (len,) integers, two documents in one sample at least.
        expect: "full" judges documents alone; "causal" the future as well.
        options: further arguments of ``leak_test``.

    Returns:
        The LeakReport.

    Raises:
        AssertionError: with the sentences of the report.
        TypeError, ValueError: as ``leak_test``, and if no sample holds two documents.
    """
    __tracebackhide__ = True
    if bool(masks.packed(document_ids).all()):
        raise ValueError("a test of packing needs two documents in a sample: got one in each; pack more")
    return _asserted(leak_test(model, inputs, document_ids=document_ids, expect=expect, **options))


def assert_implementations_agree(
    model: Callable[..., Any], inputs: Tensor, *, implementations: Sequence[str] | None = None, **options: Any
) -> ImplementationsReport:
    """Eager and fast attention give the same outputs, and neither leaks.

    Args:
        model: a module with ``set_attn_implementation``, or ``make(implementation)``.
        inputs: (batch, len) token ids or (batch, len, ...) float.
        implementations: names, the reference first; None: "eager", "sdpa" and the one the module has now.
        options: of ``leak_test``.

    Returns:
        The ImplementationsReport.

    Raises:
        AssertionError: with the sentences of the report; also if fewer than two implementations could be run.
        TypeError, ValueError: as ``leaks.leak_test_implementations``.
    """
    __tracebackhide__ = True
    report = leak_test_implementations(model, inputs, implementations=implementations, **options)
    if not report.passed or len(report.reports) < 2:
        raise AssertionError(report.message)
    return report


def assert_attention_close(
    actual: Tensor,
    expected: Tensor,
    *,
    allowed: Tensor | None = None,
    tolerance: float | None = None,
    **known: Any,
) -> None:
    """Two sets of attention weights agree; rows that may see nothing are left out.

    Args:
        actual: (batch, heads, q_len, k_len) float, or fewer leading axes.
        expected: the same shape; another dtype is no difference.
        allowed: bool, broadcastable to the weights, True = may attend; a row without an allowed key has no right
            answer (0 here, uniform elsewhere) and is not compared. None: every row is.
        tolerance: absolute; None: ``attention_tolerance`` of the coarser dtype.
        known: what the doctor may use to name the fault, as in ``doctor.diagnose``: query, key, scale, expect, ...

    Raises:
        AssertionError: how many cells differ, the worst of them, and the doctor's words.
        TypeError: if the weights are no float tensors, ``allowed`` is not bool, or ``known`` is not known there.
        ValueError: if shapes do not fit.
    """
    __tracebackhide__ = True
    _check_known(known)
    for name, weights in (("actual", actual), ("expected", expected)):
        _check_weights(name, weights)
    if actual.shape != expected.shape:
        raise ValueError(
            f"weights must have one shape: got actual {tuple(actual.shape)}, expected {tuple(expected.shape)}"
        )
    coarser = max(actual.dtype, expected.dtype, key=lambda dtype: torch.finfo(dtype).eps)
    limit = attention_tolerance(coarser) if tolerance is None else tolerance
    got, wanted = actual.detach().double().cpu(), expected.detach().double().cpu()
    apart = (got - wanted).abs().nan_to_num(nan=torch.inf)
    if allowed is not None:
        apart = apart.masked_fill(~_mask(allowed, actual).cpu().any(-1, keepdim=True), 0.0)
    wrong = apart > limit
    if not wrong.any():
        return
    at = tuple(int(i) for i in torch.unravel_index(apart.argmax(), apart.shape))
    raise AssertionError(
        f"attention weights must agree within {limit:.2g} ({str(coarser).removeprefix('torch.')}): {int(wrong.sum())} "
        f"of {wrong.numel()} cells differ, most at {_place(at)}: got {float(got[at]):.4g}, expected "
        f"{float(wanted[at]):.4g}{_diagnosis(actual, allowed, known)}"
    )


def assert_attention_valid(
    weights: Tensor,
    *,
    allowed: Tensor | None = None,
    sink_weight: Tensor | None = None,
    padded_queries: Tensor | None = None,
    **known: Any,
) -> None:
    """Weights are finite, not negative, sum to 1 in each row (0 where nothing may be seen), and 0 where forbidden.

    Args:
        weights: (batch, heads, q_len, k_len) float, or fewer leading axes.
        allowed: bool, broadcastable to the weights, True = may attend: the mask that is meant. None: every key.
        sink_weight: (batch, heads, q_len), the share of each row that went to a sink.
        padded_queries: (batch, q_len) bool, True = padding; these rows are not judged.
        known: what the doctor may use to name the fault, as in ``doctor.diagnose``: query, key, scale, expect, ...

    Raises:
        AssertionError: what is wrong, where first, and the doctor's words.
        TypeError: if the weights are no float tensor, a mask is not bool, or ``known`` is not known there.
        ValueError: if shapes do not fit.
    """
    __tracebackhide__ = True
    _check_known(known)
    _check_weights("weights", weights)
    may = torch.ones_like(weights, dtype=torch.bool) if allowed is None else _mask(allowed, weights)
    judged = weights.detach()
    if padded_queries is not None:
        if padded_queries.dtype != torch.bool or weights.dim() != 4:
            raise TypeError(
                f"padded_queries must be bool (batch, q_len) beside weights of four axes: got {padded_queries.dtype} "
                f"beside {tuple(weights.shape)}"
            )
        gone = padded_queries[:, None, :, None]
        first = torch.zeros_like(judged)
        first[..., 0] = 1.0  # a row that nobody could object to
        judged, may = torch.where(gone, first, judged), may | gone
    trace = AttentionTrace(
        judged.new_zeros(()).expand(*judged.shape[:-1], 1), may, 1.0, weights=judged, sink_weight=sink_weight
    )
    lines = []
    for check in row_checks(trace):
        if check.status == "failed" and check.code in _RULES:
            where = _place(check.where[0][4 - weights.dim() :]) if check.where else "?"
            lines.append(f"{_RULES[check.code]}: {check.count} do not, first {where}, worst {check.largest:.4g}")
    if lines:
        raise AssertionError("; ".join(lines) + _diagnosis(weights, allowed, known))


_KNOWN = frozenset(inspect.signature(diagnose).parameters) - {"weights", "allowed"}

_RULES = {
    "row_sums": "rows must sum to 1, and to 0 where a query may see nothing",
    "finite": "weights must be finite",
    "non_negative": "weights must not be negative",
    "forbidden_weight": "forbidden cells must have weight 0",
}


def attention_tolerance(dtype: torch.dtype) -> float:
    """How far two right computations of the same weights may lie apart, absolute.

    Weights lie between 0 and 1, so two roundings of the dtype bound what storing them costs; for float32 and float64
    the order of the sums before softmax costs more: 3e-6 was the most in 30 layers of a real model.

    Args:
        dtype: the coarser of both.

    Returns:
        1e-9 for float64, 1e-5 for float32, 2e-3 for float16, 1.6e-2 for bfloat16.
    """
    floor = {torch.float64: 1e-9, torch.float32: 1e-5}.get(dtype, 0.0)
    return max(floor, 2 * torch.finfo(dtype).eps)


def _asserted(report: LeakReport) -> LeakReport:
    __tracebackhide__ = True
    if not report.passed:
        raise AssertionError(report.message)
    return report


def _check_weights(name: str, weights: Tensor) -> None:
    if not isinstance(weights, Tensor) or not weights.dtype.is_floating_point:
        came = weights.dtype if isinstance(weights, Tensor) else type(weights).__name__
        raise TypeError(f"{name} must be a float tensor of attention weights: got {came}")
    if not 2 <= weights.dim() <= 4 or 0 in weights.shape:
        raise ValueError(f"{name} must be (batch, heads, q_len, k_len), not empty: got shape {tuple(weights.shape)}")


def _mask(allowed: Tensor, weights: Tensor) -> Tensor:
    require_bool("allowed", allowed)
    try:
        return allowed.expand(weights.shape)
    except RuntimeError:
        raise ValueError(
            f"allowed must broadcast to the weights, {tuple(weights.shape)}: got shape {tuple(allowed.shape)}"
        ) from None


def _place(at: Sequence[int | None]) -> str:
    names = ("sample", "head", "query", "key")[4 - len(at) :]
    return ", ".join(f"{name} {index}" for name, index in zip(names, at, strict=True) if index is not None)


def _check_known(known: Mapping[str, Any]) -> None:
    strange = sorted(set(known) - _KNOWN)
    if strange:
        raise TypeError(f"further arguments are those of doctor.diagnose: got {strange}; it takes {sorted(_KNOWN)}")


def _diagnosis(weights: Tensor, allowed: Tensor | None, known: Mapping[str, Any]) -> str:
    """The doctor's words, on lines of their own."""
    try:
        report = diagnose(weights=weights.detach(), allowed=allowed, **known)
    except (TypeError, ValueError) as error:  # the failure of the assertion matters more
        return f"\nno diagnosis: {error}"
    return f"\n{report.to_text()}"
