"""All heads of all layers at once: thumbnails and numbers, made layer by layer within a budget of memory.

The weights of a long text never stand in memory together: 270 heads at 2,048 tokens would be 4.5 GB. A few heads at a
time are computed, pooled, counted and let go.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil
from typing import get_args

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from attention_core.diagnostics import (
    LOCAL_DISTANCE,
    PATTERNS,
    SATURATED,
    PatternCells,
    attention_entropy,
    head_patterns,
    mean_distance,
    pattern_cells,
    token_roles,
    top_weight,
)
from attention_core.runs import Call, CallInputs, CallKind, Run, Token
from viz.services.attention import Request, run
from viz.services.call_parts import one_sample, some_heads
from viz.services.kept import Kept

THUMBNAIL = 48  # most cells along a side of a thumbnail; longer texts are pooled
QUICK_TOKENS = 256  # up to here the numbers are there before a bar of progress could be read
KEPT_OVERVIEWS = 16
KEPT_OVERVIEW_BYTES = 128 * 2**20
STATISTICS = ("entropy", "top_weight", "saturation", "effective_keys", "distance")
BOUNDED = ("top_weight", "saturation", *PATTERNS)  # numbers that lie between 0 and 1
CHOICES = (*PATTERNS, *STATISTICS)
LOCAL = LOCAL_DISTANCE

_Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class Overview:
    """The calls of one kind, one sample, as arrays that nobody writes to.

    Layers with fewer heads than others have NaN in the numbers of those they lack.

    Attributes:
        calls: in order, one per layer.
        block: (rows, columns) of tokens that a cell of a thumbnail stands for: its value is the largest of them.
        weights: per layer, (heads, rows, columns) float32.
        forbidden: per layer, (heads or 1, rows, columns) bool: no cell of the block may be read.
        leaks: (layers, heads) int64, forbidden cells with weight; ``broken``: bool, a weight is NaN or infinite.
        off: (layers, heads) bool, heads that are switched off.
        numbers: name of ``CHOICES`` -> (layers, heads) float64; NaN where there is none.
        chance: name of ``PATTERNS`` -> likewise: the score of a head that spreads evenly.
        query_tokens, key_tokens: of the rows and columns.
    """

    calls: tuple[Call, ...]
    block: tuple[int, int]
    weights: tuple[np.ndarray, ...]
    forbidden: tuple[np.ndarray, ...]
    leaks: np.ndarray
    broken: np.ndarray
    off: np.ndarray
    numbers: Mapping[str, np.ndarray]
    chance: Mapping[str, np.ndarray]
    query_tokens: tuple[Token, ...]
    key_tokens: tuple[Token, ...]

    @property
    def nbytes(self) -> int:
        arrays = [*self.weights, *self.forbidden, self.leaks, self.broken, self.off]
        return sum(array.nbytes for array in (*arrays, *self.numbers.values(), *self.chance.values()))


@dataclass(frozen=True)
class RankedHead:
    """A head and its number: ``layer`` and ``head`` as they are called, ``row`` of the overview."""

    row: int
    layer: int
    head: int
    value: float
    chance: float


def kinds(made: Run) -> tuple[CallKind, ...]:
    """The kinds of calls of a run, in order of appearance: "encoder", "decoder", "cross"."""
    return tuple(dict.fromkeys(call.kind for call in made.calls))


def kind_of(name: str) -> CallKind:
    """The kind of calls of that name; ValueError where there is none."""
    for kind in get_args(CallKind):
        if kind == name:
            return kind
    raise ValueError(f"calls are of the kinds {get_args(CallKind)}: got {name!r}")


def overview(
    request: Request, kind: CallKind, sample: int, *, step: int = 0, progress: _Progress | None = None
) -> Overview:
    """Thumbnails and numbers of all heads of one kind of calls; computed once for all visitors while they are kept.

    Args:
        request: of the run.
        kind: "encoder", "decoder" or "cross".
        sample: index of the text.
        step: of a generation.
        progress: called with the layers done and their number.

    Raises:
        ValueError: if the run has no such calls.
        IndexError: if it has no such sample.
    """
    return _kept.get((request, kind, sample, step), lambda: _make(request, kind, sample, step, progress))


def ranked(shown: Overview, name: str, *, at_least: float | None = None, most: int | None = None) -> list[RankedHead]:
    """The heads with the largest numbers first; those without a number, and those below ``at_least``, are left out."""
    values = shown.numbers[name]
    chance = shown.chance.get(name, np.full(values.shape, np.nan))
    found = [
        RankedHead(int(row), shown.calls[row].layer, int(head), float(values[row, head]), float(chance[row, head]))
        for row, head in np.argwhere(~np.isnan(values))
        if at_least is None or values[row, head] >= at_least
    ]
    return sorted(found, key=lambda one: -one.value)[:most]


def strongest(shown: Overview, row: int, head: int, *, most: int = 2) -> list[tuple[str, float, float]]:
    """The patterns in which a head is furthest above its chance: (pattern, score, chance), furthest first."""
    found = [
        (name, float(shown.numbers[name][row, head]), float(shown.chance[name][row, head]))
        for name in PATTERNS
        if name != "uniform"  # nothing is above an even spread
    ]
    above = [one for one in found if one[1] > one[2]]
    return sorted(above, key=lambda one: one[2] - one[1])[:most]


def below(shown: Overview, name: str, least: float) -> np.ndarray:
    """(layers, heads) bool: heads whose number is below ``least`` or not there."""
    return ~(shown.numbers[name] >= least)


def call_index(made: Run, shown: Overview, row: int) -> int:
    """Place of the call of a row among all calls of its run."""
    return made.calls.index(shown.calls[row])


def padding(tokens: tuple[Token, ...], block: int) -> np.ndarray:
    """One bool per row or column of a thumbnail: every token of the block is padding."""
    flags = np.array([token.padding for token in tokens], dtype=bool)
    return np.logical_and.reduceat(flags, np.arange(0, flags.size, block))


def _make(request: Request, kind: CallKind, sample: int, step: int, progress: _Progress | None) -> Overview:
    made = run(request)
    calls = tuple(call for call in made.calls if call.kind == kind and call.step == step)
    if not calls:
        raise ValueError(f"an overview needs calls of kind {kind!r} at step {step}: this run has {kinds(made)}")
    query_tokens, key_tokens = made.query_tokens(calls[0])[sample], made.key_tokens(calls[0])[sample]
    layers = []
    cells: PatternCells | None = None
    for done, call in enumerate(calls):
        if progress is not None:
            progress(done, len(calls))
        inputs = one_sample(made.inputs[call.name], sample)
        if cells is None or not _same_mask(cells.allowed, inputs.allowed):
            cells = _cells(inputs, kind, query_tokens, key_tokens)
        layers.append(_layer(inputs, cells, query_tokens))
    widest = max(layer.leaks.size for layer in layers)
    off = np.zeros((len(calls), widest), bool)
    for row, call in enumerate(calls):
        off[row, [head for name, head in made.heads_off if name == call.name]] = True
    return Overview(
        calls=calls,
        block=layers[0].block,
        weights=tuple(_frozen(layer.weights) for layer in layers),
        forbidden=tuple(_frozen(layer.forbidden) for layer in layers),
        leaks=_frozen(_rows([layer.leaks for layer in layers], widest, 0)),
        broken=_frozen(_rows([layer.broken for layer in layers], widest, False)),
        off=_frozen(off),
        numbers={name: _frozen(_rows([layer.numbers[name] for layer in layers], widest, np.nan)) for name in CHOICES},
        chance={name: _frozen(_rows([layer.chance[name] for layer in layers], widest, np.nan)) for name in PATTERNS},
        query_tokens=query_tokens,
        key_tokens=key_tokens,
    )


@dataclass(frozen=True, eq=False)
class _Layer:
    block: tuple[int, int]
    weights: np.ndarray
    forbidden: np.ndarray
    leaks: np.ndarray
    broken: np.ndarray
    numbers: Mapping[str, np.ndarray]
    chance: Mapping[str, np.ndarray]


def _cells(
    inputs: CallInputs, kind: CallKind, query_tokens: tuple[Token, ...], key_tokens: tuple[Token, ...]
) -> PatternCells:
    q_len = inputs.query.shape[-2]
    allowed = inputs.allowed.expand(1, -1, q_len, inputs.key.shape[-2]) if inputs.allowed.dim() == 4 else inputs.allowed
    if kind == "cross":
        queries = [token_roles(query_tokens)]
        return pattern_cells([token_roles(key_tokens)], query_roles=queries, allowed=allowed, local=LOCAL)
    return pattern_cells([token_roles(key_tokens)], q_len=q_len, allowed=allowed, local=LOCAL)


def _same_mask(known: Tensor, mask: Tensor) -> bool:
    """True where the mask of the layer before is this one's too."""
    mask = mask.reshape((1,) * (4 - mask.dim()) + mask.shape)
    return mask.shape[1] == known.shape[1] and bool((known == mask).all())


