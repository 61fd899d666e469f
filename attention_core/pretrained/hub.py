"""Models of the hub: what of them is on this machine, and bringing the rest; safetensors and plain text only."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attention_core.pretrained import memory
from attention_core.pretrained.catalog import DEFAULT_MODEL
from attention_core.pretrained.errors import LoadError, first_line
from attention_core.pretrained.fetching import cache_folder
from attention_core.pretrained.progress import Progress

INDEX = "model.safetensors.index.json"
_WEIGHTS = "model.safetensors"
_TEXTS = (".json", ".txt", ".jinja")
# What a tokenizer can be made of without the sentencepiece library.
_TOKENIZERS = ({"tokenizer.json"}, {"vocab.txt"}, {"vocab.json", "merges.txt"})
_CONVERTER = "SFconvertbot"  # of the hub: leaves safetensors in a pull request where a model has none
_SECONDS = 20.0


def hub_cache() -> Path:
    """Where models of the hub are kept, in the hub's own layout."""
    return cache_folder() / "hub"


def cached(hub_id: str) -> Path | None:
    """The folder of a model of the hub that is here whole; None where it is not."""
    snapshots = hub_cache() / f"models--{hub_id.replace('/', '--')}" / "snapshots"
    whole = (snapshot for snapshot in snapshots.glob("*") if (snapshot / "config.json").exists() and _has(snapshot))
    return max(whole, key=lambda snapshot: snapshot.stat().st_mtime, default=None)


def _has(folder: Path) -> bool:
    """True where all weights are there; they are brought last, so that everything else is there too."""
    try:
        shards = set(json.loads((folder / INDEX).read_text(encoding="utf-8"))["weight_map"].values())
    except FileNotFoundError:
        return (folder / _WEIGHTS).exists()
    except (OSError, ValueError, KeyError, AttributeError):
        return False
    return all((folder / shard).exists() for shard in shards)


def bring(hub_id: str, name: str, progress: Progress) -> Path:
    """Makes sure that a model of the hub is here, and says where.

    Args:
        hub_id: owner/name, or a name alone for the oldest models.
        name: what it was asked for by, for messages.
        progress: told about the stage "download"; bytes that an earlier try has left are not counted again.

    Returns:
        The folder of its files.

    Raises:
        LoadError: "no-network", "not-found", "gated", "no-weights", "no-tokenizer", "too-large" or "disk".
    """
    here = cached(hub_id)
    if here is not None:
        return here
    from huggingface_hub import HfApi, hf_hub_download
    from huggingface_hub.errors import HFValidationError, HTTPError, LocalEntryNotFoundError  # pyright: ignore[reportPrivateImportUsage]

    try:
        files, revision, weights = _offered(HfApi(), hub_id, name)
        memory.require(name, weights)
        counter = _counter(progress, sum(files.values()))
        folder = None
        for file in sorted(files, key=lambda file: (file.endswith(".safetensors"), file)):
            counter.begin(files[file])
            folder = Path(
                hf_hub_download(hub_id, file, revision=revision, cache_dir=hub_cache(), tqdm_class=counter)
            ).parent
            counter.end()
    except (HTTPError, HFValidationError, LocalEntryNotFoundError, ConnectionError) as error:
        raise _reason(error, name) from error
    except OSError as error:
        raise LoadError(
            "disk",
            name,
            f"the cache must be writable and have room for {name}: {error.strerror or first_line(error)} in "
            f"{hub_cache()}; free some space, or set HEADSCOPE_CACHE to another folder",
        ) from error
    assert folder is not None
    return folder


def _offered(api: Any, hub_id: str, name: str) -> tuple[dict[str, int], str, int]:
    """The files to bring with their sizes, the revision they belong to, and how many weights are in them."""
    found = api.model_info(hub_id, files_metadata=True, timeout=_SECONDS)
    sizes = {file.rfilename: int(file.size or 0) for file in found.siblings or ()}
    weights = _weight_files(sizes)
    if not weights:
        for change in api.get_repo_discussions(hub_id, author=_CONVERTER, discussion_type="pull_request"):
            there = api.model_info(hub_id, revision=change.git_reference, files_metadata=True, timeout=_SECONDS)
            offered = {file.rfilename: int(file.size or 0) for file in there.siblings or ()}
            if _weight_files(offered):
                found, sizes, weights = there, offered, _weight_files(offered)
                break
        else:
            raise no_weights(name)
    if not any(tokenizer <= sizes.keys() for tokenizer in _TOKENIZERS):
        raise LoadError(
            "no-tokenizer",
            name,
            f"a model needs its tokenizer as tokenizer.json, or as its word lists: {name} has neither on the hub; put "
            "one beside its files in a folder of this machine, and load that folder",
        )
    counts = getattr(getattr(found, "safetensors", None), "parameters", None) or {}
    total = sum(counts.values()) or sum(sizes[file] for file in weights) // memory.FLOAT32
    texts = [file for file in sizes if "/" not in file and file.endswith(_TEXTS)]
    return {file: sizes[file] for file in [*texts, *weights]}, str(found.sha), total


def _weight_files(sizes: Mapping[str, int]) -> list[str]:
    """model.safetensors or its shards; nothing of other formats, precisions or folders."""
    if _WEIGHTS in sizes:
        return [_WEIGHTS]
    shards = [file for file in sizes if file.startswith("model-") and file.endswith(".safetensors")]
    return shards if INDEX in sizes else []


def _counter(progress: Progress, total: int) -> Any:
    """A class that the hub's client takes for its progress bar: it shows nothing and tells ``progress``."""
    from huggingface_hub.utils import tqdm

    class Counter(tqdm):
        before = 0  # bytes of the files that are whole
        now = 0
        size = 0

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **{**kwargs, "disable": True})

        def update(self, n: float | None = 1) -> bool | None:
            Counter.now = min(Counter.size, Counter.now + int(n or 0))
            progress("download", Counter.before + Counter.now, total)
            return None

        @classmethod
        def begin(cls, size: int) -> None:
            Counter.now, Counter.size = 0, size
            progress("download", Counter.before, total)

        @classmethod
        def end(cls) -> None:
            Counter.before += Counter.size
            Counter.now = 0
            progress("download", Counter.before, total)

    return Counter


def no_weights(name: str) -> LoadError:
    """Says that a model has no safetensors."""
    return LoadError(
        "no-weights",
        name,
        f"weights must be safetensors, other formats can run code: {name} has none; "
        "convert it with save_pretrained(folder) on a machine where you trust it",
    )


def _reason(error: Exception, name: str) -> LoadError:
    from huggingface_hub.errors import (
        DisabledRepoError,
        GatedRepoError,
        HfHubHTTPError,
        HFValidationError,
        RepositoryNotFoundError,
    )

    status = getattr(getattr(error, "response", None), "status_code", None)
    if isinstance(error, GatedRepoError) or (isinstance(error, HfHubHTTPError) and status == 403):
        return LoadError(
            "gated",
            name,
            f"a gated model must be granted to you first: {name} is; accept its terms on its page of the hub, log in "
            "on this machine with `hf auth login`, and try again",
        )
    if isinstance(error, RepositoryNotFoundError | HFValidationError | DisabledRepoError) or status in (401, 404):
        return LoadError("not-found", name, f"the model hub must have {name}: {first_line(error)}; check the spelling")
    return LoadError(
        "no-network",
        name,
        f"{name} is not on this machine and the model hub cannot be reached; connect and try again, or use "
        f"{DEFAULT_MODEL}, which needs no hub",
    )
