"""Boolean masks: one convention inside, every other convention at the door.

A mask is a plain bool tensor, True = may attend, that broadcasts to ``(batch, heads, q_len, k_len)``; two axes always
mean ``(q_len, k_len)``. Parts combine with ``&`` (both must allow) and ``|`` (either may allow):

>>> print(draw(causal(4) & padding([3], 4, side="left")))
⬚⬚⬚⬚
⬚■⬚⬚
⬚■■⬚
⬚■■■

Rows are queries, columns are keys. ``offset`` places the queries among the keys: query i stands at key position
``i + offset``. None means ``k_len - q_len``: the last query stands at the last key, as with a KV cache. 0 pins both to
the top left, as the ``is_causal`` flag of PyTorch does. Builders return CPU tensors, or tensors on the device of what
they are given. The file is long because each builder shows its drawing.
"""

import math
import operator
from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from attention_core.mask_conventions import (
    from_additive,
    from_attention_mask,
    from_blocked,
    from_key_padding_mask,
    place_two_axes,
    require_bool,
    to_additive,
    to_attention_mask,
    to_blocked,
    to_key_padding_mask,
)
from attention_core.token_layout import (
    attention_mask_from_ids,
    document_ids_from_positions,
    integer_rows,
    position_ids,
    real_lengths,
    square_from_banded,
)

__all__ = [
    "attention_mask_from_ids",
    "block_sparse",
    "causal",
    "causal_in_cache",
    "chunked",
    "dilated",
    "document_ids_from_positions",
    "draw",
    "from_additive",
    "from_attention_mask",
    "from_blocked",
    "from_key_padding_mask",
    "global_local",
    "packed",
    "padding",
    "place_two_axes",
    "position_ids",
    "prefix_lm",
    "real_lengths",
    "sliding_window",
    "square_from_banded",
    "strided",
    "to_additive",
    "to_attention_mask",
    "to_blocked",
    "to_key_padding_mask",
]

Side = Literal["left", "right"]


def causal(q_len: int, k_len: int | None = None, *, offset: int | None = None) -> Tensor:
    """Each query may attend to its own position and those before it.

    >>> print(draw(causal(2, 5)))
    ■■■■⬚
    ■■■■■
    >>> print(draw(causal(2, 5, offset=0)))
    ■⬚⬚⬚⬚
    ■■⬚⬚⬚

    Args:
        q_len: number of queries.
        k_len: number of keys; None means ``q_len``.
        offset: key position of the first query; None means ``k_len - q_len``.

    Returns:
        (q_len, k_len) bool. A query that stands before the first key has an empty row.

    Raises:
        TypeError: if a length is not an integer, e.g. a tensor of embeddings.
        ValueError: if a length is negative.
    """
    query, key = _positions("causal", q_len, k_len, offset)
    return key <= query


def causal_in_cache(q_len: int, k_len: int, *, valid_lengths: Tensor | Sequence[int]) -> Tensor:
    """Causal over a preallocated cache; each sample fills the first ``valid_lengths`` slots, new tokens included.

    The queries are the last ``q_len`` valid tokens: each sample has an offset of its own, and empty slots are hidden.

    >>> print(draw(causal_in_cache(2, 5, valid_lengths=[3, 5])))
    ■■⬚⬚⬚
    ■■■⬚⬚
    <BLANKLINE>
    ■■■■⬚
    ■■■■■

    Args:
        q_len: number of queries.
        k_len: number of slots.
        valid_lengths: (batch,) integers from ``q_len`` to ``k_len``.

    Returns:
        (batch, 1, q_len, k_len) bool.

    Raises:
        TypeError: if a length is not an integer.
        ValueError: if a length does not lie between ``q_len`` and ``k_len``.
    """
    query, key = _positions("causal_in_cache", q_len, k_len, 0)
    lengths = _lengths("valid_lengths", valid_lengths, query.shape[0], key.shape[1], "k_len")
    offset = (lengths - query.shape[0])[:, None, None, None]  # (batch, 1, 1, 1)
    return key.to(lengths.device) <= query.to(lengths.device) + offset


