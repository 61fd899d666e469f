"""Text to token ids and to tokens that can be shown: labels and offsets come from the text as it was typed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor

from attention_core.pretrained.samples import Chat, Pair, Render, Sample, rendered
from attention_core.runs import Note, Span, Token

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
        texts: one string per sample, into which the tokens' offsets go.
        types: (batch, len) int64, which of the two texts of a pair a token is of, as the tokenizer numbers them; 0 in
            padding; None where no sample is a pair.
    """

    ids: Tensor
    real: Tensor
    positions: Tensor
    tokens: tuple[tuple[Token, ...], ...]
    notes: tuple[Note, ...]
    texts: tuple[str, ...] = ()
    types: Tensor | None = None


@dataclass(frozen=True)
class Reading:
    """One sample as a model reads it: equally many ids, types and tokens, and the text that the offsets go into."""

    text: str
    ids: list[int]
    types: list[int]
    tokens: tuple[Token, ...]


class TextReader:
    """A tokenizer whose every call is independent: it truncates and pads here, not in the tokenizer's shared state.

    Args:
        backend: a ``tokenizers.Tokenizer``; taken over (its own truncation and padding are switched off).
        special_ids: ids that mean something to the model rather than text.
        unknown_id: id that stands for text outside the vocabulary; None where there is none.
        pad_id: id of the filler; any id will do where the model has none, the mask keeps it from being read.
        limit: most tokens the tokenizer was made for; held for the model, not applied here.
        mask_id: id of the token that stands for a hidden word; None where there is none.
        render: the chat template; None where there is none.
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
        render: Render | None = None,
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
        self._render = render
        self._added = backend.num_special_tokens_to_add(False)
        self.takes_pairs: bool = backend.num_special_tokens_to_add(True) > self._added
        self.takes_chats = render is not None

    def read(self, texts: Sequence[Sample], *, padding_side: PaddingSide = "right", limit: int | None = None) -> Batch:
        """Reads texts into one padded batch.

        Args:
            texts: one string, pair or chat per sample; an empty string gives the tokens that the tokenizer adds, if it
                adds any.
            padding_side: where shorter samples are filled up.
            limit: most tokens per sample, added ones included; the text is cut, the added tokens stay.

        Raises:
            ValueError: if there is no text, no token, a broken character, a limit that leaves no room, or a pair or a
                chat for a tokenizer that has no template for it.
            TypeError: if a sample is none of these.
        """
        if padding_side not in ("left", "right"):
            raise ValueError(f'padding_side must be "left" or "right": got {padding_side!r}')
        if not texts:
            raise ValueError("need at least one text: got none")
        if limit is not None and limit <= self._added:
            raise ValueError(f"max_tokens must leave room for the text beside {self._added} added tokens: got {limit}")
        notes: list[Note] = []
        read = [self._read(sample, text, limit, notes) for sample, text in enumerate(texts)]
        batch = self.batch(
            [one.ids for one in read], [one.tokens for one in read], padding_side=padding_side, notes=notes
        )
        types = None
        if any(isinstance(text, Pair) for text in texts):
            types = torch.zeros_like(batch.ids)
            for row, real, one in zip(types, batch.real, read, strict=True):
                row[real] = torch.tensor(one.types, dtype=torch.int64)
        return replace(batch, texts=tuple(one.text for one in read), types=types)

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
        read = self._read(sample, text, limit, notes)
        return read.ids, read.tokens

    def _read(self, sample: int, given: Sample, limit: int | None, notes: list[Note]) -> Reading:
        text, encoding, spans, typed = self._encoded(sample, given)
        labelled = [bool(flag) for flag in encoding.special_tokens_mask]
        tokens = self._label(text, encoding, spans, labelled)
        if typed is None:
            added = labelled
        else:  # the template's own words are no text of the user's, whatever tokens they are made of
            added = [not any(start < end_ and start_ < end for start_, end_ in typed) for start, end in spans]
            tokens = [
                replace(token, special=True, typed_special=False, unknown=False) if of_template else token
                for token, of_template in zip(tokens, added, strict=True)
            ]
        if isinstance(given, Pair):
            tokens = [
                token if which is None else replace(token, document=which)
                for token, which in zip(tokens, encoding.sequence_ids, strict=True)
            ]
        if not added:
            raise ValueError(f"need at least one token: got none for sample {sample}, {text!r}; type a word")
        keep = list(range(len(added)))
        if limit is not None and len(added) > limit:
            room = limit - sum(added)
            if room < 1:
                raise ValueError(
                    f"max_tokens must leave room for the text beside {sum(added)} added tokens: got {limit}"
                )
            written = [i for i in keep if not added[i]][:room]
            keep = sorted(written + [i for i in keep if added[i]])
            notes.append(Note("truncated", {"kept": limit, "total": len(added), "limit": limit, "sample": sample}))
        kept = tuple(tokens[i] for i in keep)
        unknown = sum(token.unknown for token in kept)
        if unknown:
            count = sum(not token.special for token in kept)
            notes.append(Note("unknown_tokens", {"count": unknown, "total": count, "sample": sample}))
        for index, token in enumerate(kept):
            if token.typed_special:
                notes.append(Note("typed_special", {"index": index, "label": token.label, "sample": sample}))
        return Reading(text, [encoding.ids[i] for i in keep], [encoding.type_ids[i] for i in keep], kept)

    def _encoded(self, sample: int, given: Sample) -> tuple[str, Any, list[Span], tuple[Span, ...] | None]:
        """The text that is shown, its encoding, the tokens' offsets into it, and which parts of a chat were typed."""
        if isinstance(given, str):
            _check_unicode(given)
            encoding = self._backend.encode(given)
            return given, encoding, list(encoding.offsets), None
        if isinstance(given, Pair):
            if not self.takes_pairs:
                raise ValueError(
                    "a pair needs a tokenizer that puts a separator between two texts: this one has none; "
                    "write both into one text"
                )
            _check_unicode(given.text)
            encoding = self._backend.encode(given.first, given.second)
            behind = len(given.text) - len(given.second)
            spans = [
                (start + behind, end + behind) if which == 1 else (start, end)
                for (start, end), which in zip(encoding.offsets, encoding.sequence_ids, strict=True)
            ]
            return given.text, encoding, spans, None
        if isinstance(given, Chat):
            if self._render is None:
                raise ValueError(
                    "a chat needs a tokenizer with a chat template: this one has none; type a plain text, "
                    "or take an instruct model"
                )
            _check_unicode(given.system + given.user)
            chat = rendered(given, self._render)
            encoding = self._backend.encode(chat.text, add_special_tokens=False)  # they are in the template
            return chat.text, encoding, list(encoding.offsets), chat.typed
        raise TypeError(f"a text must be a string: got {type(given).__name__} for sample {sample}, and no Pair or Chat")

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

    def _label(self, text: str, encoding: Any, spans: Sequence[Span], added: Sequence[bool]) -> list[Token]:
        pieces, ids = encoding.tokens, encoding.ids
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


def _check_unicode(text: str) -> None:
    broken = next((i for i, ch in enumerate(text) if "\ud800" <= ch <= "\udfff"), None)
    if broken is not None:
        raise ValueError(
            f"a text must be valid Unicode: got half a character (U+{ord(text[broken]):04X}) at {broken}; delete it"
        )


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
