"""One head with all its stages, and one cell of it step by step, as the core computed them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

import numpy as np

from attention_core.attention import AttentionTrace
from attention_core.diagnostics import CellSteps, Product, cell_steps, one_head, weighted_norms
from attention_core.runs import CallInputs
from viz.services.attention import Request, run

LARGEST_TERMS = 6


@dataclass(frozen=True, eq=False)
class HeadStages:
    """One head of one call and sample.

    Attributes:
        stages: name -> (q_len, k_len) float32, in the order of the computation: scores, scaled, capped (only where a
            softcap is set), logits, weights, weighted (weight x length of the value vector).
        inputs, trace: what it was computed from and by, of this head alone.
    """

    stages: Mapping[str, np.ndarray]
    inputs: CallInputs
    trace: AttentionTrace


@dataclass(frozen=True)
class Cell:
    """One cell.

    Attributes:
        steps: its numbers.
        largest: the products of largest magnitude, that first; at most ``LARGEST_TERMS``.
        others: how many more products there are, and ``rest``, their sum.
        total: the sum of all products; apart from the score by rounding alone.
    """

    steps: CellSteps
    largest: tuple[Product, ...]
    others: int
    rest: float
    total: float


@lru_cache(maxsize=4)
def head_stages(request: Request, call_name: str, sample: int, head: int) -> HeadStages:
    """All stages of one head, recomputed by the core.

    Raises:
        KeyError, IndexError: if there is no such call, sample or head.
    """
    inputs = one_head(run(request).inputs[call_name], sample=sample, head=head)
    trace = inputs.trace()
    assert trace.weights is not None
    found = {"scores": trace.scores, "scaled": trace.scaled}
    if inputs.softcap is not None:
        found["capped"] = trace.capped
    found |= {"logits": trace.logits, "weights": trace.weights, "weighted": weighted_norms(trace.weights, inputs.value)}
    stages = {}
    for name, stage in found.items():
        assert stage is not None  # all stages were kept
        stages[name] = stage[0, 0].float().numpy()
        stages[name].flags.writeable = False
    return HeadStages(MappingProxyType(stages), inputs, trace)


def cell(shown: HeadStages, query: int, key: int) -> Cell:
    """The arithmetic of one cell.

    Raises:
        IndexError: if there is no such cell.
    """
    steps = cell_steps(shown.inputs, shown.trace, query=query, key=key)
    order = sorted(steps.products, key=_size, reverse=True)
    largest, others = tuple(order[:LARGEST_TERMS]), order[LARGEST_TERMS:]
    products = np.array([term.product for term in steps.products], dtype=np.float32)
    rest = np.array([term.product for term in others], dtype=np.float32)
    return Cell(steps, largest, len(others), float(rest.sum()), float(products.sum()))


def _size(term: Product) -> float:
    return np.inf if np.isnan(term.product) else abs(term.product)
