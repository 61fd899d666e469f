"""One map of a call for the text view, and all maps of a call for the lines: from tensors to arrays and pieces."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from attention_core.diagnostics import merge_words, rollouts
from attention_core.runs import Call, Run
from viz.services.attention import Request, run
from viz.services.call_parts import one_sample
from viz.services.flow import stack
from viz.services.text_pieces import Piece, groups, token_pieces, word_pieces
from viz.services.views import CallView

MOST_TEXT = 512  # tokens or words drawn at once
MOST_LINES = 256
MOST_LINES_BYTES = 1_600_000  # of all heads of a layer: 12 heads at 256 tokens


@dataclass(frozen=True, eq=False)
class Maps:
    """Maps over the same queries and keys; a window of them where the text is long.

    Attributes:
        weights: (maps, q_len, k_len) float32.
        allowed, intended: likewise, bool: applied and meant mask.
        outside: (maps, q_len) float32, what a query gives to keys outside the window; None where there is no window.
        queries, keys: pieces of rows and columns; the same object in self-attention.
        first_query, first_key: their numbers in the whole text.
        all_queries, all_keys: how many there are in all.
        last_start: the largest start of a window that shows something new; 0 where everything fits.
    """

    weights: np.ndarray
    allowed: np.ndarray
    intended: np.ndarray
    outside: np.ndarray | None
    queries: tuple[Piece, ...]
    keys: tuple[Piece, ...]
    first_query: int
    first_key: int
    all_queries: int
    all_keys: int
    last_start: int

    @property
    def last_query(self) -> int:
        """Number of the last query that is shown."""
        return self.first_query + len(self.queries) - 1

    @property
    def last_key(self) -> int:
        """Number of the last key that is shown."""
        return self.first_key + len(self.keys) - 1


def rollout_layers(made: Run, call: Call) -> tuple[Call, ...]:
    """The calls that rollout goes through; none where it makes no sense: across two texts, or one step at a time."""
    return () if call.kind == "cross" or call.step else stack(made, call.kind)


def text_map(request: Request, made: Run, shown: CallView, *, kind: str, head: int, words: bool, start: int) -> Maps:
    """The one map of the text view.

    Where something is put together, a cell counts as meant if any of its parts was meant and none is a leak: a leak
    stays one.

    Args:
        request: what the page asked for.
        made: its run.
        shown: the chosen call and sample of it.
        kind: "head", "mean" (over the heads of the layer) or "rollout" (over the layers, from the first to the last).
        head: which, for "head".
        words: pieces of a word put together: the sum over its keys, the mean over its queries.
        start: first query of the window, where there are more than ``MOST_TEXT``.

    Raises:
        ValueError: if rollout is asked for where there is none.
    """
    weights, allowed, intended = _one_map(request, shown, kind, head)
    queries, keys = pieces_of(made, shown, words=words)
    if words:
        rows, columns = groups(queries), groups(keys)
        leaks = _any_piece(~intended & (weights != 0), rows, columns)
        weights = merge_words(torch.from_numpy(np.array(weights)), rows, key_groups=columns).numpy()
        allowed = _any_piece(allowed, rows, columns)
        intended = _any_piece(intended, rows, columns) & ~leaks
    return _window(weights[None], allowed[None], intended[None], queries, keys, start=start, most=MOST_TEXT)


def line_maps(made: Run, shown: CallView, *, start: int) -> Maps:
    """All heads of a layer; a window of the tokens where all of them would be too many."""
    queries, keys = pieces_of(made, shown, words=False)
    most = most_lines(shown.heads)
    return _window(shown.weights, shown.allowed, shown.intended, queries, keys, start=start, most=most)


def _one_map(request: Request, shown: CallView, kind: str, head: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights, allowed and intended, each (q_len, k_len)."""
    if kind == "rollout":
        return _rollout(request, shown.call.name, shown.sample)
    if kind == "mean":
        weights = shown.weights
        leaks = (~shown.intended & (weights != 0)).any(axis=0)
        meant = np.asarray(shown.intended.any(axis=0) & ~leaks)
        return weights.mean(axis=0), np.asarray(shown.allowed.any(axis=0)), meant
    return shown.stages_of(head)["weights"], shown.allowed[head], shown.intended[head]


