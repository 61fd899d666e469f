"""What a leak test was asked: its arguments checked, its padding, and what may depend on what."""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from attention_core import masks
from attention_core.mask_conventions import require_bool


def check_arguments(inputs: Tensor, expect: str | None, allowed: Tensor | None, method: str) -> None:
    """Raises where the inputs or the words of the intent are not what a leak test takes."""
    if not isinstance(inputs, Tensor):
        raise TypeError(f"inputs must be a tensor: got {type(inputs).__name__}; convert with torch.as_tensor")
    if inputs.dtype == torch.bool or inputs.dtype.is_complex:
        raise TypeError(f"inputs must be token ids or floats: got {inputs.dtype}")
    if inputs.dim() < 2 or 0 in inputs.shape:
        raise ValueError(
            f"inputs must be (batch, len) ids or (batch, len, d) floats, not empty: got shape {tuple(inputs.shape)}; "
            f"for one sample use inputs[None]"
        )
    if not inputs.dtype.is_floating_point and inputs.dim() != 2:
        raise ValueError(f"token ids must be (batch, len): got shape {tuple(inputs.shape)}")
    if expect not in (None, "causal", "full"):
        raise ValueError(f'expect must be "causal" or "full": got {expect!r}; anything else goes to allowed')
    if expect is not None and allowed is not None:
        raise ValueError(f"the intent must be stated once: got expect={expect!r} and allowed; leave one of them out")
    if method not in ("change", "gradient"):
        raise ValueError(f'method must be "change" or "gradient": got {method!r}')


def real_tokens(batch: int, k_len: int, lengths: Any, side: masks.Side, attention_mask: Tensor | None) -> Tensor | None:
    """(batch, k_len) bool, True = real token; None where nothing was said about padding."""
    real = None if lengths is None else masks.padding(lengths, k_len, side=side)[:, 0, 0].cpu()
    if attention_mask is not None:
        if tuple(attention_mask.shape) != (batch, k_len):
            raise ValueError(
                f"attention_mask must be (batch, len) = {(batch, k_len)}: got {tuple(attention_mask.shape)}; other "
                f"masks of the model go to keywords"
            )
        stated = masks.from_attention_mask(attention_mask)[:, 0, 0].cpu()
        if real is not None and not torch.equal(real, stated):
            raise ValueError("padding must be stated once: got lengths and an attention_mask that differ")
        real = stated
    if real is not None and real.shape[0] != batch:
        raise ValueError(f"need one length per sample: got {real.shape[0]} lengths for a batch of {batch}")
    return real


def handed_keywords(
    model: object,
    keywords: Mapping[str, Any] | None,
    attention_mask: Tensor | None,
    real: Tensor | None,
    inputs: Tensor,
) -> dict[str, Any]:
    """The keywords of the model with the attention mask among them, where it is given or where the model names one."""
    handed = dict(keywords or {})
    if attention_mask is None and real is not None and "attention_mask" not in handed and _names_mask(model):
        attention_mask = real.long().to(inputs.device)
    if attention_mask is not None:
        if "attention_mask" in handed:
            raise ValueError("attention_mask must be given once: got it as an argument and in keywords")
        handed["attention_mask"] = attention_mask
    return handed


def _names_mask(model: object) -> bool:
    target = model.forward if isinstance(model, nn.Module) else model
    try:
        return "attention_mask" in inspect.signature(target).parameters  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False


def chosen_positions(positions: Sequence[int], k_len: int) -> list[int]:
    """The inputs to change, sorted, each once."""
    chosen = sorted({int(position) for position in positions})
    if not chosen or not 0 <= chosen[0] <= chosen[-1] < k_len:
        raise ValueError(f"positions must be inputs from 0 to {k_len - 1}, at least one: got {list(positions)}")
    return chosen


def special_ids(model: object) -> list[int]:
    """Ids that make a model do something else than read them."""
    config = getattr(getattr(model, "__self__", model), "config", None)
    named = [getattr(config, name, None) for name in ("pad_token_id", "bos_token_id", "eos_token_id")]
    lists = [value if isinstance(value, list | tuple) else [value] for value in named]
    return [value for values in lists for value in values if isinstance(value, int)]


def may_depend(
    shape: tuple[int, int, int],
    expect: str | None,
    allowed: Tensor | None,
    document_ids: Tensor | None,
    real: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """(batch, q_len, k_len) bool, the rows of padding all True; and (batch, q_len) bool, the outputs that count."""
    batch, q_len, k_len = shape
    if q_len > k_len and allowed is None:
        raise ValueError(f"outputs must stand at inputs: got {q_len} outputs for {k_len} inputs; state allowed=")
    if q_len > k_len and (document_ids is not None or real is not None):
        raise ValueError(f"padding and documents need outputs that stand at inputs: got {q_len} for {k_len} inputs")
    if allowed is not None:
        require_bool("allowed", allowed)
        may = allowed.cpu().any(dim=1) if allowed.dim() == 4 else allowed.cpu()
        try:
            may = may.expand(batch, q_len, k_len)
        except RuntimeError:
            raise ValueError(
                f"allowed must broadcast to (batch, q_len, k_len) = {(batch, q_len, k_len)}, a fourth axis "
                f"being heads: got {tuple(allowed.shape)}"
            ) from None
    elif expect == "full":
        may = torch.ones(batch, q_len, k_len, dtype=torch.bool)
    else:
        may = masks.causal(q_len, k_len).expand(batch, q_len, k_len)
    if document_ids is not None:
        same = masks.packed(document_ids)[:, 0].cpu()
        if same.shape[-1] != k_len or same.shape[0] not in (1, batch):
            raise ValueError(f"document_ids must be (batch, len) = {(batch, k_len)}: got {tuple(document_ids.shape)}")
        may = may & same[:, k_len - q_len :]
    if real is None:
        return may, torch.ones(batch, q_len, dtype=torch.bool)
    judged = real[:, k_len - q_len :]
    return (may & real[:, None, :]) | ~judged[..., None], judged
