"""Runs for the pages: one frozen request in, one run out, the last few kept for all visitors.

The key of the cache is the whole request, never an array, so two different inputs never share a result. What comes out
is read-only: nobody changes a tensor of a run in place.
"""

import hashlib
import math
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import torch

from attention_core.drawn_masks import unpack
from attention_core.from_scratch import MaskChoice, ScratchConfig, run_from_scratch
from attention_core.pretrained import Chat, Pair, Sample, Switches
from attention_core.runs import Run
from viz.services.models import loaded_model

SCRATCH = "from-scratch"
SCRATCH_MAX_TOKENS = 256
MOST_CHARACTERS = 20_000  # splitting text into tokens costs time before the limit on tokens can act
MOST_SAMPLES = 16  # at the longest text of MiniLM some seconds, and as much as is kept of all runs together
MOST_TOKENS = 2_048  # per sample; longer texts are cut, and the page says so
MOST_BATCH_TOKENS = 8_192  # of all samples together
MOST_COMPARED = 512  # MB of maps that the model's own attention would lay out to be compared with
KEPT_RUNS = 24
KEPT_BYTES = 256 * 2**20


@dataclass(frozen=True)
class ModelRequest:
    """A run of a pretrained model: its catalog name, one text, pair or chat per sample, padding side, switches.

    ``targets`` are for encoder-decoders, one per text; without them the model writes its own.
    """

    model: str
    texts: tuple[Sample, ...]
    padding_side: str = "right"
    switches: Switches = Switches()  # noqa: RUF009 - frozen
    targets: tuple[str, ...] = ()

    @property
    def scaling(self) -> bool:
        """False where the factor on the scores is left out."""
        return self.switches.scaling

    @property
    def neutral(self) -> "ModelRequest":
        """The same input with every switch as in the model."""
        return replace(self, switches=Switches())


@dataclass(frozen=True)
class ScratchRequest:
    """A run of the from-scratch core: one text and the settings."""

    text: str
    config: ScratchConfig

    @property
    def scaling(self) -> bool:
        """False where the factor on the scores is left out."""
        return self.config.scale != "off"


Request = ModelRequest | ScratchRequest

_MASK_PARAMETERS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "padding": {"count": "mask_count", "side": "mask_side"},
        "causal+padding": {"count": "mask_count", "side": "mask_side"},
        "window": {"size": "mask_window"},
        "causal+window": {"size": "mask_window"},
        "chunked": {"size": "mask_size"},
        "dilated": {"window": "mask_window", "step": "mask_step"},
        "strided": {"stride": "mask_stride"},
        "global_local": {"window": "mask_window", "global_keys": "mask_global_keys"},
        "block_sparse": {"block_size": "mask_block_size"},
        "prefix": {"prefix": "mask_prefix"},
    }
)
_BACK_ONLY = ("chunked", "dilated", "strided")  # in the interface these look back; a window has both forms


def mask_settings(mask: str) -> tuple[str, ...]:
    """Names of the settings that a mask of the interface takes."""
    return tuple(_MASK_PARAMETERS.get(mask, {}).values())


def mask_choice(mask: str, values: Mapping[str, Any]) -> MaskChoice:
    """The mask of a name of the interface, with its parameters out of the page's settings.

    Raises:
        ControlError: if a parameter is out of range.
    """
    if mask == "custom":
        return MaskChoice(mask, rows=unpack(values["mask_rows"]))
    parameters = {name: values[setting] for name, setting in _MASK_PARAMETERS.get(mask, {}).items()}
    if mask == "causal+window":
        return MaskChoice("window", causal=True, **parameters)
    if mask in _BACK_ONLY:
        return MaskChoice(mask, causal=True, **parameters)
    return MaskChoice(mask, **parameters)


def scratch_config(values: Mapping[str, Any]) -> ScratchConfig:
    """The settings of the page as a configuration; 0 stands for "as usual" where the page says so.

    Raises:
        ControlError: if they do not go together; ``control`` names the one to change.
    """
    scale = values["scaling"]
    if scale == "custom":
        scale = values["factor"] / math.sqrt(values["d_k"])
    return ScratchConfig(
        tokens=values["tokens"],
        num_heads=values["heads"],
        d_model=values["d_model"],
        d_k=values["d_k"],
        d_v=values["d_v"] or None,
        num_kv_heads=values["kv_heads"] or None,
        scale=scale,
        mask=mask_choice(values["mask"], values),
        position=values["position"],
        seed=values["seed"],
        dtype=values["dtype"],
        max_tokens=SCRATCH_MAX_TOKENS,
    )


def model_switches(values: Mapping[str, Any]) -> Switches:
    """The settings of the page as switches; 0 stands for "none" where the page says so.

    Raises:
        ValueError: if a value is out of range.
    """
    pairs = (name.rpartition(":") for name in values["heads_off"])
    return Switches(
        scaling=values["scaling"] != "off",
        scale_factor=values["factor"] if values["scaling"] == "custom" else 1.0,
        mask=values["model_mask"],
        window=values["window"] or None,
        softcap=values["softcap"] or None,
        temperature=values["temperature"],
        heads_off=frozenset((call, int(head)) for call, _, head in pairs),
        layers=frozenset(map(int, values["switch_layers"])) or None,
        mask_rows=unpack(values["mask_rows"]) if values["model_mask"] == "custom" else None,
        ablation=values["ablation"],
    )


