"""Models for the pages: is it here, bring it, load it once."""

from collections.abc import Callable

from attention_core.pretrained import (
    CATALOG,
    BusyError,
    FetchError,
    LoadError,
    Model,
    fetch,
    find_entry,
    is_available,
    load,
)
from attention_core.pretrained.progress import Stage
from viz.services.startup import settle_memory

ModelError = (LoadError, FetchError, BusyError)
MEGABYTE = 1e6

_settled: set[str] = set()


def model_names() -> tuple[str, ...]:
    """Names of the catalog, the default first."""
    return tuple(entry.name for entry in CATALOG)


def model_is_here(name: str) -> bool:
    """True when loading needs no network."""
    return is_available(name)


def download_megabytes(name: str) -> float:
    """Size of the download in MB; NaN where it is not known."""
    entry = find_entry(name)
    return entry.source.wheel_bytes / MEGABYTE if entry is not None and entry.source is not None else float("nan")


def error_code(error: Exception) -> str:
    """Short name of what went wrong with a model: a code of ``LoadError`` or ``FetchError``, or "busy"."""
    return "busy" if isinstance(error, BusyError) else str(getattr(error, "code", ""))


def bring_model(name: str, progress: Callable[[float, float], None]) -> None:
    """Downloads and checks a model of the catalog.

    Args:
        name: of the catalog.
        progress: called with the megabytes so far and in all.

    Raises:
        FetchError: with the reason and the remedy.
    """

    def moved(stage: Stage, done: int, total: int) -> None:
        if stage == "download":
            progress(done / MEGABYTE, total / MEGABYTE)

    fetch(name, progress=moved)


def loaded_model(name: str) -> Model:
    """The model, loaded once for all visitors; afterwards the garbage collector leaves it alone.

    Raises:
        LoadError: with the reason and the remedy.
    """
    model = load(name)
    if name not in _settled:
        _settled.add(name)
        settle_memory()
    return model
