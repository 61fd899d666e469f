"""Faults in where a query stands: causal border, alignment, windows, chunks, documents, cache slots."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from attention_core import masks
from attention_core.faults.plain import EMPTY_ROWS, EmptyRows, attend, given, need, part_of
from attention_core.faults.situation import CannotCommit, Fault, Outcome, Situation

_BORDERS = ("causal", "cache", "prefix")  # parts with a border between past and future


def _square_part(situation: Situation, name: str) -> Tensor:
    """A part with both axes at full length."""
    part = part_of(situation, name)
    _, _, q_len, k_len = situation.sizes
    need(tuple(part.shape[-2:]) == (q_len, k_len), f"the {name} part must be (..., q_len, k_len)")
    return part


def one_earlier(causal: Tensor) -> Tensor:
    """key <= query - 1, where the part says key <= query."""
    return torch.cat([causal[..., 1:], torch.zeros_like(causal[..., :1])], dim=-1)


def one_later(causal: Tensor) -> Tensor:
    """key <= query + 1, where the part says key <= query."""
    below = torch.cat([causal[..., 1:, :1], torch.ones_like(causal[..., :1, :1])], dim=-2)
    return torch.cat([causal[..., :1] | below, causal[..., :-1]], dim=-1)


def _shift_border(situation: Situation, shift: Callable[[Tensor], Tensor], part: str) -> Situation:
    """The border of the causal part moved, or that of the cache; of a prefix mask, outside the prefix."""
    old = _square_part(situation, part)
    if part != "prefix":
        return situation.with_part(part, shift(old))
    _, _, q_len, k_len = situation.sizes
    need(k_len > 1 and bool(old[..., 0, 1].all()), "a prefix of less than two positions is plain causal")
    return situation.with_part(part, shift(masks.causal(q_len, k_len)) | old[..., :1, :])


def causal_strict(situation: Situation, *, part: str = "causal", empty: EmptyRows = "zero") -> Outcome:
    """key <= query - 1."""
    return attend(_shift_border(situation, one_earlier, part), {"part": part}, empty=empty)


def _ways_of_strict(situation: Situation) -> Iterable[dict[str, str]]:
    return ({"part": part, "empty": empty} for part in _BORDERS for empty in EMPTY_ROWS)


def _ways_of_empty(situation: Situation) -> Iterable[dict[str, str]]:
    return ({"empty": empty} for empty in EMPTY_ROWS)


def causal_one_late(situation: Situation, *, part: str = "causal") -> Outcome:
    """key <= query + 1."""
    return attend(_shift_border(situation, one_later, part), {"part": part})


def _ways_of_late(situation: Situation) -> Iterable[dict[str, str]]:
    return ({"part": part} for part in _BORDERS)


def causal_transposed(situation: Situation, *, empty: EmptyRows = "zero") -> Outcome:
    """key >= query."""
    causal = ~one_earlier(_square_part(situation, "causal"))
    return attend(situation.with_part("causal", causal), {}, empty=empty)


def causal_top_left(situation: Situation, *, part: str = "causal") -> Outcome:
    """Query 0 stands at key 0, where the last query should stand at the last key (or the last slot in use)."""
    old = _square_part(situation, part)
    _, _, q_len, k_len = situation.sizes
    wrong = masks.causal(q_len, k_len, offset=0)
    if part == "causal":
        need(q_len != k_len, f"the two alignments agree where q_len equals k_len: got {q_len}")
    need(bool((old != wrong).any()), "the mask is aligned at the top left already")
    return attend(situation.with_part(part, None).with_part("causal", wrong), {"part": part})


def _ways_of_alignment(situation: Situation) -> Iterable[dict[str, str]]:
    return ({"part": "causal"}, {"part": "cache"})


def window_reach(situation: Situation) -> tuple[int, int | None]:
    """(left, right) of the window part, as ``masks.sliding_window`` takes them.

    Raises:
        CannotCommit: if there is no window part, or it is not a window.
    """
    window = _square_part(situation, "window")
    _, _, q_len, k_len = situation.sizes
    candidates: list[tuple[int, int | None]] = []
    if situation.window is not None:
        left = situation.window - 1
        candidates += [(left, 0), (left, left), (left, None)]
    rows, keys = torch.arange(q_len)[:, None] + (k_len - q_len), torch.arange(k_len)
    distance = (keys - rows).expand(q_len, k_len)
    inside = window.reshape(-1, q_len, k_len)[0]
    if inside.any():
        reach = distance[inside]
        candidates.append((max(-int(reach.min()), 0), max(int(reach.max()), 0)))
    for left, right in candidates:
        if bool((masks.sliding_window(q_len, k_len, left=left, right=right) == window).all()):
            return left, right
    raise CannotCommit("the window part is not a sliding window that ends at the last key")


def window_off_by_one(situation: Situation, *, end: str = "left", by: int = 1) -> Outcome:
    """One key too many (``by`` 1) or too few (-1) at the left end, the right end, or both.

    ``end`` "two-sided": the window (W, W) of positions before and after, taken for a causal window of W keys.
    """
    left, right = window_reach(situation)
    _, _, q_len, k_len = situation.sizes
    note = {"end": end, "by": by}
    if end == "two-sided":
        need(by == 1 and (right == 0 or "causal" in situation.parts), "only a causal window can become two-sided")
        wide = masks.sliding_window(q_len, k_len, left=left + 1, right=left + 1)
        return attend(situation.with_part("window", wide).with_part("causal", None), note)
    if end in ("left", "both"):
        left += by
    if end in ("right", "both"):
        right = given(right, "the window has no right end") + by
    need(left >= 0 and (right is None or right >= 0), "the window would lose the query itself")
    wrong = masks.sliding_window(q_len, k_len, left=left, right=right)
    return attend(situation.with_part("window", wrong), note)


def _ways_of_window(situation: Situation) -> Iterable[dict[str, Any]]:
    for end in ("left", "right", "both"):
        for by in (1, -1):
            yield {"end": end, "by": by}
    yield {"end": "two-sided", "by": 1}


def looks_ahead(situation: Situation) -> bool:
    """Whether any query may read a key after its own position."""
    _, _, q_len, k_len = situation.sizes
    return bool((situation.allowed & ~masks.causal(q_len, k_len)).any())


def window_on_wrong_layers(situation: Situation, *, window: int | None = None) -> Outcome:
    """No window where the layer has one, or a window of ``window`` keys where the layer has none."""
    _, _, q_len, k_len = situation.sizes
    if "window" in situation.parts:
        need(window is None, "the layer has a window already, so the fault is to lose it")
        _, right = window_reach(situation)
        free = masks.causal(q_len, k_len) if right == 0 else None
        changed = situation.with_part("window", None)
        if free is not None and "causal" not in situation.parts:
            changed = changed.with_part("causal", free)
        return attend(changed, {"window": "lost"})
    size = situation.window if window is None else window
    size = given(size, "no window is known that a layer could have by mistake")
    need(size >= 1, f"a window has at least 1 key: got {size}")
    right = size - 1 if looks_ahead(situation) else None
    wrong = masks.sliding_window(q_len, k_len, left=size - 1, right=right)
    return attend(situation.with_part("window", wrong), {"window": size})


def estimate_window(situation: Situation, observed: Tensor) -> Outcome | None:
    """The window from the farthest key with weight, where none is meant."""
    _, _, q_len, k_len = situation.sizes
    if "window" in situation.parts or observed.shape != torch.Size(situation.sizes):
        return None
    rows = torch.arange(q_len)[:, None] + (k_len - q_len)
    back = (rows - torch.arange(k_len)).expand(observed.shape)
    seen = (observed != 0) & situation.allowed
    if not seen.any():
        return None
    window = int(back[seen].max()) + 1
    farthest = int(back[situation.allowed.expand(observed.shape)].max()) + 1
    if not 1 <= window < farthest:
        return None
    return window_on_wrong_layers(situation, window=window)


def chunk_as_window(situation: Situation) -> Outcome:
    """Fixed chunks of W positions for a window of W keys, or a window for chunks."""
    _, _, q_len, k_len = situation.sizes
    if "window" in situation.parts:
        left, right = window_reach(situation)
        chunks = masks.chunked(q_len, k_len, size=left + 1)
        if right == 0:
            chunks = chunks & masks.causal(q_len, k_len)
        return attend(
            situation.with_part("window", None).with_part("chunk", chunks), {"size": left + 1, "used": "chunk"}
        )
    part_of(situation, "chunk")
    size = given(situation.chunk, "the size of the chunks is not known")
    right = size - 1 if looks_ahead(situation) else None
    window = masks.sliding_window(q_len, k_len, left=size - 1, right=right)
    changed = replace(situation.with_part("chunk", None).with_part("window", window), window=size)
    return attend(changed, {"size": size, "used": "window"})


def packing_leak(situation: Situation) -> Outcome:
    """Documents lost, the rest kept."""
    part_of(situation, "documents")
    return attend(situation.with_part("documents", None), {})


def cache_slots_unmasked(situation: Situation, *, how: str = "dropped") -> Outcome:
    """Slots that hold nothing yet are readable.

    ``how`` "dropped": every slot; "shared offset": causal as if every slot were in use; "longest": as many slots as the
    fullest sample has.
    """
    cache = part_of(situation, "cache")
    _, _, q_len, k_len = situation.sizes
    without = situation.with_part("cache", None)
    if how == "dropped":
        return attend(without, {"how": how})
    if how == "shared offset":
        need(cache.shape[-2] == q_len, "the slots in use do not depend on the query")
        need("causal" not in situation.parts, "there is a causal part of its own")
        return attend(without.with_part("causal", masks.causal(q_len, k_len)), {"how": how})
    need(cache.dim() == 4 and cache.shape[0] > 1, "one sample has no longer neighbour")
    longest = int(cache.any(dim=-2).sum(dim=-1).max())
    wrong = masks.causal_in_cache(q_len, k_len, valid_lengths=[longest])
    if cache.shape[-2] == 1:
        wrong = (torch.arange(k_len) < longest).expand(1, 1, 1, k_len)
    return attend(situation.with_part("cache", wrong), {"how": how})


def _ways_of_cache(situation: Situation) -> Iterable[dict[str, str]]:
    return ({"how": "dropped"}, {"how": "shared offset"}, {"how": "longest"})


FAULTS: tuple[Fault, ...] = (
    Fault(
        id="causal-strict",
        title="A token may not read itself",
        explanation=(
            "The blocked triangle is built with triu(diagonal=0), or the allowed one with tril(-1), so that the "
            "diagonal is blocked too. The first query has no key at all, a row of NaN or of zeros, and every other "
            "one misses its own token. Attention predicts the next token from all up to its own: block only above the "
            "diagonal."
        ),
        fix="blocked = torch.ones(n, n, dtype=torch.bool).triu(diagonal=1)",
        symptom="The diagonal is 0 and the first row is empty.",
        sources=("pytorch/pytorch#143287",),
        act=causal_strict,
        ways=_ways_of_strict,
    ),
    Fault(
        id="causal-one-late",
        title="The next token is visible",
        explanation=(
            "The allowed triangle is built with tril(diagonal=1), or the blocked one with triu(diagonal=2): each "
            "query also reads the key right after it, which is the token that it shall predict. The loss falls to "
            "almost nothing. The allowed triangle ends on the diagonal: tril(diagonal=0)."
        ),
        fix="allowed = torch.ones(n, n, dtype=torch.bool).tril()",
        symptom="One diagonal above the main one holds weight, nothing beyond it does.",
        sources=("RVC-Boss/GPT-SoVITS#965",),
        act=causal_one_late,
        ways=_ways_of_late,
    ),
    Fault(
        id="causal-transposed",
        title="The causal mask is transposed",
        explanation=(
            "triu stands where tril is meant, or the mask is built with queries in the columns: each token reads "
            "itself and what follows, never what came before. Unlike an inverted mask, the diagonal is right. Rows "
            "are queries, columns are keys, and a query reads keys at or before its own position."
        ),
        fix="allowed = torch.ones(n, n, dtype=torch.bool).tril()",
        symptom="Weight on and above the diagonal only; the last row holds a single 1.",
        sources=("lsdefine/attention-is-all-you-need-keras#6", "hkproj/pytorch-transformer#19"),
        act=causal_transposed,
        ways=_ways_of_empty,
    ),
    Fault(
        id="causal-top-left",
        title="The causal mask starts at the wrong corner",
        explanation=(
            "There are more keys than queries, as with a cache or the second piece of a prompt, and is_causal=True "
            "puts the first query at key 0. The newest token then reads the oldest keys only. The last query must see "
            "the last key: shift the triangle by k_len - q_len, or pass no causal mask for a single new token."
        ),
        fix="allowed = torch.ones(q_len, k_len, dtype=torch.bool).tril(k_len - q_len)",
        symptom="The newest keys are read by nobody; a single query sees key 0 alone.",
        sources=(
            "Dao-AILab/flash-attention#517",
            "pytorch/pytorch#108108",
            "lucidrains/x-transformers#187",
            "pytorch/executorch#21749",
        ),
        act=causal_top_left,
        ways=_ways_of_alignment,
    ),
    Fault(
        id="window-off-by-one",
        title="The window is one key too wide or too narrow",
        explanation=(
            "Window W means W keys with the query's own in one program, and W keys before it in another: "
            "window_size=(left, right) counts positions beside the query, so W keys need left = W - 1. The difference "
            "shows only in texts longer than the window. Say which of the two you mean, and test with a length above "
            "W."
        ),
        fix="masks.sliding_window(n, left=W - 1, right=0); window_size=(W - 1, 0) for flash-attention",
        symptom="Rows past the window hold W + 1 or W - 1 keys.",
        sources=(
            "huggingface/transformers#39408",
            "huggingface/transformers#29623",
            "huggingface/transformers#29176",
            "vllm-project/vllm#3385",
            "ml-explore/mlx-lm#390",
        ),
        act=window_off_by_one,
        ways=_ways_of_window,
    ),
    Fault(
        id="window-on-wrong-layers",
        title="The window is on the wrong layers",
        explanation=(
            "A model mixes layers with a window and layers without; a comparison the wrong way round, or a pattern "
            "that is off by one layer, swaps them. A shortcut for single new tokens may drop the window as well. Read "
            "the kind of each layer from the configuration (layer_types), and look at the masks of all layers side by "
            "side."
        ),
        fix="window = config.sliding_window if config.layer_types[layer] == 'sliding_attention' else None",
        symptom="A layer meant to see everything sees a band, or one with a window sees everything.",
        sources=("huggingface/transformers#35896", "huggingface/transformers#40126", "karpathy/nanochat#452"),
        act=window_on_wrong_layers,
        estimate=estimate_window,
    ),
    Fault(
        id="chunk-as-window",
        title="Chunks taken for a window, or a window for chunks",
        explanation=(
            "Chunked attention cuts the positions into fixed pieces that do not see each other; a sliding window "
            "moves with the query. Code written for one is reused for the other, and both have the same size and look "
            "alike in a short text. A key is in the chunk if key // size == query // size, in the window if query - "
            "key < size."
        ),
        fix="masks.chunked(n, size=c) & masks.causal(n), or masks.sliding_window(n, left=W - 1, right=0)",
        symptom="Weight across a chunk border, or rows that forget everything at multiples of W.",
        sources=("huggingface/transformers#37351",),
        act=chunk_as_window,
    ),
    Fault(
        id="packing-leak",
        title="Packed documents read each other",
        explanation=(
            "Several documents share one row, and the program relies on restarted position ids or an end token to "
            "keep them apart. Positions only change the embeddings: with a plain causal mask every later document "
            "reads the earlier ones. Allow a key only in the query's own document, on top of the causal mask."
        ),
        fix="allowed = causal & (document_ids[:, :, None] == document_ids[:, None, :])[:, None]",
        symptom="Rows of later documents hold weight on earlier documents.",
        sources=(
            "huggingface/nanoVLM#204",
            "huggingface/trl#784",
            "huggingface/transformers#46634",
            "DeepOpt-com/WrinkleFree-Monorepo#53",
        ),
        act=packing_leak,
    ),
    Fault(
        id="cache-slots-unmasked",
        title="Empty slots of the cache are read",
        explanation=(
            "A cache of fixed size returns all its slots. The unused ones hold zeros, and a zero key is a legal key "
            "with score 0. Or one shared offset is used although samples have filled different numbers of slots. Hide "
            "every slot from the sample's own valid length on."
        ),
        fix="allowed = torch.arange(slots) < valid_length[:, None, None, None]",
        symptom="Weight on keys beyond the valid length; it grows with the size of the cache.",
        sources=("huggingface/transformers#30400", "onnx/onnx#8068"),
        act=cache_slots_unmasked,
        ways=_ways_of_cache,
    ),
)
