"""A trained model taken away: as one archive, or as a folder of the user's cache that the other pages open."""

import hashlib
import io
import os
import shutil
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from attention_core.pretrained import cache_folder
from attention_core.training import NotSaved, save_model
from viz.services.training import Lane
from viz.services.training_views import example

KEPT = 32  # folders of trained models in the cache; the oldest go first

Reason = Literal["", "d_k", "rotary", "encoder"]


def obstacle(lane: Lane) -> Reason:
    """Why this model has no counterpart among the pretrained architectures; "" where it has."""
    config = lane.trainer.model.config
    if config.key_width * config.num_heads != config.d_model:
        return "d_k"
    if config.position == "rotary":
        return "rotary"
    return "encoder" if not config.causal and not config.scaling else ""


def file_name(lane: Lane) -> str:
    """Name of the model: its task, and a hash of everything that it depends on."""
    digest = hashlib.sha256(f"{lane.config} {lane.trainer.steps}".encode()).hexdigest()[:10]
    return f"{lane.config.task}-{digest}"


def archive(lane: Lane) -> bytes:
    """A zip with weights (safetensors), sizes and tokenizer, in one folder.

    Raises:
        NotSaved: if ``obstacle`` names one.
    """
    with tempfile.TemporaryDirectory() as scratch:
        save_model(scratch, lane.trainer.model, lane.trainer.task)
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as target:
            for file in sorted(Path(scratch).iterdir()):
                target.write(file, f"{file_name(lane)}/{file.name}")
    return packed.getvalue()


def saved_folder(lane: Lane) -> str:
    """Saves the model into the user's cache, once, and says where.

    Raises:
        NotSaved: if ``obstacle`` names one.
        OSError: if the cache cannot be written.
    """
    if obstacle(lane):
        raise NotSaved(f"a saved model needs a counterpart: {obstacle(lane)} has none")
    shelf = cache_folder() / "trained"
    shelf.mkdir(parents=True, exist_ok=True)
    target = shelf / file_name(lane)
    if not target.is_dir():
        scratch = tempfile.mkdtemp(prefix=".", dir=shelf)
        try:
            save_model(scratch, lane.trainer.model, lane.trainer.task)
            os.chmod(scratch, 0o755)
            os.rename(scratch, target)
        except OSError:
            shutil.rmtree(scratch, ignore_errors=True)
            if not target.is_dir():  # else another session was quicker
                raise
    _thin(shelf, target)
    return str(target)


def trained_name(source: str) -> str:
    """Name of a model that was saved here; "" where the source is another."""
    folder = Path(source)
    return folder.name if folder.parent == cache_folder() / "trained" else ""


def explore_settings(lane: Lane) -> Mapping[str, str]:
    """What the explore page is opened with: the example on screen, and the head that looks at the answer most."""
    layer, head, _ = lane.seen[-1].best
    text = " ".join(example(lane.config.task, lane.config.seed).tokens)
    return {"source": saved_folder(lane), "text": text, "layer": str(layer), "head": str(head)}


def _thin(shelf: Path, newest: Path) -> None:
    folders = [one for one in shelf.iterdir() if one.is_dir() and not one.name.startswith(".") and one != newest]
    for old in sorted(folders, key=lambda one: one.stat().st_mtime)[: max(0, len(folders) + 1 - KEPT)]:
        shutil.rmtree(old, ignore_errors=True)
