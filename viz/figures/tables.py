"""The numbers of a map as rows of a table: the twin of a figure for those who cannot see it, or want to read it.

Rows are plain dicts with unique keys, so that any table view can show them, however often a token repeats.
"""

from collections.abc import Sequence

import numpy as np

from viz.figures.cells import check_mask, check_tokens
from viz.figures.labels import hover_text
from viz.figures.words import FigureWords

Row = dict[str, str | float | bool | None]


def head_table(
    weights: np.ndarray,
    *,
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    top: int = 3,
    allowed: np.ndarray | None = None,
    words: FigureWords | None = None,
) -> list[Row]:
    """For each query its keys of largest weight.

    Args:
        weights: (q_len, k_len) float; NaN counts as smallest.
        query_tokens: q_len strings.
        key_tokens: k_len strings.
        top: keys per query, at least 1.
        allowed: bool, broadcastable; adds a column with the number of keys that the query may attend to.
        words: names of the columns. None: English.

    Returns:
        One dict per query: query, then key and weight for each rank; weights are exact floats, ``None`` beyond the
            last key.
    """
    words = words or FigureWords()
    weights = _matrix(weights)
    queries = check_tokens("query", query_tokens, weights.shape[0], "row")
    keys = check_tokens("key", key_tokens, weights.shape[1], "column")
    mask = check_mask("allowed", allowed, weights.shape)
    if top < 1:
        raise ValueError(f"top must be at least 1: got {top}")
    order = np.argsort(-np.nan_to_num(weights, nan=-np.inf), axis=1, kind="stable")[:, :top]
    counts = None if mask is None else np.broadcast_to(mask, weights.shape).sum(axis=1).tolist()
    rows: list[Row] = []
    for i, query in enumerate(queries):
        row: Row = {words.table_query: label(i, query)}
        for rank in range(1, top + 1):
            found = rank <= order.shape[1]
            j = int(order[i, rank - 1]) if found else 0
            row[words.table_key.format(rank=rank)] = label(j, keys[j]) if found else None
            row[words.table_weight.format(rank=rank)] = float(weights[i, j]) if found else None
        if counts is not None:
            row[words.table_allowed] = counts[i]
        rows.append(row)
    return rows


def matrix_table(
    values: np.ndarray, *, query_tokens: Sequence[str], key_tokens: Sequence[str], words: FigureWords | None = None
) -> list[Row]:
    """The whole map: one dict per query, one entry per key, headed ``{index} {token}``."""
    words = words or FigureWords()
    values = _matrix(values)
    queries = check_tokens("query", query_tokens, values.shape[0], "row")
    headers = [label(j, key) for j, key in enumerate(check_tokens("key", key_tokens, values.shape[1], "column"))]
    return [
        {words.table_query: label(i, query), **dict(zip(headers, row, strict=True))}
        for i, (query, row) in enumerate(zip(queries, values.tolist(), strict=True))
    ]


def sent_by(
    weights: np.ndarray, query: int, *, key_tokens: Sequence[str], words: FigureWords | None = None
) -> list[Row]:
    """Where one query looks: a row of the map, one dict per key; its weights sum to 1."""
    words = words or FigureWords()
    weights = _matrix(weights)
    keys = check_tokens("key", key_tokens, weights.shape[1], "column")
    return [{words.key: label(j, key), words.weight: float(weights[query, j])} for j, key in enumerate(keys)]


def received_by(
    weights: np.ndarray, key: int, *, query_tokens: Sequence[str], words: FigureWords | None = None
) -> list[Row]:
    """Who looks at one key: a column of the map, one dict per query; its weights sum to anything."""
    words = words or FigureWords()
    weights = _matrix(weights)
    queries = check_tokens("query", query_tokens, weights.shape[0], "row")
    return [{words.query: label(i, query), words.weight: float(weights[i, key])} for i, query in enumerate(queries)]


def label(index: int, token: str) -> str:
    """``{index} {token}``, exact and in plain text: unique however often a token repeats."""
    return f"{index} {hover_text(token)}"


def _matrix(values: np.ndarray) -> np.ndarray:
    array = np.asarray(values)
    if array.ndim != 2:
        raise ValueError(f"values must be (q_len, k_len): got {array.shape}; choose one head")
    return array
