"""Models of two stacks: one reads the source, the other writes the target and looks at both."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from attention_core.pretrained.backend import enter_stage
from attention_core.pretrained.tokens import Batch, TextReader
from attention_core.runs import Note, Token
from attention_core.scratch_config import ControlError

MOST_WRITTEN = 32
"""Tokens that a model writes for itself where no target is given."""

_REMEMBERED = 64


@dataclass(frozen=True, eq=False)
class Passed:
    """What one pass gives, under the names that transformers uses.

    Attributes:
        last_hidden_state: (batch, target len, width).
        encoder_last_hidden_state: (batch, source len, width).
        attentions: the maps of all calls in the order in which they ran, where they were asked for.
    """

    last_hidden_state: Tensor
    encoder_last_hidden_state: Tensor
    attentions: tuple[Tensor | None, ...] = ()


class TwoStacks(nn.Module):
    """The two stacks of an encoder-decoder as one module without its head; its weights are the model's own.

    Attributes:
        config: the model's.
        crossing: which calls of the target's stack look at the source, by their place in a pass; None until a pass over
            a source and a target of two lengths has shown it.
    """

    def __init__(self, whole: Any) -> None:
        super().__init__()
        self.config = whole.config
        self.encoder, self.decoder = whole.get_encoder(), whole.get_decoder()
        self.crossing: frozenset[int] | None = None

    def get_input_embeddings(self) -> Any:
        """The embedding of the source's tokens."""
        return self.encoder.get_input_embeddings()

    def set_attn_implementation(self, name: str) -> None:
        """As in transformers, for both stacks."""
        self.encoder.set_attn_implementation(name)
        self.decoder.set_attn_implementation(name)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        decoder_input_ids: Tensor,
        decoder_attention_mask: Tensor,
        output_attentions: bool = False,
    ) -> Passed:
        """One pass; ids and masks are (batch, len) int64, 1 = a real token."""
        asked: dict[str, Any] = {"output_attentions": True} if output_attentions else {}
        real = attention_mask.bool()
        enter_stage("source", real, None)
        source = self.encoder(input_ids=input_ids, attention_mask=attention_mask, **asked)
        states = source.last_hidden_state
        enter_stage("target", real, self.crossing)
        target = self.decoder(
            input_ids=decoder_input_ids, attention_mask=decoder_attention_mask, encoder_hidden_states=states,
            encoder_attention_mask=attention_mask, use_cache=False, **asked,
        )  # fmt: skip
        maps: tuple[Tensor | None, ...] = ()
        if output_attentions:
            maps = tuple(source.attentions or ())
            own, cross = iter(target.attentions or ()), iter(target.cross_attentions or ())
            for place in range(len(target.attentions or ()) + len(target.cross_attentions or ())):
                maps = (*maps, next(cross if place in (self.crossing or ()) else own, None))
        return Passed(target.last_hidden_state, states, maps)


class Targets:
    """What the target's stack reads: texts as given, or what the model itself writes, once per source.

    Attributes:
        start: id that stands before every target.

    Args:
        whole: the model with its head.
        reader: of its tokenizer.
        start: id that stands before every target.
        ends: ids that end one.
    """

    def __init__(self, whole: Any, reader: TextReader, start: int, ends: frozenset[int]) -> None:
        self._whole, self._reader, self.start, self._ends = whole, reader, start, ends
        self._written: OrderedDict[tuple[int, ...], tuple[int, ...]] = OrderedDict()
        self._guard = threading.Lock()

    def of(self, source: Batch, texts: Sequence[str] | None, most: int | None) -> tuple[Batch, tuple[str, ...]]:
        """The targets of a batch of sources, padded on the right, and their texts; ``most`` tokens each, or all.

        Raises:
            ValueError: if there is not one text per source, or one cannot be read.
        """
        rows: list[list[int]] = []
        samples: list[tuple[Token, ...]] = []
        notes: list[Note] = []
        if texts is None:
            texts = []
            for ids, real in zip(source.ids, source.real, strict=True):
                row = [self.start, *self._continuation(ids[real].tolist(), most)]
                text, tokens = self._reader.spelled(row)
                rows.append(row)
                samples.append(tokens)
                texts.append(text)
        elif len(texts) != len(source.ids):
            raise ControlError(
                "target",
                f"need one target per text: got {len(texts)} for {len(source.ids)}; add one, or leave all out",
                texts=len(source.ids),
                targets=len(texts),
            )
        else:
            start = self._reader.spelled([self.start])[1]
            for sample, text in enumerate(texts):
                ids, tokens = self._reader.read_one(sample, text, most, notes)
                if ids[-1] in self._ends:  # said at the end, and not read any more
                    ids, tokens = ids[:-1], tokens[:-1]
                rows.append([self.start, *ids][:most])
                samples.append((*start, *tokens)[:most])
        return self._reader.batch(rows, samples, notes=notes), tuple(texts)

    def _continuation(self, ids: Sequence[int], most: int | None) -> tuple[int, ...]:
        """Ids that the model writes for a source, greedily, without start and end."""
        key = tuple(ids)
        with self._guard:
            known = self._written.get(key)
        if known is None:
            given = torch.tensor([ids], device=self._whole.device)
            with torch.inference_mode():
                written = self._whole.generate(
                    input_ids=given, attention_mask=torch.ones_like(given), do_sample=False, num_beams=1,
                    max_new_tokens=MOST_WRITTEN, decoder_start_token_id=self.start, use_cache=True,
                )  # fmt: skip
            known = tuple(id_ for id_ in written[0, 1:].tolist() if id_ not in self._ends)
            with self._guard:
                self._written[key] = known
                while len(self._written) > _REMEMBERED:
                    self._written.popitem(last=False)
        return known if most is None else known[: max(0, most - 1)]
