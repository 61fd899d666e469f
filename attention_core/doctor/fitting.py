"""Arrays that must fit the shape of the attention call that they belong to."""

import torch
from torch import Tensor

Shape = tuple[int, int, int, int]


def fit_mask(allowed: Tensor, shape: Shape) -> Tensor:
    """The intended mask with four axes; it must be bool and broadcast to the shape."""
    if allowed.dtype != torch.bool:
        raise TypeError(
            f"allowed must be bool with True = may attend: got {allowed.dtype}; convert it, see masks.from_..., or "
            "pass it as raw_mask"
        )
    try:
        fits = allowed.dim() >= 2 and torch.broadcast_shapes(allowed.shape, shape) == shape
    except RuntimeError:
        fits = False
    if not fits:
        raise ValueError(
            f"allowed must broadcast to (batch, heads, q_len, k_len) = {shape}: got {tuple(allowed.shape)}"
        )
    return allowed.reshape((1,) * (4 - allowed.dim()) + tuple(allowed.shape))


def id_rows(name: str, ids: Tensor | None) -> Tensor | None:
    """Whole numbers per token as (batch, len), from one row or several."""
    if ids is None:
        return None
    if ids.dtype.is_floating_point or ids.dtype == torch.bool:
        raise TypeError(f"{name} must be integers: got {ids.dtype}")
    if ids.dim() not in (1, 2) or not ids.numel():
        raise ValueError(f"{name} must be (batch, len) or (len,), not empty: got shape {tuple(ids.shape)}")
    return ids.long().reshape(-1, ids.shape[-1])


def check_fit(
    shape: Shape,
    *,
    value: Tensor | None,
    output: Tensor | None,
    document_ids: Tensor | None,
    position_ids: Tensor | None,
) -> None:
    """Refuses ids that are not one per token, and an output that is not the size of weights x V."""
    for name, row in (("document_ids", document_ids), ("position_ids", position_ids)):
        if row is not None and row.shape[1] not in shape[2:]:
            raise ValueError(f"{name} needs one number per token, {shape[3]} in a row: got {row.shape[1]}")
    if output is not None and value is not None:
        wanted = (*shape[:3], value.shape[-1])
        if output.dim() < 2 or output.numel() != shape[0] * shape[1] * shape[2] * value.shape[-1]:
            raise ValueError(
                f"output must hold (batch, heads, q_len, d_v) = {wanted}, or be merged from it: "
                f"got {tuple(output.shape)}"
            )
