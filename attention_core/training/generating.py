"""What a trained model says when it must say it itself: token by token, the causal mask on, its own words read back."""

from dataclasses import dataclass

import torch
from torch import Tensor

from attention_core import masks
from attention_core.modules import TinyTransformer
from attention_core.training.tasks import IGNORED, Examples


@dataclass(frozen=True, eq=False)
class Generated:
    """Answers that a model gave without seeing what follows.

    Attributes:
        said: (batch, len) int64, the answer at each asked place; ``IGNORED`` elsewhere.
        accuracy: share of asked places with the right answer.
    """

    said: Tensor
    accuracy: float


def generate(model: TinyTransformer, examples: Examples) -> Generated:
    """Greedy answers, place by place, under the causal mask whatever the model was trained with.

    Where the answer at one place is the token at the next, as in copying, what was said is read, not what was right.

    Args:
        model: trained or not.
        examples: what is asked; their answers count for the accuracy alone.
    """
    asked = examples.targets != IGNORED
    ids = examples.ids.clone()
    said = torch.full_like(ids, IGNORED)
    follows = examples.targets[:, :-1] == examples.ids[:, 1:]
    read_back = bool(follows[asked[:, :-1]].all()) and model.config.classes is None
    with torch.no_grad():
        for place in asked.any(0).nonzero()[:, 0].tolist():
            logits, _ = model(ids[:, : place + 1], allowed=masks.causal(place + 1), keep=())
            answer = logits[:, -1].argmax(-1)
            said[:, place] = torch.where(asked[:, place], answer, said[:, place])
            if read_back and place + 1 < ids.shape[1]:
                ids[:, place + 1] = torch.where(asked[:, place], answer, ids[:, place + 1])
    right = (said == examples.targets)[asked].float().mean().item()
    return Generated(said, right)
