"""Intent in words: what ``expect`` says, and the mask that it means."""

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from attention_core import masks

WORDS = "causal, bidirectional, padding[=left|right], window=W, prefix=P, chunk=C, packed, cache, top-left"
_ALIASES = {
    "full": "bidirectional", "encoder": "bidirectional", "decoder": "causal", "sliding-window": "window",
    "sliding_window": "window", "chunked": "chunk", "prefix-lm": "prefix", "prefix_lm": "prefix", "documents": "packed",
    "packing": "packed", "left-padding": "padding=left", "right-padding": "padding=right", "top_left": "top-left",
    "static-cache": "cache",
}  # fmt: skip
_NUMBERS = ("window", "prefix", "chunk")
_FLAGS = ("causal", "bidirectional", "packed", "cache", "top-left")
KNOWN_WORDS = frozenset({*_NUMBERS, *_FLAGS, *_ALIASES, "padding", "side", "direction"})


@dataclass(frozen=True)
class Expectation:
    """The intent as somebody stated it.

    Attributes:
        direction: "causal", "bidirectional" or None where nothing was said.
        padding: padding is part of it. side: where; None where not said.
        window: keys that a query sees, its own included; two-sided with "bidirectional". prefix, chunk: sizes.
        packed: documents are kept apart. cache: a preallocated cache with ``lengths`` slots in use.
        top_left: the causal mask is pinned to the top left.
    """

    direction: str | None = None
    padding: bool = False
    side: str | None = None
    window: int | None = None
    prefix: int | None = None
    chunk: int | None = None
    packed: bool = False
    cache: bool = False
    top_left: bool = False

    @property
    def causal(self) -> bool:
        """Window, chunk and prefix are causal unless "bidirectional" stands beside them."""
        sized = self.window is not None or self.chunk is not None or self.prefix is not None
        return self.direction == "causal" or (self.direction is None and (sized or self.cache or self.top_left))

    @property
    def words(self) -> str:
        said = ["causal" if self.causal else "bidirectional"]
        said += [f"{name}={getattr(self, name)}" for name in _NUMBERS if getattr(self, name) is not None]
        said += [name for name in ("packed", "cache") if getattr(self, name)]
        if self.padding:
            said.append("padding" if self.side is None else f"{self.side} padding")
        return ", ".join(said) + (" (top-left)" if self.top_left else "")


def parse_expect(expect: Any) -> Expectation:
    """Reads ``expect``: a string such as "causal,window=3", a mapping, a dataclass, or an Expectation.

    Raises:
        TypeError: if it is of another type.
        ValueError: if a word is unknown, a number is missing or out of range, or two words contradict each other.
    """
    if isinstance(expect, Expectation):
        return expect
    if isinstance(expect, str):
        entries = [_entry(word) for word in re.split(r"\s*(?:[+,;&]|\band\b)\s*|\s+", expect.strip()) if word]
    elif isinstance(expect, Mapping):
        entries = [
            _named(str(name), value) for name, value in expect.items() if value is not None and value is not False
        ]
    elif dataclasses.is_dataclass(expect) and not isinstance(expect, type):
        entries = [_named(n, v) for n, v in vars(expect).items() if v is not None and v is not False]
    else:
        raise TypeError(f'expect must be words such as "causal" or a mapping: got {type(expect).__name__}')
    if not entries:
        raise ValueError(f"expect must say something: got {expect!r}; known words are {WORDS}")
    said: dict[str, Any] = {}
    for name, value in entries:
        for field, content in _fields(name, value).items():
            if field in said and said[field] != content:
                raise ValueError(f"expect must not contradict itself: got {field} {said[field]} and {content}")
            said[field] = content
    read = Expectation(**said)
    if read.direction == "bidirectional" and (read.prefix is not None or read.cache or read.top_left):
        raise ValueError(f"expect must not contradict itself: got bidirectional in {expect!r} beside a causal word")
    return read


def _entry(word: str) -> tuple[str, Any]:
    name, _, value = re.sub(r"[:=]", "=", word.lower(), count=1).partition("=")
    return _named(name, value or True)


def _named(name: str, value: Any) -> tuple[str, Any]:
    name = _ALIASES.get(name, name)
    if "=" in name:
        name, _, value = name.partition("=")
    if name == "top_left":
        name = "top-left"
    return name, value


