"""Models for the pages: which there are, is it here, load it once."""

from dataclasses import dataclass

from attention_core.pretrained import (
    CATALOG,
    BusyError,
    FetchError,
    LoadError,
    Model,
    find_entry,
    is_available,
    load,
    loaded,
)
from attention_core.pretrained.progress import Progress
from attention_core.pretrained.sources import resolve
from viz.services.startup import settle_memory

ModelError = (LoadError, FetchError, BusyError)
MEGABYTE = 1e6
SMALL_MEGABYTES = 200.0  # below this a model that is here is loaded within a few seconds

_settled: set[str] = set()


def model_names() -> tuple[str, ...]:
    """Names of the catalog, the default first."""
    return tuple(entry.name for entry in CATALOG)


def model_is_here(name: str) -> bool:
    """True when loading needs no network."""
    return is_available(name)


def could_be_model(name: str) -> bool:
    """True for names of the catalog, folders that are here, and owner/name; says nothing about the hub."""
    try:
        resolve(name)
    except LoadError:
        return False
    return True


def loads_at_once(name: str) -> bool:
    """True for a model that is here and so small that it is worth waiting for."""
    folder = resolve(name).here() if could_be_model(name) else None
    if folder is None:
        return False
    return sum(file.stat().st_size for file in folder.glob("*.safetensors")) < SMALL_MEGABYTES * MEGABYTE


def download_megabytes(name: str) -> float | None:
    """Size of the download in MB; None where it is known only once the hub is asked."""
    entry = find_entry(name)
    if entry is None:
        return None
    return (entry.size_bytes if entry.source is None else entry.source.wheel_bytes) / MEGABYTE


@dataclass(frozen=True)
class About:
    """A line of the catalog for a reader: ``origin`` is "package", "hub" or "bundled", ``place`` its name there."""

    family: str
    layers: int
    heads: int
    millions: float
    licence: str
    origin: str
    place: str


def about_model(name: str) -> About | None:
    """What the catalog says of a model; None where it is not in it."""
    entry = find_entry(name)
    if entry is None:
        return None
    if entry.bundled is not None:
        millions = entry.parameters / 1e6
        return About(entry.family, entry.layers, entry.heads, millions, entry.licence, "bundled", entry.bundled.name)
    origin = "hub" if entry.source is None else "package"
    place = str(entry.hub_id) if entry.source is None else f"{entry.source.package} {entry.source.version}"
    return About(entry.family, entry.layers, entry.heads, entry.parameters / 1e6, entry.licence, origin, place)


def is_bundled(name: str) -> bool:
    """True for a model that comes with the project."""
    entry = find_entry(name)
    return entry is not None and entry.bundled is not None


def error_code(error: Exception) -> str:
    """Short name of what went wrong with a model: a code of ``LoadError`` or ``FetchError``, or "busy"."""
    return "busy" if isinstance(error, BusyError) else str(getattr(error, "code", ""))


def ready_model(name: str) -> Model | None:
    """The model if it is loaded already, else None."""
    return loaded(name)


def device_name(name: str) -> str:
    """Where a loaded model runs: "CPU", "CUDA" or "MPS"."""
    return loaded_model(name).device.type.upper()


def loaded_model(name: str, progress: Progress | None = None) -> Model:
    """The model, loaded once for all visitors; afterwards the garbage collector leaves it alone.

    Args:
        name: of the catalog, a folder, or owner/name on the hub.
        progress: told how far the loading is, if it is this call that loads.

    Raises:
        LoadError: with the reason and the remedy.
    """
    model = load(name, progress=progress)
    if name not in _settled:
        _settled.add(name)
        settle_memory()
    return model
