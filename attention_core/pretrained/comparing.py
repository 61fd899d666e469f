"""How far a model's neutral run is from transformers: made once per input, and remembered."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any

from torch import Tensor

from attention_core.pretrained.agreement import attentions_of, compare
from attention_core.pretrained.backend import Recording
from attention_core.pretrained.defaults import Default
from attention_core.runs import Agreement

REMEMBERED = 64


class Agreements:
    """The agreements of one model, for any number of threads.

    Args:
        whole: the model as transformers made it.
        twin: what a run runs, under transformers' eager attention.
        dispatches: its attention is called through transformers' table of implementations.
    """

    def __init__(self, whole: Any, twin: Any, *, dispatches: bool) -> None:
        self._twin = twin
        self.default = Default(whole, twin, dispatches=dispatches)
        self._known: OrderedDict[Hashable, Agreement] = OrderedDict()
        self._guard = threading.Lock()

    def __len__(self) -> int:
        """How many are remembered."""
        return len(self._known)

    def clear(self) -> None:
        """Forgets all."""
        with self._guard:
            self._known.clear()

    def of(
        self,
        key: Hashable,
        real: Tensor,
        source_real: Tensor | None,
        neutral: Callable[[], tuple[Recording, Tensor]],
        run: Callable[..., Any],
    ) -> Agreement:
        """The agreement of an input.

        Args:
            key: of the input.
            real: (batch, len) bool, False = padding.
            source_real: (batch, source len) bool, of an encoder beside a decoder; else None.
            neutral: our run of it with every switch as in the model: what it recorded, and its (batch, len, width).
            run: (module, **options) -> its outputs on the input.
        """
        with self._guard:
            known = self._known.get(key)
            if known is not None:
                self._known.move_to_end(key)
                return known
        record, output = neutral()
        reference = run(self._twin, output_attentions=True)
        maps, theirs = attentions_of(reference, type(self._twin).__name__), reference.last_hidden_state
        agreed = compare(record.inputs, output, maps, theirs, real, source_real)
        apart = self.default.difference(output, theirs, real, lambda module: run(module).last_hidden_state)
        agreed = replace(
            agreed, output=max(agreed.output, record.rebuilt), default=self.default.name, default_output=apart
        )
        with self._guard:
            self._known[key] = agreed
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        return agreed
