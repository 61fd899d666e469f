"""The mode that listens, and what it makes of each call."""

import inspect
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch._C._functorch import is_functorch_wrapped_tensor
from torch.overrides import TorchFunctionMode

from attention_core.capture import rebuild
from attention_core.capture.frames import Places
from attention_core.capture.manual import PRODUCTS, SOFTMAX, Found, Tracker
from attention_core.capture.records import Given, MaskConvention, Record, Recording, RecordKind

_SDPA = F.scaled_dot_product_attention
_MHA = F.multi_head_attention_forward
_MHA_ARGUMENTS = inspect.signature(_MHA)
_SDPA_NAMES = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal", "scale", "enable_gqa")
_SDPA_DEFAULTS = {"attn_mask": None, "dropout_p": 0.0, "is_causal": False, "scale": None, "enable_gqa": False}
_MHA_PARAMETERS = (
    "in_proj_weight", "in_proj_bias", "bias_k", "bias_v", "out_proj_weight", "out_proj_bias", "q_proj_weight",
    "k_proj_weight", "v_proj_weight",
)  # fmt: skip

NOTHING = (
    "Nothing was captured: no attention ran in this thread inside record(), or it ran where record() cannot look "
    "(see its documentation: compiled, scripted or exported code, direct aten calls, another thread)."
)
FAST_PATH = (
    "Recording switched torch's fused fast path off: the same numbers up to rounding, and slower than unrecorded."
)
PADDED = (
    "That fast path sets padded positions of an encoder's output to zero; while recording they hold ordinary numbers. "
    "Rows of real tokens are the same."
)


