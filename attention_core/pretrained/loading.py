"""Loads models so that our attention runs inside them: once each, and nothing else in the process changes."""

import copy
import inspect
import os
import threading
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch

from attention_core.pretrained import fetching, hub, memory
from attention_core.pretrained.backend import IMPLEMENTATION, register
from attention_core.pretrained.catalog import CatalogEntry
from attention_core.pretrained.device import choose_device
from attention_core.pretrained.errors import LoadError, first_line
from attention_core.pretrained.heads import AUTO_CLASSES, Head, Task, body_of, task_of
from attention_core.pretrained.progress import Progress, counting_weights, ignore
from attention_core.pretrained.recorded import UnreadableError
from attention_core.pretrained.running import BusyError, Model
from attention_core.pretrained.samples import Render
from attention_core.pretrained.sources import Origin, resolve
from attention_core.pretrained.stacks import Targets, TwoStacks
from attention_core.pretrained.tokens import TextReader
from attention_core.pretrained.traits import Traits

T = TypeVar("T")


class Once(Generic[T]):
    """Makes each thing once, however many threads ask for it at the same time; a failure leaves no trace."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: dict[Hashable, threading.Lock] = {}
        self._made: dict[Hashable, T] = {}

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The thing of that key; ``make`` runs only if there is none yet, while others who want the same wait."""
        with self._guard:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self._made:
                self._made[key] = make()
            return self._made[key]

    def known(self, key: Hashable) -> T | None:
        """The thing of that key if it is made; waits for nobody."""
        return self._made.get(key)


_models: Once[Model] = Once()
_one_at_a_time = threading.Lock()  # transformers swaps process-wide defaults while it builds a model


def load(name: str | os.PathLike[str], *, progress: Progress | None = None) -> Model:
    """A model with our attention inside, ready to run; the same object every time.

    Args:
        name: of the catalog, a folder with config, tokenizer and safetensors, or an id on the model hub.
        progress: told about the stages "download" (of the hub) and "weights"; what it raises ends the loading.

    Returns:
        Model, in float32, evaluating, its weights frozen, on the device of ``device.choose_device``.

    Raises:
        LoadError: with a code, the reason and the remedy.
    """
    origin, tell = resolve(name), progress or ignore
    if origin.kind == "package":
        return _models.get(_key(origin), lambda: _from_catalog(origin, tell))
    if origin.kind == "folder":
        return _models.get(_key(origin), lambda: _build(origin.place, origin.name, origin.entry, tell))

    def from_hub() -> Model:
        return _build(str(hub.bring(origin.place, origin.name, tell)), origin.name, origin.entry, tell)

    return _models.get(_key(origin), from_hub)


def loaded(name: str | os.PathLike[str]) -> Model | None:
    """The model if it has been loaded in this process, without loading it; else None."""
    try:
        return _models.known(_key(resolve(name)))
    except LoadError:
        return None


def _key(origin: Origin) -> Hashable:
    if origin.kind == "folder":
        folder = Path(origin.place)
        return str(folder.resolve()), _fingerprint(folder)
    return origin.place, str(fetching.cache_folder())


