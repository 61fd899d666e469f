"""Masks of other conventions, in and out; every name says which convention. Reached as ``attention_core.masks``."""

import torch
from torch import Tensor

HIDDEN_AT_MOST = -1000.0
"""Additive values up to here hide a key; between here and 0 they only weaken it, which a boolean mask cannot say."""

_CELLS_NAMED = 8


def from_attention_mask(attention_mask: Tensor) -> Tensor:
    """1 = real token, 0 = padding, as tokenizers return it.

    >>> from_attention_mask(torch.tensor([[1, 1, 0]]))
    tensor([[[[ True,  True, False]]]])

    Args:
        attention_mask: (batch, k_len) bool, or integer or float holding only 0 and 1. A mask that already has four axes
            (batch, heads, q_len, k_len), 1 = may attend, keeps its shape.

    Returns:
        (batch, 1, 1, k_len) bool, True = may attend.

    Raises:
        TypeError: if it is not a tensor, or complex.
        ValueError: if it holds another value than 0 and 1, or has neither two nor four axes.
    """
    real = _flags("attention_mask", attention_mask)
    if real.dim() == 4:
        return real
    return _over_keys("attention_mask", real)


def to_attention_mask(allowed: Tensor) -> Tensor:
    """The inverse of ``from_attention_mask``: (batch, k_len) int64, 1 = real token.

    Args:
        allowed: (batch, 1, 1, k_len) bool, or any mask that is the same for every head and query.

    Returns:
        (batch, k_len) int64; batch is 1 where ``allowed`` has no batch axis.

    Raises:
        TypeError: if the mask is not bool.
        ValueError: if it differs between heads or queries: no mask over keys alone can say that.
    """
    return _keys_only(allowed).long()


def from_key_padding_mask(key_padding_mask: Tensor) -> Tensor:
    """True (or 1) = padding, as ``torch.nn.MultiheadAttention`` takes it.

    >>> from_key_padding_mask(torch.tensor([[False, False, True]]))
    tensor([[[[ True,  True, False]]]])

    Args:
        key_padding_mask: (batch, k_len) bool, or integer or float holding only 0 and 1.

    Returns:
        (batch, 1, 1, k_len) bool, True = may attend.

    Raises:
        TypeError: if it is not a tensor, or complex.
        ValueError: if it holds another value than 0 and 1, or has not two axes.
    """
    return _over_keys("key_padding_mask", ~_flags("key_padding_mask", key_padding_mask))


def to_key_padding_mask(allowed: Tensor) -> Tensor:
    """The inverse of ``from_key_padding_mask``: (batch, k_len) bool, True = padding.

    Args:
        allowed: (batch, 1, 1, k_len) bool, or any mask that is the same for every head and query.

    Returns:
        (batch, k_len) bool; batch is 1 where ``allowed`` has no batch axis.

    Raises:
        TypeError: if the mask is not bool.
        ValueError: if it differs between heads or queries.
    """
    return ~_keys_only(allowed)


def from_blocked(blocked: Tensor) -> Tensor:
    """True (or 1) = blocked, as the ``attn_mask`` of ``torch.nn.MultiheadAttention`` means it.

    A mask folded to (batch * heads, q_len, k_len) unfolds with ``.unflatten(0, (batch, heads))``.

    >>> from_blocked(torch.tensor([[0, 1], [0, 0]]))
    tensor([[ True, False],
            [ True,  True]])

    Args:
        blocked: any shape; bool, or integer or float holding only 0 and 1.

    Returns:
        bool of the same shape, True = may attend.

    Raises:
        TypeError: if it is not a tensor, or complex.
        ValueError: if it holds another value than 0 and 1.
    """
    return ~_flags("blocked", blocked)


def to_blocked(allowed: Tensor) -> Tensor:
    """The inverse of ``from_blocked``: bool of the same shape, True = blocked.

    Raises:
        TypeError: if the mask is not bool.
    """
    require_bool("allowed", allowed)
    return ~allowed


def from_additive(additive: Tensor) -> Tensor:
    """0 = may attend, -inf or a large negative number = hidden: a mask made to be added to the scores.

    -inf, the lowest number of the dtype and -1e4 all mean hidden. What lies between -1000 and 0, or above 0, is a bias
    and no mask: it changes a weight and hides nothing.

    >>> from_additive(torch.tensor([[0.0, -10000.0], [0.0, 0.0]]))
    tensor([[ True, False],
            [ True,  True]])

    Args:
        additive: any shape, float.

    Returns:
        bool of the same shape, True = may attend.

    Raises:
        TypeError: if it is not a float tensor.
        ValueError: if it holds NaN, only 0 and 1, or a number that neither shows nor hides.
    """
    if not isinstance(additive, Tensor) or not additive.dtype.is_floating_point:
        raise TypeError(
            f"an additive mask must be a float tensor: got {_kind(additive)}; for flags use from_attention_mask "
            "(1 = real token) or from_blocked (1 = blocked)"
        )
    nan = additive.isnan()
    if nan.any():
        raise ValueError(
            f"an additive mask must hold 0 or a large negative number: got NaN at {_cells(nan)}; 0 * inf is NaN, so "
            "build it with masked_fill or torch.where, not by multiplying with infinity"
        )
    visible, one = additive == 0, additive == 1
    if one.any() and (visible | one).all():
        raise ValueError(
            "an additive mask must hold 0 or a large negative number: got only 0 and 1, which hide nothing when added; "
            "did you mean bool? use from_attention_mask (1 = real token) or from_blocked (1 = blocked)"
        )
    unclear = ~(visible | (additive <= HIDDEN_AT_MOST))
    if unclear.any():
        raise ValueError(
            f"an additive mask must hold 0 (may attend) or at most {HIDDEN_AT_MOST:g} (hidden): got "
            f"{float(additive[unclear][0]):g} at {_cells(unclear)}; pass numbers that only shift a score as bias"
        )
    return visible


