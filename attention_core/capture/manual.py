"""Follows hand-written attention: product -> scaling and masking -> softmax -> product. Best effort.

A product is a candidate for as long as the program holds it: candidates are found by weak references, so that nothing
lives longer than it would unwatched.
"""

import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor, nn

PRODUCTS = frozenset({"matmul", "__matmul__", "__rmatmul__", "bmm", "mm", "baddbmm", "einsum"})
SOFTMAX = frozenset({"softmax"})
_TIMES = frozenset({"mul", "mul_", "multiply", "multiply_", "__mul__", "__rmul__", "__imul__"})
_OVER = frozenset({"div", "div_", "divide", "true_divide", "__truediv__", "__itruediv__", "__div__"})
_DROPOUT = frozenset({"dropout", "dropout_"})


@dataclass(frozen=True, eq=False)
class Candidate:
    """A tensor that may be scores, or weights once a softmax was seen.

    Attributes:
        query, key: operands of the product, (..., q_len, d) and (..., k_len, d).
        factor: what the scores were multiplied by so far; None for a tensor of factors.
        logits: copy of what the softmax saw; None before it.
        dim: axis of the softmax, counted from the end.
        softmaxes: how many were applied.
        dropout_p: of a dropout on the weights.
    """

    query: Tensor
    key: Tensor
    factor: float | None = 1.0
    logits: Tensor | None = None
    dim: int = -1
    softmaxes: int = 0
    dropout_p: float = 0.0


@dataclass(frozen=True, eq=False)
class Found:
    """An attention that was seen whole."""

    candidate: Candidate
    weights: Tensor
    value: Tensor
    output: Tensor


class Tracker:
    """Candidates by the identity of their tensors."""

    def __init__(self, copy: Callable[[Tensor], Tensor]) -> None:
        self.live: dict[int, tuple[weakref.ref[Tensor], Candidate]] = {}
        self._copy = copy

    def product(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], out: Any) -> Found | None:
        """A product was computed: the second of an attention, or perhaps the first."""
        sides = _sides(name, args, kwargs, out) if isinstance(out, Tensor) else None
        if sides is None:
            return None
        weights = self._find(sides.whole)
        if weights is not None and weights.logits is not None:
            return Found(weights, sides.left, sides.right, sides.out)
        if isinstance(sides.left, nn.Parameter) or isinstance(sides.right, nn.Parameter):
            return None  # a projection written by hand
        self._hold(out, Candidate(sides.left.detach(), sides.right.detach().transpose(-2, -1), sides.factor))
        return None

    def softmax(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], out: Any) -> None:
        """A softmax ran; of a candidate it makes weights."""
        given = args[0] if args else kwargs.get("input")
        candidate = self._find(given)
        if candidate is None or not isinstance(out, Tensor) or not isinstance(given, Tensor):
            return
        dim = kwargs.get("dim", args[1] if len(args) > 1 else -1)
        dim = dim - out.dim() if isinstance(dim, int) and dim >= 0 else dim if isinstance(dim, int) else -1
        if candidate.logits is None:
            candidate = replace(candidate, logits=self._copy(given), dim=dim)
        self._hold(out, replace(candidate, softmaxes=candidate.softmaxes + 1))

    def follow(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], out: Any) -> None:
        """Any other function: what it makes of a candidate is a candidate, as long as rows and columns stay."""
        operands = (*args[:3], *kwargs.values()) if kwargs else args[:3]
        for place, operand in enumerate(operands):
            candidate = self._find(operand)
            if candidate is None:
                continue
            if name == "__setitem__":
                out = operand
            if not isinstance(out, Tensor) or out.shape[-2:] != operand.shape[-2:] or not out.dtype.is_floating_point:
                return
            if name in _TIMES or name in _OVER:
                candidate = replace(candidate, factor=_factor(candidate, name, place, operands))
            elif name in _DROPOUT and candidate.logits is not None:
                p, training = _dropout(operands, kwargs)
                candidate = replace(candidate, dropout_p=p if training else 0.0)
            self._hold(out, candidate)
            return

    def _find(self, tensor: Any) -> Candidate | None:
        entry = self.live.get(id(tensor))
        return entry[1] if entry is not None and entry[0]() is tensor else None

    def _hold(self, tensor: Tensor, candidate: Candidate) -> None:
        name = id(tensor)
        self.live[name] = (weakref.ref(tensor, lambda _: self.live.pop(name, None)), candidate)


def _factor(candidate: Candidate, name: str, place: int, operands: tuple[Any, ...]) -> float | None:
    """The factor after one more multiplication or division; weights keep theirs."""
    if candidate.logits is not None or candidate.factor is None:
        return candidate.factor
    other = operands[1 - place] if place < 2 and len(operands) > 1 else None
    if isinstance(other, Tensor) and other.numel() == 1:
        other = other.item()
    if not isinstance(other, (int, float)):
        return None
    if name in _OVER:
        return candidate.factor / other if place == 0 and other else None
    return candidate.factor * other


def _dropout(operands: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[float, bool]:
    p = kwargs.get("p", operands[1] if len(operands) > 1 else 0.5)
    training = kwargs.get("training", kwargs.get("train", operands[2] if len(operands) > 2 else True))
    return float(p), bool(training)


@dataclass(frozen=True, eq=False)
class _Sides:
    """A product as (..., m, c) times (..., c, n); ``whole`` is the operand that ``left`` is a view of."""

    left: Tensor
    right: Tensor
    out: Tensor
    whole: Tensor
    factor: float = 1.0


def _sides(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], out: Tensor) -> _Sides | None:
    if name == "einsum":
        return _einsum_sides(args, out)
    factor: Any = 1
    if name == "baddbmm":
        factor = kwargs.get("alpha", 1)
        parts = (*args[1:3], *(kwargs[k] for k in ("batch1", "batch2") if k in kwargs))
    else:
        parts = (*args[:2], *(kwargs[k] for k in ("input", "other", "mat2") if k in kwargs))
    if len(parts) != 2 or not isinstance(factor, (int, float)):
        return None
    left, right = reversed(parts) if name == "__rmatmul__" else parts
    if not all(isinstance(t, Tensor) and t.dim() >= 2 for t in (left, right)):
        return None
    return _Sides(left, right, out, left, float(factor))


def _einsum_sides(args: tuple[Any, ...], out: Tensor) -> _Sides | None:
    """Equations of two operands that share batch letters and contract one letter; no other is read."""
    rest = args[1:]
    operands = tuple(rest[0]) if len(rest) == 1 and isinstance(rest[0], (list, tuple)) else rest
    if len(operands) != 2 or not isinstance(args[0], str) or "->" not in args[0] or "." in args[0]:
        return None
    inputs, result = args[0].replace(" ", "").split("->")
    a, b = inputs.split(",")
    left, right = operands
    contracted, own_a, own_b = (set(a) & set(b)) - set(result), set(a) - set(b), set(b) - set(a)
    repeated = any(len(set(word)) != len(word) for word in (a, b, result))
    if repeated or len(contracted) != 1 or len(own_a) != 1 or len(own_b) != 1 or not own_a | own_b <= set(result):
        return None
    (c,), (m,), (n,) = contracted, own_a, own_b
    if result.index(m) > result.index(n):  # the second operand owns the rows
        left, right, a, b, m, n = right, left, b, a, n, m
    batch = [letter for letter in result if letter not in (m, n)]
    return _Sides(
        left=left.permute([a.index(x) for x in (*batch, m, c)]),
        right=right.permute([b.index(x) for x in (*batch, c, n)]),
        out=out.permute([result.index(x) for x in (*batch, m, n)]),
        whole=left,
    )
