"""Tables beside the figures: unique headers, right direction, exact numbers."""

import numpy as np
import pytest

from viz.figures import head_table, matrix_table, received_by, sent_by

W = np.array([[0.1, 0.9, 0], [0.2, 0.3, 0.5], [0.6, 0.4, 0]])


def test_a_query_sends_its_row() -> None:
    """C151."""
    rows = sent_by(W, 1, key_tokens=["A", "B", "C"])
    assert rows == [{"key": "0 A", "weight": 0.2}, {"key": "1 B", "weight": 0.3}, {"key": "2 C", "weight": 0.5}]


def test_a_key_receives_its_column() -> None:
    """C151."""
    rows = received_by(W, 1, query_tokens=["A", "B", "C"])
    assert rows == [{"query": "0 A", "weight": 0.9}, {"query": "1 B", "weight": 0.3}, {"query": "2 C", "weight": 0.4}]


def test_the_matrix_has_unique_headers_for_repeated_tokens() -> None:
    """C154."""
    rows = matrix_table(W, query_tokens=["the", "cat", "the"], key_tokens=["the", "cat", "the"])
    assert [list(row) for row in rows] == [["query", "0 the", "1 cat", "2 the"]] * 3
    assert [list(row.values()) for row in rows] == [
        ["0 the", 0.1, 0.9, 0.0],
        ["1 cat", 0.2, 0.3, 0.5],
        ["2 the", 0.6, 0.4, 0.0],
    ]


def test_top_keys_of_each_query() -> None:
    rows = head_table(
        W, query_tokens=["a", "", "c"], key_tokens=["x", "y", "x"], top=2, allowed=np.tril(np.ones((3, 3), bool))
    )
    assert rows == [
        {"query": "0 a", "key 1": "1 y", "weight 1": 0.9, "key 2": "0 x", "weight 2": 0.1, "keys it may attend to": 1},
        {"query": '1 ""', "key 1": "2 x", "weight 1": 0.5, "key 2": "1 y", "weight 2": 0.3, "keys it may attend to": 2},
        {"query": "2 c", "key 1": "0 x", "weight 1": 0.6, "key 2": "1 y", "weight 2": 0.4, "keys it may attend to": 3},
    ]


def test_ties_keep_token_order_nan_comes_last_and_missing_ranks_are_none() -> None:
    rows = head_table(np.array([[0.5, np.nan, 0.5]]), query_tokens=["q"], key_tokens=["a", "b", "c"], top=4)
    assert [rows[0][f"key {rank}"] for rank in range(1, 5)] == ["0 a", "2 c", "1 b", None]
    assert rows[0]["weight 4"] is None and np.isnan(rows[0]["weight 3"])


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="top must be at least 1: got 0"):
        head_table(W, query_tokens=["a", "b", "c"], key_tokens=["a", "b", "c"], top=0)
    with pytest.raises(ValueError, match=r"values must be \(q_len, k_len\)"):
        matrix_table(W[None], query_tokens=["a"], key_tokens=["a"])
    with pytest.raises(ValueError, match="need one query token per row: got 2 tokens for 3"):
        received_by(W, 0, query_tokens=["a", "b"])