def to_additive(allowed: Tensor, *, dtype: torch.dtype = torch.float32, finite: bool = False) -> Tensor:
    """The inverse of ``from_additive``: 0 where a query may attend, the fill elsewhere.

    >>> to_additive(torch.tensor([[True, False]]))
    tensor([[0., -inf]])

    Args:
        allowed: any shape, bool.
        dtype: float dtype of the result; take the dtype of the scores, so that no later cast changes the fill.
        finite: fill with the lowest number of ``dtype`` instead of -inf. Rows without a key then come out of a plain
            softmax uniform instead of NaN, and two such masks must not be added: combine with ``&`` before converting.

    Returns:
        ``dtype`` of the same shape.

    Raises:
        TypeError: if the mask is not bool or ``dtype`` not a float.
    """
    require_bool("allowed", allowed)
    if not dtype.is_floating_point:
        raise TypeError(f"an additive mask needs a float dtype: got {dtype}")
    fill = torch.finfo(dtype).min if finite else float("-inf")
    return torch.zeros(allowed.shape, dtype=dtype, device=allowed.device).masked_fill(~allowed, fill)


def place_two_axes(mask: Tensor, *, batch: int, q_len: int, k_len: int) -> Tensor:
    """Places a 2-D mask of unstated meaning; for doors where the caller does not say what the axes are.

    Everywhere else two axes mean (q_len, k_len).

    Args:
        mask: (q_len, k_len) or (batch, k_len) bool.
        batch: samples of the attention that it belongs to.
        q_len: its queries.
        k_len: its keys.

    Returns:
        (q_len, k_len), or (batch, 1, 1, k_len) where only that reading fits.

    Raises:
        TypeError: if the mask is not bool.
        ValueError: if both readings fit, or neither does.
    """
    require_bool("mask", mask)
    shape = tuple(mask.shape)
    over_pairs, over_keys = shape == (q_len, k_len), shape == (batch, k_len)
    if over_pairs and over_keys and batch != 1:
        raise ValueError(
            f"a 2-D mask must be readable in one way: got {shape} with batch == q_len == {batch}, which can be "
            "(q_len, k_len), the same for every sample, or (batch, k_len), one row per sample; pass mask[None, None] "
            "for the first, mask[:, None, None, :] for the second"
        )
    if over_pairs:
        return mask
    if over_keys:
        return mask[:, None, None, :]
    raise ValueError(
        f"a 2-D mask must be (q_len, k_len) = ({q_len}, {k_len}) or (batch, k_len) = ({batch}, {k_len}): got {shape}"
    )


def require_bool(name: str, mask: Tensor) -> None:
    """Raises TypeError unless ``mask`` is a bool tensor; the message names the converters."""
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        raise TypeError(
            f"{name} must be a bool tensor with True = may attend: got {_kind(mask)}; convert with "
            "masks.from_attention_mask (1 = real token), masks.from_key_padding_mask (True = padding), "
            "masks.from_blocked (1 = blocked) or masks.from_additive (0 / -inf)"
        )


def _flags(name: str, mask: Tensor) -> Tensor:
    """Bool from bool or 0/1 numbers; anything else is refused with its value and place."""
    if not isinstance(mask, Tensor) or mask.dtype.is_complex:
        raise TypeError(f"{name} must be a bool, integer or float tensor: got {_kind(mask)}")
    if mask.dtype == torch.bool:
        return mask
    set_ = mask == 1
    wrong = ~(set_ | (mask == 0))
    if wrong.any():
        hint = "; a mask of 0 and large negative numbers goes to from_additive" if mask.dtype.is_floating_point else ""
        raise ValueError(f"{name} must hold only 0 and 1: got {mask[wrong][0].item()} at {_cells(wrong)}{hint}")
    return set_


def _over_keys(name: str, mask: Tensor) -> Tensor:
    if mask.dim() != 2:
        hint = "; one sample is mask[None]" if mask.dim() == 1 else ""
        raise ValueError(f"{name} must be (batch, k_len): got shape {tuple(mask.shape)}{hint}")
    return mask[:, None, None, :]


def _keys_only(allowed: Tensor) -> Tensor:
    """(batch, k_len) of a mask that is the same for every head and query."""
    require_bool("allowed", allowed)
    if not 2 <= allowed.dim() <= 4:
        raise ValueError(f"allowed must have two to four axes up to (batch, heads, q_len, k_len): got {allowed.dim()}")
    full = allowed.reshape((1,) * (4 - allowed.dim()) + tuple(allowed.shape))
    keys = full[:, :1, :1, :]
    if 0 in full.shape[1:3] or not (full == keys).all():
        raise ValueError(
            f"a mask over keys alone must be the same for every head and query: got shape {tuple(allowed.shape)} that "
            "differs between them, or holds no query; use to_blocked or to_additive"
        )
    return keys[:, 0, 0, :]


def _cells(where: Tensor) -> str:
    """The first few indices of True cells."""
    found = where.nonzero().tolist()
    named = ", ".join(str(tuple(cell)) if len(cell) != 1 else str(cell[0]) for cell in found[:_CELLS_NAMED])
    return named + (f" and {len(found) - _CELLS_NAMED} more" if len(found) > _CELLS_NAMED else "")


def _kind(value: object) -> str:
    if isinstance(value, Tensor):
        dtype: torch.dtype = value.dtype
        return str(dtype)
    return type(value).__name__
