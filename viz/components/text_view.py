"""A text as its tokens: point at one, and the others are shaded by the weight between them."""

from collections.abc import Mapping, Sequence

import numpy as np

from viz.components.frames import SHARED_WORDS, Piece, common_header, component, map_arrays, piece_entries
from viz.components.packing import pack
from viz.figures.scales import LOG_FLOOR, SCALES

EXACT_TOKENS = 256  # up to here numbers are float32, above in 1/65000
WORDS = (
    *SHARED_WORDS,
    "direction",
    "shade_row",
    "shade_column",
    "between",
    "scale_fixed",
    "scale_row_max",
    "scale_log",
)

_mount = component("text_view")


def text_view(
    weights: np.ndarray,
    *,
    queries: Sequence[Piece],
    keys: Sequence[Piece] | None,
    allowed: np.ndarray,
    intended: np.ndarray,
    words: Mapping[str, str],
    key: str,
    outside: np.ndarray | None = None,
    first_query: int = 0,
    first_key: int = 0,
    scale: str = "fixed",
) -> None:
    """Draws the view; pointing, pinning and the keyboard are answered in the browser.

    Args:
        weights: (q_len, k_len) float32; NaN and infinity have marks of their own.
        queries: q_len pieces: who looks.
        keys: k_len pieces: who is looked at, as a text of its own; None: the queries themselves.
        allowed: (q_len, k_len) bool, the mask that was applied.
        intended: likewise, the mask that was meant; weight outside it is outlined as a leak.
        words: one text for each of ``WORDS``.
        key: of the element; the pinned token stays while the pieces do.
        outside: (q_len,) float32, what goes to keys that are not drawn.
        first_query: number of the first query.
        first_key: number of the first key.
        scale: of the shade: "fixed" (0 to 1), "row-max" (share of the row's largest) or "log".
    """
    _mount(
        data=text_data(
            weights, queries=queries, keys=keys, allowed=allowed, intended=intended, words=words, outside=outside,
            first_query=first_query, first_key=first_key, scale=scale,
        ),
        key=key,
    )  # fmt: skip


def text_data(
    weights: np.ndarray,
    *,
    queries: Sequence[Piece],
    keys: Sequence[Piece] | None,
    allowed: np.ndarray,
    intended: np.ndarray,
    words: Mapping[str, str],
    outside: np.ndarray | None = None,
    first_query: int = 0,
    first_key: int = 0,
    scale: str = "fixed",
) -> bytes:
    """What ``text_view`` sends.

    Raises:
        ValueError: if a size does not fit, or there is no such scale.
        KeyError: if a word is missing.
    """
    shape = (len(queries), len(queries if keys is None else keys))
    if weights.shape != shape:
        raise ValueError(f"need one row per query and one column per key, {shape}: got weights of {weights.shape}")
    if scale not in SCALES:
        raise ValueError(f"scale must be one of {', '.join(SCALES)}: got {scale!r}")
    exact = max(shape) <= EXACT_TOKENS
    header = common_header(words, WORDS) | {
        "queries": piece_entries(queries, first_query, flowing=True),
        "keys": None if keys is None else piece_entries(keys, first_key, flowing=True),
        "scale": scale,
        "floor": LOG_FLOOR,
    }
    arrays = map_arrays(
        weights[None], allowed=allowed[None], intended=intended[None], exact=exact,
        outside=None if outside is None else outside[None],
    )  # fmt: skip
    return pack(header, arrays)
