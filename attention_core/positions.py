"""Where a token stands, told to attention: in the embedding, in the rotation of q and k, or in a bias on the scores.

Every function takes integer position ids, ``(len,)`` or ``(batch, len)``, so that left padding, packed documents and a
KV cache need nothing special: give the positions that tokens really have. ``masks.position_ids`` counts real tokens,
``from_documents`` restarts per document.

    added to the embedding   none, sinusoidal, LearnedPositions          (..., len) -> (..., len, d_model)
    rotates q and k          rotary_angles, apply_rotary, rotation       (batch, heads, len, d_k) -> the same shape
    added to the scores      alibi_slopes, alibi_bias, T5RelativeBias    -> (..., heads, q_len, k_len)

Without any of them attention sees a bag of tokens: permuting the keys permutes the weights and leaves the output alone.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

Rotation = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


# Position ids


def from_documents(document_ids: Tensor) -> Tensor:
    """Positions that restart at 0 wherever the document changes.

    This isolates nothing by itself: a token reads the other documents too unless the mask forbids it: ``masks.packed``.
    ``masks.document_ids_from_positions`` goes the other way.

    >>> from_documents(torch.tensor([[0, 0, 0, 1, 1]]))
    tensor([[0, 1, 2, 0, 1]])

    Args:
        document_ids: (len,) or (batch, len) integer, equal for neighbours of one document.

    Returns:
        int64 of the same shape.

    Raises:
        TypeError: if the ids are not integers.
    """
    _check_positions("document_ids", document_ids)
    steps = torch.arange(document_ids.shape[-1], device=document_ids.device).expand(document_ids.shape)  # (..., len)
    starts_here = torch.ones_like(document_ids, dtype=torch.bool)
    starts_here[..., 1:] = document_ids[..., 1:] != document_ids[..., :-1]
    return steps - torch.where(starts_here, steps, 0).cummax(dim=-1).values


# Added to the embedding


def none(position_ids: Tensor, d_model: int, *, dtype: torch.dtype = torch.float32) -> Tensor:
    """No position at all: zeros of the shape that the other encodings have, (..., len, d_model)."""
    _check_positions("position_ids", position_ids)
    return torch.zeros(*position_ids.shape, d_model, dtype=dtype, device=position_ids.device)


def sinusoidal(
    position_ids: Tensor, d_model: int, *, base: float = 10000.0, dtype: torch.dtype = torch.float32
) -> Tensor:
    """Fixed sines and cosines of falling frequency, to be added to the embedding.

    Column 2i holds sin(p / base^(2i / d_model)), column 2i + 1 the cosine of the same angle; an odd ``d_model`` ends on
    a sine. Computed in float64.

    Args:
        position_ids: (..., len) integer.
        d_model: width of the embedding, at least 1.
        base: the longest wavelength is 2 pi times this, in tokens.
        dtype: of the result.

    Returns:
        (..., len, d_model) in [-1, 1].

    Raises:
        TypeError: if the positions are not integers.

    Source:
        Vaswani et al. 2017, section 3.5.
    """
    _check_positions("position_ids", position_ids)
    even = torch.arange(0, d_model, 2, dtype=torch.float64, device=position_ids.device)  # (ceil(d_model / 2),)
    angles = position_ids.double().unsqueeze(-1) * base ** (-even / d_model)  # (..., len, ceil(d_model / 2))
    table = torch.empty(*position_ids.shape, d_model, dtype=torch.float64, device=position_ids.device)
    table[..., 0::2] = angles.sin()
    table[..., 1::2] = angles[..., : d_model // 2].cos()
    return table.to(dtype)  # (..., len, d_model)


class LearnedPositions(nn.Module):
    """One trainable vector per position, to be added to the embedding.

    Args:
        max_len: how many positions there are.
        d_model: width of the embedding.
        generator: source of the initial values; None draws from torch's global one.
        dtype: of the table.

    Source:
        Gehring et al. 2017; BERT and GPT-2 use it.
    """

    def __init__(
        self,
        max_len: int,
        d_model: int,
        *,
        generator: torch.Generator | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(max_len, d_model, dtype=dtype))
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draws the table anew, normal with standard deviation 0.02 as BERT and GPT-2 do."""
        draw_normal(self.table, 0.02, generator)

    def forward(self, position_ids: Tensor) -> Tensor:
        """(..., len) integer -> (..., len, d_model); IndexError names a position that the table does not have."""
        _check_positions("position_ids", position_ids)
        max_len = self.table.shape[0]
        if position_ids.numel():
            lowest, highest = int(position_ids.min()), int(position_ids.max())
            if lowest < 0 or highest >= max_len:
                raise IndexError(
                    f"learned positions go from 0 to {max_len - 1}: got {lowest} to {highest}; "
                    "shorten the text or make a longer table"
                )
        return self.table[position_ids]  # (..., len, d_model)


