"""Text to token ids and to tokens that can be shown: labels and offsets come from the text as it was typed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor

from attention_core.runs import Note, Token

PaddingSide = Literal["left", "right"]


@dataclass(frozen=True, eq=False)
class Batch:
    """Texts as a model reads them.

    Attributes:
        ids: (batch, len) int64.
        real: (batch, len) bool, False = padding.
        positions: (batch, len) int64, counted over real tokens alone, from 0; padding repeats a neighbour's.
        tokens: one tuple per sample.
        notes: what was cut or could not be read.
    """

    ids: Tensor
    real: Tensor
    positions: Tensor
    tokens: tuple[tuple[Token, ...], ...]
    notes: tuple[Note, ...]


class TextReader:
    """A tokenizer whose every call is independent: it truncates and pads here, not in the tokenizer's shared state.

    Args:
        backend: a ``tokenizers.Tokenizer``; taken over (its own truncation and padding are switched off).
        special_ids: ids that mean something to the model rather than text.
        unknown_id: id that stands for text outside the vocabulary; None where there is none.
        pad_id: id of the filler; any id will do where the model has none, the mask keeps it from being read.
        limit: most tokens the tokenizer was made for; held for the model, not applied here.
        mask_id: id of the token that stands for a hidden word; None where there is none.
    """

    def __init__(
        self,
        backend: Any,
        *,
        special_ids: frozenset[int],
        unknown_id: int | None,
        pad_id: int,
        limit: int | None = None,
        mask_id: int | None = None,
    ) -> None:
        backend.no_truncation()
        backend.no_padding()
        self._backend = backend
        self._special_ids = special_ids
        self._unknown_id = unknown_id
        self._pad_id = pad_id
        self._pad_piece = backend.id_to_token(pad_id) or ""
        self.limit = limit
        self.mask_id = mask_id
        self._added = backend.num_special_tokens_to_add(False)

    def read(self, texts: Sequence[str], *, padding_side: PaddingSide = "right", limit: int | None = None) -> Batch:
        """Reads texts into one padded batch.

        Args:
            texts: one string per sample; an empty string gives the tokens that the tokenizer adds, if it adds any.
            padding_side: where shorter samples are filled up.
            limit: most tokens per sample, added ones included; the text is cut, the added tokens stay.

        Raises:
            ValueError: if there is no text, no token, a broken character, or a limit that leaves no room.
            TypeError: if a text is not a string.
        """
        if padding_side not in ("left", "right"):
            raise ValueError(f'padding_side must be "left" or "right": got {padding_side!r}')
        if not texts:
            raise ValueError("need at least one text: got none")
        if limit is not None and limit <= self._added:
            raise ValueError(f"max_tokens must leave room for the text beside {self._added} added tokens: got {limit}")
        notes: list[Note] = []
        rows: list[list[int]] = []
        samples: list[tuple[Token, ...]] = []
        for sample, text in enumerate(texts):
            ids, tokens = self.read_one(sample, text, limit, notes)
            rows.append(ids)
            samples.append(tokens)
        return self.batch(rows, samples, padding_side=padding_side, notes=notes)

    def batch(
        self,
        rows: Sequence[Sequence[int]],
        tokens: Sequence[tuple[Token, ...]],
        *,
        padding_side: PaddingSide = "right",
        notes: Sequence[Note] = (),
    ) -> Batch:
        """One padded batch of samples that are ids already, with their tokens."""
        samples = list(tokens)
        width = max(len(row) for row in rows)
        filler = Token(label=self._pad_piece, piece=self._pad_piece, id=self._pad_id, special=True, padding=True)
        ids = torch.full((len(rows), width), self._pad_id, dtype=torch.int64)
        real = torch.zeros(len(rows), width, dtype=torch.bool)
        for i, row in enumerate(rows):
            gap = width - len(row)
            start = gap if padding_side == "left" else 0
            ids[i, start : start + len(row)] = torch.tensor(row, dtype=torch.int64)
            real[i, start : start + len(row)] = True
            samples[i] = (filler,) * start + samples[i] + (filler,) * (gap - start)
        positions = (real.long().cumsum(dim=-1) - 1).clamp(min=0)
        return Batch(ids, real, positions, tuple(samples), tuple(notes))

    def written(self, id_: int) -> str:
        """A word of the vocabulary as it is written, with the space before it where it has one.

        The tokenizer's own string where the word is no text of its own: half a character, a filler, an id past its end.
        """
        piece = self._backend.id_to_token(id_)
        if piece is None:
            return f"[{id_}]"
        if piece.startswith("▁"):
            return piece.replace("▁", " ")
        text = self._backend.decode([id_], skip_special_tokens=False)
        return piece if not text or "\ufffd" in text else text

    def read_one(
        self, sample: int, text: str, limit: int | None, notes: list[Note]
    ) -> tuple[list[int], tuple[Token, ...]]:
        """Ids and tokens of one text; what there is to say about it goes to ``notes``. The same rules as ``read``."""
        if not isinstance(text, str):
            raise TypeError(f"a text must be a string: got {type(text).__name__} for sample {sample}")
        broken = next((i for i, ch in enumerate(text) if "\ud800" <= ch <= "\udfff"), None)
        if broken is not None:
            raise ValueError(
                f"a text must be valid Unicode: got half a character (U+{ord(text[broken]):04X}) at {broken}; delete it"
            )
        encoding = self._backend.encode(text)
        added = [bool(flag) for flag in encoding.special_tokens_mask]
        if not added:
            raise ValueError(f"need at least one token: got none for sample {sample}, {text!r}; type a word")
        keep = list(range(len(added)))
        if limit is not None and len(added) > limit:
            room = limit - sum(added)
            written = [i for i in keep if not added[i]][:room]
            keep = sorted(written + [i for i in keep if added[i]])
            notes.append(Note("truncated", {"kept": limit, "total": len(added), "limit": limit, "sample": sample}))
        ids = [encoding.ids[i] for i in keep]
        tokens = tuple(self._label(text, encoding, added)[i] for i in keep)
        unknown = sum(token.unknown for token in tokens)
        if unknown:
            written = sum(not token.special for token in tokens)
            notes.append(Note("unknown_tokens", {"count": unknown, "total": written, "sample": sample}))
        for index, token in enumerate(tokens):
            if token.typed_special:
                notes.append(Note("typed_special", {"index": index, "label": token.label, "sample": sample}))
        return ids, tokens

    def spelled(self, ids: Sequence[int]) -> tuple[str, tuple[Token, ...]]:
        """The text that ids spell, without special ones, and their tokens with offsets into it."""
        text = self._backend.decode(list(ids), skip_special_tokens=True)
        tokens: list[Token] = []
        begin, waiting = 0, 0  # where the text that is not told yet begins, and how many tokens wait for its end
        for i, id_ in enumerate(ids):
            piece = self._backend.id_to_token(id_) or f"[{id_}]"
            if id_ in self._special_ids:
                tokens.append(Token(label=piece, piece=piece, id=id_, special=True))
                continue
            tokens.append(Token(label=piece, piece=piece, id=id_, unknown=id_ == self._unknown_id))
            waiting += 1
            so_far = self._backend.decode(list(ids[: i + 1]), skip_special_tokens=True)
            whole = text.startswith(so_far) and so_far != text
            if not whole and any(later not in self._special_ids for later in ids[i + 1 :]):
                continue  # half a character: its other half comes
            end = len(so_far) if whole else len(text)
            places = [k for k in range(i + 1) if ids[k] not in self._special_ids][-waiting:]
            for part, k in enumerate(places):
                start = begin + (text[begin:end].strip() == tokens[k].piece and text[begin] == " ")
                label = text[start:end] if waiting == 1 else f"{text[start:end]}·{part + 1}/{waiting}"
                tokens[k] = replace(tokens[k], label=label or tokens[k].piece, span=(start, end))
            begin, waiting = end, 0
        return text, tuple(tokens)

    def _label(self, text: str, encoding: Any, added: Sequence[bool]) -> list[Token]:
        pieces, spans, ids = encoding.tokens, encoding.offsets, encoding.ids
        parts = _parts(pieces, spans, added)
        tokens = []
        for i, (piece, (start, end), id_) in enumerate(zip(pieces, spans, ids, strict=True)):
            if added[i]:
                tokens.append(Token(label=piece, piece=piece, id=id_, special=True))
                continue
            if _is_borrowed(i, pieces, spans, added):
                tokens.append(Token(label=piece, piece=piece, id=id_))
                continue
            covered = text[start:end]
            typed = id_ in self._special_ids and covered.strip() == piece
            part, count = parts[i]
            label = covered if count == 1 else f"{covered}·{part}/{count}"
            tokens.append(
                Token(
                    label=label or piece,
                    piece=piece,
                    span=(start, end),
                    id=id_,
                    typed_special=typed,
                    unknown=id_ == self._unknown_id and not typed,
                )
            )
        return tokens


def _is_borrowed(i: int, pieces: Sequence[str], spans: Sequence[tuple[int, int]], added: Sequence[bool]) -> bool:
    """True for a lone word-start mark that stands for no typed space: its span is borrowed from the next letter."""
    alone = pieces[i].startswith("▁") and not pieces[i].strip("▁")
    return alone and i + 1 < len(spans) and not added[i + 1] and spans[i + 1][0] < spans[i][1]


def _parts(pieces: Sequence[str], spans: Sequence[tuple[int, int]], added: Sequence[bool]) -> list[tuple[int, int]]:
    """(which, of how many) for each token among those that share a character; (1, 1) for one that shares none."""
    groups: list[list[int]] = []
    reach = 0  # end of the previous token's span, where a shared character may go on
    for i, (start, end) in enumerate(spans):
        outside = added[i] or _is_borrowed(i, pieces, spans, added)
        if not outside and start < min(reach, end):
            groups[-1].append(i)
        else:
            groups.append([i])
        reach = 0 if outside else end
    parts = [(1, 1)] * len(spans)
    for group in groups:
        for k, i in enumerate(group):
            parts[i] = (k + 1, len(group))
    return parts
