"""Maps beside each other are level, whatever their legends hold."""

import numpy as np

from viz.figures import head_heatmap
from viz.figures.level import levelled


def sizes(figure) -> tuple[int, int]:
    """(top margin, height below it)."""
    layout = figure.to_plotly_json()["layout"]
    return layout["margin"]["t"], layout["height"] - layout["margin"]["t"]


def test_plots_start_at_one_height_and_keep_their_size():
    weights = np.full((5, 5), 0.2, np.float32)
    causal = np.tril(np.ones((5, 5), bool))
    tokens = list("abcde")
    plain = head_heatmap(weights, query_tokens=tokens, key_tokens=tokens)
    marked = head_heatmap(
        weights, query_tokens=tokens, key_tokens=tokens, allowed=~causal, intended=causal,
        padded_keys=[True, False, False, False, False],
    )  # fmt: skip
    (top, below), (marked_top, marked_below) = sizes(plain), sizes(marked)
    level = max(top, marked_top) + 3 * 19  # four entries: not allowed, leak, wrongly blocked, padding
    assert list(map(sizes, levelled([plain, marked]))) == [(level, below), (level, marked_below)]


def test_legends_of_one_row_change_nothing():
    weights = np.eye(5, dtype=np.float32)
    figure = head_heatmap(weights, query_tokens=list("abcde"), key_tokens=list("abcde"))
    before = sizes(figure)
    assert list(map(sizes, levelled([figure]))) == [before]