# Rotates q and k


def rotary_angles(position_ids: Tensor, d_k: int, *, base: float = 10000.0) -> Tensor:
    """Angle of each pair of features at each position: p / base^(2i / d_k).

    Args:
        position_ids: (len,) or (batch, len) integer.
        d_k: how many features are rotated; even. Less than the head width rotates only the first ones.
        base: Llama 2 and RoFormer 10000, Llama 3 500000.

    Returns:
        (..., len, d_k / 2) float64, radians.

    Raises:
        TypeError: if the positions are not integers.
        ValueError: if ``d_k`` is odd or not positive.

    Source:
        Su et al. 2021, "RoFormer", eq. 15.
    """
    _check_positions("position_ids", position_ids)
    if d_k <= 0 or d_k % 2:
        raise ValueError(f"rotary positions turn pairs of features, d_k must be even and positive: got {d_k}")
    even = torch.arange(0, d_k, 2, dtype=torch.float64, device=position_ids.device)  # (d_k / 2,)
    return position_ids.double().unsqueeze(-1) * base ** (-even / d_k)  # (..., len, d_k / 2)


def apply_rotary(x: Tensor, angles: Tensor) -> Tensor:
    """Turns feature i together with feature i + r/2, r the number of rotated features: the half-split form.

    Llama, Mistral, Qwen, GPT-NeoX and nearly every checkpoint in transformers use it. It equals
    ``apply_rotary_interleaved`` up to a fixed order of the features, so weights for one form are wrong in the other.

    Args:
        x: (batch, heads, len, d) float.
        angles: (len, r / 2) or (batch, len, r / 2), from ``rotary_angles``; features from r on are left alone.

    Returns:
        The shape and dtype of ``x``; half precision is computed in float32.

    Raises:
        ValueError: if the shapes do not fit.

    Source:
        Su et al. 2021; the half-split order as in GPT-NeoX 20B (Black et al. 2022) and Llama (Touvron et al. 2023).
    """
    cos, sin = _cos_sin(x, angles)
    half = angles.shape[-1]
    first, second, rest = x[..., :half], x[..., half : 2 * half], x[..., 2 * half :]
    turned = torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)  # (batch, heads, len, r)
    return torch.cat([turned.to(x.dtype), rest], dim=-1)  # (batch, heads, len, d)


def apply_rotary_interleaved(x: Tensor, angles: Tensor) -> Tensor:
    """Turns feature 2i together with feature 2i + 1: the form of the paper, used by RoFormer, GPT-J and T5 variants.

    Args, Returns and Raises are those of ``apply_rotary``.

    Source:
        Su et al. 2021, eq. 34.
    """
    cos, sin = _cos_sin(x, angles)
    rotated = 2 * angles.shape[-1]
    even, odd, rest = x[..., 0:rotated:2], x[..., 1:rotated:2], x[..., rotated:]
    turned = torch.stack([even * cos - odd * sin, odd * cos + even * sin], dim=-1)  # (batch, heads, len, r / 2, 2)
    return torch.cat([turned.flatten(-2).to(x.dtype), rest], dim=-1)  # (batch, heads, len, d)


def rotation(
    query_angles: Tensor,
    key_angles: Tensor | None = None,
    *,
    apply: Callable[[Tensor, Tensor], Tensor] = apply_rotary,
) -> Rotation:
    """What ``MultiHeadAttention`` takes as ``rotary``: turns queries and keys by their own angles.

    Args:
        query_angles: (q_len, r / 2) or (batch, q_len, r / 2).
        key_angles: likewise with k_len; None means the same as the queries.
        apply: ``apply_rotary`` or ``apply_rotary_interleaved``.

    Returns:
        A function (query, key) -> (query, key), shapes kept.
    """
    at_keys = query_angles if key_angles is None else key_angles
    return lambda query, key: (apply(query, query_angles), apply(key, at_keys))


