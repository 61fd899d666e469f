"""A mask as it was handed to a library, in a convention that nobody stated: what it says, and what is wrong with it."""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from attention_core.doctor.messages import number, spans
from attention_core.doctor.places import cell_list, row_list, rows_of
from attention_core.doctor.report import Finding, finding

Shape = tuple[int, int, int, int]

KEEP = "True = may attend"
BLOCKED = "True = blocked"
ONE_KEEP = "1 = may attend"
ONE_BLOCKED = "1 = blocked"
ADDITIVE = "additive, 0 = may attend"
BIAS = "additive bias, no mask"
HIDDEN_AT_MOST = -1000.0  # what an additive mask must reach to hide a key, as in masks.from_additive


@dataclass(frozen=True, eq=False)
class Reading:
    """What a mask says.

    Attributes:
        meant: (batch, heads, q_len, k_len) bool view, True = may attend: what its author wanted to say.
        convention: the convention that it was read in. why: what spoke for it.
        applied: what it does when it is handed over as it is; differs from ``meant`` where it hides nothing.
        findings: what is wrong with the mask itself.
    """

    meant: Tensor
    convention: str
    why: str
    applied: Tensor
    findings: list[Finding] = field(default_factory=list)


def read_raw_mask(raw: Tensor, shape: Shape, *, intended: Tensor | None, weights: Tensor | None) -> Reading:
    """Guesses the convention of a mask and says what it guessed.

    Args:
        raw: bool, integer or float, one to four axes.
        shape: (batch, heads, q_len, k_len) of the attention.
        intended: (batch, heads, q_len, k_len) bool, where the intent was stated.
        weights: the same shape, where they are known.

    Raises:
        ValueError: if the shape or the numbers can be read two ways or not at all; the message names both readings.
    """
    placed = _place(raw, shape)
    if raw.dtype == torch.bool:
        return _read_flags(placed, placed, shape, intended, weights, (KEEP, BLOCKED), [])
    if not raw.dtype.is_floating_point:
        wrong = (placed != 0) & (placed != 1)
        if wrong.any():
            value = int(placed[wrong][0])
            raise ValueError(
                f"an integer mask must hold 0 and 1: got {value} at {tuple(wrong.nonzero()[0].tolist())}; "
                "build flags with ids != pad_id"
            )
        values = sorted({int(v) for v in placed.unique()})
        note = finding("mask-integer", "info", {"values": "{" + ", ".join(map(str, values)) + "}"})
        return _read_flags(placed.bool(), placed, shape, intended, weights, (ONE_KEEP, ONE_BLOCKED), [note])
    return _read_float(placed, shape, intended, weights)


def _read_flags(
    flags: Tensor,
    placed: Tensor,
    shape: Shape,
    intended: Tensor | None,
    weights: Tensor | None,
    names: tuple[str, str],
    notes: list[Finding],
) -> Reading:
    flags = flags.expand(shape)
    guess = _polarity(flags, placed, intended, weights, integer=names[0] == ONE_KEEP)
    keep, why = guess
    meant = flags if keep else ~flags
    return Reading(meant, names[0] if keep else names[1], why, meant, notes)


def _polarity(
    flags: Tensor, placed: Tensor, intended: Tensor | None, weights: Tensor | None, *, integer: bool
) -> tuple[bool, str]:
    if intended is not None:
        kept, blocked = int((flags != intended).sum()), int((~flags != intended).sum())
        if kept != blocked:
            return kept < blocked, "closer to the stated intent"
    if flags.all():
        return True, "it is True everywhere"
    q_len, k_len = flags.shape[-2:]
    if placed.shape[-2] > 1 and placed.shape[-1] > 1:
        own = flags.diagonal(offset=k_len - q_len, dim1=-2, dim2=-1) if q_len <= k_len else flags[..., :0, 0]
        if own.numel() and own.all():
            return True, "every query may read its own position that way"
        if own.numel() and not own.any():
            return False, "no query could read its own position otherwise"
    if integer:
        return True, "as tokenizers return it"
    if weights is not None:
        seen = torch.nan_to_num(weights) > 0
        on_kept, on_blocked = bool((seen & flags).any()), bool((seen & ~flags).any())
        if on_kept != on_blocked:
            return on_kept, "that is where the weights are"
    raise ValueError(
        f"a boolean mask must be readable in one way: got one of shape {tuple(placed.shape)} that can mean "
        "True = may attend (scaled_dot_product_attention) or True = blocked (nn.MultiheadAttention); convert it with "
        "masks.from_blocked or masks.from_key_padding_mask and pass it as allowed, or state expect"
    )