def _fingerprint(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Files of a folder with size and time: a model that was saved anew is another model."""
    files = sorted([*folder.glob("*.json"), *folder.glob("*.safetensors")])
    return tuple((f.name, f.stat().st_size, f.stat().st_mtime_ns) for f in files)


def _from_catalog(origin: Origin, progress: Progress) -> Model:
    entry = origin.entry
    assert entry is not None
    remedy = f"python -m attention_core.pretrained fetch {entry.name}"
    problem = fetching.damage(entry)
    if problem == "it is not there":
        raise LoadError("not-fetched", entry.name, f"{entry.name} must be on this machine: it is not yet; run {remedy}")
    if problem:
        raise LoadError("damaged", entry.name, f"the files of {entry.name} must be whole: {problem}; run {remedy}")
    return _build(origin.place, entry.name, entry, progress)


def _build(source: str, name: str, entry: CatalogEntry | None, progress: Progress) -> Model:
    memory.require(name, memory.weights_in(Path(source).glob("*.safetensors")))
    try:
        device = choose_device()
    except ValueError as error:
        raise LoadError("device", name, str(error)) from error
    model = _assemble(source, name, entry, IMPLEMENTATION, device, progress)
    if model is None or not model.calls:  # others take any name for an implementation: only counting calls tells
        model = _assemble(source, name, entry, "eager", device, progress)
    if model is None or not model.calls:
        raise LoadError(
            "unsupported",
            name,
            f"a model must make attention calls that can be seen: {name} made none that run through transformers' "
            "attention interface or as a softmax between two products; load another",
        )
    return model


def _assemble(
    source: str, name: str, entry: CatalogEntry | None, implementation: str, device: torch.device, progress: Progress
) -> Model | None:
    """The model on a device and one implementation; None where it has a table of its own that lacks it."""
    with _one_at_a_time, counting_weights(progress):
        register()
        try:
            whole, task = _load_module(source, name, implementation)
            whole.to(device)
        except KeyError as error:
            if error.args != (IMPLEMENTATION,):
                raise
            return None
        switchable = implementation == IMPLEMENTATION
        module = TwoStacks(whole) if task == "seq2seq" else body_of(whole)
        reader = _load_reader(source, name, module.config)
        twin = _eager_twin(module) if switchable else module
        head = Head(whole) if task != "none" else None
    try:
        return Model(
            name=name,
            entry=entry,
            module=module,
            twin=twin,
            reader=reader,
            traits=_traits(module, reader, source, entry),
            whole=whole,
            head=head,
            task=task,
            targets=_targets(whole, reader, name) if task == "seq2seq" else None,
            switchable=switchable,
        )
    except (LoadError, BusyError):
        raise
    except UnreadableError as error:
        raise LoadError("unsupported", name, f"{first_line(error)}; load another model than {name}") from error
    except (ValueError, TypeError, KeyError, AttributeError, NotImplementedError, RuntimeError) as error:
        raise LoadError(
            "unsupported",
            name,
            f"a model must run on token ids alone: {type(module).__name__} does not ({first_line(error)}); "
            "load its text part by itself",
        ) from error


def _load_module(source: str, name: str, implementation: str) -> tuple[Any, Task]:
    """The model of a folder or hub id with its head where its files have one, and what it answers with."""
    from transformers import AutoConfig

    try:
        config = copy.deepcopy(AutoConfig.from_pretrained(source, trust_remote_code=False, cache_dir=hub.hub_cache()))
    except (OSError, ValueError, KeyError) as error:
        raise _not_found(name, error) from error
    config.output_attentions = False  # else every run collects them, with hooks that stay
    config.use_cache = False
    task = task_of(config)
    if config.is_encoder_decoder and task != "seq2seq":
        raise LoadError("unsupported", name, f"a model of two stacks must write text: {name} does not; load another")
    module, missing = _from_files(source, name, config, task, implementation)
    body = f"{module.base_model_prefix}."
    headless = bool(missing) and not any(key.startswith(body) for key in missing)
    if task in ("next-token", "fill-mask") and headless:  # it has no head after all
        task = "none"
        module, missing = _from_files(source, name, config, task, implementation)
    if missing:
        first = missing[0].removeprefix(body)
        raise LoadError(
            "incomplete",
            name,
            f"every weight of {name} must be in its files: {len(missing)} are missing, first {first}",
        )
    if getattr(module, "main_input_name", "input_ids") != "input_ids":
        raise LoadError("unsupported", name, f"a model must read text: {name} reads {module.main_input_name}")
    return module.eval().requires_grad_(False), task


def _from_files(source: str, name: str, config: Any, task: Task, implementation: str) -> tuple[Any, list[str]]:
    """A model as the class of its task, and the names of the weights that its files lack."""
    import transformers
    from safetensors import SafetensorError

    try:
        module, told = getattr(transformers, AUTO_CLASSES[task]).from_pretrained(
            source,
            config=copy.deepcopy(config),
            attn_implementation=implementation,
            dtype=torch.float32,
            use_safetensors=True,
            trust_remote_code=False,
            output_loading_info=True,
            cache_dir=hub.hub_cache(),
        )
    except OSError as error:
        if "safetensors" in str(error) or (Path(source).is_dir() and not any(Path(source).glob("*.safetensors"))):
            raise hub.no_weights(name) from error
        raise _not_found(name, error) from error
    except SafetensorError as error:
        raise LoadError(
            "damaged", name, f"the weights of {name} must be whole: {first_line(error)}; get them again"
        ) from error
    except (ValueError, KeyError) as error:
        if isinstance(error, KeyError) and error.args == (IMPLEMENTATION,):  # looked up in a table of its own
            raise
        raise LoadError(
            "unsupported", name, f"transformers must know how to run {name}: {first_line(error)}"
        ) from error
    return module, sorted(key for key in told["missing_keys"] if not key.startswith("pooler."))


def _eager_twin(module: Any) -> Any:
    """The same weights under transformers' own eager attention: every tensor is shared, everything else is a copy."""
    shared = [*module.parameters(), *module.buffers()]
    twin = copy.deepcopy(module, {id(tensor): tensor for tensor in shared})
    twin.set_attn_implementation("eager")
    return twin


def _load_reader(source: str, name: str, config: Any) -> TextReader:
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    # The file says what the tokenizer does; AutoTokenizer rebuilds some kinds from their word lists instead.
    kind = PreTrainedTokenizerFast if (Path(source) / "tokenizer.json").is_file() else AutoTokenizer
    try:
        tokenizer = kind.from_pretrained(source, trust_remote_code=False, cache_dir=hub.hub_cache())
        backend = copy.deepcopy(tokenizer.backend_tokenizer)
        if backend.get_vocab_size() <= len(tokenizer.all_special_tokens):  # what transformers makes of a missing file
            raise ValueError("its vocabulary is empty")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ImportError) as error:
        raise LoadError(
            "no-tokenizer",
            name,
            f"a model needs its tokenizer beside it, best as tokenizer.json: {first_line(error)}; "
            "save it with tokenizer.save_pretrained(folder)",
        ) from error
    special = frozenset(tokenizer.all_special_ids) | {
        id_ for id_, token in tokenizer.added_tokens_decoder.items() if token.special
    }
    pads = (tokenizer.pad_token_id, getattr(config, "pad_token_id", None), tokenizer.eos_token_id)
    vocabulary = getattr(config, "vocab_size", None)
    pad = next((p for p in pads if isinstance(p, int) and p >= 0 and (vocabulary is None or p < vocabulary)), 0)
    limit = (
        tokenizer.model_max_length if tokenizer.model_max_length < 10**9 else None
    )  # "no limit" is a huge number there
    return TextReader(
        backend, special_ids=special, unknown_id=tokenizer.unk_token_id, pad_id=pad, limit=limit,
        mask_id=tokenizer.mask_token_id, render=_chat_template(tokenizer),
    )  # fmt: skip


