"""Does padding change the result? The question of a batch, asked once per request."""

from functools import lru_cache

from attention_core.pretrained import PaddingEffect, padding_effect
from viz.services.attention import ModelRequest, most_tokens
from viz.services.models import loaded_model


@lru_cache(maxsize=16)
def padding(request: ModelRequest) -> tuple[PaddingEffect, ...]:
    """One per sample, with the switches of the request.

    Raises:
        LoadError, BusyError, ValueError: as ``run``.
    """
    return padding_effect(
        loaded_model(request.model),
        list(request.texts),
        "left" if request.padding_side == "left" else "right",
        switches=request.switches,
        targets=list(request.targets) or None,
        max_tokens=most_tokens(len(request.texts)),
    )
