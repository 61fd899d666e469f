"""How far a neutral run is from the model's own attention, call by call."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from attention_core.runs import Agreement, CallInputs

WEIGHTS_TOLERANCE = 1e-5
UNSCALED_TOLERANCE = 1e-4  # for models that do not scale their scores: sums of larger numbers
OUTPUT_TOLERANCE = 1e-4
REFERENCE = "transformers eager"
SCORES_FOR_MAPS = frozenset({"SqueezeBertModel"})
"""Models that hand out their masked scores under the name of attention maps; the softmax of these is compared."""


def compare(
    inputs: Mapping[str, CallInputs],
    output: Tensor,
    reference_weights: Sequence[Tensor],
    reference: Tensor,
    real: Tensor,
    source_real: Tensor | None = None,
) -> Agreement:
    """Largest differences between a neutral run and a reference, over the rows of real tokens.

    Args:
        inputs: call name -> what our run computed from, in order.
        output: (batch, len, width).
        reference_weights: one (batch, heads, q_len, k_len) per call, in the same order.
        reference: (batch, len, width).
        real: (batch, len) bool, False = padding; padded queries are not compared, libraries disagree about them.
        source_real: (batch, source len) bool, the same for the rows of an encoder beside a decoder.
    """
    if len(reference_weights) != len(inputs):
        raise ValueError(
            f"need one reference map per attention call: got {len(reference_weights)} for {len(inputs)} calls"
        )
    weights = {}
    for (name, call), theirs in zip(inputs.items(), reference_weights, strict=True):
        ours = call.trace(keep=("weights",)).weights
        assert ours is not None
        rows = source_real if source_real is not None and name.startswith("encoder.") else real
        weights[name] = largest_of((ours - theirs).abs().amax(dim=(1, 3))[rows])
    unscaled = any(call.own_scale == 1.0 for call in inputs.values())
    return Agreement(
        REFERENCE,
        weights,
        largest_of((output - reference)[real].abs()),
        UNSCALED_TOLERANCE if unscaled else WEIGHTS_TOLERANCE,
        OUTPUT_TOLERANCE,
    )


def attentions_of(outputs: Any, kind: str = "") -> tuple[Tensor, ...]:
    """The attention maps in a model's outputs; fused implementations leave them out without an error.

    Args:
        outputs: of a model that was asked for its maps.
        kind: its class; for one of ``SCORES_FOR_MAPS`` the softmax of what it gives.

    Raises:
        ValueError: if there are none, or some are missing.
    """
    maps = getattr(outputs, "attentions", None)
    if not maps or any(m is None for m in maps):
        raise ValueError(
            "attention maps must come with the outputs: got none, this model runs on a fused implementation (sdpa or "
            'flash) that never forms them; reload it with attn_implementation="eager"'
        )
    return tuple(map(_softmax, maps)) if kind in SCORES_FOR_MAPS else tuple(maps)


def _softmax(scores: Tensor) -> Tensor:
    return scores.softmax(dim=-1)


def largest_of(differences: Tensor) -> float:
    """The largest of absolute differences; inf where one is not a number."""
    largest = float(differences.max())  # NaN wins over every number
    return math.inf if math.isnan(largest) else largest
