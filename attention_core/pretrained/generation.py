"""A text written on step by step with a cache of keys and values, and the steps joined to one run."""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from attention_core.pretrained.backend import Recording, enter_stage
from attention_core.pretrained.choosing import Chooser
from attention_core.pretrained.switches import Switches
from attention_core.pretrained.tokens import Batch
from attention_core.runs import Answer, Call, CallInputs, Run, Token

if TYPE_CHECKING:
    from attention_core.pretrained.running import Model

End = Literal["", "stop", "length", "limit"]
TOP = 5


@dataclass(frozen=True, eq=False)
class Step:
    """One forward pass and the token that was chosen after it.

    Attributes:
        index: 0 for the pass over the whole prompt; every later one is over the token chosen before it.
        calls: of this pass, named ``"decoder.0@3"`` from step 1 on; ``Generation.inputs`` has what they computed from.
        token_id: the chosen token; its row is computed in the next step.
        token: the same as it is written.
        probability: of the chosen token by the model, before any temperature of the choice.
        top: (id, probability) of the likeliest tokens, the likeliest first.
        end: why nothing follows: "stop" (the token ends a text), "length" (as many as were asked for), "limit" (the
            model reads no more); "" where the next step follows.
    """

    index: int
    calls: tuple[Call, ...]
    token_id: int
    token: Token
    probability: float
    top: tuple[tuple[int, float], ...]
    end: End


@dataclass
class _Track:
    """What one call of the model computed from, a piece per step; its keys and values are those of new tokens."""

    pieces: list[CallInputs] = field(default_factory=list)

    def add(self, given: CallInputs, known: int) -> None:
        """``known`` keys are those of earlier steps, which the cache handed on."""
        key, value = (tensor[..., known:, :].clone() for tensor in (given.key, given.value))
        self.pieces.append(replace(given, key=key, value=value))

    def joined(self, first: int, last: int) -> CallInputs:
        """The rows of the steps [first, last) over all keys that there were at the last of them."""
        rows = self.pieces[first:last]
        key, value = (
            torch.cat([getattr(one, name) for one in self.pieces[:last]], dim=-2) for name in ("key", "value")
        )
        k_len = key.shape[-2]
        bias = None
        if any(one.bias is not None for one in rows):
            heads = max(1 if one.bias is None else one.bias.shape[1] for one in rows)
            bias = torch.cat([_bias_of(one, heads, k_len) for one in rows], dim=-2)
        own = None
        if any(one.own_allowed is not None for one in rows):
            own = _stacked([one.intended for one in rows], rows, k_len)
        return replace(
            rows[0], query=torch.cat([one.query for one in rows], dim=-2), key=key, value=value, bias=bias,
            allowed=_stacked([one.allowed for one in rows], rows, k_len), own_allowed=own,
        )  # fmt: skip


def _stacked(masks: list[Tensor], rows: list[CallInputs], k_len: int) -> Tensor:
    """Masks below each other; keys that a row had not yet are closed to it."""
    heads = max(mask.shape[1] for mask in masks)
    full = [
        _widened(mask.expand(1, heads, one.query.shape[-2], mask.shape[-1]), k_len, value=False)
        for mask, one in zip(masks, rows, strict=True)
    ]
    return torch.cat(full, dim=-2)


def _bias_of(one: CallInputs, heads: int, k_len: int) -> Tensor:
    q_len = one.query.shape[-2]
    if one.bias is None:
        return one.query.new_zeros(1, heads, q_len, k_len)
    return _widened(one.bias.expand(1, heads, q_len, one.bias.shape[-1]), k_len, value=0.0)


def _widened(tensor: Tensor, k_len: int, *, value: float | bool) -> Tensor:
    missing = k_len - tensor.shape[-1]
    return torch.nn.functional.pad(tensor, (0, missing), value=value) if missing else tensor