def sliding_window(
    q_len: int,
    k_len: int | None = None,
    *,
    left: int | None = None,
    right: int | None = None,
    offset: int | None = None,
) -> Tensor:
    """``-left <= key - query <= right``, both ends inside, and the query itself always inside.

    A causal window of W keys, the query's own included, is ``left=W - 1, right=0``.

    >>> print(draw(sliding_window(4, left=1, right=0)))
    ■⬚⬚⬚
    ■■⬚⬚
    ⬚■■⬚
    ⬚⬚■■

    Args:
        q_len: number of queries.
        k_len: number of keys; None means ``q_len``.
        left: how many keys before the query's own position, >= 0; None means all.
        right: how many keys after it, >= 0; None means all.
        offset: key position of the first query; None means ``k_len - q_len``.

    Returns:
        (q_len, k_len) bool.

    Raises:
        TypeError: if a number is not an integer.
        ValueError: if a number is negative.
    """
    query, key = _positions("sliding_window", q_len, k_len, offset)
    inside = torch.ones(query.shape[0], key.shape[1], dtype=torch.bool)
    if left is not None:
        inside &= key >= query - _integer("left", left)
    if right is not None:
        inside &= key <= query + _integer("right", right)
    return inside


def chunked(q_len: int, k_len: int | None = None, *, size: int, offset: int | None = None) -> Tensor:
    """Positions attend within their own chunk of ``size`` positions; chunks start at key 0. Not a sliding window.

    >>> print(draw(chunked(5, size=2) & causal(5)))
    ■⬚⬚⬚⬚
    ■■⬚⬚⬚
    ⬚⬚■⬚⬚
    ⬚⬚■■⬚
    ⬚⬚⬚⬚■

    Args:
        q_len: number of queries.
        k_len: number of keys; None means ``q_len``.
        size: positions per chunk, >= 1.
        offset: key position of the first query; None means ``k_len - q_len``.

    Returns:
        (q_len, k_len) bool.

    Raises:
        TypeError: if a number is not an integer.
        ValueError: if a length is negative or ``size`` is below 1.
    """
    query, key = _positions("chunked", q_len, k_len, offset)
    size = _integer("size", size, minimum=1)
    return query.div(size, rounding_mode="floor") == key.div(size, rounding_mode="floor")


def dilated(q_len: int, k_len: int | None = None, *, window: int, step: int, offset: int | None = None) -> Tensor:
    """A window with gaps: keys at distance 0, step, 2 step, ...; ``window`` of them per side, the query's own included.

    >>> print(draw(dilated(6, window=2, step=2)))
    ■⬚■⬚⬚⬚
    ⬚■⬚■⬚⬚
    ■⬚■⬚■⬚
    ⬚■⬚■⬚■
    ⬚⬚■⬚■⬚
    ⬚⬚⬚■⬚■

    Args:
        q_len: number of queries.
        k_len: number of keys; None means ``q_len``.
        window: keys per side, the query's own included, >= 1; ``|key - query| < window * step``.
        step: distance between neighbouring keys, >= 1; 1 has no gaps.
        offset: key position of the first query; None means ``k_len - q_len``.

    Returns:
        (q_len, k_len) bool, symmetric about the query; combine with ``causal`` for a decoder.

    Raises:
        TypeError: if a number is not an integer.
        ValueError: if a length is negative or ``window`` or ``step`` is below 1.

    Source:
        Beltagy et al. 2020, Longformer, section 3.1.
    """
    query, key = _positions("dilated", q_len, k_len, offset)
    window, step = _integer("window", window, minimum=1), _integer("step", step, minimum=1)
    distance = (key - query).abs()
    return (distance % step == 0) & (distance < window * step)


def strided(q_len: int, k_len: int | None = None, *, stride: int, offset: int | None = None) -> Tensor:
    """Keys at any distance that is a multiple of ``stride``; the second head of the strided sparse transformer.

    >>> print(draw(strided(5, stride=3) & causal(5)))
    ■⬚⬚⬚⬚
    ⬚■⬚⬚⬚
    ⬚⬚■⬚⬚
    ■⬚⬚■⬚
    ⬚■⬚⬚■

    Args:
        q_len: number of queries.
        k_len: number of keys; None means ``q_len``.
        stride: >= 1; 1 allows everything.
        offset: key position of the first query; None means ``k_len - q_len``.

    Returns:
        (q_len, k_len) bool, symmetric about the query.

    Raises:
        TypeError: if a number is not an integer.
        ValueError: if a length is negative or ``stride`` is below 1.

    Source:
        Child et al. 2019, "Generating Long Sequences with Sparse Transformers", section 4.3.
    """
    query, key = _positions("strided", q_len, k_len, offset)
    return (key - query) % _integer("stride", stride, minimum=1) == 0


