"""The catalogue of known attention faults, in the order in which they are tried and named."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from attention_core.faults.situation import CannotCommit, Fault, Outcome, Situation


def _not_yet(situation: Situation, **parameters: Any) -> Outcome:
    raise CannotCommit("this fault is not written yet")


_IDS = """
no-scaling scaled-by-d-k scaled-by-d-model divided-by-inverse bias-scaled-too query-key-swapped
heads-split-without-transpose kv-heads-tiled head-masks-in-wrong-order batch-axis-swapped softmax-over-queries
softmax-over-heads double-softmax no-max-subtraction mask-inverted causal-mask-missing padding-mask-missing mask-ignored
mask-after-softmax mask-added-as-zero-one scores-multiplied-by-mask fill-too-weak finite-fill-on-empty-row
masks-summed-overflow half-precision-overflow padding-on-query-axis padding-side-swapped padding-border-off-by-one
padding-or-causal causal-strict causal-one-late causal-transposed causal-top-left window-off-by-one
window-on-wrong-layers chunk-as-window packing-leak cache-slots-unmasked dropout-left-on heads-averaged
heads-merged-without-transpose zero-times-nan
"""

CATALOGUE: Mapping[str, Fault] = MappingProxyType(
    {name: Fault(name, "", "", "", "", (), _not_yet) for name in _IDS.split()}
)


def commit(fault_id: str, situation: Situation, **parameters: Any) -> Outcome:
    """Commits one fault in one way: with the parameters given, else the first way that is possible here.

    Args:
        fault_id: a key of ``CATALOGUE``.
        situation: the right computation.
        **parameters: as they stand in ``Outcome.note``.

    Returns:
        Outcome.

    Raises:
        KeyError: if there is no such fault.
        CannotCommit: a ValueError; if the fault cannot be committed here.
    """
    if fault_id not in CATALOGUE:
        raise KeyError(f"a fault is one of {', '.join(CATALOGUE)}: got {fault_id!r}")
    fault = CATALOGUE[fault_id]
    if parameters:
        return fault.act(situation, **parameters)
    for outcome in fault.variants(situation):
        return outcome
    raise CannotCommit(f"{fault_id} cannot be committed here: the situation gives it nothing to go wrong in")
