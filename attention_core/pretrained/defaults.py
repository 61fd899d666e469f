"""What transformers runs a model on by itself, and that run beside ours.

Our reference is eager attention, since it alone gives weights. Left to themselves most models run on a fused kernel.
"""

import copy
import threading
from collections.abc import Callable
from typing import Any

from torch import Tensor

from attention_core.pretrained.agreement import largest_of


class Default:
    """A model on the implementation that transformers chooses where none is named; copied once it is first asked for.

    Attributes:
        name: "sdpa" where the model's class supports it, else "eager".
        measurable: False where the implementation is chosen while a model is built, and ours was built on another.

    Args:
        whole: the model as transformers made it, which says what it supports.
        twin: it under eager attention.
        dispatches: its attention is called through transformers' table of implementations.
    """

    def __init__(self, whole: Any, twin: Any, *, dispatches: bool) -> None:
        self.name: str = whole.get_correct_attn_implementation(None, is_init_check=True)
        self.measurable = dispatches or self.name == "eager"
        self._twin, self._module = twin, None
        self._guard = threading.Lock()

    def difference(self, output: Tensor, eager: Tensor, real: Tensor, run: Callable[[Any], Tensor]) -> float | None:
        """Largest absolute difference of an output from that of the default, over the rows of real tokens.

        Args:
            output: (batch, len, width), of a neutral run.
            eager: (batch, len, width), of the twin; it is the default where nothing else is.
            real: (batch, len) bool, False = padding.
            run: the module on the same inputs, giving (batch, len, width).

        Returns:
            None where the default is not measurable; inf where one of the two is not a number.
        """
        if not self.measurable:
            return None
        theirs = eager if self.name == "eager" else run(self._on_default())
        return largest_of((theirs - output)[real].abs())

    def _on_default(self) -> Any:
        with self._guard:
            if self._module is None:
                shared = [*self._twin.parameters(), *self._twin.buffers()]
                module = copy.deepcopy(self._twin, {id(tensor): tensor for tensor in shared})
                module.set_attn_implementation(self.name)
                self._module = module
            return self._module
