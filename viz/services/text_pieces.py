"""Tokens as they stand in their text, one by one or joined to words."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from attention_core.runs import Token
from attention_core.segmentation import words

KINDS = ("text", "special", "typed_special", "padding", "unknown")


@dataclass(frozen=True)
class Piece:
    """One token or word.

    Attributes:
        gap: what the text holds between it and the piece before; no token covers that.
        text: the piece exactly.
        kind: one of ``KINDS``: plain text, added by the tokenizer, a special string that was typed, filler, or text
            that the model has no entry for.
        tokens: indices of its tokens, in order.
    """

    gap: str
    text: str
    kind: str
    tokens: tuple[int, ...]


def token_pieces(tokens: Sequence[Token], text: str) -> tuple[Piece, ...]:
    """One piece per token; what stands between them goes to the gaps.

    Where the tokens do not belong to the text (a second text of the same run), a gap is one space.
    """
    return _pieces([(i,) for i in range(len(tokens))], tokens, text)


def word_pieces(tokens: Sequence[Token], text: str) -> tuple[Piece, ...]:
    """One piece per word, by the rule that the from-scratch core cuts words with.

    A token belongs to the word in which its first character that is no white space stands. Chinese characters and kana
    are words of one character, punctuation marks are words; added tokens, typed special tokens, fillers and white space
    stay alone, and so do all where the tokens do not belong to the text.
    """
    if not _belongs(tokens, text):
        return token_pieces(tokens, text)
    starts = [start for start, _ in words(text)]
    groups: list[list[int]] = []
    last = None
    for i, token in enumerate(tokens):
        word = _word(token, text, starts)
        if word is not None and word == last:
            groups[-1].append(i)
        else:
            groups.append([i])
        last = word
    return _pieces([tuple(group) for group in groups], tokens, text)


def groups(pieces: Sequence[Piece]) -> list[int]:
    """Number of the piece of each token, as ``diagnostics.merge_words`` wants it."""
    return [number for number, piece in enumerate(pieces) for _ in piece.tokens]


def _word(token: Token, text: str, starts: list[int]) -> int | None:
    if token.span is None or token.special or token.typed_special or token.padding:
        return None
    start, end = token.span
    covered = text[start:end]
    if not covered.strip():
        return None
    return bisect_right(starts, start + len(covered) - len(covered.lstrip())) - 1


def _pieces(grouped: Sequence[tuple[int, ...]], tokens: Sequence[Token], text: str) -> tuple[Piece, ...]:
    made = []
    known = _belongs(tokens, text)
    reached = 0  # end of what the pieces so far have covered
    for indices in grouped:
        spans = [span for span in (tokens[i].span for i in indices) if span is not None]
        if not spans:
            made.append(Piece("", tokens[indices[0]].label, _kind(indices, tokens), indices))
            continue
        start, end = min(a for a, _ in spans), max(b for _, b in spans)
        label = tokens[indices[0]].label if len(indices) == 1 else text[start:end]
        gap = text[reached:start] if known else " " * (0 < reached < start)
        made.append(Piece(gap, label, _kind(indices, tokens), indices))
        reached = max(reached, end) if known else end
    return tuple(made)


def _belongs(tokens: Sequence[Token], text: str) -> bool:
    """Whether the labels stand in the text where the spans say; parts of a character are labelled with its text."""
    spans = ((token.span, token.label) for token in tokens if token.span is not None)
    return all(
        end <= len(text) and (start == end or label.startswith(text[start:end])) for (start, end), label in spans
    )


def _kind(indices: tuple[int, ...], tokens: Sequence[Token]) -> str:
    first = tokens[indices[0]]
    if first.padding:
        return "padding"
    if first.special:
        return "special"
    if first.typed_special:
        return "typed_special"
    return "unknown" if any(tokens[i].unknown for i in indices) else "text"
