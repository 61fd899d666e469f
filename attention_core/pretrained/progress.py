"""How far the bringing or loading of a model is, told to whoever asked for it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

Stage = Literal["download", "convert", "weights"]
"""download: bytes; convert: tensors decoded; weights: tensors put into the model."""

Progress = Callable[[Stage, int, int], None]
"""Called with the stage, what is done and what there is in all. What it raises ends the work; nothing half is left."""


def ignore(_stage: Stage, _done: int, _total: int) -> None:
    """For whoever does not want to know."""


@contextmanager
def counting_weights(progress: Progress) -> Iterator[None]:
    """While transformers builds models inside the ``with``, its count of tensors goes to ``progress``, not to stderr.

    The hook is one for the whole process: only for whoever builds one model at a time.
    """
    from transformers.utils.logging import set_tqdm_hook

    def hook(make: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        counted = next(iter(args), options.get("iterable"))
        if options.get("desc") != "Loading weights" or not hasattr(counted, "__len__"):
            return make(*args, **options)
        return _counted(counted, progress)

    before = set_tqdm_hook(hook)
    try:
        yield
    finally:
        set_tqdm_hook(before)


def _counted(things: Any, progress: Progress) -> Iterator[Any]:
    for done, thing in enumerate(things):
        progress("weights", done, len(things))
        yield thing
    progress("weights", len(things), len(things))
