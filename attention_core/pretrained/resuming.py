"""Passes that start in the middle of a model: what the lower blocks said is kept, and only the upper ones run again.

A copy of the model's modules with the same weights is made, so that nothing of the model that others run is touched.
Whether a model can be entered in the middle is not known from its name: it is tried, and where the output differs from
that of a whole pass, or blocks run more than once, every pass is a whole one.
"""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn

from attention_core.pretrained.backend import Recording
from attention_core.pretrained.running import Model
from attention_core.pretrained.switches import Switches
from attention_core.runs import Call

TOLERANCE = 1e-4  # relative: the same operations on the same numbers, in matrices of another height


@dataclass
class _Block:
    """One block of the copy: the calls [first, last) that it makes, and what it returned in the whole pass.

    ``ends`` a stack: what it said goes on to the other one, beside which nothing is skipped any more.
    """

    module: nn.Module
    first: int
    last: int
    output: Any
    ends: bool


@dataclass
class _Watch:
    """What the blocks of a copy are told during a pass."""

    record: Recording = field(default_factory=Recording)
    watching: bool = False
    depth: int = 0
    skipped: int = 0  # blocks that hand on what they said in the whole pass
    rows: int = 1


class Resumable:
    """One text in a model, run again and again with changes from some call on; for one thread.

    Attributes:
        calls: of a whole pass, in order.
        output: (1, len, width), of the whole pass with the switches.
        resumes: True where passes start in the middle.
    """

    def __init__(self, model: Model, inputs: Mapping[str, Tensor], real: Tensor, switches: Switches) -> None:
        """Runs the whole pass.

        Args:
            model: the model.
            inputs: of one sample, as the model takes them.
            real: (1, len) bool.
            switches: in every pass.
        """
        self._model = model
        self._inputs, self._real, self._switches = inputs, real, switches
        shared = [*model._module.parameters(), *model._module.buffers()]
        self._module = copy.deepcopy(model._module, {id(tensor): tensor for tensor in shared})
        self._blocks: list[_Block] = []
        self._watch = _Watch()
        for stack in [part for part in self._module.modules() if isinstance(part, nn.ModuleList)]:
            for part in stack:
                self._listen(part, ends=part is stack[-1])
        record = self._watch.record = Recording(switches, real, keep=False)
        self._watch.watching = True
        self.output = self._pass(record)
        self._watch.watching = False
        self.calls: tuple[Call, ...] = tuple(record.calls)
        self.heads: Mapping[str, int] = record.heads
        self.resumes = self._can_resume()

    def run(self, call: Call, off: Tensor) -> Tensor:
        """Last hidden states with heads of one call off, each row its own.

        Args:
            call: one of ``calls``.
            off: (rows, heads) bool, True = off in this row.

        Returns:
            (rows, len, width).
        """
        index = self.calls.index(call)
        below = [i for i, block in enumerate(self._blocks) if block.last <= index] if self.resumes else []
        return self._again(len(below), len(off), {call.name: off})

    def _again(self, skipped: int, rows: int, variants: Mapping[str, Tensor]) -> Tensor:
        real = self._real.expand(rows, -1)
        record = self._watch.record = Recording(self._switches, real, variants=variants, keep=False)
        self._watch.skipped, self._watch.rows = skipped, rows
        output = self._pass(record, rows)
        if tuple(record.calls) != self.calls:
            raise RuntimeError(f"a pass makes the calls of the whole one: got {record.calls}")
        return output

    def _pass(self, record: Recording, rows: int = 1) -> Tensor:
        inputs = {name: tensor.expand(rows, *tensor.shape[1:]).contiguous() for name, tensor in self._inputs.items()}
        return self._model._forward(self._module, inputs, record).last_hidden_state

    def _listen(self, part: nn.Module, *, ends: bool) -> None:
        """Lets a block say what it makes, and hand on what it said where it is skipped."""
        own, watch = part.forward, self._watch

        def forward(*args: Any, **options: Any) -> Any:
            if watch.watching:
                first, watch.depth = len(watch.record.calls), watch.depth + 1
                output = own(*args, **options)
                watch.depth -= 1
                if watch.depth == 0 and len(watch.record.calls) > first:
                    self._blocks.append(_Block(part, first, len(watch.record.calls), output, ends))
                return output
            place = next((i for i in range(watch.skipped) if self._blocks[i].module is part), None)
            if place is None:
                return own(*args, **options)
            block = self._blocks[place]
            watch.record.calls.extend(self.calls[block.first : block.last])
            used = block.ends or place == watch.skipped - 1
            return _in_rows(block.output, watch.rows) if used else block.output

        part.forward = forward

    def _can_resume(self) -> bool:
        """True where the blocks make all calls in a row, and passes from the middle end like the whole one."""
        modules = [id(block.module) for block in self._blocks]
        borders = [0, *(block.last for block in self._blocks)]
        if len(set(modules)) != len(modules) or [block.first for block in self._blocks] != borders[:-1]:
            return False
        if borders[-1] != len(self.calls) or len(modules) < 2:
            return False
        allowed = TOLERANCE * max(1.0, float(self.output.abs().max()))
        for skipped in {len(modules) // 2, len(modules) - 1}:
            try:
                again = self._again(skipped, 2, {})
            except (RuntimeError, ValueError, TypeError, AttributeError, KeyError, IndexError):
                return False
            if not bool(((again - self.output).abs() <= allowed).all()):
                return False
        return True


def _in_rows(said: Any, rows: int) -> Any:
    """What a block said of one sample, for a batch of so many."""
    if isinstance(said, Tensor):
        return said.expand(rows, *said.shape[1:]).clone() if said.dim() and said.shape[0] == 1 else said
    if isinstance(said, tuple):
        return tuple(_in_rows(one, rows) for one in said)
    return said