def most_lines(heads: int) -> int:
    """How many tokens are drawn at once with lines of so many heads."""
    return min(MOST_LINES, int((MOST_LINES_BYTES / 2 / heads) ** 0.5))


def pieces_of(made: Run, shown: CallView, *, words: bool) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    """Queries and keys; the same object where a text looks at itself."""
    cut = word_pieces if words else token_pieces
    source = made.texts[shown.sample]
    target = made.targets[shown.sample] if made.targets else source
    queries = cut(shown.query_tokens, source if shown.call.kind == "encoder" else target)
    if shown.call.kind != "cross" and shown.key_tokens == shown.query_tokens:
        return queries, queries
    return queries, cut(shown.key_tokens, target if shown.call.kind == "decoder" else source)


def _window(
    weights: np.ndarray,
    allowed: np.ndarray,
    intended: np.ndarray,
    queries: tuple[Piece, ...],
    keys: tuple[Piece, ...],
    *,
    start: int,
    most: int,
) -> Maps:
    first_query, first_key = (max(0, min(start, len(side) - most)) for side in (queries, keys))
    rows, columns = slice(first_query, first_query + most), slice(first_key, first_key + most)
    cut = (slice(None), rows, columns)
    all_queries, all_keys = len(queries), len(keys)
    last_start = max(0, max(all_queries, all_keys) - most)
    outside = None
    if last_start:
        outside = (weights[:, rows].sum(axis=-1) - weights[cut].sum(axis=-1)).astype(np.float32)
    same = keys is queries
    queries = queries[rows]
    return Maps(
        weights=np.ascontiguousarray(weights[cut], dtype=np.float32),
        allowed=allowed[cut],
        intended=intended[cut],
        outside=outside,
        queries=queries,
        keys=queries if same else keys[columns],
        first_query=first_query,
        first_key=first_key,
        all_queries=all_queries,
        all_keys=all_keys,
        last_start=last_start,
    )


def _any_piece(mask: np.ndarray, rows: list[int], columns: list[int]) -> np.ndarray:
    starts_q, starts_k = (_first(numbers) for numbers in (rows, columns))
    return np.logical_or.reduceat(np.logical_or.reduceat(mask, starts_q, axis=0), starts_k, axis=1)


def _first(numbers: list[int]) -> list[int]:
    return [i for i, number in enumerate(numbers) if i == 0 or numbers[i - 1] != number]


@lru_cache(maxsize=4)
def _rollout(request: Request, call_name: str, sample: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights (len, len), and whether any path leads there through the applied and through the meant masks."""
    made = run(request)
    calls = rollout_layers(made, made.call(call_name))
    if not calls:
        raise ValueError(f"rollout needs self-attention of a whole text in every layer: got {call_name}")
    paths: dict[str, Tensor] = {}

    def layers() -> Iterator[Tensor]:
        for call in calls:
            inputs = one_sample(made.inputs[call.name], sample)
            weights = inputs.trace(keep={"weights"}).weights
            assert weights is not None
            for name, mask in (("allowed", inputs.allowed), ("intended", inputs.intended)):
                step = mask.expand(weights.shape)[0].any(dim=0) | torch.eye(weights.shape[-1], dtype=torch.bool)
                before = paths.get(name)
                paths[name] = step if before is None else (step.float() @ before.float()) > 0
            yield weights[0].float().mean(dim=0)  # (len, len): one layer at a time is held

    weights = deque(rollouts(layers()), maxlen=1).pop()
    return tuple(_frozen(tensor.numpy()) for tensor in (weights.float(), paths["allowed"], paths["intended"]))  # type: ignore[return-value]


def _frozen(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array