def _layer(inputs: CallInputs, cells: PatternCells, query_tokens: tuple[Token, ...]) -> _Layer:
    """The numbers and thumbnails of one call."""
    q_len, k_len = inputs.query.shape[-2], inputs.key.shape[-2]
    block = (ceil(q_len / THUMBNAIL), ceil(k_len / THUMBNAIL))
    valid = ~torch.tensor([token.padding for token in query_tokens])
    forbidden = ~(inputs.allowed & inputs.intended)
    forbidden = forbidden.reshape((1,) * (4 - forbidden.dim()) + forbidden.shape).expand(1, -1, q_len, k_len)
    parts = [_part(piece, cells, valid, forbidden, block, heads) for heads, piece in some_heads(inputs)]
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return _Layer(
        block=block,
        weights=joined["weights"],
        forbidden=_pooled(~forbidden, block)[0].numpy() == 0,
        leaks=joined["leaks"],
        broken=joined["broken"],
        numbers={name: joined[name] for name in CHOICES},
        chance={name: joined[f"chance {name}"] for name in PATTERNS},
    )


def _part(
    inputs: CallInputs,
    cells: PatternCells,
    valid: Tensor,
    forbidden: Tensor,
    block: tuple[int, int],
    heads: slice,
) -> dict[str, np.ndarray]:
    """What is told of some heads of a call."""
    weights = inputs.trace(keep=("weights",)).weights
    assert weights is not None
    weights = weights.float()
    here = _of_heads(cells, heads)
    patterns = head_patterns(weights, here)
    entropy = attention_entropy(weights, allowed=here.allowed)
    top = top_weight(weights, allowed=here.allowed)
    choice = here.allowed.expand(weights.shape).sum(dim=-1) > 1  # a single key has weight 1 whatever its score is
    thumbnails = _pooled(weights, block)
    not_ours = forbidden[:, heads] if forbidden.shape[1] > 1 else forbidden
    leaks = torch.zeros(weights.shape[1], dtype=torch.int64)
    if not_ours.any():
        outside = weights.masked_fill(~not_ours, 0.0).nan_to_num_(0.0)
        leaks = outside.count_nonzero(dim=(0, 2, 3)) if outside.any() else leaks
    nowhere = torch.full((1, weights.shape[1]), torch.nan)  # queries and keys of two texts have no distance
    found: dict[str, Tensor] = {
        "entropy": _mean(entropy, valid),
        "top_weight": _mean(top, valid),
        "saturation": _mean((top > SATURATED).float().masked_fill(top.isnan() | ~choice, torch.nan), valid),
        "effective_keys": _mean(entropy.exp(), valid),
        "distance": _mean(mean_distance(weights), valid) if "self" in cells.counted else nowhere,
        **patterns.scores,
        **{f"chance {name}": chance for name, chance in patterns.chance.items()},
    }
    return {name: tensor[0].double().numpy() for name, tensor in found.items()} | {
        "weights": thumbnails[0].numpy(),
        "leaks": leaks.numpy(),
        "broken": (~thumbnails[0].isfinite()).flatten(1).any(dim=1).numpy(),
    }