def _read_float(placed: Tensor, shape: Shape, intended: Tensor | None, weights: Tensor | None) -> Reading:
    findings: list[Finding] = []
    everything = torch.ones((), dtype=torch.bool).expand(shape)
    nan = placed.isnan()
    if nan.any():
        findings.append(
            finding("mask-nan", "error", {"positions": sorted({c[-1] for c in nan.nonzero().tolist()})}, cell_list(nan))
        )
        return Reading((nan | (placed == 0)).expand(shape), ADDITIVE, "it holds NaN and -inf", everything, findings)
    zero, one = placed == 0, placed == 1
    if one.any() and (zero | one).all():
        findings.append(finding("mask-float-zero-one", "error", {}))
        reading = _read_flags(one, placed, shape, intended, weights, (ONE_KEEP, ONE_BLOCKED), findings)
        return Reading(reading.meant, reading.convention, reading.why, everything, findings)
    hidden = placed <= HIDDEN_AT_MOST
    rest = placed[~hidden & ~zero]
    if rest.numel():
        fills = rest.unique()
        if not hidden.any() and len(fills) == 1 and zero.any() and float(fills[0]) < 0:
            evidence = {"count": int((~zero).sum()), "fill": float(fills[0])}
            findings.append(finding("mask-weak-fill", "error", evidence, cell_list(~zero)))
            return Reading(zero.expand(shape), ADDITIVE, "it holds 0 and one negative number", everything, findings)
        allowed = (~hidden).expand(shape)
        return Reading(allowed, BIAS if not hidden.any() else ADDITIVE, "it holds many numbers", allowed, findings)
    allowed = (~hidden).expand(shape)
    findings += _fills(placed, allowed, weights)
    return Reading(allowed, ADDITIVE, "it holds 0 and large negative numbers", allowed, findings)


def _fills(placed: Tensor, allowed: Tensor, weights: Tensor | None) -> list[Finding]:
    """Two kinds of fill in one mask; -inf in a half-precision mask that leaves rows empty."""
    infinite = torch.isneginf(placed)
    finite = (placed <= HIDDEN_AT_MOST) & ~infinite
    empty = ~allowed.any(-1)
    if infinite.any() and finite.any():
        note = ""
        if empty.any():
            note = f"; rows {spans(rows_of(empty))} have no allowed key"
            note += _future_note(finite.expand(allowed.shape) & empty[..., None], weights)
        return [finding("mask-mixed-fill", "error", {"note": note, "rows": rows_of(empty)}, cell_list(infinite))]
    if infinite.any() and empty.any() and placed.dtype in (torch.float16, torch.bfloat16):
        evidence = {"dtype": str(placed.dtype).removeprefix("torch."), "rows": rows_of(empty)}
        return [finding("mask-cast", "warning", evidence, row_list(empty))]
    return []


def _future_note(single: Tensor, weights: Tensor | None) -> str:
    """What a row without keys does where the smaller of two fills leaves it some: it reads the future."""
    _, _, q_len, k_len = single.shape
    position = torch.arange(k_len) > torch.arange(q_len)[:, None] + k_len - q_len
    ahead = single & position
    if not ahead.any():
        return ""
    b, h, q, _ = ahead.nonzero()[0].tolist()
    keys = ahead[b, h, q].nonzero().flatten().tolist()
    share = len(keys) / int(single[b, h, q].sum()) if weights is None else float(weights[b, h, q, keys].sum())
    return f"; row {q} puts {number(share)} on future keys {spans(keys)}"