def global_local(
    q_len: int, k_len: int | None = None, *, window: int, global_keys: Sequence[int], offset: int | None = None
) -> Tensor:
    """A window on both sides, ``|key - query| < window``, and some keys that every query may read.

    >>> print(draw(global_local(5, window=2, global_keys=[0])))
    ■■⬚⬚⬚
    ■■■⬚⬚
    ■■■■⬚
    ■⬚■■■
    ■⬚⬚■■

    For self-attention, ``m | m.T`` lets the global positions also read everything, as Longformer does.

    Args:
        q_len: number of queries.
        k_len: number of keys; None means ``q_len``.
        window: keys per side, the query's own included, >= 1.
        global_keys: key positions from 0 to ``k_len - 1``.
        offset: key position of the first query; None means ``k_len - q_len``.

    Returns:
        (q_len, k_len) bool.

    Raises:
        TypeError: if a number is not an integer.
        ValueError: if a length is negative, ``window`` is below 1 or a global key does not exist.

    Source:
        Beltagy et al. 2020, Longformer, section 3.1.
    """
    query, key = _positions("global_local", q_len, k_len, offset)
    inside = (key - query).abs() < _integer("window", window, minimum=1)
    for index in global_keys:
        if not 0 <= _integer("global_keys", index) < key.shape[1]:
            raise ValueError(f"global_keys must be positions below k_len {key.shape[1]}: got {index}")
        inside[:, index] = True
    return inside


def block_sparse(block_map: Tensor, *, block_size: int) -> Tensor:
    """Whole blocks of the score matrix, allowed or not.

    >>> print(draw(block_sparse(torch.tensor([[True, False, True], [False, True, False]]), block_size=2)))
    ■■⬚⬚■■
    ■■⬚⬚■■
    ⬚⬚■■⬚⬚
    ⬚⬚■■⬚⬚

    Args:
        block_map: (q_blocks, k_blocks) bool; True = may attend.
        block_size: rows and columns of a block, >= 1.

    Returns:
        (q_blocks * block_size, k_blocks * block_size) bool.

    Raises:
        TypeError: if ``block_map`` is not a bool tensor.
        ValueError: if it has not two axes, or ``block_size`` is below 1.
    """
    require_bool("block_map", block_map)
    if block_map.dim() != 2:
        raise ValueError(f"block_map must be (q_blocks, k_blocks): got shape {tuple(block_map.shape)}")
    size = _integer("block_size", block_size, minimum=1)
    return block_map.repeat_interleave(size, dim=0).repeat_interleave(size, dim=1)


def prefix_lm(q_len: int, *, prefix: int) -> Tensor:
    """The first ``prefix`` positions see each other wholly; everything else is causal.

    >>> print(draw(prefix_lm(4, prefix=2)))
    ■■⬚⬚
    ■■⬚⬚
    ■■■⬚
    ■■■■

    Args:
        q_len: number of positions (queries and keys).
        prefix: from 0 to ``q_len``; 0 and 1 are plain causal, ``q_len`` allows everything.

    Returns:
        (q_len, q_len) bool. Combine with ``padding`` by ``&``, so that padding inside the prefix stays hidden.

    Raises:
        TypeError: if a number is not an integer.
        ValueError: if ``prefix`` does not lie between 0 and ``q_len``.
    """
    query, key = _positions("prefix_lm", q_len, None, 0)
    if not 0 <= _integer("prefix", prefix) <= key.shape[1]:
        raise ValueError(f"prefix must lie between 0 and q_len {key.shape[1]}: got {prefix}")
    return (key < prefix) | (key <= query)


def padding(lengths: Tensor | Sequence[int], k_len: int, *, side: Side = "right") -> Tensor:
    """Hides the filler keys of a padded batch from every query; rows of padding queries stay, nobody reads them.

    >>> print(draw(padding([1, 3], 3)))
    ■⬚⬚
    <BLANKLINE>
    ■■■
    >>> print(draw(padding([1, 3], 3, side="left")))
    ⬚⬚■
    <BLANKLINE>
    ■■■

    Args:
        lengths: (batch,) integers from 0 to ``k_len``: real tokens per sample.
        k_len: number of keys.
        side: where the filler stands.

    Returns:
        (batch, 1, 1, k_len) bool.

    Raises:
        TypeError: if a length is not an integer.
        ValueError: if a length does not lie between 0 and ``k_len``, or ``side`` is neither "left" nor "right".
    """
    size = _integer("k_len", k_len)
    if side not in ("left", "right"):
        raise ValueError(f'side must be "left" or "right": got {side!r}')
    real = _lengths("lengths", lengths, 0, size, "k_len")[:, None, None, None]  # (batch, 1, 1, 1)
    key = torch.arange(size, device=real.device)
    return key < real if side == "right" else key >= size - real


