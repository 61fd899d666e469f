"""A mask as lines of code, in the convention of each library that takes masks; the code needs torch and nothing else.

>>> from attention_core.mask_parts import Causal, MaskRecipe
>>> print(mask_code(MaskRecipe(4, 4, (Causal(),)), "sdpa").code)
import torch
<BLANKLINE>
q_len, k_len = 4, 4
query = torch.arange(q_len)[:, None]
key = torch.arange(k_len)[None, :]
<BLANKLINE>
causal = key <= query
allowed = causal  # True = may attend
<BLANKLINE>
attn_mask = allowed
# output = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=attn_mask)
"""

from dataclasses import dataclass, replace

from attention_core.mask_parts import (
    BlockSparse,
    Causal,
    Chunked,
    Dilated,
    GlobalLocal,
    MaskRecipe,
    Packed,
    Padding,
    Part,
    Prefix,
    Strided,
    Window,
)

CONVENTIONS = ("sdpa", "multihead", "attention_mask", "additive", "mask_mod")
"""``scaled_dot_product_attention``, ``nn.MultiheadAttention``, transformers' 2-D and 4-D masks, flex_attention."""

_PAINTED_PER_LINE = 6
_VARIABLES = {"block_sparse": "blocks", "packed": "same_document"}  # the others are called like their part


@dataclass(frozen=True)
class Snippet:
    """Code of a mask in one convention.

    Attributes:
        code: complete, with imports; None where the convention cannot say this mask.
        reason: why it cannot: "differs" (the queries of a sample do not all read the same keys) or "causal" (the same,
            but only because of the causal part, which decoder models add by themselves); "" where it can.
    """

    code: str | None
    reason: str = ""


def mask_code(recipe: MaskRecipe, convention: str) -> Snippet:
    """The code that builds a mask.

    The code leaves the mask in a variable: ``attn_mask`` (True = may attend) for "sdpa"; ``attn_mask`` and
    ``key_padding_mask`` (both True = blocked, or None) for "multihead"; ``attention_mask`` for the two of transformers;
    the function ``mask_mod`` for flex_attention.

    Args:
        recipe: the mask.
        convention: one of ``CONVENTIONS``.

    Raises:
        ValueError: if there is no such convention.
    """
    if convention not in _WRITERS:
        raise ValueError(f"convention must be one of {', '.join(CONVENTIONS)}: got {convention!r}")
    return _WRITERS[convention](recipe)


def _sdpa(recipe: MaskRecipe) -> Snippet:
    usage = "# output = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=attn_mask)"
    return _snippet(_dense(recipe), "attn_mask = allowed", usage)


def _multihead(recipe: MaskRecipe) -> Snippet:
    padding = next((part for part in recipe.parts if isinstance(part, Padding)), None)
    apart = padding is not None and not recipe.painted  # a painted cell may undo the padding
    pairs = replace(recipe, parts=tuple(p for p in recipe.parts if p is not padding)) if apart else recipe
    lines = _dense(recipe, together=_together(pairs))
    if apart and not pairs.parts:
        lines = _dense(recipe, together="")
        lines.append("attn_mask = None")
    elif not _has_batch(pairs):
        lines.append("attn_mask = ~allowed  # True = blocked")
    elif pairs.batch == 1:
        lines.append("attn_mask = ~allowed.expand(1, 1, q_len, k_len)[0, 0]  # True = blocked")
    else:
        lines.insert(-1, f"batch, num_heads = {pairs.batch}, 8  # num_heads as in the module")
        lines.append("attn_mask = ~allowed.expand(batch, num_heads, q_len, k_len)  # True = blocked")
        lines.append("attn_mask = attn_mask.reshape(batch * num_heads, q_len, k_len)")
    if apart:
        lines.append("key_padding_mask = ~padding[:, 0, 0, :]  # (batch, k_len), True = padding")
    else:
        lines.append("key_padding_mask = None")
    return _snippet(
        lines, "# output, weights = module(q, k, v, attn_mask=attn_mask, key_padding_mask=key_padding_mask)"
    )


def _attention_mask(recipe: MaskRecipe) -> Snippet:
    if not _same_for_all_queries(recipe):
        rest = replace(recipe, parts=tuple(part for part in recipe.parts if not isinstance(part, Causal)))
        usual = recipe.start == recipe.k_len - recipe.q_len and not recipe.painted
        return Snippet(None, "causal" if usual and _same_for_all_queries(rest) else "differs")
    row = "allowed[:, 0, 0, :]" if _has_batch(recipe) else "allowed[:1]"
    usage = "# output = model(input_ids, attention_mask=attention_mask)"
    return _snippet(_dense(recipe), f"attention_mask = {row}.long()  # (batch, k_len), 1 = real token", usage)