def against_intent(
    reading: Reading, raw: Tensor, intended: Tensor, words: str, padded_queries: Tensor | None
) -> list[Finding]:
    """The mask as it was read beside the one that was meant."""
    found: list[Finding] = []
    if torch.equal(reading.meant, intended) and reading.convention not in (BLOCKED, ONE_BLOCKED):
        return found
    evidence = {"convention": reading.convention, "intent": words}
    if torch.equal(reading.meant, intended):
        other = KEEP if reading.convention == BLOCKED else ONE_KEEP
        return [finding("mask-complement", "warning", {**evidence, "convention": other})]
    if reading.convention == BIAS:
        return found
    if torch.equal(~reading.meant, intended):
        return [finding("mask-complement", "error", evidence)]
    different = reading.meant != intended
    if padded_queries is not None:
        different = different & ~padded_queries[:, None, :, None]
    if not different.any():
        return found
    along_keys = (reading.meant == reading.meant[..., :1]).all() and not reading.meant.all()
    if bool(along_keys) and reading.meant.shape[-1] > 1 and not (intended == intended[..., :1]).all():
        rows = rows_of(~reading.meant[..., 0])
        found.append(finding("mask-query-axis", "error", {"rows": rows}, row_list(~reading.meant[..., 0])))
    joint = different.flatten(0, 1)
    evidence = {
        "convention": reading.convention,
        "extra": int((joint & reading.meant.flatten(0, 1)).any(0).sum()),
        "missing": int((joint & intended.flatten(0, 1)).any(0).sum()),
        "rows": rows_of(different.any(-1)),
    }
    found.append(finding("mask-differs", "error", evidence, cell_list(different)))
    return found


def against_weights(reading: Reading, raw: Tensor, weights: Tensor) -> list[Finding]:
    """The mask as it was read beside where the weights are."""
    seen = torch.nan_to_num(weights)
    hidden = ~reading.meant
    if not hidden.any():
        return []
    total = seen.sum(-1)
    counted = (total > 0) & hidden.any(-1)
    on_hidden = seen.masked_fill(~hidden, 0.0).sum(-1)
    if counted.any() and bool((on_hidden[counted] >= 0.999 * total[counted]).all()):
        keys = sorted({c[-1] for c in ((seen > 0) & hidden).nonzero().tolist()})
        note = ": those whose additive mask is the most negative" if raw.dtype.is_floating_point else ""
        return [finding("mask-followed-inverted", "error", {"keys": keys, "note": note})]
    everywhere = (seen > 0).all()
    if raw.dtype == torch.bool and bool(everywhere):
        return [finding("mask-bool-added", "error", {"smallest": float(seen[hidden].min())})]
    return []


def _place(raw: Tensor, shape: Shape) -> Tensor:
    """The mask with four axes, broadcastable to ``shape``; refuses what can be read two ways."""
    batch, heads, q_len, k_len = shape
    sizes = tuple(raw.shape)
    if raw.dim() == 0 or raw.dim() > 4:
        raise ValueError(f"raw_mask needs one to four axes: got shape {sizes}")
    readings: dict[str, Tensor] = {}
    if raw.dim() == 1 and sizes == (k_len,):
        readings["(k_len,)"] = raw[None, None, None]
    if raw.dim() == 2:
        if sizes in ((q_len, k_len), (q_len, 1)):
            readings["(q_len, k_len), the same for every sample"] = raw[None, None]
        if sizes == (batch, k_len) and (batch > 1 or q_len > 1):
            readings["(batch, k_len), one row per sample"] = raw[:, None, None]
    if raw.dim() == 3 and sizes[1] in (1, q_len) and sizes[2] in (1, k_len):
        if sizes[0] in (1, batch):
            readings["(batch, q_len, k_len)"] = raw[:, None]
        if sizes[0] == heads and heads > 1:
            readings["(heads, q_len, k_len)"] = raw[None]
        if sizes[0] == batch * heads and batch > 1 and heads > 1:
            readings["(batch x heads, q_len, k_len)"] = raw.unflatten(0, (batch, heads))
    if raw.dim() == 4:
        readings["(batch, heads, q_len, k_len)"] = raw
    fitting = {name: mask for name, mask in readings.items() if _broadcasts(mask, shape)}
    if not fitting:
        raise ValueError(f"raw_mask must fit (batch, heads, q_len, k_len) = {shape}: got {sizes}")
    if len(fitting) > 1:
        first, *others = fitting.values()
        if not all(_same(first, other, shape) for other in others):
            raise ValueError(
                f"raw_mask must be readable in one way: got shape {sizes} for (batch, heads, q_len, k_len) = {shape}, "
                f"which can be {' or '.join(fitting)}; give it four axes"
            )
    return next(iter(fitting.values()))


def _same(a: Tensor, b: Tensor, shape: Shape) -> bool:
    """Whether two readings say the same of every cell; a batch of one sample always does."""
    return torch.equal(torch.nan_to_num(a.float()).expand(shape), torch.nan_to_num(b.float()).expand(shape))


def _broadcasts(mask: Tensor, shape: Shape) -> bool:
    try:
        return torch.broadcast_shapes(mask.shape, shape) == shape
    except RuntimeError:
        return False