def _chat_template(tokenizer: Any) -> Render | None:
    """The tokenizer's chat template, up to where the assistant speaks; None where it has none."""
    known = tokenizer.chat_template
    if not known or (isinstance(known, dict) and "default" not in known):
        return None
    return lambda messages: tokenizer.apply_chat_template(list(messages), tokenize=False, add_generation_prompt=True)


def _traits(module: Any, reader: TextReader, source: str, entry: CatalogEntry | None) -> Traits:
    config: Any = module.config
    taken = inspect.signature(module.forward).parameters
    takes_positions = "position_ids" in taken
    first_position = 0
    for part in module.modules():  # a family whose positions begin behind the number of the filler
        filler = getattr(part, "padding_idx", None)
        if hasattr(part, "create_position_ids_from_input_ids") and isinstance(filler, int):
            first_position = filler + 1
    table = getattr(config, "max_position_embeddings", None)
    limits = [
        n for n in (reader.limit, None if table is None or table < 1 else table - first_position) if n is not None
    ]
    return Traits(
        takes_positions=takes_positions,
        first_position=first_position,
        pooled=entry is not None and entry.task == "sentence-embedding",
        limit=min(limits, default=None),
        vocabulary=module.get_input_embeddings().weight.shape[0],
        types=getattr(config, "type_vocab_size", None) or 0 if "token_type_ids" in taken else 0,
    )


def _targets(whole: Any, reader: TextReader, name: str) -> Targets:
    """How targets of an encoder-decoder begin and end."""
    said = (whole.generation_config, whole.config)
    starts = [getattr(s, key, None) for key in ("decoder_start_token_id", "bos_token_id") for s in said]
    start = next((id_ for id_ in starts if isinstance(id_, int)), None)
    if start is None:
        raise LoadError("unsupported", name, f"a target needs a token to start from: {name} names none; load another")
    ends = next((e for e in (getattr(s, "eos_token_id", None) for s in said) if e is not None), ())
    return Targets(whole, reader, start, frozenset([ends] if isinstance(ends, int) else ends))


def _not_found(name: str, error: Exception) -> LoadError:
    return LoadError(
        "not-found", name, f"a model folder needs a config.json that transformers knows: {first_line(error)}"
    )