# Added to the scores


def alibi_slopes(heads: int, *, dtype: torch.dtype = torch.float32) -> Tensor:
    """How steeply each head discounts distance.

    A power of two n gives the series 2^(-8/n), 2^(-16/n), ..., 2^-8. Any other count takes the series of the power of
    two below it and then every other slope of the series of the next power of two: the jump back up is meant.

    >>> alibi_slopes(6)
    tensor([0.2500, 0.0625, 0.0156, 0.0039, 0.5000, 0.1250])

    Args:
        heads: at least 1.
        dtype: of the result.

    Returns:
        (heads,) positive.

    Raises:
        ValueError: if ``heads`` is not positive.

    Source:
        Press et al. 2022, "Train Short, Test Long", section 3; other head counts as in its reference code.
    """
    if heads < 1:
        raise ValueError(f"heads must be at least 1: got {heads}")
    below = 1 << (heads.bit_length() - 1)  # largest power of two <= heads
    slopes = [2.0 ** (-8.0 * i / below) for i in range(1, below + 1)]
    slopes += [2.0 ** (-4.0 * i / below) for i in range(1, 2 * (heads - below), 2)]
    return torch.tensor(slopes, dtype=dtype)


def alibi_bias(slopes: Tensor, query_positions: Tensor, key_positions: Tensor | None = None) -> Tensor:
    """Bias -slope * |key position - query position|, to be given as ``bias``.

    Under a causal mask this is the paper's bias. Implementations that write slope * key position differ by one constant
    per row, which softmax does not see.

    Args:
        slopes: (heads,) float, from ``alibi_slopes``.
        query_positions: (q_len,) or (batch, q_len) integer.
        key_positions: likewise with k_len; None means the same as the queries.

    Returns:
        (heads, q_len, k_len), or (batch, heads, q_len, k_len) where positions have a batch axis; dtype of ``slopes``.

    Raises:
        TypeError: if positions are not integers.
        ValueError: if ``slopes`` has not exactly one axis.

    Source:
        Press et al. 2022, section 3.
    """
    if slopes.dim() != 1:
        raise ValueError(f"slopes must be (heads,): got shape {tuple(slopes.shape)}")
    distance = relative_positions(query_positions, key_positions).abs()  # (..., q_len, k_len)
    return -slopes[:, None, None] * distance.unsqueeze(-3)  # (..., heads, q_len, k_len)


def relative_positions(query_positions: Tensor, key_positions: Tensor | None = None) -> Tensor:
    """Key position minus query position: (..., q_len), (..., k_len) integer -> (..., q_len, k_len) int64."""
    key_positions = query_positions if key_positions is None else key_positions
    _check_positions("query_positions", query_positions)
    _check_positions("key_positions", key_positions)
    return key_positions.long().unsqueeze(-2) - query_positions.long().unsqueeze(-1)


def t5_buckets(relative: Tensor, *, bidirectional: bool, num_buckets: int = 32, max_distance: int = 128) -> Tensor:
    """Bucket of each relative position: one per distance when near, logarithmic when far, one for all beyond.

    Args:
        relative: integer, key position minus query position, any shape; see ``relative_positions``.
        bidirectional: True (encoders) spends half the buckets on keys after the query; False (decoders) puts all of
            those into bucket 0.
        num_buckets: at least 4 when bidirectional, else at least 2.
        max_distance: distances from here on share the last bucket; more than a quarter (bidirectional) or half
            (otherwise) of ``num_buckets``.

    Returns:
        int64 in [0, num_buckets), shape of ``relative``.

    Raises:
        TypeError: if ``relative`` is not integer.
        ValueError: if the numbers leave no bucket for near or far.

    Source:
        Raffel et al. 2020, section 2.1. The logarithm is taken in float32 as T5's own code does: checkpoints were
        trained with its rounding at the borders.
    """
    _check_positions("relative", relative)
    side = num_buckets // 2 if bidirectional else num_buckets
    near = side // 2
    if near < 1 or max_distance <= near:
        raise ValueError(
            "T5 buckets need room for near and far distances: "
            f"got num_buckets {num_buckets} and max_distance {max_distance}; "
            f"take at least {4 if bidirectional else 2} buckets and max_distance above {max(near, 1)}"
        )
    distance = relative.long().abs() if bidirectional else (-relative.long()).clamp(min=0)
    ratio = torch.log(distance.clamp(min=1).float() / near) / math.log(max_distance / near)
    far = (near + (ratio * (side - near)).long()).clamp(max=side - 1)
    bucket = torch.where(distance < near, distance, far)
    return bucket + side * (relative > 0).long() if bidirectional else bucket


