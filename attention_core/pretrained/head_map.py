"""The head map: what switching off each head in turn does to the answer, as a layers x heads array.

Each head is off alone. Several are tried in one pass, as rows of a batch that hold the same text, each row with a head
of its own off: rows do not see each other.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, get_args

import torch
from torch import Tensor

from attention_core.pretrained import answers
from attention_core.pretrained.heads import Task
from attention_core.pretrained.resuming import Resumable
from attention_core.pretrained.running import Model
from attention_core.pretrained.samples import Sample
from attention_core.pretrained.switches import Switches
from attention_core.runs import Call

Measure = Literal["kl-last", "kl-mean", "nll", "kl-masked", "embedding", "output"]
"""What an effect is, before = with the switches as they are, after = with one more head off:
"kl-last" KL(before || after) of the next token behind the whole text, nats; "kl-mean" the same, mean over all tokens;
"nll" mean negative log-likelihood of the text's tokens after - before, nats per token (below 0: the text becomes
likelier); "kl-masked" KL(before || after) at the mask tokens of the text, mean, nats; "embedding" 1 - cosine of the
sentence embeddings; "output" norm of the difference of the last hidden states / their norm before. In an
encoder-decoder the text is the target: what comes next in it, and its states."""
MEASURES: tuple[Measure, ...] = get_args(Measure)
MEASURES_OF: Mapping[Task, tuple[Measure, ...]] = MappingProxyType(
    {
        "next-token": ("kl-last", "kl-mean", "nll", "output"),
        "seq2seq": ("kl-last", "kl-mean", "nll", "output"),
        "fill-mask": ("kl-masked", "kl-mean", "output"),
        "embedding": ("embedding", "output"),
        "none": ("output",),
    }
)

TOKENS_AT_ONCE = 1024  # rows x tokens of one pass: more gains nothing on a processor and takes memory


@dataclass(frozen=True, eq=False)
class HeadEffects:
    """The effects of some heads of one call.

    Attributes:
        call: the call.
        heads: which of its heads.
        values: (len(heads),) float64.
        done: heads of all calls that are ready, these included; ``total``: how many there are.
    """

    call: Call
    heads: tuple[int, ...]
    values: Tensor
    done: int
    total: int


@dataclass(frozen=True, eq=False)
class HeadMap:
    """All effects.

    Attributes:
        measure: what they are.
        calls: one per row, in order.
        values: (calls, most heads) float64; NaN where a call has fewer heads.
        resumed: passes started at the layer of the head, above the layers that stay as they are.
    """

    measure: Measure
    calls: tuple[Call, ...]
    values: Tensor
    resumed: bool


def measures_of(model: Model) -> tuple[Measure, ...]:
    """What can be measured of a model's answer, the usual one first."""
    return MEASURES_OF.get(model.task, ("output",))