def _additive(recipe: MaskRecipe) -> Snippet:
    return _snippet(
        _dense(recipe),
        "dtype = torch.float32  # the model's own",
        f"attention_mask = torch.zeros({recipe.batch}, 1, q_len, k_len, dtype=dtype)",
        "attention_mask = attention_mask.masked_fill(~allowed, torch.finfo(dtype).min)  # 0 = may attend",
        "# output = model(input_ids, attention_mask=attention_mask)",
    )


def _mask_mod(recipe: MaskRecipe) -> Snippet:
    tables = [line for part in recipe.parts for line in _tables(part)]
    if recipe.painted:
        tables = [f"q_len, k_len = {recipe.q_len}, {recipe.k_len}", *tables, *_flipped(recipe)]
    elif any("k_len" in text for text in [*tables, *(_expression(p, recipe, flex=True) for p in recipe.parts)]):
        tables = [f"k_len = {recipe.k_len}", *tables]
    body = []
    used = " ".join(_expression(part, recipe, flex=True) for part in recipe.parts)
    if "query" in used:
        body.append(f"query = q_idx{_plus(recipe.start)}")
    if "key" in used:
        body.append("key = kv_idx")
    body += [f"{_variable(part)} = {_expression(part, recipe, flex=True)}" for part in recipe.parts]
    together = _together(recipe) or "q_idx >= 0"
    if recipe.painted:
        together = f"{_bracketed(together)} ^ flipped[b, 0, q_idx, kv_idx]"
    lines = ["import torch", ""] if tables else []
    lines += [*tables, "", ""] if tables else []
    lines += ["def mask_mod(b, h, q_idx, kv_idx):", *(f"    {line}" for line in body), f"    return {together}", "", ""]
    sizes = f"B={recipe.batch}, H=None, Q_LEN={recipe.q_len}, KV_LEN={recipe.k_len}"
    lines.append("# from torch.nn.attention.flex_attention import create_block_mask, flex_attention")
    lines.append(f"# block_mask = create_block_mask(mask_mod, {sizes})")
    lines.append("# output = flex_attention(q, k, v, block_mask=block_mask)")
    return Snippet("\n".join(lines))


_WRITERS = {
    "sdpa": _sdpa,
    "multihead": _multihead,
    "attention_mask": _attention_mask,
    "additive": _additive,
    "mask_mod": _mask_mod,
}


def _snippet(lines: list[str], *last: str) -> Snippet:
    return Snippet("\n".join([*lines, *last]))


def _dense(recipe: MaskRecipe, *, together: str | None = None) -> list[str]:
    """Lines up to ``allowed``, which is ``together`` ("": not made), by default all parts and what is painted."""
    together = _together(recipe) if together is None else together
    expressions = [_expression(part, recipe, flex=False) for part in recipe.parts]
    used = " ".join(expressions)
    lines = ["import torch", "", f"q_len, k_len = {recipe.q_len}, {recipe.k_len}"]
    if "row" in used:
        lines.append("row = torch.arange(q_len)[:, None]")
    if "query" in used:
        place = "  # position of each query among the keys" if recipe.start else ""
        lines.append(f"query = torch.arange(q_len)[:, None]{_plus(recipe.start)}{place}")
    if "key" in used:
        lines.append("key = torch.arange(k_len)[None, :]")
    lines += [line for part in recipe.parts for line in _tables(part)]
    lines.append("")
    lines += [f"{_variable(part)} = {made}" for part, made in zip(recipe.parts, expressions, strict=True)]
    if recipe.painted:
        lines += _flipped(recipe)
        whole = together or "torch.ones(q_len, k_len, dtype=torch.bool)"
        lines.append(f"allowed = {_bracketed(whole)} ^ flipped  # True = may attend")
    elif together or not recipe.parts:
        lines.append(f"allowed = {together or 'torch.ones(q_len, k_len, dtype=torch.bool)'}  # True = may attend")
    return [*lines, ""]