class Generation:
    """A model that writes on from one text; an iterator of steps, used by one thread at a time.

    Each step is one forward pass under our attention over the tokens that are new: first the whole prompt, then the
    token chosen last. Keys and values of earlier tokens come from transformers' own cache and are not computed again,
    so a switch that opens the future opens it among the tokens of the prompt alone, and ablation by the mean counts
    what earlier steps put out. Each step holds a processor for its own time only. An encoder-decoder reads the text as
    its source and writes the target from its start token on.

    Attributes:
        model: that writes.
        prompt: the text as it is read.
        switches: in every step.
        steps: made so far.
        finished: True once no step follows.
    """

    def __init__(
        self,
        model: "Model",
        prompt: Batch,
        max_new_tokens: int = 20,
        switches: Switches = Switches(),  # noqa: B008 - frozen
        temperature: float = 0.0,
        generator: torch.Generator | None = None,
    ) -> None:
        """Made by ``Model.generate``.

        Args:
            model: a model that foretells the next token.
            prompt: one sample.
            max_new_tokens: most steps.
            switches: what to change in the attention of every step.
            temperature: 0 takes the likeliest token; above, one is drawn from the softmax of logits / temperature.
            generator: draws it; None: one with seed 0.

        Raises:
            ValueError: if the model does not foretell the next token, keeps no cache or is only recorded, if the mask
                is drawn, or a number is out of range.
        """
        _check(model, switches, max_new_tokens)
        self.model, self.prompt, self.switches = model, prompt, switches
        self.steps: list[Step] = []
        self.finished = False
        self._most = max_new_tokens
        self._source: Tensor | None = None  # states of the encoder
        self._choose = Chooser(model._whole, temperature, generator)
        self._ids: list[int] = prompt.ids[0].tolist()  # of the rows
        if model._targets is not None:
            self._ids = [model._targets.start]
        self._written: list[int] = []
        self._tracks: dict[str, _Track] = {call.name: _Track() for call in model.calls}
        self._outputs: list[Tensor] = []
        self._heads_means: dict[str, tuple[Tensor, int]] = {}
        self._options = {str(_cache_name(model)): _cache_of(model), "use_cache": True}
        first = prompt.tokens[0] if model._targets is None else model._reader.spelled(self._ids)[1]
        self._first: tuple[Token, ...] = first
        self._spelled: tuple[str, tuple[Token, ...]] = "", ()

    def __iter__(self) -> Iterator[Step]:
        return self

    def __next__(self) -> Step:
        if self.finished:
            raise StopIteration
        index = len(self.steps)
        new = self._ids if index == 0 else self._written[-1:]
        known = 0 if index == 0 else len(self._ids) + index - 1
        record = Recording(self.switches, expected=self._expected(index), earlier=self._heads_means)
        hidden = self._pass(torch.tensor([new]), known, record)
        for call in record.calls:
            self._tracks[call.name].add(record.inputs[call.name], known if call.kind == "decoder" else 0)
        logits = self.model.head(hidden[:, -1:])[0, -1]
        with torch.inference_mode(False):
            self._outputs.append(hidden.clone())
        choice = self._choose(logits, [*self._ids, *self._written], TOP)
        self._written.append(choice.token_id)
        self._spelled = self._spell()
        end: End = ""
        if choice.ends:
            end = "stop"
        elif index + 1 >= self._most:
            end = "length"
        elif self.model.limit is not None and len(self._ids) + index + 1 > self.model.limit:
            end = "limit"
        self.finished = bool(end)
        step = Step(
            index, tuple(_named(call, index) for call in record.calls), choice.token_id, self._spelled[1][-1],
            choice.probability, choice.top, end,
        )  # fmt: skip
        self.steps.append(step)
        return step

    @property
    def text(self) -> str:
        """What has been written so far, special tokens left out."""
        return self._spelled[0]

    @property
    def token_ids(self) -> tuple[int, ...]:
        """Ids of all that has been written."""
        return tuple(self._written)

    @property
    def tokens(self) -> tuple[Token, ...]:
        """Of all that has been written; offsets go into ``Run.texts`` of ``run``."""
        return self._spelled[1]

    def inputs(self, call: Call) -> CallInputs:
        """What one call of a step computed from: the query of its new tokens, all keys and values so far.

        Raises:
            KeyError: if no step so far made such a call.
        """
        if not any(call in step.calls for step in self.steps):
            raise KeyError(f"no attention call {call.name!r} in {len(self.steps)} steps; ask for one of a step's calls")
        name = call.name.partition("@")[0]
        if call.kind == "cross":
            return self._cross(name, call.step, call.step + 1)
        return self._tracks[name].joined(call.step, call.step + 1)

    def joined(self, name: str, steps: int | None = None) -> CallInputs:
        """What one call of the model computed from in the first ``steps`` steps, as one map with a row per token.

        Args:
            name: as in ``Model.calls``.
            steps: how many, from 1; None: all so far.
        """
        last = self._count(steps)
        if name.startswith("cross."):
            return self._cross(name, 0, last)
        return self._tracks[name].joined(0, 1 if name.startswith("encoder.") and self._two else last)

    def run(self, steps: int | None = None) -> Run:
        """The first steps as one run: a row per token that asked, the mask that each row really had.

        The token chosen last has asked nothing yet and has no row. The text of the sample is the prompt and what was
        written behind it, as far as it has a row; in an encoder-decoder it is the target.

        Args:
            steps: how many, from 1; None: all so far.

        Raises:
            ValueError: if there are no such steps.
        """
        last = self._count(steps)
        rows = (*self._first, *self.tokens[: last - 1])
        output = torch.cat(self._outputs[:last], dim=1)  # (1, rows, width)
        end = max((token.span[1] for token in rows if token.span is not None), default=0)
        begun = "" if self._two else self.prompt.texts[0]
        text = begun + self.text[: max(0, end - len(begun))]
        return Run(
            source=self.model.name,
            texts=self.prompt.texts if self._two else (text,),
            calls=self.model.calls,
            inputs={call.name: self.joined(call.name, last) for call in self.model.calls},
            tokens={"self": (rows,), "source": self.prompt.tokens} if self._two else {"self": (rows,)},
            output=output,
            heads_off=self.switches.heads_off,
            answer=Answer("output", output),
            notes=self.prompt.notes,
            targets=(text,) if self._two else (),
        )

    @property
    def held(self) -> int:
        """Bytes of what is recorded."""
        pieces = [piece for track in self._tracks.values() for piece in track.pieces]
        kept = sum(one.query.nbytes + one.key.nbytes + one.value.nbytes + one.allowed.nbytes for one in pieces)
        return 2 * kept + sum(output.nbytes for output in self._outputs)  # the cache holds keys and values once more

    @property
    def _two(self) -> bool:
        return self.model._targets is not None

    def _count(self, steps: int | None) -> int:
        last = len(self.steps) if steps is None else steps
        if not 1 <= last <= len(self.steps):
            raise ValueError(f"steps must be 1 to the {len(self.steps)} made so far: got {last}; make more first")
        return last

    def _cross(self, name: str, first: int, last: int) -> CallInputs:
        pieces = self._tracks[name].pieces  # the source's keys are the same in every step
        track = _Track([pieces[0], *(replace(p, key=p.key[..., :0, :], value=p.value[..., :0, :]) for p in pieces[1:])])
        return track.joined(first, last)

    def _expected(self, index: int) -> tuple[Call, ...]:
        calls = self.model.calls
        return calls if index == 0 or not self._two else tuple(call for call in calls if call.kind != "encoder")

    def _pass(self, ids: Tensor, known: int, record: Recording) -> Tensor:
        """Last hidden states (1, new tokens, width)."""
        model = self.model
        if self._two:
            passed = model._forward(self._two_stacks, {"ids": ids}, record)
        else:
            inputs: dict[str, Any] = {"input_ids": ids, "attention_mask": torch.ones(1, known + ids.shape[1]).long()}
            if model._traits.takes_positions:
                inputs["position_ids"] = torch.arange(known, known + ids.shape[1])[None] + model._traits.first_position
            if known == 0:
                inputs |= {k: v for k, v in model._inputs(self.prompt).items() if k == "token_type_ids"}
            passed = model._forward(model._module, inputs, record, **self._options)
        if len(record.calls) != len(record.expected):
            raise ValueError(
                f"every step must make the {len(record.expected)} attention calls of the model: got "
                f"{len(record.calls)}; read the text as a whole instead"
            )
        return passed.last_hidden_state

    def _two_stacks(self, ids: Tensor) -> Any:
        stacks, real = self.model._module, self.prompt.real.to(ids.device)
        if self._source is None:
            enter_stage("source", real, None)
            source = self.prompt.ids.to(ids.device)
            self._source = stacks.encoder(input_ids=source, attention_mask=real.long()).last_hidden_state
        enter_stage("target", real, stacks.crossing)
        return stacks.decoder(
            input_ids=ids, encoder_hidden_states=self._source, encoder_attention_mask=real.long(),
            **self._options,
        )  # fmt: skip

    def _spell(self) -> tuple[str, tuple[Token, ...]]:
        """The text written so far, and its tokens with offsets behind the prompt."""
        before = self._ids[-_CONTEXT:]  # a tokenizer may leave out the space before a text's first word
        text, tokens = self.model._reader.spelled([*before, *self._written])
        begin = max((token.span[1] for token in tokens[: len(before)] if token.span is not None), default=0)
        shift = (0 if self._two else len(self.prompt.texts[0])) - begin
        placed = [
            token if token.span is None else replace(token, span=(token.span[0] + shift, token.span[1] + shift))
            for token in tokens[len(before) :]
        ]
        return text[begin:], tuple(placed)