@dataclass(frozen=True)
class Typed:
    """A text as it is run.

    Attributes:
        text: its first ``MOST_CHARACTERS`` characters; half a surrogate pair, which no encoding can carry, is U+FFFD.
        samples: the text, or its first ``MOST_SAMPLES`` lines that are not blank.
        characters, lines: how many there were.
    """

    text: str
    samples: tuple[str, ...]
    characters: int
    lines: int


def typed(text: str, *, lines: bool) -> Typed:
    """What is run of a text of any length; ``lines`` makes each line that is not blank a sample."""
    kept = text[:MOST_CHARACTERS].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    found = [line for line in kept.splitlines() if line.strip()] if lines else []
    return Typed(kept, tuple(found[:MOST_SAMPLES]) or (kept,), len(text), len(found))


def forms_of(model: str) -> tuple[str, ...]:
    """What one sample of a loaded model can be: "text", and "pair" and "chat" where its tokenizer has a template."""
    found = loaded_model(model)
    return ("text", *["pair"] * found.takes_pairs, *["chat"] * found.takes_chats)


def samples_of(model: str, values: Mapping[str, Any]) -> tuple[Sample, ...]:
    """What is run of the page's settings: a form that the model cannot take is a plain text."""
    written = typed(values["text"], lines=values["lines"])
    if values["lines"] or values["form"] not in forms_of(model):
        return written.samples
    second = typed(values["second"], lines=False).text
    if values["form"] == "pair":
        return (Pair(written.text, second),)
    return (Chat(written.text, second),) if values["form"] == "chat" else written.samples


def text_of(sample: Sample) -> str:
    """What the visitor typed of a sample, as one text."""
    if isinstance(sample, Chat):
        return sample.user
    return sample.text if isinstance(sample, Pair) else sample


def targets_of(model: str, target: str, *, lines: bool) -> tuple[str, ...]:
    """The typed target as a request names it; none where the model reads none or is to write its own."""
    if not target.strip() or loaded_model(model).kind != "encoder-decoder":
        return ()
    return typed(target, lines=lines).samples


_guard = threading.Lock()
_runs: OrderedDict[Request, tuple[Run, int]] = OrderedDict()


def run(request: Request) -> Run:
    """The run of a request; the same object for the same request while it is kept.

    At most ``KEPT_RUNS`` runs and ``KEPT_BYTES`` bytes are kept, for all visitors together.

    Raises:
        ValueError: if the text or a setting is refused; the message names the rule and the remedy.
        LoadError, BusyError: if the model cannot be used now.
    """
    with _guard:
        if request in _runs:
            _runs.move_to_end(request)
            return _runs[request][0]
    made = _compute(request)
    size = _bytes_of(made)
    with _guard:
        if request in _runs:  # another visitor asked for the same at the same time
            return _runs[request][0]
        _runs[request] = (made, size)
        while len(_runs) > 1 and (len(_runs) > KEPT_RUNS or sum(size for _, size in _runs.values()) > KEPT_BYTES):
            _runs.popitem(last=False)
    return made


def revision(request: object, *place: object) -> str:
    """A short name for what is drawn from a request: the same for the same, another for anything else."""
    return hashlib.sha256(repr((request, place)).encode("utf-8", "surrogatepass")).hexdigest()[:12]


def kept_bytes() -> int:
    """Bytes of tensors held for all visitors together."""
    with _guard:
        return sum(size for _, size in _runs.values())


def embedding_cosines(request: ModelRequest) -> list[float]:
    """Cosine between each sample's embedding with the switches and with the model as it is."""
    changed, own = run(request).answer, run(request.neutral).answer
    if changed is None or own is None or changed.kind != "embedding":
        return []
    return torch.nn.functional.cosine_similarity(changed.values, own.values, dim=-1).tolist()


def compared_megabytes(request: ModelRequest) -> float:
    """Size of the maps that the model's own attention has to lay out at once, to be compared with, in MB.

    Raises:
        ValueError: if the text is refused.
    """
    model = loaded_model(request.model)
    batch, length = model.read(list(request.texts), max_tokens=most_tokens(len(request.texts))).ids.shape
    return 4 * batch * length**2 * sum(model.heads.values()) / 2**20


def most_tokens(samples: int) -> int:
    """Tokens up to which each of so many texts is read."""
    return min(MOST_TOKENS, MOST_BATCH_TOKENS // max(1, samples))


def _compute(request: Request) -> Run:
    if isinstance(request, ModelRequest):
        side = "left" if request.padding_side == "left" else "right"
        target = list(request.targets) or None
        model, texts, most = loaded_model(request.model), list(request.texts), most_tokens(len(request.texts))
        compared = compared_megabytes(request) <= MOST_COMPARED
        return model.run(
            texts, target=target, padding_side=side, switches=request.switches, max_tokens=most, agreement=compared
        )
    return run_from_scratch(request.text, request.config)


def _bytes_of(run: Run) -> int:
    total = run.output.nbytes
    for inputs in run.inputs.values():
        total += inputs.query.nbytes + inputs.key.nbytes + inputs.value.nbytes + inputs.allowed.nbytes
        total += 0 if inputs.bias is None else inputs.bias.nbytes
    return total