def _flipped(recipe: MaskRecipe) -> list[str]:
    """Lines that make ``flipped``, (batch, 1, q_len, k_len), True where a cell is painted."""
    cells = [str(list(cell)) for cell in recipe.painted]
    if len(cells) <= _PAINTED_PER_LINE:
        listed = [f"painted = torch.tensor([{', '.join(cells)}])  # (sample, query, key), flipped by hand"]
    else:
        rows = [cells[i : i + _PAINTED_PER_LINE] for i in range(0, len(cells), _PAINTED_PER_LINE)]
        listed = ["painted = torch.tensor([  # (sample, query, key), flipped by hand"]
        listed += [f"    {', '.join(row)}," for row in rows] + ["])"]
    return [
        *listed,
        f"flipped = torch.zeros({recipe.batch}, 1, q_len, k_len, dtype=torch.bool)",
        "flipped[painted[:, 0], 0, painted[:, 1], painted[:, 2]] = True",
    ]


def _tables(part: Part) -> list[str]:
    """Lines that make what the part looks up."""
    if isinstance(part, Padding):
        return [f"lengths = torch.tensor({list(part.lengths)})"]
    if isinstance(part, Packed):
        rows = [str(list(ids)) for ids in part.document_ids]
        if len(rows) == 1:
            return [f"document_ids = torch.tensor([{rows[0]}])"]
        return ["document_ids = torch.tensor([", *(f"    {row}," for row in rows), "])"]
    if isinstance(part, BlockSparse):
        rows = [str(list(row)) for row in part.block_map]
        return ["block_map = torch.tensor([", *(f"    {row}," for row in rows), "]).bool()"]
    if isinstance(part, GlobalLocal) and part.global_keys:
        return [
            "is_global = torch.zeros(k_len, dtype=torch.bool)",
            f"is_global[{sorted(set(part.global_keys))}] = True",
        ]
    return []


def _expression(part: Part, recipe: MaskRecipe, *, flex: bool) -> str:
    """The part as an expression of ``query`` and ``key``, positions on the key axis, that broadcast to the mask."""
    everything = "q_idx >= 0" if flex else "torch.ones(q_len, k_len, dtype=torch.bool)"
    match part:
        case Causal():
            return "key <= query"
        case Padding(side=side):
            lengths = "lengths[b]" if flex else "lengths[:, None, None, None]"
            return f"key < {lengths}" if side == "right" else f"key >= k_len - {lengths}"
        case Window(left=left, right=right):
            ends = [] if left is None else [f"(key >= query{_plus(-left)})"]
            ends += [] if right is None else [f"(key <= query{_plus(right)})"]
            return " & ".join(ends) or everything
        case Chunked(size=size):
            return f"query // {size} == key // {size}"
        case Dilated(window=window, step=step):
            return f"((key - query) % {step} == 0) & ((key - query).abs() < {window * step})"
        case Strided(stride=stride):
            return f"(key - query) % {stride} == 0"
        case GlobalLocal(window=window, global_keys=global_keys):
            near = f"(key - query).abs() < {window}"
            return f"({near}) | is_global[key]" if global_keys else near
        case BlockSparse(block_size=size):
            row = "q_idx" if flex else "row"
            return f"block_map[{row} // {size}, key // {size}]"
        case Prefix(prefix=prefix):
            return f"(key < {prefix}) | (key <= query)"
        case Packed():
            if flex:
                return "document_ids[b, query] == document_ids[b, key]"
            own = "document_ids[:, None, :, None]"
            if (recipe.start, recipe.q_len) != (0, recipe.k_len):
                own = "document_ids[:, None, query[:, 0], None]"
            return f"{own} == document_ids[:, None, None, :]"


def _variable(part: Part) -> str:
    return _VARIABLES.get(part.name, part.name)


def _together(recipe: MaskRecipe) -> str:
    return " & ".join(_variable(part) for part in recipe.parts)


def _bracketed(expression: str) -> str:
    return f"({expression})" if "&" in expression or ">=" in expression else expression


def _plus(number: int) -> str:
    return "" if number == 0 else f" + {number}" if number > 0 else f" - {-number}"


def _has_batch(recipe: MaskRecipe) -> bool:
    """Whether ``allowed`` of the code has four axes."""
    return bool(recipe.painted) or any(isinstance(part, Padding | Packed) for part in recipe.parts)


def _same_for_all_queries(recipe: MaskRecipe) -> bool:
    allowed = recipe.allowed()
    return bool((allowed == allowed[:, :, :1]).all())
