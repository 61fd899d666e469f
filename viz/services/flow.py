"""Rollout through the layers of a run, the plain means beside it, and attention flow, as arrays."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from attention_core.diagnostics import (
    MOST_EDGES,
    attention_flow,
    cross_rollout,
    merge_words,
    rollouts,
    row_sum_tolerance,
)
from attention_core.runs import Call, Run, Token
from viz.services.attention import Request, run
from viz.services.call_parts import one_sample
from viz.services.text_pieces import Piece, groups, token_pieces, word_pieces

LISTED = 10


@dataclass(frozen=True, eq=False)
class Flow:
    """Where each position got what it holds after some layers, by rollout.

    Attributes:
        layers: the calls that were multiplied, first layer first.
        rollout: (rows, columns) float32; a row sums to 1.
        mean: likewise, the mean over heads of the last of these layers alone; of cross-attention where the columns are
            two texts, 0 in the columns of the target.
        rows, columns: pieces; where the columns are two texts, the source comes first.
        source: how many of the columns belong to the source; 0 where there is one text.
        largest_error: of a row sum from 1, over the rows that are not empty; NaN where a number is not finite.
        tolerance: what it may be. empty: rows that hold nothing at all.
    """

    layers: tuple[Call, ...]
    rollout: np.ndarray
    mean: np.ndarray
    rows: tuple[Piece, ...]
    columns: tuple[Piece, ...]
    source: int
    largest_error: float
    tolerance: float
    empty: int

    @property
    def sums_to_one(self) -> bool:
        """Whether every row that holds something sums to 1."""
        return self.largest_error <= self.tolerance


@dataclass(frozen=True)
class Origin:
    """One column of a row: its number, share by rollout, weight in the mean map, and flow, where it was computed."""

    column: int
    share: float
    mean: float
    flow: float | None


def flow_kinds(made: Run) -> tuple[str, ...]:
    """What rollout can go through: "encoder", "decoder" (self-attention), "cross" (a decoder and what it reads)."""
    found = [kind for kind in ("encoder", "decoder") if stack(made, kind)]
    cross = stack(made, "cross", square=False)
    if len(found) == 2 and len(cross) == len(stack(made, "decoder")):
        found.append("cross")
    return tuple(found)


def stack(made: Run, kind: str, *, square: bool = True) -> tuple[Call, ...]:
    """The calls of a kind in the first pass over the whole text; none where a call is not square and should be."""
    found = tuple(call for call in made.calls if call.kind == kind and call.step == 0)
    sizes = [(made.inputs[call.name].query.shape[-2], made.inputs[call.name].key.shape[-2]) for call in found]
    return () if square and any(q != k for q, k in sizes) else found


def flow(request: Request, kind: str, *, sample: int, layers: int, residual: float, words: bool) -> Flow:
    """Rollout up to a layer.

    Args:
        request: what the page asked for.
        kind: of ``flow_kinds``.
        sample: index in the batch; other samples play no part.
        layers: how many, from the first; of the decoder for "cross", whose encoder is taken whole.
        residual: share of the residual stream, in [0, 1].
        words: pieces of a word put together: the sum over its keys, the mean over its queries.

    Raises:
        ValueError: if there is no such stack or share.
    """
    made = run(request)
    if kind not in flow_kinds(made):
        raise ValueError(f"rollout needs self-attention of a whole text in every layer: got {kind}")
    calls = stack(made, "decoder" if kind == "cross" else kind)[:layers]
    rolled, mean = _maps(request, kind, sample, len(calls), residual)
    rows = _pieces(made, made.query_tokens(calls[0])[sample], kind != "encoder", sample, words)
    columns, source = rows, 0
    if kind == "cross":
        cross = stack(made, "cross", square=False)[0]
        before = _pieces(made, made.key_tokens(cross)[sample], False, sample, words)
        columns, source = (*before, *rows), len(before)
    if words:
        of_columns = groups(columns)
        rolled, mean = (
            merge_words(torch.from_numpy(np.array(part)), groups(rows), key_groups=of_columns).numpy()
            for part in (rolled, mean)
        )
    sums = rolled.sum(axis=-1, dtype=np.float64)
    full = sums != 0
    error = float(np.abs(sums[full] - 1).max()) if full.any() else 0.0
    tolerance = row_sum_tolerance(torch.float32, rolled.shape[-1]) * len(calls)
    return Flow(calls, _frozen(rolled), _frozen(mean), rows, columns, source, error, tolerance, int((~full).sum()))


def origins(found: Flow, row: int, flows: Sequence[float] | None = None) -> tuple[Origin, ...]:
    """The columns that a row got most from, that first; at most ``LISTED``.

    Args:
        found: the map.
        row: which.
        flows: one number per column, of ``row_flow``.

    Raises:
        IndexError: if there is no such row.
    """
    shares = np.nan_to_num(found.rollout[row], nan=-1.0)
    order = np.argsort(-shares, kind="stable")[:LISTED]
    return tuple(
        Origin(int(j), float(found.rollout[row, j]), float(found.mean[row, j]), None if flows is None else flows[j])
        for j in order
    )


def flow_fits(found: Flow) -> bool:
    """Whether attention flow of this map ends within seconds; it knows one text and whole tokens."""
    tokens = sum(len(piece.tokens) for piece in found.rows)
    return not found.source and len(found.layers) * tokens**2 <= MOST_EDGES


@lru_cache(maxsize=32)
def row_flow(request: Request, kind: str, sample: int, layers: int, residual: float, query: int) -> tuple[float, ...]:
    """Attention flow from each input token to one token after some layers.

    Raises:
        ValueError: if there are too many edges, or weights are not finite.
        IndexError: if there is no such token.
    """
    made = run(request)
    maps = list(_means(made, stack(made, kind)[:layers], sample))
    return tuple(attention_flow(maps, query, residual=residual))


@lru_cache(maxsize=4)
def _maps(request: Request, kind: str, sample: int, layers: int, residual: float) -> tuple[np.ndarray, np.ndarray]:
    """Rollout and the mean of the last layer; one layer is held at a time."""
    made = run(request)
    if kind == "cross":
        return _cross_maps(made, sample, layers, residual)
    calls = stack(made, kind)[:layers]
    rolled: Tensor | None = None
    for rolled in rollouts(_means(made, calls, sample), residual=residual):  # noqa: B007 - the last one counts
        pass
    assert rolled is not None  # a stack has a layer
    return rolled.numpy(), next(_means(made, calls[-1:], sample)).numpy()


def _cross_maps(made: Run, sample: int, layers: int, residual: float) -> tuple[np.ndarray, np.ndarray]:
    *_, encoder = rollouts(_means(made, stack(made, "encoder"), sample), residual=residual)
    cross = stack(made, "cross", square=False)[:layers]
    own = _means(made, stack(made, "decoder")[:layers], sample)
    *_, (target, source) = cross_rollout(own, _means(made, cross, sample), encoder, residual=residual)
    last = next(_means(made, cross[-1:], sample))
    rolled = torch.cat([source, target], dim=-1)  # (target, source + target)
    mean = torch.cat([last, torch.zeros_like(target)], dim=-1)
    return rolled.numpy(), mean.numpy()


def _means(made: Run, calls: Sequence[Call], sample: int) -> Iterator[Tensor]:
    """The mean over heads of each call, (q_len, k_len) float32, one at a time."""
    for call in calls:
        trace = one_sample(made.inputs[call.name], sample).trace(keep={"weights"})
        assert trace.weights is not None
        yield trace.weights[0].float().mean(dim=0)


def _pieces(made: Run, tokens: Sequence[Token], target: bool, sample: int, words: bool) -> tuple[Piece, ...]:
    texts = made.targets if target and made.targets else made.texts
    return (word_pieces if words else token_pieces)(tokens, texts[sample])


def _frozen(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array
