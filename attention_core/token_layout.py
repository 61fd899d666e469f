"""Where tokens stand in a batch: lengths, positions, documents, padding by id. Reached as ``attention_core.masks``."""

from collections.abc import Sequence

import torch
from torch import Tensor

from attention_core.mask_conventions import from_attention_mask


def real_lengths(attention_mask: Tensor) -> Tensor:
    """Real tokens per sample, also the position of the next token: (batch, k_len), 1 = real token -> (batch,) int64.

    >>> real_lengths(torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]]))
    tensor([3, 5])

    Raises:
        TypeError, ValueError: as ``from_attention_mask``.
    """
    return _real(attention_mask).sum(dim=-1)


def position_ids(attention_mask: Tensor) -> Tensor:
    """Positions that count real tokens only, whichever side the padding is on.

    >>> position_ids(torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]]))
    tensor([[0, 0, 0, 1, 2],
            [0, 1, 2, 3, 4]])

    Args:
        attention_mask: (batch, len), 1 = real token.

    Returns:
        (batch, len) int64; filler has a position in range, never a negative one.

    Raises:
        TypeError, ValueError: as ``from_attention_mask``.
    """
    return (_real(attention_mask).cumsum(dim=-1) - 1).clamp_min(0)


def attention_mask_from_ids(ids: Tensor, *, pad_id: int, eos_id: int | None = None) -> Tensor:
    """The padding of a batch of token ids where no tokenizer has told it: runs of ``pad_id`` at either end of a row.

    A padding id inside the text is a token that somebody typed and stays. Prefer the tokenizer's own mask.

    >>> attention_mask_from_ids(torch.tensor([[5, 6, 2, 0, 0], [0, 0, 5, 6, 2]]), pad_id=0, eos_id=2)
    tensor([[1, 1, 1, 0, 0],
            [0, 0, 1, 1, 1]])

    Args:
        ids: (batch, len) integers.
        pad_id: the tokenizer's padding id; 0 is an id like any other.
        eos_id: the tokenizer's end id, if it has one.

    Returns:
        (batch, len) int64, 1 = real token.

    Raises:
        TypeError: if the ids are not integers.
        ValueError: if ``ids`` has not two axes, or if the end id is also the padding id and stands at an end of a row:
            then nothing tells an end token from padding.
    """
    if ids.dtype.is_floating_point or ids.dtype.is_complex or ids.dtype == torch.bool:
        raise TypeError(f"ids must be integers: got {ids.dtype}")
    if ids.dim() != 2:
        raise ValueError(f"ids must be (batch, len): got shape {tuple(ids.shape)}")
    real = (ids != pad_id).long()
    inside = (real.cumsum(-1) > 0) & (real.flip(-1).cumsum(-1).flip(-1) > 0)  # from the first to the last other id
    if eos_id == pad_id and not inside.all():
        sample = int((~inside).any(dim=-1).nonzero()[0])
        raise ValueError(
            f"pad id = eos id = {pad_id}: padding is ambiguous, sample {sample} begins or ends with it; "
            "pass the attention_mask of the tokenizer"
        )
    return inside.long()


def document_ids_from_positions(position_ids: Tensor) -> Tensor:
    """The document of each token of a packed row: one starts wherever a position is 0 or not the previous one + 1.

    >>> document_ids_from_positions(torch.tensor([[0, 1, 2, 0, 1, 0]]))
    tensor([[0, 0, 0, 1, 1, 2]])

    Args:
        position_ids: (batch, len) or (len,) integers.

    Returns:
        int64 of the same shape, counting from 0 in each row; what ``packed`` takes.

    Raises:
        TypeError: if the positions are not integers.
        ValueError: if there are neither one nor two axes.
    """
    positions = integer_rows("position_ids", position_ids)
    starts = torch.ones_like(positions)
    starts[..., 1:] = ((positions[..., 1:] != positions[..., :-1] + 1) | (positions[..., 1:] == 0)).long()
    return starts.cumsum(dim=-1) - 1


def square_from_banded(weights: Tensor, *, left: int, global_keys: Sequence[int] = ()) -> Tensor:
    """Unrolls weights that are stored as a band around each query into one column per key.

    Column c of row i is key ``global_keys[c]`` for the first ``len(global_keys)`` columns and key ``i - left + c``
    (c counted from there) for the rest, as Longformer returns them.

    >>> square_from_banded(torch.tensor([[0.0, 0.6, 0.4], [0.2, 0.5, 0.3], [0.3, 0.7, 0.0]]), left=1)
    tensor([[0.6000, 0.4000, 0.0000],
            [0.2000, 0.5000, 0.3000],
            [0.0000, 0.3000, 0.7000]])

    Args:
        weights: (..., len, global + band) float; the band of query i begins at key ``i - left``.
        left: keys before the query in the band, >= 0.
        global_keys: positions of the keys in the leading columns.

    Returns:
        (..., len, len) float. A global key that also lies in the band gets the sum of both.

    Raises:
        ValueError: if there are too few columns, a global key does not exist, or weight stands where there is no key.
    """
    length, columns = weights.shape[-2:]
    band = columns - len(global_keys)
    if left < 0 or band < left + 1:
        raise ValueError(
            f"a band needs {left} left columns, the query's own and {len(global_keys)} global ones: got {columns}"
        )
    if any(not 0 <= key < length for key in global_keys):
        raise ValueError(f"global_keys must be positions below len {length}: got {list(global_keys)}")
    key = torch.arange(length)[:, None] - left + torch.arange(band)[None, :]  # (len, band)
    outside = ((key < 0) | (key >= length)).to(weights.device)
    in_band = weights[..., len(global_keys) :]
    lost = outside & (in_band != 0)
    if lost.any():
        *_, row, column = lost.nonzero()[0].tolist()
        raise ValueError(
            f"a band must hold 0 beyond the sequence: got {float(in_band[lost][0]):g} in row {row}, column "
            f"{column + len(global_keys)}, which is key {row - left + column} of {length}; is left={left} right?"
        )
    square = weights.new_zeros(*weights.shape[:-1], length)
    key = key.clamp(0, max(length - 1, 0)).to(weights.device).expand(in_band.shape)
    square.scatter_add_(-1, key, in_band.masked_fill(outside, 0))
    for column, index in enumerate(global_keys):
        square[..., index] += weights[..., column]
    return square


def integer_rows(name: str, tensor: Tensor) -> Tensor:
    """(batch, len) or (len,) as int64; TypeError and ValueError as their names say."""
    if tensor.dtype.is_floating_point or tensor.dtype.is_complex or tensor.dtype == torch.bool:
        raise TypeError(f"{name} must be integers: got {tensor.dtype}")
    if tensor.dim() not in (1, 2):
        raise ValueError(f"{name} must be (batch, len) or (len,): got shape {tuple(tensor.shape)}")
    return tensor.long()


def _real(attention_mask: Tensor) -> Tensor:
    if isinstance(attention_mask, Tensor) and attention_mask.dim() != 2:
        raise ValueError(f"attention_mask must be (batch, len): got shape {tuple(attention_mask.shape)}")
    return from_attention_mask(attention_mask)[:, 0, 0, :].long()
