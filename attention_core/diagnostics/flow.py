"""Put together: weights across layers (rollout) and from pieces to words, masks across layers (reach)."""

from collections.abc import Iterable, Iterator, Sequence

import torch
from torch import Tensor

from attention_core.diagnostics._rows import widened
from attention_core.mask_conventions import require_bool


def rollout(weights: Sequence[Tensor], *, residual: float = 0.5) -> Tensor:
    """How much of each input position reaches each position of the last layer, if attention alone carried it.

    Per layer the heads are averaged, the residual stream is mixed in as ``(1 - residual) A + residual I``, and each row
    is divided by its sum; the layers are multiplied, the last one leftmost. An approximation that ignores value vectors
    and feed-forward layers.

    Args:
        weights: one tensor per layer, first layer first: (batch, heads, len, len), or heads already fused into one map:
            (batch, len, len) or (len, len). Fused maps need not have row sums of 1.
        residual: share of the residual stream, in [0, 1].

    Returns:
        (batch, len, len), or (len, len); rows sum to 1 (a row without any weight and ``residual`` 0 stays 0).

    Raises:
        ValueError: if no layer is given, a map is not square, or ``residual`` is outside [0, 1].

    Source:
        Abnar and Zuidema 2020, "Quantifying Attention Flow in Transformers", section 3.
    """
    result: Tensor | None = None
    for result in rollouts(weights, residual=residual):  # noqa: B007 - the last one counts
        pass
    if result is None:
        raise ValueError("rollout needs at least one layer of weights: got none")
    return result


def rollouts(weights: Iterable[Tensor], *, residual: float = 0.5) -> Iterator[Tensor]:
    """The rollout after each layer in turn: one layer at a time is held, however many there are.

    Args:
        weights: as in ``rollout``, an iterator too.
        residual: as in ``rollout``.

    Yields:
        (batch, len, len), or (len, len), after layer 1, 2, ...

    Raises:
        ValueError: if a map is not square, or ``residual`` is outside [0, 1].
    """
    result: Tensor | None = None
    for layer, given in enumerate(weights):
        if given.dim() < 2 or given.shape[-1] != given.shape[-2]:
            raise ValueError(f"rollout needs square maps (self-attention): got {tuple(given.shape)} at layer {layer}")
        step = mixed_with_residual(given, residual=residual)
        result = step if result is None else step @ result
        yield result


def mixed_with_residual(weights: Tensor, *, residual: float = 0.5) -> Tensor:
    """One layer of a rollout: ``(1 - residual) A + residual I``, each row divided by its sum.

    Args:
        weights: (batch, heads, len, len), whose heads are averaged, or fused: (batch, len, len) or (len, len).
        residual: share of the residual stream, in [0, 1].

    Returns:
        (batch, len, len) or (len, len); a row without any weight and ``residual`` 0 stays 0.

    Raises:
        ValueError: if ``residual`` is outside [0, 1].
    """
    _check_share(residual)
    fused = widened(weights)
    fused = fused.mean(dim=1) if fused.dim() == 4 else fused  # (batch, len, len)
    mixed = (1 - residual) * fused + residual * torch.eye(fused.shape[-1], dtype=fused.dtype, device=fused.device)
    total = mixed.sum(dim=-1, keepdim=True)  # (batch, len, 1): rows are divided, not columns
    return mixed / total.masked_fill(total == 0, 1.0)


def cross_rollout(
    self_weights: Iterable[Tensor], cross_weights: Iterable[Tensor], encoder: Tensor, *, residual: float = 0.5
) -> Iterator[tuple[Tensor, Tensor]]:
    """Rollout of a decoder that reads an encoder: what came from each target position, and from each source position.

    Two sums are followed. Self-attention mixes both as ``rollout`` does. Cross-attention keeps the share ``residual``
    of each and takes the rest from the source, as the encoder's own rollout carries it. A row of both parts together
    sums to 1. It ignores what ``rollout`` ignores.

    Args:
        self_weights: one map per decoder layer, heads fused or not: (heads, q_len, q_len) or (q_len, q_len).
        cross_weights: as many, (heads, q_len, k_len) or (q_len, k_len).
        encoder: (k_len, k_len), rollout of the encoder; the identity to stop at its outputs.
        residual: share of the residual stream, in [0, 1].

    Yields:
        (q_len, q_len) and (q_len, k_len) after decoder layer 1, 2, ...

    Raises:
        ValueError: if there are not as many layers of both, shapes do not fit, or ``residual`` is outside [0, 1].

    Source:
        The composition of Abnar and Zuidema 2020, extended to cross-attention in the manner of Ferrando et al. 2022,
        "Towards Opening the Black Box of Neural Machine Translation", section 4, with weights for contributions.
    """
    _check_share(residual)
    target: Tensor | None = None
    source: Tensor | None = None
    for own, cross in zip(self_weights, cross_weights, strict=True):
        own, cross = (widened(part).mean(dim=0) if part.dim() == 3 else widened(part) for part in (own, cross))
        step = mixed_with_residual(own, residual=residual)
        if cross.shape != (own.shape[-1], encoder.shape[-1]):
            wanted = (own.shape[-1], encoder.shape[-1])
            raise ValueError(f"cross_weights must be {wanted} beside this decoder: got {tuple(cross.shape)}")
        target = step if target is None else step @ target
        source = torch.zeros_like(cross) if source is None else step @ source
        total = residual + (1 - residual) * cross.sum(dim=-1, keepdim=True)  # (q_len, 1)
        total = total.masked_fill(total == 0, 1.0)
        target = residual * target / total
        source = (residual * source + (1 - residual) * (cross @ encoder)) / total
        yield target, source


