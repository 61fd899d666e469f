"""Two columns of tokens, queries and keys, with a line for each weight."""

from collections.abc import Mapping, Sequence

import numpy as np

from viz.components.frames import SHARED_WORDS, Piece, common_header, component, map_arrays, piece_entries
from viz.components.packing import pack

EXACT_TOKENS = 32  # up to here numbers are float32, above in 1/65000
WORDS = (*SHARED_WORDS, "heads", "head", "all_heads", "no_head", "threshold", "drawn", "thinned", "not_numbers")
THRESHOLDS = (0.0, 0.001, 0.01, 0.05, 0.1, 0.2, 0.5)
USUAL_THRESHOLD = 0.01
MOST_DRAWN = 12_000  # lines together; a browser without a graphics card takes half a second for them

_mount = component("lines_view")


def lines_view(
    weights: np.ndarray,
    *,
    queries: Sequence[Piece],
    keys: Sequence[Piece],
    allowed: np.ndarray,
    intended: np.ndarray,
    words: Mapping[str, str],
    key: str,
    head: int = 0,
    outside: np.ndarray | None = None,
    first_query: int = 0,
    first_key: int = 0,
) -> None:
    """Draws the view; heads, threshold, pointing, pinning and the keyboard are answered in the browser.

    Args:
        weights: (heads, q_len, k_len) float32.
        queries: q_len pieces, the left column.
        keys: k_len pieces, the right column.
        allowed: (heads, q_len, k_len) bool, the mask that was applied.
        intended: likewise, the mask that was meant; a line outside it is a leak and is always drawn.
        words: one text for each of ``WORDS``.
        key: of the element; heads, threshold and pinned token stay while there are as many heads and the same pieces.
        head: the one that is on at first.
        outside: (heads, q_len) float32, what goes to keys that are not drawn.
        first_query: number of the first query.
        first_key: number of the first key.
    """
    _mount(
        data=lines_data(
            weights, queries=queries, keys=keys, allowed=allowed, intended=intended, words=words, head=head,
            outside=outside, first_query=first_query, first_key=first_key,
        ),
        key=key,
    )  # fmt: skip


def lines_data(
    weights: np.ndarray,
    *,
    queries: Sequence[Piece],
    keys: Sequence[Piece],
    allowed: np.ndarray,
    intended: np.ndarray,
    words: Mapping[str, str],
    head: int = 0,
    outside: np.ndarray | None = None,
    first_query: int = 0,
    first_key: int = 0,
) -> bytes:
    """What ``lines_view`` sends.

    Raises:
        ValueError: if a size does not fit.
        KeyError: if a word is missing.
    """
    if weights.ndim != 3 or weights.shape[1:] != (len(queries), len(keys)):
        wanted = f"(heads, {len(queries)}, {len(keys)})"
        raise ValueError(f"need one row per query and one column per key, {wanted}: got weights of {weights.shape}")
    if not 0 <= head < weights.shape[0]:
        raise ValueError(f"head must be one of {weights.shape[0]}: got {head}")
    header = common_header(words, WORDS) | {
        "queries": piece_entries(queries, first_query, flowing=False),
        "keys": piece_entries(keys, first_key, flowing=False),
        "head": head,
        "thresholds": list(THRESHOLDS),
        "threshold": USUAL_THRESHOLD,
        "most": MOST_DRAWN,
    }
    exact = max(weights.shape[1:]) <= EXACT_TOKENS
    return pack(header, map_arrays(weights, allowed=allowed, intended=intended, exact=exact, outside=outside))