class T5RelativeBias(nn.Module):
    """A trainable number per head and bucket of distance, to be given as ``bias``. T5 adds it with scale 1.

    Args:
        num_heads: how many heads.
        bidirectional, num_buckets, max_distance: see ``t5_buckets``.
        generator: source of the initial values; None draws from torch's global one.
        dtype: of the table.

    Source:
        Raffel et al. 2020, section 2.1.
    """

    def __init__(
        self,
        num_heads: int,
        *,
        bidirectional: bool,
        num_buckets: int = 32,
        max_distance: int = 128,
        generator: torch.Generator | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.bidirectional, self.num_buckets, self.max_distance = bidirectional, num_buckets, max_distance
        self.table = nn.Parameter(torch.empty(num_buckets, num_heads, dtype=dtype))
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draws the table anew, standard normal."""
        draw_normal(self.table, 1.0, generator)

    def forward(self, query_positions: Tensor, key_positions: Tensor | None = None) -> Tensor:
        """(..., q_len), (..., k_len) integer positions -> (..., heads, q_len, k_len)."""
        buckets = t5_buckets(
            relative_positions(query_positions, key_positions),
            bidirectional=self.bidirectional,
            num_buckets=self.num_buckets,
            max_distance=self.max_distance,
        )  # (..., q_len, k_len)
        return self.table[buckets].movedim(-1, -3)  # (..., heads, q_len, k_len)


def draw_normal(tensor: Tensor, std: float, generator: torch.Generator | None) -> None:
    """Fills with normal numbers drawn in float64, so that one seed gives the same values in every dtype, rounded."""
    device = generator.device if generator is not None else tensor.device
    values = torch.randn(tensor.shape, generator=generator, dtype=torch.float64, device=device)
    with torch.no_grad():
        tensor.copy_(values * std)


def _cos_sin(x: Tensor, angles: Tensor) -> tuple[Tensor, Tensor]:
    """cos and sin, (len, r / 2) or (batch, 1, len, r / 2), in the dtype to compute in; checks the shapes."""
    rotated = 2 * angles.shape[-1]
    if rotated > x.shape[-1]:
        raise ValueError(f"angles turn {rotated} features: got x with {x.shape[-1]}; give rotary_angles the head width")
    if angles.dim() > 2 and x.dim() != angles.dim() + 1:
        raise ValueError(
            f"angles with a batch axis need x of (batch, heads, len, d): got {tuple(angles.shape)} and {tuple(x.shape)}"
        )
    if angles.dim() > 2 and angles.shape[0] not in (1, x.shape[0]):
        raise ValueError(f"need positions for each sample: got {angles.shape[0]} rows for batch {x.shape[0]}")
    if angles.shape[-2] != x.shape[-2]:
        raise ValueError(f"need one position per token: got {angles.shape[-2]} positions for len {x.shape[-2]}")
    per_head = angles.unsqueeze(-3) if angles.dim() > 2 else angles  # (batch, 1, len, r / 2)
    dtype = torch.float32 if x.dtype in (torch.float16, torch.bfloat16) else x.dtype
    return per_head.cos().to(dtype), per_head.sin().to(dtype)


def _check_positions(name: str, ids: Tensor) -> None:
    if ids.dtype.is_floating_point or ids.dtype.is_complex or ids.dtype == torch.bool:
        raise TypeError(f"{name} must be integers: got {ids.dtype}")
    if ids.dim() < 1:
        raise ValueError(f"{name} needs at least a len axis: got a single number")
