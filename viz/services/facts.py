"""What a model's attention has of its own, for the pages."""

from functools import lru_cache

from attention_core.pretrained.facts import Fact, facts_of
from viz.services.attention import ModelRequest, run
from viz.services.models import loaded_model


@lru_cache(maxsize=64)
def facts(request: ModelRequest) -> tuple[Fact, ...]:
    """The peculiarities of the model on this input, whatever the switches say.

    Raises:
        LoadError, BusyError, ValueError: as ``run``.
    """
    return facts_of(run(request.neutral), recorded=not loaded_model(request.model).switchable)
