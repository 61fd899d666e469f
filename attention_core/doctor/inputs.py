"""What was handed to the doctor, brought into one form: torch tensors with four axes, checked once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attention_core.doctor.fitting import check_fit, fit_mask, id_rows

_FLOATS = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
_PAD = {"[PAD]", "<pad>", "<PAD>", "<|pad|>"}
_SPECIAL = _PAD | {"[CLS]", "[SEP]", "[MASK]", "<s>", "</s>", "<mask>", "<|endoftext|>"}


@dataclass(frozen=True, eq=False)
class Labels:
    """Tokens of one axis: labels per sample, which of them are padding, and specials that somebody typed."""

    labels: tuple[tuple[str, ...], ...]
    padding: Tensor  # (samples, len) bool
    typed: tuple[tuple[int, int, str], ...]  # (sample, index, label)

    @property
    def count(self) -> int:
        return len(self.labels[0])


@dataclass(frozen=True, eq=False)
class Given:
    """The arguments of ``diagnose`` as tensors.

    ``weights`` (batch, heads, q_len, k_len); ``query``, ``key``, ``value`` (batch, heads, len, d); ``shape`` is
    (batch, heads, q_len, k_len) as far as it is known, from query and key before weights. ``averaged``: the weights
    came with one map per sample although there are several heads. ``misfit``: the weights do not have that shape.
    """

    shape: tuple[int, int, int, int]
    weights: Tensor | None = None
    query: Tensor | None = None
    key: Tensor | None = None
    value: Tensor | None = None
    output: Tensor | None = None
    allowed: Tensor | None = None
    raw_mask: Tensor | None = None
    bias: Tensor | None = None
    sinks: Tensor | None = None
    scale: float | None = None
    softcap: float | None = None
    dropout_p: float = 0.0
    lengths: Tensor | None = None
    side: str | None = None
    position_ids: Tensor | None = None
    document_ids: Tensor | None = None
    queries: Labels | None = None
    keys: Labels | None = None
    averaged: bool = False
    misfit: bool = False
    decimals: int | None = None

    @property
    def heads_vary(self) -> bool:
        """Whether heads can be compared with each other: several maps, as they were computed."""
        return self.weights is not None and self.weights.shape[1] > 1 and not self.averaged


def to_tensor(name: str, array: Any) -> Tensor | None:
    """A torch tensor from a tensor, a NumPy array or nested lists of numbers; anything else is a TypeError."""
    if array is None:
        return None
    if isinstance(array, Tensor):
        tensor = array.detach()
        if tensor.layout != torch.strided:
            raise TypeError(f"{name} must be a dense tensor: got layout {tensor.layout}; call .to_dense()")
        tensor = tensor.cpu()
    else:
        try:
            values = np.asarray(array)
        except ValueError:
            raise ValueError(f"{name} must be an array of equal rows: got rows of different lengths") from None
        if values.dtype.kind not in "bifu":
            raise TypeError(f"{name} must be a tensor or an array of numbers: got {_kind(array, values)}")
        if values.dtype.itemsize > 8:
            raise TypeError(f"{name} must hold numbers of at most 64 bits: got {values.dtype}")
        values = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("="))
        if values.dtype.kind == "u" and values.dtype.itemsize > 1:
            values = values.astype(np.int64)
        tensor = torch.from_numpy(values.copy())
    if tensor.dtype.is_complex:
        raise TypeError(f"{name} must be real: got {tensor.dtype}")
    return tensor


def read_inputs(
    *,
    weights: Any,
    query: Any,
    key: Any,
    value: Any,
    output: Any,
    allowed: Any,
    raw_mask: Any,
    bias: Any,
    sinks: Any,
    scale: float | None,
    softcap: float | None,
    dropout_p: float,
    lengths: Any,
    position_ids: Any,
    document_ids: Any,
    tokens: Any,
) -> Given:
    """All arguments as ``Given``; errors say the rule, what came and the remedy."""
    w, q = to_tensor("weights", weights), to_tensor("query", query)
    k, v = to_tensor("key", key), to_tensor("value", value)
    o, a, raw = to_tensor("output", output), to_tensor("allowed", allowed), to_tensor("raw_mask", raw_mask)
    if (q is None) != (k is None):
        missing, there = ("key", "query") if k is None else ("query", "key")
        raise ValueError(f"query and key come together: got {there} alone; pass {missing} as well")
    if all(t is None for t in (w, q, a, raw)):
        raise ValueError(
            "diagnose needs something to look at: got none of weights, query and key, allowed, raw_mask; pass one"
        )
    if not 0 <= dropout_p < 1:
        raise ValueError(f"dropout_p must lie in [0, 1): got {dropout_p}")
    q, k, v = _four("query", q), _four("key", k), _four("value", v)
    if q is not None and k is not None:
        q, k = _fitting(q, k)
    if v is not None and k is not None and v.shape[:3] != k.shape[:3]:
        raise ValueError(
            f"key and value need the same (batch, heads, k_len): got {tuple(k.shape[:3])} and {tuple(v.shape[:3])}"
        )
    query_labels, key_labels = read_tokens(tokens)
    ids, positions = id_rows("document_ids", to_tensor("document_ids", document_ids)), None
    positions = id_rows("position_ids", to_tensor("position_ids", position_ids))
    size, side = read_lengths(to_tensor("lengths", lengths))
    samples = next((len(t) for t in (size, ids, positions) if t is not None), None)
    if samples is None and key_labels is not None:
        samples = len(key_labels.labels)
    given_shape = None if q is None or k is None else (q.shape[0], q.shape[1], q.shape[2], k.shape[2])
    w, averaged = _place_weights(w, given_shape, samples)
    decimals = None if w is None else decimals_of(w)
    if given_shape is not None:
        shape = given_shape
    elif w is not None:
        shape = (w.shape[0], w.shape[1], w.shape[2], w.shape[3])
    else:
        shape = _shape_of_masks(a, raw, samples, key_labels)
    misfit = w is not None and tuple(w.shape) != shape and not averaged
    if a is not None:
        a = fit_mask(a, shape)
    check_fit(shape, value=v, output=o, document_ids=ids, position_ids=positions)
    return Given(
        shape=shape,
        weights=w,
        query=q,
        key=k,
        value=v,
        output=o,
        allowed=a,
        raw_mask=raw,
        bias=to_tensor("bias", bias),
        sinks=to_tensor("sinks", sinks),
        scale=None if scale is None else float(scale),
        softcap=softcap,
        dropout_p=float(dropout_p),
        lengths=size,
        side=side,
        position_ids=positions,
        document_ids=ids,
        queries=query_labels,
        keys=key_labels,
        averaged=averaged,
        misfit=misfit,
        decimals=decimals,
    )


def read_tokens(tokens: Any) -> tuple[Labels | None, Labels | None]:
    """Tokens of the queries and of the keys: one list for both, or ``{"query": ..., "key": ...}``."""
    if tokens is None:
        return None, None
    if isinstance(tokens, Mapping):
        unknown = set(tokens) - {"query", "key"}
        if unknown:
            raise ValueError(f'tokens by axis are {{"query": ..., "key": ...}}: got {sorted(map(str, unknown))}')
        return _labels(tokens.get("query")), _labels(tokens.get("key"))
    both = _labels(tokens)
    return both, both


def _labels(tokens: Any) -> Labels | None:
    if tokens is None:
        return None
    if isinstance(tokens, str) or not isinstance(tokens, Sequence) or not len(tokens):
        raise TypeError(f"tokens must be a list of tokens, or one list per sample: got {type(tokens).__name__}")
    samples = [tokens] if isinstance(tokens[0], str) or hasattr(tokens[0], "label") else list(tokens)
    length = len(samples[0])
    if any(len(sample) != length for sample in samples):
        raise ValueError(
            f"tokens need the same count in each sample: got {[len(s) for s in samples]}; pad the shorter ones"
        )
    labels = [[str(getattr(t, "label", t)) for t in sample] for sample in samples]
    padding, typed = [], []
    for index, (sample, words) in enumerate(zip(samples, labels, strict=True)):
        if hasattr(sample[0], "padding"):
            padding.append([bool(t.padding) for t in sample])
            typed += [(index, i, w) for i, (t, w) in enumerate(zip(sample, words, strict=True)) if t.typed_special]
            continue
        flags = [False] * length
        for order in (range(length), range(length - 1, -1, -1)):  # runs at either end; inside, somebody typed it
            for i in order:
                if words[i] not in _PAD:
                    break
                flags[i] = True
        padding.append(flags)
        real = [i for i, flag in enumerate(flags) if not flag]
        ends = {real[0], real[-1]} if real else set()
        inside = [(i, w) for i, w in enumerate(words) if not flags[i] and i not in ends]
        typed += [(index, i, w) for i, w in inside if w in _SPECIAL]
    return Labels(tuple(tuple(w) for w in labels), torch.tensor(padding, dtype=torch.bool), tuple(typed))


def read_lengths(lengths: Tensor | None) -> tuple[Tensor | None, str | None]:
    """(batch,) valid keys from counts, or from an attention mask (batch, k_len) of 0 and 1, which tells the side."""
    if lengths is None:
        return None, None
    if lengths.dim() == 0:
        lengths = lengths.reshape(1)
    if lengths.dim() == 1:
        if lengths.dtype.is_floating_point or lengths.dtype == torch.bool:
            raise TypeError(f"lengths must be integers, valid keys per sample: got {lengths.dtype}")
        if (lengths < 0).any():
            raise ValueError(f"lengths must be 0 or more: got {int(lengths.min())}")
        return lengths.long(), None
    if lengths.dim() != 2 or not ((lengths == 0) | (lengths == 1)).all():
        raise ValueError(
            f"lengths must be (batch,) valid keys, or a (batch, k_len) attention mask of 0 and 1: got shape "
            f"{tuple(lengths.shape)}"
        )
    real = lengths.bool()
    count = real.sum(-1)
    position = torch.arange(real.shape[1])
    if torch.equal(real, position < count[:, None]):
        return count, "right"
    if torch.equal(real, position >= real.shape[1] - count[:, None]):
        return count, "left"
    raise ValueError("lengths given as an attention mask must pad at one end: got holes; pass them in allowed instead")


def decimals_of(weights: Tensor) -> int | None:
    """How many decimals the numbers were rounded to, 3 to 8, or None where they do not look rounded.

    A rounded number still carries the rounding of the dtype that holds it, which is what may be left over; beyond 6
    decimals that of float32 says nothing any more.
    """
    if weights.dtype not in (torch.float32, torch.float64):
        return None
    values = weights.double().flatten()
    values = values[torch.isfinite(values) & (values != 0) & (values != 1)]
    if values.numel() < 3:
        return None
    eps = torch.finfo(stored_dtype(weights)).eps
    for decimals in (2, 3, 4, 5, 6) if eps > 1e-10 else (2, 3, 4, 5, 6, 7, 8):
        shifted = values * 10**decimals
        left_over = min(eps, 1.2e-7) * shifted.abs() + 1e-9
        if ((shifted - shifted.round()).abs() <= left_over).all():
            return decimals if decimals > 2 else None
    return None


def stored_dtype(weights: Tensor) -> torch.dtype:
    """The narrowest dtype that holds these numbers exactly: a float64 copy of float32 numbers is float32."""
    finite = weights[torch.isfinite(weights)]
    for narrow in (torch.float16, torch.bfloat16, torch.float32):
        if torch.finfo(narrow).bits < torch.finfo(weights.dtype).bits and torch.equal(
            finite.to(narrow).to(weights.dtype), finite
        ):
            return narrow
    return weights.dtype


def _four(name: str, tensor: Tensor | None) -> Tensor | None:
    """(len, d), (heads, len, d) or (batch, heads, len, d) -> four axes, float."""
    if tensor is None:
        return None
    if not tensor.dtype.is_floating_point:
        tensor = tensor.float()
    if tensor.dtype not in _FLOATS:
        raise TypeError(f"{name} must be float64, float32, bfloat16 or float16: got {tensor.dtype}")
    if not 2 <= tensor.dim() <= 4:
        raise ValueError(
            f"{name} must be (batch, heads, len, d), or have fewer leading axes: got {tuple(tensor.shape)}"
        )
    return tensor.reshape((1,) * (4 - tensor.dim()) + tuple(tensor.shape)).contiguous()


def _fitting(query: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
    if query.dtype != key.dtype:
        raise TypeError(f"query and key need one dtype: got {query.dtype} and {key.dtype}")
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(f"query and key need the same d_k: got {query.shape[-1]} and {key.shape[-1]}")
    if query.shape[0] != key.shape[0] or key.shape[1] == 0 or query.shape[1] % key.shape[1]:
        raise ValueError(
            "query and key need the same batch, and query heads a multiple of key heads: got (batch, heads) "
            f"{tuple(query.shape[:2])} and {tuple(key.shape[:2])}"
        )
    if not query.numel() or not key.numel():
        raise ValueError(f"query and key must not be empty: got {tuple(query.shape)} and {tuple(key.shape)}")
    return query, key


def _place_weights(
    weights: Tensor | None, shape: tuple[int, int, int, int] | None, samples: int | None
) -> tuple[Tensor | None, bool]:
    """Weights with four axes, and whether they hold one map per sample where several heads are known."""
    if weights is None:
        return None, False
    if not weights.dtype.is_floating_point:
        weights = weights.float()
    if not 2 <= weights.dim() <= 4:
        raise ValueError(
            f"weights must be (batch, heads, q_len, k_len), or fewer leading axes: got shape {tuple(weights.shape)}"
        )
    if not weights.numel():
        raise ValueError(f"weights must not be empty: got shape {tuple(weights.shape)}")
    if weights.dim() == 2:
        weights = weights[None, None]
    elif weights.dim() == 3:
        first = weights.shape[0]
        if shape is not None:
            batch, heads = shape[:2]
            if first == heads and batch == 1:
                weights = weights[None]
            elif first == batch * heads and heads > 1 and batch > 1:
                weights = weights.unflatten(0, (batch, heads))
            else:
                weights = weights[:, None]
        else:
            weights = weights[:, None] if samples is not None and samples > 1 else weights[None]
    one_map = shape is not None and (weights.shape[0], *weights.shape[2:]) == (shape[0], *shape[2:])
    averaged = shape is not None and shape[1] > 1 and weights.shape[1] == 1 and one_map
    return weights, averaged


def _shape_of_masks(
    allowed: Tensor | None, raw: Tensor | None, samples: int | None, labels: Labels | None
) -> tuple[int, int, int, int]:
    mask = allowed if allowed is not None else raw
    assert mask is not None
    if mask.dim() == 0 or mask.dim() > 4 or not mask.numel():
        raise ValueError(f"a mask needs one to four axes and at least one cell: got shape {tuple(mask.shape)}")
    sizes = tuple(mask.shape)
    if len(sizes) == 1:
        return (1, 1, 1, sizes[0])
    if len(sizes) == 2 and samples == sizes[0] > 1:  # one row of keys per sample
        return (sizes[0], 1, sizes[1], sizes[1])
    if len(sizes) == 3:
        return (sizes[0], 1, sizes[1], sizes[2])
    batch, heads, q_len, k_len = (1,) * (4 - len(sizes)) + sizes
    if q_len == 1 and labels is not None and labels.count == k_len:
        q_len = k_len
    return (max(batch, samples or 1), heads, max(q_len, 1), k_len)


def _kind(array: Any, values: np.ndarray) -> str:
    return f"an array of {values.dtype}" if isinstance(array, np.ndarray) else type(array).__name__
