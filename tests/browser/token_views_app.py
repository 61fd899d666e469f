"""The text view and the lines view on made-up numbers, served to the browser tests: ``?case=...&lang=...``."""

from dataclasses import dataclass

import numpy as np
import streamlit as st

from tests.figures.nasty import NASTY
from viz.components.lines_view import WORDS as LINES_WORDS
from viz.components.lines_view import lines_view
from viz.components.text_view import WORDS as TEXT_WORDS
from viz.components.text_view import text_view
from viz.text import template, use_language


@dataclass(frozen=True)
class Piece:
    text: str
    gap: str = ""
    kind: str = "text"


SMALL = ("one", "two", "three")
C151 = np.array([[0.1, 0.9, 0], [0.2, 0.3, 0.5], [0.6, 0.4, 0]], np.float32)
MARKED = np.array(
    [
        [0.4, 0.3, 0.3, 0, 0],
        [0.5, 0.5, 0, 1e-9, 0],
        [np.nan, np.inf, 0.2, 0, 0],
        [0, 0, 0, 1, 0],
        [0.2, 0.2, 0.3, 1e-8, 0.3],
    ],
    np.float32,
)


def pieces(texts: tuple[str, ...]) -> tuple[Piece, ...]:
    return tuple(Piece(text, " " if number else "") for number, text in enumerate(texts))


def weights(heads: int, queries: int, keys: int, seed: int = 0) -> np.ndarray:
    raised = np.exp(2 * np.random.default_rng(seed).normal(size=(heads, queries, keys)))
    return (raised / raised.sum(-1, keepdims=True)).astype(np.float32)


def text(values: np.ndarray, queries, keys=None, *, allowed=None, intended=None, scale: str = "fixed") -> None:
    everything = np.ones(values.shape, bool)
    text_view(
        values, queries=queries, keys=keys, allowed=everything if allowed is None else allowed,
        intended=everything if intended is None else intended, scale=scale,
        words={name: template(f"token_words.{name}") for name in TEXT_WORDS}, key="text",
    )  # fmt: skip


def lines(values: np.ndarray, queries, keys, *, intended=None) -> None:
    everything = np.ones(values.shape, bool)
    lines_view(
        values, queries=queries, keys=keys, allowed=everything, intended=everything if intended is None else intended,
        words={name: template(f"token_words.{name}") for name in LINES_WORDS}, key="lines",
    )  # fmt: skip


use_language(st.query_params.get("lang", "en"))
case = st.query_params.get("case", "small")
count = len(NASTY)
turn = st.session_state.setdefault("turn", 0)


def turned() -> None:
    st.session_state["turn"] += 1


st.button("turn", on_click=turned, key="turn_button")
if case == "small":
    text(C151 if turn % 2 == 0 else C151.T.copy(), pieces(SMALL))
elif case == "nasty":
    text(weights(1, count, count)[0], pieces(NASTY))
    lines(weights(3, count, count), pieces(NASTY), pieces(NASTY))
elif case == "cross":
    text(weights(1, 3, 5)[0], pieces(SMALL), pieces(("un", "deux", "trois", "quatre", "cinq")))
elif case == "marked":
    below = np.tril(np.ones((5, 5), bool))
    intended = below.copy()
    intended[0, 1] = False  # 0.3 there is a leak
    allowed = np.ones((5, 5), bool)
    allowed[0, 3:] = allowed[3, 0] = False
    text(MARKED, pieces(("a", "b", "c", "d", "e")), allowed=allowed, intended=intended)
elif case == "hebrew":
    text(weights(1, 4, 4)[0], (Piece("[CLS]", kind="special"), Piece("שלום"), Piece("עולם", " "), Piece(".")))
elif case == "lines":
    meant = np.ones((3, 5, 7), bool)
    values = weights(3, 5, 7, turn)
    values[1, 2, 6] = 1e-7
    meant[1, 2, 6] = False  # a leak far below every threshold
    lines(values, pieces(tuple("abcde")), pieces(tuple("ABCDEFG")), intended=meant)
elif case == "many":
    names = pieces(tuple(f"tok{i}" for i in range(256)))
    lines(weights(12, 256, 256), names, names)