def _fields(name: str, value: Any) -> dict[str, Any]:
    if name in _FLAGS and value is not True:
        raise ValueError(f"{name} takes no number: got {value!r}; known words are {WORDS}")
    if name in ("causal", "bidirectional"):
        return {"direction": name}
    if name == "direction":
        return _fields(str(value), True)
    if name in ("packed", "cache", "top-left"):
        return {name.replace("-", "_"): True}
    if name in ("padding", "side"):
        if value is True:
            return {"padding": True}
        if value not in ("left", "right"):
            raise ValueError(f"padding is left or right: got {value!r}")
        return {"padding": True, "side": value}
    if name in _NUMBERS:
        smallest = 0 if name == "prefix" else 1
        if isinstance(value, bool) or not re.fullmatch(r"\d+", str(value)) or int(value) < smallest:
            came = "no number" if value is True else repr(value)
            raise ValueError(f'{name} needs a whole number from {smallest} on, as in "{name}=3": got {came}')
        return {name: int(value)}
    raise ValueError(f"expect knows the words {WORDS}: got {name!r}")


def parts_of(
    expectation: Expectation,
    shape: tuple[int, int, int, int],
    *,
    lengths: Tensor | None,
    side: str,
    document_ids: Tensor | None,
) -> dict[str, Tensor]:
    """The named parts of the mask that is meant; their & is the mask. Empty where everything is allowed.

    Args:
        expectation: the words.
        shape: (batch, heads, q_len, k_len).
        lengths: (batch,) valid keys, needed for padding and cache.
        side: where padding stands.
        document_ids: (batch, k_len), needed for packed.

    Raises:
        ValueError: if a word needs something that is missing, or a size does not fit.
    """
    _, _, q_len, k_len = shape
    offset = 0 if expectation.top_left else None
    parts: dict[str, Tensor] = {}
    if expectation.packed and document_ids is None:
        raise ValueError("packed needs to know the documents: got neither document_ids nor position_ids; pass one")
    if (expectation.padding or expectation.cache) and lengths is None:
        word = "padding" if expectation.padding else "cache"
        raise ValueError(f"{word} needs lengths, the valid keys per sample: got none; pass lengths=")
    in_cache = lengths is not None and _is_cache(expectation, lengths, q_len, k_len)
    if expectation.prefix is not None:
        if q_len != k_len or expectation.prefix > k_len:
            raise ValueError(
                f"prefix needs as many queries as keys and at most k_len {k_len}: got prefix {expectation.prefix} for "
                f"{q_len} queries"
            )
        parts["prefix"] = masks.prefix_lm(q_len, prefix=expectation.prefix)
    elif expectation.causal and not in_cache:
        parts["causal"] = masks.causal(q_len, k_len, offset=offset)
    if expectation.window is not None:
        reach = expectation.window - 1
        right = None if expectation.causal else reach
        parts["window"] = masks.sliding_window(q_len, k_len, left=reach, right=right, offset=offset)
    if expectation.chunk is not None:
        parts["chunk"] = masks.chunked(q_len, k_len, size=expectation.chunk, offset=offset)
    if document_ids is not None:
        parts["documents"] = documents_mask(document_ids, q_len, k_len)
    if lengths is not None:
        if in_cache and expectation.causal:
            parts["cache"] = masks.causal_in_cache(q_len, k_len, valid_lengths=lengths)
        elif in_cache:
            parts["cache"] = masks.padding(lengths, k_len)
        elif (lengths < k_len).any():
            parts["padding"] = masks.padding(lengths, k_len, side="left" if side == "left" else "right")
    return parts


def documents_mask(document_ids: Tensor, q_len: int, k_len: int) -> Tensor:
    """(batch, 1, q_len, k_len); the queries are the last ``q_len`` of the keys' positions."""
    if document_ids.shape[1] != k_len:
        raise ValueError(f"need one document id per key: got {document_ids.shape[1]} for k_len {k_len}")
    return masks.packed(document_ids)[:, :, k_len - q_len :, :] if q_len <= k_len else _too_many(q_len, k_len)


def _too_many(q_len: int, k_len: int) -> Tensor:
    raise ValueError(f"packed needs at most as many queries as keys: got {q_len} and {k_len}")


def _is_cache(expectation: Expectation, lengths: Tensor, q_len: int, k_len: int) -> bool:
    """A cache where it is said, or where fewer queries than keys stand before unused slots."""
    fits = bool((lengths >= q_len).all()) and q_len < k_len and bool((lengths < k_len).any())
    if expectation.cache:
        if not fits and bool((lengths < q_len).any()):
            raise ValueError(f"a cache holds its queries: got lengths down to {int(lengths.min())} for {q_len} queries")
        return True
    plain = expectation.window is None and expectation.chunk is None and not expectation.top_left
    said = expectation.causal or q_len == 1
    return fits and plain and said and not expectation.padding


def all_of(parts: Mapping[str, Tensor], shape: tuple[int, int, int, int]) -> Tensor:
    """The & of the parts: bool, a view of ``shape`` as far as they broadcast."""
    allowed = torch.ones((), dtype=torch.bool)
    for part in parts.values():
        allowed = allowed & part
    return allowed.expand(shape)
