"""Figures with spoilt tokens, served to the browser tests: ``?case=...``."""

import numpy as np
import streamlit as st

from tests.figures.nasty import NASTY
from viz.figures import head_grid, head_heatmap

GRID_TOKENS = ("the", "cat", "the", "<s>", "&amp;", "$x$", "\n", "你好", "שלום", "10", "%{x}")


def softmax_rows(heads: int, length: int, allowed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    scores = np.random.default_rng(7).normal(size=(heads, length, length)).astype(np.float32)
    raised = np.exp(scores) * allowed
    return (raised / raised.sum(-1, keepdims=True)).astype(np.float32), scores


def nasty_figure():
    length = len(NASTY)
    weights, _ = softmax_rows(1, length, np.ones((length, length), bool))
    return head_heatmap(
        weights[0], query_tokens=NASTY, key_tokens=NASTY, width=1300, title="<b>Head</b> $1$ &amp; #000001"
    )


def grid_figure():
    length = len(GRID_TOKENS)
    allowed = np.tril(np.ones((length, length), bool))
    weights, scores = softmax_rows(5, length, allowed)
    weights[2, 3, 7] = 2e-9  # a leak far below anything a colour could show
    weights[4, 5, 1] = np.nan
    return head_grid(
        weights, query_tokens=GRID_TOKENS, key_tokens=GRID_TOKENS, allowed=allowed, scores=scores, columns=3,
        width=1280,
        revision="grid", clickable=True,
    )  # fmt: skip


def sixty_figure():
    tokens = [f"tok{i}" for i in range(60)]
    weights, _ = softmax_rows(1, 60, np.ones((60, 60), bool))
    return head_heatmap(weights[0], query_tokens=tokens, key_tokens=tokens, width=900)


def large_figure():
    tokens = [f"tok{i}" for i in range(32)]
    allowed = np.tril(np.ones((32, 32), bool))
    weights, scores = softmax_rows(12, 32, allowed)
    return head_grid(weights, query_tokens=tokens, key_tokens=tokens, allowed=allowed, scores=scores, width=1280)


FIGURES = {"nasty": nasty_figure, "grid": grid_figure, "sixty": sixty_figure, "large": large_figure}

if __name__ == "__main__":
    st.set_page_config(layout="wide")
    case = st.query_params.get("case", "nasty")
    if case == "sixty":
        st.plotly_chart(FIGURES[case](), width=900, key="figure")
    elif case == "large":
        st.segmented_control("round", [0, 1, 2, 3], key="round", default=0)
        figure = FIGURES[case]()
        figure.update_layout(meta=st.session_state["round"])
        st.plotly_chart(figure, key="figure")
    else:
        st.plotly_chart(FIGURES[case](), key="figure", on_select="rerun" if case == "grid" else "ignore")
        if case == "grid":
            st.text(f"picked {[point['customdata'] for point in st.session_state['figure']['selection']['points']]}")