class HeadMapping:
    """A head map in the making, for one thread; the whole pass that all effects are measured from is run at once.

    Iterating gives the effects batch by batch; whoever stops iterating has cancelled.

    Attributes:
        measure: what an effect is.
        calls: the attention calls, in order.
        heads: call name -> number of heads.
        total: heads of all calls.
        resumes: passes start at the layer of the head, above the layers that stay as they are.
    """

    def __init__(
        self,
        model: Model,
        text: Sample,
        *,
        measure: Measure,
        switches: Switches = Switches(),  # noqa: B008 - frozen
        target: str | None = None,
    ) -> None:
        """Reads the text and runs it once.

        Args:
            model: any model whose attention runs through ours.
            text: one text; the source of an encoder-decoder.
            measure: what an effect is; one of ``measures_of(model)``.
            switches: on in every pass; ``switches.ablation`` says what stands in a head's place.
            target: of an encoder-decoder; None: what the model itself writes.

        Raises:
            ValueError: if the measure is not one of this model, a target is one too many, or the text has
                nothing that it could be measured at.
            BusyError: if no processor came free in two minutes.
        """
        if model.reason is not None:
            raise ValueError(model.reason)
        known = measures_of(model)
        if measure not in known:
            raise ValueError(f"the effect on an answer of {model.name} is one of {known}: got {measure!r}")
        model._check(switches)
        batch = model.read(text)
        self.measure: Measure = measure
        inputs, rows, _ = model._both_sides(batch, target)
        self._model, self._ids, self._real = model, rows.ids, rows.real
        self._masked = answers.masked_positions(batch.tokens[0], model.mask_id) if measure == "kl-masked" else []
        if measure == "kl-masked" and not self._masked:
            raise ValueError(
                "an effect at the mask tokens needs one in the text: got none; type the model's mask token"
            )
        if measure == "nll" and rows.ids.shape[1] < 2:
            raise ValueError("the likelihood of a text needs two tokens, one to foretell: got 1; type more")
        self._passes = Resumable(model, inputs, rows.real, switches)
        self._effect = self._measuring(self._passes.output)
        self.calls = self._passes.calls
        self.heads = self._passes.heads
        self.total = sum(self.heads[call.name] for call in self.calls)
        self.resumes = self._passes.resumes

    def __iter__(self) -> Iterator[HeadEffects]:
        """The effects, the lowest layer first.

        Raises:
            BusyError: if no processor came free in two minutes.
        """
        at_once = max(1, TOKENS_AT_ONCE // self._ids.shape[1])
        done = 0
        for call in self.calls:
            heads = self._passes.heads[call.name]
            for some in torch.arange(heads).split(at_once):
                off = torch.zeros(len(some), heads, dtype=torch.bool).scatter(1, some[:, None], True)
                values = self._effect(self._passes.run(call, off))
                done += len(some)
                yield HeadEffects(call, tuple(some.tolist()), values, done, self.total)

    def _measuring(self, before: Tensor) -> Callable[[Tensor], Tensor]:
        """The measure as a function of (rows, len, width) hidden states to (rows,) float64."""
        model, rows = self._model, self._real
        if self.measure == "nll":
            base = self._nll(before)
            return lambda after: self._nll(after) - base
        if self.measure == "embedding":
            own = model._answer(before, rows).values
            return lambda after: 1 - answers.cosines(own, model._answer(after, rows.expand(len(after), -1)).values)
        if self.measure == "output":
            size = before.double().norm()
            return lambda after: (after - before).double().flatten(1).norm(dim=1) / size
        if self.measure == "kl-mean":
            return lambda after: torch.stack(
                [answers.position_kl(model.head, before, row[None], rows).nanmean() for row in after]
            )
        places = self._masked if self.measure == "kl-masked" else [before.shape[1] - 1]
        said = answers.log_probabilities(model.head(before[:, places]))
        return lambda after: answers.kl_divergence(said, answers.log_probabilities(model.head(after[:, places]))).mean(
            dim=1
        )

    def _nll(self, hidden: Tensor) -> Tensor:
        ids, real = (tensor.expand(len(hidden), -1) for tensor in (self._ids, self._real))
        return answers.token_nll(self._model.head, hidden, ids, real).nanmean(dim=1)


def head_map(
    model: Model,
    text: Sample,
    *,
    measure: Measure | None = None,
    switches: Switches = Switches(),  # noqa: B008 - frozen
    target: str | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> HeadMap:
    """The effect of switching off each head in turn.

    Args:
        model: any model whose attention runs through ours.
        text: one text; the source of an encoder-decoder.
        measure: what an effect is; None: the usual one of the model, see ``Measure``.
        switches: on in every pass; ``switches.ablation`` says what stands in a head's place.
        target: of an encoder-decoder; None: what the model itself writes.
        progress: called with the heads that are ready and all; what it raises ends the work.

    Returns:
        HeadMap.

    Raises:
        ValueError, BusyError: as ``HeadMapping``.
    """
    measure = measures_of(model)[0] if measure is None else measure
    mapping = HeadMapping(model, text, measure=measure, switches=switches, target=target)
    values = torch.full((len(mapping.calls), max(model.heads.values())), torch.nan, dtype=torch.float64)
    for effects in mapping:
        values[mapping.calls.index(effects.call), list(effects.heads)] = effects.values
        progress(effects.done, effects.total)
    return HeadMap(mapping.measure, mapping.calls, values, mapping.resumes)