class Recorder(TorchFunctionMode):
    """Listens in one thread while it is on; holds copies, so that nothing that the program does later reaches them."""

    def __init__(self, recording: Recording) -> None:
        super().__init__()
        self.recording = recording
        self._places = Places()
        self._copies: dict[int, tuple[weakref.ref[Tensor], Tensor]] = {}
        self._parameters: dict[int, tuple[Tensor, int, Tensor]] = {}
        self._tracker = Tracker(self._copy)
        self._flex = getattr(torch.ops.higher_order, "flex_attention", None)
        self._handlers: dict[Any, Callable[..., Any]] = {
            _SDPA: self._sdpa,
            _MHA: self._mha,
            self._flex: self._flex_call,
        }

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if torch.compiler.is_compiling():  # being traced: these are not the program's numbers
            return func(*args, **(kwargs or {}))
        kwargs = kwargs or {}
        handler = self._handlers.get(func)
        if handler is not None:
            return handler(func, args, kwargs)
        out = func(*args, **kwargs)
        name = getattr(func, "__name__", "")
        if name in PRODUCTS or self._tracker.live:
            try:
                self._follow(name, args, kwargs, out)
            except Exception as error:  # best effort: the program goes on, whatever it multiplies
                self.recording.note(f"A product was not followed: {type(error).__name__}: {error}")
        return out

    def _follow(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> None:
        """Hand-written attention, step by step."""
        if name in PRODUCTS:
            found = self._tracker.product(name, args, kwargs, out)
            if found is not None:
                self._keep("a softmax between two products", lambda: self._manual(found), found.output)
        elif name in SOFTMAX:
            if not _unreadable(out):
                with torch.inference_mode(False), torch.no_grad():
                    self._tracker.softmax(args, kwargs, out)
        else:
            self._tracker.follow(name, args, kwargs, out)

    def close(self) -> None:
        """Lets go of everything but the records, and says what must be said."""
        self._tracker.live.clear()
        self._copies.clear()
        self._parameters.clear()
        self._places = Places()
        if self.recording.nothing_captured:
            self.recording.note(NOTHING)

    # each call: run it as it was asked for, then keep copies

    def _sdpa(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        out = func(*args, **kwargs)
        call = {**_SDPA_DEFAULTS, **dict(zip(_SDPA_NAMES, args, strict=False)), **kwargs}

        def keep() -> Record | None:
            query, key, value = (self._copy(call[name]) for name in ("query", "key", "value"))
            mask = self._copy_shared(call["attn_mask"])
            flags = {name: call[name] for name in _SDPA_NAMES[4:]}
            return self._record(
                "sdpa", out, flags, source=lambda: rebuild.from_sdpa(query, key, value, mask, flags), mask=mask,
                mask_convention=_convention(mask, "allowed"),
            )  # fmt: skip

        self._keep("scaled_dot_product_attention", keep, call["query"])
        return out

    def _mha(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        bound = _MHA_ARGUMENTS.bind(*args, **kwargs)
        bound.apply_defaults()
        call = bound.arguments
        per_head = None
        if call["need_weights"] and call["average_attn_weights"]:
            out, per_head = func(**{**call, "average_attn_weights": False})
            weights = per_head.mean(dim=per_head.dim() - 3)  # what torch does; the program gets its mean
        else:
            out, weights = func(**call)
            per_head = weights

        def keep() -> Record | None:
            held = {**call, **{name: self._parameter(call[name]) for name in _MHA_PARAMETERS}}
            copies: dict[int, Tensor] = {}
            for name in ("query", "key", "value"):
                tensor = call[name]
                held[name] = copies.setdefault(id(tensor), self._copy(tensor)) if id(tensor) not in copies else (
                    copies[id(tensor)]
                )  # fmt: skip
            for name in ("attn_mask", "key_padding_mask"):
                held[name] = self._copy_shared(call[name])
            for name in ("static_k", "static_v"):
                held[name] = None if call[name] is None else self._copy(call[name])
            training = bool(call["training"])
            flags = {
                "is_causal": bool(call["is_causal"]), "scale": None,
                "dropout_p": float(call["dropout_p"]) if training else 0.0, "enable_gqa": False,
                "need_weights": bool(call["need_weights"]), "training": training, "num_heads": int(call["num_heads"]),
            }  # fmt: skip
            observed = None if per_head is None else self._copy(per_head)
            if observed is not None and observed.dim() == 3:
                observed = observed.unsqueeze(0)
            return self._record(
                "mha", out, flags, source=lambda: rebuild.from_mha(held), mask=held["attn_mask"],
                mask_convention=_convention(held["attn_mask"], "blocked"), key_padding_mask=held["key_padding_mask"],
                key_padding_convention=_convention(held["key_padding_mask"], "padding"), observed=observed,
            )  # fmt: skip

        self._keep("multi_head_attention_forward", keep, call["query"])
        return out, weights

    def _flex_call(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        out = func(*args, **kwargs)

        def keep() -> Record | None:
            query, key, value = (self._copy(t) for t in args[:3])
            score_mod, block_mask, scale = args[3:6]
            buffers = tuple(tuple(self._copy_if_tensor(b) for b in group) for group in (*args[7:9], (), ())[:2])
            flags = {"is_causal": False, "scale": scale, "dropout_p": 0.0, "enable_gqa": query.shape[1] != key.shape[1]}
            return self._record(
                "flex", out[0], flags, mask_convention="mask_mod",
                source=lambda: rebuild.from_flex(query, key, value, scale, score_mod, block_mask[-1], *buffers),
            )  # fmt: skip

        self._keep("flex_attention", keep, args[0])
        return out

    def _manual(self, found: Found) -> Record | None:
        candidate = found.candidate
        assert candidate.logits is not None
        logits, weights, output = candidate.logits, self._copy(found.weights), self._copy(found.output)
        query, key, value = (self._copy(t) for t in (candidate.query, candidate.key, found.value))
        # the heads axis may be folded into the batch for the products and unfolded in between
        lead = logits.shape[:-2] if logits.dim() >= weights.dim() else weights.shape[:-2]
        query, key, value, output, weights, logits = (
            _unfold(t, lead) for t in (query, key, value, output, weights, logits)
        )
        flags = {
            "is_causal": False, "scale": candidate.factor, "dropout_p": candidate.dropout_p, "enable_gqa": False,
            "softmax_dim": candidate.dim, "softmaxes": candidate.softmaxes,
        }  # fmt: skip
        factor = candidate.factor
        return self._record(
            "manual", output, flags, source=lambda: rebuild.from_logits(query, key, value, logits, factor),
            mask_convention="read from the logits", observed=weights, best_effort=True, copied=True,
        )  # fmt: skip

    def _keep(self, what: str, make: Callable[[], Record | None], witness: Tensor | None = None) -> None:
        """Runs ``make`` outside autograd and inference mode; a failure never stops the program."""
        if witness is not None and _unreadable(witness):
            self.recording.note(f"A call of {what} was seen and not kept: its tensors are wrapped (vmap, grad, fake).")
            return
        with torch.inference_mode(False), torch.no_grad():
            try:
                record = make()
            except Exception as error:  # the program goes on, whatever happens to its record
                self.recording.note(f"A call of {what} was seen and not kept: {type(error).__name__}: {error}")
                return
        if record is not None:
            self.recording.add(record)

    def _record(
        self, kind: RecordKind, out: Tensor, flags: Mapping[str, Any], *, source: Callable[[], Given],
        copied: bool = False, **rest: Any,
    ) -> Record:  # fmt: skip
        place = self._places.here()
        if place.fast_path_lost:
            self.recording.note(FAST_PATH)
        if place.padding_lost:
            self.recording.note(PADDED)
        return Record(
            index=len(self.recording), kind=kind, module=place.module, module_class=place.module_class,
            file=place.file, line=place.line, via=place.via, output=out if copied else self._copy(out),
            flags=flags, source=source, **rest,
        )  # fmt: skip

    # copies

    def _copy(self, tensor: Tensor) -> Tensor:
        """A copy outside autograd; axes that were expanded stay so."""
        tensor = tensor.detach()
        if 0 not in tensor.stride():
            return tensor.clone()
        small = tensor
        for axis in range(tensor.dim()):
            if tensor.stride(axis) == 0 and tensor.shape[axis] > 1:
                small = small.narrow(axis, 0, 1)
        return small.clone().expand(tensor.shape)

    def _copy_if_tensor(self, value: Any) -> Any:
        return self._copy(value) if isinstance(value, Tensor) else value

    def _copy_shared(self, tensor: Tensor | None) -> Tensor | None:
        """The same for a mask, which all layers may share: one copy for as long as it holds the same."""
        if tensor is None:
            return None
        known = self._copies.get(id(tensor))
        if known is not None and known[0]() is tensor and torch.equal(known[1], tensor):
            return known[1]
        copy = self._copy(tensor)
        self._copies[id(tensor)] = (weakref.ref(tensor), copy)
        return copy

    def _parameter(self, tensor: Tensor | None) -> Tensor | None:
        """One copy of a parameter until it changes."""
        if tensor is None:
            return None
        version = -1 if tensor.is_inference() else tensor._version
        known = self._parameters.get(id(tensor))
        if known is not None and known[0] is tensor and known[1] == version:
            return known[2]
        copy = self._copy(tensor)
        if isinstance(tensor, nn.Parameter):
            self._parameters[id(tensor)] = (tensor, version, copy)
        return copy


def _convention(mask: Tensor | None, flags_mean: MaskConvention) -> MaskConvention | None:
    if mask is None:
        return None
    return "additive" if mask.dtype.is_floating_point else flags_mean


def _unfold(tensor: Tensor, lead: torch.Size) -> Tensor:
    """(batch x heads, m, n) -> (batch, heads, m, n) where the numbers fit."""
    if tensor.shape[:-2] != lead and tensor.shape[:-2].numel() == lead.numel():
        return tensor.reshape(*lead, *tensor.shape[-2:])
    return tensor


def _unreadable(tensor: Any) -> bool:
    """Wrapped by a transform of torch.func, or without numbers."""
    if not isinstance(tensor, Tensor):
        return True
    if tensor.is_meta or is_functorch_wrapped_tensor(tensor):
        return True
    return type(tensor).__name__ == "FakeTensor" or tensor.is_nested
