"""How far the bringing or loading of a model is, told to whoever asked for it."""

from collections.abc import Callable
from typing import Literal

Stage = Literal["download", "convert"]
"""download: bytes of the package; convert: tensors decoded."""

Progress = Callable[[Stage, int, int], None]
"""Called with the stage, what is done and what there is in all. What it raises ends the work; nothing half is left."""


def ignore(_stage: Stage, _done: int, _total: int) -> None:
    """For whoever does not want to know."""
