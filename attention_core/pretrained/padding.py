"""Does padding change the result? Measured: every text of a batch against itself alone."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from attention_core.pretrained.running import Model
from attention_core.pretrained.samples import Sample
from attention_core.pretrained.switches import Switches
from attention_core.pretrained.tokens import PaddingSide
from attention_core.runs import Run

ROUNDING = 1e-4
"""Relative differences up to here are roundings: the same operations on the same numbers, in other block sizes."""


@dataclass(frozen=True)
class PaddingEffect:
    """What padding does to one sample of a batch.

    Attributes:
        fillers: number of padding tokens of the sample; those of its source where it has a target too.
        difference: largest absolute difference of its final hidden states, over its real tokens, from a run alone.
        size: largest absolute value of those states alone.
        token: index, among the real tokens, of the one that differs most.
    """

    fillers: int
    difference: float
    size: float
    token: int

    @property
    def relative(self) -> float:
        """Difference as a share of the largest value."""
        return self.difference / self.size if self.size else self.difference

    @property
    def changes(self) -> bool:
        """True where the difference is more than rounding, or not finite."""
        return not self.relative <= ROUNDING


def padding_effect(
    model: Model,
    texts: Sequence[Sample],
    side: PaddingSide = "right",
    *,
    switches: Switches = Switches(),  # noqa: B008 - frozen
    targets: Sequence[str] | None = None,
    max_tokens: int | None = None,
) -> tuple[PaddingEffect, ...]:
    """Runs texts as one padded batch and each alone, and compares what comes out at their real tokens.

    Args:
        model: any model.
        texts: at least one; with texts of equal length nothing is padded, and only rounding is left.
        side: where shorter texts are filled up.
        switches: in all runs; the defaults measure the model as it is.
        targets: of an encoder-decoder, one per text; None: what the model writes itself. Compared are its states.
        max_tokens: as in ``Model.run``.

    Returns:
        One per text.

    Raises:
        ValueError, BusyError: as ``Model.run``.
    """

    def run(batch: Sequence[Sample], goals: Sequence[str] | None) -> Run:
        return model.run(
            batch, target=goals, padding_side=side, switches=switches, agreement=False, max_tokens=max_tokens
        )

    padded = run(texts, targets)
    found = []
    for sample, text in enumerate(texts):
        alone = run([text], None if targets is None else [targets[sample]]).output[0]  # (len, width)
        real = torch.tensor([not token.padding for token in padded.tokens["self"][sample]])
        gaps = (padded.output[sample][real] - alone).abs().amax(dim=-1)
        worst = int(gaps.nan_to_num(nan=torch.inf).argmax())
        filled = padded.tokens.get("source", padded.tokens["self"])[sample]
        fillers = sum(token.padding for token in filled)
        found.append(PaddingEffect(fillers, float(gaps[worst]), float(alone.abs().max()), worst))
    return tuple(found)