def _check_share(residual: float) -> None:
    if not 0 <= residual <= 1:
        raise ValueError(f"residual is a share, from 0 to 1: got {residual}")


def merge_words(weights: Tensor, groups: Sequence[int], *, key_groups: Sequence[int] | None = None) -> Tensor:
    """Weights between words from weights between their pieces.

    What goes to a word is the sum over its key pieces; what comes from a word is the mean over its query pieces. Rows
    that sum to 1 keep doing so.

    Args:
        weights: (..., q_len, k_len) float.
        groups: q_len word numbers, 0 up to the number of words - 1, each at least once: ``[0, 0, 1]`` for un|##do|it.
        key_groups: k_len word numbers of the keys; None means the same as ``groups``.

    Returns:
        (..., query words, key words) float.

    Raises:
        ValueError: if a length does not match or a number is left out.
    """
    weights = widened(weights)
    rows = _membership("groups", groups, weights.shape[-2], weights)  # (query words, q_len)
    columns = _membership("key_groups", groups if key_groups is None else key_groups, weights.shape[-1], weights)
    return (rows / rows.sum(dim=-1, keepdim=True)) @ weights @ columns.transpose(0, 1)


def reach(allowed: Tensor, layers: int) -> Tensor:
    """Which positions can have reached which after a stack of layers with the same mask.

    A position keeps what it has (the residual stream), and each layer adds what the positions that it may read have:
    ``(A or I)`` to the power of ``layers``, in booleans.

    >>> from attention_core import masks
    >>> print(masks.draw(reach(masks.sliding_window(5, left=1, right=0), 2)))
    ■⬚⬚⬚⬚
    ■■⬚⬚⬚
    ■■■⬚⬚
    ⬚■■■⬚
    ⬚⬚■■■

    Args:
        allowed: (..., len, len) bool, True = may attend.
        layers: number of layers, >= 0; 0 is every position alone.

    Returns:
        (..., len, len) bool: row = where it arrives, column = where it comes from.

    Raises:
        TypeError: if the mask is not bool.
        ValueError: if it is not square, or ``layers`` is negative.
    """
    if layers < 0:
        raise ValueError(f"layers must be at least 0: got {layers}")
    first = reach_layers(allowed)
    return (first >= 0) & (first <= layers)


def reach_layers(allowed: Tensor) -> Tensor:
    """After how many layers with the same mask each position is reached from each other; see ``reach``.

    >>> from attention_core import masks
    >>> reach_layers(masks.sliding_window(4, left=1, right=0))
    tensor([[ 0, -1, -1, -1],
            [ 1,  0, -1, -1],
            [ 2,  1,  0, -1],
            [ 3,  2,  1,  0]])

    Its largest number is the number of layers after which nothing new is reached.

    Args:
        allowed: (..., len, len) bool, True = may attend.

    Returns:
        (..., len, len) int64: number of layers; 0 on the diagonal, -1 where no number of layers is enough.

    Raises:
        TypeError: if the mask is not bool.
        ValueError: if it is not square.
    """
    require_bool("allowed", allowed)
    if allowed.dim() < 2 or allowed.shape[-1] != allowed.shape[-2]:
        raise ValueError(f"reach needs a square mask (self-attention): got {tuple(allowed.shape)}")
    self_ = torch.eye(allowed.shape[-1], dtype=torch.bool, device=allowed.device).expand(allowed.shape)
    step = (allowed | self_).double()  # exact: the counts stay far below 2**53, and they are cut to 0 and 1 each time
    first = torch.where(self_, 0, -1)
    reached = self_
    for layer in range(1, allowed.shape[-1] + 1):
        further = step @ reached.double() > 0
        new = further & ~reached
        if not new.any():
            break
        first = torch.where(new, layer, first)
        reached = further
    return first


def _membership(name: str, groups: Sequence[int], length: int, like: Tensor) -> Tensor:
    """(words, length), 1 where a piece belongs to a word."""
    if len(groups) != length:
        raise ValueError(f"{name} needs one word number per piece: got {len(groups)} for {length} pieces")
    words = max(groups, default=-1) + 1
    if set(groups) != set(range(words)):
        raise ValueError(f"{name} must number the words 0 to {words - 1} without gaps: got {sorted(set(groups))}")
    index = torch.tensor(list(groups), dtype=torch.int64, device=like.device)
    return (index == torch.arange(words, device=like.device)[:, None]).to(like.dtype)