_CONTEXT = 4  # tokens of the prompt that are spelled along with what is written


def _named(call: Call, step: int) -> Call:
    return call if step == 0 else replace(call, name=f"{call.name}@{step}", step=step)


def _cache_of(model: "Model") -> Any:
    """An empty cache of transformers that keeps every key; the mask alone says which a query may see."""
    from transformers import DynamicCache, EncoderDecoderCache

    if model._targets is None:
        return DynamicCache()
    return EncoderDecoderCache(DynamicCache(), DynamicCache())


def _cache_name(model: "Model") -> str | None:
    """What a model calls the argument for its cache; None where it takes none."""
    stack = model._module if model._targets is None else model._module.decoder
    taken = inspect.signature(stack.forward).parameters
    return next((name for name in ("cache", "past_key_values") if name in taken), None)


def refusal_to_write(model: "Model") -> str | None:
    """Why a model cannot write step by step; None where it can."""
    if model.task not in ("next-token", "seq2seq"):
        return f"only a model that foretells the next token can write: {model.name} does not; take a decoder"
    if model.reason is not None or _cache_name(model) is None:
        return (
            f"writing step by step needs attention that runs through ours and a cache: {model.architecture} lacks one; "
            "read texts as a whole, or take another model"
        )
    return None


def _check(model: "Model", switches: Switches, max_new_tokens: int) -> None:
    refusal = refusal_to_write(model)
    if refusal is not None:
        raise ValueError(refusal)
    if switches.mask == "custom":
        raise ValueError("a drawn mask has one size, and a text that is written grows: take another mask")
    if isinstance(max_new_tokens, bool) or not isinstance(max_new_tokens, int) or max_new_tokens < 1:
        raise ValueError(f"max_new_tokens must be a whole number from 1: got {max_new_tokens!r}")