def packed(document_ids: Tensor) -> Tensor:
    """Positions attend within their own document only; combine with ``causal``, and ``padding`` if there is filler.

    >>> print(draw(packed(torch.tensor([[0, 0, 1]])) & causal(3)))
    ■⬚⬚
    ■■⬚
    ⬚⬚■

    Args:
        document_ids: (batch, len) integers, or (len,) for one sample; see ``document_ids_from_positions``.

    Returns:
        (batch, 1, len, len) bool.

    Raises:
        TypeError: if the ids are not integers.
        ValueError: if there are neither one nor two axes.
    """
    ids = integer_rows("document_ids", document_ids)
    ids = ids.unsqueeze(0) if ids.dim() == 1 else ids  # (batch, len)
    return (ids[:, :, None] == ids[:, None, :]).unsqueeze(1)


def draw(mask: Tensor) -> str:
    """The mask as text: one line per query, ``■`` = may attend, ``⬚`` = may not.

    Args:
        mask: bool, at least (q_len, k_len); further leading axes are drawn one below the other, an empty line between.

    Returns:
        One string without a newline at its end.

    Raises:
        TypeError: if the mask is not bool.
        ValueError: if it has fewer than two axes.
    """
    require_bool("mask", mask)
    if mask.dim() < 2:
        raise ValueError(f"a mask needs at least (q_len, k_len): got shape {tuple(mask.shape)}")
    blocks = mask.reshape(math.prod(mask.shape[:-2]), *mask.shape[-2:]).tolist()
    return "\n\n".join("\n".join("".join("■" if cell else "⬚" for cell in row) for row in block) for block in blocks)


def _positions(builder: str, q_len: int | Tensor, k_len: int | None, offset: int | None) -> tuple[Tensor, Tensor]:
    """Positions of queries (q_len, 1) and keys (1, k_len) on the key axis."""
    if isinstance(q_len, Tensor) and q_len.dim() > 0:
        shape = list(q_len.shape)
        wanted = f"{builder}({shape[1] if len(shape) > 1 else shape[0]})"
        raise TypeError(
            f"{builder} takes lengths, not the sequence itself: got a tensor of shape {tuple(shape)}; if its axes are "
            f"(batch, len, d_model), call {wanted}, never the feature size {shape[-1]}"
        )
    q_len = _integer("q_len", q_len)
    k_len = q_len if k_len is None else _integer("k_len", k_len)
    start = k_len - q_len if offset is None else _integer("offset", offset, minimum=None)
    return torch.arange(q_len).unsqueeze(1) + start, torch.arange(k_len).unsqueeze(0)


def _integer(name: str, value: object, *, minimum: int | None = 0) -> int:
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)  # pyright: ignore[reportArgumentType]
    except TypeError:
        raise TypeError(f"{name} must be an integer: got {value!r}") from None
    if minimum is not None and number < minimum:
        raise ValueError(f"{name} must be at least {minimum}: got {number}")
    return number


def _lengths(name: str, lengths: Tensor | Sequence[int], lowest: int, highest: int, limit: str) -> Tensor:
    """(batch,) int64, checked to lie between ``lowest`` and ``highest``."""
    if isinstance(lengths, Tensor):
        tensor: Tensor = lengths
    else:
        tensor = torch.tensor([_integer(name, number, minimum=None) for number in lengths], dtype=torch.long)
    if tensor.dtype.is_floating_point or tensor.dtype.is_complex or tensor.dtype == torch.bool:
        raise TypeError(f"{name} must be integers, one per sample: got {tensor.dtype}; from a mask, use real_lengths")
    if tensor.dim() != 1:
        raise ValueError(f"{name} must be (batch,): got shape {tuple(tensor.shape)}")
    wrong = ((tensor < lowest) | (tensor > highest)).nonzero()
    if wrong.numel():
        sample = int(wrong[0])
        raise ValueError(
            f"{name} must lie between {lowest} and {limit} {highest}: got {int(tensor[sample])} for sample {sample}"
        )
    return tensor.long()
