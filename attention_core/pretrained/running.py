"""A loaded model: text in, a run out, with what the switches change and how far it is from the model's own maps."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from attention_core.pretrained.backend import Recording, recording
from attention_core.pretrained.catalog import CatalogEntry
from attention_core.pretrained.comparing import Agreements
from attention_core.pretrained.device import HOME, home, there
from attention_core.pretrained.facts import scaling_of
from attention_core.pretrained.generation import Generation, refusal_to_write
from attention_core.pretrained.heads import Head, Task
from attention_core.pretrained.processors import BusyError as BusyError
from attention_core.pretrained.processors import processor
from attention_core.pretrained.recorded import recorded_pass, refusal
from attention_core.pretrained.samples import Chat, Pair, Sample
from attention_core.pretrained.stacks import Targets
from attention_core.pretrained.switches import Switches
from attention_core.pretrained.tokens import Batch, PaddingSide, TextReader
from attention_core.pretrained.traits import Traits
from attention_core.runs import Agreement, Answer, Call, Note, Run


class Model:
    """A pretrained model that runs our attention; safe to use from several threads at once. Made by ``load``.

    Attributes:
        name: as given to ``load``.
        entry: its line in the catalog; None for folders and hub models.
        calls: the attention calls of one forward pass, in order.
        heads: call name -> number of query heads.
        scaling: where it puts its factor on the scores, see ``facts.Scaling``.
        kind: "encoder", "decoder" or "encoder-decoder".
        switchable: False where its attention does not run through ours and is only recorded; then no switch can act.
        architecture: class of transformers that it is.
        reason: why nothing can be switched; None where it can.
        task: what it answers with: "next-token", "fill-mask" or "seq2seq" (these have a ``head``), "embedding", "none".
        limit: most tokens that it can read, added ones included; None where there is no limit.
        mask_id: id of the token that stands for a hidden word; None where the model has none.
        takes_pairs, takes_chats: its tokenizer has a template for them.
        can_write: ``generate`` can write with it.
        device: where its weights are; what a run hands out is on the CPU.
        width: size of its hidden states.
        vocabulary: number of token ids that it has a vector for.
        parameters: number of weights.
    """

    def __init__(
        self,
        *,
        name: str,
        entry: CatalogEntry | None,
        module: Any,
        twin: Any,
        reader: TextReader,
        traits: Traits,
        whole: Any = None,
        head: Head | None = None,
        task: Task = "none",
        targets: Targets | None = None,
        switchable: bool = True,
    ) -> None:
        self.name = name
        self.entry = entry
        self._module = module
        self._twin = twin
        self._reader = reader
        self._traits = traits
        self._whole = module if whole is None else whole
        self.device: torch.device = next(self._whole.parameters()).device
        self._targets = targets
        self.switchable = switchable
        self.architecture = type(self._whole).__name__
        self.reason = None if switchable else refusal(type(module).__name__)
        self._agreements = Agreements(self._whole, twin, dispatches=switchable)
        self.limit = traits.limit
        self.mask_id = reader.mask_id
        self.takes_pairs, self.takes_chats = reader.takes_pairs, reader.takes_chats
        self.vocabulary = traits.vocabulary
        self.parameters = sum(p.numel() for p in self._whole.parameters())
        self.calls: tuple[Call, ...] = ()
        probe = Recording()
        probed = self._forward(module, self._probe(), probe)
        self.width: int = probed.last_hidden_state.shape[-1]
        self.calls = tuple(probe.calls)
        self.heads: Mapping[str, int] = probe.heads
        self.scaling = scaling_of(probe.inputs.values(), recorded=not switchable)
        self.kind: Literal["encoder", "decoder", "encoder-decoder"] = "encoder"
        if targets is not None:
            self.kind = "encoder-decoder"
            later = [call for call in probe.calls if call.kind != "encoder"]
            for stacks in (module, twin):
                stacks.crossing = frozenset(i for i, call in enumerate(later) if call.kind == "cross")
        elif probe.calls and probe.calls[0].kind == "decoder":
            self.kind = "decoder"
        self._shifts = not traits.takes_positions and self._left_padding_shifts()
        self._head = self._fitting(head, task)
        self.task: Task = "embedding" if traits.pooled else task if self._head is not None else "none"
        self.can_write = refusal_to_write(self) is None

    def _probe(self) -> dict[str, Tensor]:
        """Three tokens of no meaning, and two of a target, so that their lengths tell the two apart."""
        ids = torch.arange(3).remainder(self._traits.vocabulary).unsqueeze(0)  # (1, 3)
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        if self._targets is not None:
            inputs["decoder_input_ids"], inputs["decoder_attention_mask"] = ids[:, 1:], torch.ones_like(ids[:, 1:])
        return inputs

    def _left_padding_shifts(self) -> bool:
        """True where a filler on the left changes the tokens behind it: their positions are counted from it."""
        padded, alone = self._probe(), self._probe()
        padded["attention_mask"][0, 0] = 0
        alone |= {key: alone[key][:, 1:] for key in ("input_ids", "attention_mask")}
        states = "last_hidden_state" if self._targets is None else "encoder_last_hidden_state"
        ours, theirs = (getattr(self._forward(self._module, given, Recording()), states) for given in (padded, alone))
        return not torch.allclose(ours[:, 1:], theirs, rtol=1e-3, atol=1e-3)

    def _fitting(self, head: Head | None, task: Task) -> Head | None:
        """The head where it gives the model's own logits, and these answer what the task says."""
        if head is None or (task == "next-token" and self.kind != "decoder"):
            return None  # a token that sees what follows it cannot foretell it
        inputs = self._probe()
        hidden = self._forward(self._module, inputs, Recording()).last_hidden_state
        logits = self._forward(self._whole, inputs, None).logits
        return head if head.fits(hidden, logits) else None

    def head(self, hidden: Tensor) -> Tensor:
        """Logits of hidden states such as ``Run.output``, by the model's own head: bias, factor and cap included.

        A run does not hold its logits, since they are large: 2,048 tokens of a vocabulary of 49,152 are 400 MB. Hand in
        the rows that are looked at, as ``model.head(run.output[:, -1:])``.

        Args:
            hidden: (batch, len, width) float32, last hidden states of this model.

        Returns:
            (batch, len, vocabulary) float32.

        Raises:
            ValueError: if the model has no head (``task`` is "embedding" or "none"), or the shape is another.
            BusyError: if no processor came free in two minutes.
        """
        if self._head is None:
            raise ValueError(
                f"logits need a model with a head: {self.name} has none, it answers with its hidden states"
            )
        if hidden.dim() != 3 or hidden.shape[-1] != self.width:
            raise ValueError(
                f"hidden states are (batch, len, {self.width}): got {tuple(hidden.shape)}; hand in rows of Run.output"
            )
        with processor():
            return self._head(hidden)

    def written(self, token_id: int) -> str:
        """A word of the vocabulary as it is written, with the space before it where it has one."""
        return self._reader.written(token_id)

    def read(
        self, text: Sample | Sequence[Sample], *, padding_side: PaddingSide = "right", max_tokens: int | None = None
    ) -> Batch:
        """The tokens that a run on this text would have, without running it."""
        if max_tokens is not None and (
            isinstance(max_tokens, bool) or not isinstance(max_tokens, int) or max_tokens < 1
        ):
            raise ValueError(
                f"max_tokens must be a whole number from 1: got {max_tokens!r}; None for the model's own limit"
            )
        limits = [n for n in (self.limit, max_tokens) if n is not None]
        batch = self._reader.read(_texts(text), padding_side=padding_side, limit=min(limits, default=None))
        highest = int(batch.ids.max())
        if highest >= self._traits.vocabulary:
            raise ValueError(
                f"token ids must be below the {self._traits.vocabulary} that {self.name} has: got {highest}; "
                "its tokenizer belongs to another model"
            )
        return batch

    def run(
        self,
        text: Sample | Sequence[Sample],
        *,
        target: str | Sequence[str] | None = None,
        padding_side: PaddingSide = "right",
        switches: Switches = Switches(),  # noqa: B008 - frozen
        agreement: bool = True,
        max_tokens: int | None = None,
    ) -> Run:
        """One forward pass over a text, or over several padded to one batch.

        Positions are counted over real tokens, so padding on either side leaves the result of a sample as it is alone;
        a note says so where a model cannot be told its positions and padding on the left moves them.

        In an encoder-decoder the text is the source, and the decoder reads a target behind its start token: the last
        token that it reads is the last but the end, as in training. Without a target it reads what the model itself
        writes, greedily, at most 32 tokens: once per source and with every switch as in the model, so that runs with
        other switches are of the same tokens. Targets are always padded on the right.

        Args:
            text: one text or several, each a string, a ``Pair`` or a ``Chat`` where the tokenizer has a template for
                it. An empty one is run with the tokens that the tokenizer adds, as [CLS] and [SEP].
            target: one per text, for an encoder-decoder alone.
            padding_side: where shorter texts are filled up.
            switches: what to change in the attention.
            agreement: also state how far the neutral run is from the model's own attention; computed once per input.
            max_tokens: cut each text to so many tokens, added ones included; never above the model's limit.

        Returns:
            Run with one CallInputs per attention call; ``answer`` holds unit-length sentence embeddings (batch, width)
            for models made for it, else the outputs (batch, len, width).

        Raises:
            ValueError: if there is nothing to read, a target is one too many, or a switch names a head or layer that
                the model does not have.
            BusyError: if no processor came free in two minutes.

        Source:
            Mean pooling: Reimers and Gurevych 2019, "Sentence-BERT", section 3.
        """
        texts = _texts(text)
        self._check(switches)
        batch = self.read(texts, padding_side=padding_side, max_tokens=max_tokens)
        inputs, rows, targets = self._both_sides(batch, target, max_tokens)
        record = Recording(switches, rows.real)
        output = self._forward(self._module, inputs, record).last_hidden_state
        with torch.inference_mode(False):
            output = output.clone()
        agreed = None
        if agreement:
            neutral = (record, output) if switches.neutral else None
            key = (texts, padding_side, max_tokens, tuple(map(tuple, rows.ids.tolist())))
            agreed = self._agreement(key, rows, inputs, neutral)
        return Run(
            source=self.name,
            texts=batch.texts,
            calls=tuple(record.calls),
            inputs=record.inputs,
            tokens={"self": batch.tokens} if rows is batch else {"self": rows.tokens, "source": batch.tokens},
            output=output,
            heads_off=switches.heads_off,
            agreement=agreed,
            answer=self._answer(output, rows.real),
            notes=self._notes(batch, rows, padding_side),
            targets=targets,
        )

    def _notes(self, batch: Batch, rows: Batch, padding_side: PaddingSide) -> tuple[Note, ...]:
        notes = batch.notes if rows is batch else (*batch.notes, *rows.notes)
        moved = self._shifts and padding_side == "left" and not batch.real.all()
        return (*notes, Note("positions_shifted")) if moved else notes

    def network(self, implementation: str = "eager") -> nn.Module:
        """The model without our attention, for tests that change its inputs: a copy of its own with the same weights.

        Args:
            implementation: one of transformers' own, such as "eager" and "sdpa".

        Returns:
            The module of transformers on the CPU, evaluating, frozen; its tensors are shared where the model is there.

        Raises:
            ValueError: if the model does not have that implementation.
        """
        shared = [*self._twin.parameters(), *self._twin.buffers()] if self.device == HOME else []
        network = copy.deepcopy(self._twin, {id(tensor): tensor for tensor in shared})
        network.set_attn_implementation(implementation)
        return network if self.device == HOME else network.to(HOME)

    def generate(
        self,
        text: Sample,
        *,
        max_new_tokens: int = 20,
        switches: Switches = Switches(),  # noqa: B008 - frozen
        temperature: float = 0.0,
        generator: torch.Generator | None = None,
        max_tokens: int | None = None,
    ) -> Generation:
        """Writes on from a text, one token per step, each computed when it is asked for; see ``Generation``."""
        self._check(switches)
        prompt = self.read(text, max_tokens=max_tokens)
        return Generation(self, prompt, max_new_tokens, switches, temperature, generator)

    def outputs(self, ids: Tensor, real: Tensor | None = None, *, switches: Switches | None = None) -> Tensor:
        """Last hidden states of token ids under our attention; positions are counted over real tokens.

        Args:
            ids: (batch, len) int64.
            real: (batch, len), True or 1 = real token; None: all are.
            switches: what to change in the attention.

        Returns:
            (batch, len, width) float32.

        Raises:
            ValueError: if a switch names a head or layer that the model does not have.
            BusyError: if no processor came free in two minutes.
        """
        switches = Switches() if switches is None else switches
        self._check(switches)
        if self._targets is not None:
            raise ValueError(f"token ids alone make no run of {self.name}: it reads a source and a target; use run()")
        real = torch.ones_like(ids, dtype=torch.bool) if real is None else real.bool()
        inputs = {"input_ids": ids, "attention_mask": real.long()}
        if self._traits.takes_positions:
            inputs["position_ids"] = (real.long().cumsum(-1) - 1).clamp(min=0) + self._traits.first_position
        output = self._forward(self._module, inputs, Recording(switches, real)).last_hidden_state
        with torch.inference_mode(False):
            return output.clone()

    def _both_sides(
        self, batch: Batch, target: str | Sequence[str] | None, max_tokens: int | None = None
    ) -> tuple[dict[str, Tensor], Batch, tuple[str, ...]]:
        """What a pass takes, the tokens whose states it gives, and the texts of the targets where there are any."""
        inputs = self._inputs(batch)
        if self._targets is None:
            if target is not None:
                raise ValueError(f"a target goes with an encoder-decoder: {self.name} is one stack; leave it out")
            return inputs, batch, ()
        limits = [n for n in (self.limit, max_tokens) if n is not None]
        given = None if target is None else (target,) if isinstance(target, str) else tuple(target)
        with processor():
            rows, targets = self._targets.of(batch, given, min(limits, default=None))
        inputs |= {"decoder_input_ids": rows.ids, "decoder_attention_mask": rows.real.long()}
        return inputs, rows, targets

    def _inputs(self, batch: Batch) -> dict[str, Tensor]:
        inputs = {"input_ids": batch.ids, "attention_mask": batch.real.long()}
        if self._traits.takes_positions:
            inputs["position_ids"] = batch.positions + self._traits.first_position
        if batch.types is not None and int(batch.types.max()) < self._traits.types:
            inputs["token_type_ids"] = batch.types
        return inputs

    def _answer(self, output: Tensor, real: Tensor) -> Answer:
        if not self._traits.pooled:
            return Answer("output", output)
        kept = real.unsqueeze(-1)  # (batch, len, 1)
        mean = output.masked_fill(~kept, 0.0).sum(dim=1) / kept.sum(dim=1)  # (batch, width)
        return Answer("embedding", nn.functional.normalize(mean, dim=-1))

    def _forward(self, module: Any, inputs: Mapping[str, Tensor], record: Recording | None, **options: Any) -> Any:
        with processor(), torch.inference_mode():
            given, options = there(dict(inputs), self.device), there(options, self.device)
            if record is None:
                return home(module(**given, **options), self.device)
            record.real = there(record.real, self.device)
            if not self.switchable:
                return home(recorded_pass(module, given, record, self.calls, **options), self.device, record)
            with recording(record):
                outputs = module(**given, **options)
            return home(outputs, self.device, record)

    def _agreement(
        self,
        key: tuple[object, ...],
        batch: Batch,
        inputs: Mapping[str, Tensor],
        neutral: tuple[Recording, Tensor] | None,
    ) -> Agreement:
        def run_neutral() -> tuple[Recording, Tensor]:
            if neutral is not None:
                return neutral
            record = Recording(real=batch.real)
            return record, self._forward(self._module, inputs, record).last_hidden_state

        source = None if self._targets is None else inputs["attention_mask"].bool()
        return self._agreements.of(
            key, batch.real, source, run_neutral, lambda module, **given: self._forward(module, inputs, None, **given)
        )

    def _check(self, switches: Switches) -> None:
        if self.reason is not None and not switches.neutral:
            raise ValueError(self.reason)
        for name, head in sorted(switches.heads_off):
            if name not in self.heads:
                raise ValueError(f"heads_off names calls of {self.name}: got {name!r}; it has {list(self.heads)}")
            if head >= self.heads[name]:
                raise ValueError(f"heads_off takes heads 0 to {self.heads[name] - 1} of {name}: got {head}")
        last = max((call.layer for call in self.calls), default=-1)
        beyond = sorted(n for n in switches.layers or () if n > last)
        if beyond:
            raise ValueError(f"layers takes layers 0 to {last} of {self.name}: got {beyond}")


def _texts(text: Sample | Sequence[Sample]) -> tuple[Sample, ...]:
    return (text,) if isinstance(text, (str, Pair, Chat)) else tuple(text)
