"""What the switches did to the answer: likeliest words, surprise of the text, similarity of sentences."""

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

import streamlit as st

from viz.figures.labels import visible
from viz.pages.explore_state import key
from viz.services.answers import (
    FORETELLING,
    SLOW_TOKENS,
    Pair,
    Prediction,
    TextNumbers,
    Word,
    mask_word,
    output_change,
    predictions,
    similarities,
    task_of,
    text_numbers,
)
from viz.services.attention import ModelRequest, embedding_cosines, revision, run, text_of
from viz.services.views import CallView
from viz.text import t

_STYLES = Path(__file__).resolve().parents[2] / "assets" / "styles" / "explore_answer.css"
WORD_WIDTH = 24  # columns of a word in a list
_LONG_TEXT = "text_numbers"  # session key: revision of the long text that was asked for


def draw(request: ModelRequest, shown: CallView) -> None:
    """The section at the foot of the page, for whatever the model answers with."""
    task, neutral = task_of(request), request.switches.neutral
    words = task in (*FORETELLING, "fill-mask")
    st.header(t("answer.title_neutral" if neutral and words else "answer.title"))
    if neutral:
        st.caption(t("answer.neutral_words" if words else "answer.neutral"))
    if neutral and not words:
        return
    st.html(_STYLES)
    if words:
        _words(request, shown.sample)
        if task in FORETELLING:
            _text(request, shown)
    elif task == "embedding":
        _embeddings(request)
    else:
        st.write(t("answer.output", change=output_change(request, shown.sample)))


def _words(request: ModelRequest, sample: int) -> None:
    found = predictions(request, sample)
    if not found:
        st.caption(t("answer.no_mask", mask=mask_word(request.model)))
    for one in found:
        behind = "answer.next_target" if task_of(request) == "seq2seq" else "answer.next"
        title = t(behind) if one.place is None else t("answer.masked", place=one.place)
        st.html(f'<div class="answer-words"><b>{escape(title)}</b>{_lists(one, request.switches.neutral)}</div>')
        if not request.switches.neutral:
            st.caption(t("answer.kl_here", kl=_number(one.kl)))


def _lists(one: Prediction, neutral: bool) -> str:
    before = _list(t("answer.before"), [(word, word.before, None) for word in one.before])
    after = _list(t("answer.after"), [(word, word.after, word.points) for word in one.after])
    return f'<div class="answer-lists">{before}{"" if neutral else after}</div>'


def _list(title: str, rows: Sequence[tuple[Word, float, float | None]]) -> str:
    changed = any(points is not None for _, _, points in rows)
    lines = "".join(
        f'<tr><td><bdi>{escape(visible(word.text, WORD_WIDTH))}</bdi></td><td class="bar">'
        f'<span style="width:{share:.2%}"></span></td><td class="number">{share:.1%}</td>'
        + ("" if points is None else f'<td class="number">{escape(t("answer.points", change=points))}</td>')
        + "</tr>"
        for word, share, points in rows
    )
    names = [t("answer.word"), "", t("answer.probability"), *([t("answer.change")] if changed else [])]
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    return f"<table><caption>{escape(title)}</caption><tr>{head}</tr>{lines}</table>"


def _text(request: ModelRequest, shown: CallView) -> None:
    """Perplexity and divergence over the whole text; for long ones on request, since they take seconds."""
    name = revision(request, shown.sample)
    made = run(request)
    tokens, target = len(made.tokens["self"][shown.sample]), "source" in made.tokens
    if tokens > SLOW_TOKENS and st.session_state.get(key(_LONG_TEXT)) != name:
        st.button(
            t("answer.text_button", tokens=tokens), key=key("text_numbers_button"),
            on_click=st.session_state.__setitem__, args=(key(_LONG_TEXT), name),
        )  # fmt: skip
        return
    with st.spinner(t("answer.text_working"), show_time=False):
        numbers = text_numbers(request, shown.sample)
    if numbers is None:
        return
    if not numbers.predicted:
        st.caption(t("answer.none_predicted_target" if target else "answer.none_predicted"))
        return
    neutral = request.switches.neutral
    rows = [
        (t("answer.perplexity"), _number(numbers.perplexity_before), _number(numbers.perplexity_after)),
        (t("answer.nll"), _number(numbers.nll_before), _number(numbers.nll_after)),
    ]
    rows += [] if neutral else [(t("answer.kl_mean"), "", _number(numbers.kl))]
    names = (t("answer.target" if target else "answer.text"), t("answer.before"), t("answer.after"))
    columns = 2 if neutral else 3
    st.html(_table(names[:columns], [row[:columns] for row in rows]))
    st.caption(t("answer.target_note" if target else "answer.text_note", predicted=numbers.predicted))
    if st.toggle(t("answer.tokens"), key=key("answer_tokens_open")):
        st.dataframe(_by_token(numbers, neutral), hide_index=True)


def _by_token(numbers: TextNumbers, neutral: bool) -> dict[str, list]:
    columns: dict[str, list] = {
        t("answer.word"): [visible(token.text) for token in numbers.tokens],
        t("answer.column_before"): [token.before for token in numbers.tokens],
    }
    if not neutral:
        columns[t("answer.column_after")] = [token.after for token in numbers.tokens]
        columns[t("answer.change")] = [token.change for token in numbers.tokens]
        columns[t("answer.column_kl")] = [token.kl for token in numbers.tokens]
    return columns


def _embeddings(request: ModelRequest) -> None:
    st.write(t("answer.cosine"))
    cosines = zip(map(text_of, request.texts), embedding_cosines(request), strict=True)
    st.html(
        _table(
            [t("answer.column_sample"), t("answer.column_cosine")],
            [(text, f"{cosine:.4f}") for text, cosine in cosines],
        )
    )
    st.write(t("answer.pairs"))
    own, examples = similarities(request)
    if own:
        st.html(_pairs(t("answer.pairs_own"), own))
    st.html(_pairs(t("answer.pairs_examples"), examples))
    if any(pair.after is None for pair in (*own, *examples)):
        st.caption(t("answer.unfit_note"))


def _pairs(title: str, pairs: Iterable[Pair]) -> str:
    names = [title, t("answer.before"), t("answer.after"), t("answer.change")]
    rows = []
    for pair in pairs:
        unknown = pair.after is None or pair.change is None
        after = [t("answer.unfit")] * 2 if unknown else [f"{pair.after:.3f}", f"{pair.change:+.3f}"]
        rows.append((f"{pair.first}\n{pair.second}", f"{pair.before:.3f}", *after))
    return _table(names, rows)


def _table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A small table: texts at the left, numbers at the right."""
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = ""
    for first, *numbers in rows:
        text = "<br>".join(f"<bdi>{escape(line)}</bdi>" for line in first.split("\n"))
        body += f"<tr><td>{text}</td>{''.join(f'<td>{escape(one)}</td>' for one in numbers)}</tr>"
    return f'<table class="answer"><tr>{head}</tr>{body}</table>'


def _number(value: float) -> str:
    return f"{value:.3g}" if 1e-3 <= abs(value) < 1e4 or value == 0 else f"{value:.2e}"