def _of_heads(cells: PatternCells, heads: slice) -> PatternCells:
    def cut(tensor: Tensor) -> Tensor:
        return tensor[:, heads] if tensor.shape[1] > 1 else tensor

    return PatternCells(
        cells.targets,
        {name: cut(counted) for name, counted in cells.counted.items()},
        {name: cut(chance) for name, chance in cells.chance.items()},
        cut(cells.allowed),
    )


def _pooled(values: Tensor, block: tuple[int, int]) -> Tensor:
    """(1, heads, q_len, k_len) -> (1, heads, rows, columns), the largest of each block; NaN if any is NaN."""
    if block == (1, 1):
        return values.float()
    return functional.max_pool2d(values.float(), block, ceil_mode=True)


def _mean(rows: Tensor, valid: Tensor) -> Tensor:
    """(1, heads, q_len) -> (1, heads): over the queries that are no padding and have a value."""
    return rows[..., valid].nanmean(dim=-1)


def _rows(rows: list[np.ndarray], width: int, filler: float) -> np.ndarray:
    return np.stack([np.pad(row, (0, width - row.size), constant_values=filler) for row in rows])


def _frozen(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


_kept: Kept[Overview] = Kept(most=KEPT_OVERVIEWS, most_bytes=KEPT_OVERVIEW_BYTES, size=lambda made: made.nbytes)
